//! What will happen in the fabric, in the order of virtual time.
//!
//! Nearly every event is a hop of constant latency, so its moment is never before that of the hop queued just
//! before it: those go to first-in-first-out lanes, one per latency, which cost nothing to keep in order. Everything
//! else (jitter, timers, scripted changes) goes to a heap. Ties break by the order of queueing: the same run
//! gives the same order, bit for bit.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use ib_mad::Instant;

/// How many different constant latencies get a lane of their own.
const LANES: usize = 4;

/// Events of one kind `E`, by time.
#[derive(Debug)]
pub(crate) struct EventQueue<E> {
    /// As many as latencies have been met, at most [`LANES`].
    lanes: Vec<Lane<E>>,
    heap: BinaryHeap<Reverse<Entry<E>>>,
    /// The first event of all: it is looked at far more often than it changes.
    first: Option<First>,
    queued: u64,
}

#[derive(Debug)]
struct Lane<E> {
    latency: Duration,
    entries: VecDeque<Entry<E>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: Instant,
    order: u64,
    event: E,
}

/// Where the first event waits.
#[derive(Clone, Copy, Debug)]
struct First {
    at: Instant,
    order: u64,
    /// Its lane; [`LANES`] stands for the heap.
    lane: usize,
}

impl<E: Copy> EventQueue<E> {
    pub(crate) fn new() -> Self {
        Self {
            lanes: Vec::new(),
            heap: BinaryHeap::new(),
            first: None,
            queued: 0,
        }
    }

    /// Queues `event` for `latency` after `now`; `latency` is one of few constants.
    #[inline]
    pub(crate) fn push_after(&mut self, now: Instant, latency: Duration, event: E) {
        #[allow(
            clippy::arithmetic_side_effects,
            reason = "adding to an Instant stays at the end of time"
        )]
        let entry = self.entry(now + latency, event);
        let own = self.lanes.iter().position(|lane| lane.latency == latency);
        let own = own.unwrap_or_else(|| self.open_lane(latency));
        if let Some(lane) = self.lanes.get_mut(own)
            // Time never goes back, but a host may hand in a moment before the last one.
            && lane.entries.back().is_none_or(|last| last.at <= entry.at)
        {
            lane.entries.push_back(entry);
            return self.note(entry.at, entry.order, own);
        }
        self.push_heap(entry);
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
        let entry = self.entry(at, event);
        self.push_heap(entry);
    }

    /// The moment of the first event.
    #[inline]
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.first.map(|first| first.at)
    }

    /// Takes the first event if its moment is not after `now`.
    #[inline]
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(Instant, E)> {
        let first = self.first.filter(|first| first.at <= now)?;
        let event = match self.lanes.get_mut(first.lane) {
            Some(lane) => lane.entries.pop_front()?.event,
            None => self.heap.pop()?.0.event,
        };
        self.find_first();
        Some((first.at, event))
    }

    /// The number of a new lane; there may be no room for it.
    #[cold]
    fn open_lane(&mut self, latency: Duration) -> usize {
        let number = self.lanes.len();
        if number < LANES {
            self.lanes.push(Lane {
                latency,
                entries: VecDeque::new(),
            });
        }
        number
    }

    /// Takes an event that has been queued into account.
    #[inline]
    fn note(&mut self, at: Instant, order: u64, lane: usize) {
        // A tie is won by the one that was there.
        if self.first.is_none_or(|first| at < first.at) {
            self.first = Some(First { at, order, lane });
        }
    }

    #[inline]
    fn find_first(&mut self) {
        let heap = self.heap.peek().map(|Reverse(entry)| First {
            at: entry.at,
            order: entry.order,
            lane: LANES,
        });
        self.first = heap;
        for (index, lane) in self.lanes.iter().enumerate() {
            if let Some(entry) = lane.entries.front()
                && self
                    .first
                    .is_none_or(|first| (entry.at, entry.order) < (first.at, first.order))
            {
                self.first = Some(First {
                    at: entry.at,
                    order: entry.order,
                    lane: index,
                });
            }
        }
    }

    fn push_heap(&mut self, entry: Entry<E>) {
        self.heap.push(Reverse(entry));
        self.note(entry.at, entry.order, LANES);
    }

    #[inline]
    fn entry(&mut self, at: Instant, event: E) -> Entry<E> {
        let order = self.queued;
        self.queued = order.wrapping_add(1);
        Entry { at, order, event }
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
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

    #[test]
    fn events_come_in_the_order_of_time_and_ties_in_the_order_of_queueing() {
        let mut queue = EventQueue::new();
        queue.push_at(Instant::ZERO + 3 * MS, 0);
        queue.push_after(Instant::ZERO, 5 * MS, 1);
        queue.push_after(Instant::ZERO, 3 * MS, 2);
        queue.push_after(Instant::ZERO + 2 * MS, MS, 3);
        queue.push_at(Instant::ZERO + MS, 4);
        assert_eq!(drain(&mut queue), [(1, 4), (3, 0), (3, 2), (3, 3), (5, 1)]);
    }

    #[test]
    fn an_event_is_not_taken_before_its_time() {
        let mut queue = EventQueue::new();
        queue.push_after(Instant::ZERO, 2 * MS, 7);
        assert_eq!(queue.pop_due(Instant::ZERO + MS), None);
        assert_eq!(queue.next_at(), Some(Instant::ZERO + 2 * MS));
        assert_eq!(
            queue.pop_due(Instant::ZERO + 2 * MS),
            Some((Instant::ZERO + 2 * MS, 7))
        );
    }

    #[test]
    fn more_latencies_than_lanes_and_time_that_steps_back_stay_in_order() {
        let mut queue = EventQueue::new();
        for (event, latency) in [9, 7, 5, 3, 1, 9].into_iter().enumerate() {
            queue.push_after(Instant::ZERO + MS, latency * MS, event as u32);
        }
        queue.push_after(Instant::ZERO, 9 * MS, 6);
        assert_eq!(
            drain(&mut queue),
            [(2, 4), (4, 3), (6, 2), (8, 1), (9, 6), (10, 0), (10, 5)]
        );
    }
}
