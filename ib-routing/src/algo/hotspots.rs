//! Moves routes away from the busiest channels.
//!
//! Paths that are chosen one destination after the other crowd on some channels. So routes are taken
//! from the busiest channel as long as possible: one switch sends its routes to one LID over another of
//! its channels, if that path is short enough, if no channel becomes as busy by it, and if the engine
//! admits the dependencies between channels that this adds.

mod busiest;
mod passing;

use alloc::vec::Vec;

use self::{busiest::Busiest, passing::Passing};
use crate::{
    algo::{
        choices::Choices,
        demands::{Demand, Demands},
        shortest_path_dag::ShortestPathDag,
    },
    fabric::{Channel, Fabric},
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// Paths whose busiest channels are to be relieved, and what limits it.
pub struct Hotspots<'r> {
    /// Threads that help, as in [`RouteOptions`](crate::RouteOptions).
    pub threads: usize,
    /// The fabric of the paths.
    pub fabric: &'r Fabric,
    /// Shortest paths, for the length of each channel.
    pub dag: &'r ShortestPathDag,
    /// The trees, and the number of senders at each switch.
    pub demands: &'r Demands,
    /// The largest growth of a path's length. If it is 0, all paths are the shortest, and stay so.
    pub slack: u32,
    /// Reroutes to try, at most.
    pub room: usize,
}

/// Decides which dependencies between channels a reroute may add.
pub trait Admission {
    /// Lets channel `to` follow channel `from` in a tree; false if it must not.
    fn admit(&mut self, tree: usize, from: ChannelIdx, to: ChannelIdx) -> bool;

    /// Returns true if it is known that `to` must not follow `from` in a tree. To know it early spares most of the work
    /// where nearly all dependencies are refused.
    fn refuses(&self, tree: usize, from: ChannelIdx, to: ChannelIdx) -> bool;
}

/// Any channel may follow any other.
pub struct AdmitAll;

impl Admission for AdmitAll {
    fn admit(&mut self, _: usize, _: ChannelIdx, _: ChannelIdx) -> bool {
        true
    }

    fn refuses(&self, _: usize, _: ChannelIdx, _: ChannelIdx) -> bool {
        false
    }
}

/// The paths and the space to work in.
struct Rerouter<'r, 'w, A> {
    plan: Hotspots<'r>,
    choices: &'w mut Choices,
    load: &'w mut IdxVec<ChannelIdx, u64>,
    busiest: Busiest,
    passing: Passing,
    admission: A,
    flow: IdxVec<SwitchIdx, u64>,
    /// Switches whose paths pass the busiest channel in the tree at hand, the nearest first.
    via: Vec<SwitchIdx>,
}

impl Hotspots<'_> {
    /// Moves routes away from the busiest channel until nothing can be taken from it. `load` is the load
    /// that the `choices` make.
    pub fn run(
        self,
        choices: &mut Choices,
        load: &mut IdxVec<ChannelIdx, u64>,
        admission: impl Admission,
    ) {
        let flow = IdxVec::filled(self.fabric.num_switches(), 0);
        let passing = Passing::everywhere(self.fabric, self.demands);
        let mut rerouter = Rerouter {
            plan: self,
            busiest: Busiest::new(load.len()),
            passing,
            choices,
            load,
            admission,
            flow,
            via: Vec::new(),
        };
        let mut is_first = true;
        loop {
            let Some((busiest, load)) = rerouter.busiest.find(rerouter.load) else {
                return;
            };
            rerouter.spend(rerouter.load.len() / 8);
            rerouter.relieve(busiest);
            if rerouter.load[busiest] == load {
                return;
            }
            // In many fabrics the first channel gains nothing, so that nothing more is to be known.
            if is_first {
                rerouter.note_passing();
                is_first = false;
            }
        }
    }
}

