//! Escape paths: those along a spanning tree, which every lane admits before all others.

use alloc::vec::Vec;

use super::NONE;
use crate::{
    algo::channel_graph::ChannelGraph,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// All switches, those with CAs first: in a fat tree with such a root only paths through the root's own pod
/// go up after going down, and block few others.
pub(super) fn roots(fabric: &Fabric, senders: &IdxVec<SwitchIdx, u64>) -> Vec<SwitchIdx> {
    let mut roots: Vec<SwitchIdx> = fabric.switches().indices().collect();
    roots.sort_by_key(|&switch| senders[switch] == 0);
    roots
}

/// A spanning tree of every part of the fabric, along which escape paths lead.
pub(super) struct Escape {
    /// All switches, each root before the rest of its part, the nearest first.
    pub(super) order: Vec<SwitchIdx>,
    /// The channel towards the root.
    parent: IdxVec<SwitchIdx, ChannelIdx>,
}

impl Escape {
    /// Trees of shortest paths to the first of `roots`, and to the first in every part that it is not in.
    pub(super) fn new(fabric: &Fabric, roots: &[SwitchIdx]) -> Self {
        let mut parent = IdxVec::filled(fabric.num_switches(), NONE);
        let mut met = IdxVec::filled(fabric.num_switches(), false);
        let mut order = Vec::new();
        for &root in roots {
            if met[root] {
                continue;
            }
            met[root] = true;
            let mut at = order.len();
            order.push(root);
            while let Some(&switch) = order.get(at) {
                at += 1;
                for (_, channel) in fabric.channels_from(switch) {
                    if !met[channel.to] {
                        met[channel.to] = true;
                        parent[channel.to] = channel.reverse;
                        order.push(channel.to);
                    }
                }
            }
        }
        Self { order, parent }
    }

    /// Admits what the paths along the trees depend on: all of it, as a tree has no cycle of channels but
    /// by turning back.
    pub(super) fn admit(&self, fabric: &Fabric, lane: &mut ChannelGraph) {
        let in_tree = |channel: ChannelIdx| {
            let ends = fabric.channel(channel);
            self.parent[ends.from] == channel || self.parent[ends.to] == ends.reverse
        };
        for first in fabric
            .channels()
            .indices()
            .filter(|&channel| in_tree(channel))
        {
            let ends = fabric.channel(first);
            for (second, _) in fabric.channels_from(ends.to) {
                if second != ends.reverse && in_tree(second) {
                    lane.admit(first, second);
                }
            }
        }
    }
}
