//! Messages to send, in the order in which they came up.

use alloc::{boxed::Box, collections::VecDeque};

use ib_mad::Mad;

#[derive(Debug)]
pub(super) enum Outgoing {
    /// The last message of a connection.
    Connection(u32),
    /// The LAP of a connection.
    Lap(u32),
    /// An answer that nothing is remembered of.
    Reply(Box<Mad>),
}

/// A connection is in it at most once; of answers to unknown peers there are at most `max_replies`.
#[derive(Debug)]
pub(super) struct Outbox {
    queue: VecDeque<Outgoing>,
    replies: usize,
    max_replies: usize,
}

impl Outbox {
    pub(super) const fn new(max_replies: usize) -> Self {
        Self {
            queue: VecDeque::new(),
            replies: 0,
            max_replies,
        }
    }

    pub(super) fn push(&mut self, outgoing: Outgoing) {
        self.queue.push_back(outgoing);
    }

    /// Queues an answer to a stranger, if there is room: who is not answered asks again.
    pub(super) fn reply(&mut self, mad: Mad) {
        if self.replies < self.max_replies {
            self.replies = self.replies.saturating_add(1);
            self.push(Outgoing::Reply(Box::new(mad)));
        }
    }

    pub(super) fn pop(&mut self) -> Option<Outgoing> {
        let outgoing = self.queue.pop_front()?;
        if matches!(outgoing, Outgoing::Reply(_)) {
            self.replies = self.replies.saturating_sub(1);
        }
        Some(outgoing)
    }
}
