//! The kernel's user MAD interface, version 5: its structures and control calls.
//!
//! Source: Linux `include/uapi/rdma/ib_user_mad.h`. Most fields are in the machine's byte order,
//! addresses in network order. ibsim's preloaded library speaks the older header of 56 bytes.

use ib_mad::{GrhAddress, Mad, MadAddress};
use ib_wire::{Gid, Lid, QKey, Qpn, Sl};
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout,
    big_endian::{U16, U32},
};

/// Registers an agent; every kernel has it.
pub(super) const REGISTER_AGENT: u32 = 0xc01c_1b01;
/// Takes an agent's registration back.
pub(super) const UNREGISTER_AGENT: u32 = 0x4004_1b02;
/// Switches to the header of 64 bytes; must come before the first registration.
pub(super) const ENABLE_PKEY: u32 = 0x0000_1b03;
/// Registers an agent with flags; switches to the header of 64 bytes by itself.
pub(super) const REGISTER_AGENT2: u32 = 0xc028_1b04;

/// Flag of [`RegisterAgent2`]: the user does RMPP, segments pass as plain datagrams.
pub(super) const USER_RMPP: u32 = 1;

/// Argument of [`REGISTER_AGENT`].
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct RegisterAgent {
    pub(super) id: u32,
    pub(super) method_mask: [u32; 4],
    pub(super) qpn: u8,
    pub(super) mgmt_class: u8,
    pub(super) class_version: u8,
    pub(super) oui: [u8; 3],
    pub(super) rmpp_version: u8,
    pub(super) reserved: u8,
}

/// Argument of [`REGISTER_AGENT2`].
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct RegisterAgent2 {
    pub(super) id: u32,
    pub(super) qpn: u32,
    pub(super) mgmt_class: u8,
    pub(super) class_version: u8,
    pub(super) reserved: u16,
    pub(super) flags: u32,
    pub(super) method_mask: [u64; 2],
    pub(super) oui: u32,
    pub(super) rmpp_version: u8,
    pub(super) reserved2: [u8; 3],
}

const _: () = assert!(size_of::<RegisterAgent>() == 28 && size_of::<RegisterAgent2>() == 40);

/// The header before each datagram that is read or written.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct UserMadHeader {
    /// Agent.
    pub(super) id: u32,
    /// 0, or the error number of a datagram that comes back.
    pub(super) status: u32,
    /// Time for which the kernel waits for the answer; 0: not at all.
    pub(super) timeout_ms: u32,
    /// Number of times that the kernel repeats a request.
    pub(super) retries: u32,
    /// Header and datagram in bytes, on read.
    pub(super) length: u32,
    qpn: U32,
    qkey: U32,
    lid: U16,
    sl: u8,
    path_bits: u8,
    grh_present: u8,
    gid_index: u8,
    hop_limit: u8,
    traffic_class: u8,
    gid: [u8; 16],
    flow_label: U32,
    pkey_index: u16,
    reserved: [u8; 6],
}

impl UserMadHeader {
    /// Length of the whole header.
    pub(super) const LEN: usize = 64;
    /// Length without the P_Key index: the interface before [`ENABLE_PKEY`].
    pub(super) const OLD_LEN: usize = 56;

    /// The header of a datagram to `address` from agent `id`.
    pub(super) fn to(address: &MadAddress, id: u32) -> Self {
        let mut header = Self {
            id,
            qpn: address.qpn.bits().into(),
            qkey: address.qkey.0.into(),
            lid: address.lid.0.into(),
            sl: address.sl.bits(),
            path_bits: address.path_bits,
            pkey_index: address.pkey_index,
            ..Self::default()
        };
        if let Some(grh) = address.grh {
            header.grh_present = 1;
            header.gid_index = grh.gid_index;
            header.hop_limit = grh.hop_limit;
            header.traffic_class = grh.traffic_class;
            header.gid = grh.gid.0;
            header.flow_label = grh.flow_label.into();
        }
        header
    }

    /// The address of the other end.
    pub(super) fn address(&self) -> MadAddress {
        let qpn = Qpn::try_new(self.qpn.get()).unwrap_or(Qpn::MULTICAST);
        MadAddress {
            lid: Lid(self.lid.get()),
            qpn,
            // The kernel reports no key; an answer on QP1 needs the well-known one.
            qkey: if qpn == Qpn::SMI { QKey(0) } else { QKey::GSI },
            sl: Sl::from_low_bits(self.sl),
            path_bits: self.path_bits,
            pkey_index: self.pkey_index,
            grh: (self.grh_present != 0).then(|| GrhAddress {
                gid: Gid(self.gid),
                gid_index: self.gid_index,
                hop_limit: self.hop_limit,
                traffic_class: self.traffic_class,
                flow_label: self.flow_label.get(),
            }),
        }
    }
}

const _: () = assert!(size_of::<UserMadHeader>() == UserMadHeader::LEN);

/// Room for the longest read: a header and a datagram.
pub(super) const BUFFER_LEN: usize = UserMadHeader::LEN + Mad::LEN;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_kernels_layout() {
        let address = MadAddress {
            path_bits: 3,
            pkey_index: 0x1234,
            grh: Some(GrhAddress {
                gid: "fe80::1".parse().unwrap(),
                gid_index: 5,
                hop_limit: 6,
                traffic_class: 7,
                flow_label: 0x000a_bcde,
            }),
            ..MadAddress::gsi(Lid(0x0102), Sl::from_low_bits(4))
        };
        let header = UserMadHeader::to(&address, 9);
        let bytes = header.as_bytes();
        assert_eq!(bytes[0..4], 9u32.to_ne_bytes());
        assert_eq!(bytes[20..24], [0, 0, 0, 1]);
        assert_eq!(bytes[24..28], [0x80, 1, 0, 0]);
        assert_eq!(bytes[28..36], [1, 2, 4, 3, 1, 5, 6, 7]);
        assert_eq!((bytes[36], bytes[51]), (0xfe, 1));
        assert_eq!(bytes[52..56], [0, 0x0a, 0xbc, 0xde]);
        assert_eq!(bytes[56..58], 0x1234u16.to_ne_bytes());
        assert_eq!(header.address(), address);
    }
}
