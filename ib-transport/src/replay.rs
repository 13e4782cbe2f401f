//! Playing a recording back to an engine: a production incident becomes a test.

use std::{cell::Cell, collections::VecDeque, rc::Rc};

use ib_mad::{Instant, Mad};

use crate::{Clock, Direction, MadTransport, Received, Record, TransportError};

/// A transport that answers from a recording, and checks that the engine sends what was recorded.
///
/// Time is the recording's: drive the engine by [`clock`](Self::clock).
///
/// ```
/// use ib_mad::{Instant, Mad, MadAddress};
/// use ib_transport::{Clock, Direction, MadTransport, Received, Record, Replay};
///
/// let mad = Mad::new(MadAddress::DIRECTED);
/// let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
/// let mut replay = Replay::new([
///     Record { at: at(1), direction: Direction::Sent, mad },
///     Record { at: at(3), direction: Direction::Received, mad },
/// ]);
/// let clock = replay.clock();
/// replay.send(&mad)?;
/// assert_eq!(replay.recv(None)?, Some(Received::Mad(mad)));
/// assert_eq!(clock.now(), at(3));
/// # Ok::<(), ib_transport::TransportError>(())
/// ```
#[derive(Debug)]
pub struct Replay {
    records: VecDeque<Record>,
    clock: ReplayClock,
}

/// The time of a [`Replay`].
///
/// The first look after a wait is the moment of what ended it, the looks after that are that of the
/// datagram which the engine sends next: the same times as of a [`TappedClock`](crate::TappedClock).
#[derive(Clone, Debug, Default)]
pub struct ReplayClock(Rc<Cell<Moments>>);

#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    now: Instant,
    /// Whether a wait has ended that the engine has not taken in.
    woke: bool,
    /// When the engine sends, if that is what comes next.
    next_send: Option<Instant>,
}

impl ReplayClock {
    /// This moment of the recording, for every caller.
    fn stands(&self) -> Instant {
        self.0.get().now
    }

    fn advance(&self, to: Instant, woke: bool, next_send: Option<Instant>) {
        let now = self.stands().max(to);
        self.0.set(Moments {
            now,
            woke,
            next_send,
        });
    }
}

impl Clock for ReplayClock {
    fn now(&self) -> Instant {
        let moments = self.0.get();
        if moments.woke {
            self.0.set(Moments {
                woke: false,
                ..moments
            });
            return moments.now;
        }
        moments
            .next_send
            .map_or(moments.now, |next| next.max(moments.now))
    }
}

impl Replay {
    /// A transport that plays `records`, which are in the order of time.
    #[must_use]
    pub fn new(records: impl IntoIterator<Item = Record>) -> Self {
        let replay = Self {
            records: records.into_iter().collect(),
            clock: ReplayClock::default(),
        };
        // The recording's clock may have been running for long: time starts with it.
        if let Some(first) = replay.records.front() {
            replay.clock.advance(first.at, false, None);
        }
        replay
    }

    /// The clock to drive the engine by.
    #[must_use]
    pub fn clock(&self) -> ReplayClock {
        self.clock.clone()
    }

    /// Records that have not been played yet.
    #[must_use]
    pub fn left(&self) -> usize {
        self.records.len()
    }

    /// When the engine sends next, if that is what comes next.
    fn next_send(&self) -> Option<Instant> {
        let next = self.records.front()?;
        (next.direction == Direction::Sent).then_some(next.at)
    }

    /// Takes the next record if it is one that `fits`.
    fn take(&mut self, fits: impl FnOnce(&Record) -> bool) -> Option<Record> {
        let record = *self.records.front().filter(|record| fits(record))?;
        self.records.pop_front();
        Some(record)
    }
}

impl MadTransport for Replay {
    type Error = TransportError;

    /// # Errors
    /// [`Diverged`](TransportError::Diverged) if the recording has another datagram here, or ends here;
    /// [`Unreachable`](TransportError::Unreachable) where the layer below refused it.
    fn send(&mut self, mad: &Mad) -> Result<(), TransportError> {
        let sent = self.take(|record| record.direction == Direction::Sent && record.mad == *mad);
        let Some(sent) = sent else {
            let mut expected = self.records.iter();
            let expected = expected.find(|record| record.direction == Direction::Sent);
            return Err(TransportError::Diverged {
                sent: Box::new(*mad),
                expected: expected.map(|record| Box::new(record.mad)),
            });
        };
        let refused = self.take(|record| record.direction == Direction::Refused);
        self.clock.advance(sent.at, false, self.next_send());
        match refused {
            None => Ok(()),
            Some(_) => Err(TransportError::Unreachable {
                reason: "it was refused when it was recorded",
            }),
        }
    }

    fn recv(&mut self, deadline: Option<Instant>) -> Result<Option<Received>, TransportError> {
        // Where the engine sent next, its timer had run out.
        let until = deadline.map(|deadline| deadline.max(self.clock.stands()));
        let due = |record: &Record| {
            record.direction != Direction::Sent && until.is_none_or(|until| record.at <= until)
        };
        let record = self.take(due);
        let at = record.map(|record| record.at).or(deadline);
        if let Some(at) = at {
            self.clock.advance(at, true, self.next_send());
        }
        Ok(record.map(|record| match record.direction {
            Direction::Returned => Received::Returned(record.mad),
            _ => Received::Mad(record.mad),
        }))
    }
}

#[cfg(test)]
mod tests;
