//! All shortest paths from every switch to every other, or those that an engine allows: a directed acyclic graph for each
//! target.
//!
//! Towards one target the switches are listed, the nearest first, each with its next hops: the channels
//! that lead nearer. All LIDs at the target share the list: a tree takes one next hop per switch, and
//! choosing the next hops by load needs one pass over it. The breadth-first searches towards 64 targets
//! are one search over sets of targets, a bit each, and those targets of a switch that have the same next
//! hops share one list of them: few lists are so left that they fit a cache. Source for the balance by path
//! weights: Hoefler, Schneider and Lumsdaine, "Optimized Routing for Large-Scale InfiniBand Networks", 2009.

mod fan;

use alloc::{collections::BinaryHeap, vec::Vec};
use core::{cmp::Reverse, mem, slice};

use ib_wire::Lid;

pub(crate) use self::fan::{BatchFans, Fan, Fans, MANY};
use crate::{
    algo::{
        frontiers::{BATCH, Frontier, Frontiers, add, bits_of, start},
        parallel,
    },
    error::RouteError,
    fabric::{Channel, Fabric},
    index::{ChannelIdx, Idx, IdxVec, NextHopIdx, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// A channel that leads nearer to the target.
///
/// It takes 8 bytes, because most of the time is spent waiting for next hops that no cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextHop {
    /// The channel to take.
    pub channel: ChannelIdx,
    /// The switch at its end, and above [`TO_BITS`](Self::TO_BITS) the place.
    to_and_place: u32,
}

/// The next hops of a switch: the only one itself, which most switches of a direct network have, or where its [`Batch`]
/// lists them.
///
/// A list has the place [`LIST`](Self::LIST), the index of its first next hop in the place of a channel, and the number of
/// next hops in the place of a switch.
#[derive(Clone, Copy, Debug, Default)]
struct Hops(NextHop);

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
    graphs: Vec<Graph>,
    next_hops: IdxVec<NextHopIdx, NextHop>,
    /// For each switch the targets to which it has [`MANY`] next hops, a bit each.
    many: IdxVec<SwitchIdx, u64>,
    /// For each channel the targets to which it leads nearer, a bit each.
    nearer: IdxVec<ChannelIdx, u64>,
    /// For each switch the targets to which not all of its channels to switches of lower levels lead nearer, a bit each.
    /// Empty if there are none.
    limited: IdxVec<SwitchIdx, u64>,
}

/// A channel, and the targets to which it leads nearer, a bit each.
#[derive(Clone, Copy, Debug)]
struct Nearer {
    hop: NextHop,
    targets: u64,
}

/// The graph towards one target.
#[derive(Clone, Debug, Default)]
struct Graph {
    /// The switches that reach the target, the nearest first.
    order: Vec<SwitchIdx>,
    /// The number of switches up to the end of each distance.
    level_ends: Vec<u32>,
    hops: IdxVec<SwitchIdx, Hops>,
}

impl Graph {
    /// Adds no more switches of the same distance.
    fn end_level(&mut self) {
        // There are fewer than 2^16 switches.
        let end = self.order.len() as u32;
        if self.level_ends.last().copied().unwrap_or_default() < end {
            self.level_ends.push(end);
        }
    }
}

/// The shortest paths to one switch.
#[derive(Clone, Copy, Debug)]
pub struct DagTo<'a> {
    graph: &'a Graph,
    next_hops: &'a IdxVec<NextHopIdx, NextHop>,
    batch: BatchOf<'a>,
}

/// The targets that were searched at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchOf<'a> {
    /// The number of these targets among those of all searches.
    pub(crate) number: usize,
    /// The bit of the target at hand.
    pub(crate) bit: u64,
    /// For each channel the targets to which it leads nearer, a bit each.
    pub(crate) nearer: &'a IdxVec<ChannelIdx, u64>,
}

