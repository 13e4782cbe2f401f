//! Chooses trees of shortest paths by load, up to four with the same target side by side.

use alloc::vec::Vec;

use crate::{
    algo::{
        choices::ChoiceBlock,
        demands::Demand,
        shortest_path_dag::{DagNode, DagTo, NextHop},
    },
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// Trees that are chosen side by side, at most.
pub(super) const SIDE_BY_SIDE: usize = 4;

/// Bits of a load behind the point: expected routes are fractions.
const FRACTION: u32 = 6;

/// Neighbouring trees with the same target, [`SIDE_BY_SIDE`] at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The switch that all paths lead to.
    pub(super) target: SwitchIdx,
    /// The number of the first tree.
    pub(super) first: usize,
    /// The number of trees.
    pub(super) count: usize,
    /// Routes from a sender to each tree; 0 for trees to switches alone.
    pub(super) weight: u64,
}

/// An even share of routes for each of `count` next hops.
#[inline(always)]
fn share(routes: u64, count: usize) -> u64 {
    /// Bits of a reciprocal: enough for the 254 ports of a switch.
    const BITS: u32 = 24;
    match count {
        1 => routes,
        2 => routes >> 1,
        _ => {
            // A switch without next hops is not listed.
            let reciprocal = (1_u32 << BITS).checked_div(count as u32);
            (routes * u64::from(reciprocal.unwrap_or_default())) >> BITS
        }
    }
}

/// Groups the trees of each target: so many, and [`SIDE_BY_SIDE`] at most.
pub(super) fn groups(trees: &[Demand], side_by_side: usize) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut first = 0;
    let alike =
        |one: &Demand, next: &Demand| (one.target, one.weight) == (next.target, next.weight);
    for trees in trees.chunk_by(alike) {
        for trees in trees.chunks(side_by_side.clamp(1, SIDE_BY_SIDE)) {
            groups.extend(trees.first().map(|tree| Group {
                target: tree.target,
                first,
                count: trees.len(),
                weight: tree.weight,
            }));
            first += trees.len();
        }
    }
    groups
}

/// Chooses trees, and knows the load of those chosen so far.
#[derive(Clone, Debug)]
pub(super) struct TreeChooser {
    /// Routes on each channel, with [`FRACTION`] bits behind the point.
    load: IdxVec<ChannelIdx, u64>,
    to: IdxVec<ChannelIdx, SwitchIdx>,
    /// The number of ports at each switch that send to each LID.
    senders: IdxVec<SwitchIdx, u32>,
    /// Routes that pass each switch in each tree of the group at hand, with [`FRACTION`] bits
    /// behind the point. Whole clusters of LIDs behind one switch need more than 32 bits.
    flow: IdxVec<SwitchIdx, [u64; SIDE_BY_SIDE]>,
    /// Expected routes that pass each switch, with [`FRACTION`] bits behind the point.
    expected: IdxVec<SwitchIdx, u64>,
    /// Routes on each channel beyond those that it would have if all trees so far were split evenly, with
    /// [`FRACTION`] bits behind the point.
    ahead: IdxVec<ChannelIdx, i64>,
    /// Load along the lightest path from each switch.
    weight: IdxVec<SwitchIdx, u64>,
    keys: Vec<u64>,
    /// All bits if routes of the same tree count where they meet, else none: in fat trees, where they meet
    /// anyway, it is better to let them take the same channels early.
    meeting: u64,
}

impl TreeChooser {
    pub(super) fn new(fabric: &Fabric, senders: &IdxVec<SwitchIdx, u64>, is_direct: bool) -> Self {
        let switches = fabric.num_switches();
        Self {
            load: IdxVec::filled(fabric.channels().len(), 0),
            to: fabric.channels().iter().map(|channel| channel.to).collect(),
            // There are fewer than 2^16 LIDs.
            senders: senders.iter().map(|&senders| senders as u32).collect(),
            flow: IdxVec::filled(switches, [0; SIDE_BY_SIDE]),
            expected: IdxVec::filled(switches, 0),
            ahead: IdxVec::filled(fabric.channels().len(), 0),
            weight: IdxVec::filled(switches, 0),
            keys: Vec::new(),
            meeting: if is_direct { u64::MAX } else { 0 },
        }
    }

    /// Routes on every channel.
    pub(super) fn load(&self) -> IdxVec<ChannelIdx, u64> {
        self.load.iter().map(|load| load >> FRACTION).collect()
    }

    /// Sets the routes on every channel.
    pub(super) fn set_load(&mut self, load: &IdxVec<ChannelIdx, u64>) {
        self.load.refill(load.iter().map(|load| load << FRACTION));
    }

    /// Adds the load that the trees of a group make if every switch splits its routes evenly.
    pub(super) fn expect(&mut self, group: Group, towards: DagTo<'_>, _: ChoiceBlock<'_>) {
        self.split_evenly(group, towards, |load, more| *load += more);
    }

