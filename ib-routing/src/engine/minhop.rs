//! Min-hop (`minhop`): every packet takes a shortest path, and equal paths share the load.
//!
//! Works on any fabric, connected or not, and needs one virtual lane; it promises no freedom from
//! deadlock. Source: OpenSM's `osm_ucast_mgr.c` for the rules of balance.

use alloc::vec::Vec;

use crate::{
    RoutingEngine, algo::bfs, error::RouteError, fabric::Fabric, index::IdxVec, lid::LidMap,
    options::RouteOptions, routes::Routes,
};

/// # Errors
/// None so far.
pub fn route(
    fabric: &Fabric,
    lids: &LidMap,
    _options: &RouteOptions,
) -> Result<Routes, RouteError> {
    let mut routes = Routes::new(RoutingEngine::MinHop, fabric, lids);
    routes.set_exits(lids);
    let mut load = IdxVec::filled(fabric.channels().len(), 0u32);
    for target in fabric.switches().indices() {
        let distance = bfs::distances(fabric, target);
        for switch in fabric.switches().indices() {
            let here = distance[switch];
            if switch == target || here == bfs::UNREACHED {
                continue;
            }
            let nearer: Vec<_> = fabric
                .channels_from(switch)
                .filter(|(_, channel)| distance[channel.to] < here)
                .map(|(index, channel)| (index, channel.port))
                .collect();
            for destination in lids.at_switch(target) {
                for lid in destination.range.iter() {
                    if let Some(&(channel, port)) =
                        nearer.iter().min_by_key(|(channel, _)| load[*channel])
                    {
                        load[channel] += u32::from(!destination.is_switch());
                        routes.set_port(switch, lid, port);
                    }
                }
            }
        }
    }
    Ok(routes)
}
