//! Chooses trees of shortest paths by load, up to four with the same target side by side.

mod evenly;

use alloc::vec::Vec;
use core::{iter, ops::Range};

use self::evenly::Split;
use crate::{
    algo::{
        balance::{
            even_split::split_evenly,
            lightest::{Lightest, NO_LOAD, NOT_NEARER, NUMBER_BITS},
        },
        choices::{Choice, ChoiceBlock},
        demands::Demand,
        parallel,
        shortest_path_dag::{BatchFans, DagTo, Fan, MANY, NextHop, NextHops},
    },
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
};

/// Trees that are chosen side by side, at most.
pub(super) const SIDE_BY_SIDE: usize = 4;

/// Bits of a load behind the point where routes spread: expected routes are fractions.
const FRACTION: u32 = 6;

/// Routes of each tree of a group.
pub(super) type TreeRoutes = [u64; SIDE_BY_SIDE];

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

/// The treatment of the trees of each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Each switch takes its first channel.
    First,
    /// Trees are chosen by load.
    ByLoad,
    /// The load of chosen trees is taken back, and then they are chosen again.
    Again,
}

/// A group of trees, and what is known of them when they are chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit<'a> {
    pub(super) group: Group,
    /// The shortest paths to the group's target.
    pub(super) towards: DagTo<'a>,
    /// Next hops of switches that have many; none where routes spread.
    pub(super) fans: &'a BatchFans,
    /// The choices in the group's trees.
    pub(super) choices: ChoiceBlock<'a>,
}

impl Visit<'_> {
    /// Gives all trees the first next hop of a switch that no routes pass: no load depends on it, and paths that are chosen
    /// by ports need fewer lanes than those by load.
    #[inline]
    pub(super) fn choose_unused(self, switch: SwitchIdx) {
        if let Some(first) = self.towards.next_hops(switch).first() {
            for place in self.choices.of(switch) {
                place.take(first.place());
            }
        }
    }
}

/// Adds up the load along the lightest path from each switch. `shares` are taken from the load of each switch's next
/// hops before, the nearest switch first.
#[inline(always)]
fn weigh(
    towards: DagTo<'_>,
    shares: impl Iterator<Item = u64>,
    load: &mut IdxVec<ChannelIdx, u64>,
    weight: &mut IdxVec<SwitchIdx, u64>,
) {
    for (switch, share) in towards.switches().zip(shares) {
        let of = |next_hop: &NextHop| {
            let load = &mut load[next_hop.channel];
            *load -= share;
            weight[next_hop.to()] + *load
        };
        weight[switch] = least_weight(towards.next_hops(switch), of);
    }
}

/// The least weight of some next hops.
#[inline(always)]
fn least_weight(next_hops: &[NextHop], mut of: impl FnMut(&NextHop) -> u64) -> u64 {
    match next_hops {
        [only] => of(only),
        [one, other] => of(one).min(of(other)),
        [one, two, three] => of(one).min(of(two)).min(of(three)),
        next_hops => next_hops.iter().map(of).fold(u64::MAX, u64::min),
    }
}