    /// Takes back what [`expect`](Self::expect) added.
    pub(super) fn forget(&mut self, group: Group, towards: DagTo<'_>, _: ChoiceBlock<'_>) {
        self.split_evenly(group, towards, |load, more| *load -= more);
    }

    /// Takes back what was expected of all trees, where none is chosen yet.
    pub(super) fn forget_all(&mut self) {
        self.load.fill(0);
    }

    #[inline]
    fn split_evenly(
        &mut self,
        group: Group,
        towards: DagTo<'_>,
        mut change: impl FnMut(&mut u64, u64),
    ) {
        let routes = group.weight * group.count as u64;
        if routes == 0 {
            return;
        }
        self.expect_senders(routes);
        let Self { load, expected, .. } = self;
        for node in towards.nodes().rev() {
            let next_hops = towards.next_hops(node);
            let part = share(expected[node.switch], next_hops.len());
            for next_hop in next_hops {
                change(&mut load[next_hop.channel], part);
                expected[next_hop.to] += part;
            }
        }
    }

    /// Expects so many routes from each sender.
    fn expect_senders(&mut self, routes: u64) {
        let entries = self.expected.iter_mut().zip(self.senders.iter());
        for (expected, &senders) in entries {
            *expected = (routes * u64::from(senders)) << FRACTION;
        }
    }

    /// Chooses the trees of a group in one pass, the farthest switches first: each takes the channel that is the
    /// least ahead of an even split of all trees so far, those that pass the next switch in the same tree included.
    ///
    /// This is for fabrics where an even split loads all channels alike, and needs no look at the loads behind.
    pub(super) fn choose_evenly(
        &mut self,
        group: Group,
        towards: DagTo<'_>,
        mut choices: ChoiceBlock<'_>,
    ) {
        self.begin(group);
        self.expect_senders(group.weight * group.count as u64);
        for node in towards.nodes().rev() {
            let places = choices.of(node.switch);
            // The lengths that are common on grids are known in advance, so that no loop is left of them.
            match *towards.next_hops(node) {
                [only] => self.take_least_ahead(node, &[only], places),
                [one, two] => self.take_least_ahead(node, &[one, two], places),
                [one, two, three] => self.take_least_ahead(node, &[one, two, three], places),
                ref next_hops => self.take_least_ahead(node, next_hops, places),
            }
        }
    }

    #[inline(always)]
    fn take_least_ahead(&mut self, node: DagNode, next_hops: &[NextHop], places: &mut [u8]) {
        let routes = self.flow[node.switch];
        let part = share(self.expected[node.switch], next_hops.len());
        for next_hop in next_hops {
            // Fewer than 2^48 routes, and their fraction.
            self.ahead[next_hop.channel] -= part as i64;
            self.expected[next_hop.to] += part;
        }
        for (tree, (place, routes)) in places.iter_mut().zip(routes).enumerate() {
            let key = |next_hop: &NextHop| {
                let passing = self.flow[next_hop.to].get(tree).copied();
                self.ahead[next_hop.channel] + passing.unwrap_or_default() as i64
            };
            let mut keys = next_hops.iter().map(|next_hop| (key(next_hop), *next_hop));
            let Some(mut best) = keys.next() else {
                return;
            };
            for other in keys {
                best = if other.0 < best.0 { other } else { best };
            }
            let (_, next_hop) = best;
            self.ahead[next_hop.channel] += routes as i64;
            self.load[next_hop.channel] += routes;
            *place = node.place_of(next_hop.channel);
            if let Some(flow) = self.flow[next_hop.to].get_mut(tree) {
                *flow += routes;
            }
        }
    }

    /// Lets the senders at every switch send to each tree of a group.
    #[inline]
    fn begin(&mut self, group: Group) {
        let weight = group.weight << FRACTION;
        let weights: [u64; SIDE_BY_SIDE] =
            core::array::from_fn(|tree| if tree < group.count { weight } else { 0 });
        for (flow, &senders) in self.flow.iter_mut().zip(self.senders.iter()) {
            *flow = weights.map(|weight| weight * u64::from(senders));
        }
    }

    /// Chooses the trees of a group: the farthest switches first, each by the load along the lightest path
    /// behind a next hop and by the routes of the same tree that pass it already.
    pub(super) fn choose(
        &mut self,
        group: Group,
        towards: DagTo<'_>,
        mut choices: ChoiceBlock<'_>,
    ) {
        self.begin(group);
        self.weight[group.target] = 0;
        for node in towards.nodes() {
            let Self { load, weight, .. } = self;
            let of = |next_hop: &NextHop| weight[next_hop.to] + load[next_hop.channel];
            let lightest = match towards.next_hops(node) {
                [only] => of(only),
                [one, other] => of(one).min(of(other)),
                [one, two, three] => of(one).min(of(two)).min(of(three)),
                next_hops => next_hops.iter().map(of).fold(u64::MAX, u64::min),
            };
            weight[node.switch] = lightest;
        }
        for node in towards.nodes().rev() {
            let places = choices.of(node.switch);
            match towards.next_hops(node) {
                [only] => {
                    places.fill(node.place_of(only.channel));
                    self.send_all(node.switch, *only);
                }
                [one, other] => self.assign(node, [*one, *other], places),
                [one, two, three] => self.assign(node, [*one, *two, *three], places),
                [one, two, three, four] => {
                    self.assign(node, [*one, *two, *three, *four], places);
                }
                next_hops => self.assign_to_lightest(node, next_hops, places),
            }
        }
    }

