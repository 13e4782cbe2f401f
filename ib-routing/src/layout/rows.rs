//! Switches in rows: by distance from the leaf switches of a tree, or from a central switch.

use alloc::{vec, vec::Vec};

use crate::{
    algo::bfs::{UNREACHED, distances, spread_out},
    fabric::Fabric,
    index::{IdxVec, NodeIdx, SwitchIdx},
};

/// The share of links within a row, in percent of all links, up to which a fabric counts as a tree. A few wrong cables
/// are therefore shown, and do not change the kind of picture.
const LINKS_WITHIN_ROWS: usize = 5;

/// Number of switches that are tried as the centre of a fabric. Each costs a search.
const CANDIDATES: usize = 64;

/// The rows of a tree from the top down; `None` if the fabric is not like one.
///
/// A leaf switch has at least a quarter of the hosts that the switch with the most has: a few hosts at a root, as
/// management nodes are, do not make it a leaf.
pub(super) fn of_tree(
    fabric: &Fabric,
    hosts: &IdxVec<SwitchIdx, Vec<NodeIdx>>,
    order: &[SwitchIdx],
) -> Option<Vec<Vec<SwitchIdx>>> {
    let rank = ranks_of_tree(fabric, hosts)?;
    let mut rows = cut(&rank, order);
    group_by_subtree(&subtrees(fabric, &rank, &rows), &mut rows);
    rows.reverse();
    Some(rows)
}

/// The subtrees of a tree: for each height from the leaves up, which part of the fabric without the switches above it
/// a switch is in. `None` if the fabric is not like a tree.
pub(crate) fn subtrees_of_tree(
    fabric: &Fabric,
    hosts: &IdxVec<SwitchIdx, Vec<NodeIdx>>,
    order: &[SwitchIdx],
) -> Option<Vec<IdxVec<SwitchIdx, u32>>> {
    let rank = ranks_of_tree(fabric, hosts)?;
    Some(subtrees(fabric, &rank, &cut(&rank, order)))
}

/// The height of each switch above the leaves; `None` if the fabric is not like a tree.
fn ranks_of_tree(
    fabric: &Fabric,
    hosts: &IdxVec<SwitchIdx, Vec<NodeIdx>>,
) -> Option<IdxVec<SwitchIdx, u16>> {
    let most = hosts.iter().map(Vec::len).max().filter(|&most| most > 0)?;
    let leaves = fabric.switches().indices();
    let leaves: Vec<SwitchIdx> = leaves
        .filter(|&switch| hosts[switch].len() * 4 >= most)
        .collect();
    let mut rank = IdxVec::filled(fabric.num_switches(), UNREACHED);
    spread_out(fabric, &leaves, &mut rank);
    join_rest(fabric, &mut rank);
    let channels = fabric.channels();
    let within = channels
        .iter()
        .filter(|channel| rank[channel.from] == rank[channel.to])
        .count();
    if within * 100 > channels.len() * LINKS_WITHIN_ROWS {
        return None;
    }
    Some(rank)
}

/// Rows by distance from a central switch, which is on top: of the switches with the most links, the most central one.
pub(super) fn by_distance(fabric: &Fabric, order: &[SwitchIdx]) -> Vec<Vec<SwitchIdx>> {
    let degree = |switch: SwitchIdx| fabric.channels_from(switch).len();
    let most = fabric
        .switches()
        .indices()
        .map(degree)
        .max()
        .unwrap_or_default();
    let candidates = order.iter().filter(|&&switch| degree(switch) == most);
    let centre = candidates.take(CANDIDATES).min_by_key(|&&switch| {
        let distances = distances(fabric, &[switch]);
        let reached = || {
            distances
                .iter()
                .filter(|&&hops| hops != UNREACHED)
                .map(|&hops| u64::from(hops))
        };
        (
            core::cmp::Reverse(reached().count()),
            reached().max(),
            reached().sum::<u64>(),
        )
    });
    let mut rank = IdxVec::filled(fabric.num_switches(), UNREACHED);
    if let Some(&centre) = centre {
        spread_out(fabric, &[centre], &mut rank);
    }
    join_rest(fabric, &mut rank);
    let mut rows = cut(&rank, order);
    put_below_parents(fabric, &rank, &mut rows);
    rows
}

