//! Trees of shortest paths towards all LIDs, balanced against each other.
//!
//! The first pass chooses each tree by the load of those before it, so the early ones choose blindly.
//! The second takes one tree after the other out again and chooses it anew by the load of all
//! others. Then the busiest channel is relieved, as long as that goes: one switch sends its routes to
//! one LID over another of its steps, if that makes no channel as busy. On small fabrics both are done
//! several times, and the best round counts. Source: Hoefler, Schneider and
//! Lumsdaine, "Optimized Routing for Large-Scale InfiniBand Networks", 2009, for the first pass.

use alloc::{vec, vec::Vec};

use ib_wire::Lid;

use crate::{
    algo::{
        random::Random,
        ways::{Towards, Tree, Ways, senders},
    },
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
    lid::LidMap,
};

/// Switches to look at while channels are relieved, unless an eighth of a pass over all trees is more.
const RELIEF: usize = 1 << 17;

/// Choices up to which there is time for several rounds.
const SMALL: usize = 1 << 16;

/// The choice of a switch that has none.
const NO_CHOICE: u8 = u8::MAX;

/// A chosen tree for every demand, and the load of all together.
#[derive(Clone, Debug)]
pub struct Balance<'a> {
    fabric: &'a Fabric,
    ways: &'a Ways,
    demands: &'a Demands,
    /// What each switch takes in each tree, a row of switches per tree: the place of the channel among
    /// its own.
    choices: Vec<u8>,
    load: IdxVec<ChannelIdx, u64>,
    first: IdxVec<SwitchIdx, ChannelIdx>,
    to: IdxVec<ChannelIdx, SwitchIdx>,
    weight: IdxVec<SwitchIdx, u64>,
    flow: IdxVec<SwitchIdx, u64>,
}

/// The trees that are asked for.
#[derive(Clone, Debug)]
pub struct Demands {
    /// How many ports at each switch send to each LID.
    pub senders: IdxVec<SwitchIdx, u64>,
    /// The trees towards CAs, target by target, and then those towards switches without CAs.
    pub trees: Vec<Demand>,
}

/// A tree that is asked for.
#[derive(Clone, Debug)]
pub struct Demand {
    /// The switch that its paths lead to.
    pub target: SwitchIdx,
    /// How many LIDs of CAs (or routers) share it.
    pub weight: u64,
    /// All LIDs that share it. The LIDs of a switch itself share the first tree of its CAs.
    pub lids: Vec<Lid>,
}

impl Demands {
    /// A tree for each LID of a CA, or one per switch for all LIDs there.
    #[must_use]
    pub fn new(fabric: &Fabric, lids: &LidMap, tree_per_switch: bool) -> Self {
        let (mut trees, mut rest) = (Vec::new(), Vec::new());
        for target in fabric.switches().indices() {
            let of = |own: bool| {
                let ends = lids.at_switch(target);
                let ends = ends.filter(move |end| end.is_switch() == own);
                ends.flat_map(|end| end.range.iter())
            };
            let first = trees.len();
            let of_cas: Vec<Lid> = of(false).collect();
            let share = if tree_per_switch { of_cas.len() } else { 1 };
            trees.extend(of_cas.chunks(share.max(1)).map(|lids| Demand {
                target,
                weight: lids.len() as u64,
                lids: lids.to_vec(),
            }));
            match trees.get_mut(first) {
                Some(demand) => demand.lids.extend(of(true)),
                None => rest.push(Demand {
                    target,
                    weight: 0,
                    lids: of(true).collect(),
                }),
            }
        }
        trees.append(&mut rest);
        Self {
            senders: senders(fabric, lids),
            trees,
        }
    }
}

