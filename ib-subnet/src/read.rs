//! A read: one Get of subnet management, as data.

use ib_mad::AttributeId;

use crate::PortId;

/// One Get of a subnet management attribute by a directed route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The device that is asked.
    pub target: ReadTarget,
    /// Attribute to read.
    pub attribute: AttributeId,
    /// Its modifier. For PortInfo only the port: bit 31 is added when the datagram is built, as an answer that
    /// arrives meanwhile may say whether the device knows it.
    pub modifier: u32,
}

/// The device that a [`Read`] asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadTarget {
    /// The node that the reader sits on.
    OwnNode,
    /// The agent of a known port; a switch has one for all its ports.
    Port(PortId),
    /// The unknown node at the other end of this port's cable.
    Behind(PortId),
}

impl ReadTarget {
    /// The known port of the read: for [`Behind`](Self::Behind) the one that the device is connected to.
    #[must_use]
    pub const fn port(self) -> Option<PortId> {
        match self {
            Self::OwnNode => None,
            Self::Port(port) | Self::Behind(port) => Some(port),
        }
    }
}
