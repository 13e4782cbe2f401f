//! IP headers in front of RoCE v2 (RFC 791 and RFC 8200).

use crate::{Gid, wire_struct};

wire_struct! {
    /// IPv4 header without options.
    ///
    /// Source: RFC 791, 3.1; RFC 2474 and RFC 3168 for byte 1.
    pub struct Ipv4("IPv4", 20 bytes) {
        /// IP version: 4.
        version,         set_version:         u8         = 0, 4;
        /// Length of the header with its options in 4-byte words: 5..=15.
        ihl,             set_ihl:             u8         = 4, 4;
        /// Differentiated services code point.
        dscp,            set_dscp:            u8         = 8, 6;
        /// Explicit congestion notification.
        ecn,             set_ecn:             u8         = 14, 2;
        /// Bytes from the first of this header to the last of the ICRC.
        total_length,    set_total_length:    u16        = 16, 16;
        /// Identification of the datagram's fragments.
        identification,  set_identification:  u16        = 32, 16;
        #[doc(hidden)]
        reserved,        set_reserved:        bool       = 48, 1;
        /// Do not fragment.
        df,              set_df:              bool       = 49, 1;
        /// More fragments follow.
        mf,              set_mf:              bool       = 50, 1;
        /// Place of this fragment in units of 8 bytes.
        fragment_offset, set_fragment_offset: u16        = 51, 13;
        /// Hops that the packet may still take.
        ttl,             set_ttl:             u8         = 64, 8;
        /// Protocol of the payload; 17: UDP.
        protocol,        set_protocol:        u8         = 72, 8;
        /// Checksum of the header.
        checksum,        set_checksum:        u16        = 80, 16;
        /// Address of the sender.
        src,             set_src:             [bytes; 4] = 96, 32;
        /// Address of the receiver.
        dst,             set_dst:             [bytes; 4] = 128, 32;
    }
}

impl Ipv4 {
    /// The header of a RoCE v2 packet that may not be fragmented; lengths and checksum are the
    /// builder's.
    #[must_use]
    pub fn roce_v2(src: [u8; 4], dst: [u8; 4]) -> Self {
        let mut ip = Self::default();
        ip.set_version(4)
            .set_ihl(5)
            .set_df(true)
            .set_ttl(64)
            .set_protocol(17)
            .set_src(&src)
            .set_dst(&dst);
        ip
    }

    /// Writes the checksum of this header and the options that follow it.
    pub fn seal(&mut self, options: &[u8]) -> &mut Self {
        self.set_checksum(0);
        let words = self.as_bytes().chunks(2).chain(options.chunks(2));
        // 60 bytes at most: the sum of 30 words fits 32 bits.
        let sum = words.fold(0u32, |sum, word| {
            let [high, low] = [word.first(), word.get(1)].map(|byte| byte.copied().unwrap_or(0));
            sum.wrapping_add(u32::from(u16::from_be_bytes([high, low])))
        });
        let folded = (sum >> 16).wrapping_add(sum & 0xffff);
        let folded = (folded >> 16).wrapping_add(folded & 0xffff);
        self.set_checksum(!(folded as u16))
    }
}

wire_struct! {
    /// Four bytes of the options that may follow an IPv4 header.
    ///
    /// Source: RFC 791, 3.1.
    pub struct Ipv4OptionWord("IPv4OptionWord", 4 bytes) {
        /// Four bytes of options, the end of the list and padding included.
        option, set_option: [bytes; 4] = 0, 32;
    }
}

wire_struct! {
    /// IPv6 header.
    ///
    /// Source: RFC 8200, section 3.
    pub struct Ipv6("IPv6", 40 bytes) {
        /// IP version: 6.
        version,        set_version:        u8  = 0, 4;
        /// Traffic class.
        traffic_class,  set_traffic_class:  u8  = 4, 8;
        /// Flow label.
        flow_label,     set_flow_label:     u32 = 12, 20;
        /// Bytes after this header, the ICRC included.
        payload_length, set_payload_length: u16 = 32, 16;
        /// Protocol of the payload; 17: UDP.
        next_header,    set_next_header:    u8  = 48, 8;
        /// Hops that the packet may still take.
        hop_limit,      set_hop_limit:      u8  = 56, 8;
        /// Address of the sender.
        src,            set_src:            Gid = 64, 128;
        /// Address of the receiver.
        dst,            set_dst:            Gid = 192, 128;
    }
}

impl Ipv6 {
    /// The header of a RoCE v2 packet; its length is the builder's.
    #[must_use]
    pub fn roce_v2(src: Gid, dst: Gid) -> Self {
        let mut ip = Self::default();
        ip.set_version(6)
            .set_next_header(17)
            .set_hop_limit(64)
            .set_src(src)
            .set_dst(dst);
        ip
    }
}
