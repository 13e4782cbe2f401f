//! The trait that every way to a fabric implements.

use ib_mad::{Instant, Mad, MgmtClass};
use thiserror::Error;

/// A way to send and receive management datagrams: an adapter, a simulator, a replayed capture.
pub trait MadTransport {
    /// Sends one datagram; does not wait for anything.
    ///
    /// # Errors
    /// [`Unreachable`](TransportError::Unreachable) if this datagram cannot go out while others may;
    /// any other error ends the use of the transport.
    fn send(&mut self, mad: &Mad) -> Result<(), TransportError>;

    /// Waits for the next datagram until `deadline`, or for ever without one.
    ///
    /// `None` at the deadline. A moment that has passed asks what is there already.
    ///
    /// # Errors
    /// What ends the use of the transport.
    fn recv(&mut self, deadline: Option<Instant>) -> Result<Option<Received>, TransportError>;
}

/// What a transport hands up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// A datagram from the fabric.
    Mad(Mad),
    /// The layer below gave a datagram of ours back: no answer came, or it has no way.
    Returned(Mad),
}

/// Why a transport cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The datagram has no way out; others may.
    #[error("the datagram cannot be sent: {reason}")]
    Unreachable {
        /// Why, in words.
        reason: &'static str,
    },
    /// The operating system refused.
    #[error("{action}: {source}")]
    Io {
        /// What was tried.
        action: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// There is no port to use.
    #[error("{reason}")]
    NoPort {
        /// Why, and what there is instead.
        reason: String,
    },
    /// A management class cannot be registered on the port.
    #[error("{port}: class {mgmt_class} cannot be registered: {hint} ({source})")]
    Register {
        /// Device and port.
        port: String,
        /// The class.
        mgmt_class: MgmtClass,
        /// What it means, as a rule.
        hint: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A replayed recording has another datagram, or none, where the engine sends this one.
    #[error("the engine left the recording: it sent {sent:?}, the recording has {expected:?}")]
    Diverged {
        /// What the engine sent.
        sent: Box<Mad>,
        /// What the recording has.
        expected: Option<Box<Mad>>,
    },
    /// The other side is gone.
    #[error("the transport is closed: {reason}")]
    Closed {
        /// Why, in words.
        reason: String,
    },
}
