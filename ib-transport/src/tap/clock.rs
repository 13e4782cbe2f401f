//! A clock that gives an engine only times that a recording holds.
//!
//! A recording has the times of datagrams. An engine also looks at the clock when it takes one in and when
//! its timer has run out, some microseconds later than the one and up to a millisecond later than the
//! other: enough for two timers to be handled together that a replay handles one by one. So the first
//! reading after a wait is the moment of the event that ended it: the datagram's, or the deadline itself.
//! Later readings are the real time, as an engine may have computed for long: its datagrams are then
//! recorded with the time that it read. Pitfall: a reading after which nothing was sent is in no recording
//! either. It has no effect, and the first reading after the next wait may be earlier.

use std::{cell::Cell, rc::Rc};

use ib_mad::Instant;

use crate::Clock;

/// A real clock, for an engine on a [`Tap`](super::Tap) whose recording is to be replayed. Clones are the
/// same clock.
#[derive(Clone, Debug)]
pub struct TappedClock<C> {
    clock: C,
    looks: Rc<Cell<Looks>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Looks {
    /// The latest reading.
    told: Instant,
    /// The last moment that the recording holds or that follows from it: of a datagram, or of a deadline.
    base: Instant,
    /// Whether a wait has ended, at `base`, and the clock has not been read since.
    woke: bool,
}

impl<C: Clock> TappedClock<C> {
    /// A clock that goes with `clock`.
    pub fn new(clock: C) -> Self {
        Self {
            clock,
            looks: Rc::default(),
        }
    }
}

impl<C: Clock> Clock for TappedClock<C> {
    fn now(&self) -> Instant {
        let looks = self.looks.get();
        let told = match looks.woke {
            true => looks.base,
            false => self.clock.now().max(looks.base),
        };
        self.looks.set(Looks {
            told,
            woke: false,
            ..looks
        });
        told
    }

    fn sent(&self) -> Instant {
        let looks = self.looks.get();
        let base = looks.told.max(looks.base);
        self.looks.set(Looks { base, ..looks });
        base
    }

    fn wake(&self, deadline: Option<Instant>, arrived: bool) -> Instant {
        let now = self.clock.now();
        let looks = self.looks.get();
        let woke = match deadline {
            // A datagram that was found there after the deadline counts as received at the deadline.
            Some(deadline) if arrived => now.min(deadline),
            Some(deadline) => deadline,
            None => now,
        };
        let base = woke.max(looks.base);
        self.looks.set(Looks {
            base,
            woke: true,
            ..looks
        });
        base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that is set by hand.
    #[derive(Clone, Default)]
    struct Hand(Rc<Cell<Instant>>);

    impl Clock for Hand {
        fn now(&self) -> Instant {
            self.0.get()
        }
    }

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn the_first_look_after_a_wait_is_what_ended_it_and_the_next_is_the_time() {
        let hand = Hand::default();
        let clock = TappedClock::new(hand.clone());
        // A timer that is handled two milliseconds late.
        hand.0.set(at(102));
        assert_eq!(clock.wake(Some(at(100)), false), at(100));
        assert_eq!(clock.now(), at(100));
        hand.0.set(at(850));
        assert_eq!(clock.now(), at(850));
        // Nothing was sent: the next timer runs out at its own time. Then something is.
        assert_eq!(clock.wake(Some(at(101)), false), at(101));
        assert_eq!(clock.now(), at(101));
        hand.0.set(at(900));
        assert_eq!((clock.now(), clock.sent()), (at(900), at(900)));
        assert_eq!(clock.wake(Some(at(102)), false), at(900));
        assert_eq!(clock.now(), at(900));
        // A datagram in time, one that was found late, and one without a deadline.
        hand.0.set(at(950));
        assert_eq!(clock.wake(Some(at(999)), true), at(950));
        hand.0.set(at(1_003));
        assert_eq!(clock.wake(Some(at(1_000)), true), at(1_000));
        assert_eq!(clock.wake(None, true), at(1_003));
    }
}
