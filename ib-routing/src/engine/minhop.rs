//! Min-hop (`minhop`): every packet takes a shortest path, and equal paths share the load.
//!
//! Works on any fabric, connected or not, and needs one virtual lane. It promises no freedom from
//! deadlock: on trees there is none to fear, on rings and tori there is. The LIDs of one port take
//! paths through different chassis where they can, else different switches, as in OpenSM; unlike
//! there, load counts the sources whose routes come by, not the destinations. Where switches with CAs are
//! joined directly (tori, dragonflies) or a fat tree lacks cables, whole trees of shortest paths are balanced against
//! each other, as `sssp` does: ports that each switch chooses by its own load alone would crowd there.
//! Time O(channels * switches / 64 * diameter + LIDs * switches), and as sssp where trees are balanced.

use crate::{
    algo::{
        balance::{self, is_regular},
        demands::is_direct,
        parallel,
        port_balancing::{chooses_by_port, route_shortest},
        shortest_path_dag::{ShortestPathDag, senders},
    },
    engine::{self, Guarantees, RoutingEngine},
    error::RouteError,
    fabric::Fabric,
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// The engine `minhop`.
#[derive(Clone, Copy, Debug, Default)]
pub struct MinHop;

impl RoutingEngine for MinHop {
    fn name(&self) -> &'static str {
        "minhop"
    }

    fn guarantees(&self, options: &RouteOptions) -> Guarantees {
        Guarantees::shortest_paths(options)
    }

    /// Routes over shortest paths.
    ///
    /// # Errors
    /// None: what no cable joins stays unreachable, and the verifier's report says so.
    fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError> {
        let senders = senders(fabric, lids);
        let by_trees = is_direct(fabric, &senders) || !is_regular(fabric, &senders);
        if !by_trees || chooses_by_port(lids, options) {
            let mut routes = Routes::new_shared(&engine::MINHOP, fabric, lids);
            route_shortest(fabric, lids, options, &mut routes)?;
            return Ok(routes);
        }
        Ok(parallel::install(options.threads, fabric, || {
            let dag = ShortestPathDag::new(fabric, options);
            balance::route(options.threads, &engine::MINHOP, fabric, lids, &dag)
        }))
    }
}
