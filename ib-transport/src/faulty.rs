//! Loss, delay and duplication over any transport, by chance and reproducible.

use std::time::Duration;

use ib_mad::{Instant, Mad};
use ib_wire::random::SplitMix64;

use crate::{MadTransport, Received};

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
/// use ib_mad::Instant;
/// use ib_transport::{FaultOptions, Faulty, MadTransport};
///
/// fn half_is_lost<T: MadTransport>(port: T) -> Faulty<T> {
///     Faulty::new(port, FaultOptions { loss: 0.5, ..FaultOptions::default() })
/// }
/// ```
#[derive(Debug)]
pub struct Faulty<T> {
    transport: T,
    options: FaultOptions,
    random: SplitMix64,
    /// Datagrams that arrive later, and when; in no order.
    late: Vec<(Instant, Received)>,
}

impl<T: MadTransport> Faulty<T> {
    /// Wraps `transport`.
    pub const fn new(transport: T, options: FaultOptions) -> Self {
        Self {
            transport,
            options,
            random: SplitMix64::new(options.seed),
            late: Vec::new(),
        }
    }

    /// The transport inside. Delayed datagrams are lost.
    pub fn into_inner(self) -> T {
        self.transport
    }

    /// Time at which the first of the delayed datagrams arrives.
    fn next_due(&self) -> Option<Instant> {
        self.late.iter().map(|(due, _)| *due).min()
    }

    /// The datagram that is due first, if it is due at `now`.
    fn take_late(&mut self, now: Instant) -> Option<Received> {
        let first = self.next_due()?;
        if first > now {
            return None;
        }
        let index = self.late.iter().position(|(due, _)| *due == first)?;
        Some(self.late.remove(index).1)
    }

    /// Draws the faults of a datagram that arrived; what is left of it now.
    fn arrive(&mut self, now: Instant, received: Received) -> Option<Received> {
        if self.random.happens(self.options.loss) {
            return None;
        }
        if self.random.happens(self.options.duplication) {
            self.delay(now, received);
        }
        if self.random.happens(self.options.delayed) {
            self.delay(now, received);
            return None;
        }
        Some(received)
    }

    fn delay(&mut self, now: Instant, received: Received) {
        let longest = u64::try_from(self.options.max_delay.as_nanos()).unwrap_or(u64::MAX);
        let nanos = self.random.next() % longest.saturating_add(1).max(1);
        let due = now.saturating_add(Duration::from_nanos(nanos));
        self.late.push((due, received));
    }
}

impl<T: MadTransport> MadTransport for Faulty<T> {
    type Error = T::Error;

    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), T::Error> {
        if self.random.happens(self.options.loss) {
            return Ok(());
        }
        self.transport.send(now, mad)
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, T::Error> {
        loop {
            if let Some(received) = self.take_late(now) {
                return Ok(Some(received));
            }
            let arrived = match self.transport.recv(now)? {
                Some(received @ Received::Mad(_)) => self.arrive(now, received),
                returned_or_none => return Ok(returned_or_none),
            };
            if arrived.is_some() {
                return Ok(arrived);
            }
        }
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, T::Error> {
        let due = self.next_due();
        let until = Instant::earliest([until, due]);
        Ok(self.transport.wait(now, until)? || due.is_some())
    }

    fn flush(&mut self, now: Instant) -> Result<(), T::Error> {
        self.transport.flush(now)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use ib_mad::{MadAddress, TransactionId};

    use super::*;
    use crate::TransportError;

    /// Has these datagrams, one a millisecond.
    struct Source(VecDeque<(Instant, Mad)>);

    impl MadTransport for Source {
        type Error = TransportError;

        fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), TransportError> {
            self.0.push_back((now, *mad));
            Ok(())
        }

        fn recv(&mut self, now: Instant) -> Result<Option<Received>, TransportError> {
            let arrived = self.0.front().is_some_and(|(at, _)| *at <= now);
            let next = arrived.then(|| self.0.pop_front()).flatten();
            Ok(next.map(|(_, mad)| Received::Mad(mad)))
        }

        fn wait(&mut self, _: Instant, _: Option<Instant>) -> Result<bool, TransportError> {
            Ok(!self.0.is_empty())
        }
    }

    fn arrivals(options: FaultOptions) -> Vec<u64> {
        let mads = (0..1000).map(|id| {
            let mut mad = Mad::new(MadAddress::DIRECTED);
            mad.header_mut().set_transaction_id(TransactionId(id));
            (Instant::from_nanos(id * 1_000_000), mad)
        });
        let mut faulty = Faulty::new(Source(mads.collect()), options);
        let mut ids = Vec::new();
        for tenth_of_ms in 0..11_000 {
            let now = Instant::from_nanos(tenth_of_ms * 100_000);
            while let Some(Received::Mad(mad)) = faulty.recv(now).unwrap() {
                ids.push(mad.header().transaction_id().0);
            }
        }
        assert!(!faulty.wait(Instant::ZERO, None).unwrap());
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