/// The next hops of a switch, by port.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NextHops<'a> {
    /// A few.
    Few(&'a [NextHop]),
    /// [`MANY`].
    Many(Fan<'a>),
}

impl NextHop {
    /// Bits of a switch's index: there are fewer than 2^16 LIDs, and a switch needs one.
    const TO_BITS: u32 = 24;

    fn new(channel: ChannelIdx, to: SwitchIdx, place: u8) -> Self {
        Self {
            channel,
            to_and_place: to.0 | u32::from(place) << Self::TO_BITS,
        }
    }

    /// The switch at the end of the channel.
    #[inline(always)]
    #[must_use]
    pub const fn to(self) -> SwitchIdx {
        SwitchIdx(self.to_and_place & ((1 << Self::TO_BITS) - 1))
    }

    /// The channel's place among those of the switch that it leaves, from 1 on: below 255, as the ports are.
    #[inline(always)]
    #[must_use]
    pub const fn place(self) -> u8 {
        (self.to_and_place >> Self::TO_BITS) as u8
    }
}

impl Hops {
    const LIST: u8 = u8::MAX;

    fn list(first: NextHopIdx, end: NextHopIdx) -> Self {
        let count = SwitchIdx(end.0 - first.0);
        Self(NextHop::new(ChannelIdx(first.0), count, Self::LIST))
    }

    /// The beginning and the end of the list of next hops, if they are in one.
    #[inline(always)]
    fn as_range(self) -> Option<(NextHopIdx, NextHopIdx)> {
        let Self(list) = self;
        let (first, count) = (list.channel.0, list.to().0);
        (list.place() == Self::LIST).then_some((NextHopIdx(first), NextHopIdx(first + count)))
    }

    #[inline(always)]
    fn as_slice<'a>(&'a self, all: &'a IdxVec<NextHopIdx, NextHop>) -> &'a [NextHop] {
        match self.as_range() {
            Some((first, end)) => all.range(first, end),
            None => slice::from_ref(&self.0),
        }
    }
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

    /// The paths that `search` finds over channels of these `classes`, towards some targets at once.
    ///
    /// # Errors
    /// Those of `search`.
    pub fn of_search(
        threads: usize,
        fabric: &Fabric,
        classes: &IdxVec<ChannelIdx, u8>,
        search: impl Fn(&[SwitchIdx]) -> Result<Frontiers, RouteError> + Sync + Send,
    ) -> Result<Self, RouteError> {
        let targets: Vec<SwitchIdx> = fabric.switches().indices().collect();
        let batches: Vec<&[SwitchIdx]> = targets.chunks(BATCH).collect();
        let batches = parallel::map(threads, batches.len(), |number| {
            let targets = batches.get(number).copied().unwrap_or_default();
            let frontiers = search(targets)?;
            Ok(Batch::of_frontiers(fabric, classes, targets, &frontiers))
        });
        Ok(Self {
            batches: batches.into_iter().collect::<Result<_, _>>()?,
            weights: IdxVec::new(),
        })
    }

    /// Length of a channel: that of `options.hop_weights`, or 1.
    #[inline]
    #[must_use]
    pub fn length(&self, channel: ChannelIdx) -> u32 {
        self.weights
            .find(channel)
            .map_or(1, |&weight| weight.max(1))
    }

    /// The number of switches to which each channel leads nearer.
    #[must_use]
    pub fn uses(&self, fabric: &Fabric) -> IdxVec<ChannelIdx, u64> {
        let mut uses = IdxVec::filled(fabric.channels().len(), 0);
        for batch in &self.batches {
            for (uses, targets) in uses.iter_mut().zip(batch.nearer.iter()) {
                *uses += u64::from(targets.count_ones());
            }
        }
        uses
    }

    /// The fans of all switches that have [`MANY`] next hops, found on up to `threads` threads.
    #[must_use]
    pub(crate) fn fans(&self, threads: usize, fabric: &Fabric) -> Fans {
        Fans::new(threads, fabric, self)
    }

    /// The shortest paths to `target`.
    #[must_use]
    pub fn towards(&self, target: SwitchIdx) -> DagTo<'_> {
        static NO_TARGET: IdxVec<ChannelIdx, u64> = IdxVec::new();
        static NO_HOP: IdxVec<NextHopIdx, NextHop> = IdxVec::new();
        static NO_GRAPH: Graph = Graph {
            order: Vec::new(),
            level_ends: Vec::new(),
            hops: IdxVec::new(),
        };
        let number = target.at() / BATCH;
        let batch = self.batches.get(number);
        DagTo {
            graph: batch
                .and_then(|batch| batch.graphs.get(target.at() % BATCH))
                .unwrap_or(&NO_GRAPH),
            next_hops: batch.map_or(&NO_HOP, |batch| &batch.next_hops),
            batch: BatchOf {
                number,
                bit: 1 << (target.at() % BATCH),
                nearer: batch.map_or(&NO_TARGET, |batch| &batch.nearer),
            },
        }
    }
}

impl Batch {
    fn new(fabric: &Fabric, targets: usize) -> Self {
        let switches = fabric.num_switches();
        let graph = || Graph {
            order: Vec::with_capacity(switches),
            level_ends: Vec::new(),
            hops: IdxVec::filled(switches, Hops::default()),
        };
        let mut graphs = Vec::new();
        graphs.resize_with(targets, graph);
        Self {
            graphs,
            next_hops: IdxVec::new(),
            many: IdxVec::filled(switches, 0),
            nearer: IdxVec::filled(fabric.channels().len(), 0),
            limited: IdxVec::new(),
        }
    }

