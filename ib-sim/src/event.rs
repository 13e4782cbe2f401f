//! What comes out of the fabric: packets for hosts, events, counts, and why an operation cannot be done.

use ib_mad::Mad;
use ib_routing::PortRef;
use ib_smp::PortState;
use ib_wire::{Lid, Qpn};
use thiserror::Error;

/// A packet that has reached a port whose host listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The port.
    pub port: PortRef,
    /// Queue pair that it is for.
    pub dest_qp: Qpn,
    /// The LID that it was sent to.
    pub dest_lid: Lid,
    /// The datagram, with its sender's address.
    pub mad: Mad,
    /// Bytes of the datagram that mean something: 256, or what a sender with RMPP below it passed on. The kernel gives a
    /// receiver the same number.
    pub length: u16,
}

/// What happened in the fabric that a host may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notification {
    /// A datagram ended before its destination; only with [`SimOptions::drop_events`](crate::SimOptions::drop_events).
    Dropped {
        /// The host's port that sent it, or that sent the request that it answers.
        origin: PortRef,
        /// Where it ended.
        at: PortRef,
        /// Why.
        reason: DropReason,
        /// The datagram as it was.
        mad: Box<Mad>,
    },
    /// A port changed its state.
    PortState {
        /// The port.
        port: PortRef,
        /// What it was.
        from: PortState,
        /// What it is.
        to: PortState,
    },
}

/// Why a packet ended before its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The port has no link, or the link went down under way.
    LinkDown,
    /// The node is switched off.
    NodeDown,
    /// A packet other than an SMP met a port that is not Active.
    PortNotActive,
    /// The directed route is wrong: its rules say discard.
    DirectedRoute,
    /// No table entry, or one that says drop.
    NoRoute,
    /// The port's LIDs are others.
    WrongLid,
    /// The service level maps to VL 15, or to a lane that does not work.
    NoLane,
    /// The packet went round a loop.
    TooManyHops,
    /// The P_Key is not in the table of a port on the way.
    PKey,
    /// The Q_Key is not the queue pair's.
    QKey,
    /// A port on the way filters raw packets.
    RawFiltered,
    /// A switch's table sends the packet back where it came from.
    SamePort,
    /// The agents have as many SMPs before them as they can hold.
    Vl15Overrun,
    /// The ICRC is wrong: the destination found it.
    Icrc,
    /// The payload is larger than the link's MTU.
    TooLong,
    /// The receiving port takes no packet of this length, or none on this lane.
    Malformed,
    /// A fault of the schedule.
    Lost,
    /// A bit error that the CRC found.
    BitError,
    /// The agent does not answer: it is silent, the M_Key is wrong, or the method asks for none.
    NoAnswer,
    /// Nobody listens there.
    NoListener,
}

/// Counts over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimStats {
    /// Packets that hosts sent.
    pub sent: u64,
    /// Packets that reached a host.
    pub delivered: u64,
    /// Requests that agents answered.
    pub answered: u64,
    /// Link crossings.
    pub hops: u64,
    /// Packets that ended before their destination.
    pub dropped: u64,
    /// Traps that agents sent, repetitions included.
    pub traps: u64,
}

/// What an operation on the fabric names that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SimError {
    /// No such node, or no such port on it.
    #[error("there is no port {} on node {:?}", port.port, port.node)]
    NoSuchPort {
        /// What was asked for.
        port: PortRef,
    },
    /// A CA has no port 0, and an external port of a switch has no host.
    #[error("port {} of node {:?} has no host: on a switch it is port 0, else any other", port.port, port.node)]
    NoHost {
        /// What was asked for.
        port: PortRef,
    },
    /// A port has a cable already.
    #[error("port {} of node {:?} has a cable already", port.port, port.node)]
    Occupied {
        /// The port.
        port: PortRef,
    },
}
