//! All shortest paths from every switch to every other: a directed acyclic graph for each target.
//!
//! Towards one target the switches are listed, the nearest first, each with its next hops: the channels
//! that lead nearer. All LIDs at the target share the list: a tree takes one next hop per switch, and
//! choosing the next hops by load needs one pass over it. The breadth-first searches towards 64 targets
//! are one search over sets of targets, a bit each, and a switch's targets with the same next hops share
//! one list of them: on a fat tree that is nearly all. Source for the balance by path weights: Hoefler,
//! Schneider and Lumsdaine, "Optimized Routing for Large-Scale InfiniBand Networks", 2009.

use alloc::{collections::BinaryHeap, vec::Vec};
use core::{cmp::Reverse, mem};

use ib_wire::Lid;

use crate::{
    algo::parallel,
    fabric::{Channel, Fabric},
    index::{ChannelIdx, Idx, IdxVec, NextHopIdx, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// Targets that are searched at once.
const BATCH: usize = u64::BITS as usize;

/// A channel that leads nearer to the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextHop {
    /// The channel to take.
    pub channel: ChannelIdx,
    /// The switch at its end.
    pub to: SwitchIdx,
}

/// A switch in the graph towards a target.
#[derive(Clone, Copy, Debug)]
pub struct DagNode {
    /// The switch of this node.
    pub switch: SwitchIdx,
    /// The first channel of the switch.
    channel: ChannelIdx,
    first: u32,
    end: u32,
}

impl DagNode {
    /// The channel with this place among those of the switch.
    #[inline]
    #[must_use]
    pub const fn channel(self, place: u8) -> ChannelIdx {
        ChannelIdx(self.channel.0 + place as u32)
    }

    /// The place of a channel among those of the switch: below 254, as the ports are.
    #[inline]
    #[must_use]
    pub const fn place_of(self, channel: ChannelIdx) -> u8 {
        channel.0.wrapping_sub(self.channel.0) as u8
    }
}

/// The shortest paths to all switches of a fabric.
#[derive(Clone, Debug)]
pub struct ShortestPathDag {
    batches: Vec<Batch>,
    /// Length of each channel; empty where every channel counts 1.
    weights: IdxVec<ChannelIdx, u32>,
}

/// The graphs towards [`BATCH`] targets.
#[derive(Clone, Debug, Default)]
struct Batch {
    nodes: Vec<Vec<DagNode>>,
    next_hops: IdxVec<NextHopIdx, NextHop>,
}

/// The shortest paths to one switch.
#[derive(Clone, Copy, Debug)]
pub struct DagTo<'a> {
    nodes: &'a [DagNode],
    next_hops: &'a IdxVec<NextHopIdx, NextHop>,
}

impl ShortestPathDag {
    /// Finds all shortest paths. A channel's length is that of `options.hop_weights`, or 1.
    #[must_use]
    pub fn new(fabric: &Fabric, options: &RouteOptions) -> Self {
        let weights = hop_weights(fabric, options);
        let batches = fabric.num_switches().div_ceil(BATCH);
        let batches = parallel::map(options.threads, batches, |number| {
            let end = fabric.num_switches().min((number + 1) * BATCH);
            let targets = (number * BATCH..end).map(SwitchIdx::new);
            if weights.is_empty() {
                Batch::by_hops(fabric, targets)
            } else {
                Batch::by_weight(fabric, &weights, targets)
            }
        });
        Self { batches, weights }
    }

    /// Length of a channel: that of `options.hop_weights`, or 1.
    #[inline]
    #[must_use]
    pub fn length(&self, channel: ChannelIdx) -> u32 {
        self.weights
            .find(channel)
            .map_or(1, |&weight| weight.max(1))
    }

    /// The shortest paths to `target`.
    #[must_use]
    pub fn towards(&self, target: SwitchIdx) -> DagTo<'_> {
        static NONE: IdxVec<NextHopIdx, NextHop> = IdxVec::new();
        let batch = self.batches.get(target.at() / BATCH);
        DagTo {
            nodes: batch
                .and_then(|batch| batch.nodes.get(target.at() % BATCH))
                .map_or(&[], |nodes| nodes),
            next_hops: batch.map_or(&NONE, |batch| &batch.next_hops),
        }
    }
}

