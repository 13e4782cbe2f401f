//! Loss, delay and duplication over any transport, by chance and reproducible.

use std::time::Duration;

use ib_mad::{Instant, Mad};
use ib_wire::random::SplitMix64;

use crate::{Clock, MadTransport, Received};

/// The faults of a [`Faulty`] transport. Shares are from 0.0, never, to 1.0, always.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultOptions {
    /// Share of datagrams that are lost, in each direction.
    pub loss: f64,
    /// Share of the datagrams that arrive which arrive twice.
    pub duplication: f64,
    /// Share of the datagrams that arrive which arrive late, so that others overtake them.
    pub delayed: f64,
    /// Longest delay; each delay is drawn between zero and this.
    pub max_delay: Duration,
    /// The same seed draws the same faults for the same datagrams.
    pub seed: u64,
}

impl Default for FaultOptions {
    /// No faults; a delay, where there is one, of up to 10 ms.
    fn default() -> Self {
        Self {
            loss: 0.0,
            duplication: 0.0,
            delayed: 0.0,
            max_delay: Duration::from_millis(10),
            seed: 0,
        }
    }
}

/// A transport that loses, delays and repeats what passes `transport`.
///
/// ```
/// use ib_mad::{Instant, Mad, MadAddress};
/// use ib_transport::{Direction, FaultOptions, Faulty, MadTransport, Record, Replay};
///
/// let mad = Mad::new(MadAddress::DIRECTED);
/// let arrived = Record { at: Instant::ZERO, direction: Direction::Received, mad };
/// let replay = Replay::new([arrived]);
/// let clock = replay.clock();
/// let options = FaultOptions { loss: 1.0, ..FaultOptions::default() };
/// let mut lossy = Faulty::new(replay, clock, options);
/// assert_eq!(lossy.recv(Some(Instant::ZERO))?, None);
/// # Ok::<(), ib_transport::TransportError>(())
/// ```
#[derive(Debug)]
pub struct Faulty<T, C> {
    transport: T,
    clock: C,
    options: FaultOptions,
    random: SplitMix64,
    /// Datagrams that arrive later, and when; in no order.
    late: Vec<(Instant, Received)>,
}

impl<T: MadTransport, C: Clock> Faulty<T, C> {
    /// Wraps `transport`; `clock` is the one that the engine is driven by, or a clone of it.
    pub const fn new(transport: T, clock: C, options: FaultOptions) -> Self {
        Self {
            transport,
            clock,
            options,
            random: SplitMix64::new(options.seed),
            late: Vec::new(),
        }
    }

    /// The transport inside. Delayed datagrams are lost.
    pub fn into_inner(self) -> T {
        self.transport
    }

    /// The datagram that is due first, if it is due at `now`.
    fn take_late(&mut self, now: Instant) -> Option<Received> {
        let first = self.late.iter().map(|(due, _)| *due).min()?;
        if first > now {
            return None;
        }
        let index = self.late.iter().position(|(due, _)| *due == first)?;
        Some(self.late.remove(index).1)
    }

    /// Draws the faults of a datagram that arrived; what is left of it now.
    fn arrive(&mut self, received: Received) -> Option<Received> {
        if self.random.happens(self.options.loss) {
            return None;
        }
        if self.random.happens(self.options.duplication) {
            self.delay(received);
        }
        if self.random.happens(self.options.delayed) {
            self.delay(received);
            return None;
        }
        Some(received)
    }

    fn delay(&mut self, received: Received) {
        let longest = u64::try_from(self.options.max_delay.as_nanos()).unwrap_or(u64::MAX);
        let nanos = self.random.next() % longest.saturating_add(1).max(1);
        let due = self.clock.now().saturating_add(Duration::from_nanos(nanos));
        self.late.push((due, received));
    }
}

impl<T: MadTransport, C: Clock> MadTransport for Faulty<T, C> {
    type Error = T::Error;

    fn send(&mut self, mad: &Mad) -> Result<(), T::Error> {
        if self.random.happens(self.options.loss) {
            return Ok(());
        }
        self.transport.send(mad)
    }

