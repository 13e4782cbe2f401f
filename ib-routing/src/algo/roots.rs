//! The top switches of a tree: those that the options name, and those that the tree itself shows.

use alloc::vec::Vec;

use ib_wire::Guid;

use crate::{
    algo::{bfs, frontiers},
    fabric::{Fabric, PortRef},
    index::{IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
};

/// The roots that the options name, else those that are [found](found_roots).
#[must_use]
pub fn roots(fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Vec<SwitchIdx> {
    if options.roots.is_empty() {
        found_roots(fabric, lids)
    } else {
        named_roots(fabric, &options.roots)
    }
}

/// The switches that GUIDs name, of their own or of a CA cabled to them.
#[must_use]
pub fn named_roots(fabric: &Fabric, guids: &[Guid]) -> Vec<SwitchIdx> {
    let mut roots: Vec<SwitchIdx> = guids
        .iter()
        .filter_map(|&guid| {
            let end = fabric.port_by_guid(guid);
            let node = fabric.node_by_guid(guid).or(end.map(|end| end.node))?;
            fabric.switch_of(node).or_else(|| {
                let mut ports = fabric.node(node).end_ports();
                ports
                    .find_map(|(port, _)| fabric.attachment(PortRef { node, port }))
                    .map(|(at, _)| at)
            })
        })
        .collect();
    roots.sort_unstable();
    roots.dedup();
    roots
}

/// The roots that the distances of the CAs show, and the tops of the tree. A root that lacks a few cables is a top still,
/// and one that has CAs of its own is equally far from the others. Below one root alone, the root's links would carry most
/// routes.
///
/// If none of the former is a top, they are lower switches: where no branch has a twentieth of the CAs and cables are
/// missing, leaves may be all that is equally far from nearly all CAs.
#[must_use]
pub fn found_roots(fabric: &Fabric, lids: &LidMap) -> Vec<SwitchIdx> {
    let found = equally_far(fabric, lids);
    let mut roots = tops(fabric, lids);
    let has_top = found
        .iter()
        .any(|switch| roots.binary_search(switch).is_ok());
    if has_top || roots.is_empty() {
        roots.extend(found);
        roots.sort_unstable();
        roots.dedup();
    }
    roots
}

/// The switches without CAs that are farther from the CAs than all their neighbours, or as far: the tops of a tree
/// whose leaves are of different depths.
fn tops(fabric: &Fabric, lids: &LidMap) -> Vec<SwitchIdx> {
    let has_ca = |&switch: &SwitchIdx| {
        lids.at_switch(switch)
            .any(|destination| !destination.is_switch())
    };
    let leaves: Vec<SwitchIdx> = fabric.switches().indices().filter(has_ca).collect();
    let height = bfs::distances(fabric, &leaves);
    let mut is_top: IdxVec<SwitchIdx, bool> = height
        .iter()
        .map(|&height| height > 0 && height != bfs::UNREACHED)
        .collect();
    for channel in fabric.channels().iter() {
        if height[channel.to] > height[channel.from] {
            is_top[channel.from] = false;
        }
    }
    let switches = fabric.switches().indices();
    switches.filter(|&switch| is_top[switch]).collect()
}

/// Of the switches that more than nine tenths of all CA ports are equally far from, with less than one in twenty at any
/// other distance, those nearest to the CAs. Where no branch of a tree has a twentieth of the CAs, its lower switches are
/// equally far from them as well, and farther than the roots.
fn equally_far(fabric: &Fabric, lids: &LidMap) -> Vec<SwitchIdx> {
    let mut cas = IdxVec::filled(fabric.num_switches(), 0u64);
    let mut total = 0;
    for destination in lids
        .destinations()
        .iter()
        .filter(|destination| !destination.is_switch())
    {
        if let Some(switch) = destination.switch {
            cas[switch] += 1;
            total += 1;
        }
    }
    let with_cas: Vec<SwitchIdx> = fabric
        .switches()
        .indices()
        .filter(|&switch| cas[switch] > 0)
        .collect();
    let all: Vec<SwitchIdx> = fabric.switches().indices().collect();
    // By the distance from most CAs.
    let mut roots: Vec<(usize, SwitchIdx)> = Vec::new();
    for batch in all.chunks(frontiers::BATCH) {
        // The distance at which a switch of the batch has more than nine tenths of the CAs, and the number of distances
        // at which it has a twentieth.
        let (mut most, mut some) = ([None; frontiers::BATCH], [0; frontiers::BATCH]);
        let own = frontiers::start(fabric, batch);
        let levels = frontiers::shortest(1, fabric, batch);
        let levels = core::iter::once(&own).chain(levels.iter().map(|wave| &wave.reached));
        for (distance, sets) in levels.enumerate() {
            let mut found = [0; frontiers::BATCH];
            for &switch in &with_cas {
                for bit in frontiers::bits_of(sets[switch]) {
                    if let Some(found) = found.get_mut(bit as usize) {
                        *found += cas[switch];
                    }
                }
            }
            for ((&found, most), some) in found.iter().zip(&mut most).zip(&mut some) {
                if found * 10 > total * 9 {
                    *most = Some(distance);
                }
                *some += u32::from(found * 20 > total);
            }
        }
        let found = batch.iter().zip(most.iter().zip(&some));
        roots.extend(found.filter_map(|(&switch, (&most, &some))| {
            let distance = most.filter(|_| some == 1)?;
            Some((distance, switch))
        }));
    }
    let nearest = roots.iter().map(|&(distance, _)| distance).min();
    roots.retain(|&(distance, _)| Some(distance) == nearest);
    roots.into_iter().map(|(_, switch)| switch).collect()
}