/// Groups the trees of each target: so many, and [`SIDE_BY_SIDE`] at most.
///
/// Trees of a group do not know each other's load at the target, so each shall find a channel there that the groups before
/// have left out. No group therefore begins within a round of as many trees as the target has channels and ends in the
/// next; and where the last of several rounds is not whole, trees are chosen one after the other.
pub(super) fn grouped(fabric: &Fabric, trees: &[Demand], side_by_side: usize) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut first = 0;
    let alike =
        |one: &Demand, next: &Demand| (one.target, one.weight) == (next.target, next.weight);
    for trees in trees.chunk_by(alike) {
        let channels = |tree: &Demand| fabric.channels_from(tree.target).count();
        let round = trees.first().map_or(0, channels).max(1);
        let most = match trees.len() <= round || trees.len().is_multiple_of(round) {
            true => side_by_side.clamp(1, SIDE_BY_SIDE),
            false => 1,
        };
        for trees in trees.chunks(round).flat_map(|round| round.chunks(most)) {
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

/// The number of the first next hop with the least sum of its key and the routes of a tree that pass the switch at its end.
#[inline(always)]
fn least<const LEN: usize>(keys: &[i64; LEN], passing: &[TreeRoutes; LEN], tree: usize) -> usize {
    let (mut least, mut best) = (i64::MAX, 0);
    for (number, (key, passing)) in keys.iter().zip(passing).enumerate() {
        let key = key + of_tree(passing, tree) as i64;
        (least, best) = if key < least {
            (key, number)
        } else {
            (least, best)
        };
    }
    best
}

/// Adds routes to one of a few keys.
///
/// An index that is known only at run time would keep the keys in memory, so each key gets the routes or nothing.
#[inline(always)]
fn add_to<const LEN: usize>(keys: &mut [i64; LEN], best: usize, routes: u64) {
    for (number, key) in keys.iter_mut().enumerate() {
        *key += if number == best { routes as i64 } else { 0 };
    }
}

/// The routes of one tree of a group at a switch.
#[inline(always)]
fn of_tree(flow: &TreeRoutes, tree: usize) -> u64 {
    flow.get(tree).copied().unwrap_or_default()
}

/// Chooses trees, and knows the load of those chosen so far.
///
/// All routes have some bits behind the point.
#[derive(Clone, Debug)]
pub(super) struct TreeChooser {
    /// Routes on each channel.
    load: IdxVec<ChannelIdx, u64>,
    /// The load of each channel beside that of an even split, for [`choose_evenly`](Self::choose_evenly).
    splits: IdxVec<ChannelIdx, Split>,
    to: IdxVec<ChannelIdx, SwitchIdx>,
    /// The first channel of every switch.
    first: IdxVec<SwitchIdx, ChannelIdx>,
    /// The number of ports at each switch that send to each LID.
    senders: IdxVec<SwitchIdx, u32>,
    /// The routes that start at each switch, for the last group.
    start: Start,
    /// Routes that pass each switch in each tree of the group at hand. Whole clusters of LIDs behind one switch
    /// need more than 32 bits.
    flow: IdxVec<SwitchIdx, TreeRoutes>,
    /// Expected routes that pass each switch.
    expected: IdxVec<SwitchIdx, u64>,
    /// Load along the lightest path from each switch; where routes meet early with [`NO_LOAD`], or [`NOT_NEARER`].
    weight: IdxVec<SwitchIdx, u64>,
    /// The weights of the level at hand.
    weights_here: Vec<u64>,
    keys: Vec<u64>,
    lightest: Lightest,
    /// The routes of a tree [spread](crate::algo::demands::Demands::spread), and do not meet early.
    spread: bool,
    /// Bits of all routes behind the point: [`FRACTION`] where routes spread. Elsewhere they are 0, and leave room for the
    /// [numbers](NUMBER_BITS) of next hops.
    point: u32,
}

/// The routes that start at each switch: most groups have the same, so they are copied.
#[derive(Clone, Debug, Default)]
struct Start {
    weight: u64,
    count: usize,
    /// For each tree of a group.
    flow: Vec<TreeRoutes>,
    /// For all together.
    expected: Vec<u64>,
}

impl Start {
    /// Sets the routes for a group, if its trees are not like those of the last one.
    fn set(&mut self, group: Group, senders: &IdxVec<SwitchIdx, u32>, point: u32) {
        if (self.weight, self.count) == (group.weight, group.count) && !self.flow.is_empty() {
            return;
        }
        (self.weight, self.count) = (group.weight, group.count);
        let routes = |trees: u64| {
            let routes = (group.weight * trees) << point;
            senders
                .iter()
                .map(move |&senders| routes * u64::from(senders))
        };
        self.expected.clear();
        self.expected.extend(routes(group.count as u64));
        self.flow.clear();
        self.flow.extend(routes(1).map(|routes| {
            core::array::from_fn(|tree| if tree < group.count { routes } else { 0 })
        }));
    }
}

impl TreeChooser {
    pub(super) fn new(fabric: &Fabric, senders: &IdxVec<SwitchIdx, u64>, spread: bool) -> Self {
        let switches = fabric.num_switches();
        let channels = fabric.channels().len();
        let first = fabric.switches().indices();
        Self {
            load: IdxVec::filled(channels, 0),
            splits: IdxVec::filled(if spread { channels } else { 0 }, Split::default()),
            to: fabric.channels().iter().map(|channel| channel.to).collect(),
            first: first.map(|switch| fabric.channel_range(switch).0).collect(),
            // There are fewer than 2^16 LIDs.
            senders: senders.iter().map(|&senders| senders as u32).collect(),
            start: Start::default(),
            flow: IdxVec::filled(switches, [0; SIDE_BY_SIDE]),
            expected: IdxVec::filled(switches, 0),
            weight: IdxVec::filled(switches, 0),
            weights_here: Vec::new(),
            keys: Vec::new(),
            lightest: Lightest::new(switches),
            spread,
            point: if spread { FRACTION } else { NUMBER_BITS },
        }
    }

    /// Routes on every channel.
    pub(super) fn load(&self) -> IdxVec<ChannelIdx, u64> {
        self.load.iter().map(|load| load >> self.point).collect()
    }

    /// Sets the routes on every channel.
    pub(super) fn set_load(&mut self, load: &IdxVec<ChannelIdx, u64>) {
        let point = self.point;
        self.load.refill(load.iter().map(|load| load << point));
    }

    /// The same with no route on any channel.
    pub(super) fn without_load(&self) -> Self {
        let load = IdxVec::filled(self.load.len(), 0);
        Self {
            load,
            ..self.clone()
        }
    }

    /// Adds the routes on every channel of another chooser, fractions included.
    pub(super) fn add_load(&mut self, other: &Self) {
        for (load, other) in self.load.iter_mut().zip(other.load.iter()) {
            *load += other;
        }
    }

    /// Adds the load that the trees of a group make if every switch splits its routes evenly. Returns the share of each
    /// next hop of a switch, the farthest switch first.
    pub(super) fn expect(&mut self, visit: Visit<'_>) -> Vec<u64> {
        self.expect_senders(visit.group);
        split_evenly(visit.towards, &mut self.load, &mut self.expected)
    }

    /// Expects the routes of all trees of a group from each sender.
    fn expect_senders(&mut self, group: Group) {
        self.start.set(group, &self.senders, self.point);
        self.expected.copy_from(&self.start.expected);
    }

    /// Lets the senders at every switch send to each tree of a group.
    #[inline]
    pub(super) fn begin(&mut self, group: Group) {
        self.start.set(group, &self.senders, self.point);
        self.flow.copy_from(&self.start.flow);
    }

    /// As [`begin`](Self::begin), at some switches alone, each range up to but not including its end.
    pub(super) fn begin_at(&mut self, group: Group, switches: &[Range<SwitchIdx>]) {
        self.start.set(group, &self.senders, self.point);
        for &Range { start, end } in switches {
            if let Some(flow) = self.start.flow.get(start.at()..end.at()) {
                self.flow.range_mut(start, end).copy_from_slice(flow);
            }
        }
    }

    /// Adds to the routes of a tree that pass the switch at the end of a next hop.
    #[inline(always)]
    fn pass_on(&mut self, next_hop: &NextHop, tree: usize, routes: u64) {
        if let Some(flow) = self.flow[next_hop.to()].get_mut(tree) {
            *flow += routes;
        }
    }

    /// Treats the trees of a group.
    pub(super) fn visit(&mut self, pass: Pass, visit: Visit<'_>) {
        match pass {
            Pass::First => self.choose_first(visit),
            Pass::ByLoad => self.choose(visit),
            Pass::Again => {
                self.take_back(visit);
                self.choose(visit);
            }
        }
    }

    /// Chooses the trees of a group: the farthest switches first, each by the load along the lightest path
    /// behind a next hop and, where routes spread, by those of the same tree that pass it already.
    pub(super) fn choose(&mut self, visit: Visit<'_>) {
        if self.spread {
            return self.choose_by_load(visit, iter::repeat(0));
        }
        self.begin_weights(visit);
        for level in visit.towards.levels() {
            self.weigh(visit, level);
        }
        self.begin(visit.group);
        self.assign(visit, visit.towards.switches().rev());
    }

    /// As [`choose`](Self::choose), for a group that is expected to split evenly. It takes back what
    /// [`expect`](Self::expect) added, which returned `shares`.
    pub(super) fn choose_expected(&mut self, visit: Visit<'_>, shares: &[u64]) {
        self.choose_by_load(visit, shares.iter().rev().copied());
    }

    /// Chooses the trees of a group whose routes spread. `shares` are taken from the load of each switch's next hops, the
    /// nearest switch first.
    #[inline(always)]
    fn choose_by_load(&mut self, visit: Visit<'_>, shares: impl Iterator<Item = u64>) {
        let Visit { group, towards, .. } = visit;
        self.begin(group);
        self.weight[group.target] = 0;
        weigh(towards, shares, &mut self.load, &mut self.weight);
        for switch in towards.switches().rev() {
            let places = visit.choices.of(switch);
            let next_hops = towards.next_hops(switch);
            match next_hops.len() {
                0..MANY => self.assign_to_few::<true>(switch, next_hops, places),
                _ => self.assign_to_many(switch, next_hops, places),
            }
        }
    }

    /// Begins to weigh switches for a group.
    pub(super) fn begin_weights(&mut self, visit: Visit<'_>) {
        self.weight.fill(NOT_NEARER);
        self.weight[visit.group.target] = NO_LOAD;
    }

    /// Weighs switches that are equally far from the target, where routes meet early. Those that their next hops
    /// lead to must have their weights.
    #[inline(always)]
    pub(super) fn weigh(&mut self, visit: Visit<'_>, switches: &[SwitchIdx]) {
        match visit.group.count {
            1 => self.weigh_for::<1>(visit, switches),
            _ => self.weigh_for::<SIDE_BY_SIDE>(visit, switches),
        }
    }

    /// As [`weigh`](Self::weigh), for as many trees at most.
    fn weigh_for<const TREES: usize>(&mut self, visit: Visit<'_>, switches: &[SwitchIdx]) {
        let Self {
            lightest,
            load,
            weight,
            weights_here,
            ..
        } = self;
        let towards = visit.towards;
        lightest.begin_level(visit.fans.num_ends());
        weights_here.clear();
        weights_here.extend(switches.iter().map(|&switch| {
            parallel::count(towards.next_hops(switch).len());
            match towards.few_or_many(switch, visit.fans) {
                NextHops::Few(next_hops) => least_weight(next_hops, |next_hop| {
                    weight[next_hop.to()] + load[next_hop.channel]
                }),
                NextHops::Many(fan) => lightest.weigh::<TREES>(switch, fan, towards, load, weight),
            }
        }));
        // Switches that are equally far must not take each other for nearer ones.
        for (&switch, &here) in switches.iter().zip(&*weights_here) {
            weight[switch] = here;
        }
    }

    /// Chooses the next hops of switches where routes meet early. The switches that they lead to must have been
    /// [weighed](Self::weigh), and all that lead to them must have their next hops. A switch that no routes pass takes its
    /// first one.
    #[inline(always)]
    pub(super) fn assign(&mut self, visit: Visit<'_>, switches: impl Iterator<Item = SwitchIdx>) {
        for switch in switches {
            let places = visit.choices.of(switch);
            parallel::count(places.len());
            if !self.has_routes(switch) {
                visit.choose_unused(switch);
                continue;
            }
            match visit.towards.few_or_many(switch, visit.fans) {
                NextHops::Few(next_hops) => {
                    self.assign_to_few::<false>(switch, next_hops, places);
                }
                NextHops::Many(fan) => self.assign_to_lightest(switch, fan, places),
            }
        }
    }

    /// Gives each tree the lightest of a few next hops. `SPREAD` is [`spread`](Self::spread): what only routes that spread need
    /// takes no time elsewhere.
    #[inline(always)]
    fn assign_to_few<const SPREAD: bool>(
        &mut self,
        switch: SwitchIdx,
        next_hops: &[NextHop],
        places: &[Choice],
    ) {
        match next_hops.len() {
            1 => self.assign_to_only(switch, next_hops, places),
            2 => self.assign_to::<SPREAD, 2>(switch, next_hops, places),
            3 => self.assign_to::<SPREAD, 3>(switch, next_hops, places),
            4 => self.assign_to::<SPREAD, 4>(switch, next_hops, places),
            5 => self.assign_to::<SPREAD, 5>(switch, next_hops, places),
            _ => self.assign_to::<SPREAD, 6>(switch, next_hops, places),
        }
    }

    /// Gives all trees the first next hop.
    #[inline(always)]
    fn assign_to_only(&mut self, switch: SwitchIdx, next_hops: &[NextHop], places: &[Choice]) {
        let Some(next_hop) = next_hops.first() else {
            return;
        };
        match places {
            // No loop is left of so many trees.
            [one, two, three, four] => {
                one.take(next_hop.place());
                two.take(next_hop.place());
                three.take(next_hop.place());
                four.take(next_hop.place());
            }
            places => places.iter().for_each(|of| of.take(next_hop.place())),
        }
        let routes = self.flow[switch];
        self.load[next_hop.channel] += routes.iter().sum::<u64>();
        for (flow, routes) in self.flow[next_hop.to()].iter_mut().zip(routes) {
            *flow += routes;
        }
    }

    /// Gives each tree the lightest of `LEN` next hops.
    #[inline]
    fn assign_to<const SPREAD: bool, const LEN: usize>(
        &mut self,
        switch: SwitchIdx,
        next_hops: &[NextHop],
        places: &[Choice],
    ) {
        let Some(next_hops) = next_hops.first_chunk::<LEN>() else {
            return;
        };
        let mut keys = [0; LEN];
        for (key, next_hop) in keys.iter_mut().zip(next_hops) {
            *key = (self.load[next_hop.channel] + self.weight[next_hop.to()]) as i64;
        }
        let before = keys;
        // What passes in one tree does not depend on where the others go.
        let passing = next_hops.map(|next_hop| match SPREAD {
            true => self.flow[next_hop.to()],
            false => TreeRoutes::default(),
        });
        let routes = self.flow[switch];
        for (tree, (place, routes)) in places.iter().zip(routes).enumerate() {
            let best = least(&keys, &passing, tree);
            add_to(&mut keys, best, routes);
            if let Some(next_hop) = next_hops.get(best) {
                place.take(next_hop.place());
                self.pass_on(next_hop, tree, routes);
            }
        }
        for (next_hop, (key, before)) in next_hops.iter().zip(keys.into_iter().zip(before)) {
            self.load[next_hop.channel] += (key - before) as u64;
        }
    }

    /// As [`assign_to`](Self::assign_to), for any number of next hops where routes spread.
    fn assign_to_many(&mut self, switch: SwitchIdx, next_hops: &[NextHop], places: &[Choice]) {
        let Self {
            load,
            flow,
            weight,
            keys,
            ..
        } = self;
        let routes = flow[switch];
        keys.clear();
        keys.extend(
            next_hops
                .iter()
                .map(|next_hop| weight[next_hop.to()] + load[next_hop.channel]),
        );
        for (tree, (place, routes)) in places.iter().zip(routes).enumerate() {
            let loads = keys
                .iter()
                .zip(next_hops)
                .map(|(key, next_hop)| key + of_tree(&flow[next_hop.to()], tree));
            // The next hop's number is the key's low byte (a switch has 254 ports at most), so that the
            // minimum needs no branch.
            let best = (0..).zip(loads).map(|(number, load)| load << 8 | number);
            let number = (best.fold(u64::MAX, u64::min) & 0xff) as usize;
            let (Some(next_hop), Some(key)) = (next_hops.get(number), keys.get_mut(number)) else {
                continue;
            };
            *key += routes;
            place.take(next_hop.place());
            load[next_hop.channel] += routes;
            if let Some(flow) = flow[next_hop.to()].get_mut(tree) {
                *flow += routes;
            }
        }
    }

    /// As [`assign_to`](Self::assign_to), for [`MANY`] next hops where routes meet early.
    #[inline(always)]
    fn assign_to_lightest(&mut self, switch: SwitchIdx, fan: Fan<'_>, places: &[Choice]) {
        match places.first_chunk::<SIDE_BY_SIDE>() {
            // No loop is left of so many trees.
            Some(places) => self.send_lightest(switch, fan, places.iter()),
            None => self.send_lightest(switch, fan, places.iter()),
        }
    }

    /// Sends the trees at `places` over the lightest next hops of a switch.
    #[inline(always)]
    fn send_lightest<'p>(
        &mut self,
        switch: SwitchIdx,
        fan: Fan<'_>,
        places: impl ExactSizeIterator<Item = &'p Choice>,
    ) {
        let first = self.first[switch];
        let routes = self.flow[switch];
        let sent = routes.into_iter().take(places.len());
        let mut trees = places.zip(routes).enumerate();
        self.lightest.send(switch, sent, |number| {
            let hop = fan.next_hop(number);
            if let (Some((channel, end)), Some((tree, (place, routes)))) = (hop, trees.next()) {
                // A switch has 254 ports at most.
                place.take((channel.0 - first.0 + 1) as u8);
                self.load[channel] += routes;
                if let Some(flow) = self.flow[end].get_mut(tree) {
                    *flow += routes;
                }
            }
        });
    }

    /// Chooses the first next hop everywhere.
    fn choose_first(&mut self, visit: Visit<'_>) {
        self.begin(visit.group);
        self.assign_first(visit, visit.towards.switches().rev());
    }

    /// Chooses the first next hops of switches. All switches that lead to them must have theirs.
    pub(super) fn assign_first(
        &mut self,
        visit: Visit<'_>,
        switches: impl Iterator<Item = SwitchIdx>,
    ) {
        for switch in switches {
            let next_hops = visit.towards.next_hops(switch);
            self.assign_to_only(switch, next_hops, visit.choices.of(switch));
        }
    }

    /// Takes the load of a group's trees back.
    fn take_back(&mut self, visit: Visit<'_>) {
        self.begin(visit.group);
        self.unassign(visit, visit.towards.switches().rev());
    }

    /// Takes back the load on the next hops of switches. For all switches that lead to them that must have been done.
    pub(super) fn unassign(&mut self, visit: Visit<'_>, switches: impl Iterator<Item = SwitchIdx>) {
        for switch in switches {
            let routes = self.flow[switch];
            let places = visit.choices.of(switch);
            for (tree, (place, routes)) in places.iter().zip(routes).enumerate() {
                // All switches have chosen, so this is a place and not 0.
                let channel = ChannelIdx(self.first[switch].0 + u32::from(place.place()) - 1);
                self.load[channel] -= routes;
                if let Some(flow) = self.flow[self.to[channel]].get_mut(tree) {
                    *flow += routes;
                }
            }
        }
    }

    /// The routes that pass a switch in each tree of a group.
    #[inline(always)]
    pub(super) fn flow(&self, switch: SwitchIdx) -> &TreeRoutes {
        &self.flow[switch]
    }

    /// Returns true if routes pass a switch in some tree of a group.
    #[inline(always)]
    pub(super) fn has_routes(&self, switch: SwitchIdx) -> bool {
        self.flow[switch].iter().any(|&routes| routes > 0)
    }

    /// Lets no routes pass a switch.
    pub(super) fn clear_flow(&mut self, switch: SwitchIdx) {
        self.flow[switch] = TreeRoutes::default();
    }

    /// Lets more routes pass a switch, in the first trees of a group.
    #[inline(always)]
    pub(super) fn add_flow(&mut self, switch: SwitchIdx, routes: impl Iterator<Item = u64>) {
        for (flow, routes) in self.flow[switch].iter_mut().zip(routes) {
            *flow += routes;
        }
    }

    /// Routes on a channel, with the bits behind the point.
    pub(super) fn load_of(&self, channel: ChannelIdx) -> u64 {
        self.load[channel]
    }

    /// Sets what [`load_of`](Self::load_of) returns.
    pub(super) fn set_load_of(&mut self, channel: ChannelIdx, load: u64) {
        self.load[channel] = load;
    }

    /// The channels of a switch, and the routes on them.
    pub(super) fn loads_of(
        &mut self,
        switch: SwitchIdx,
    ) -> impl Iterator<Item = (ChannelIdx, &mut u64)> {
        let start = self.first[switch];
        let end = self.first.find(SwitchIdx(switch.0 + 1)).copied();
        let end = end.unwrap_or(self.load.end());
        let channels = (start.0..end.0).map(ChannelIdx);
        channels.zip(self.load.range_mut(start, end))
    }
}

#[cfg(test)]
pub(super) mod tests;