impl<'a> Balance<'a> {
    /// Chooses trees.
    #[must_use]
    pub fn new(fabric: &'a Fabric, ways: &'a Ways, demands: &'a Demands) -> Self {
        let switches = fabric.num_switches();
        let first = fabric.switches().indices();
        let mut balance = Self {
            fabric,
            ways,
            demands,
            choices: vec![NO_CHOICE; demands.trees.len() * switches],
            load: IdxVec::filled(fabric.channels().len(), 0),
            first: first.map(|switch| fabric.channel_range(switch).0).collect(),
            to: fabric.channels().iter().map(|channel| channel.to).collect(),
            weight: IdxVec::filled(switches, 0),
            flow: IdxVec::filled(switches, 0),
        };
        let mut order: Vec<usize> = (0..demands.trees.len()).collect();
        balance.choose(&order, false);
        if balance.is_even() {
            return balance;
        }
        let rounds = if balance.choices.len() <= SMALL { 8 } else { 1 };
        let mut best = (
            balance.max_load(),
            balance.choices.clone(),
            balance.load.clone(),
        );
        let mut random = Random::new(1);
        for round in 0..rounds {
            if round > 0 {
                // Another order leads to another arrangement.
                random.shuffle(&mut order);
            }
            balance.choose(&order, true);
            balance.relieve();
            if balance.max_load() < best.0 {
                best = (
                    balance.max_load(),
                    balance.choices.clone(),
                    balance.load.clone(),
                );
            }
        }
        (_, balance.choices, balance.load) = best;
        balance
    }

    /// Routes on every channel.
    #[must_use]
    pub fn load(&self) -> &IdxVec<ChannelIdx, u64> {
        &self.load
    }

    /// The channel that `switch` takes in a tree, which has a path from there.
    #[inline]
    #[must_use]
    pub fn channel(&self, tree: usize, switch: SwitchIdx) -> ChannelIdx {
        let choice = self.choices.get(tree * self.first.len() + switch.at());
        let choice = choice.copied().unwrap_or_default();
        ChannelIdx(self.first[switch].0 + u32::from(choice))
    }

    /// Reads a tree.
    pub fn read(&self, number: usize, tree: &mut Tree) {
        let Some(demand) = self.demands.trees.get(number) else {
            return;
        };
        tree.reset(self.fabric, demand.target);
        for visit in self.ways.towards(demand.target).visits() {
            tree.take(visit.switch, self.channel(number, visit.switch));
        }
    }

    /// Chooses the trees in this order, for the first time or `again`.
    fn choose(&mut self, order: &[usize], again: bool) {
        let Self {
            load,
            flow,
            weight,
            first,
            to,
            ..
        } = self;
        let len = first.len();
        for &number in order {
            let row = self.choices.get_mut(number * len..(number + 1) * len);
            let (Some(demand), Some(row)) = (self.demands.trees.get(number), row) else {
                continue;
            };
            let &Demand {
                target,
                weight: lids,
                ..
            } = demand;
            let towards = self.ways.towards(target);
            if again && lids > 0 {
                flow.refill(self.demands.senders.iter().copied());
                send(towards, row, to, flow, |channel, routes| {
                    load[channel] -= routes * lids;
                });
            }
            towards.lightest(target, load, weight, |visit, step| {
                if let Some(choice) = row.get_mut(visit.switch.at()) {
                    *choice = visit.place_of(step.channel);
                }
            });
            if lids > 0 {
                flow.refill(self.demands.senders.iter().copied());
                send(towards, row, to, flow, |channel, routes| {
                    load[channel] += routes * lids;
                });
            }
        }
    }

    fn max_load(&self) -> u64 {
        self.load.iter().copied().max().unwrap_or_default()
    }

    /// Whether nothing can gain much: the highest load is within 2 % of the mean of used channels.
    fn is_even(&self) -> bool {
        let used = self.load.iter().filter(|&&load| load > 0).count() as u64;
        let sum: u64 = self.load.iter().sum();
        self.max_load().saturating_mul(used).saturating_mul(100) <= sum.saturating_mul(102)
    }

    /// Takes routes from the busiest channel until none can be taken.
    fn relieve(&mut self) {
        let mut room = RELIEF.max(self.choices.len() / 8);
        let mut via = IdxVec::filled(self.first.len(), false);
        loop {
            let busiest = self.load.iter_enumerated().rev();
            let busiest = busiest.max_by_key(|(_, load)| **load);
            let Some(busiest) = busiest.map(|(channel, _)| channel) else {
                return;
            };
            room = room.saturating_sub(self.load.len() / 4);
            if !self.relieve_channel(busiest, &mut via, &mut room) {
                return;
            }
        }
    }

