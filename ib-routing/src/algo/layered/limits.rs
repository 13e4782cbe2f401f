//! Limits that other results set while one is looked for.

use core::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

/// The limits that a result must keep to be taken in place of others, as far as these are known.
///
/// Other threads lower them while a result is looked for. They say no more than that a search is in vain, so the result that
/// is taken does not depend on the time at which that is found out.
#[derive(Debug)]
pub(super) struct Limits {
    is_needless: AtomicBool,
    /// True if the limit of lanes is known.
    has_lanes: AtomicBool,
    /// The most lanes.
    lanes: AtomicU8,
    /// The rank must be below this.
    rank: AtomicU32,
    /// The load of trees that were chosen by load and fit one lane, or [`NO_LOAD`].
    load_on_one_lane: AtomicU32,
}

/// No load, or one that is too high to be a limit.
const NO_LOAD: u32 = u32::MAX;

impl Limits {
    /// No result is known.
    pub(super) fn new() -> Self {
        Self {
            is_needless: AtomicBool::new(false),
            has_lanes: AtomicBool::new(false),
            lanes: AtomicU8::new(u8::MAX),
            rank: AtomicU32::new(u32::MAX),
            load_on_one_lane: AtomicU32::new(NO_LOAD),
        }
    }

    /// No result is needed any more.
    pub(super) fn end(&self) {
        self.is_needless.store(true, Relaxed);
    }

    /// Returns true if no result is needed any more.
    pub(super) fn is_needless(&self) -> bool {
        self.is_needless.load(Relaxed)
    }

    /// Sets the most lanes that a result may use.
    pub(super) fn set_lanes(&self, lanes: u8) {
        self.lanes.store(lanes, Relaxed);
        self.has_lanes.store(true, Release);
    }

    /// The most lanes that a result may use; `None` if that is not known yet.
    pub(super) fn lanes(&self) -> Option<u8> {
        let is_known = self.has_lanes.load(Acquire);
        is_known.then(|| self.lanes.load(Relaxed))
    }

    /// A result of this rank is there.
    pub(super) fn lower_rank(&self, rank: (u8, u64)) {
        self.rank.fetch_min(packed(rank), Relaxed);
    }

    /// Trees that were chosen by load fit one lane, with this highest load.
    pub(super) fn set_load_on_one_lane(&self, load: u64) {
        let load = u32::try_from(load).unwrap_or(NO_LOAD);
        self.load_on_one_lane.store(load, Relaxed);
    }

    /// Returns true if trees that were chosen by load fit one lane.
    pub(super) fn have_one_lane(&self) -> bool {
        self.have_one_lane_below(u64::MAX)
    }

    /// Returns true if trees that were chosen by load fit one lane, with no more load than this.
    pub(super) fn have_one_lane_below(&self, load: u64) -> bool {
        let limit = self.load_on_one_lane.load(Relaxed);
        limit != NO_LOAD && u64::from(limit) <= load
    }

    /// Returns true if a result that needs so many lanes, and has this rank or a higher one, can be taken.
    pub(super) fn allow(&self, lanes: u8, rank: (u8, u64)) -> bool {
        let most = self.lanes().unwrap_or(u8::MAX);
        let (_, load) = rank;
        let may_be_lower = packed(rank) < self.rank.load(Relaxed) || load >= MOST_LOAD;
        !self.is_needless() && lanes <= most && may_be_lower
    }
}

/// The highest load that a packed rank can hold. Higher loads are packed as this one, so a load that reaches it excludes no
/// result.
const MOST_LOAD: u64 = (1 << LOAD_BITS) - 1;

/// Bits of a load in a packed rank.
const LOAD_BITS: u32 = 24;

/// A rank as one number, of 32 bits, which all processors can compare and swap.
fn packed((lanes, load): (u8, u64)) -> u32 {
    u32::from(lanes) << LOAD_BITS | load.min(MOST_LOAD) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_in_vain_only_if_another_is_at_least_as_good() {
        for (rank, other, is_allowed) in [
            ((0, 4), (0, 5), true),
            ((0, 5), (0, 5), false),
            ((0, 6), (0, 5), false),
            ((1, 4), (0, 5), false),
            ((1, 9), (2, 5), true),
            ((1, MOST_LOAD + 1), (1, MOST_LOAD + 2), true),
            ((1, MOST_LOAD - 1), (1, MOST_LOAD + 2), true),
            ((1, 5), (0, MOST_LOAD), false),
        ] {
            let limits = Limits::new();
            assert!(limits.allow(9, rank));
            limits.lower_rank(other);
            assert_eq!(limits.allow(9, rank), is_allowed, "{rank:?}, {other:?}");
            limits.set_lanes(8);
            assert!(!limits.allow(9, rank));
        }
    }
}
