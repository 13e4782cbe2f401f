//! Multicast in the channel dependency graph, beside the unicast traffic of CAs.
//!
//! A switch sends a multicast packet out of all ports of its group but the one that it came in by, and
//! keeps it until all of them have taken it. So a channel of the tree waits for every channel by which
//! the tree goes on, and a tree whose branches turn where no unicast route does can close a cycle with
//! routes that are free of deadlock themselves. The group's service level says on which lane.

use alloc::vec::Vec;

use ib_wire::{Lid, PortNum, Sl};

use super::dropped::DROP;
use crate::{
    algo::dependency::{DependencyGraph, Vertex},
    fabric::Fabric,
    index::{ChannelIdx, SwitchIdx},
    mcast::MulticastTree,
    vl::VlMap,
};

/// A multicast group: its tables, and the service level of its packets.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Multicast LID of the group.
    pub mlid: Lid,
    /// Service level of the group's packets, as in its MCMemberRecord.
    pub sl: Sl,
    /// The ports of each switch that the group uses.
    pub tree: &'a MulticastTree,
}

impl Group<'_> {
    /// The channels by which the group's packets leave a switch, except the one back through `input`.
    fn ways(
        &self,
        fabric: &Fabric,
        switch: SwitchIdx,
        input: PortNum,
    ) -> impl Iterator<Item = ChannelIdx> {
        let ports = self.tree.ports.get(&switch).copied().unwrap_or_default();
        (0..=u8::MAX)
            .map(PortNum)
            .filter(move |&port| port != input && ports.contains(port))
            .filter_map(move |port| fabric.channel_at(switch, port))
    }

    fn lane(&self, map: &VlMap, at: SwitchIdx, input: PortNum, output: PortNum) -> u8 {
        map.vl(at, input, output, self.sl).bits()
    }
}

/// The highest lane of any group.
pub(super) fn highest_lane(map: &VlMap, groups: &[Group<'_>]) -> u8 {
    let lane = |group: &Group<'_>| match map.is_uniform() {
        true => group.lane(map, SwitchIdx(0), PortNum::MANAGEMENT, PortNum::MANAGEMENT),
        false => map.highest().bits(),
    };
    groups.iter().map(lane).max().unwrap_or(0)
}

/// Adds the dependencies of the packets of a group.
pub(super) fn add(fabric: &Fabric, map: &VlMap, group: &Group<'_>, graph: &mut DependencyGraph) {
    for (&switch, ports) in &group.tree.ports {
        // If the lane does not depend on the port, one input represents all.
        let inputs: Vec<PortNum> = match map.is_uniform() {
            true => ports.iter().take(1).collect(),
            false => ports.iter().collect(),
        };
        for channel in group.ways(fabric, switch, PortNum::UNREACHABLE) {
            let ends = *fabric.channel(channel);
            for next in group.ways(fabric, ends.to, ends.to_port) {
                let after = Vertex {
                    channel: next,
                    lane: group.lane(map, ends.to, ends.to_port, fabric.channel(next).port),
                };
                for &input in inputs
                    .iter()
                    .filter(|&&input| inputs.len() == 1 || input != ends.port)
                {
                    let lane = group.lane(map, switch, input, ends.port);
                    if lane != DROP && after.lane != DROP {
                        graph.add(Vertex { channel, lane }, after);
                    }
                }
            }
        }
    }
}
