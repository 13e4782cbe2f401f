//! Breadth-first search towards 64 switches at once, a bit for each.
//!
//! The result is a list of frontiers: the switches that are reached after each number of hops, and the
//! channels over which they are reached. These channels are the candidates from which
//! [`port_balancing`](super::port_balancing) chooses.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use crate::{
    algo::parallel,
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
};

/// Targets of one search.
pub const BATCH: usize = 64;

/// A set of targets per switch.
pub type Sets = IdxVec<SwitchIdx, u64>;

/// The switches that a search reaches in one step.
#[derive(Clone, Debug)]
pub struct Frontier {
    /// The targets that each switch reaches in this step.
    pub reached: Sets,
    /// For each class of channels that this step may take: the targets that the switch at the other
    /// end must have reached for such a channel to be a candidate.
    pub via: Vec<(u8, Sets)>,
    /// Number of pairs (switch, target) in `reached`: each is one choice of a channel.
    pub choices: u32,
    /// Number of switches that reach any target in this step.
    pub switches: u32,
    /// The first of these switches.
    first: usize,
    /// Past the last one.
    end: usize,
}

impl Frontier {
    /// The frontier of a step that reaches these sets via these channels.
    #[must_use]
    pub fn new(reached: Sets, via: Vec<(u8, Sets)>) -> Self {
        let choices = reached.iter().map(|set| set.count_ones()).sum();
        let reaches = |set: &&u64| **set != 0;
        let switches = reached.iter().filter(reaches).count() as u32;
        let first = reached.iter().position(|set| *set != 0).unwrap_or(0);
        let last = reached.iter().rposition(|set| *set != 0);
        Self {
            reached,
            via,
            choices,
            switches,
            first,
            end: last.map_or(first, |last| last + 1),
        }
    }

    /// The indices of the switches from the first to the last one that reach any target in this step.
    #[must_use]
    pub const fn range(&self) -> Range<usize> {
        self.first..self.end
    }
}

/// The frontiers of a search, the nearest first. Candidates lead to switches of earlier frontiers.
pub type Frontiers = Vec<Frontier>;

/// The numbers of the targets in a set.
#[inline]
pub fn bits_of(mut set: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let bit = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (bit < u64::BITS).then_some(bit)
    })
}

/// The sets at distance 0: every target has its own bit.
#[must_use]
pub fn start(fabric: &Fabric, targets: &[SwitchIdx]) -> Sets {
    let mut sets = IdxVec::filled(fabric.num_switches(), 0);
    for (bit, &target) in targets.iter().take(BATCH).enumerate() {
        sets[target] |= 1 << bit;
    }
    sets
}

/// The targets that each switch newly reaches over one channel to a switch of `frontier`, found on as many threads as
/// `threads` says.
#[must_use]
pub fn step(
    threads: usize,
    fabric: &Fabric,
    frontier: &Sets,
    reached: &Sets,
    usable: impl Fn(ChannelIdx) -> bool + Sync + Send,
) -> Sets {
    let open = frontier.iter().fold(0, |all, bits| all | bits);
    let found = parallel::map_many(threads, fabric.num_switches(), |at| {
        let switch = SwitchIdx::new(at);
        let wanted = open & !reached[switch];
        // Late in a search most switches have reached all their targets.
        if wanted == 0 {
            return 0;
        }
        let mut bits = 0;
        for (index, channel) in fabric.channels_from(switch) {
            parallel::count(1);
            if usable(index) {
                bits |= frontier[channel.to];
            }
        }
        bits & wanted
    });
    found.into()
}

/// Adds sets to sets; returns whether there was anything to add.
pub fn add(sets: &mut Sets, more: &Sets) -> bool {
    let mut any = 0;
    for (all, &new) in sets.iter_mut().zip(more.iter()) {
        any |= new;
        *all |= new;
    }
    any != 0
}

/// Shortest paths over all channels, which are all of class 0.
#[must_use]
pub fn shortest(threads: usize, fabric: &Fabric, targets: &[SwitchIdx]) -> Frontiers {
    let mut frontier = start(fabric, targets);
    let mut reached = frontier.clone();
    let mut frontiers = Frontiers::new();
    loop {
        let next = step(threads, fabric, &frontier, &reached, |_| true);
        if !add(&mut reached, &next) {
            return frontiers;
        }
        frontiers.push(Frontier::new(next.clone(), vec![(0, frontier)]));
        frontier = next;
    }
}

/// Shortest paths where a channel counts as many hops as its class.
#[must_use]
pub fn shortest_by_weight(
    threads: usize,
    fabric: &Fabric,
    targets: &[SwitchIdx],
    weights: &IdxVec<ChannelIdx, u8>,
) -> Frontiers {
    let mut known: Vec<u8> = weights.iter().copied().collect();
    known.sort_unstable();
    known.dedup();
    let heaviest = known.last().copied().map_or(0, usize::from);
    let none: Sets = IdxVec::filled(fabric.num_switches(), 0);
    let mut by_distance = vec![start(fabric, targets)];
    let mut reached = start(fabric, targets);
    let mut frontiers = Frontiers::new();
    let mut silent = 0;
    // No channel is longer than the heaviest: after so many empty steps the search is complete.
    while silent < heaviest {
        let mut next = none.clone();
        let mut via = Vec::new();
        for &weight in &known {
            let frontier = by_distance.len().checked_sub(usize::from(weight));
            let Some(frontier) = frontier.and_then(|at| by_distance.get(at)) else {
                continue;
            };
            if add(
                &mut next,
                &step(threads, fabric, frontier, &reached, |channel| {
                    weights[channel] == weight
                }),
            ) {
                via.push((weight, frontier.clone()));
            }
        }
        if add(&mut reached, &next) {
            frontiers.push(Frontier::new(next.clone(), via));
            silent = 0;
        } else {
            silent += 1;
        }
        by_distance.push(next);
    }
    frontiers
}
