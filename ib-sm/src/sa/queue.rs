//! The queue of requests: requesters are served in turn.
//!
//! The queue serves a limited number of requests, a turn. Then its host reads input again, because the requesters
//! of datagrams that wait in the transport are known only after they are read. A request that arrives alone is
//! served at once.

use alloc::{boxed::Box, vec::Vec};
use core::time::Duration;

use bytes::{Bytes, BytesMut};
use ib_mad::{FairQueue, Instant, Mad};
use ib_wire::{Guid, Lid};

use super::table_cache::TableKey;

/// Maximum number of queued requests. Beyond it a request of the requester with the most is refused.
const MAX_WAITING: usize = 8192;
/// Maximum number of queued requests of one requester; beyond it they are refused.
const MAX_WAITING_PER_REQUESTER: usize = 1024;
/// Number of requests that are served before input is read again.
const MAX_SERVED: usize = 64;
/// Number of requests that are read in a row without serving any.
const READ_AHEAD: usize = 256;
/// Number of requests within [`BURST_TIME`] that are served as they arrive, as long as none is queued.
const BURST: usize = 32;
const BURST_TIME: Duration = Duration::from_millis(1);
/// Number of requests that a part of a table counts for in a turn.
const PART: usize = 16;

/// A piece of work in the queue.
#[derive(Debug)]
pub(super) enum QueueItem {
    /// A request of one datagram.
    Request(Mad),
    /// A request that arrived in segments: its first datagram and its data.
    Message(Mad, Bytes),
    /// A table that is made part by part.
    Table(Box<TableWork>),
}

/// The state of a table that is made part by part.
#[derive(Debug)]
pub(super) struct TableWork {
    pub(super) request: Mad,
    /// Nodes of the table; those before `next` are done. They are listed by GUID because a sweep may renumber
    /// them.
    pub(super) nodes: Vec<Guid>,
    pub(super) next: usize,
    /// Number of nodes in a part.
    pub(super) step: usize,
    pub(super) attribute_offset: u16,
    pub(super) data: BytesMut,
    /// Key under which the table is kept when it is complete; `None` if it is not kept.
    pub(super) key: Option<TableKey>,
}

impl QueueItem {
    /// The first datagram of the request.
    pub(super) fn first(&self) -> &Mad {
        match self {
            Self::Request(mad) | Self::Message(mad, _) => mad,
            Self::Table(table) => &table.request,
        }
    }
}

/// The queue of requests.
#[derive(Debug)]
pub(super) struct RequestQueue {
    /// Queued work, with the time at which it arrived.
    waiting: FairQueue<Lid, (Instant, QueueItem)>,
    /// Number of requests that may be served before input is read again.
    turn: usize,
    /// Number of requests that were read since the last turn.
    read: usize,
    burst: usize,
    burst_began: Instant,
    /// Time of the next turn; `None` while the queue is empty.
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

    /// Queues a request. Returns the work that is to be refused if there is no room.
    pub(super) fn push(&mut self, now: Instant, work: QueueItem) -> Option<QueueItem> {
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

    /// Puts unfinished work back into the queue.
    pub(super) fn put_back(&mut self, now: Instant, work: QueueItem) {
        self.waiting.put_back(work.first().address.lid, (now, work));
        self.turn = self.turn.saturating_sub(PART);
        self.next_turn.get_or_insert(now);
    }

    /// The next work of this turn, with the time at which it arrived or was put back.
    pub(super) fn pop(&mut self) -> Option<(Instant, QueueItem)> {
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
            // The next turn comes after all input of this moment.
            self.next_turn = Some(now.saturating_add(Duration::from_nanos(1)));
        }
    }

    pub(super) const fn poll_timeout(&self) -> Option<Instant> {
        self.next_turn
    }

    const fn begin_turn(&mut self) {
        self.turn = MAX_SERVED;
        self.read = 0;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use ib_mad::MadAddress;
    use ib_wire::Sl;

    use super::*;

    fn request(lid: u16) -> QueueItem {
        QueueItem::Request(Mad::new(MadAddress::gsi(Lid(lid), Sl::ZERO)))
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
    fn of_many_requests_in_a_moment_those_after_the_first_wait_for_a_turn() {
        let mut queue = RequestQueue::new();
        for _ in 0..BURST {
            assert!(queue.push(Instant::ZERO, request(1)).is_none());
            assert_eq!(served(&mut queue), [1]);
        }
        assert!(queue.push(Instant::ZERO, request(1)).is_none());
        assert_eq!(served(&mut queue), [0; 0]);
        queue.handle_timeout(Instant::ZERO);
        assert_eq!(served(&mut queue), [1]);
        let later = Instant::ZERO.saturating_add(BURST_TIME);
        assert!(queue.push(later, request(1)).is_none());
        assert_eq!(served(&mut queue), [1], "the moment is over");
    }

    #[test]
    fn a_request_behind_a_flood_is_the_second_to_be_served() {
        let mut queue = RequestQueue::new();
        for _ in 0..200 {
            assert!(queue.push(Instant::ZERO, request(1)).is_none());
        }
        assert!(queue.push(Instant::ZERO, request(2)).is_none());
        // One request was served when it arrived.
        assert_eq!(served(&mut queue).len(), 1);
        assert!(queue.poll_timeout().is_some_and(|at| at <= Instant::ZERO));
        queue.handle_timeout(Instant::ZERO);
        let turn = served(&mut queue);
        assert_eq!(turn.len(), MAX_SERVED);
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
