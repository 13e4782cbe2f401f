//! LASH (`lash`): one shortest path per pair of switches, layered over virtual lanes.
//!
//! Works on any fabric, connected or not. All LIDs at a switch share its tree, so a pair of switches
//! has one path and one service level. Trees are chosen by load, by ports and by the turns of earlier
//! ones; of these three, those count that need the fewest lanes, unless they are half as busy again.
//! With `do_mesh_analysis` the load is no choice: what it is meant for, meshes and tori, has trees that
//! need fewer lanes. Time O(switches * channels). Source: Skeie, Lysne and Theiss,
//! "Layered Shortest Path (LASH) Routing in Irregular System Area Networks", 2002.

use crate::{
    RoutingEngine,
    algo::layered::{self, Manner, Plan},
    error::RouteError,
    fabric::Fabric,
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// # Errors
/// [`RouteError::TooFewVls`] if the lanes from `options.lash_start_vl` on do not suffice.
pub fn route(fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Result<Routes, RouteError> {
    let first: &[Manner] = if options.do_mesh_analysis {
        &[Manner::ByPort, Manner::Frugal]
    } else {
        &[Manner::Balanced, Manner::ByPort, Manner::Frugal]
    };
    let plan = Plan {
        engine: RoutingEngine::Lash,
        tree_per_switch: true,
        manners: [first, &[]],
        save_lanes: true,
        with_switches: false,
        first_lane: options.lash_start_vl,
        lanes: options.vls().saturating_sub(options.lash_start_vl),
    };
    layered::route(fabric, lids, options, plan)
}
