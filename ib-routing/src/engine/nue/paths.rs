//! The search for paths in the channel dependency graphs of the lanes, one destination after the other.

mod backtrack;
mod balanced;
mod sketch;

use alloc::{vec, vec::Vec};

use self::balanced::Fit;
pub(super) use self::{balanced::BalancedTrees, sketch::Sketch};
use super::{Arrangement, NONE, Target};
use crate::{
    algo::{
        balance::{is_even, room},
        channel_graph::ChannelGraph,
        choices::{Choices, SharedChoices},
        demands::{Demand, Demands},
        hotspots::{Admission, Hotspots},
        parallel,
        shortest_path_dag::{DagTo, NextHop, ShortestPathDag},
    },
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// The paths towards one LID.
pub(super) struct Paths<'a> {
    fabric: &'a Fabric,
    demands: &'a Demands,
    load: IdxVec<ChannelIdx, u64>,
    /// The path from each switch.
    from: IdxVec<SwitchIdx, Path>,
    /// The routes that pass each switch.
    flow: IdxVec<SwitchIdx, u64>,
    /// Switches with a path, in the order in which they got it: next hops come first.
    settled: Vec<SwitchIdx>,
    stuck: Vec<SwitchIdx>,
    backwards: Vec<ChannelIdx>,
    listed: ListedNextHops,
}

/// A copy of the next hops towards one target, in the order in which a search reads them.
///
/// Targets share equal lists of next hops in the graph of shortest paths, so lists that are read one after the other lie far
/// apart there, and mostly in no cache. The processor reads many of them at the same time while they are copied. A search would
/// wait for each, as what it does with one decides what it does next. All trees to the target read the same copy.
#[derive(Default)]
struct ListedNextHops {
    target: Option<SwitchIdx>,
    /// The switches, the nearest first, and the ends of their next hops.
    switches: Vec<(SwitchIdx, u32)>,
    next_hops: Vec<NextHop>,
}

impl ListedNextHops {
    /// Copies the next hops towards a target, unless they are those that were copied last.
    fn list(&mut self, dag: DagTo<'_>, target: SwitchIdx) {
        if self.target.replace(target) == Some(target) {
            return;
        }
        self.switches.clear();
        self.next_hops.clear();
        for switch in dag.switches() {
            // Most lists are so short that a loop takes less time than a call.
            for &next_hop in dag.next_hops(switch) {
                self.next_hops.push(next_hop);
            }
            // There are fewer than 2^24 channels.
            self.switches.push((switch, self.next_hops.len() as u32));
        }
    }

    /// The switches, the nearest first, with their next hops.
    fn iter(&self) -> impl Iterator<Item = (SwitchIdx, &[NextHop])> {
        let mut start = 0;
        self.switches.iter().map(move |&(switch, end)| {
            let range = start..end as usize;
            start = end as usize;
            (switch, self.next_hops.get(range).unwrap_or_default())
        })
    }
}

/// The path from a switch to the target. What is read of a switch is read together, so it lies together in memory.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// The load of its channels.
    weight: u64,
    /// The number of its channels, or [`UNSETTLED`].
    hops: u32,
    /// The first of them; [`NONE`] at the target.
    channel: ChannelIdx,
}

impl Path {
    /// No path yet.
    const MISSING: Self = Self {
        weight: UNREACHED,
        hops: UNSETTLED,
        channel: NONE,
    };
    /// The path from the target to itself.
    const ARRIVED: Self = Self {
        weight: 0,
        hops: 0,
        channel: NONE,
    };
}

/// The dependencies, loads and trees that a search for all paths begins with.
pub(super) enum Start {
    /// The lanes have the dependencies of the escape paths alone.
    Nothing,
    /// One tree per switch: the lanes have its dependencies.
    Sketch(Sketch),
    /// Trees to keep where they fit the one lane.
    Trees(BalancedTrees),
}

/// Hops of a switch that has no path yet.
const UNSETTLED: u32 = u32::MAX;

/// Load along the path of such a switch: more than any path has, and room for more.
const UNREACHED: u64 = 1 << 48;

impl<'a> Paths<'a> {
    pub(super) fn new(fabric: &'a Fabric, demands: &'a Demands) -> Self {
        let switches = fabric.num_switches();
        Self {
            fabric,
            demands,
            load: IdxVec::filled(fabric.channels().len(), 0),
            from: IdxVec::filled(switches, Path::MISSING),
            flow: IdxVec::filled(switches, 0),
            settled: Vec::new(),
            stuck: Vec::new(),
            backwards: Vec::new(),
            listed: ListedNextHops::default(),
        }
    }

