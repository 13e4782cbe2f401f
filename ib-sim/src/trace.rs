//! What became of a data packet: every link that it crossed, and where each copy of it ended and why.

use std::collections::BTreeMap;

use ib_mad::Instant;
use ib_routing::PortRef;
use ib_wire::{OpCode, Vl};

use crate::event::DropReason;

/// Number of a data packet that was sent: its trace has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u64);

/// A data packet on its way.
#[derive(Clone, Debug)]
pub(crate) struct DataPacket {
    pub(crate) id: PacketId,
    pub(crate) bytes: Vec<u8>,
    /// Its VCRC is wrong: the first receiver throws it away.
    pub(crate) spoiled: bool,
    /// Its ICRC is wrong: the last receiver throws it away.
    pub(crate) broken: bool,
    /// It has no transport header, so no partition either.
    pub(crate) raw: bool,
    /// What it does; none of a raw packet.
    pub(crate) op_code: Option<OpCode>,
    /// A switch on its way was congested.
    pub(crate) fecn: bool,
    /// The way that its sender's packets take was congested.
    pub(crate) becn: bool,
}

/// The way of a data packet through the fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketTrace {
    /// Every crossing of a link, in the order of time. The copies of a multicast packet are all here.
    pub hops: Vec<PacketHop>,
    /// Where it ended, and each of its copies.
    pub ends: Vec<PacketEnd>,
    pub(crate) in_flight: u32,
}

/// One crossing of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHop {
    /// When it left.
    pub at: Instant,
    /// The port that sent it.
    pub from: PortRef,
    /// The port at the other end of the cable.
    pub to: PortRef,
    /// The virtual lane that SLtoVL gave it there.
    pub vl: Vl,
}

/// Where a packet, or a copy of it, ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketEnd {
    /// When.
    pub at: Instant,
    /// The port that it was delivered to, or where it was discarded.
    pub port: PortRef,
    /// What became of it.
    pub fate: PacketFate,
}

/// What became of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PacketFate {
    /// It reached a port that it is for, with these bytes.
    Delivered(Vec<u8>),
    /// It was discarded.
    Discarded(DropReason),
}

impl PacketTrace {
    /// Whether no copy is on its way any more.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.in_flight == 0
    }

    /// The ports that it was delivered to, in the order of time.
    pub fn delivered(&self) -> impl Iterator<Item = PortRef> + '_ {
        let delivered = |end: &&PacketEnd| matches!(end.fate, PacketFate::Delivered(_));
        self.ends.iter().filter(delivered).map(|end| end.port)
    }

    /// Where it was discarded, and why.
    pub fn discarded(&self) -> impl Iterator<Item = (PortRef, DropReason)> + '_ {
        self.ends.iter().filter_map(|end| match end.fate {
            PacketFate::Discarded(reason) => Some((end.port, reason)),
            PacketFate::Delivered(_) => None,
        })
    }
}

/// The traces of the packets that were sent.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    pub(crate) by_id: BTreeMap<PacketId, PacketTrace>,
    pub(crate) sent: u64,
}
