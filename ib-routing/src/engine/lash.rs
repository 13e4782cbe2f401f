//! LASH (`lash`): one shortest path per pair of switches, layered over virtual lanes.
//!
//! Works on any fabric, connected or not. All LIDs at a switch share its tree, so a pair of switches
//! has one path and one service level. Trees are chosen by load, by ports and by the turns of earlier
//! ones. Those by ports are LASH as published, and of the three the least busy count that need no more
//! lanes than these: neither load nor lanes are ever more than its own. Trees by the turns of earlier ones
//! are not tried where those by load fit one lane, as on fat trees.
//! Lanes are counted for paths between CAs. Those from and to switches, which carry little, get more lanes
//! if they need them and there are any.
//! With `do_mesh_analysis` the fewest lanes count, and trees are not chosen by load: what it is meant
//! for, meshes and tori, has trees that need fewer lanes. Time O(switches * channels).
//! Source: Skeie, Lysne and Theiss, "Layered Shortest Path (LASH) Routing in Irregular System Area
//! Networks", 2002.

use alloc::format;

use crate::{
    algo::layered::{self, LayeredConfig, Objective, TreeStrategy},
    engine::{self, Guarantees, RoutingEngine},
    error::RouteError,
    fabric::Fabric,
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// The engine `lash`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lash;

impl RoutingEngine for Lash {
    fn name(&self) -> &'static str {
        "lash"
    }

    fn guarantees(&self, options: &RouteOptions) -> Guarantees {
        Guarantees {
            deadlock_free: true,
            lanes: true,
            first_sl: options.lash_start_vl,
            ..Guarantees::shortest_paths(options)
        }
    }

    /// # Errors
    /// [`RouteError::BadOption`] if `options.lash_start_vl` is no lane that there is, and
    /// [`RouteError::TooFewVls`] if the lanes from `options.lash_start_vl` on do not suffice.
    fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError> {
        let (first, available) = (options.lash_start_vl, options.vls());
        if first >= available {
            let what = format!(
                "lash_start_vl is {first}, expected less than the {available} virtual lanes that there are"
            );
            return Err(RouteError::BadOption {
                engine: self.name(),
                what,
            });
        }
        let (strategies, objective): (&[TreeStrategy], Objective) = if options.do_mesh_analysis {
            (
                &[TreeStrategy::ByPort, TreeStrategy::ReuseTurns],
                Objective::Lanes,
            )
        } else {
            let all = &[
                TreeStrategy::Balanced,
                TreeStrategy::ByPort,
                TreeStrategy::ReuseTurns,
            ];
            (all, Objective::LoadOnFewLanes)
        };
        let config = LayeredConfig {
            engine: &engine::LASH,
            tree_per_switch: true,
            strategies: [strategies, &[]],
            objective,
            with_switches: false,
            count_switches: false,
            first_lane: first,
            lanes: available - first,
        };
        layered::route(fabric, lids, options, config)
    }
}