impl<A: Admission> Rerouter<'_, '_, A> {
    /// Finds out which switches the routes of each tree pass.
    fn note_passing(&mut self) {
        let Hotspots {
            threads,
            fabric,
            demands,
            ..
        } = self.plan;
        self.passing = Passing::new(threads, fabric, demands, self.choices);
    }

    /// Takes about 3 % of its routes from a channel.
    fn relieve(&mut self, busiest: ChannelIdx) {
        let demands = self.plan.demands;
        let from = self.plan.fabric.channel(busiest).from;
        let enough = self.load[busiest] - self.load[busiest] / 32;
        let mut next = 0;
        while let Some(tree) = self.passing.next_tree(next, from) {
            next = tree + 1;
            let Some(demand) = demands.trees.get(tree) else {
                return;
            };
            if self.choices.channel(tree, from) != Some(busiest) {
                continue;
            }
            self.relieve_by(tree, demand, busiest);
            if self.load[busiest] < enough || self.plan.room == 0 {
                return;
            }
        }
    }

    /// Takes the routes of one tree, from some switch on, from a channel.
    fn relieve_by(&mut self, tree: usize, demand: &Demand, busiest: ChannelIdx) {
        self.gather(tree, demand.target, busiest);
        let (fabric, towards) = (self.plan.fabric, self.plan.dag.towards(demand.target));
        for at in 0..self.via.len() {
            let Some(&switch) = self.via.get(at) else {
                return;
            };
            let routes = self.flow[switch] * demand.weight;
            let Some(old) = self.choices.channel(tree, switch) else {
                return;
            };
            self.spend(fabric.channels_from(switch).len());
            if routes == 0 {
                continue;
            }
            let Some(length) = self.length(tree, demand.target, old, None, u32::MAX) else {
                continue;
            };
            let longest = length.saturating_add(self.plan.slack);
            for (new, _) in fabric.channels_from(switch) {
                // A look at the graph takes less time than one at the path.
                if self.plan.slack == 0 && !towards.is_nearer_by(new) {
                    continue;
                }
                let reroute = Reroute {
                    tree,
                    switch,
                    old,
                    new,
                };
                if self.is_refused_ahead(demand.target, reroute) {
                    continue;
                }
                let length = self.length(tree, demand.target, new, Some(busiest), longest);
                if length.is_some()
                    && !self.is_refused_behind(demand.target, reroute)
                    && self.take(demand.target, reroute, routes, busiest)
                {
                    return;
                }
            }
        }
    }

    /// Finds the switches with routes whose paths pass a channel, and what each of them sends or passes on.
    fn gather(&mut self, tree: usize, target: SwitchIdx, busiest: ChannelIdx) {
        let farther = self.farther(tree, target, busiest);
        let Self {
            plan,
            choices,
            passing,
            flow,
            via,
            ..
        } = self;
        let (fabric, senders) = (plan.fabric, &plan.demands.senders);
        let (choices, passing) = (choices.of_tree(tree), passing.of_tree(tree));
        let first = fabric.channel(busiest).from;
        via.clear();
        via.push(first);
        flow[first] = senders[first];
        let mut at = 0;
        for _ in 0..farther {
            let end = via.len();
            if at == end {
                break;
            }
            while let Some(&switch) = via.get(at).filter(|_| at < end) {
                for (_, ends) in fabric.channels_from(switch) {
                    let is_before = ends.to != target
                        && passing.contains(ends.to)
                        && choices.channel(ends.to) == Some(ends.reverse);
                    if is_before {
                        via.push(ends.to);
                        flow[ends.to] = senders[ends.to];
                    }
                }
                at += 1;
            }
        }
        for &switch in via.iter().skip(1).rev() {
            if let Some(channel) = choices.channel(switch) {
                let routes = flow[switch];
                flow[fabric.channel(channel).to] += routes;
            }
        }
    }