impl Batch {
    fn by_hops(fabric: &Fabric, targets: impl ExactSizeIterator<Item = SwitchIdx>) -> Self {
        let mut batch = Self::default();
        let mut reached: IdxVec<SwitchIdx, u64> = IdxVec::filled(fabric.num_switches(), 0);
        let room = || Vec::with_capacity(fabric.num_switches());
        batch.nodes.resize_with(targets.len(), room);
        let mut via = Vec::new();
        for (bit, target) in targets.enumerate() {
            reached[target] |= 1 << bit;
        }
        let mut frontier = reached.clone();
        let mut next = IdxVec::filled(fabric.num_switches(), 0);
        loop {
            let mut any = 0;
            for (switch, next) in fabric.switches().indices().zip(next.iter_mut()) {
                let channels = fabric.channels_from(switch);
                let found = channels.fold(0, |bits, (_, channel)| bits | frontier[channel.to]);
                *next = found & !reached[switch];
                any |= *next;
                batch.node(fabric, switch, *next, &frontier, &mut via);
            }
            if any == 0 {
                return batch;
            }
            for (all, &new) in reached.iter_mut().zip(next.iter()) {
                *all |= new;
            }
            mem::swap(&mut frontier, &mut next);
        }
    }

    /// Lists a switch for the targets `left`, which its neighbours in `frontier` reached before it.
    fn node(
        &mut self,
        fabric: &Fabric,
        switch: SwitchIdx,
        mut left: u64,
        frontier: &IdxVec<SwitchIdx, u64>,
        via: &mut Vec<(u64, NextHop)>,
    ) {
        if left == 0 {
            return;
        }
        via.clear();
        via.extend(
            fabric
                .channels_from(switch)
                .map(|(index, channel)| (frontier[channel.to], next_hop(index, channel))),
        );
        via.retain(|(reached, _)| reached & left != 0);
        while left != 0 {
            let one = left & left.wrapping_neg();
            let mut alike = left;
            let first = self.next_hops.len();
            for &(reached, next_hop) in via.iter() {
                if reached & one == 0 {
                    alike &= !reached;
                } else {
                    alike &= reached;
                    self.next_hops.push(next_hop);
                }
            }
            left &= !alike;
            while alike != 0 {
                let bit = alike.trailing_zeros() as usize;
                alike &= alike - 1;
                self.list(bit, fabric, switch, first);
            }
        }
    }

    /// Lists a switch for one target, with the next hops from `first` on.
    fn list(&mut self, target: usize, fabric: &Fabric, switch: SwitchIdx, first: usize) {
        let node = DagNode {
            switch,
            channel: fabric.channel_range(switch).0,
            first: first as u32,
            end: self.next_hops.len() as u32,
        };
        if let Some(nodes) = self.nodes.get_mut(target) {
            nodes.push(node);
        }
    }

    /// Dijkstra's algorithm for each target. Weights are those of the packet's direction, which is
    /// opposite to that of the search.
    fn by_weight(
        fabric: &Fabric,
        weights: &IdxVec<ChannelIdx, u32>,
        targets: impl ExactSizeIterator<Item = SwitchIdx>,
    ) -> Self {
        const UNREACHED: u32 = u32::MAX;
        let mut batch = Self::default();
        batch.nodes.resize(targets.len(), Vec::new());
        let weight = |channel: ChannelIdx| weights[channel].max(1);
        let mut distance = IdxVec::filled(fabric.num_switches(), UNREACHED);
        for (number, target) in targets.enumerate() {
            distance.fill(UNREACHED);
            distance[target] = 0;
            let mut queue = BinaryHeap::from([Reverse((0, target))]);
            while let Some(Reverse((here, switch))) = queue.pop() {
                if here != distance[switch] {
                    continue;
                }
                let first = batch.next_hops.len();
                for (index, channel) in fabric.channels_from(switch) {
                    let there = distance[channel.to];
                    if there < here && there.saturating_add(weight(index)) <= here {
                        batch.next_hops.push(next_hop(index, channel));
                    }
                    let back = here.saturating_add(weight(channel.reverse));
                    let back = back.min(UNREACHED - 1);
                    if back < there {
                        distance[channel.to] = back;
                        queue.push(Reverse((back, channel.to)));
                    }
                }
                if switch != target {
                    batch.list(number, fabric, switch, first);
                }
            }
        }
        batch
    }
}

fn next_hop(channel: ChannelIdx, ends: &Channel) -> NextHop {
    NextHop {
        channel,
        to: ends.to,
    }
}

