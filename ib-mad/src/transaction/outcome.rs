//! Results of a transaction window: the meaning of a datagram, and the end of a request.

use core::time::Duration;

use thiserror::Error;

use crate::Mad;

/// The meaning of a datagram to the window.
#[derive(Debug)]
#[must_use]
pub enum MadMatch<C> {
    /// The answer to a request, whatever its status. The transaction is over.
    Answer(Answer<C>),
    /// The request is still open: the responder is busy and will be asked again, or another address
    /// is asked as the responder wishes.
    Pending,
    /// A request, a trap or another message that answers nothing.
    Unsolicited,
    /// A response to nothing that is open: late, repeated or forged.
    Stale,
}

/// A request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<C> {
    /// The caller's context of the request.
    pub context: C,
    /// Number of times that the request was sent.
    pub attempts: u32,
    /// Time since it was sent first.
    pub elapsed: Duration,
}

/// A request that has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestFailure<C> {
    /// The caller's context of the request.
    pub context: C,
    /// The request as it was sent.
    pub request: Mad,
    /// Why it was given up.
    pub reason: FailureReason,
    /// Number of times that the request was sent.
    pub attempts: u32,
}

/// Why a request was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FailureReason {
    /// No answer came to any attempt.
    #[error("no answer")]
    TimedOut,
    /// The transport could not send the last attempt.
    #[error("the request could not be sent")]
    NotSent,
    /// The responder was still busy after the last attempt.
    #[error("the responder stays busy")]
    Busy,
    /// More redirections in a row than are followed.
    #[error("the request was redirected too often")]
    RedirectLoop,
}

/// An event of the window as an [`Engine`](crate::Engine).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WindowEvent<C> {
    /// A request was answered.
    Answered {
        /// The request's context and history.
        answer: Answer<C>,
        /// The datagram that answers it.
        response: Mad,
    },
    /// A request has no answer.
    Failed(RequestFailure<C>),
    /// A request, a trap or another message that answers nothing.
    Unsolicited(Mad),
    /// A response to nothing that is open: late, repeated or forged.
    Stale(Mad),
}

/// The window holds as many requests as it may; the context comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the transaction window is full")]
pub struct WindowFull<C>(pub C);

/// Counts of a window's datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCounters {
    /// Datagrams sent, repetitions included.
    pub sent: u64,
    /// Repetitions.
    pub retried: u64,
    /// Datagrams received.
    pub received: u64,
    /// Requests answered.
    pub answered: u64,
    /// Attempts that no answer came to in time.
    pub timed_out: u64,
    /// Requests given up.
    pub failed: u64,
    /// Answers that said busy.
    pub busy: u64,
    /// Redirections followed.
    pub redirected: u64,
    /// Responses to nothing that was open.
    pub stale: u64,
    /// Messages that answered nothing.
    pub unsolicited: u64,
}