    /// Finds the paths to all `targets`. `None` if more trees to CAs than `patience` have paths that are not shortest.
    pub(super) fn find_all(
        mut self,
        threads: usize,
        dag: &ShortestPathDag,
        targets: &[Target],
        start: Start,
        lanes: &mut [ChannelGraph],
        mut patience: usize,
    ) -> Option<Arrangement> {
        let (fabric, demands) = (self.fabric, self.demands);
        let mut lane_of = vec![0; demands.trees.len()];
        let (mut choices, sketch, fits) = match start {
            Start::Nothing => (Choices::new(fabric, &demands.trees), None, Vec::new()),
            Start::Sketch(sketch) => {
                self.load.clone_from(&sketch.load);
                let choices = Choices::new(fabric, &demands.trees);
                (choices, Some(sketch), Vec::new())
            }
            Start::Trees(trees) => {
                self.load = trees.load;
                (trees.choices, None, trees.fits)
            }
        };
        for (turn, target) in targets.iter().enumerate() {
            let number = turn % lanes.len().max(1);
            if let Some(lane_of) = lane_of.get_mut(target.first..target.end) {
                // There are 15 lanes at most.
                lane_of.fill(number as u8);
            }
            let trees = demands.trees.get(target.first..target.end);
            let Some(lane) = lanes.get_mut(number) else {
                break;
            };
            if let Some(sketch) = &sketch {
                self.take_back(target.switch, target.weight, |switch| {
                    sketch.choices.channel(target.number, switch)
                });
            }
            let trees = (target.first..).zip(trees.unwrap_or_default());
            for (tree, demand) in trees.filter(|(_, demand)| demand.weight > 0) {
                match fits.get(tree) {
                    Some(Fit::Everything | Fit::PathsOfCas) => continue,
                    Some(Fit::Nothing) => self.take_back(demand.target, demand.weight, |switch| {
                        choices.channel(tree, switch)
                    }),
                    None => {}
                }
                if !self.find(dag.towards(demand.target), lane, demand) {
                    patience = patience.checked_sub(1)?;
                }
                self.change_load(|load, routes| *load += routes * demand.weight);
                self.write(choices.shared(), tree);
            }
        }
        self.find_unloaded(threads, dag, &lane_of, &fits, lanes, choices.shared());
        let hotspots = Hotspots {
            threads,
            fabric,
            dag,
            demands,
            slack: 1,
            room: room(choices.len(), demands.is_direct(fabric)),
        };
        let mut load = self.load;
        if !is_even(&load) {
            let lanes = LanesOfTrees {
                lane_of: &lane_of,
                lanes,
            };
            hotspots.run(&mut choices, &mut load, lanes);
        }
        Some(Arrangement {
            choices,
            load,
            lanes: lane_of,
        })
    }

