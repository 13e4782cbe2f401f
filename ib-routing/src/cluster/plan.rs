//! Writes the configurations of clusters for a given division of the switches.

use alloc::{collections::BTreeMap, format, string::String, vec, vec::Vec};

use ib_wire::{Lid, PortNum};

use super::config::{ClusterConfig, SwitchPort, Transit};
use crate::{
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
};

/// Configurations of clusters `1`, `2` and so on: `cluster_of` says which of them (from 0) each switch is
/// in. LIDs are divided evenly; every cable between clusters is a boundary; packets leave towards
/// clusters that are fewer clusters away from where they go; and the first cable of each joint makes a
/// tree of the clusters for multicast.
#[must_use]
pub fn plan(fabric: &Fabric, cluster_of: &IdxVec<SwitchIdx, usize>) -> Vec<ClusterConfig> {
    let count = cluster_of.iter().max().map_or(0, |last| last + 1);
    let mut clusters: Vec<ClusterConfig> = (0..count).map(|at| blank(at, count)).collect();
    for (switch, &cluster) in cluster_of.iter_enumerated() {
        if let Some(cluster) = clusters.get_mut(cluster) {
            cluster.switches.push((fabric.switch_guid(switch), 0));
        }
    }
    let cables = cables(fabric, cluster_of);
    let distance = distances(count, &cables);
    let mut tree_of: Vec<usize> = (0..count).collect();
    for cable in &cables {
        let towards = |&target: &usize| {
            let hops = |from| distance.get(&(from, target));
            hops(cable.to).is_some_and(|there| hops(cable.from).is_some_and(|here| there < here))
        };
        let to: Vec<String> = (0..count).filter(towards).map(name).collect();
        let Some(cluster) = clusters.get_mut(cable.from) else {
            continue;
        };
        cluster.boundary.push(cable.place);
        if !to.is_empty() {
            cluster.transit.push(Transit {
                place: cable.place,
                to,
            });
        }
        let (one, other) = (
            tree_of.get(cable.from).copied(),
            tree_of.get(cable.to).copied(),
        );
        if let Some((one, other)) = one.zip(other).filter(|(one, other)| one != other) {
            for tree in tree_of.iter_mut().filter(|tree| **tree == other) {
                *tree = one;
            }
            for (cluster, place) in [(cable.from, cable.place), (cable.to, cable.peer)] {
                if let Some(cluster) = clusters.get_mut(cluster) {
                    cluster.multicast.push(place);
                }
            }
        }
    }
    clusters
}

/// One direction of a cable between two clusters.
struct Cable {
    from: usize,
    place: SwitchPort,
    to: usize,
    peer: SwitchPort,
}

fn cables(fabric: &Fabric, cluster_of: &IdxVec<SwitchIdx, usize>) -> Vec<Cable> {
    let place = |switch: SwitchIdx, port: PortNum| SwitchPort {
        switch: fabric.switch_guid(switch),
        port,
        line: 0,
    };
    let channels = fabric.channels().iter();
    let between = channels.filter(|channel| cluster_of[channel.from] != cluster_of[channel.to]);
    between
        .map(|channel| Cable {
            from: cluster_of[channel.from],
            place: place(channel.from, channel.port),
            to: cluster_of[channel.to],
            peer: place(channel.to, channel.to_port),
        })
        .collect()
}

fn name(at: usize) -> String {
    format!("{}", at.saturating_add(1))
}

fn blank(at: usize, count: usize) -> ClusterConfig {
    let all = usize::from(Lid::UNICAST_MAX.0);
    let first = |at: usize| Lid((at * all / count.max(1) + 1) as u16);
    ClusterConfig {
        first: first(at),
        last: Lid(first(at + 1).0.saturating_sub(1)),
        ..ClusterConfig::new(&name(at))
    }
}

/// Clusters from one to another, where cables lead there.
fn distances(count: usize, cables: &[Cable]) -> BTreeMap<(usize, usize), usize> {
    let mut distance = BTreeMap::new();
    for target in 0..count {
        distance.insert((target, target), 0);
        let mut queue = vec![target];
        let mut next = 0;
        while let Some(&at) = queue.get(next) {
            next += 1;
            let hops = distance.get(&(at, target)).map_or(1, |hops| hops + 1);
            for cable in cables.iter().filter(|cable| cable.to == at) {
                distance.entry((cable.from, target)).or_insert_with(|| {
                    queue.push(cable.from);
                    hops
                });
            }
        }
    }
    distance
}
