//! What the ICRC takes as ones, by kind of packet.

use super::{Icrc, Invariant, update, update_masked};

/// Kind of packet, as far as the ICRC's masks go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coverage {
    /// LRH and BTH: ones for LRH.vl and BTH byte 4.
    IbaLocal,
    /// LRH, GRH and BTH: ones for the whole LRH, the GRH's t_class, flow_label and hop_lmt, and BTH
    /// byte 4.
    IbaGlobal,
    /// GRH and BTH, as above; eight bytes of ones stand for the LRH.
    RoceV1,
    /// IPv4, UDP and BTH: ones for type of service, TTL and both checksums.
    RoceV2Ipv4,
    /// IPv6, UDP and BTH: ones for traffic class, flow label, hop limit and UDP's checksum.
    RoceV2Ipv6,
}

/// The ICRC of `covered`, as on the wire: from the first byte of LRH, GRH or IP header to the last of
/// payload and pad.
#[inline]
#[must_use]
pub fn icrc(coverage: Coverage, covered: &[u8]) -> [u8; 4] {
    Icrc::masked(coverage, covered).wire()
}

impl Icrc {
    /// The running ICRC of a packet's first bytes, which hold all its headers.
    ///
    /// The payload may follow with [`update`](Self::update), in pieces.
    #[inline]
    #[must_use]
    pub fn masked(coverage: Coverage, headers: &[u8]) -> Self {
        let mask = match coverage {
            Coverage::IbaLocal => return Self::at(run(INIT, headers, &LOCAL)),
            Coverage::IbaGlobal => return Self::at(run(INIT, headers, &GLOBAL)),
            Coverage::RoceV1 => &ROCE_V1,
            Coverage::RoceV2Ipv6 => &ROCE_V2_IPV6,
            Coverage::RoceV2Ipv4 => match headers.first() {
                Some(first) if first & 15 > 5 => return with_options(first & 15, headers),
                _ => &ROCE_V2_IPV4,
            },
        };
        Self::at(run(AFTER_LRH, headers, mask))
    }
}

/// The register at the start.
const INIT: u32 = 0xffff_ffff;
/// The register after the eight bytes of ones that stand for the LRH of a RoCE packet.
const AFTER_LRH: u32 = 0x2144_df1c ^ 0xffff_ffff;

#[inline(always)]
fn run(register: u32, bytes: &[u8], mask: &[u8; 64]) -> u32 {
    update_masked::<Invariant>(register, bytes, mask)
}

/// Options move UDP and BTH back: the headers no longer fit the fixed mask.
#[cold]
fn with_options(ihl: u8, headers: &[u8]) -> Icrc {
    let udp = usize::from(ihl).wrapping_mul(4);
    let (ip, rest) = headers.split_at(headers.len().min(udp));
    let mut masked = [0; 60];
    for ((to, from), mask) in masked.iter_mut().zip(ip).zip(&ROCE_V2_IPV4) {
        *to = from | mask;
    }
    // The fixed mask has UDP and BTH after 20 bytes: only the IP header's part applies here.
    for (to, from) in masked.iter_mut().zip(ip).skip(20) {
        *to = *from;
    }
    let register = update::<Invariant>(AFTER_LRH, masked.get(..ip.len()).unwrap_or_default());
    Icrc::at(run(register, rest, &UDP))
}

/// A mask with 0xFF in the bytes of a range.
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "evaluated at compile time, where a fault is an error"
)]
const fn ones(mut mask: [u8; 64], start: usize, len: usize) -> [u8; 64] {
    let mut at = start;
    while at < start + len {
        mask[at] = 0xff;
        at += 1;
    }
    mask
}

/// A mask with the bits of one byte.
#[allow(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where a fault is an error"
)]
const fn bits(mut mask: [u8; 64], at: usize, bits: u8) -> [u8; 64] {
    mask[at] = bits;
    mask
}

const NOTHING: [u8; 64] = [0; 64];
/// LRH.vl, BTH byte 4.
const LOCAL: [u8; 64] = ones(bits(NOTHING, 0, 0xf0), 12, 1);
/// GRH.t_class and GRH.flow_label, GRH.hop_lmt, BTH byte 4.
const ROCE_V1: [u8; 64] = ones(ones(ones(bits(NOTHING, 0, 0x0f), 1, 3), 7, 1), 44, 1);
/// The same after eight bytes of LRH.
const GLOBAL: [u8; 64] = ones(
    ones(ones(bits(ones(NOTHING, 0, 8), 8, 0x0f), 9, 3), 15, 1),
    52,
    1,
);
/// Type of service, TTL, header checksum; UDP checksum; BTH byte 4.
const ROCE_V2_IPV4: [u8; 64] = ones(
    ones(ones(ones(ones(NOTHING, 1, 1), 8, 1), 10, 2), 26, 2),
    32,
    1,
);
/// Traffic class and flow label, hop limit; UDP checksum; BTH byte 4.
const ROCE_V2_IPV6: [u8; 64] = ones(
    ones(ones(ones(bits(NOTHING, 0, 0x0f), 1, 3), 7, 1), 46, 2),
    52,
    1,
);
/// UDP checksum and BTH byte 4, from the first byte of UDP.
const UDP: [u8; 64] = ones(ones(NOTHING, 6, 2), 12, 1);