    fn by_hops(fabric: &Fabric, targets: impl ExactSizeIterator<Item = SwitchIdx>) -> Self {
        let mut batch = Self::new(fabric, targets.len());
        let mut reached: IdxVec<SwitchIdx, u64> = IdxVec::filled(fabric.num_switches(), 0);
        for (bit, target) in targets.enumerate() {
            reached[target] |= 1 << bit;
        }
        let mut frontier = reached.clone();
        let mut next = IdxVec::filled(fabric.num_switches(), 0);
        loop {
            let sent = frontier.iter().fold(0, |all, targets| all | targets);
            let mut any = 0;
            for (switch, next) in fabric.switches().indices().zip(next.iter_mut()) {
                // Late in a search most switches have reached all their targets.
                let wanted = sent & !reached[switch];
                *next = if wanted == 0 {
                    0
                } else {
                    batch.reach(fabric, switch, wanted, &frontier)
                };
                any |= *next;
            }
            if any == 0 {
                break;
            }
            batch.graphs.iter_mut().for_each(Graph::end_level);
            for (all, &new) in reached.iter_mut().zip(next.iter()) {
                *all |= new;
            }
            mem::swap(&mut frontier, &mut next);
        }
        batch.list_next_hops(fabric);
        batch
    }

    /// The graphs of a search: each switch of a frontier takes all channels that this may take.
    fn of_frontiers(
        fabric: &Fabric,
        classes: &IdxVec<ChannelIdx, u8>,
        targets: &[SwitchIdx],
        frontiers: &[Frontier],
    ) -> Self {
        let mut batch = Self::new(fabric, targets.len());
        batch.limited = IdxVec::filled(fabric.num_switches(), 0);
        let mut lower = start(fabric, targets);
        for frontier in frontiers {
            for (switch, &reached) in frontier.reached.iter_enumerated() {
                if reached == 0 {
                    continue;
                }
                for (index, channel) in fabric.channels_from(switch) {
                    parallel::count(1);
                    let class = classes[index];
                    let vias = frontier.via.iter().filter(|(via, _)| *via == class);
                    let nearer = vias.fold(0, |nearer, (_, via)| nearer | via[channel.to]);
                    batch.nearer[index] |= nearer & reached;
                    batch.limited[switch] |= lower[channel.to] & reached & !nearer;
                }
                batch.add_to_graphs(switch, reached);
            }
            add(&mut lower, &frontier.reached);
            batch.graphs.iter_mut().for_each(Graph::end_level);
        }
        batch.list_next_hops(fabric);
        batch
    }

    /// Adds a switch to the graphs towards some targets.
    fn add_to_graphs(&mut self, switch: SwitchIdx, targets: u64) {
        for bit in bits_of(targets) {
            if let Some(graph) = self.graphs.get_mut(bit as usize) {
                graph.order.push(switch);
            }
        }
    }

    /// Adds a switch to the graphs towards those `wanted` targets that a neighbour in `frontier` has reached;
    /// returns these.
    fn reach(
        &mut self,
        fabric: &Fabric,
        switch: SwitchIdx,
        wanted: u64,
        frontier: &IdxVec<SwitchIdx, u64>,
    ) -> u64 {
        let (first, end) = fabric.channel_range(switch);
        let channels = fabric.channels().range(first, end);
        let nearer = self.nearer.range_mut(first, end);
        let mut found = 0;
        parallel::count(channels.len());
        for (channel, nearer) in channels.iter().zip(nearer) {
            let targets = frontier[channel.to] & wanted;
            *nearer |= targets;
            found |= targets;
        }
        self.add_to_graphs(switch, found);
        found
    }

    /// Lists the next hops of all switches.
    fn list_next_hops(&mut self, fabric: &Fabric) {
        let mut nearer = Vec::new();
        for switch in fabric.switches().indices() {
            let (start, end) = fabric.channel_range(switch);
            let channels = fabric.channels().range(start, end).iter().zip(1..);
            nearer.clear();
            for ((channel, place), &targets) in channels.zip(self.nearer.range(start, end)) {
                if targets != 0 {
                    let index = ChannelIdx(start.0 + u32::from(place) - 1);
                    let hop = NextHop::new(index, channel.to, place);
                    nearer.push(Nearer { hop, targets });
                }
            }
            parallel::count(BATCH);
            self.list_next_hops_of(switch, &nearer);
        }
    }

