//! Largest number of requests on the wire: fixed, or learned from the losses.

use super::InFlight;
use crate::Instant;

/// The limit and what it has learned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    now: u32,
    min: u32,
    max: u32,
    /// Answers since the limit last grew, once it grows slowly.
    answers: u32,
    /// Until the first loss the limit grows with every answer.
    starting: bool,
    /// Time of the latest reduction of the limit: losses of what was sent before are the same congestion.
    reduced_at: Option<Instant>,
}

impl Limit {
    pub(super) fn new(config: InFlight) -> Self {
        let (min, max) = match config {
            InFlight::Fixed(n) => (n, n),
            InFlight::Adaptive { min, max } => (min, max),
        };
        let min = min.max(1);
        Self {
            now: min,
            min,
            max: max.max(min),
            answers: 0,
            starting: true,
            reduced_at: None,
        }
    }

    pub(super) fn get(&self) -> u32 {
        self.now
    }

    /// A request was answered, at its first attempt or only later. A loss counts once the device has
    /// proved alive.
    pub(super) fn answered(&mut self, now: Instant, at_first: bool, first_sent_at: Instant) {
        if !at_first {
            if self
                .reduced_at
                .is_none_or(|reduced| first_sent_at > reduced)
            {
                self.now = (self.now / 2).max(self.min);
                self.starting = false;
                self.answers = 0;
                self.reduced_at = Some(now);
            }
        } else if self.starting {
            self.now = self.now.saturating_add(1).min(self.max);
        } else {
            self.answers = self.answers.saturating_add(1);
            if self.answers >= self.now {
                self.answers = 0;
                self.now = self.now.saturating_add(1).min(self.max);
            }
        }
    }
}
