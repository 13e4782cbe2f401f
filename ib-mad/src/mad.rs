//! A management datagram together with the address it goes to or came from.

use core::fmt;

use ib_wire::{Gid, Lid, QKey, Qpn, Sl};
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, transmute_mut, transmute_ref,
};

use crate::{Attribute, MadHeader, RmppData, RmppType, attribute::write_attribute};

/// A whole datagram of 256 bytes and the other end's address: a transport's unit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mad {
    /// Address that it goes to or came from.
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

    /// Bytes of the datagram that hold something: of the last segment of an RMPP transfer 36 and its
    /// PayloadLength, of every other datagram all 256.
    ///
    /// Receivers of a last segment take the number of records from its length, so a layer that carries a
    /// length beside a datagram carries this one. Source: IBA vol. 1, 13.6.2.
    #[must_use]
    pub fn used_len(&self) -> usize {
        let header = self.header();
        let class = header.mgmt_class();
        let last = self.bytes.get(MadHeader::LEN..).and_then(|bytes| {
            let (rmpp, data) = RmppData::parse(bytes, MadHeader::LEN).ok()?;
            let is_last = rmpp.active() && rmpp.rmpp_type() == RmppType::DATA && rmpp.last();
            let payload = usize::try_from(rmpp.payload_length()).ok()?;
            let headers = Self::LEN.checked_sub(data.len())?;
            // The class's own header is a part of the payload.
            let fits =
                class.data_offset() <= headers.checked_add(payload)? && payload <= data.len();
            (class.has_rmpp_header() && is_last && fits).then(|| headers.checked_add(payload))?
        });
        last.unwrap_or(Self::LEN)
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

    /// Makes `value` the content of the datagram: its attribute number and its data. Data after the value
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

/// The bytes of a datagram, cut after the common header.
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

/// The other end of a datagram's path.
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

/// An input of a state machine that exchanges management datagrams.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A datagram arrived; its address is the sender's.
    Mad(&'a Mad),
    /// The transport could not send this datagram.
    SendFailed(&'a Mad),
    /// The layer below returned a datagram of ours, at least its header: its answer did not come in time,
    /// or there is no path.
    Returned(&'a Mad),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MgmtClass;

    #[test]
    fn only_the_last_segment_of_a_transfer_is_shorter_than_a_datagram() {
        for (class, flags, payload, len) in [
            (MgmtClass::SUBN_ADM, 0b101, 20 + 112, 36 + 132),
            (MgmtClass::SUBN_ADM, 0b101, 220, 256),
            // Active, but not last; last, but not active.
            (MgmtClass::SUBN_ADM, 0b001, 132, 256),
            (MgmtClass::SUBN_ADM, 0b100, 132, 256),
            // Lengths that cannot be: shorter than the class's header, longer than a datagram.
            (MgmtClass::SUBN_ADM, 0b101, 19, 256),
            (MgmtClass::SUBN_ADM, 0b101, 221, 256),
            // The same bytes in a class without RMPP.
            (MgmtClass::PERF, 0b101, 132, 256),
            (MgmtClass(0x30), 0b101, 4 + 8, 48),
        ] {
            let mut mad = Mad::new(MadAddress::DIRECTED);
            mad.header_mut().set_mgmt_class(class);
            let (rmpp, _) = RmppData::parse_mut(&mut mad.bytes[24..], 24).unwrap();
            rmpp.set_rmpp_type(RmppType::DATA)
                .set_active(flags & 1 != 0)
                .set_last(flags & 4 != 0)
                .set_payload_length(payload);
            assert_eq!(mad.used_len(), len, "{class} {flags:03b} {payload}");
        }
    }
}
