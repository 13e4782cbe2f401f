//! Down*/Up* (`dnup`): up*/down* with ranks by distance from the leaves, so that CAs may sit near the
//! roots.
//!
//! A switch with CAs is a leaf; routes go away from the leaves first and then towards them, on one virtual
//! lane and without a cycle of channels. Not every fabric has such routes between all leaves: with one CA
//! on a spine, no switch of a tree is away from the leaves. OpenSM leaves such leaves unreachable, or lets
//! packets turn as they like where all switches are leaves; here the roots that the options name or that
//! the tree shows become the top, else one leaf, and distance from the top is the order, in which all
//! reach each other. Time as minhop. Source: OpenSM's `osm_ucast_dnup.c`.

use core::cmp::Reverse;

use alloc::vec::Vec;

use crate::{
    algo::{bfs, roots::roots, up_down},
    engine::{self, Guarantees, PathRule, RoutingEngine},
    error::RouteError,
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};
/// The engine `dnup`.
#[derive(Clone, Copy, Debug, Default)]
pub struct DownUp;

impl RoutingEngine for DownUp {
    fn name(&self) -> &'static str {
        "dnup"
    }

    fn guarantees(&self, options: &RouteOptions) -> Guarantees {
        Guarantees {
            deadlock_free: !options.connect_roots,
            paths: PathRule::FromLeaves,
            lanes: false,
            ..Guarantees::NONE
        }
    }

    /// Routes down*/up*.
    ///
    /// # Errors
    /// None: what no cable joins stays unreachable, and the verifier's report says so.
    fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError> {
        let above_leaves = ranks_above_leaves(fabric, lids, options);
        let by = |ranks: &Ranks| route_by(ranks, fabric, lids, options);
        let no_path = |error: &RouteError| matches!(error, RouteError::NoPath { .. });
        match by(&above_leaves) {
            Err(error) if no_path(&error) => {}
            routes => return routes,
        }
        let roots = roots(fabric, lids, options);
        match by(&ranks_below_tops(fabric, options, &above_leaves, &roots)) {
            // Roots may have no path to each other; below a single switch there always is one.
            Err(error) if no_path(&error) => {
                by(&ranks_below_tops(fabric, options, &above_leaves, &[]))
            }
            routes => routes,
        }
    }
}

/// The ranks by which routes in place may have been made.
pub(crate) fn possible_ranks(fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> [Ranks; 3] {
    let above_leaves = ranks_above_leaves(fabric, lids, options);
    let roots = roots(fabric, lids, options);
    let below_roots = ranks_below_tops(fabric, options, &above_leaves, &roots);
    let below_tops = ranks_below_tops(fabric, options, &above_leaves, &[]);
    [above_leaves, below_roots, below_tops]
}

fn route_by(
    ranks: &Ranks,
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
) -> Result<Routes, RouteError> {
    let classes = up_down::directions(fabric, &places(fabric, options, ranks));
    up_down::route(fabric, lids, options, &engine::DNUP, &classes)
}

type Ranks = IdxVec<SwitchIdx, u16>;

/// Hops from the nearest switch with CAs; of neighbours with as many, the nearer to a root is the
/// higher, so that a spine with a CA of its own still carries what leaves send each other.
fn ranks_above_leaves(fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Ranks {
    let has_ca = |&switch: &SwitchIdx| {
        lids.at_switch(switch)
            .any(|destination| !destination.is_switch())
    };
    let leaves: Vec<SwitchIdx> = fabric.switches().indices().filter(has_ca).collect();
    let mut ranks = IdxVec::filled(fabric.num_switches(), bfs::UNREACHED);
    bfs::spread_out(fabric, &leaves, &mut ranks);
    let mut channels = fabric.channels().iter();
    if channels.all(|channel| ranks[channel.from] != ranks[channel.to]) {
        return ranks;
    }
    let mut below = IdxVec::filled(fabric.num_switches(), bfs::UNREACHED);
    bfs::spread_out(fabric, &roots(fabric, lids, options), &mut below);
    let heights = ranks.iter().zip(below.iter());
    let heights = heights.map(|(&above, &below)| (above, Reverse(below)));
    let heights: Vec<(u16, Reverse<u16>)> = heights.collect();
    let mut known = heights.clone();
    known.sort_unstable();
    known.dedup();
    let rank = |height| known.partition_point(|other| other < height) as u16;
    heights.iter().map(rank).collect()
}

/// The nearer to the `tops`, the higher. A part of the fabric without any has one of its lowest switches as the top: below
/// a root of a tree, only those switches that have a cable to it would be higher than leaves.
fn ranks_below_tops(
    fabric: &Fabric,
    options: &RouteOptions,
    ranks: &Ranks,
    tops: &[SwitchIdx],
) -> Ranks {
    let places = places(fabric, options, ranks);
    let mut lowest_first: Vec<SwitchIdx> = fabric.switches().indices().collect();
    lowest_first.sort_unstable_by_key(|&switch| (ranks[switch], Reverse(places[switch])));
    let mut distance = IdxVec::filled(fabric.num_switches(), bfs::UNREACHED);
    bfs::spread_out(fabric, tops, &mut distance);
    for top in lowest_first {
        if distance[top] == bfs::UNREACHED {
            bfs::spread_out(fabric, &[top], &mut distance);
        }
    }
    let ranks = distance.iter().map(|&hops| bfs::UNREACHED - hops);
    ranks.collect()
}

/// A switch's place in the order of directions: rank, then the smaller id, its GUID where `ids` says
/// nothing.
type DirectionKey = (u16, Reverse<u64>, Reverse<SwitchIdx>);

fn places(
    fabric: &Fabric,
    options: &RouteOptions,
    ranks: &Ranks,
) -> IdxVec<SwitchIdx, DirectionKey> {
    let place = ranks.iter_enumerated().map(|(switch, &rank)| {
        let id = options.ids.get(&fabric.switch_guid(switch)).copied();
        (rank, Reverse(id.unwrap_or(u64::MAX)), Reverse(switch))
    });
    place.collect()
}
