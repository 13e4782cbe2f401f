//! Dimension order (`dor`): shortest paths that leave by the first port that leads nearer.
//!
//! If every switch has its dimensions on ports in the same order, packets cross a mesh or hypercube
//! dimension by dimension and cannot deadlock on one virtual lane. On a torus they can: torus-2QoS is
//! for that. Parallel cables of a dimension share the load. `port_order` gives the order of dimensions
//! to switches cabled otherwise. Time as minhop. Source: Dally and Seitz, "The torus routing chip", 1986.

use crate::{
    algo::port_balancing::route_shortest,
    engine::{self, Guarantees, RoutingEngine},
    error::RouteError,
    fabric::Fabric,
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// The engine `dor`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dor;

impl RoutingEngine for Dor {
    fn name(&self) -> &'static str {
        "dor"
    }

    fn guarantees(&self, options: &RouteOptions) -> Guarantees {
        Guarantees::shortest_paths(options)
    }

    /// Routes in dimension order.
    ///
    /// # Errors
    /// None: any fabric has shortest paths.
    fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError> {
        let mut routes = Routes::new_shared(&engine::DOR, fabric, lids);
        route_shortest(fabric, lids, options, &mut routes)?;
        Ok(routes)
    }
}
