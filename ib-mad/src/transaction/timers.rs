//! Timers of entries: a binary heap that keeps the place of each entry, so that a timer can be stopped.
//!
//! An answer stops a timer long before its end, so that lazy deletion would keep a whole time-out's
//! worth of dead timers.

use alloc::vec::Vec;

use super::slab::Index;
use crate::Instant;

const ABSENT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Timer {
    due: Instant,
    /// Equal times run out in the order in which the timers were set.
    order: u64,
    index: Index,
}

impl Timer {
    fn key(&self) -> (Instant, u64) {
        (self.due, self.order)
    }
}

/// At most one timer per entry.
#[derive(Debug)]
pub(super) struct Timers {
    heap: Vec<Timer>,
    /// Place in `heap` by entry.
    places: Vec<u32>,
    set: u64,
}

impl Timers {
    pub(super) fn new() -> Self {
        Self {
            heap: Vec::new(),
            places: Vec::new(),
            set: 0,
        }
    }

    /// Time at which the next timer runs out.
    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.first().map(|timer| timer.due)
    }

    /// Sets the timer of an entry that has none.
    pub(super) fn insert(&mut self, index: Index, due: Instant) {
        let order = self.set;
        self.set = self.set.wrapping_add(1);
        let at = self.heap.len();
        self.heap.push(Timer { due, order, index });
        self.note(at);
        self.sift_up(at);
    }

    /// Stops the timer of an entry, if it has one.
    pub(super) fn remove(&mut self, index: Index) {
        let Some(place) = self.places.get_mut(index.at()) else {
            return;
        };
        let at = core::mem::replace(place, ABSENT) as usize;
        if at < self.heap.len() {
            self.heap.swap_remove(at);
            if at < self.heap.len() {
                self.note(at);
                self.sift_up(at);
                self.sift_down(at);
            }
        }
    }

    /// Takes out the first timer that has run out at `now`.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Index> {
        let first = self.heap.first().filter(|timer| timer.due <= now)?.index;
        self.remove(first);
        Some(first)
    }

    fn sift_up(&mut self, mut at: usize) {
        while let Some(parent) = at.checked_sub(1).map(|above| above / 2) {
            if self.key(parent) <= self.key(at) {
                break;
            }
            self.swap(at, parent);
            at = parent;
        }
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let left = at.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            let mut least = at;
            for child in [left, right] {
                if child < self.heap.len() && self.key(child) < self.key(least) {
                    least = child;
                }
            }
            if least == at {
                break;
            }
            self.swap(at, least);
            at = least;
        }
    }

    fn key(&self, at: usize) -> Option<(Instant, u64)> {
        self.heap.get(at).map(Timer::key)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.note(a);
        self.note(b);
    }

    /// Records the place of the timer at `at`.
    fn note(&mut self, at: usize) {
        let Some(timer) = self.heap.get(at) else {
            return;
        };
        let entry = timer.index.at();
        if entry >= self.places.len() {
            self.places.resize(entry.saturating_add(1), ABSENT);
        }
        if let Some(place) = self.places.get_mut(entry) {
            // There are at most as many timers as entries, whose indices have 32 bits.
            *place = at as u32;
        }
    }
}
