//! Min-hop (`minhop`): every packet takes a shortest path, and equal paths share the load.
//!
//! Works on any fabric, connected or not, and needs one virtual lane. It promises no freedom from
//! deadlock: on trees there is none to fear, on rings and tori there is. The LIDs of one port take
//! paths through different chassis where they can, else different switches, as in OpenSM; unlike
//! there, load counts the sources whose routes come by, not the destinations.
//! Time O(channels * switches / 64 * diameter + LIDs * switches).

use crate::{
    algo::port_balancing::route_shortest,
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
        let mut routes = Routes::new(&engine::MINHOP, fabric, lids);
        route_shortest(fabric, lids, options, &mut routes)?;
        Ok(routes)
    }
}
