//! Why a transport of an operating system refuses or ends.

use ib_mad::{Mad, MgmtClass, transport::TransportFailure};
use thiserror::Error;

/// Why a transport cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransportError {
    /// This datagram could not be sent; others may.
    #[error("the datagram cannot be sent: {reason}")]
    Unreachable {
        /// Why, in words.
        reason: &'static str,
    },
    /// The operating system refused.
    #[error("{action}: {source}")]
    Io {
        /// The operation that failed.
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
        /// Management class that could not be registered.
        mgmt_class: MgmtClass,
        /// The usual cause, with a remedy.
        hint: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A replayed recording has another datagram, or none, where the engine sends this one.
    #[error(
        "the engine differs from the recording: it sent {sent:?}, the recording has {expected:?}"
    )]
    Diverged {
        /// The datagram that the engine sent.
        sent: Box<Mad>,
        /// The datagram of the recording.
        expected: Option<Box<Mad>>,
    },
    /// The other side is gone.
    #[error("the transport is closed: {reason}")]
    Closed {
        /// Why, in words.
        reason: String,
    },
}

impl TransportFailure for TransportError {
    fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}
