//! Silent nodes: their agents answer nothing, and the server returns nothing at once.
//!
//! The kernel gives a request back to its program when the time-outs that the program asked for have passed. `umad2sim`
//! does not pass these on, so the server cannot know them, and a program that leaves all waiting to the kernel waits for
//! ever. The console may therefore name the time after which the requests to a node come back as timed out.

use std::collections::BTreeMap;
use std::time::Duration;

use ib_mad::{Instant, Mad};
use ib_routing::NodeIdx;

use super::client;

/// Most requests that wait to be returned; further ones are never returned.
const MAX_WAITING: usize = 1 << 16;

/// The requests to silent nodes.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// Time after which the requests to a node are returned; a node that is not in it returns none.
    after: BTreeMap<NodeIdx, Duration>,
    /// The requests, by the time at which they are returned and by their order.
    waiting: BTreeMap<(Instant, u64), Box<Mad>>,
    next: u64,
}

impl Silence {
    /// Sets the time after which requests to a node are returned; `None`: never.
    pub(super) fn set(&mut self, node: NodeIdx, after: Option<Duration>) {
        match after {
            Some(after) => self.after.insert(node, after),
            None => self.after.remove(&node),
        };
    }

    /// Takes a request that a silent node has received.
    pub(super) fn take(&mut self, now: Instant, node: NodeIdx, mad: Box<Mad>) {
        let Some(&after) = self.after.get(&node) else {
            return;
        };
        if self.waiting.len() < MAX_WAITING {
            let due = now.saturating_add(after);
            self.waiting.insert((due, self.next), mad);
            self.next = self.next.wrapping_add(1);
        }
    }

    /// Forgets the requests of a client that has gone: the next one in its slot did not send them.
    pub(super) fn forget(&mut self, slot: usize) {
        let is_kept = |mad: &Mad| client::slot_of(mad.header().transaction_id()) != slot;
        self.waiting.retain(|_, mad| is_kept(mad));
    }

    /// A request that is to be returned by now.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Box<Mad>> {
        let first = self.waiting.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// Time at which the next request is returned.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let ((due, _), _) = self.waiting.first_key_value()?;
        Some(*due)
    }
}
