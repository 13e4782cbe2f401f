//! UDP header in front of RoCE v2 (RFC 768; IBA vol. 1, annex A17).

use crate::wire_struct;

/// The UDP port that RoCE v2 packets are sent to.
pub const ROCE_V2_PORT: u16 = 4791;

wire_struct! {
    /// UDP header: the source port spreads flows over paths, the destination port is 4791.
    ///
    /// Source: RFC 768; `headers.csv`, struct `UDP`.
    pub struct Udp("UDP", 8 bytes) {
        /// Source port: the same for one flow, so that its packets take one path.
        src_port, set_src_port: u16 = 0, 16;
        /// Destination port; RoCE v2: 4791.
        dst_port, set_dst_port: u16 = 16, 16;
        /// Bytes from the first of this header to the last of the ICRC.
        length,   set_length:   u16 = 32, 16;
        /// Checksum; may be 0: none.
        checksum, set_checksum: u16 = 48, 16;
    }
}