/// A part of the fabric that no cable joins to the rest begins at its first switch.
fn join_rest(fabric: &Fabric, rank: &mut IdxVec<SwitchIdx, u16>) {
    for switch in fabric.switches().indices() {
        if rank[switch] == UNREACHED {
            spread_out(fabric, &[switch], rank);
        }
    }
}

/// The switches of each rank, in order.
fn cut(rank: &IdxVec<SwitchIdx, u16>, order: &[SwitchIdx]) -> Vec<Vec<SwitchIdx>> {
    let last = rank.iter().copied().max().unwrap_or_default();
    let mut rows = vec![Vec::new(); usize::from(last) + 1];
    for &switch in order {
        if let Some(row) = rows.get_mut(usize::from(rank[switch])) {
            row.push(switch);
        }
    }
    rows
}

/// The subtrees below each rank: parts of the fabric without the switches above it.
fn subtrees(
    fabric: &Fabric,
    rank: &IdxVec<SwitchIdx, u16>,
    rows: &[Vec<SwitchIdx>],
) -> Vec<IdxVec<SwitchIdx, u32>> {
    let ranks = 0..rows.len();
    ranks
        .map(|top| parts_up_to(fabric, rank, top, rows))
        .collect()
}

/// Sorts the rows of a tree so that switches of one subtree are next to each other. Otherwise the order does not
/// change.
fn group_by_subtree(parts: &[IdxVec<SwitchIdx, u32>], rows: &mut [Vec<SwitchIdx>]) {
    for (own, row) in rows.iter_mut().enumerate() {
        row.sort_by_cached_key(|&switch| {
            let above = parts.iter().skip(own).rev();
            above.map(|part| part[switch]).collect::<Vec<u32>>()
        });
    }
}

/// Numbers the parts that the switches up to a rank fall into, in the order of their first switches.
fn parts_up_to(
    fabric: &Fabric,
    rank: &IdxVec<SwitchIdx, u16>,
    top: usize,
    rows: &[Vec<SwitchIdx>],
) -> IdxVec<SwitchIdx, u32> {
    let mut part = IdxVec::filled(fabric.num_switches(), u32::MAX);
    let mut count = 0;
    for &first in rows.iter().take(top + 1).flatten() {
        if part[first] != u32::MAX {
            continue;
        }
        part[first] = count;
        let mut open = vec![first];
        while let Some(switch) = open.pop() {
            for (_, channel) in fabric.channels_from(switch) {
                if usize::from(rank[channel.to]) <= top && part[channel.to] == u32::MAX {
                    part[channel.to] = count;
                    open.push(channel.to);
                }
            }
        }
        count += 1;
    }
    part
}

/// Sorts each row by the mean place of the neighbors in the row above.
fn put_below_parents(fabric: &Fabric, rank: &IdxVec<SwitchIdx, u16>, rows: &mut [Vec<SwitchIdx>]) {
    const SCALE: usize = 1 << 16;
    let mut place = IdxVec::filled(fabric.num_switches(), 0usize);
    for row in rows {
        row.sort_by_cached_key(|&switch| {
            let parents = fabric
                .channels_from(switch)
                .map(|(_, channel)| channel.to)
                .filter(|&parent| rank[parent] < rank[switch]);
            let (sum, count) = parents.fold((0, 0), |(sum, count), parent| {
                (sum + place[parent], count + 1)
            });
            sum / usize::max(count, 1)
        });
        let count = row.len();
        for (at, &switch) in row.iter().enumerate() {
            place[switch] = (2 * at + 1) * SCALE / (2 * count);
        }
    }
}
