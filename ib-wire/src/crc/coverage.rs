//! The bits that the ICRC takes as ones, by kind of packet.

use super::{
    Generator, Icrc, Invariant, Variant, Vcrc,
    kernel::{copy_and_update_both, update_both, update_masked},
    mask::Mask,
};

/// Kind of packet, as far as the ICRC's masks go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coverage {
    /// LRH and BTH: ones for LRH.vl and BTH byte 4.
    IbaLocal,
    /// LRH, GRH and BTH: ones for the whole LRH, the GRH's t_class, flow_label and hop_lmt, and BTH
    /// byte 4.
    IbaGlobal,
    /// GRH and BTH, as above; eight bytes of ones replace the LRH.
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
        match coverage.mask(headers) {
            Some((register, mask)) => Self::at(update_masked(register, headers, mask)),
            None => with_options(headers),
        }
    }
}

/// Both CRCs of a packet on an InfiniBand link without its own: its ICRC and its VCRC, in one pass.
///
/// `covered` goes from the first byte of the LRH to the last of payload and pad.
#[inline]
#[must_use]
pub fn icrc_and_vcrc(coverage: Coverage, covered: &[u8]) -> ([u8; 4], [u8; 2]) {
    let Some((register, mask)) = coverage.mask(covered) else {
        let icrc = icrc(coverage, covered);
        return (icrc, Vcrc::new().update(covered).update(&icrc).wire());
    };
    wires(update_both([register, Variant::START], covered, mask))
}

/// As [`icrc_and_vcrc`] of `covered` once `payload` is in it, from `at` on, after all its headers; the same
/// pass copies it there.
///
/// Bytes just written would be slow to read again.
#[inline]
pub(crate) fn copy_icrc_and_vcrc(
    coverage: Coverage,
    covered: &mut [u8],
    at: usize,
    payload: &[u8],
) -> ([u8; 4], [u8; 2]) {
    let headers = covered.get(..at).unwrap_or_default();
    let Some((register, mask)) = coverage.mask(headers) else {
        if let Some(to) = covered
            .get_mut(at..)
            .and_then(|to| to.get_mut(..payload.len()))
        {
            to.copy_from_slice(payload);
        }
        return icrc_and_vcrc(coverage, covered);
    };
    let registers = [register, Variant::START];
    wires(copy_and_update_both(registers, covered, at, payload, mask))
}

/// Both CRCs as on the wire; the VCRC covers the ICRC too.
#[inline]
fn wires([invariant, variant]: [u32; 2]) -> ([u8; 4], [u8; 2]) {
    let icrc = Icrc::at(invariant).wire();
    (icrc, Vcrc::at(variant).update(&icrc).wire())
}

impl Coverage {
    /// The register after the bytes before these, and the mask; `None` for IPv4 with options, whose UDP and
    /// BTH are at other places.
    #[inline]
    fn mask(self, headers: &[u8]) -> Option<(u32, &'static Mask)> {
        match self {
            Self::IbaLocal => Some((Invariant::START, &LOCAL)),
            Self::IbaGlobal => Some((Invariant::START, &GLOBAL)),
            Self::RoceV1 => Some((AFTER_LRH, &ROCE_V1)),
            Self::RoceV2Ipv6 => Some((AFTER_LRH, &ROCE_V2_IPV6)),
            Self::RoceV2Ipv4 => match headers.first() {
                Some(first) if first & 15 > 5 => None,
                _ => Some((AFTER_LRH, &ROCE_V2_IPV4)),
            },
        }
    }
}

impl Coverage {
    /// Clears the bits of `change` that the ICRC ignores: `change` is at `place` of the covered bytes; `ip`
    /// starts with the IP header, if there is one.
    pub(crate) fn unmask(self, ip: &[u8], place: usize, change: &mut [u8]) {
        let (mask, start) = match self.mask(ip) {
            Some((_, mask)) => (mask, 0),
            // IPv4 with options: the header's own mask, or that of UDP and BTH at their places.
            None => {
                let udp = usize::from(ip.first().map_or(0, |first| first & 15)).saturating_mul(4);
                if place < udp { (&IPV4, 0) } else { (&UDP, udp) }
            }
        };
        for (at, byte) in (place.saturating_sub(start)..).zip(change) {
            *byte &= !mask.byte(at);
        }
    }
}

/// The register after the eight bytes of ones that replace the LRH of a RoCE packet.
const AFTER_LRH: u32 = 0x2144_df1c ^ 0xffff_ffff;

/// Options move UDP and BTH back.
#[cold]
fn with_options(headers: &[u8]) -> Icrc {
    let ihl = headers.first().map_or(0, |first| first & 15);
    let (ip, rest) = headers.split_at(headers.len().min(usize::from(ihl).wrapping_mul(4)));
    let register = update_masked(AFTER_LRH, ip, &IPV4);
    Icrc::at(update_masked(register, rest, &UDP))
}

/// LRH.vl, BTH byte 4.
const LOCAL: Mask = Mask::NOTHING.bits(0, 0xf0).ones(12, 1);
/// GRH.t_class and GRH.flow_label, GRH.hop_lmt, BTH byte 4.
const ROCE_V1: Mask = Mask::NOTHING
    .bits(0, 0x0f)
    .ones(1, 3)
    .ones(7, 1)
    .ones(44, 1);
/// The same after eight bytes of LRH.
const GLOBAL: Mask = Mask::NOTHING
    .ones(0, 8)
    .bits(8, 0x0f)
    .ones(9, 3)
    .ones(15, 1)
    .ones(52, 1);
/// Type of service, TTL, header checksum of IPv4.
const IPV4: Mask = Mask::NOTHING.ones(1, 1).ones(8, 1).ones(10, 2);
/// The same; UDP checksum; BTH byte 4.
const ROCE_V2_IPV4: Mask = IPV4.ones(26, 2).ones(32, 1);
/// Traffic class and flow label, hop limit; UDP checksum; BTH byte 4.
const ROCE_V2_IPV6: Mask = Mask::NOTHING
    .bits(0, 0x0f)
    .ones(1, 3)
    .ones(7, 1)
    .ones(46, 2)
    .ones(52, 1);
/// UDP checksum and BTH byte 4, from the first byte of UDP.
const UDP: Mask = Mask::NOTHING.ones(6, 2).ones(12, 1);