impl<'a> DagTo<'a> {
    /// The switches that reach the target, the nearest first; the target is not among them.
    #[inline]
    pub fn nodes(
        self,
    ) -> impl DoubleEndedIterator<Item = DagNode> + ExactSizeIterator + Clone + use<'a> {
        self.nodes.iter().copied()
    }

    /// The next hops of one switch, by port: one at least.
    #[inline]
    #[must_use]
    pub fn next_hops(self, node: DagNode) -> &'a [NextHop] {
        self.next_hops
            .range(NextHopIdx(node.first), NextHopIdx(node.end))
    }

    /// Chooses the lightest path from every switch; the first wins among equals. `weight` gets the
    /// load along it.
    #[inline]
    pub fn lightest(
        self,
        target: SwitchIdx,
        load: &IdxVec<ChannelIdx, u64>,
        weight: &mut IdxVec<SwitchIdx, u64>,
        mut take: impl FnMut(DagNode, NextHop),
    ) {
        weight[target] = 0;
        for node in self.nodes() {
            let next_hops = self.next_hops(node);
            let of = |next_hop: &NextHop| weight[next_hop.to] + load[next_hop.channel];
            if let [only] = next_hops {
                weight[node.switch] = of(only);
                take(node, *only);
                continue;
            }
            // The next hop's number is the key's low byte (a switch has 254 ports at most), so that the
            // minimum needs no branch.
            let keys = (0..)
                .zip(next_hops)
                .map(|(number, next_hop)| of(next_hop) << 8 | number);
            let best = keys.fold(u64::MAX, u64::min);
            let next_hop = next_hops.get((best & 0xff) as usize);
            weight[node.switch] = best >> 8;
            take(node, next_hop.copied().unwrap_or_default());
        }
    }
}

/// The paths of all switches towards one LID: a channel per switch.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    target: SwitchIdx,
    order: Vec<SwitchIdx>,
    channel: IdxVec<SwitchIdx, ChannelIdx>,
}

impl Tree {
    /// Empties the tree, for paths to `target`.
    pub fn reset(&mut self, fabric: &Fabric, target: SwitchIdx) {
        self.target = target;
        self.order.clear();
        self.channel.clear();
        self.channel.extend(fabric.num_switches());
    }

    /// Adds a switch's channel; the switch that it leads to must have its own.
    #[inline]
    pub fn take(&mut self, switch: SwitchIdx, channel: ChannelIdx) {
        self.order.push(switch);
        self.channel[switch] = channel;
    }

    /// The destination of all paths.
    #[must_use]
    pub fn target(&self) -> SwitchIdx {
        self.target
    }

    /// All switches with a path but the target, those nearer to it first.
    #[must_use]
    pub fn order(&self) -> &[SwitchIdx] {
        &self.order
    }

    /// The channel that a switch of the tree takes; the target's own has no meaning.
    #[inline]
    #[must_use]
    pub fn channel(&self, switch: SwitchIdx) -> ChannelIdx {
        self.channel[switch]
    }

    /// Writes the ports into the tables.
    pub fn install(&self, fabric: &Fabric, lid: Lid, routes: &mut Routes) {
        for &switch in &self.order {
            routes.set_port(switch, lid, fabric.channel(self.channel[switch]).port);
        }
    }

    /// Sends the routes of all senders, the farthest switch first: `carry` gets what each channel
    /// carries. `flow` is room to work in.
    pub fn send(
        &self,
        fabric: &Fabric,
        senders: &IdxVec<SwitchIdx, u64>,
        flow: &mut IdxVec<SwitchIdx, u64>,
        mut carry: impl FnMut(ChannelIdx, u64),
    ) {
        flow.refill(senders.iter().copied());
        for &switch in self.order.iter().rev() {
            let (channel, routes) = (self.channel[switch], flow[switch]);
            carry(channel, routes);
            flow[fabric.channel(channel).to] += routes;
        }
    }
}

/// Number of CA (and router) ports with LIDs at every switch.
#[must_use]
pub fn senders(fabric: &Fabric, lids: &LidMap) -> IdxVec<SwitchIdx, u64> {
    let count = |switch| {
        lids.at_switch(switch)
            .filter(|end| !end.is_switch())
            .count() as u64
    };
    fabric.switches().indices().map(count).collect()
}

/// The lengths of channels from `options.hop_weights`; empty where all are one.
#[must_use]
pub fn hop_weights(fabric: &Fabric, options: &RouteOptions) -> IdxVec<ChannelIdx, u32> {
    if options.hop_weights.is_empty() {
        return IdxVec::new();
    }
    let weight = |channel: &Channel| {
        let key = (fabric.switch_guid(channel.from), channel.port);
        options.hop_weights.get(&key).copied().unwrap_or(1)
    };
    fabric.channels().iter().map(weight).collect()
}
