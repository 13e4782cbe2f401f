//! A read: one Get of subnet management, represented as data.

use ib_mad::AttributeId;

use crate::PortId;

/// One Get of a subnet management attribute by a directed route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The device to which the Get is sent.
    pub target: ReadTarget,
    /// Attribute to read.
    pub attribute: AttributeId,
    /// The attribute modifier. For PortInfo only the port: bit 31 is added when the datagram is built, because an
    /// answer that arrives in between may show whether the device supports it.
    pub modifier: u32,
}

/// The device to which a [`Read`] is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadTarget {
    /// The node of the reader.
    OwnNode,
    /// The agent of a known port; a switch has one for all its ports.
    Port(PortId),
    /// The unknown node at the other end of this port's cable.
    Behind(PortId),
}

impl ReadTarget {
    /// The known port of the read: for [`Behind`](Self::Behind) the port to which the device is connected.
    #[must_use]
    pub const fn port(self) -> Option<PortId> {
        match self {
            Self::OwnNode => None,
            Self::Port(port) | Self::Behind(port) => Some(port),
        }
    }
}