    fn recv(&mut self, deadline: Option<Instant>) -> Result<Option<Received>, T::Error> {
        loop {
            if let Some(received) = self.take_late(self.clock.now()) {
                return Ok(Some(received));
            }
            let due = self.late.iter().map(|(due, _)| *due).min();
            let until = [deadline, due].into_iter().flatten().min();
            match self.transport.recv(until)? {
                Some(received @ Received::Returned(_)) => return Ok(Some(received)),
                Some(received) => {
                    if let Some(received) = self.arrive(received) {
                        return Ok(Some(received));
                    }
                }
                // The transport has nothing until the deadline, and nothing is due before it.
                None if until == deadline => return Ok(self.take_late(self.clock.now())),
                None => {
                    // A transport without time of its own may return before the moment.
                    if let Some(received) = until.and_then(|until| self.take_late(until)) {
                        return Ok(Some(received));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, collections::VecDeque, rc::Rc};

    use ib_mad::{MadAddress, TransactionId};

    use super::*;
    use crate::TransportError;

    #[derive(Clone, Default)]
    struct Hand(Rc<Cell<Instant>>);

    impl Clock for Hand {
        fn now(&self) -> Instant {
            self.0.get()
        }
    }

    /// Has these datagrams, one a millisecond.
    struct Source(VecDeque<(Instant, Mad)>, Hand);

    impl MadTransport for Source {
        type Error = TransportError;

        fn send(&mut self, mad: &Mad) -> Result<(), TransportError> {
            self.0.push_back((self.1.now(), *mad));
            Ok(())
        }

        fn recv(&mut self, deadline: Option<Instant>) -> Result<Option<Received>, TransportError> {
            match self.0.front() {
                Some(&(at, mad)) if deadline.is_none_or(|deadline| at <= deadline) => {
                    self.0.pop_front();
                    self.1.0.set(at.max(self.1.now()));
                    Ok(Some(Received::Mad(mad)))
                }
                _ => {
                    let until = deadline.unwrap_or(self.1.now());
                    self.1.0.set(until.max(self.1.now()));
                    Ok(None)
                }
            }
        }
    }

    fn arrivals(options: FaultOptions) -> Vec<u64> {
        let clock = Hand::default();
        let mads = (0..1000).map(|id| {
            let mut mad = Mad::new(MadAddress::DIRECTED);
            mad.header_mut().set_transaction_id(TransactionId(id));
            (Instant::from_nanos(id * 1_000_000), mad)
        });
        let source = Source(mads.collect(), clock.clone());
        let mut faulty = Faulty::new(source, clock, options);
        let end = Instant::from_nanos(10_000_000_000);
        let mut ids = Vec::new();
        while let Some(Received::Mad(mad)) = faulty.recv(Some(end)).unwrap() {
            ids.push(mad.header().transaction_id().0);
        }
        ids
    }

    #[test]
    fn without_faults_all_arrives_once_in_order() {
        assert_eq!(arrivals(FaultOptions::default()), Vec::from_iter(0..1000));
    }

    #[test]
    fn a_share_is_lost_and_the_same_seed_loses_the_same() {
        let lossy = FaultOptions {
            loss: 0.1,
            seed: 7,
            ..FaultOptions::default()
        };
        let ids = arrivals(lossy);
        assert!((850..950).contains(&ids.len()), "{}", ids.len());
        assert_eq!(arrivals(lossy), ids);
        assert_ne!(arrivals(FaultOptions { seed: 8, ..lossy }), ids);
        assert!(arrivals(FaultOptions { loss: 1.0, ..lossy }).is_empty());
    }

    #[test]
    fn late_datagrams_are_overtaken_and_repeated_ones_come_twice() {
        let late = FaultOptions {
            delayed: 0.5,
            seed: 1,
            ..FaultOptions::default()
        };
        let mut ids = arrivals(late);
        assert_eq!(ids.len(), 1000);
        assert!(!ids.is_sorted());
        ids.sort_unstable();
        assert_eq!(ids, Vec::from_iter(0..1000));
        let repeated = arrivals(FaultOptions {
            duplication: 0.2,
            seed: 1,
            ..FaultOptions::default()
        });
        assert!((1150..1250).contains(&repeated.len()), "{}", repeated.len());
    }
}
