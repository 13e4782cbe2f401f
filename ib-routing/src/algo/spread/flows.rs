//! How many routes pass each switch towards each LID of a CA.
//!
//! Switches that choose at the same time add to those nearer to the destination, in any order: the
//! sums are the same. Nobody reads a sum before all that add to it are through.

use alloc::vec::Vec;
use core::{
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64;

#[cfg(not(target_has_atomic = "64"))]
use super::halves::AtomicU64;
use crate::index::{Idx, IdxVec, SwitchIdx};

/// Columns in a word: the LIDs of a subnet, and so the sources of a route, are fewer than 2^16.
pub(super) const LANES: usize = 4;

/// Bits of a column in its word.
const LANE_BITS: usize = 16;

/// The word that has 1 in each column.
const EACH: u64 = 0x0001_0001_0001_0001;

/// A word with `flow` in each column.
#[inline]
pub(super) const fn in_each(flow: u16) -> u64 {
    flow as u64 * EACH
}

/// The sum over the columns of a word.
#[inline]
pub(super) const fn sum_of(word: u64) -> u64 {
    const EVEN: u64 = 0x0000_ffff_0000_ffff;
    let pairs = (word & EVEN) + ((word >> LANE_BITS) & EVEN);
    (pairs & 0xffff_ffff) + (pairs >> 32)
}

/// The columns of a word that a mask has bits of, with what the word says of them.
#[inline]
pub(super) fn lanes_of(mut mask: u64, word: u64) -> impl Iterator<Item = (usize, u16)> {
    core::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize / LANE_BITS;
        mask &= !(0xffff << (lane * LANE_BITS));
        Some((lane, (word >> (lane * LANE_BITS)) as u16))
    })
}

/// The words that hold a range of columns, each with a mask of the columns that are in the range.
#[inline]
pub(super) fn words_of(columns: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let words = columns.start / LANES..columns.end.div_ceil(LANES);
    let (first, end) = (words.start, words.end);
    // Only the outermost words hold columns of others.
    let head = u64::MAX << (columns.start % LANES * LANE_BITS);
    let tail = u64::MAX >> (columns.end.wrapping_neg() % LANES * LANE_BITS);
    words.map(move |word| {
        let from = if word == first { head } else { u64::MAX };
        let to = if word + 1 == end { tail } else { u64::MAX };
        (word, from & to)
    })
}

/// Workers that get a sheet of their own. Every reader adds up all sheets, so more would cost more than
/// the locked additions to a common one.
const SHEETS: usize = 4;

/// How many routes of others pass each switch on the way to each LID of a CA in the batch.
pub(super) struct Flows {
    sheets: Vec<Sheet>,
    /// Several workers share the only sheet.
    shared: bool,
    /// Words of a switch's row.
    stride: usize,
}

/// What one worker has added.
struct Sheet {
    /// A row of columns per switch, [`LANES`] to a word.
    words: Vec<AtomicU64>,
    /// The destinations in whose columns a switch may have something, low half and high half.
    passed: IdxVec<SwitchIdx, [AtomicU32; 2]>,
}

impl Flows {
    pub(super) fn new(switches: usize, workers: usize) -> Self {
        let shared = workers > SHEETS;
        let count = if shared { 1 } else { workers };
        let sheet = |_| Sheet {
            words: Vec::new(),
            passed: (0..switches).map(|_| Default::default()).collect(),
        };
        Self {
            sheets: (0..count).map(sheet).collect(),
            shared,
            stride: 0,
        }
    }

    /// Empty sheets for the next batch.
    pub(super) fn begin(&mut self, columns: usize) {
        let (old, new) = (self.stride, columns.div_ceil(LANES));
        self.stride = new;
        for sheet in &mut self.sheets {
            for (switch, halves) in sheet.passed.iter_mut().enumerate() {
                if halves.iter_mut().any(|half| *half.get_mut() != 0) {
                    *halves = Default::default();
                    let row = sheet.words.get_mut(switch * old..(switch + 1) * old);
                    for word in row.unwrap_or_default() {
                        *word = AtomicU64::default();
                    }
                }
            }
            let len = new * sheet.passed.len();
            if sheet.words.len() < len {
                sheet.words.resize_with(len, AtomicU64::default);
            }
        }
    }

    /// Where the row of a switch begins.
    #[inline]
    pub(super) fn row(&self, switch: SwitchIdx) -> usize {
        switch.at() * self.stride
    }

    /// The sheet of a worker.
    #[inline]
    pub(super) fn pen(&self, worker: usize) -> Pen<'_> {
        let sheet = self.sheets.get(if self.shared { 0 } else { worker });
        Pen {
            sheet,
            shared: self.shared,
        }
    }

    /// The destinations towards which routes of others may pass a switch.
    #[inline]
    pub(super) fn passed(&self, switch: SwitchIdx) -> u64 {
        let mut bits = 0;
        for sheet in &self.sheets {
            let [low, high] = &sheet.passed[switch];
            bits |= u64::from(low.load(Relaxed)) | u64::from(high.load(Relaxed)) << 32;
        }
        bits
    }

    /// One word of all sheets.
    #[inline]
    pub(super) fn word(&self, at: usize) -> u64 {
        let mut sum = 0;
        for sheet in &self.sheets {
            sum += sheet.words.get(at).map_or(0, |word| word.load(Relaxed));
        }
        sum
    }
}

/// Where a worker adds.
#[derive(Clone, Copy)]
pub(super) struct Pen<'a> {
    sheet: Option<&'a Sheet>,
    shared: bool,
}

impl Pen<'_> {
    /// Notes that the columns of some destinations will have something in the row of a switch.
    #[inline]
    pub(super) fn note(&self, switch: SwitchIdx, bits: u64) {
        let Some(sheet) = self.sheet.filter(|_| bits != 0) else {
            return;
        };
        let [low, high] = &sheet.passed[switch];
        for (half, bits) in [(low, bits as u32), (high, (bits >> 32) as u32)] {
            if self.shared {
                half.fetch_or(bits, Relaxed);
            } else {
                half.store(half.load(Relaxed) | bits, Relaxed);
            }
        }
    }

    /// Adds to the columns of a word.
    #[inline]
    pub(super) fn add_word(&self, at: usize, more: u64) {
        if let Some(word) = self.sheet.and_then(|sheet| sheet.words.get(at)) {
            self.add_to(word, more);
        }
    }

    #[inline]
    fn add_to(&self, word: &AtomicU64, more: u64) {
        if self.shared {
            word.fetch_add(more, Relaxed);
        } else {
            // Nobody else adds here: no need for a locked instruction.
            word.store(word.load(Relaxed).wrapping_add(more), Relaxed);
        }
    }

    /// Adds routes to every `step`th of some columns of a row.
    #[inline]
    pub(super) fn add_each(&self, row: usize, columns: Range<usize>, step: usize, routes: u16) {
        let words = self.sheet.and_then(|sheet| sheet.words.get(row..));
        let words = words.unwrap_or_default();
        let routes = u64::from(routes);
        let mut column = columns.start;
        while let Some(word) = words.get(column / LANES).filter(|_| column < columns.end) {
            self.add_to(word, routes << (column % LANES * LANE_BITS));
            column += step;
        }
    }

    /// Adds routes to one column of a row.
    #[inline]
    pub(super) fn add(&self, row: usize, column: usize, routes: u16) {
        let shift = column % LANES * LANE_BITS;
        self.add_word(row + column / LANES, u64::from(routes) << shift);
    }
}
