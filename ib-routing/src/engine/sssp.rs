//! SSSP (`sssp`): shortest paths, each destination's chosen by the load of all paths before it.
//!
//! Works on any fabric, connected or not, and needs one virtual lane; it promises no freedom from
//! deadlock. A LID's paths are the shortest by hops (or by `hop_weights`) and among them the lightest:
//! the sum of the routes that its channels carry already. Then the busiest channels are relieved one by one; on
//! small fabrics every LID's paths are chosen again by the load of all others before. The LIDs of a switch's port 0
//! take the paths of the first CA there. Time O(LIDs * shortest channels). Source: Hoefler, Schneider and
//! Lumsdaine, "Optimized Routing for Large-Scale InfiniBand Networks", 2009.

use crate::{
    algo::{balance, parallel, shortest_path_dag::ShortestPathDag},
    engine::{self, Guarantees, RoutingEngine},
    error::RouteError,
    fabric::Fabric,
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// The engine `sssp`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sssp;

impl RoutingEngine for Sssp {
    fn name(&self) -> &'static str {
        "sssp"
    }

    fn guarantees(&self, options: &RouteOptions) -> Guarantees {
        Guarantees::shortest_paths(options)
    }

    /// # Errors
    /// None: every fabric has shortest paths.
    fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError> {
        Ok(parallel::install(options.threads, fabric, || {
            let dag = ShortestPathDag::new(fabric, options);
            balance::route(options.threads, &engine::SSSP, fabric, lids, &dag)
        }))
    }
}
