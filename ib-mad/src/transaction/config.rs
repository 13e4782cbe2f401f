//! Limits and time-outs of a transaction window.

use core::time::Duration;

use crate::TransactionId;

/// Time-outs, repetitions and limits of a transaction window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowConfig {
    /// Time to wait for an answer to the first attempt.
    pub timeout: Duration,
    /// Number of times to repeat a request that is not answered.
    pub retries: u32,
    /// The growth of the time-out with the attempts.
    pub backoff: Backoff,
    /// Repetition before the time-out, once round-trip times are known; `None`: no attempt is repeated before it.
    pub early_repeat: Option<EarlyRepeat>,
    /// Time to wait after the first answer BUSY; twice as long after each further one.
    pub busy_wait: Duration,
    /// Number of repetitions after answers BUSY.
    pub busy_retries: u32,
    /// Number of redirections of a request to follow; with 0 the answer with the redirection is an
    /// [`Answer`](super::Answer) as any other. One without a LID, which needs a path query first,
    /// always is.
    pub max_redirects: u32,
    /// Largest number of requests on the wire.
    pub in_flight: InFlight,
    /// The growth of the window beyond [`in_flight`](Self::in_flight) while nothing is answered; `None`: no growth.
    pub overflow: Option<Overflow>,
    /// Largest number of requests to one destination on the wire.
    pub per_destination: u32,
    /// Largest number of requests open in all, in the queue and on the wire.
    pub max_requests: usize,
    /// The ID of the first request; the high half stays, the low half counts up.
    pub first_transaction_id: TransactionId,
}

impl Default for WindowConfig {
    /// OpenSM's 200 ms and 3 repetitions; 32 in flight, 4 of them to one destination.
    fn default() -> Self {
        Self {
            timeout: Duration::from_millis(200),
            retries: 3,
            backoff: Backoff::NONE,
            early_repeat: None,
            busy_wait: Duration::from_millis(50),
            busy_retries: 8,
            max_redirects: 4,
            in_flight: InFlight::Fixed(32),
            overflow: None,
            per_destination: 4,
            max_requests: 1 << 20,
            first_transaction_id: TransactionId(1),
        }
    }
}

/// Largest number of requests on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// A constant number of requests. Zero counts as one.
    Fixed(u32),
    /// A number that rises with each answer, and is halved when only a repetition is answered. A destination that
    /// never answers changes nothing, because its silence is no sign of overload.
    Adaptive {
        /// Number at the start, and lower limit. Zero counts as one.
        min: u32,
        /// Upper limit.
        max: u32,
    },
}

/// Requests beyond the limit: silent devices that hold all places do not stop the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// Time without an answer and without a new request, after which one more request is sent.
    pub after: Duration,
    /// The window never exceeds this many requests on the wire; up to the limit of `in_flight` it has no effect.
    pub max: u32,
}

/// The growth of the time-out from attempt to attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Each time-out is 2^`doublings` times the one before; 0: all are equal.
    pub doublings: u32,
    /// No time-out is longer than this, unless the first one is.
    pub max: Duration,
}

impl Backoff {
    /// All attempts wait equally long.
    pub const NONE: Self = Self {
        doublings: 0,
        max: Duration::MAX,
    };

    /// Each attempt waits twice as long as the one before, up to 10 s.
    pub const DOUBLE: Self = Self {
        doublings: 1,
        max: Duration::from_secs(10),
    };

    /// Time for which attempt `attempt`, counted from 0, waits if the first one waits `first`.
    #[must_use]
    pub fn wait(&self, first: Duration, attempt: u32) -> Duration {
        let shift = self.doublings.saturating_mul(attempt).min(31);
        let factor = 1u32.checked_shl(shift).unwrap_or(u32::MAX);
        first.saturating_mul(factor).min(self.max.max(first))
    }
}

/// Repetition of a request before its time-out, once the round-trip times of other requests are known.
///
/// An attempt that others would have been answered in is repeated at once; only the last attempt waits for its whole
/// time-out. So a request is repeated as often as without this, and a device that answers within the time-out is never
/// given up, but silent ones cost little more than one time-out instead of one for each attempt. The wait is computed as
/// TCP's: the mean round-trip time and four times its deviation (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyRepeat {
    /// No attempt is repeated earlier than after this time.
    pub min: Duration,
    /// Number of answers from which on requests are repeated early; with fewer the round-trip times are unknown.
    pub after_answers: u32,
}

impl EarlyRepeat {
    /// For reading a subnet: after 8 answers, 20 ms at least, which is a hundred times the round-trip time of a device
    /// with hardware agents.
    pub const READING: Self = Self {
        min: Duration::from_millis(20),
        after_answers: 8,
    };
}

/// Settings of one request that differ from the window's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestOptions {
    /// Time to wait for an answer.
    pub timeout: Option<Duration>,
    /// Number of times to repeat.
    pub retries: Option<u32>,
    /// Whom the limit per destination counts this request for: any number that the caller uses for
    /// a device. Without it the LID counts; a directed route then has no limit of its own.
    pub destination: Option<u64>,
}
