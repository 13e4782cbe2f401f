//! Limits that other results set while one is looked for.

use core::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU64,
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
    rank: AtomicU64,
}

impl Limits {
    /// No result is known.
    pub(super) fn new() -> Self {
        Self {
            is_needless: AtomicBool::new(false),
            has_lanes: AtomicBool::new(false),
            lanes: AtomicU8::new(u8::MAX),
            rank: AtomicU64::new(u64::MAX),
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

    /// Returns true if a result that needs so many lanes, and has this rank or a higher one, can be taken.
    pub(super) fn allow(&self, lanes: u8, rank: (u8, u64)) -> bool {
        let most = self.lanes().unwrap_or(u8::MAX);
        !self.is_needless() && lanes <= most && packed(rank) < self.rank.load(Relaxed)
    }
}

/// A rank as one number. A load is far below 2^56: there are fewer than 2^16 LIDs.
fn packed((lanes, load): (u8, u64)) -> u64 {
    u64::from(lanes) << 56 | load
}
