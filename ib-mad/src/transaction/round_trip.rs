//! The estimate of round-trip times, by which requests are repeated before their time-out.

use core::time::Duration;

use super::EarlyRepeat;

/// Smoothed mean and deviation of the round-trip times so far, as TCP computes them (RFC 6298, 2.2 and 2.3).
///
/// An answer to a repetition counts from the first attempt: that is at most too long, so the estimate errs to the
/// patient side.
#[derive(Debug, Default)]
pub(super) struct RoundTrips {
    /// In nanoseconds.
    mean: u64,
    /// In nanoseconds.
    deviation: u64,
    answers: u32,
}

impl RoundTrips {
    pub(super) fn answered(&mut self, elapsed: Duration) {
        let elapsed = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        if self.answers == 0 {
            self.mean = elapsed;
            self.deviation = elapsed / 2;
        } else {
            let distance = self.mean.abs_diff(elapsed);
            self.deviation = self.deviation.saturating_mul(3).saturating_add(distance) / 4;
            self.mean = self.mean.saturating_mul(7).saturating_add(elapsed) / 8;
        }
        self.answers = self.answers.saturating_add(1);
    }

    /// Time after which an attempt that is not the last one is repeated; `None` while too few answers are known.
    pub(super) fn wait(&self, early: EarlyRepeat) -> Option<Duration> {
        let usual = self.mean.saturating_add(self.deviation.saturating_mul(4));
        let wait = Duration::from_nanos(usual).max(early.min);
        (self.answers >= early.after_answers).then_some(wait)
    }
}
