//! The queue of events of the fabric, in the order of virtual time.
//!
//! Nearly every event is a hop or an answer, of constant latency each, so its moment is never before that of the one
//! queued just before it: those go to first-in-first-out lanes, one per latency, which cost nothing to keep in
//! order. Everything else (jitter, timers, scripted changes) goes to a heap. Ties break by the order of queueing: the
//! same run gives the same order, bit for bit.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use ib_mad::Instant;

/// A latency that is the same for all events of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Latency {
    /// A packet crosses a link.
    Hop,
    /// The answer of an agent.
    Answer,
}

/// Number of latencies: each has a lane of its own.
const LANES: usize = 2;

/// Events of one kind `E`, by time.
#[derive(Debug)]
pub(crate) struct EventQueue<E> {
    lanes: [Lane<E>; LANES],
    heap: BinaryHeap<Reverse<Entry<E>>>,
    /// The first event of all: it is read far more often than it changes.
    first: First,
    queued: u64,
}

#[derive(Debug)]
struct Lane<E> {
    /// In nanoseconds.
    latency: u64,
    entries: VecDeque<Entry<E>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    key: Key,
    event: E,
}

/// The order of events: the time in the upper half, and for ties the number of the queueing in the lower half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    /// After all events.
    const NEVER: Self = Self(u128::MAX);

    #[inline]
    fn new(at: Instant, order: u64) -> Self {
        Self(u128::from(at.as_nanos()) << 64 | u128::from(order))
    }

    #[inline]
    fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }
}

/// The place of the first event.
#[derive(Clone, Copy, Debug)]
struct First {
    key: Key,
    /// Number of its lane; [`LANES`] is the heap.
    lane: usize,
}

impl First {
    const NONE: Self = Self {
        key: Key::NEVER,
        lane: LANES,
    };
}

impl<E: Copy> EventQueue<E> {
    /// A queue in which a hop and an answer take these times.
    pub(crate) fn new(hop: Duration, answer: Duration) -> Self {
        Self {
            lanes: [hop, answer].map(|latency| Lane {
                latency: u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX),
                entries: VecDeque::new(),
            }),
            heap: BinaryHeap::new(),
            first: First::NONE,
            queued: 0,
        }
    }

    /// Queues `event` for when `latency` is over.
    #[inline]
    pub(crate) fn push_after(&mut self, now: Instant, latency: Latency, event: E) {
        let number = latency as usize;
        let order = self.next_order();
        let Some(lane) = self.lanes.get_mut(number) else {
            return;
        };
        let at = Instant::from_nanos(now.as_nanos().saturating_add(lane.latency));
        let key = Key::new(at, order);
        // Time never goes back, but a host may hand in a moment before the last one.
        if lane.entries.back().is_none_or(|last| last.key < key) {
            lane.entries.push_back(Entry { key, event });
            self.note(key, number);
        } else {
            self.push_heap(Entry { key, event });
        }
    }

    /// Queues `event` for `wait` after `now`.
    #[allow(
        clippy::arithmetic_side_effects,
        reason = "adding to an Instant stays at the end of time"
    )]
    pub(crate) fn push_later(&mut self, now: Instant, wait: Duration, event: E) {
        self.push_at(now + wait, event);
    }

    /// Queues `event` for the moment `at`.
    pub(crate) fn push_at(&mut self, at: Instant, event: E) {
        let key = Key::new(at, self.next_order());
        self.push_heap(Entry { key, event });
    }

    /// The moment of the first event.
    #[inline]
    pub(crate) fn next_at(&self) -> Option<Instant> {
        (self.first.key != Key::NEVER).then(|| self.first.key.at())
    }

    /// Takes the first event if its moment is not after `now`.
    #[inline]
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(Instant, E)> {
        let First { key, lane } = self.first;
        if key.at() > now {
            return None;
        }
        let event = match self.lanes.get_mut(lane) {
            Some(lane) => lane.entries.pop_front()?.event,
            // If no event waits, the heap is empty.
            None => self.heap.pop()?.0.event,
        };
        self.find_first();
        Some((key.at(), event))
    }

    #[inline]
    fn next_order(&mut self) -> u64 {
        let order = self.queued;
        self.queued = order.wrapping_add(1);
        order
    }

    /// Takes an event that has been queued into account.
    #[inline]
    fn note(&mut self, key: Key, lane: usize) {
        if key < self.first.key {
            self.first = First { key, lane };
        }
    }

    #[inline]
    fn find_first(&mut self) {
        self.first = First::NONE;
        if let Some(Reverse(entry)) = self.heap.peek() {
            self.note(entry.key, LANES);
        }
        for number in 0..LANES {
            let lane = self.lanes.get(number);
            if let Some(entry) = lane.and_then(|lane| lane.entries.front()) {
                self.note(entry.key, number);
            }
        }
    }

    fn push_heap(&mut self, entry: Entry<E>) {
        self.note(entry.key, LANES);
        self.heap.push(Reverse(entry));
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn drain(queue: &mut EventQueue<u32>) -> Vec<(u64, u32)> {
        let end = Instant::from_nanos(u64::MAX);
        std::iter::from_fn(|| queue.pop_due(end))
            .map(|(at, event)| (at.as_nanos() / 1_000_000, event))
            .collect()
    }

    fn queue() -> EventQueue<u32> {
        EventQueue::new(3 * MS, 5 * MS)
    }

    #[test]
    fn events_come_in_the_order_of_time_and_ties_in_the_order_of_queueing() {
        let mut queue = queue();
        queue.push_at(Instant::ZERO + 3 * MS, 0);
        queue.push_after(Instant::ZERO, Latency::Answer, 1);
        queue.push_after(Instant::ZERO, Latency::Hop, 2);
        queue.push_later(Instant::ZERO + 2 * MS, MS, 3);
        queue.push_at(Instant::ZERO + MS, 4);
        assert_eq!(drain(&mut queue), [(1, 4), (3, 0), (3, 2), (3, 3), (5, 1)]);
    }

    #[test]
    fn an_event_is_not_taken_before_its_time() {
        let mut queue = queue();
        queue.push_after(Instant::ZERO, Latency::Hop, 7);
        assert_eq!(queue.pop_due(Instant::ZERO + 2 * MS), None);
        assert_eq!(queue.next_at(), Some(Instant::ZERO + 3 * MS));
        assert_eq!(
            queue.pop_due(Instant::ZERO + 3 * MS),
            Some((Instant::ZERO + 3 * MS, 7))
        );
        assert_eq!(queue.next_at(), None);
        assert_eq!(queue.pop_due(Instant::from_nanos(u64::MAX)), None);
    }

    #[test]
    fn time_that_steps_back_stays_in_order() {
        let mut queue = queue();
        for (event, moment) in [9, 7, 8, 1, 9].into_iter().enumerate() {
            let now = Instant::ZERO + moment * MS;
            queue.push_after(now, Latency::Hop, event as u32);
        }
        queue.push_after(Instant::ZERO + 4 * MS, Latency::Answer, 5);
        assert_eq!(
            drain(&mut queue),
            [(4, 3), (9, 5), (10, 1), (11, 2), (12, 0), (12, 4)]
        );
    }
}
