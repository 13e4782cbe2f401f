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
#[derive(Clone, Debug, Default)]
pub struct ReplayClock(Rc<Cell<Instant>>);

impl ReplayClock {
    fn advance(&self, to: Instant) {
        self.0.set(self.0.get().max(to));
    }
}

impl Clock for ReplayClock {
    fn now(&self) -> Instant {
        self.0.get()
    }
}

impl Replay {
    /// A transport that plays `records`, which are in the order of time.
    #[must_use]
    pub fn new(records: impl IntoIterator<Item = Record>) -> Self {
        let records: VecDeque<Record> = records.into_iter().collect();
        let clock = ReplayClock::default();
        // The recording's clock may have been running for long: time starts with it.
        if let Some(first) = records.front() {
            clock.advance(first.at);
        }
        Self { records, clock }
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
}

impl MadTransport for Replay {
    /// # Errors
    /// [`Diverged`](TransportError::Diverged) if the recording has another datagram here.
    fn send(&mut self, mad: &Mad) -> Result<(), TransportError> {
        // What arrived between two sends of one burst was recorded between them, too.
        let sent = self
            .records
            .iter()
            .position(|record| record.direction == Direction::Sent)
            .and_then(|index| self.records.remove(index));
        let diverged = |expected: Option<Mad>| TransportError::Diverged {
            sent: Box::new(*mad),
            expected: expected.map(Box::new),
        };
        match sent {
            Some(record) if record.mad == *mad => {
                self.clock.advance(record.at);
                Ok(())
            }
            Some(record) => Err(diverged(Some(record.mad))),
            None => Err(diverged(None)),
        }
    }

    fn recv(&mut self, deadline: Option<Instant>) -> Result<Option<Received>, TransportError> {
        let next = self
            .records
            .iter()
            .position(|record| record.direction != Direction::Sent);
        let due = |record: &Record| deadline.is_none_or(|deadline| record.at <= deadline);
        let record = next
            .filter(|&index| self.records.get(index).is_some_and(due))
            .and_then(|index| self.records.remove(index));
        Ok(match record {
            Some(record) => {
                self.clock.advance(record.at);
                Some(match record.direction {
                    Direction::Returned => Received::Returned(record.mad),
                    _ => Received::Mad(record.mad),
                })
            }
            None => {
                if let Some(deadline) = deadline {
                    self.clock.advance(deadline);
                }
                None
            }
        })
    }
}
