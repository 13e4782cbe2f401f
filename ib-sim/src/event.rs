//! Outputs of the fabric: packets for hosts, notifications, counts, and errors of operations.

use ib_mad::Mad;
use ib_routing::PortRef;
use ib_smp::PortState;
use ib_wire::{Lid, Qpn};
use thiserror::Error;

/// A datagram that has reached a port with a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Port that the datagram came to.
    pub port: PortRef,
    /// Queue pair that it is for.
    pub dest_qp: Qpn,
    /// The LID that it was sent to.
    pub dest_lid: Lid,
    /// The datagram, with its sender's address.
    pub mad: Mad,
    /// Bytes of the datagram that are in use, from 1 to 256. Less than 256 for the last segment of a message whose sender leaves
    /// RMPP to the layer below; the kernel gives a receiver the same number.
    pub length: u16,
}

/// A change or a loss in the fabric that a host may want to handle.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notification {
    /// A datagram ended before its destination; only with [`SimOptions::drop_events`](crate::SimOptions::drop_events).
    Dropped {
        /// The host's port that sent it, or that sent the request that it answers.
        origin: PortRef,
        /// The port where it ended.
        at: PortRef,
        /// Reason of the loss.
        reason: DropReason,
        /// The datagram, with its sender's address.
        mad: Box<Mad>,
    },
    /// A port changed its state.
    PortState {
        /// Port whose state changed.
        port: PortRef,
        /// State before the change.
        from: PortState,
        /// State after the change.
        to: PortState,
    },
}

/// The reason why a packet ended before its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The port has no link, or the link went down while the packet was on it.
    LinkDown,
    /// The node is switched off.
    NodeDown,
    /// A packet other than an SMP met a port that is not Active.
    PortNotActive,
    /// The rules of directed routes discard the packet.
    DirectedRoute,
    /// No table entry, or one that says drop.
    NoRoute,
    /// The destination LID is not one of the port's.
    WrongLid,
    /// The service level maps to VL 15, or to a lane that does not work.
    NoLane,
    /// The packet passed more links than any path without a loop has.
    TooManyHops,
    /// The P_Key is not in the table of a port on the path.
    PKey,
    /// The Q_Key is not the queue pair's.
    QKey,
    /// A port on the path filters raw packets.
    RawFiltered,
    /// The switch's table names the input port as the output port.
    SamePort,
    /// The buffers of VL 15 are full: the agent has not answered earlier SMPs yet.
    Vl15Overrun,
    /// The ICRC is wrong, as the destination detected.
    Icrc,
    /// The payload is larger than the link's MTU.
    TooLong,
    /// The packet is longer than the receiving port's MTUCap, or on a lane that the port does not have.
    Malformed,
    /// A fault of the schedule.
    Lost,
    /// A bit error that the CRC detected.
    BitError,
    /// The agent does not answer: the M_Key is wrong, or the method asks for none.
    NoAnswer,
    /// The node is silent: see [`Behaviour::Silent`](crate::Behaviour::Silent).
    Silent,
    /// No host is attached to the port.
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

/// The reason why an operation on the fabric cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SimError {
    /// No such node, or no such port on it.
    #[error("node {} has no port {}", port.node.0, port.port)]
    NoSuchPort {
        /// The port that was named.
        port: PortRef,
    },
    /// A CA has no port 0, and an external port of a switch has no host.
    #[error("no host is at port {} of node {}: on a switch it is port 0, on other nodes any other", port.port, port.node.0)]
    NoHost {
        /// The port that was named.
        port: PortRef,
    },
    /// A port has a cable already.
    #[error("port {} of node {} has a cable already", port.port, port.node.0)]
    Occupied {
        /// Port that has a cable already.
        port: PortRef,
    },
}
