//! Number of routes that pass each switch towards each LID of a CA.
//!
//! Switches that choose at the same time add to those nearer to the destination, in any order: the
//! sums are the same. A sum is read only after all switches that add to it have chosen.

use alloc::vec::Vec;
use core::{
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64;

use super::packed::{COLUMNS, at_column};
#[cfg(not(target_has_atomic = "64"))]
use super::split_atomic::AtomicU64;
use crate::{
    algo::parallel,
    index::{Idx, SwitchIdx},
};

/// Workers that get a shard of their own. Every reader adds up all shards, so more of them would cost
/// more than locked additions to a common one.
const SHARDS: usize = 4;

/// Number of routes of other switches that pass each switch towards each LID of a CA in the batch.
pub(super) struct Flows {
    /// The rows of all switches in the first shard, [`COLUMNS`] columns to a word, then those of the next one.
    words: Vec<AtomicU64>,
    /// The destinations in whose columns each switch may have a sum, in the same order.
    passed: Vec<Passed>,
    switches: usize,
    shards: usize,
    /// Several workers share the only shard.
    shared: bool,
    /// Words of a row.
    stride: usize,
}

/// A set of destinations, low half and high half.
#[derive(Default)]
struct Passed([AtomicU32; 2]);

impl Passed {
    #[inline]
    fn bits(&self) -> u64 {
        let [low, high] = &self.0;
        u64::from(low.load(Relaxed)) | u64::from(high.load(Relaxed)) << 32
    }
}

impl Flows {
    pub(super) fn new(switches: usize, workers: usize) -> Self {
        let shared = workers > SHARDS;
        let shards = if shared { 1 } else { workers };
        Self {
            words: Vec::new(),
            passed: (0..shards * switches).map(|_| Passed::default()).collect(),
            switches,
            shards,
            shared,
            stride: 0,
        }
    }

    /// Clears the rows for the next batch.
    pub(super) fn begin(&mut self, threads: usize, columns: usize) {
        let (old, new) = (self.stride, columns.div_ceil(COLUMNS).max(1));
        self.stride = new;
        // A worker begins with the rows that it has written itself.
        parallel::rows(
            threads,
            &mut self.passed,
            &mut self.words,
            old,
            |passed, row| {
                if passed.0.iter_mut().any(|half| *half.get_mut() != 0) {
                    parallel::count(row.len() / 8);
                    *passed = Passed::default();
                    row.fill_with(AtomicU64::default);
                }
            },
        );
        let len = new * self.passed.len();
        if self.words.len() < len {
            self.words.resize_with(len, AtomicU64::default);
        }
    }

    /// First word of the row of a switch, in each shard.
    #[inline]
    pub(super) fn row(&self, switch: SwitchIdx) -> usize {
        switch.at() * self.stride
    }

    /// The rows of a shard.
    #[inline]
    fn shard(&self, shard: usize) -> (&[Passed], &[AtomicU64]) {
        let (row, word) = (shard * self.switches, shard * self.switches * self.stride);
        (
            self.passed.get(row..).unwrap_or_default(),
            self.words.get(word..).unwrap_or_default(),
        )
    }

    /// The writer of a worker.
    #[inline]
    pub(super) fn writer(&self, worker: usize) -> FlowWriter<'_> {
        let (passed, words) = self.shard(if self.shared { 0 } else { worker });
        FlowWriter {
            shared: self.shared,
            passed,
            words,
        }
    }

    /// The routes of others that pass a switch.
    #[inline]
    pub(super) fn passing(&self, switch: SwitchIdx) -> Passing<'_> {
        let mut passing = Passing::default();
        let (start, end) = (self.row(switch), self.row(switch) + self.stride);
        let shards = (0..self.shards).map(|shard| self.shard(shard));
        let used = shards.filter_map(|(passed, words)| {
            let set = passed.get(switch.at()).map_or(0, Passed::bits);
            // Most switches of a fat tree are passed by the routes of one worker alone.
            (set != 0).then(|| (set, words.get(start..end).unwrap_or_default()))
        });
        for (part, (set, words)) in passing.parts.iter_mut().zip(used) {
            passing.set |= set;
            *part = words;
        }
        passing
    }
}

/// The routes of others that pass one switch.
#[derive(Default)]
pub(super) struct Passing<'a> {
    /// The destinations towards which there may be any.
    pub(super) set: u64,
    /// The rows of those shards that have a sum, then empty ones.
    parts: [&'a [AtomicU64]; SHARDS],
}

