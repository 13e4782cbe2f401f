//! Trees of shortest paths towards all LIDs, balanced against each other in passes.
//!
//! The first pass chooses each tree by the load of those before it, so the early ones choose blindly.
//! Further passes take one tree after the other out again and choose it anew by the load of all
//! others. The pass with the lowest load of a channel is kept. Source: Hoefler, Schneider and
//! Lumsdaine, "Optimized Routing for Large-Scale InfiniBand Networks", 2009, for the first pass.

use alloc::vec::Vec;

use crate::{
    algo::descent::{Descent, Paths, Step, Tree},
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx, TreeIdx},
};

/// Passes over all trees, at most. Later ones were seen to gain a few per cent or nothing.
const PASSES: usize = 3;

/// Steps to keep from one pass to the next: 64 MiB. Beyond that paths are searched anew.
const KEPT_STEPS: usize = 8 << 20;

/// A chosen tree for every demand, and the load of all together.
#[derive(Clone, Debug)]
pub struct Balance {
    /// The step of every switch of every tree, one tree after the other.
    choices: Vec<u8>,
    load: IdxVec<ChannelIdx, u64>,
}

impl Balance {
    /// Chooses trees. `demands` lists for each switch its trees, each by the number of LIDs that share
    /// it; `senders` is how many ports at a switch send to each LID.
    #[must_use]
    pub fn new(
        fabric: &Fabric,
        descent: &mut Descent,
        senders: &IdxVec<SwitchIdx, u64>,
        demands: &IdxVec<SwitchIdx, Vec<u64>>,
    ) -> Self {
        let mut at_hand = Self {
            choices: Vec::new(),
            load: IdxVec::filled(fabric.channels().len(), 0),
        };
        let mut best: Option<Self> = None;
        let (mut load, mut weights) = (IdxVec::new(), IdxVec::new());
        let (mut sent, mut flows) = (IdxVec::<TreeIdx, u64>::new(), IdxVec::new());
        let mut kept = IdxVec::<SwitchIdx, Option<Paths>>::filled(fabric.num_switches(), None);
        let mut room = KEPT_STEPS;
        for pass in 0..PASSES {
            let mut start = 0;
            for (target, trees) in demands.iter_enumerated() {
                if trees.is_empty() {
                    continue;
                }
                match &mut kept[target] {
                    Some(paths) => descent.swap(paths),
                    None => descent.aim(fabric, target),
                }
                let (len, steps) = (descent.switches().len(), descent.all_steps());
                if pass == 0 {
                    at_hand.choices.resize(start + len * trees.len(), 0);
                }
                let of_step = |step: &Step| at_hand.load[step.channel];
                load.refill(steps.iter().map(of_step));
                sent.refill(descent.switches().iter().map(|&switch| senders[switch]));
                for &lids in trees {
                    let choices = at_hand.choices.get_mut(start..start + len);
                    let choices = choices.unwrap_or_default();
                    if pass > 0 {
                        flows.refill(sent.iter().copied());
                        descent.send(choices, &mut flows, |at, flow| load[at] -= flow * lids);
                    }
                    descent.lightest_choices(&load, &mut weights, choices);
                    flows.refill(sent.iter().copied());
                    descent.send(choices, &mut flows, |at, flow| load[at] += flow * lids);
                    start += len;
                }
                for (step, &load) in steps.iter().zip(load.iter()) {
                    at_hand.load[step.channel] = load;
                }
                if pass == 0 && steps.len() <= room {
                    room -= steps.len();
                    kept[target] = Some(Paths::default());
                }
                if let Some(paths) = &mut kept[target] {
                    descent.swap(paths);
                }
            }
            let done = at_hand.is_even();
            match &mut best {
                Some(best) if at_hand.max_load() < best.max_load() => best.clone_from(&at_hand),
                Some(_) => {}
                None if done => return at_hand,
                None => best = Some(at_hand.clone()),
            }
            if done {
                break;
            }
        }
        best.unwrap_or(at_hand)
    }

    /// Routes on every channel.
    #[must_use]
    pub fn load(&self) -> &IdxVec<ChannelIdx, u64> {
        &self.load
    }

    /// The chosen trees, to be read in the order of the demands.
    #[must_use]
    pub fn trees(&self) -> Trees<'_> {
        Trees {
            choices: &self.choices,
        }
    }

    fn max_load(&self) -> u64 {
        self.load.iter().copied().max().unwrap_or_default()
    }

    /// Whether no pass can gain much: the highest load is within 2 % of the mean of used channels.
    fn is_even(&self) -> bool {
        let used = self.load.iter().filter(|&&load| load > 0).count() as u64;
        let sum: u64 = self.load.iter().sum();
        self.max_load().saturating_mul(used).saturating_mul(100) <= sum.saturating_mul(102)
    }
}

/// Reads the trees of a [`Balance`].
#[derive(Clone, Debug)]
pub struct Trees<'a> {
    choices: &'a [u8],
}

impl Trees<'_> {
    /// Reads the next tree; `descent` aims at its switch.
    pub fn next(&mut self, descent: &Descent, tree: &mut Tree) {
        let (choices, rest) = self
            .choices
            .split_at_checked(descent.switches().len())
            .unwrap_or_default();
        self.choices = rest;
        descent.recall(choices, tree);
    }
}
