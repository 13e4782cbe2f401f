//! Down*/Up* (`dnup`): up*/down* with ranks by distance from the leaves, so that CAs may sit near the
//! roots.
//!
//! A switch with CAs is a leaf; routes go away from the leaves first and then towards them, on one
//! virtual lane and without a cycle of channels. Not every fabric has such routes between all leaves:
//! two leaves whose neighbours are all leaves need the other order. Time as minhop. Source: OpenSM's
//! `osm_ucast_dnup.c`.

use core::cmp::Reverse;

use alloc::vec::Vec;

use crate::{
    RoutingEngine,
    algo::{bfs, up_down},
    error::RouteError,
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// Routes down*/up*.
///
/// # Errors
/// [`RouteError::NoPath`] if two CAs have no such route.
pub fn route(fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Result<Routes, RouteError> {
    let ranks = ranks(fabric, lids);
    let place = fabric.switches().indices().map(|switch| {
        let id = options.ids.get(&fabric.switch_guid(switch)).copied();
        (
            ranks[switch],
            Reverse(id.unwrap_or(u64::MAX)),
            Reverse(switch),
        )
    });
    let classes = up_down::directions(fabric, &place.collect());
    up_down::route(fabric, lids, options, RoutingEngine::DownUp, &classes)
}

/// Hops from the nearest switch with CAs.
pub(crate) fn ranks(fabric: &Fabric, lids: &LidMap) -> IdxVec<SwitchIdx, u16> {
    let has_ca = |&switch: &SwitchIdx| {
        lids.at_switch(switch)
            .any(|destination| !destination.is_switch())
    };
    let leaves: Vec<SwitchIdx> = fabric.switches().indices().filter(has_ca).collect();
    let mut ranks = IdxVec::filled(fabric.num_switches(), bfs::UNREACHED);
    bfs::spread_out(fabric, &leaves, &mut ranks);
    ranks
}
