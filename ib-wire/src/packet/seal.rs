//! Lengths, checksums and CRCs of a packet that is complete but for them.

use super::{Network, Start, shape::Shape};
use crate::{
    Bth, BuildError, Grh, Ipv4, Ipv6, Lrh, Udp,
    crc::{self, Coverage},
};

/// Writes the length fields, the IPv4 checksum and the CRCs of the packet that fills `bytes`.
///
/// `bytes` end with room for the CRCs: six bytes for ICRC and VCRC on an InfiniBand link, two for the
/// VCRC of a raw packet, four for the ICRC elsewhere. The pad count stays as it is.
///
/// # Errors
/// [`BuildError::NoRoom`] if a header does not fit; [`TooLong`](BuildError::TooLong) if a length field
/// cannot hold the length; [`Unaligned`](BuildError::Unaligned) if the packet is no multiple of 4
/// bytes; [`NotAPacket`](BuildError::NotAPacket) if the bytes are no InfiniBand or RoCE packet.
pub fn seal(start: Start, bytes: &mut [u8]) -> Result<(), BuildError> {
    let Shape { network, net, .. } = Shape::of(start, bytes);
    if start == Start::Ib {
        set_lengths(network, bytes)?;
        return write_crcs(network, bytes, None);
    }
    let packet = bytes.get_mut(net..).unwrap_or_default();
    if !packet.len().is_multiple_of(4) {
        return Err(BuildError::Unaligned {
            part: "packet",
            len: packet.len(),
        });
    }
    seal_as(network, packet, true)
}

/// As [`seal`], of a RoCE packet whose headers are known, from GRH or IP on.
#[inline]
pub(super) fn seal_as(
    network: Network,
    bytes: &mut [u8],
    computes_checksum: bool,
) -> Result<(), BuildError> {
    match network {
        Network::RoceV1 => {
            let (grh, rest) = open(bytes, Grh::parse_mut)?;
            grh.set_pay_len(length("GRH.pay_len", rest.len())?);
            write_icrc(Coverage::RoceV1, bytes)
        }
        Network::RoceV2Ipv4 => {
            let total = length("IPv4.total_length", bytes.len())?;
            let (ip, rest) = open(bytes, Ipv4::parse_mut)?;
            let header = usize::from(ip.ihl()).wrapping_mul(4);
            let (options, rest) = header
                .checked_sub(Ipv4::LEN)
                .and_then(|options| rest.split_at_mut_checked(options))
                .ok_or(BuildError::NotAPacket)?;
            ip.set_total_length(total);
            if computes_checksum {
                ip.seal(options);
            }
            let len = rest.len();
            open(rest, Udp::parse_mut)?
                .0
                .set_length(length("UDP.length", len)?);
            write_icrc(Coverage::RoceV2Ipv4, bytes)
        }
        Network::RoceV2Ipv6 => {
            let (ip, rest) = open(bytes, Ipv6::parse_mut)?;
            let len = length("IPv6.payload_length", rest.len())?;
            ip.set_payload_length(len);
            open(rest, Udp::parse_mut)?.0.set_length(len);
            write_icrc(Coverage::RoceV2Ipv6, bytes)
        }
        _ => Err(BuildError::NotAPacket),
    }
}

/// The value of `LRH.pkt_len` for a packet of `len` bytes, VCRC included: its 4-byte words.
#[inline(always)]
pub(super) fn words(len: usize) -> Result<u16, BuildError> {
    let covered = len.saturating_sub(2);
    if !covered.is_multiple_of(4) {
        return Err(BuildError::Unaligned {
            part: "packet",
            len: covered,
        });
    }
    let words = covered / 4;
    if words > 0x7ff {
        return Err(BuildError::TooLong {
            field: "LRH.pkt_len",
            len: words,
            max: 0x7ff,
        });
    }
    Ok(words as u16)
}

/// Writes the length fields of a packet of a link.
fn set_lengths(network: Network, bytes: &mut [u8]) -> Result<(), BuildError> {
    let words = words(bytes.len())?;
    let (lrh, rest) = open(bytes, Lrh::parse_mut)?;
    lrh.set_pkt_len(words);
    if network == Network::Global {
        let (grh, rest) = open(rest, Grh::parse_mut)?;
        grh.set_pay_len(length("GRH.pay_len", rest.len().saturating_sub(2))?);
    }
    Ok(())
}

/// Writes the CRCs of a packet of a link. Its `payload` may still be missing: where it goes, and the
/// bytes, which are copied there.
#[inline(always)]
pub(super) fn write_crcs(
    network: Network,
    bytes: &mut [u8],
    payload: Option<(usize, &[u8])>,
) -> Result<(), BuildError> {
    let (rest, vcrc) = bytes.split_last_chunk_mut().ok_or(BuildError::NotAPacket)?;
    let coverage = match network {
        Network::Local => Coverage::IbaLocal,
        Network::Global => Coverage::IbaGlobal,
        Network::Raw | Network::RawIpv6 => {
            *vcrc = crc::vcrc(rest);
            return Ok(());
        }
        _ => return Err(BuildError::NotAPacket),
    };
    let (covered, icrc) = rest.split_last_chunk_mut().ok_or(BuildError::NotAPacket)?;
    if covered.len() < Lrh::LEN + Bth::LEN {
        return Err(BuildError::NotAPacket);
    }
    (*icrc, *vcrc) = match payload {
        Some((at, payload)) => crc::copy_icrc_and_vcrc(coverage, covered, at, payload),
        None => crc::icrc_and_vcrc(coverage, covered),
    };
    Ok(())
}

fn write_icrc(coverage: Coverage, bytes: &mut [u8]) -> Result<(), BuildError> {
    match bytes.split_last_chunk_mut() {
        Some((covered, icrc)) if covered.len() >= Grh::LEN => {
            *icrc = crc::icrc(coverage, covered);
            Ok(())
        }
        _ => Err(BuildError::NotAPacket),
    }
}

/// The result of a header's `parse_mut`.
type Opened<'a, T> = Result<(&'a mut T, &'a mut [u8]), crate::ParseError>;

#[inline]
fn open<'a, T>(
    bytes: &'a mut [u8],
    parse: impl Fn(&'a mut [u8], usize) -> Opened<'a, T>,
) -> Result<(&'a mut T, &'a mut [u8]), BuildError> {
    parse(bytes, 0).map_err(|_| BuildError::NotAPacket)
}

fn length(field: &'static str, len: usize) -> Result<u16, BuildError> {
    u16::try_from(len).map_err(|_| BuildError::TooLong {
        field,
        len,
        max: u16::MAX.into(),
    })
}
