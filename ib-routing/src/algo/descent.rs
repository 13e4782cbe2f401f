//! All shortest paths towards one switch, and the lightest tree among them.
//!
//! A descent lists the switches that reach a target, the nearest first, each with its steps: the
//! channels that lead nearer. It is computed once per target and serves all LIDs there: a tree takes
//! one step per switch, and choosing the steps by load needs one pass over them in that order.
//! Source: Hoefler, Schneider and Lumsdaine, "Optimized Routing for Large-Scale InfiniBand Networks",
//! 2009, for the balance by path weights.

use alloc::collections::BinaryHeap;
use core::{cmp::Reverse, mem};

use crate::{
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, StepIdx, SwitchIdx, TreeIdx},
};

/// A way nearer to the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The channel to take.
    pub channel: ChannelIdx,
    /// The switch at its end, by its place in the descent.
    pub next: TreeIdx,
}

/// All shortest paths towards one switch. Reused for one target after the other.
#[derive(Clone, Debug)]
pub struct Descent {
    /// Distance of a channel; empty where every channel counts one.
    weights: IdxVec<ChannelIdx, u32>,
    to: IdxVec<ChannelIdx, SwitchIdx>,
    distance: IdxVec<SwitchIdx, u32>,
    place: IdxVec<SwitchIdx, TreeIdx>,
    switches: IdxVec<TreeIdx, SwitchIdx>,
    /// Where each switch's steps begin; one entry more than switches.
    first_step: IdxVec<TreeIdx, u32>,
    steps: IdxVec<StepIdx, Step>,
}

/// The paths of a descent while it serves another target.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    switches: IdxVec<TreeIdx, SwitchIdx>,
    first_step: IdxVec<TreeIdx, u32>,
    steps: IdxVec<StepIdx, Step>,
}

/// Distance of a switch that does not reach the target.
const UNREACHED: u32 = u32::MAX;

impl Descent {
    /// A descent without target. `weights` are the lengths of channels, or empty for one each.
    #[must_use]
    pub fn new(fabric: &Fabric, weights: IdxVec<ChannelIdx, u32>) -> Self {
        let switches = fabric.num_switches();
        Self {
            weights,
            to: fabric.channels().iter().map(|channel| channel.to).collect(),
            distance: IdxVec::filled(switches, UNREACHED),
            place: IdxVec::filled(switches, TreeIdx(0)),
            switches: IdxVec::new(),
            first_step: IdxVec::new(),
            steps: IdxVec::new(),
        }
    }

    /// Computes the descent towards `target`.
    pub fn aim(&mut self, fabric: &Fabric, target: SwitchIdx) {
        self.distance.fill(UNREACHED);
        self.switches.clear();
        if self.weights.is_empty() {
            self.search_breadth_first(fabric, target);
        } else {
            self.search_by_weight(fabric, target);
        }
        self.list_steps(fabric);
    }

    /// Exchanges the paths for those of another time: a way back to a target without a search.
    pub fn swap(&mut self, paths: &mut Paths) {
        mem::swap(&mut self.switches, &mut paths.switches);
        mem::swap(&mut self.first_step, &mut paths.first_step);
        mem::swap(&mut self.steps, &mut paths.steps);
    }

    fn search_breadth_first(&mut self, fabric: &Fabric, target: SwitchIdx) {
        self.distance[target] = 0;
        self.place[target] = self.switches.push(target);
        let mut at = TreeIdx(0);
        while let Some(&switch) = self.switches.find(at) {
            at.0 += 1;
            let distance = self.distance[switch] + 1;
            let (start, end) = fabric.channel_range(switch);
            for &to in self.to.range(start, end) {
                if self.distance[to] == UNREACHED {
                    self.distance[to] = distance;
                    self.place[to] = self.switches.push(to);
                }
            }
        }
    }