impl Passing<'_> {
    /// The routes towards each LID of a word.
    #[inline]
    pub(super) fn word(&self, at: usize) -> u64 {
        let mut sum = 0;
        for part in &self.parts {
            let Some(word) = part.get(at) else {
                break;
            };
            sum += word.load(Relaxed);
        }
        sum
    }
}

/// Adds routes to the shard of one worker.
#[derive(Clone, Copy)]
pub(super) struct FlowWriter<'a> {
    shared: bool,
    /// The rows of the shard, and of those after it.
    passed: &'a [Passed],
    words: &'a [AtomicU64],
}

impl FlowWriter<'_> {
    /// Marks the destinations in whose columns the row of a switch may get a sum.
    #[inline]
    pub(super) fn mark_passed(&self, switch: SwitchIdx, bits: u64) {
        let passed = self.passed.get(switch.at());
        let Some(Passed([low, high])) = passed.filter(|_| bits != 0) else {
            return;
        };
        for (half, bits) in [(low, bits as u32), (high, (bits >> 32) as u32)] {
            let marked = half.load(Relaxed);
            // Most are marked already, and a line that is only read stays in the caches of all workers.
            if marked & bits == bits {
                continue;
            }
            if self.shared {
                half.fetch_or(bits, Relaxed);
            } else {
                half.store(marked | bits, Relaxed);
            }
        }
    }

    /// Adds to the columns of a word.
    #[inline]
    pub(super) fn add_word(&self, at: usize, more: u64) {
        if let Some(word) = self.words.get(at) {
            self.add_to(word, more);
        }
    }

    #[inline]
    fn add_to(&self, word: &AtomicU64, more: u64) {
        if self.shared {
            word.fetch_add(more, Relaxed);
        } else {
            // No other worker adds here: no need for a locked instruction.
            word.store(word.load(Relaxed).wrapping_add(more), Relaxed);
        }
    }

    /// Adds routes to every `step`th of some columns of a row.
    #[inline]
    pub(super) fn add_each(&self, row: usize, columns: Range<usize>, step: usize, routes: u16) {
        let words = self.words.get(row..).unwrap_or_default();
        let mut column = columns.start;
        while let Some(word) = words.get(column / COLUMNS).filter(|_| column < columns.end) {
            self.add_to(word, at_column(column, routes));
            column += step;
        }
    }

    /// Adds routes to one column of a row.
    #[inline]
    pub(super) fn add(&self, row: usize, column: usize, routes: u16) {
        self.add_word(row + column / COLUMNS, at_column(column, routes));
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const SWITCHES: usize = 3;
    const ROW: usize = 10;

    proptest! {
        /// The twin: one number for each pair of switch and column, and one set of destinations a switch.
        #[test]
        fn sums_are_those_of_plain_numbers(
            workers in 1..7_usize,
            adds in prop::collection::vec(
                (0..7_usize, 0..SWITCHES, 0..ROW, 1..4_usize, 0..2000_u16, any::<u64>()),
                0..20,
            ),
        ) {
            let mut flows = Flows::new(SWITCHES, workers);
            flows.begin(1, ROW);
            let mut sums: BTreeMap<(usize, usize), u16> = BTreeMap::new();
            let mut passed = [0_u64; SWITCHES];
            for &(worker, at, first, step, routes, set) in &adds {
                let switch = SwitchIdx(at as u32);
                let writer = flows.writer(worker % workers);
                writer.mark_passed(switch, set);
                passed[at] |= set;
                writer.add(flows.row(switch), first, routes);
                *sums.entry((at, first)).or_default() += routes;
                writer.add_each(flows.row(switch), first..ROW, step, 1);
                for column in (first..ROW).step_by(step) {
                    *sums.entry((at, column)).or_default() += 1;
                }
            }
            for (at, &wanted) in passed.iter().enumerate() {
                let switch = SwitchIdx(at as u32);
                let passing = flows.passing(switch);
                prop_assert_eq!(passing.set, wanted);
                for column in 0..ROW {
                    let word = passing.word(column / COLUMNS);
                    let found = (word >> (column % COLUMNS * 16)) as u16;
                    prop_assert_eq!(found, sums.get(&(at, column)).copied().unwrap_or(0));
                }
            }
            flows.begin(workers, ROW + 5);
            for at in 0..SWITCHES {
                let switch = SwitchIdx(at as u32);
                let passing = flows.passing(switch);
                prop_assert_eq!(passing.set, 0);
                for word in 0..(ROW + 5).div_ceil(COLUMNS) {
                    prop_assert_eq!(passing.word(word), 0);
                }
            }
        }
    }
}
