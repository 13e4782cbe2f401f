//! Local Route Header: what switches forward by (IBA vol. 1, 7.7).
//!
//! Every packet on an InfiniBand link starts with it. Pitfall: its VL is the only field that a
//! switch may change, so the ICRC of a local packet takes the VL as ones.

use crate::{Lid, Sl, Vl, code_points, wire_struct};

code_points! {
    /// Kind of headers after the Local Route Header (LRH.lnh).
    pub struct Lnh(u8) {
        /// RWH follows: a raw packet with an EtherType.
        RAW        = 0 => "Raw",
        /// An IPv6 packet follows, without an InfiniBand transport.
        IPV6       = 1 => "IPv6",
        /// BTH follows: an InfiniBand packet that stays in the subnet.
        IBA_LOCAL  = 2 => "IBALocal",
        /// GRH follows, then BTH.
        IBA_GLOBAL = 3 => "IBAGlobal",
    }
}

impl Lnh {
    /// Returns true if an InfiniBand transport follows, a BTH, with or without a GRH in front.
    #[inline]
    #[must_use]
    pub const fn is_transport(self) -> bool {
        self.0 & 2 != 0
    }
}

wire_struct! {
    /// Local Route Header: virtual lane, service level, source and destination LID, length.
    ///
    /// Source: IBA vol. 1, 7.7; `headers.csv`, struct `LRH`.
    pub struct Lrh("LRH", 8 bytes) {
        /// Virtual lane; 15 is management.
        vl,      set_vl:      Vl  = 0, 4;
        /// Link version: 0.
        lver,    set_lver:    u8  = 4, 4;
        /// Service level.
        sl,      set_sl:      Sl  = 8, 4;
        #[doc(hidden)]
        resv2,   set_resv2:   u8  = 12, 2;
        /// Link next header.
        lnh,     set_lnh:     Lnh = 14, 2;
        /// Destination LID.
        dlid,    set_dlid:    Lid = 16, 16;
        #[doc(hidden)]
        resv5,   set_resv5:   u8  = 32, 5;
        /// 4-byte words from the first byte of the LRH to the last byte before the VCRC.
        pkt_len, set_pkt_len: u16 = 37, 11;
        /// Source LID.
        slid,    set_slid:    Lid = 48, 16;
    }
}