    /// Dijkstra's algorithm. Weights are taken along the packet's way, which is the search's backwards.
    fn search_by_weight(&mut self, fabric: &Fabric, target: SwitchIdx) {
        let mut queue = BinaryHeap::new();
        self.distance[target] = 0;
        queue.push(Reverse((0, target)));
        while let Some(Reverse((distance, switch))) = queue.pop() {
            if distance != self.distance[switch] {
                continue;
            }
            self.place[switch] = self.switches.push(switch);
            for (_, channel) in fabric.channels_from(switch) {
                let weight = self.weights[channel.reverse].max(1);
                let there = distance.saturating_add(weight).min(UNREACHED - 1);
                if there < self.distance[channel.to] {
                    self.distance[channel.to] = there;
                    queue.push(Reverse((there, channel.to)));
                }
            }
        }
    }

    fn list_steps(&mut self, fabric: &Fabric) {
        self.first_step.clear();
        self.steps.clear();
        for &switch in self.switches.iter() {
            self.first_step.push(self.steps.len() as u32);
            let here = self.distance[switch];
            let (start, end) = fabric.channel_range(switch);
            for (at, &to) in self.to.range(start, end).iter().enumerate() {
                let channel = ChannelIdx(start.0 + at as u32);
                let weight = self
                    .weights
                    .find(channel)
                    .map_or(1, |&weight| weight.max(1));
                let there = self.distance[to];
                if there < here && there.saturating_add(weight) <= here {
                    self.steps.push(Step {
                        channel,
                        next: self.place[to],
                    });
                }
            }
        }
        self.first_step.push(self.steps.len() as u32);
    }

    /// The switches that reach the target, which is the first.
    #[must_use]
    pub fn switches(&self) -> &IdxVec<TreeIdx, SwitchIdx> {
        &self.switches
    }

    /// The steps of one switch.
    #[inline]
    #[must_use]
    pub fn steps(&self, at: TreeIdx) -> &[Step] {
        let (start, end) = (self.first_step[at], self.first_step[TreeIdx(at.0 + 1)]);
        self.steps.range(StepIdx(start), StepIdx(end))
    }

    /// Chooses the lightest path from every switch, into `tree`; the first wins among equals.
    pub fn lightest(&self, load: &IdxVec<ChannelIdx, u64>, tree: &mut Tree) {
        tree.reset(self.switches.len());
        for at in self.switches.indices().skip(1) {
            let (mut best, mut best_weight) = (Step::default(), u64::MAX);
            for &step in self.steps(at) {
                let weight = tree.weight[step.next] + load[step.channel];
                if weight < best_weight {
                    (best, best_weight) = (step, weight);
                }
            }
            tree.take(at, best, best_weight);
        }
    }

    /// All steps, those of one switch after those of a nearer one.
    #[must_use]
    pub fn all_steps(&self) -> &IdxVec<StepIdx, Step> {
        &self.steps
    }

    /// Chooses the lightest path from every switch as [`lightest`](Self::lightest) does. The load is
    /// by step, as all trees towards one target use the same steps. `choices` gets the number of each
    /// switch's step among its own.
    pub fn lightest_choices(
        &self,
        load: &IdxVec<StepIdx, u64>,
        weights: &mut IdxVec<TreeIdx, u64>,
        choices: &mut [u8],
    ) {
        weights.clear();
        weights.extend(self.switches.len());
        let mut start = StepIdx(0);
        let ends = self.first_step.as_slice().get(2..).unwrap_or_default();
        for ((at, &end), choice) in (1..).zip(ends).zip(choices.iter_mut().skip(1)) {
            let end = StepIdx(end);
            let (mut best, mut best_weight) = (0, u64::MAX);
            let steps = self.steps.range(start, end).iter();
            for (number, (step, &load)) in (0..).zip(steps.zip(load.range(start, end))) {
                let weight = weights[step.next] + load;
                if weight < best_weight {
                    (best, best_weight) = (number, weight);
                }
            }
            weights[TreeIdx(at)] = best_weight;
            // One byte is enough: a switch has 254 ports at most.
            *choice = best;
            start = end;
        }
    }

