//! The attempts of a request: queued for the window, on the wire, waiting for a busy responder, over.
//!
//! A request is in one list at a time, which its [`State`] names; its timer runs in flight and while it
//! waits for a busy responder. It counts against the limits from its first sending until it waits or is over.

use super::{
    Answer, Backoff, FailureReason, TransactionWindow,
    slab::{Entry, Index, State},
};
use crate::{Instant, Mad, redirect_address};

impl<C> TransactionWindow<C> {
    /// Puts a new or redirected request where its destination's limit sends it.
    pub(super) fn direct(&mut self, index: Index, destination: Option<u64>) {
        let claimed = match destination {
            None => true,
            Some(key) => self.destinations.claim(key, index, &mut self.slab),
        };
        if let Some(entry) = self.slab.get_mut(index) {
            entry.destination = destination;
            entry.state = if claimed {
                State::Ready
            } else {
                State::Waiting
            };
        }
        if claimed {
            self.slab.push_back(&mut self.ready, index);
        }
    }

    pub(super) fn next_to_send(&mut self, now: Instant) -> Option<Index> {
        if let Some(index) = self.slab.pop(&mut self.resend) {
            return Some(index);
        }
        if self.in_flight >= self.limit.get() && self.overflow_at().is_none_or(|at| now < at) {
            return None;
        }
        let index = self.slab.pop(&mut self.ready)?;
        self.in_flight = self.in_flight.saturating_add(1);
        Some(index)
    }

    /// The time at which a request beyond the limit may be sent; `None` if none may, or none waits.
    pub(super) fn overflow_at(&self) -> Option<Instant> {
        let overflow = self.config.overflow?;
        let is_full = self.in_flight >= self.limit.get();
        let may = is_full && self.in_flight < overflow.max && !self.ready.is_empty();
        may.then(|| self.progress_at.saturating_add(overflow.after))
    }

    /// The responder is busy: the request waits, unless it has waited `busy_retries` times. Returns whether
    /// the request stays open.
    pub(super) fn wait_for_busy(&mut self, now: Instant, index: Index) -> bool {
        let busy_retries = self.config.busy_retries;
        let Some(entry) = self.slab.get_mut(index) else {
            return false;
        };
        self.counters.busy = self.counters.busy.wrapping_add(1);
        match entry.state {
            State::InFlight => {}
            // The same answer again, or one to an attempt that was already counted.
            _ => return true,
        }
        self.timers.remove(index);
        if entry.busy >= busy_retries {
            self.fail(index, FailureReason::Busy);
            return true;
        }
        let wait = Backoff::DOUBLE.wait(self.config.busy_wait, entry.busy);
        entry.busy = entry.busy.saturating_add(1);
        entry.state = State::BusyWait;
        self.timers.insert(index, now.saturating_add(wait));
        self.in_flight = self.in_flight.saturating_sub(1);
        true
    }

    /// Sends the request to where the responder says. Returns whether it stays open.
    pub(super) fn follow_redirect(&mut self, index: Index, mad: &Mad) -> bool {
        let max = self.config.max_redirects;
        let Some(address) = redirect_address(mad).filter(|_| max > 0) else {
            return false;
        };
        let Some(entry) = self.slab.get_mut(index) else {
            return false;
        };
        if entry.state != State::InFlight {
            return true;
        }
        self.timers.remove(index);
        if entry.redirects >= max {
            self.fail(index, FailureReason::RedirectLoop);
            return true;
        }
        entry.redirects = entry.redirects.saturating_add(1);
        entry.in_a_row = 0;
        let destination = entry.destination;
        if let Some(request) = self.slab.mad_mut(index) {
            request.address = address;
        }
        self.counters.redirected = self.counters.redirected.wrapping_add(1);
        self.in_flight = self.in_flight.saturating_sub(1);
        self.release_destination(destination);
        self.direct(index, Some(u64::from(address.lid.0)));
        true
    }

    /// Ends a request with its answer.
    pub(super) fn answered(&mut self, now: Instant, index: Index) -> Option<Answer<C>> {
        let (entry, context) = self.finish(index)?;
        self.progress_at = now;
        self.counters.answered = self.counters.answered.wrapping_add(1);
        self.limit
            .answered(now, entry.attempts == 1, entry.first_sent_at);
        let elapsed = now.since(entry.first_sent_at);
        if self.config.early_repeat.is_some() {
            self.round_trips.answered(elapsed);
        }
        Some(Answer {
            context,
            attempts: entry.attempts,
            elapsed,
        })
    }

    /// The attempt that sent `mad` ends before its time.
    pub(super) fn attempt_lost(&mut self, mad: &Mad, reason: FailureReason) {
        let header = mad.header();
        let id = header.transaction_id();
        if let Some(index) = self.slab.find(id.low(), header.mgmt_class())
            && self.slab.state(index) == Some(State::InFlight)
        {
            self.timers.remove(index);
            self.attempt_over(index, reason);
        }
    }

    /// An attempt came to nothing.
    pub(super) fn attempt_over(&mut self, index: Index, reason: FailureReason) {
        let Some(entry) = self.slab.get_mut(index) else {
            return;
        };
        if entry.in_a_row > entry.retries {
            self.fail(index, reason);
        } else {
            entry.state = State::Resend;
            self.slab.push_back(&mut self.resend, index);
        }
    }

    /// Ends a request that is in flight, with its timer stopped, as a failure.
    pub(super) fn fail(&mut self, index: Index, reason: FailureReason) {
        self.counters.failed = self.counters.failed.wrapping_add(1);
        self.in_flight = self.in_flight.saturating_sub(1);
        self.slab.forget_id(index);
        let Some(entry) = self.slab.get_mut(index) else {
            return;
        };
        entry.state = State::Failed(reason);
        let destination = entry.destination;
        self.slab.push_back(&mut self.failed, index);
        self.release_destination(destination);
    }

    /// Ends a request whatever its state, and returns what was kept for it.
    pub(super) fn finish(&mut self, index: Index) -> Option<(Entry, C)> {
        let entry = *self.slab.get(index)?;
        match entry.state {
            State::InFlight => {
                self.timers.remove(index);
                self.in_flight = self.in_flight.saturating_sub(1);
            }
            State::Resend => {
                self.slab.unlink(&mut self.resend, index);
                self.in_flight = self.in_flight.saturating_sub(1);
            }
            State::BusyWait => self.timers.remove(index),
            State::Ready => self.slab.unlink(&mut self.ready, index),
            State::Waiting => {
                self.destinations
                    .leave(entry.destination, index, &mut self.slab);
            }
            State::Failed(_) => {
                self.slab.unlink(&mut self.failed, index);
                return self.slab.free(index);
            }
            State::Free => return None,
        }
        self.slab.forget_id(index);
        let finished = self.slab.free(index)?;
        if entry.state != State::Waiting {
            self.release_destination(entry.destination);
        }
        Some(finished)
    }

    /// A request to this destination is over: the next one may go.
    pub(super) fn release_destination(&mut self, destination: Option<u64>) {
        let Some(key) = destination else {
            return;
        };
        if let Some(next) = self.destinations.release(key, &mut self.slab) {
            if let Some(entry) = self.slab.get_mut(next) {
                entry.state = State::Ready;
            }
            self.slab.push_back(&mut self.ready, next);
        }
    }
}