    /// Takes routes from one channel; false if none can be taken, or the `room` for work is used up.
    fn relieve_channel(
        &mut self,
        busiest: ChannelIdx,
        via: &mut IdxVec<SwitchIdx, bool>,
        room: &mut usize,
    ) -> bool {
        let from = self.fabric.channel(busiest).from;
        for (tree, demand) in self.demands.trees.iter().enumerate() {
            let choice = self.choices.get(tree * self.first.len() + from.at());
            if demand.weight == 0
                || choice.is_none_or(|&choice| choice == NO_CHOICE)
                || self.channel(tree, from) != busiest
            {
                continue;
            }
            if *room < self.first.len() {
                return false;
            }
            *room -= self.first.len();
            if self.relieve_by(tree, busiest, via) {
                return true;
            }
        }
        false
    }

    /// Takes the routes of one tree, from some switch on, from a channel.
    fn relieve_by(
        &mut self,
        tree: usize,
        busiest: ChannelIdx,
        via: &mut IdxVec<SwitchIdx, bool>,
    ) -> bool {
        let Some(&Demand { target, weight, .. }) = self.demands.trees.get(tree) else {
            return false;
        };
        let towards = self.ways.towards(target);
        let row = tree * self.first.len()..(tree + 1) * self.first.len();
        let row = self.choices.get(row).unwrap_or_default();
        self.flow.refill(self.demands.senders.iter().copied());
        send(towards, row, &self.to, &mut self.flow, |_, _| {});
        via.fill(false);
        for visit in towards.visits() {
            let channel = self.channel(tree, visit.switch);
            if channel != busiest && !via[self.to[channel]] {
                continue;
            }
            via[visit.switch] = true;
            let routes = self.flow[visit.switch] * weight;
            for step in towards.steps(visit) {
                if routes > 0
                    && step.channel != busiest
                    && !via[step.to]
                    && self.move_routes(tree, target, visit.switch, step.channel, routes, busiest)
                {
                    return true;
                }
            }
        }
        false
    }

    /// Sends what passes `switch` over `channel` instead, unless that makes another channel as busy as
    /// `busiest` is.
    fn move_routes(
        &mut self,
        tree: usize,
        target: SwitchIdx,
        switch: SwitchIdx,
        channel: ChannelIdx,
        routes: u64,
        busiest: ChannelIdx,
    ) -> bool {
        let limit = self.load[busiest];
        let old = self.channel(tree, switch);
        // Both ways join at the target at the latest. Beyond that nothing changes, so routes are taken from
        // the old way before they are added to the new.
        self.shift(tree, target, old, |load| {
            *load -= routes;
            true
        });
        let fits = self.shift(tree, target, channel, |load| *load + routes < limit);
        let way = if fits { channel } else { old };
        self.shift(tree, target, way, |load| {
            *load += routes;
            true
        });
        let at = tree * self.first.len() + switch.at();
        if let (true, Some(choice)) = (fits, self.choices.get_mut(at)) {
            *choice = (channel.0 - self.first[switch].0) as u8;
        }
        fits
    }

    /// Changes the load of a channel and of all behind it, as long as `change` likes to.
    fn shift(
        &mut self,
        tree: usize,
        target: SwitchIdx,
        mut channel: ChannelIdx,
        mut change: impl FnMut(&mut u64) -> bool,
    ) -> bool {
        loop {
            if !change(&mut self.load[channel]) {
                return false;
            }
            match self.to[channel] {
                end if end == target => return true,
                switch => channel = self.channel(tree, switch),
            }
        }
    }
}

/// Sends the routes `flow` along the choices of a tree, the farthest switch first: `carry` gets what
/// each channel carries.
#[inline]
fn send(
    towards: Towards<'_>,
    choices: &[u8],
    to: &IdxVec<ChannelIdx, SwitchIdx>,
    flow: &mut IdxVec<SwitchIdx, u64>,
    mut carry: impl FnMut(ChannelIdx, u64),
) {
    for visit in towards.visits().rev() {
        let choice = choices.get(visit.switch.at()).copied().unwrap_or_default();
        let channel = visit.channel(choice);
        let routes = flow[visit.switch];
        carry(channel, routes);
        flow[to[channel]] += routes;
    }
}
