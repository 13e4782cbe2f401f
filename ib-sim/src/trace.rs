//! The trace of a data packet: every link that it crossed, and for each copy the port where it ended and the reason.

use std::collections::BTreeMap;

use ib_mad::Instant;
use ib_routing::PortRef;
use ib_wire::{OpCode, Vl};

use crate::event::DropReason;

/// Number of a data packet that was sent: its trace has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u64);

/// A data packet in flight.
#[derive(Clone, Debug)]
pub(crate) struct DataPacket {
    pub(crate) id: PacketId,
    pub(crate) bytes: Vec<u8>,
    /// Its VCRC is wrong: the first receiver drops it.
    pub(crate) spoiled: bool,
    /// Its ICRC is wrong: the last receiver drops it.
    pub(crate) broken: bool,
    /// It has no transport header, so no partition either.
    pub(crate) raw: bool,
    /// Operation of the packet; none for a raw packet.
    pub(crate) op_code: Option<OpCode>,
    /// A switch on its path was congested.
    pub(crate) fecn: bool,
    /// The path of its sender's packets was congested.
    pub(crate) becn: bool,
}

/// The path of a data packet through the fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketTrace {
    /// Every crossing of a link, in the order of time. The copies of a multicast packet are all here.
    pub hops: Vec<PacketHop>,
    /// The end of the packet and of each of its copies.
    pub ends: Vec<PacketEnd>,
    /// Copies that have not ended.
    in_flight: u32,
}

/// One crossing of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHop {
    /// Time at which it left `from`.
    pub at: Instant,
    /// The port that sent it.
    pub from: PortRef,
    /// The port at the other end of the cable.
    pub to: PortRef,
    /// The virtual lane that SLtoVL gave it there.
    pub vl: Vl,
}

/// The end of a packet or of a copy of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketEnd {
    /// Time of the end.
    pub at: Instant,
    /// The port that it was delivered to, or where it was discarded.
    pub port: PortRef,
    /// Delivered or discarded.
    pub fate: PacketFate,
}

/// The fate of a packet: delivered or discarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PacketFate {
    /// It reached a port that it is for, with these bytes.
    Delivered(Vec<u8>),
    /// It was discarded.
    Discarded(DropReason),
}

impl PacketTrace {
    /// Returns whether every copy has ended.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.in_flight == 0
    }

    /// The ports that it was delivered to, in the order of time.
    pub fn delivered(&self) -> impl Iterator<Item = PortRef> + '_ {
        let delivered = |end: &&PacketEnd| matches!(end.fate, PacketFate::Delivered(_));
        self.ends.iter().filter(delivered).map(|end| end.port)
    }

    /// The ports where copies were discarded, each with the reason, in the order of time.
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
    by_id: BTreeMap<PacketId, PacketTrace>,
    sent: u64,
}

impl Traces {
    /// Starts the trace of a new packet.
    pub(crate) fn start(&mut self) -> PacketId {
        let id = PacketId(self.sent);
        self.sent = id.0.saturating_add(1);
        let trace = PacketTrace {
            in_flight: 1,
            ..PacketTrace::default()
        };
        self.by_id.insert(id, trace);
        id
    }

    pub(crate) fn get(&self, id: PacketId) -> Option<&PacketTrace> {
        self.by_id.get(&id)
    }

    pub(crate) fn take(&mut self, id: PacketId) -> Option<PacketTrace> {
        self.by_id.remove(&id)
    }

    pub(crate) fn record_hop(&mut self, id: PacketId, hop: PacketHop) {
        if let Some(trace) = self.by_id.get_mut(&id) {
            trace.hops.push(hop);
        }
    }

    /// Counts a new copy of a packet. `false` if there are more than `limit` copies already.
    pub(crate) fn record_copy(&mut self, id: PacketId, limit: u32) -> bool {
        let Some(trace) = self.by_id.get_mut(&id) else {
            return true;
        };
        if trace.in_flight > limit {
            return false;
        }
        trace.in_flight = trace.in_flight.saturating_add(1);
        true
    }

    /// Discounts the original of copies, which goes nowhere itself.
    pub(crate) fn forget_original(&mut self, id: PacketId) {
        if let Some(trace) = self.by_id.get_mut(&id) {
            trace.in_flight = trace.in_flight.saturating_sub(1);
        }
    }

    pub(crate) fn record_end(&mut self, id: PacketId, end: PacketEnd) {
        if let Some(trace) = self.by_id.get_mut(&id) {
            trace.in_flight = trace.in_flight.saturating_sub(1);
            trace.ends.push(end);
        }
    }
}
