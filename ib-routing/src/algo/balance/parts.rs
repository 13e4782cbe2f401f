//! Parts of a fabric's switches, one for each thread that chooses trees.

use alloc::{vec, vec::Vec};

use crate::{
    algo::bfs,
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
};

/// Switches of a part, at least: with fewer, threads wait for each other more than they work.
pub(super) const SMALLEST: usize = 128;

/// The parts of all switches.
#[derive(Debug)]
pub(super) struct Parts {
    /// The number of each switch's part.
    pub(super) part_of: IdxVec<SwitchIdx, usize>,
    /// The number of parts.
    pub(super) count: usize,
}

impl Parts {
    /// Up to `most` parts of about the same size.
    ///
    /// The switches of a pod are in one part: pods are what is left of a fat tree without its roots. Where there are fewer
    /// pods, there are fewer parts. Each part gets as many roots as any other.
    pub(super) fn new(fabric: &Fabric, senders: &IdxVec<SwitchIdx, u64>, most: usize) -> Self {
        let switches = fabric.switches().indices();
        let leaves: Vec<SwitchIdx> = switches.clone().filter(|&leaf| senders[leaf] > 0).collect();
        let height = bfs::distances(fabric, &leaves);
        let pods = pods(fabric, &height);
        let in_pods: usize = pods.iter().map(Vec::len).sum();
        let most = most.min(pods.len());
        let mut part_of = IdxVec::filled(fabric.num_switches(), None);
        let (mut before, mut count, mut last) = (0, 0, None);
        for pod in pods {
            // The part in which the middle of the pod lies.
            let place = (before + pod.len() / 2) * most / in_pods.max(1);
            before += pod.len();
            if last.replace(place) != Some(place) {
                count += 1;
            }
            for switch in pod {
                part_of[switch] = Some(count - 1);
            }
        }
        let roots = part_of.iter().filter(|part| part.is_none()).count();
        let mut root = 0;
        let part_of = part_of.iter().map(|part| {
            part.unwrap_or_else(|| {
                root += 1;
                (root - 1) * count / roots
            })
        });
        Self {
            part_of: part_of.collect(),
            count,
        }
    }
}

/// The switches of each pod: paths of switches lower than the highest ones join them.
fn pods(fabric: &Fabric, height: &IdxVec<SwitchIdx, u16>) -> Vec<Vec<SwitchIdx>> {
    let reached = height.iter().filter(|&&height| height != bfs::UNREACHED);
    let highest = reached.copied().max().unwrap_or_default();
    let mut is_left = IdxVec::filled(fabric.num_switches(), true);
    let mut pods = Vec::new();
    for start in fabric.switches().indices() {
        let mut pod = Vec::new();
        let mut open = vec![start];
        while let Some(switch) = open.pop() {
            if is_left[switch] && height[switch] < highest {
                is_left[switch] = false;
                pod.push(switch);
                open.extend(fabric.channels_from(switch).map(|(_, channel)| channel.to));
            }
        }
        if !pod.is_empty() {
            pods.push(pod);
        }
    }
    pods
}
