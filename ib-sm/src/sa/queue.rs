//! Requests that wait for their answers: requesters are served in turn.
//!
//! The queue has a turn of some requests, then its host looks for input again: requests that wait in the transport
//! have to be read before it is known whose they are. A request that comes alone is served at once.

use alloc::{boxed::Box, vec::Vec};
use core::time::Duration;

use bytes::{Bytes, BytesMut};
use ib_mad::{FairQueue, Instant, Mad};
use ib_wire::{Guid, Lid};

/// Requests that wait; beyond, those of the requester with the most are refused.
const MAX_WAITING: usize = 8192;
/// Requests of one requester that wait; beyond, they are refused.
const MAX_WAITING_PER_REQUESTER: usize = 1024;
/// Requests that are served before the input is looked at again.
const TURN: usize = 64;
/// Requests that are read in a row without serving any.
const READ_AHEAD: usize = 256;
/// Requests within [`BURST_TIME`] that are served as they come while none waits.
const BURST: usize = 32;
const BURST_TIME: Duration = Duration::from_millis(1);
/// A part of a table counts as so many requests of a turn.
const PART: usize = 16;

/// Something to be answered.
#[derive(Debug)]
pub(super) enum Work {
    /// A request of one datagram.
    Request(Mad),
    /// A request that came in segments: its first datagram and its data.
    Message(Mad, Bytes),
    /// A table that is made part by part.
    Table(Box<TableWork>),
}

/// A table that is made part by part.
#[derive(Debug)]
pub(super) struct TableWork {
    pub(super) request: Mad,
    /// Nodes that the table is about: those before `next` are done. By GUID, as a sweep may number them anew.
    pub(super) nodes: Vec<Guid>,
    pub(super) next: usize,
    /// Nodes in a part.
    pub(super) step: usize,
    pub(super) attribute_offset: u16,
    pub(super) data: BytesMut,
}

impl Work {
    /// The first datagram of the request.
    pub(super) fn first(&self) -> &Mad {
        match self {
            Self::Request(mad) | Self::Message(mad, _) => mad,
            Self::Table(table) => &table.request,
        }
    }
}

/// The requests that wait.
#[derive(Debug)]
pub(super) struct RequestQueue {
    /// What waits, with when it came.
    waiting: FairQueue<Lid, (Instant, Work)>,
    /// Requests that may be served before the input is looked at.
    turn: usize,
    /// Requests that were read since the last turn.
    read: usize,
    burst: usize,
    burst_began: Instant,
    /// When the next turn is due; `None` while nothing waits.
    next_turn: Option<Instant>,
}

impl RequestQueue {
    pub(super) const fn new() -> Self {
        Self {
            waiting: FairQueue::new(MAX_WAITING, MAX_WAITING_PER_REQUESTER),
            turn: 0,
            read: 0,
            burst: 0,
            burst_began: Instant::ZERO,
            next_turn: None,
        }
    }

    /// Takes in a request. Returns the one that is to be refused for want of room, if any.
    pub(super) fn push(&mut self, now: Instant, work: Work) -> Option<Work> {
        if now.since(self.burst_began) >= BURST_TIME {
            self.burst_began = now;
            self.burst = 0;
        }
        self.burst = self.burst.saturating_add(1);
        self.read = self.read.saturating_add(1);
        let is_first = self.waiting.is_empty();
        let refused = self.waiting.push(work.first().address.lid, (now, work));
        if is_first && self.burst <= BURST {
            self.turn = self.turn.max(1);
        } else if self.read >= READ_AHEAD {
            self.begin_turn();
        }
        self.next_turn.get_or_insert(now);
        refused.map(|(_, (_, work))| work)
    }

    /// Puts work back that is not finished.
    pub(super) fn put_back(&mut self, now: Instant, work: Work) {
        self.waiting.put_back(work.first().address.lid, (now, work));
        self.turn = self.turn.saturating_sub(PART);
        self.next_turn.get_or_insert(now);
    }

    /// The next to be served in this turn, with when it came or was put back.
    pub(super) fn pop(&mut self) -> Option<(Instant, Work)> {
        let left = self.turn.checked_sub(1)?;
        let (_, next) = self.waiting.pop()?;
        self.turn = left;
        if self.waiting.is_empty() {
            self.turn = 0;
            self.read = 0;
            self.next_turn = None;
        }
        Some(next)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.next_turn.is_some_and(|at| at <= now) {
            self.begin_turn();
            // After all input of this moment.
            self.next_turn = Some(now.saturating_add(Duration::from_nanos(1)));
        }
    }

    pub(super) const fn poll_timeout(&self) -> Option<Instant> {
        self.next_turn
    }

    const fn begin_turn(&mut self) {
        self.turn = TURN;
        self.read = 0;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use ib_mad::MadAddress;
    use ib_wire::Sl;

    use super::*;

    fn request(lid: u16) -> Work {
        Work::Request(Mad::new(MadAddress::gsi(Lid(lid), Sl::ZERO)))
    }

    fn served(queue: &mut RequestQueue) -> Vec<u16> {
        let served = core::iter::from_fn(|| queue.pop());
        served.map(|(_, work)| work.first().address.lid.0).collect()
    }

    #[test]
    fn a_request_that_comes_alone_is_served_at_once() {
        let mut queue = RequestQueue::new();
        for _ in 0..10 {
            assert!(queue.push(Instant::ZERO, request(1)).is_none());
            assert_eq!(served(&mut queue), [1]);
            assert_eq!(queue.poll_timeout(), None);
        }
    }

    #[test]
    fn a_request_behind_a_flood_is_the_second_to_be_served() {
        let mut queue = RequestQueue::new();
        for _ in 0..200 {
            assert!(queue.push(Instant::ZERO, request(1)).is_none());
        }
        assert!(queue.push(Instant::ZERO, request(2)).is_none());
        // One request was served when it came.
        assert_eq!(served(&mut queue).len(), 1);
        assert!(queue.poll_timeout().is_some_and(|at| at <= Instant::ZERO));
        queue.handle_timeout(Instant::ZERO);
        let turn = served(&mut queue);
        assert_eq!(turn.len(), TURN);
        assert_eq!(turn.iter().position(|&lid| lid == 2), Some(0));
    }

    #[test]
    fn a_flood_without_a_pause_is_served_all_the_same() {
        let mut queue = RequestQueue::new();
        let (mut answered, mut refused) = (0, 0);
        for _ in 0..10_000 {
            refused += usize::from(queue.push(Instant::ZERO, request(1)).is_some());
            answered += served(&mut queue).len();
        }
        assert!(answered > 2000, "{answered}");
        let left = 10_000 - answered - refused;
        assert!(
            left <= MAX_WAITING_PER_REQUESTER,
            "{left} are neither answered nor refused"
        );
    }
}
