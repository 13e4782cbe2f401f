//! LASH (`lash`): one shortest path per pair of switches, layered over virtual lanes.
//!
//! Works on any fabric, connected or not. All LIDs at a switch share its tree, so a pair of switches
//! has one path and one service level; the trees are balanced against each other by load.
//! `do_mesh_analysis` chooses trees that reuse each other's turns at once: what it is meant for, meshes
//! and tori, then needs fewer lanes. Time O(switches * channels). Source: Skeie, Lysne and Theiss,
//! "Layered Shortest Path (LASH) Routing in Irregular System Area Networks", 2002.

use crate::{
    RoutingEngine,
    algo::layered::{self, Plan},
    error::RouteError,
    fabric::Fabric,
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// # Errors
/// [`RouteError::TooFewVls`] if the lanes from `options.lash_start_vl` on do not suffice.
pub fn route(fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Result<Routes, RouteError> {
    let plan = Plan {
        engine: RoutingEngine::Lash,
        tree_per_switch: true,
        reuse_turns: options.do_mesh_analysis,
        first_lane: options.lash_start_vl,
    };
    layered::route(fabric, lids, options, plan)
}
