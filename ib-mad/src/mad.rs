//! A management datagram together with the address it goes to or came from.

use core::fmt;

use ib_wire::{Gid, Lid, QKey, Qpn, Sl};
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, transmute_mut, transmute_ref,
};

use crate::{Attribute, MadHeader, attribute::write_attribute};

/// A whole datagram of 256 bytes and the other end's address: a transport's unit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mad {
    /// Where it goes to, or where it came from.
    pub address: MadAddress,
    /// The datagram as it is on the wire.
    pub bytes: [u8; Self::LEN],
}

impl Mad {
    /// Length of every datagram.
    pub const LEN: usize = 256;

    /// A datagram of zeros to `address`.
    #[must_use]
    pub const fn new(address: MadAddress) -> Self {
        Self {
            address,
            bytes: [0; Self::LEN],
        }
    }

    /// The common header.
    #[inline]
    #[must_use]
    pub fn header(&self) -> MadHeader {
        let parts: &Parts = transmute_ref!(&self.bytes);
        parts.header
    }

    /// The common header, for writing.
    #[inline]
    #[must_use]
    pub fn header_mut(&mut self) -> &mut MadHeader {
        let parts: &mut Parts = transmute_mut!(&mut self.bytes);
        &mut parts.header
    }

    /// Makes `value` what the datagram carries: its attribute number and its data. Data behind the value
    /// become zero; a value longer than the room is cut off.
    ///
    /// The class must be set: it says where the data begin.
    pub fn set_attribute<T>(&mut self, value: &T) -> &mut Self
    where
        T: Attribute + IntoBytes + Immutable,
    {
        let class = self.header().mgmt_class();
        self.header_mut().set_attribute_id(T::ID);
        write_attribute(&mut self.bytes, class, value);
        self
    }
}

/// The bytes of a datagram, cut behind the common header.
#[derive(FromBytes, IntoBytes, Unaligned, Immutable, KnownLayout)]
#[repr(C)]
struct Parts {
    header: MadHeader,
    rest: [u8; Mad::LEN - MadHeader::LEN],
}

impl fmt::Debug for Mad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mad")
            .field("address", &self.address)
            .field("header", &self.header())
            .finish_non_exhaustive()
    }
}

/// The other end of a datagram's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadAddress {
    /// Destination LID of what is sent, source LID of what was received; permissive for a directed
    /// route from end to end.
    pub lid: Lid,
    /// The other end's queue pair: QP0 or QP1, as a rule.
    pub qpn: Qpn,
    /// Queue key to send with; 0 on QP0.
    pub qkey: QKey,
    /// Service level.
    pub sl: Sl,
    /// Low bits of the own LID that are used as the source.
    pub path_bits: u8,
    /// Index into the port's P_Key table.
    pub pkey_index: u16,
    /// The global route header, where there is one.
    pub grh: Option<GrhAddress>,
}

impl MadAddress {
    /// QP0 of whichever port a directed route ends at.
    pub const DIRECTED: Self = Self::smi(Lid::PERMISSIVE);

    /// QP0, the subnet management interface, of the port with this LID.
    #[must_use]
    pub const fn smi(lid: Lid) -> Self {
        Self {
            lid,
            qpn: Qpn::SMI,
            qkey: QKey(0),
            sl: Sl::ZERO,
            path_bits: 0,
            pkey_index: 0,
            grh: None,
        }
    }

    /// QP1, the general services interface, of the port with this LID.
    #[must_use]
    pub const fn gsi(lid: Lid, sl: Sl) -> Self {
        Self {
            qpn: Qpn::GSI,
            qkey: QKey::GSI,
            sl,
            ..Self::smi(lid)
        }
    }
}

/// The part of an address that only a global route header carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrhAddress {
    /// GID of the other end.
    pub gid: Gid,
    /// Index into the port's GID table: the own GID.
    pub gid_index: u8,
    /// Hops that routers may still take.
    pub hop_limit: u8,
    /// Traffic class.
    pub traffic_class: u8,
    /// Flow label: 20 bits.
    pub flow_label: u32,
}

/// What happens to a state machine that speaks in management datagrams.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A datagram arrived; its address is the sender's.
    Mad(&'a Mad),
    /// The transport could not send this datagram.
    SendFailed(&'a Mad),
    /// The layer below gave a datagram of ours back, by its header at least: it waited for the answer in vain,
    /// or learned that there is no way.
    Returned(&'a Mad),
}
