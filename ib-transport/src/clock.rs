//! The clock of the operating system.

use ib_mad::{Instant, transport::Clock};

/// The system's monotonic clock; its epoch is its creation.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock(std::time::Instant);

impl MonotonicClock {
    /// A clock that starts now.
    #[must_use]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Instant {
        Instant::ZERO + self.0.elapsed()
    }
}
