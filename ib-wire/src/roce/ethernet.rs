//! Ethernet II header and VLAN tags (IEEE 802.3 and 802.1Q).

use crate::{code_points, wire_struct};

code_points! {
    /// Protocol of an Ethernet frame's payload.
    pub struct EtherType(u16) {
        IPV4        = 0x0800 => "IPv4",
        ARP         = 0x0806 => "ARP",
        /// A VLAN tag follows.
        VLAN        = 0x8100 => "VLAN",
        IPV6        = 0x86dd => "IPv6",
        /// A service VLAN tag follows (802.1ad).
        SERVICE_VLAN = 0x88a8 => "ServiceVLAN",
        /// RoCE v1: a GRH follows.
        ROCE_V1     = 0x8915 => "RoCEv1",
    }
}

wire_struct! {
    /// Ethernet II header.
    ///
    /// Source: IEEE 802.3, clause 3.
    pub struct Ethernet("Ethernet", 14 bytes) {
        /// MAC address of the receiver.
        dst,        set_dst:        [bytes; 6] = 0, 48;
        /// MAC address of the sender.
        src,        set_src:        [bytes; 6] = 48, 48;
        /// Protocol of the payload, or the kind of tag that follows.
        ether_type, set_ether_type: EtherType  = 96, 16;
    }
}

wire_struct! {
    /// The bytes after the EtherType of a VLAN tag: priority, VLAN, and the next EtherType.
    ///
    /// Source: IEEE 802.1Q, 9.6.
    pub struct Vlan("VLAN", 4 bytes) {
        /// Priority code point.
        pcp,        set_pcp:        u8        = 0, 3;
        /// Drop eligible.
        dei,        set_dei:        bool      = 3, 1;
        /// VLAN identifier.
        vid,        set_vid:        u16       = 4, 12;
        /// Protocol of the payload, or the kind of tag that follows.
        ether_type, set_ether_type: EtherType = 16, 16;
    }
}
