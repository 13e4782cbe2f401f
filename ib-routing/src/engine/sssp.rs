//! SSSP (`sssp`): shortest paths, each destination's chosen by the load of all paths before it.
//!
//! Works on any fabric, connected or not, and needs one virtual lane; it promises no freedom from
//! deadlock. A LID's paths are the shortest by hops (or by `hop_weights`) and among them the lightest:
//! the sum of the routes that its channels carry already. Time O(LIDs * shortest channels). Source:
//! Hoefler, Schneider and Lumsdaine, "Optimized Routing for Large-Scale InfiniBand Networks", 2009.

use ib_wire::Lid;

use crate::{
    RoutingEngine,
    algo::descent::{Descent, Tree, hop_weights, senders},
    error::RouteError,
    fabric::Fabric,
    index::IdxVec,
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
    let mut load = IdxVec::filled(fabric.channels().len(), 0);
    let mut descent = Descent::new(fabric, hop_weights(fabric, options));
    let mut tree = Tree::default();
    for target in fabric.switches().indices() {
        descent.aim(fabric, target);
        for end in lids.at_switch(target) {
            for lid in end.range.iter() {
                descent.lightest(&load, &mut tree);
                if !end.is_switch() {
                    tree.add_load(&descent, &senders, &mut load);
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
