//! A word of columns for processors that cannot add to 64 bits at once.
//!
//! No column carries into the next one, so that the two halves of a word can be added to one after the other.

use core::sync::atomic::{AtomicU32, Ordering};

/// As `core`'s `AtomicU64`, for words whose halves do not carry into each other.
#[derive(Default)]
pub(super) struct AtomicU64 {
    low: AtomicU32,
    high: AtomicU32,
}

impl AtomicU64 {
    pub(super) fn load(&self, order: Ordering) -> u64 {
        u64::from(self.low.load(order)) | u64::from(self.high.load(order)) << 32
    }

    pub(super) fn store(&self, word: u64, order: Ordering) {
        self.low.store(word as u32, order);
        self.high.store((word >> 32) as u32, order);
    }

    pub(super) fn fetch_add(&self, more: u64, order: Ordering) {
        self.low.fetch_add(more as u32, order);
        self.high.fetch_add((more >> 32) as u32, order);
    }
}
