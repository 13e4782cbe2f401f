//! InfiniBand and RoCE packets: headers, CRCs, whole packets, without allocation.
//!
//! Start with [`Packet`] to read, [`PacketBuilder`] to write, [`crc`] for the CRCs alone, [`message`] for
//! what is longer than a packet. Every header is a table ([`table`]) that names its fields as the
//! specification does; [`LAYOUTS`] has them all.
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod acknowledge;
pub mod addr;
mod bth;
pub mod const_str;
pub mod crc;
mod error;
mod eth;
mod flow_control;
#[cfg(feature = "arbitrary")]
pub mod generate;
mod grh;
mod ipoib;
mod link;
mod lrh;
pub mod message;
mod node_type;
mod opcode;
pub mod packet;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod properties;
pub mod random;
pub mod roce;
mod rwh;
#[cfg(feature = "proptest")]
pub mod strategy;
pub mod table;
#[cfg(feature = "alloc")]
pub mod text;
pub mod time;

pub use acknowledge::Acknowledge;
pub use addr::{
    Gid, GidPrefix, Guid, Lid, Lmc, MKey, MulticastGid, MulticastScope, PKey, PKeyMembership,
    PKeyParts, PortNum, Psn, QKey, Qpn, Sl, UnicastGid, Vl,
};
pub use bth::Bth;
pub use error::{At, BuildError, ParseError};
pub use eth::{
    Aeth, AethSyndrome, AethSyndromeClass, AtomicAckEth, AtomicEth, CnpRoceV2, CreditCount, Deth,
    Eth, Ieth, ImmDt, NakCode, Rdeth, Reth, RnrTimer, Syndrome, Xrceth,
};
pub use flow_control::{FcpOp, FlowControlPacket};
pub use grh::{Grh, GrhNxtHdr};
pub use ipoib::{ArpOperation, IpoibAddress, IpoibArp, IpoibHeader, IpoibMgid, IpoibSignature};
pub use link::{LinkSpeed, LinkWidth, Mtu, Rate};
pub use lrh::{Lnh, Lrh};
pub use node_type::NodeType;
pub use opcode::{OPERATIONS, OpCode, Operation, PayloadRule, Position, Transport};
pub use packet::{CrcCheck, Fault, FaultKind, Faults, Header, Packet, PacketBuilder, Start};
pub use roce::{EtherType, Ethernet, Ipv4, Ipv4OptionWord, Ipv6, ROCE_V2_PORT, Udp, Vlan};
pub use rwh::Rwh;

/// Every structure of this crate: what prints packets, or reads printed ones, finds layouts here.
pub const LAYOUTS: &[&table::Layout] = &[
    Lrh::LAYOUT,
    Grh::LAYOUT,
    Rwh::LAYOUT,
    Bth::LAYOUT,
    Rdeth::LAYOUT,
    Deth::LAYOUT,
    Reth::LAYOUT,
    AtomicEth::LAYOUT,
    Aeth::LAYOUT,
    AethSyndrome::LAYOUT,
    AtomicAckEth::LAYOUT,
    ImmDt::LAYOUT,
    Ieth::LAYOUT,
    Xrceth::LAYOUT,
    FlowControlPacket::LAYOUT,
    CnpRoceV2::LAYOUT,
    Udp::LAYOUT,
    IpoibHeader::LAYOUT,
    IpoibAddress::LAYOUT,
    IpoibArp::LAYOUT,
    IpoibMgid::LAYOUT,
    UnicastGid::LAYOUT,
    MulticastGid::LAYOUT,
    PKeyParts::LAYOUT,
    Ethernet::LAYOUT,
    Vlan::LAYOUT,
    Ipv4::LAYOUT,
    Ipv4OptionWord::LAYOUT,
    Ipv6::LAYOUT,
];

/// The examples of the README, run.
#[cfg(all(doctest, feature = "arbitrary"))]
#[doc = include_str!("../README.md")]
pub struct Readme;

/// Items of other crates that the exported macros need.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "arbitrary")]
    pub use arbitrary;
    #[cfg(feature = "serde")]
    pub use serde;
    pub use zerocopy;
}
