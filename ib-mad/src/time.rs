//! Time as the state machines see it: `core` has no clock.

use core::{fmt, ops::Add, time::Duration};

/// A moment, in nanoseconds since an epoch that the host chooses. It never goes back.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The host's epoch.
    pub const ZERO: Self = Self(0);

    /// The moment `nanos` nanoseconds after the epoch; the range is 584 years.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The earliest of some timers; `None` if none runs.
    #[must_use]
    #[inline]
    pub fn earliest<const N: usize>(timers: [Option<Self>; N]) -> Option<Self> {
        timers.into_iter().flatten().min()
    }

    /// Time since `earlier`; zero if that is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The moment `wait` later; stays at the end of time instead of wrapping.
    #[must_use]
    pub fn saturating_add(self, wait: Duration) -> Self {
        let nanos = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// As [`saturating_add`](Self::saturating_add).
    fn add(self, wait: Duration) -> Self {
        self.saturating_add(wait)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instant({:?})", Duration::from_nanos(self.0))
    }
}
