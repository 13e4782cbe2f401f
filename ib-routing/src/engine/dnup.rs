//! Down*/Up* (`dnup`): up*/down* with ranks by distance from the leaves, so that CAs may sit near the
//! roots.
//!
//! A switch with CAs is a leaf; routes go away from the leaves first and then towards them, on one
//! virtual lane and without a cycle of channels. Not every fabric has such routes between all leaves:
//! where every switch has CAs, nobody is away from them. OpenSM leaves such leaves unreachable; here
//! the switch farthest from the leaves becomes the top of its part of the fabric, and distance from it
//! the order, in which all reach each other. Time as minhop. Source: OpenSM's `osm_ucast_dnup.c`.

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
/// None: what no cable joins stays unreachable, and the verifier's report says so.
pub fn route(fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Result<Routes, RouteError> {
    let ranks = ranks_above_leaves(fabric, lids);
    match route_by(&ranks, fabric, lids, options) {
        Err(RouteError::NoPath { .. }) => {
            let ranks = ranks_below_tops(fabric, options, &ranks);
            route_by(&ranks, fabric, lids, options)
        }
        routes => routes,
    }
}

/// The ranks by which routes in place may have been made.
pub(crate) fn possible_ranks(fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> [Ranks; 2] {
    let above_leaves = ranks_above_leaves(fabric, lids);
    let below_tops = ranks_below_tops(fabric, options, &above_leaves);
    [above_leaves, below_tops]
}

fn route_by(
    ranks: &Ranks,
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
) -> Result<Routes, RouteError> {
    let classes = up_down::directions(fabric, &places(fabric, options, ranks));
    up_down::route(fabric, lids, options, RoutingEngine::DownUp, &classes)
}

type Ranks = IdxVec<SwitchIdx, u16>;

/// Hops from the nearest switch with CAs.
fn ranks_above_leaves(fabric: &Fabric, lids: &LidMap) -> Ranks {
    let has_ca = |&switch: &SwitchIdx| {
        lids.at_switch(switch)
            .any(|destination| !destination.is_switch())
    };
    let leaves: Vec<SwitchIdx> = fabric.switches().indices().filter(has_ca).collect();
    let mut ranks = IdxVec::filled(fabric.num_switches(), bfs::UNREACHED);
    bfs::spread_out(fabric, &leaves, &mut ranks);
    ranks
}

/// The nearer to the highest switch of its part of the fabric, the higher.
fn ranks_below_tops(fabric: &Fabric, options: &RouteOptions, ranks: &Ranks) -> Ranks {
    let places = places(fabric, options, ranks);
    let mut highest_first: Vec<SwitchIdx> = fabric.switches().indices().collect();
    highest_first.sort_unstable_by_key(|&switch| Reverse(places[switch]));
    let mut distance = IdxVec::filled(fabric.num_switches(), bfs::UNREACHED);
    for top in highest_first {
        if distance[top] == bfs::UNREACHED {
            bfs::spread_out(fabric, &[top], &mut distance);
        }
    }
    let ranks = distance.iter().map(|&hops| bfs::UNREACHED - hops);
    ranks.collect()
}

/// A switch's place in the order of directions: rank, then the smaller id, its GUID where `ids` says
/// nothing.
type Place = (u16, Reverse<u64>, Reverse<SwitchIdx>);

fn places(fabric: &Fabric, options: &RouteOptions, ranks: &Ranks) -> IdxVec<SwitchIdx, Place> {
    let place = ranks.iter_enumerated().map(|(switch, &rank)| {
        let id = options.ids.get(&fabric.switch_guid(switch)).copied();
        (rank, Reverse(id.unwrap_or(u64::MAX)), Reverse(switch))
    });
    place.collect()
}
