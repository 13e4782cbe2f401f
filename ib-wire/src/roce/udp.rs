//! UDP header in front of RoCE v2 (RFC 768; IBA vol. 1, annex A17).

use crate::{Qpn, wire_struct};

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

/// A flow label for two queue pairs, so that each pair of a connection has its own and keeps it: 20
/// bits.
///
/// Source: `rdma_calc_flow_label` of the kernel's RDMA core: the same flows get the same label.
#[must_use]
pub const fn flow_label(src_qp: Qpn, dest_qp: Qpn) -> u32 {
    // Two numbers of 24 bits: the product has 48.
    let product = (src_qp.bits() as u64).wrapping_mul(dest_qp.bits() as u64);
    let folded = product ^ product >> 20 ^ product >> 40;
    (folded & 0xf_ffff) as u32
}

/// The UDP source port of a flow: the flow label's 20 bits folded to 14, in 0xC000..=0xFFFF.
///
/// Source: annex A17 asks for the range; `rdma_flow_label_to_udp_sport` of the kernel's RDMA core
/// for the folding.
#[must_use]
pub const fn source_port(flow_label: u32) -> u16 {
    let folded = flow_label & 0x3fff ^ flow_label >> 14 & 0x3f;
    folded as u16 | 0xc000
}

impl Udp {
    /// The header of a RoCE v2 packet of one flow, without checksum; its length is the builder's.
    #[must_use]
    pub fn roce_v2(flow_label: u32) -> Self {
        let mut udp = Self::default();
        udp.set_src_port(source_port(flow_label))
            .set_dst_port(ROCE_V2_PORT);
        udp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_ports_stay_in_their_range_and_spread() {
        let mut seen = std::collections::BTreeSet::new();
        let side = if cfg!(miri) { 8 } else { 64 };
        for src in 0..side {
            for dest in 0..side {
                let qpn = |bits: u32| Qpn::try_new(0x800 + bits).unwrap();
                let label = flow_label(qpn(src), qpn(dest));
                assert_eq!(label, flow_label(qpn(dest), qpn(src)), "both directions");
                assert!(label < 1 << 20);
                assert!(source_port(label) >= 0xc000);
                seen.insert(source_port(label));
            }
        }
        assert!(seen.len() > (side * side / 5) as usize, "{}", seen.len());
    }
}
