//! The orders of all channels in which the graphs of lanes begin.

use alloc::{vec, vec::Vec};
use core::cmp::Reverse;

use crate::{
    algo::demands::is_direct,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// The orders in which lanes begin. A dependency that agrees with its lane's order is admitted without a search.
///
/// Paths between CAs agree with up*/down* order. Switches without CAs fall into parts that only switches with CAs join: in a
/// fat tree of three levels, each plane of spines is one. Paths from such a switch may have to lead down and up again,
/// which no up*/down* order allows. Therefore the channels of one part come before those of the next, and in each part those
/// up before those down. Then paths that leave a part for one that comes later agree with the order, too. On even lanes the
/// last part comes first, because trees to the first part are the first to get lanes. On odd lanes, where paths go that do not
/// fit an even one, the first part comes first.
#[derive(Clone, Debug)]
pub struct LaneOrders {
    even: Vec<ChannelIdx>,
    odd: Vec<ChannelIdx>,
}

impl LaneOrders {
    /// The orders for a fabric with CAs where there are `senders`.
    #[must_use]
    pub fn new(fabric: &Fabric, senders: &IdxVec<SwitchIdx, u64>) -> Self {
        let part = parts(fabric, senders);
        let part = |&channel: &ChannelIdx| {
            let ends = fabric.channel(channel);
            part[ends.from].max(part[ends.to])
        };
        // These sorts keep the order among the channels of a part.
        let mut even = up_and_down(fabric, senders);
        even.sort_by_key(|channel| Reverse(part(channel)));
        let mut odd = even.clone();
        odd.sort_by_key(part);
        Self { even, odd }
    }

    /// All channels in the order in which a lane begins.
    #[must_use]
    pub fn of(&self, lane: usize) -> &[ChannelIdx] {
        if lane.is_multiple_of(2) {
            &self.even
        } else {
            &self.odd
        }
    }
}

/// All channels in the order in which the first lane begins.
#[must_use]
pub fn up_down_order(fabric: &Fabric, senders: &IdxVec<SwitchIdx, u64>) -> Vec<ChannelIdx> {
    LaneOrders::new(fabric, senders).even
}

/// The number of the part that a switch without CAs is in, from 1. It is 0 for switches with CAs, and for all where cables
/// join two of these: there the parts have no meaning.
fn parts(fabric: &Fabric, senders: &IdxVec<SwitchIdx, u64>) -> IdxVec<SwitchIdx, u32> {
    let mut part = IdxVec::filled(fabric.num_switches(), 0);
    if is_direct(fabric, senders) {
        return part;
    }
    let mut parts = 0;
    for first in fabric.switches().indices() {
        if senders[first] > 0 || part[first] > 0 {
            continue;
        }
        parts += 1;
        part[first] = parts;
        let mut open = vec![first];
        while let Some(switch) = open.pop() {
            for (_, channel) in fabric.channels_from(switch) {
                if senders[channel.to] == 0 && part[channel.to] == 0 {
                    part[channel.to] = parts;
                    open.push(channel.to);
                }
            }
        }
    }
    part
}

/// All [channels up and down](channels_up_and_down), where up is away from the switches where CAs send, and among equals
/// towards the first switch of the part of the fabric.
fn up_and_down(fabric: &Fabric, senders: &IdxVec<SwitchIdx, u64>) -> Vec<ChannelIdx> {
    let switches = fabric.num_switches();
    let mut height = IdxVec::filled(switches, u32::MAX);
    let mut queue: Vec<SwitchIdx> = fabric
        .switches()
        .indices()
        .filter(|&switch| senders[switch] > 0)
        .collect();
    for &switch in &queue {
        height[switch] = 0;
    }
    flood(fabric, &mut queue, &mut height);
    let mut distance = IdxVec::filled(switches, u32::MAX);
    for root in fabric.switches().indices() {
        if distance[root] == u32::MAX {
            distance[root] = 0;
            queue.clear();
            queue.push(root);
            flood(fabric, &mut queue, &mut distance);
        }
    }
    let up = |switch: SwitchIdx| (Reverse(height[switch]), distance[switch], switch);
    let mut by_rank: Vec<SwitchIdx> = fabric.switches().indices().collect();
    by_rank.sort_by_key(|&switch| up(switch));
    channels_up_and_down(fabric, &by_rank)
}

/// An order of all channels that agrees with up*/down* routing: channels up, the lowest first, then
/// channels down. Up is towards the first of `highest_first`, which names every switch.
#[must_use]
pub fn channels_up_and_down(fabric: &Fabric, highest_first: &[SwitchIdx]) -> Vec<ChannelIdx> {
    let mut rank = IdxVec::filled(fabric.num_switches(), 0_i64);
    for (at, &switch) in highest_first.iter().enumerate() {
        rank[switch] = at as i64 + 1;
    }
    let mut order: Vec<ChannelIdx> = fabric.channels().indices().collect();
    order.sort_by_key(|&channel| {
        let channel = fabric.channel(channel);
        let (from, to) = (rank[channel.from], rank[channel.to]);
        if to < from { -from } else { to }
    });
    order
}

/// Distances from the switches in `queue`, for switches that have none yet.
fn flood(fabric: &Fabric, queue: &mut Vec<SwitchIdx>, distance: &mut IdxVec<SwitchIdx, u32>) {
    let mut at = 0;
    while let Some(&switch) = queue.get(at) {
        at += 1;
        let there = distance[switch] + 1;
        for (_, channel) in fabric.channels_from(switch) {
            if distance[channel.to] == u32::MAX {
                distance[channel.to] = there;
                queue.push(channel.to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        LidMap, LidOptions, algo::shortest_path_dag::senders, fabric::Channel, generate::FabricSpec,
    };

    /// The fabric and the place of each channel in both orders.
    fn places(
        spec: &str,
    ) -> (
        Fabric,
        IdxVec<SwitchIdx, u64>,
        [IdxVec<ChannelIdx, usize>; 2],
    ) {
        let fabric = spec.parse::<FabricSpec>().unwrap().build().unwrap();
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let senders = senders(&fabric, &lids);
        let orders = LaneOrders::new(&fabric, &senders);
        let places = [0, 1].map(|lane| {
            let mut places = IdxVec::filled(fabric.channels().len(), usize::MAX);
            for (place, &channel) in orders.of(lane).iter().enumerate() {
                assert_eq!(places[channel], usize::MAX, "{spec}: twice");
                places[channel] = place;
            }
            assert!(places.iter().all(|&place| place < usize::MAX), "{spec}");
            places
        });
        (fabric, senders, places)
    }

    #[test]
    fn a_way_down_and_up_into_another_part_agrees_with_one_order() {
        let (fabric, senders, [even, odd]) = places("fat-tree:radix=6,levels=3");
        let parts = parts(&fabric, &senders);
        let (mut through_cas, mut others) = (0, 0);
        for channel in fabric.channels().indices() {
            let Channel { from, to, .. } = *fabric.channel(channel);
            for (next, ends) in fabric.channels_from(to).filter(|(_, ends)| ends.to != from) {
                let agrees = [&even, &odd].map(|place| place[channel] < place[next]);
                let is_down_and_up = senders[to] > 0;
                if is_down_and_up {
                    let is_to_earlier = parts[ends.to] < parts[from];
                    assert_eq!(agrees, [is_to_earlier, !is_to_earlier]);
                    through_cas += 1;
                } else if senders[from] > 0 || senders[ends.to] > 0 {
                    // Up from a switch with CAs, or down to one.
                    assert_eq!(agrees, [true, true]);
                    others += 1;
                }
            }
        }
        assert!(through_cas > 0 && others > 0);
    }

    #[test]
    fn direct_networks_have_one_order() {
        let (fabric, senders, [even, odd]) = places("torus:3x3,hosts=1");
        assert!(even.iter().eq(odd.iter()));
        assert!(parts(&fabric, &senders).iter().all(|&part| part == 0));
    }
}
