//! Global Route Header: what routers forward by (IBA vol. 1, 8.3).
//!
//! It is an IPv6 header: packets between subnets, multicast packets and every RoCE v1 packet carry it.
//! Pitfall: its traffic class, flow label and hop limit may change between the ends, so the ICRC takes them
//! as ones.

use crate::{Gid, code_points, wire_struct};

code_points! {
    /// Type of the header after the Global Route Header (GRH.nxt_hdr).
    pub struct GrhNxtHdr(u8) {
        /// BTH follows; any other value is a next header of IPv6.
        IBA_TRANSPORT = 27 => "IBATransport",
    }
}

wire_struct! {
    /// Global Route Header: source and destination GID, traffic class, flow label, hop limit.
    ///
    /// Source: IBA vol. 1, 8.3; `headers.csv`, struct `GRH`.
    pub struct Grh("GRH", 40 bytes) {
        /// IP version: 6.
        ip_ver,     set_ip_ver:     u8        = 0, 4;
        /// Traffic class.
        t_class,    set_t_class:    u8        = 4, 8;
        /// Flow label.
        flow_label, set_flow_label: u32       = 12, 20;
        /// Bytes from the byte after the GRH to the last byte of the ICRC.
        pay_len,    set_pay_len:    u16       = 32, 16;
        /// Next header; 0x1B: BTH.
        nxt_hdr,    set_nxt_hdr:    GrhNxtHdr = 48, 8;
        /// Number of routers that the packet may still pass.
        hop_lmt,    set_hop_lmt:    u8        = 56, 8;
        /// Source GID.
        sgid,       set_sgid:       Gid       = 64, 128;
        /// Destination GID.
        dgid,       set_dgid:       Gid       = 192, 128;
    }
}

impl Grh {
    /// The header of a packet from one port to another; its length is the builder's.
    #[must_use]
    pub fn new(sgid: Gid, dgid: Gid) -> Self {
        let mut grh = Self::default();
        grh.set_ip_ver(6)
            .set_nxt_hdr(GrhNxtHdr::IBA_TRANSPORT)
            .set_hop_lmt(64)
            .set_sgid(sgid)
            .set_dgid(dgid);
        grh
    }
}