    /// Finds the paths of the trees without load. In trees of which only the paths of CAs [fit](Fit::PathsOfCas), finds those
    /// of the other switches. Hardly any of them needs a dependency that is not there, so threads find them side by side. The
    /// trees where one is needed come last.
    fn find_unloaded(
        &mut self,
        threads: usize,
        dag: &ShortestPathDag,
        lane_of: &[u8],
        fits: &[Fit],
        lanes: &mut [ChannelGraph],
        choices: SharedChoices<'_>,
    ) {
        let (fabric, demands) = (self.fabric, self.demands);
        let has_paths_of_cas = |tree: usize| fits.get(tree) == Some(&Fit::PathsOfCas);
        let wanted = (0..).zip(&demands.trees);
        let wanted = wanted.filter(|(tree, demand)| demand.weight == 0 || has_paths_of_cas(*tree));
        let wanted: Vec<(usize, &Demand)> = wanted.collect();
        let lane_of = |tree: usize| lane_of.get(tree).map(|&lane| usize::from(lane));
        let (shared_lanes, threads) = (&*lanes, parallel::workers(threads, wanted.len()));
        let found = parallel::gather(
            threads,
            wanted.len(),
            || (Paths::new(fabric, demands), Vec::new()),
            |(paths, left), at| {
                let Some(&(tree, demand)) = wanted.get(at) else {
                    return;
                };
                let towards = dag.towards(demand.target);
                paths.begin(demand.target);
                if has_paths_of_cas(tree) {
                    paths.keep_paths_of_cas(towards, |switch| choices.channel(tree, switch));
                }
                let lane = lane_of(tree).and_then(|lane| shared_lanes.get(lane));
                match lane {
                    Some(lane) if paths.find_known(towards, lane) => paths.write(choices, tree),
                    _ => left.push((tree, demand)),
                }
            },
        );
        let mut left: Vec<_> = found.into_iter().flat_map(|(_, left)| left).collect();
        left.sort_unstable_by_key(|&(tree, _)| tree);
        for (tree, demand) in left {
            let Some(lane) = lane_of(tree).and_then(|lane| lanes.get_mut(lane)) else {
                continue;
            };
            let (towards, chosen) = (dag.towards(demand.target), |switch| {
                choices.channel(tree, switch)
            });
            if has_paths_of_cas(tree) {
                self.begin(demand.target);
                self.keep_paths_of_cas(towards, chosen);
                if self.find_known(towards, lane) || self.free_by_new(lane) {
                    self.write(choices, tree);
                    continue;
                }
            }
            self.take_back(demand.target, demand.weight, chosen);
            self.find(towards, lane, demand);
            self.change_load(|load, routes| *load += routes * demand.weight);
            self.write(choices, tree);
        }
    }

    /// Writes the paths that were found as the choices of a tree.
    fn write(&self, choices: SharedChoices<'_>, tree: usize) {
        for &switch in self.settled.iter().skip(1) {
            choices.set(tree, switch, self.from[switch].channel);
        }
    }

    /// Keeps the paths of CAs in a tree that was chosen before.
    fn keep_paths_of_cas(
        &mut self,
        dag: DagTo<'_>,
        chosen: impl Fn(SwitchIdx) -> Option<ChannelIdx>,
    ) {
        self.flow.refill(self.demands.senders.iter().copied());
        for switch in dag.switches().rev() {
            if let Some(channel) = chosen(switch) {
                let routes = self.flow[switch];
                self.flow[self.fabric.channel(channel).to] += routes;
            }
        }
        for switch in dag.switches() {
            if let Some(channel) = chosen(switch).filter(|_| self.flow[switch] > 0) {
                self.settle(switch, channel);
            }
        }
    }

    /// Finds shortest paths of all switches without one where the lane has all dependencies, and then other paths of which
    /// that is true. Returns false if switches are left, the [stuck](Self::stuck) ones.
    fn find_known(&mut self, dag: DagTo<'_>, lane: &ChannelGraph) -> bool {
        self.stuck.clear();
        for switch in dag.switches() {
            if self.from[switch].hops != UNSETTLED {
                continue;
            }
            let channels = dag.next_hops(switch).iter();
            if !self.take_known(switch, channels.map(|next_hop| next_hop.channel), lane) {
                self.stuck.push(switch);
            }
        }
        parallel::count(self.settled.len());
        let fabric = self.fabric;
        self.free_stuck(|paths, switch| {
            paths.take_known(switch, channels_from(fabric, switch), lane)
        })
    }

    /// Finds the paths of one tree. Says whether all are shortest.
    fn find(&mut self, dag: DagTo<'_>, lane: &mut ChannelGraph, demand: &Demand) -> bool {
        let target = demand.target;
        self.begin(target);
        let shortest = if demand.weight == 0 {
            self.find_known(dag, lane)
        } else {
            self.find_shortest(dag, target, lane)
        };
        if !self.free_by_new(lane) && !self.backtrack(lane, target) {
            self.climb(lane, target);
        }
        shortest
    }

    /// Finds shortest paths, the lightest where their dependencies are admitted. Returns false if switches are left, the
    /// [stuck](Self::stuck) ones.
    fn find_shortest(
        &mut self,
        dag: DagTo<'_>,
        target: SwitchIdx,
        lane: &mut ChannelGraph,
    ) -> bool {
        self.stuck.clear();
        let mut listed = core::mem::take(&mut self.listed);
        listed.list(dag, target);
        for (switch, next_hops) in listed.iter() {
            let channels = next_hops.iter().map(|next_hop| next_hop.channel);
            if !self.take_first(switch, next_hops, lane)
                && !self.take_lightest(switch, channels, lane)
            {
                self.stuck.push(switch);
            }
        }
        self.listed = listed;
        self.stuck.is_empty()
    }

