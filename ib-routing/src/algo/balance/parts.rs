//! Parts of a fabric's switches, one for each thread that chooses trees.

use alloc::{vec, vec::Vec};

use crate::{
    algo::bfs,
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
};

/// Switches of a part, at least: with fewer, threads wait for each other more than they work.
pub(super) const SMALLEST: usize = 128;

/// The number of each switch's part, below `parts`.
///
/// Each part gets as many switches of each distance from the CAs as any other, since threads work on those of one distance
/// at the same time. In a fat tree the switches of a pod are in one part, as far as that is possible: pods are what is left
/// of it without its roots.
#[must_use]
pub(super) fn part_of(
    fabric: &Fabric,
    senders: &IdxVec<SwitchIdx, u64>,
    parts: usize,
) -> IdxVec<SwitchIdx, usize> {
    let switches = fabric.switches().indices();
    let leaves: Vec<SwitchIdx> = switches.clone().filter(|&leaf| senders[leaf] > 0).collect();
    let height = bfs::distances(fabric, &leaves);
    let pod_of = pods(fabric, &height);
    let mut switches: Vec<SwitchIdx> = switches.collect();
    switches.sort_by_key(|&switch| (height[switch], pod_of[switch]));
    let mut part_of = IdxVec::filled(fabric.num_switches(), 0);
    for alike in switches.chunk_by(|&one, &next| height[one] == height[next]) {
        for (at, &switch) in alike.iter().enumerate() {
            part_of[switch] = at * parts / alike.len();
        }
    }
    part_of
}

/// The number of each switch's pod: paths of switches lower than the highest ones join all switches of a pod.
fn pods(fabric: &Fabric, height: &IdxVec<SwitchIdx, u16>) -> IdxVec<SwitchIdx, usize> {
    const NONE: usize = usize::MAX;
    let reached = height.iter().filter(|&&height| height != bfs::UNREACHED);
    let highest = reached.copied().max().unwrap_or_default();
    let mut pod_of = IdxVec::filled(fabric.num_switches(), NONE);
    let mut pods = 0;
    for start in fabric.switches().indices() {
        if pod_of[start] != NONE || height[start] >= highest {
            continue;
        }
        pod_of[start] = pods;
        let mut open = vec![start];
        while let Some(switch) = open.pop() {
            for (_, channel) in fabric.channels_from(switch) {
                if pod_of[channel.to] == NONE && height[channel.to] < highest {
                    pod_of[channel.to] = pods;
                    open.push(channel.to);
                }
            }
        }
        pods += 1;
    }
    pod_of
}
