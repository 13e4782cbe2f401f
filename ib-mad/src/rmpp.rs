//! RMPP: messages of many datagrams (IBA vol. 1, 13.6).
//!
//! A table of records does not fit one datagram: it is cut into numbered segments that the receiver
//! acknowledges, a window at a time. [`Rmpp`] keeps the transfers of a port in both directions;
//! [`RmppSender`] and [`RmppReceiver`] are one transfer each.

#[cfg(feature = "alloc")]
mod config;
#[cfg(feature = "alloc")]
mod contexts;
mod header;
#[cfg(feature = "alloc")]
mod message;
#[cfg(feature = "alloc")]
mod reassemble;
#[cfg(feature = "alloc")]
mod segment;
#[cfg(all(test, feature = "alloc"))]
mod tests;

#[cfg(feature = "alloc")]
pub use config::RmppConfig;
#[cfg(feature = "alloc")]
pub use contexts::{Rmpp, RmppEvent, RmppKey};
pub use header::{RmppAbort, RmppAck, RmppData, RmppHeader, RmppStatus, RmppStop, RmppType};
#[cfg(feature = "alloc")]
pub use message::{RmppError, RmppMessage};
#[cfg(feature = "alloc")]
pub use reassemble::RmppReceiver;
#[cfg(feature = "alloc")]
pub use segment::RmppSender;

use crate::{Mad, MadHeader, MgmtClass};

/// First byte of the RMPP header.
const HEADER_AT: usize = MadHeader::LEN;
/// First byte of the class header.
#[cfg(feature = "alloc")]
const CLASS_HEADER_AT: usize = 36;
/// Bytes after the RMPP header: the class header and data.
#[cfg(feature = "alloc")]
const PAYLOAD: usize = 220;

impl MgmtClass {
    /// Bytes of the class header that every segment repeats after the RMPP header; `None` if the class has
    /// no RMPP.
    #[must_use]
    pub const fn rmpp_class_header_len(self) -> Option<usize> {
        match self {
            Self::SUBN_ADM => Some(20),
            Self::DEV_ADM | Self::BIS => Some(28),
            Self(0x30..=0x4f) => Some(4),
            _ => None,
        }
    }
}

impl Mad {
    /// The RMPP header, if the class has one and it is active.
    #[must_use]
    pub fn rmpp(&self) -> Option<&RmppHeader> {
        if !self.header().mgmt_class().has_rmpp_header() {
            return None;
        }
        let (header, _) = RmppHeader::parse(self.bytes.get(HEADER_AT..)?, HEADER_AT).ok()?;
        header.active().then_some(header)
    }
}
