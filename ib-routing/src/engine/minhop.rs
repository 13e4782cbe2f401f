//! Min-hop (`minhop`): every packet takes a shortest path, and equal paths share the load.
//!
//! Works on any fabric, connected or not, and needs one virtual lane. It promises no freedom from
//! deadlock: on trees there is none to fear, on rings and tori there is. The LIDs of one port take
//! paths through different chassis where they can, else different switches, as in OpenSM; unlike
//! there, load counts the sources whose routes come by, not the destinations. Where switches with CAs are
//! joined directly (tori, dragonflies), whole trees of shortest paths are balanced against each other, as
//! `sssp` does: ports that each switch chooses by its own load alone would crowd there.
//! Time O(channels * switches / 64 * diameter + LIDs * switches).

use crate::{
    algo::{
        balance::Balance,
        demands::{Demands, is_direct},
        port_balancing::route_shortest,
        shortest_path_dag::{ShortestPathDag, senders},
    },
    engine::{self, Guarantees, RoutingEngine},
    error::RouteError,
    fabric::Fabric,
    lid::{Destination, LidMap},
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
        if !is_direct(fabric, &senders(fabric, lids)) || chooses_by_port(lids, options) {
            let mut routes = Routes::new_shared(&engine::MINHOP, fabric, lids);
            route_shortest(fabric, lids, options, &mut routes)?;
            return Ok(routes);
        }
        let mut routes = Routes::new_on(options.threads, &engine::MINHOP, fabric, lids);
        routes.set_exits(lids);
        let demands = Demands::new(fabric, lids, false);
        let dag = ShortestPathDag::new(fabric, options);
        let balance = Balance::new(1, fabric, &dag, &demands);
        let choices = balance.choices();
        choices.install(options.threads, fabric, &demands.trees, &mut routes);
        Ok(routes)
    }
}

/// Returns true if an option or ports with several LIDs ask for a rule that holds at each switch: a certain order of
/// its ports, ports that do not count, or LIDs of one port that part.
fn chooses_by_port(lids: &LidMap, options: &RouteOptions) -> bool {
    let has_siblings = |end: &Destination| end.range.lmc().lid_count() > 1;
    !options.port_order.is_empty()
        || !options.ignore_ports.is_empty()
        || !options.guid_routing_order.is_empty()
        || options.scatter_ports.is_some()
        || options.port_shifting
        || options.port_profile_switch_nodes
        || lids.destinations().iter().any(has_siblings)
}