    /// Sends all routes that pass a switch over one channel.
    #[inline]
    fn send_all(&mut self, from: SwitchIdx, next_hop: NextHop) {
        let routes = self.flow[from];
        self.load[next_hop.channel] += routes.iter().sum::<u64>();
        for (flow, routes) in self.flow[next_hop.to].iter_mut().zip(routes) {
            *flow += routes;
        }
    }

    /// Gives each tree the lightest of few next hops.
    #[inline]
    fn assign<const LEN: usize>(
        &mut self,
        node: DagNode,
        next_hops: [NextHop; LEN],
        places: &mut [u8],
    ) {
        let meeting = self.meeting;
        let behind = next_hops.map(|next_hop| self.weight[next_hop.to]);
        let mut load = next_hops.map(|next_hop| self.load[next_hop.channel]);
        let routes = self.flow[node.switch];
        for (tree, (place, routes)) in places.iter_mut().zip(routes).enumerate() {
            let (mut least, mut best) = (u64::MAX, 0);
            for (number, ((next_hop, load), behind)) in
                next_hops.iter().zip(&load).zip(behind).enumerate()
            {
                let passing = self.flow[next_hop.to]
                    .get(tree)
                    .copied()
                    .unwrap_or_default();
                let key = load + behind + (passing & meeting);
                (least, best) = if key < least {
                    (key, number)
                } else {
                    (least, best)
                };
            }
            if let (Some(load), Some(next_hop)) = (load.get_mut(best), next_hops.get(best)) {
                *load += routes;
                *place = node.place_of(next_hop.channel);
                if let Some(flow) = self.flow[next_hop.to].get_mut(tree) {
                    *flow += routes;
                }
            }
        }
        for (next_hop, load) in next_hops.iter().zip(load) {
            self.load[next_hop.channel] = load;
        }
    }

    /// As [`assign`](Self::assign), for any number of next hops.
    fn assign_to_lightest(&mut self, node: DagNode, next_hops: &[NextHop], places: &mut [u8]) {
        let Self {
            load,
            flow,
            weight,
            keys,
            meeting,
            ..
        } = self;
        let routes = flow[node.switch];
        keys.clear();
        keys.extend(
            next_hops
                .iter()
                .map(|next_hop| weight[next_hop.to] + load[next_hop.channel]),
        );
        for (tree, (place, routes)) in places.iter_mut().zip(routes).enumerate() {
            let loads = keys.iter().zip(next_hops).map(|(key, next_hop)| {
                let passing = flow[next_hop.to].get(tree).copied().unwrap_or_default();
                key + (passing & *meeting)
            });
            // The next hop's number is the key's low byte (a switch has 254 ports at most), so that the
            // minimum needs no branch.
            let best = (0..).zip(loads).map(|(number, load)| load << 8 | number);
            let number = (best.fold(u64::MAX, u64::min) & 0xff) as usize;
            let (Some(next_hop), Some(key)) = (next_hops.get(number), keys.get_mut(number)) else {
                continue;
            };
            *key += routes;
            *place = node.place_of(next_hop.channel);
            load[next_hop.channel] += routes;
            if let Some(flow) = flow[next_hop.to].get_mut(tree) {
                *flow += routes;
            }
        }
    }

    /// Chooses the first next hop everywhere.
    pub(super) fn choose_first(
        &mut self,
        group: Group,
        towards: DagTo<'_>,
        mut choices: ChoiceBlock<'_>,
    ) {
        self.begin(group);
        for node in towards.nodes().rev() {
            if let Some(first) = towards.next_hops(node).first() {
                choices.of(node.switch).fill(node.place_of(first.channel));
                self.send_all(node.switch, *first);
            }
        }
    }

    /// Takes the load of a group's trees back.
    pub(super) fn take_back(
        &mut self,
        group: Group,
        towards: DagTo<'_>,
        mut choices: ChoiceBlock<'_>,
    ) {
        self.begin(group);
        for node in towards.nodes().rev() {
            let routes = self.flow[node.switch];
            let places = choices.of(node.switch);
            for (tree, (&mut place, routes)) in places.iter_mut().zip(routes).enumerate() {
                let channel = node.channel(place);
                self.load[channel] -= routes;
                if let Some(flow) = self.flow[self.to[channel]].get_mut(tree) {
                    *flow += routes;
                }
            }
        }
    }
}