    /// Takes the lightest next hop, if its dependency is admitted.
    #[inline]
    fn take_first(
        &mut self,
        switch: SwitchIdx,
        next_hops: &[NextHop],
        lane: &mut ChannelGraph,
    ) -> bool {
        let Some(next_hop) = self.lightest(next_hops) else {
            return false;
        };
        let next = self.from[next_hop.to()].channel;
        let fits = next == NONE || lane.admit(next_hop.channel, next);
        if fits {
            self.settle(switch, next_hop.channel);
        }
        fits
    }

    /// Takes the shortest path that adds no dependency: hardly any load leads to a switch, and dependencies
    /// that its paths would add block others.
    fn take_known(
        &mut self,
        switch: SwitchIdx,
        channels: impl Iterator<Item = ChannelIdx>,
        lane: &ChannelGraph,
    ) -> bool {
        let mut best: Option<(u32, ChannelIdx)> = None;
        for channel in channels {
            let Path {
                hops,
                channel: next,
                ..
            } = self.from[self.fabric.channel(channel).to];
            let is_known = hops != UNSETTLED && (next == NONE || lane.contains(channel, next));
            if is_known && best.is_none_or(|(least, _)| hops < least) {
                best = Some((hops, channel));
            }
        }
        if let Some((_, channel)) = best {
            self.settle(switch, channel);
        }
        best.is_some()
    }

    /// The lightest next hop to a switch with a path: all of those are equally far from the target.
    #[inline]
    fn lightest(&self, next_hops: &[NextHop]) -> Option<NextHop> {
        let of = |next_hop: &NextHop| self.from[next_hop.to()].weight + self.load[next_hop.channel];
        if let [only] = next_hops {
            return (of(only) < UNREACHED).then_some(*only);
        }
        // The next hop's number is the key's low byte (a switch has 254 ports at most), so that the
        // minimum needs no branch.
        let keys = (0..)
            .zip(next_hops)
            .map(|(number, next_hop)| of(next_hop) << 8 | number);
        let best = keys.fold(u64::MAX, u64::min);
        if best >> 8 >= UNREACHED {
            return None;
        }
        next_hops.get((best & 0xff) as usize).copied()
    }

    fn begin(&mut self, target: SwitchIdx) {
        self.from.fill(Path::MISSING);
        self.from[target] = Path::ARRIVED;
        self.settled.clear();
        self.settled.push(target);
    }

    #[inline]
    fn settle(&mut self, switch: SwitchIdx, channel: ChannelIdx) {
        let next = self.from[self.fabric.channel(channel).to];
        self.from[switch] = Path {
            weight: next.weight + self.load[channel],
            hops: next.hops + 1,
            channel,
        };
        self.settled.push(switch);
    }

    /// Takes the shortest, then lightest of `channels` whose dependency is admitted.
    fn take_lightest(
        &mut self,
        switch: SwitchIdx,
        channels: impl Iterator<Item = ChannelIdx> + Clone,
        lane: &mut ChannelGraph,
    ) -> bool {
        loop {
            let mut best = (UNSETTLED, u64::MAX, NONE, NONE);
            for channel in channels.clone() {
                let next = self.from[self.fabric.channel(channel).to];
                let weight = next.weight + self.load[channel];
                let found = (next.hops, weight, channel, next.channel);
                if found < best && (next.hops == 0 || !lane.refuses(channel, next.channel)) {
                    best = found;
                }
            }
            let (hops, _, channel, next) = best;
            if hops == UNSETTLED {
                return false;
            }
            if hops == 0 || lane.admit(channel, next) {
                self.settle(switch, channel);
                return true;
            }
        }
    }

    /// Lets switches that found no shortest path `take` any, as long as that brings some of them on; false
    /// if some are left.
    fn free_stuck(&mut self, mut take: impl FnMut(&mut Self, SwitchIdx) -> bool) -> bool {
        let mut stuck = core::mem::take(&mut self.stuck);
        let mut before = usize::MAX;
        while stuck.len() < before && !stuck.is_empty() {
            before = stuck.len();
            stuck.retain(|&switch| !take(self, switch));
        }
        self.stuck = stuck;
        self.stuck.is_empty()
    }