    /// The most channels before `channel` on a path of the tree. On shortest paths each leads nearer to the target, so the
    /// switches of the largest distance need no look at their neighbours: in a fat tree these are most of its leaves.
    fn farther(&self, tree: usize, target: SwitchIdx, mut channel: ChannelIdx) -> usize {
        if self.plan.slack > 0 {
            return usize::MAX;
        }
        let mut farther = self.plan.dag.towards(target).levels().len();
        loop {
            farther = farther.saturating_sub(1);
            let end = self.plan.fabric.channel(channel).to;
            match self.choices.channel(tree, end) {
                Some(next) if end != target && farther > 0 => channel = next,
                _ => return farther,
            }
        }
    }

    /// Length of the path that begins with a channel; `None` if it does not arrive, if it passes `avoided`, or if it is longer
    /// than `longest`.
    fn length(
        &self,
        tree: usize,
        target: SwitchIdx,
        mut channel: ChannelIdx,
        avoided: Option<ChannelIdx>,
        longest: u32,
    ) -> Option<u32> {
        let mut length = 0_u32;
        loop {
            if Some(channel) == avoided {
                return None;
            }
            length = length.saturating_add(self.plan.dag.length(channel));
            if length > longest {
                return None;
            }
            match self.plan.fabric.channel(channel).to {
                end if end == target => return Some(length),
                switch => channel = self.choices.channel(tree, switch)?,
            }
        }
    }

    /// Sends what passes a switch over another channel, unless that makes one as busy as `busiest` is.
    fn take(
        &mut self,
        target: SwitchIdx,
        reroute: Reroute,
        routes: u64,
        busiest: ChannelIdx,
    ) -> bool {
        let Reroute { tree, old, new, .. } = reroute;
        let limit = self.load[busiest];
        // Both paths join at the target at the latest. Beyond that nothing changes, so routes are taken
        // from the old path before they are added to the new one.
        self.shift(tree, target, old, |load| {
            *load -= routes;
            true
        });
        let fits = self.shift(tree, target, new, |load| *load + routes < limit)
            && self.admits(target, reroute);
        let chosen = if fits { new } else { old };
        self.shift(tree, target, chosen, |load| {
            *load += routes;
            true
        });
        if fits {
            self.choices.set(tree, reroute.switch, new);
            let fabric = self.plan.fabric;
            let end = fabric.channel(new).to;
            self.passing
                .mark_path(fabric, self.choices, tree, target, end);
        }
        fits
    }

    /// Returns true if it is known that the new channel must not be followed by the next.
    #[inline]
    fn is_refused_ahead(&self, target: SwitchIdx, reroute: Reroute) -> bool {
        let Reroute { tree, new, .. } = reroute;
        let next = self.next(target, reroute);
        next.is_some_and(|next| self.admission.refuses(tree, new, next))
    }

    /// Returns true if it is known that the new channel must not follow one of those that lead to it.
    #[inline]
    fn is_refused_behind(&self, target: SwitchIdx, reroute: Reroute) -> bool {
        let Reroute { tree, new, .. } = reroute;
        let mut previous = previous(self.plan.fabric, self.choices, target, reroute);
        previous.any(|previous| self.admission.refuses(tree, previous, new))
    }

    /// Returns true if the new channel may be followed by the next, and follow those that lead to it.
    fn admits(&mut self, target: SwitchIdx, reroute: Reroute) -> bool {
        let Reroute { tree, new, .. } = reroute;
        let next = self.next(target, reroute);
        let mut previous = previous(self.plan.fabric, self.choices, target, reroute);
        let admission = &mut self.admission;
        next.is_none_or(|next| admission.admit(tree, new, next))
            && previous.all(|previous| admission.admit(tree, previous, new))
    }

    /// The channel after the new one, unless that leads to the target.
    #[inline]
    fn next(&self, target: SwitchIdx, reroute: Reroute) -> Option<ChannelIdx> {
        let end = self.plan.fabric.channel(reroute.new).to;
        let next = (end != target).then(|| self.choices.channel(reroute.tree, end));
        next.flatten()
    }

