//! A whole message, and why there is none.

use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;
use ib_wire::table::DebugSecret;
use thiserror::Error;

use super::{CLASS_HEADER_AT, RmppStatus};
use crate::{Mad, MadAddress, MadHeader, MgmtClass};

/// A message that was put together from its segments.
#[derive(Clone, PartialEq, Eq)]
pub struct RmppMessage {
    /// The first segment: address, common header and class header of the message.
    pub first: Mad,
    /// The data of all segments, without their headers.
    pub data: Bytes,
}

impl RmppMessage {
    /// Address of the sender.
    #[must_use]
    pub fn address(&self) -> MadAddress {
        self.first.address
    }

    /// The common header.
    #[must_use]
    pub fn header(&self) -> MadHeader {
        self.first.header()
    }

    /// The class header, such as the subnet administrator's 20 bytes.
    #[must_use]
    pub fn class_header(&self) -> &[u8] {
        self.head().get(CLASS_HEADER_AT..).unwrap_or_default()
    }

    /// The message as the kernel hands it to user space: the headers once, then all data.
    #[must_use]
    pub fn to_umad(&self) -> Vec<u8> {
        [self.head(), &self.data].concat()
    }

    /// The headers of the first segment.
    fn head(&self) -> &[u8] {
        let class_header = self.header().mgmt_class().rmpp_class_header_len();
        let len = CLASS_HEADER_AT.saturating_add(class_header.unwrap_or(0));
        self.first.bytes.get(..len).unwrap_or_default()
    }
}

impl fmt::Debug for RmppMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RmppMessage")
            .field("first", &self.first)
            .field("data", &DebugSecret(&self.data))
            .finish()
    }
}

/// Why a transfer cannot start, or ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RmppError {
    /// The class has no RMPP.
    #[error("class {class} has no RMPP")]
    NoRmpp {
        /// Class of the datagram.
        class: MgmtClass,
    },
    /// The message is longer than segment numbers and lengths reach.
    #[error("{len} bytes are more than a message can have")]
    TooLong {
        /// Bytes of the message.
        len: usize,
    },
    /// A transfer with the same transaction ID to the same port goes on.
    #[error("a transfer of the same transaction is in progress")]
    Duplicate,
    /// As many messages are being sent, to this port or in all, as may be, and all of them are acknowledged.
    #[error("too many messages are being sent")]
    Busy,
    /// This side ended the transfer.
    #[error("the transfer was ended: {status}")]
    Ended {
        /// Status of the STOP or ABORT that was sent.
        status: RmppStatus,
    },
    /// The peer ended the transfer.
    #[error("the peer ended the transfer: {status}")]
    EndedByPeer {
        /// Status of the STOP or ABORT that came.
        status: RmppStatus,
    },
}