    /// Lists the next hops of a switch, one list for all targets with the same.
    fn list_next_hops_of(&mut self, switch: SwitchIdx, nearer: &[Nearer]) {
        let Self {
            graphs,
            next_hops,
            many,
            ..
        } = self;
        let mut set_hops = |targets: u64, hops: Hops| {
            for bit in bits_of(targets) {
                if let Some(graph) = graphs.get_mut(bit as usize) {
                    graph.hops[switch] = hops;
                }
            }
        };
        let (mut any, mut several) = (0, 0);
        for Nearer { targets, .. } in nearer {
            several |= any & targets;
            any |= targets;
        }
        for Nearer { hop, targets } in nearer {
            set_hops(targets & !several, Hops(*hop));
        }
        let mut left = several;
        while left != 0 {
            let one = left & left.wrapping_neg();
            let mut alike = left;
            let first = next_hops.end();
            for Nearer { hop, targets } in nearer {
                if targets & one == 0 {
                    alike &= !targets;
                } else {
                    alike &= targets;
                    next_hops.push(*hop);
                }
            }
            left &= !alike;
            let end = next_hops.end();
            set_hops(alike, Hops::list(first, end));
            if next_hops.range(first, end).len() >= MANY {
                many[switch] |= alike;
            }
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
        let mut batch = Self::new(fabric, targets.len());
        // Channels to nearer switches may be too long.
        batch.limited = IdxVec::filled(fabric.num_switches(), u64::MAX);
        let weight = |channel: ChannelIdx| weights[channel].max(1);
        let mut distance = IdxVec::filled(fabric.num_switches(), UNREACHED);
        for (number, target) in targets.enumerate() {
            distance.fill(UNREACHED);
            distance[target] = 0;
            let mut queue = BinaryHeap::from([Reverse((0, target))]);
            let mut level = 0;
            while let Some(Reverse((here, switch))) = queue.pop() {
                if here != distance[switch] {
                    continue;
                }
                for (index, channel) in fabric.channels_from(switch) {
                    let there = distance[channel.to];
                    if there < here && there.saturating_add(weight(index)) <= here {
                        batch.nearer[index] |= 1 << number;
                    }
                    let back = here.saturating_add(weight(channel.reverse));
                    let back = back.min(UNREACHED - 1);
                    if back < there {
                        distance[channel.to] = back;
                        queue.push(Reverse((back, channel.to)));
                    }
                }
                if let Some(graph) = batch.graphs.get_mut(number).filter(|_| switch != target) {
                    if level < here {
                        graph.end_level();
                        level = here;
                    }
                    graph.order.push(switch);
                }
            }
            if let Some(graph) = batch.graphs.get_mut(number) {
                graph.end_level();
            }
        }
        batch.list_next_hops(fabric);
        batch
    }
}

impl<'a> DagTo<'a> {
    /// The switches that reach the target, the nearest first; the target is not among them.
    #[inline]
    pub fn switches(
        self,
    ) -> impl DoubleEndedIterator<Item = SwitchIdx> + ExactSizeIterator + Clone + use<'a> {
        self.graph.order.iter().copied()
    }

    /// Returns true if a channel leads nearer to the target.
    #[inline]
    pub(crate) fn is_nearer_by(self, channel: ChannelIdx) -> bool {
        let targets = self.batch.nearer.find(channel);
        targets.is_some_and(|targets| targets & self.batch.bit != 0)
    }

    /// The targets that were searched at once, this one among them.
    pub(crate) fn batch(self) -> BatchOf<'a> {
        self.batch
    }

    /// The switches of each distance from the target, the nearest first. No path leads from one to another of the same
    /// distance.
    pub(crate) fn levels(
        self,
    ) -> impl DoubleEndedIterator<Item = &'a [SwitchIdx]> + ExactSizeIterator + Clone + use<'a>
    {
        let Graph {
            order, level_ends, ..
        } = self.graph;
        level_ends.iter().enumerate().map(|(level, &end)| {
            let before = level
                .checked_sub(1)
                .and_then(|before| level_ends.get(before));
            let start = before.copied().unwrap_or_default();
            order.get(start as usize..end as usize).unwrap_or_default()
        })
    }

    /// The next hops of one switch, by port: one at least.
    #[inline]
    #[must_use]
    pub fn next_hops(self, switch: SwitchIdx) -> &'a [NextHop] {
        self.graph.hops[switch].as_slice(self.next_hops)
    }

    /// As [`next_hops`](Self::next_hops), with their [`Fan`] if they are many. `fans` are those for this target.
    #[inline(always)]
    #[must_use]
    pub(crate) fn few_or_many(self, switch: SwitchIdx, fans: &'a BatchFans) -> NextHops<'a> {
        match self.next_hops(switch) {
            few if few.len() < MANY => NextHops::Few(few),
            _ => NextHops::Many(fans.of(switch)),
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
