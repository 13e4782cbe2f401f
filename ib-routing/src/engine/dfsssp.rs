//! DFSSSP (`dfsssp`): the paths of SSSP, shared out over virtual lanes so that none can deadlock.
//!
//! Works on any fabric, connected or not. Every (switch, LID) gets a service level whose lane keeps an
//! acyclic channel dependency graph. If the lightest paths need more lanes than there are (on an 8x8x8
//! torus), trees are chosen by ports or by the turns of earlier ones: more load, fewer lanes. Time
//! O(LIDs * channels) and a repair of the order per new dependency. Source: Domke, Hoefler and Nagel,
//! "Deadlock-Free Oblivious Routing for Arbitrary Topologies", 2011.

use crate::{
    algo::layered::{self, LayeredConfig, Objective, TreeStrategy},
    engine::{self, Guarantees, RoutingEngine},
    error::RouteError,
    fabric::Fabric,
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// The engine `dfsssp`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dfsssp;

impl RoutingEngine for Dfsssp {
    fn name(&self) -> &'static str {
        "dfsssp"
    }

    fn guarantees(&self, options: &RouteOptions) -> Guarantees {
        Guarantees {
            deadlock_free: true,
            lanes: true,
            ..Guarantees::shortest_paths(options)
        }
    }

    /// # Errors
    /// [`RouteError::TooFewVls`] if `options.vls()` lanes do not suffice for the paths between CAs.
    fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError> {
        let config = LayeredConfig {
            engine: &engine::DFSSSP,
            tree_per_switch: false,
            strategies: [
                &[TreeStrategy::Balanced],
                &[TreeStrategy::ByPort, TreeStrategy::ReuseTurns],
            ],
            objective: Objective::Load,
            with_switches: false,
            count_switches: false,
            first_lane: 0,
            lanes: options.vls(),
        };
        layered::route(fabric, lids, options, config)
    }
}
