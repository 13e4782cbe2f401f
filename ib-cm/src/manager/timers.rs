//! One timer per key, in the order of time.

use alloc::collections::{BTreeMap, BTreeSet};

use ib_mad::Instant;

#[derive(Debug)]
pub(super) struct Timers<K> {
    queue: BTreeSet<(Instant, K)>,
    due: BTreeMap<K, Instant>,
}

impl<K: Copy + Ord> Timers<K> {
    pub(super) const fn new() -> Self {
        Self {
            queue: BTreeSet::new(),
            due: BTreeMap::new(),
        }
    }

    /// Sets the timer of `key`, which may have run before.
    pub(super) fn set(&mut self, key: K, due: Instant) {
        self.stop(key);
        self.due.insert(key, due);
        self.queue.insert((due, key));
    }

    pub(super) fn stop(&mut self, key: K) {
        if let Some(due) = self.due.remove(&key) {
            self.queue.remove(&(due, key));
        }
    }

    pub(super) fn is_set(&self, key: K) -> bool {
        self.due.contains_key(&key)
    }

    /// Time at which the next timer runs out.
    pub(super) fn next(&self) -> Option<Instant> {
        self.queue.first().map(|&(due, _)| due)
    }

    /// Takes out the first timer that has run out at `now`.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<K> {
        let &(due, key) = self.queue.first()?;
        if due > now {
            return None;
        }
        self.stop(key);
        Some(key)
    }
}
