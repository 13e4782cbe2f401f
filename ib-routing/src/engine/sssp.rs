//! SSSP (`sssp`): shortest paths, each destination's chosen by the load of all paths before it.
//!
//! Works on any fabric, connected or not, and needs one virtual lane; it promises no freedom from
//! deadlock. A LID's paths are the shortest by hops (or by `hop_weights`) and among them the lightest:
//! the sum of the routes that its channels carry already. Up to two further passes choose every LID's
//! paths again by the load of all others. Time O(LIDs * shortest channels). Source:
//! Hoefler, Schneider and Lumsdaine, "Optimized Routing for Large-Scale InfiniBand Networks", 2009.

use ib_wire::Lid;

use crate::{
    RoutingEngine,
    algo::{
        balance::Balance,
        descent::{Descent, Tree, hop_weights, senders},
    },
    error::RouteError,
    fabric::Fabric,
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// # Errors
/// None: every fabric has shortest paths.
pub fn route(fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Result<Routes, RouteError> {
    let mut routes = Routes::new(RoutingEngine::Sssp, fabric, lids);
    routes.set_exits(lids);
    let senders = senders(fabric, lids);
    let demands = fabric.switches().indices().map(|target| {
        let ends = lids.at_switch(target).filter(|end| !end.is_switch());
        ends.flat_map(|end| end.range.iter().map(|_| 1)).collect()
    });
    let demands = demands.collect();
    let mut descent = Descent::new(fabric, hop_weights(fabric, options));
    let balance = Balance::new(fabric, &mut descent, &senders, &demands);
    let mut trees = balance.trees();
    let mut tree = Tree::default();
    for target in fabric.switches().indices() {
        descent.aim(fabric, target);
        for end in lids.at_switch(target) {
            for lid in end.range.iter() {
                if end.is_switch() {
                    descent.lightest(balance.load(), &mut tree);
                } else {
                    trees.next(&descent, &mut tree);
                }
                install(fabric, &descent, &tree, lid, &mut routes);
            }
        }
    }
    Ok(routes)
}

/// Writes a tree's ports into the tables.
fn install(fabric: &Fabric, descent: &Descent, tree: &Tree, lid: Lid, routes: &mut Routes) {
    for (at, step) in tree.iter() {
        routes.set_port(
            descent.switches()[at],
            lid,
            fabric.channel(step.channel).port,
        );
    }
}