    /// Changes the load of a channel and of all after it on the path, until `change` returns false.
    fn shift(
        &mut self,
        tree: usize,
        target: SwitchIdx,
        mut channel: ChannelIdx,
        mut change: impl FnMut(&mut u64) -> bool,
    ) -> bool {
        loop {
            self.busiest.note_change(channel);
            if !change(&mut self.load[channel]) {
                return false;
            }
            match self.plan.fabric.channel(channel).to {
                end if end == target => return true,
                switch => match self.choices.channel(tree, switch) {
                    Some(next) => channel = next,
                    None => return false,
                },
            }
        }
    }

    fn spend(&mut self, reroutes: usize) {
        self.plan.room = self.plan.room.saturating_sub(reroutes);
    }
}

/// Another channel for a switch in a tree.
#[derive(Clone, Copy, Debug)]
struct Reroute {
    tree: usize,
    switch: SwitchIdx,
    old: ChannelIdx,
    new: ChannelIdx,
}

/// The channels on which paths of a tree lead to the switch of a reroute.
fn previous(
    fabric: &Fabric,
    choices: &Choices,
    target: SwitchIdx,
    reroute: Reroute,
) -> impl Iterator<Item = ChannelIdx> {
    let choices = choices.of_tree(reroute.tree);
    let ends = fabric.channels_from(reroute.switch).map(|(_, ends)| ends);
    let leads =
        move |ends: &&Channel| ends.to != target && choices.channel(ends.to) == Some(ends.reverse);
    ends.filter(leads).map(|ends| ends.reverse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algo::balance::max_load,
        generate::FabricSpec,
        lid::{LidMap, LidOptions},
        options::RouteOptions,
    };

    /// Nothing may follow anything, and that is known.
    struct RefuseAll;

    impl Admission for RefuseAll {
        fn admit(&mut self, tree: usize, from: ChannelIdx, to: ChannelIdx) -> bool {
            panic!("{from:?} and {to:?} of tree {tree} are refused");
        }

        fn refuses(&self, _: usize, _: ChannelIdx, _: ChannelIdx) -> bool {
            true
        }
    }

    /// Every switch takes its first next hop, so that some channels are much busier than others. Only paths that neither
    /// begin nor end with a dependency can then move.
    #[test]
    fn a_dependency_that_is_refused_is_not_asked_for() {
        let spec: FabricSpec = "dragonfly:a=4,p=2,h=2".parse().unwrap();
        let fabric = spec.build().unwrap();
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let demands = Demands::new(&fabric, &lids, false);
        let dag = ShortestPathDag::new(&fabric, &RouteOptions::default());
        let mut first = Choices::new(&fabric, &demands.trees);
        let mut load = IdxVec::filled(fabric.channels().len(), 0);
        for (number, tree) in demands.trees.iter().enumerate() {
            let towards = dag.towards(tree.target);
            let mut flow: IdxVec<SwitchIdx, u64> = demands.senders.clone();
            for switch in towards.switches().rev() {
                let next_hop = towards.next_hops(switch)[0];
                first.set(number, switch, next_hop.channel);
                let routes = flow[switch];
                load[next_hop.channel] += routes * tree.weight;
                flow[next_hop.to()] += routes;
            }
        }
        let hotspots = || Hotspots {
            threads: 1,
            fabric: &fabric,
            dag: &dag,
            demands: &demands,
            slack: 1,
            room: usize::MAX,
        };
        let (mut choices, mut refused) = (first.clone(), load.clone());
        hotspots().run(&mut choices, &mut refused, RefuseAll);
        let (mut choices, mut admitted) = (first, load.clone());
        hotspots().run(&mut choices, &mut admitted, AdmitAll);
        assert!(max_load(&admitted) < max_load(&refused));
        assert!(max_load(&refused) <= max_load(&load));
    }
}