    /// Frees stuck switches by dependencies that the lane admits; false if some are left.
    fn free_by_new(&mut self, lane: &mut ChannelGraph) -> bool {
        let fabric = self.fabric;
        self.free_stuck(|paths, switch| {
            paths.take_lightest(switch, channels_from(fabric, switch), lane)
        })
    }

    /// Paths that rise in the topological order: a pass over the channels from the last place to the first
    /// gives every switch the highest channel that leads to one with a path already. A later channel
    /// replaces it if it is a shorter path and no switch depends on the first yet.
    fn climb(&mut self, lane: &mut ChannelGraph, target: SwitchIdx) {
        self.begin(target);
        let mut backwards = core::mem::take(&mut self.backwards);
        lane.list_backwards(&mut backwards);
        let fabric = self.fabric;
        let mut used = IdxVec::filled(fabric.num_switches(), false);
        for &channel in &backwards {
            let ends = fabric.channel(channel);
            let hops = self.from[ends.to].hops;
            if hops == UNSETTLED || used[ends.from] || ends.from == target {
                continue;
            }
            if hops + 1 < self.from[ends.from].hops {
                used[ends.to] = true;
                self.from[ends.from].hops = hops + 1;
                self.from[ends.from].channel = channel;
            }
        }
        self.backwards = backwards;
        self.settled.clear();
        let reached = fabric
            .switches()
            .indices()
            .filter(|&switch| self.from[switch].hops != UNSETTLED);
        self.settled.extend(reached);
        let from = &self.from;
        self.settled.sort_by_key(|&switch| from[switch].hops);
        for at in 1..self.settled.len() {
            let Some(&switch) = self.settled.get(at) else {
                break;
            };
            let channel = self.from[switch].channel;
            let next = fabric.channel(channel).to;
            self.from[switch].weight = self.from[next].weight + self.load[channel];
            if next != target {
                lane.admit(channel, self.from[next].channel);
            }
        }
    }

    /// Takes the load of a tree back that was chosen before, whose paths `weight` LIDs share.
    fn take_back(
        &mut self,
        target: SwitchIdx,
        weight: u64,
        chosen: impl Fn(SwitchIdx) -> Option<ChannelIdx>,
    ) {
        if weight == 0 {
            return;
        }
        self.begin(target);
        for switch in self.fabric.switches().indices() {
            if let Some(channel) = chosen(switch) {
                self.from[switch].channel = channel;
                self.from[switch].hops = UNSETTLED - 1;
            }
        }
        self.settle_again(target);
        self.change_load(|load, routes| *load -= routes * weight);
    }

    /// Lets the paths of a tree `change` the load of each channel by the routes of all CAs to one LID that pass
    /// it, the farthest switch first.
    fn change_load(&mut self, change: impl Fn(&mut u64, u64)) {
        self.flow.refill(self.demands.senders.iter().copied());
        for &switch in self.settled.iter().skip(1).rev() {
            let channel = self.from[switch].channel;
            let routes = self.flow[switch];
            change(&mut self.load[channel], routes);
            self.flow[self.fabric.channel(channel).to] += routes;
        }
    }
}

/// The lane of each tree admits its dependencies.
struct LanesOfTrees<'a> {
    lane_of: &'a [u8],
    lanes: &'a mut [ChannelGraph],
}

impl LanesOfTrees<'_> {
    #[inline]
    fn number(&self, tree: usize) -> Option<usize> {
        self.lane_of.get(tree).map(|&lane| usize::from(lane))
    }
}

impl Admission for LanesOfTrees<'_> {
    fn admit(&mut self, tree: usize, from: ChannelIdx, to: ChannelIdx) -> bool {
        let lane = self.number(tree).and_then(|lane| self.lanes.get_mut(lane));
        lane.is_some_and(|lane| lane.admit(from, to))
    }

    #[inline]
    fn refuses(&self, tree: usize, from: ChannelIdx, to: ChannelIdx) -> bool {
        let lane = self.number(tree).and_then(|lane| self.lanes.get(lane));
        lane.is_none_or(|lane| lane.refuses(from, to))
    }
}

/// All channels that leave a switch.
fn channels_from(
    fabric: &Fabric,
    switch: SwitchIdx,
) -> impl Iterator<Item = ChannelIdx> + Clone + use<> {
    let (first, end) = fabric.channel_range(switch);
    (first.0..end.0).map(ChannelIdx)
}