    /// Sends a flow from every switch over the chosen steps, the farthest switch first: `change` gets
    /// what each step carries. `flows` is used up.
    pub fn send(
        &self,
        choices: &[u8],
        flows: &mut IdxVec<TreeIdx, u64>,
        mut change: impl FnMut(StepIdx, u64),
    ) {
        let switches = self.first_step.iter_enumerated().zip(choices).skip(1);
        for ((at, &start), &choice) in switches.rev() {
            let step = StepIdx(start + u32::from(choice));
            let flow = flows[at];
            change(step, flow);
            flows[self.steps[step].next] += flow;
        }
    }

    /// Reads back a tree from the choices of [`lightest_choices`](Self::lightest_choices) for the same
    /// target. The weights are not kept.
    pub fn recall(&self, choices: &[u8], tree: &mut Tree) {
        tree.reset(self.switches.len());
        for (at, &choice) in self.switches.indices().zip(choices).skip(1) {
            let step = self.steps(at).get(usize::from(choice));
            tree.steps[at] = step.copied().unwrap_or_default();
        }
    }
}

/// One step per switch: the paths of all switches towards one LID.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    steps: IdxVec<TreeIdx, Step>,
    weight: IdxVec<TreeIdx, u64>,
    flow: IdxVec<TreeIdx, u64>,
}

impl Tree {
    /// Empties the tree for a descent of so many switches; all steps lead to the target.
    pub fn reset(&mut self, switches: usize) {
        self.steps.clear();
        self.weight.clear();
        self.steps.extend(switches);
        self.weight.extend(switches);
    }

    /// Takes a step; `weight` is the load along the whole path.
    #[inline]
    pub fn take(&mut self, at: TreeIdx, step: Step, weight: u64) {
        self.steps[at] = step;
        self.weight[at] = weight;
    }

    /// The step of one switch; the target's own has no meaning.
    #[inline]
    #[must_use]
    pub fn step(&self, at: TreeIdx) -> Step {
        self.steps[at]
    }

    /// Load along the path of one switch.
    #[inline]
    #[must_use]
    pub fn weight(&self, at: TreeIdx) -> u64 {
        self.weight[at]
    }

    /// All switches but the target, with their steps, the nearest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (TreeIdx, Step)> {
        self.steps
            .iter_enumerated()
            .skip(1)
            .map(|(at, &step)| (at, step))
    }

    /// Adds the routes of all senders to `lids` LIDs to the load of the channels they pass.
    pub fn add_load(
        &mut self,
        descent: &Descent,
        senders: &IdxVec<SwitchIdx, u64>,
        lids: u64,
        load: &mut IdxVec<ChannelIdx, u64>,
    ) {
        self.flow.clear();
        for &switch in descent.switches().iter() {
            self.flow.push(senders[switch]);
        }
        for (at, step) in self.steps.iter_enumerated().skip(1).rev() {
            let flow = self.flow[at];
            load[step.channel] += flow * lids;
            self.flow[step.next] += flow;
        }
    }
}

/// Number of CA (and router) ports with LIDs at every switch.
#[must_use]
pub fn senders(fabric: &Fabric, lids: &crate::lid::LidMap) -> IdxVec<SwitchIdx, u64> {
    let count = |switch| {
        lids.at_switch(switch)
            .filter(|end| !end.is_switch())
            .count() as u64
    };
    fabric.switches().indices().map(count).collect()
}

/// The lengths of channels from `options.hop_weights`; empty where all are one.
#[must_use]
pub fn hop_weights(fabric: &Fabric, options: &crate::RouteOptions) -> IdxVec<ChannelIdx, u32> {
    if options.hop_weights.is_empty() {
        return IdxVec::new();
    }
    let weight = |channel: &crate::fabric::Channel| {
        let key = (fabric.switch_guid(channel.from), channel.port);
        options.hop_weights.get(&key).copied().unwrap_or(1)
    };
    fabric.channels().iter().map(weight).collect()
}
