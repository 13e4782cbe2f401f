//! Packets with one fault.

use alloc::vec::Vec;

use arbitrary::{Arbitrary, Error, Result, Unstructured};

use super::draft::{Draft, MAX_PAYLOAD, NETWORKS, payload_len};
use crate::{
    EtherType, FaultKind, GrhNxtHdr, Ipv4, OpCode, Packet, PayloadRule, ROCE_V2_PORT, Start, crc,
    packet::Network,
};

/// A packet with one named fault: a link's, or RoCE v1 or v2 in an Ethernet frame or without.
///
/// [`Packet::validate`] finds this fault and nothing else. A parser may accept a packet with a
/// [note](FaultKind::is_note); a packet with any other fault it must refuse or mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultyPacket {
    /// The first header of the bytes.
    pub start: Start,
    /// The fault: one of [`FaultyPacket::FAULTS`].
    pub fault: FaultKind,
    /// The packet.
    pub bytes: Vec<u8>,
}

impl FaultyPacket {
    /// Faults that a packet can have; those of flow control packets are apart, in
    /// [`FaultyFlowControl`](super::FaultyFlowControl).
    pub const FAULTS: &'static [FaultKind] = &[
        FaultKind::Truncated,
        FaultKind::LengthMismatch,
        FaultKind::HeaderStackExceedsPacket,
        FaultKind::BadPktLen,
        FaultKind::BadLver,
        FaultKind::BadTver,
        FaultKind::BadIpVer,
        FaultKind::BadNxtHdr,
        FaultKind::BadPayLen,
        FaultKind::BadIhl,
        FaultKind::BadChecksum,
        FaultKind::BadPadCnt,
        FaultKind::BadPayloadLength,
        FaultKind::UnexpectedPayload,
        FaultKind::ReservedOpCode,
        FaultKind::ManufacturerOpCode,
        FaultKind::NotRoce,
        FaultKind::IcrcMismatch,
        FaultKind::VcrcMismatch,
    ];
}

impl<'a> Arbitrary<'a> for FaultyPacket {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let fault = *u.choose(Self::FAULTS)?;
        let network = *u.choose(Self::networks(fault))?;
        let codes: Vec<OpCode> = Self::op_codes(fault).collect();
        let op_code = *u.choose(&codes)?;
        let wanted = u.int_in_range(0..=MAX_PAYLOAD)?;
        Self::of(u, fault, network, op_code, wanted)
    }
}

impl FaultyPacket {
    /// The networks in which a packet can have the fault.
    pub(crate) fn networks(fault: FaultKind) -> &'static [Network] {
        use Network::{Global, Local, Raw, RawIpv6, RoceV1, RoceV2Ipv4, RoceV2Ipv6};
        match fault {
            FaultKind::Truncated => NETWORKS,
            FaultKind::LengthMismatch
            | FaultKind::BadPktLen
            | FaultKind::BadLver
            | FaultKind::VcrcMismatch => &[Local, Global, Raw, RawIpv6],
            FaultKind::BadIpVer => &[Global, RoceV1, RoceV2Ipv4, RoceV2Ipv6],
            FaultKind::BadNxtHdr => &[Global, RoceV1],
            // No other field has the length of RoCE v1, so nothing contradicts it.
            FaultKind::BadPayLen => &[Global, RoceV2Ipv4, RoceV2Ipv6],
            FaultKind::BadIhl | FaultKind::BadChecksum => &[RoceV2Ipv4],
            FaultKind::NotRoce => &[RoceV2Ipv4, RoceV2Ipv6],
            _ => &[Local, Global, RoceV1, RoceV2Ipv4, RoceV2Ipv6],
        }
    }

    /// Operations that a packet with the fault can have.
    pub(crate) fn op_codes(fault: FaultKind) -> impl Iterator<Item = OpCode> {
        (0..=u8::MAX).map(OpCode).filter(move |&code| {
            let payload = code.operation().map(|operation| operation.payload);
            match fault {
                FaultKind::HeaderStackExceedsPacket => payload.is_some() && code.headers_len() > 0,
                FaultKind::BadPayloadLength => {
                    payload.is_some_and(|rule| rule != PayloadRule::None)
                }
                FaultKind::UnexpectedPayload => payload == Some(PayloadRule::None),
                FaultKind::ReservedOpCode => payload.is_none() && !code.is_manufacturer(),
                FaultKind::ManufacturerOpCode => code.is_manufacturer(),
                _ => payload.is_some(),
            }
        })
    }

    /// A packet with this fault, with about `wanted` bytes of payload, at most 4096, where the fault leaves
    /// the choice.
    pub(crate) fn of(
        u: &mut Unstructured<'_>,
        fault: FaultKind,
        network: Network,
        op_code: OpCode,
        wanted: usize,
    ) -> Result<Self> {
        let (built, payload) = contents(u, fault, op_code, wanted)?;
        let mut draft = Draft::of(u, network, built, payload)?;
        spoil_parts(u, fault, network, &mut draft)?;
        let mut bytes = draft.build()?;
        spoil_whole(u, fault, draft.start, op_code, &mut bytes)?;
        Ok(Self {
            start: draft.start,
            fault,
            bytes,
        })
    }
}

/// The operation that the packet is built with, and its bytes of payload: those that the fault is about,
/// next to `wanted` for the others.
fn contents(
    u: &mut Unstructured<'_>,
    fault: FaultKind,
    op_code: OpCode,
    wanted: usize,
) -> Result<(OpCode, usize)> {
    Ok(match fault {
        // What stands in place of a stack of headers that is too long for it.
        FaultKind::HeaderStackExceedsPacket => {
            let room = op_code.headers_len().saturating_sub(4);
            (OpCode::UC_SEND_ONLY, wanted.min(room))
        }
        // No payload, so that any pad is too much.
        FaultKind::BadPadCnt => (op_code, 0),
        FaultKind::BadPayloadLength => {
            let len = match op_code.operation().map(|known| known.payload) {
                // Whole words: the operation has no pad either.
                Some(PayloadRule::PathMtu) => match wanted & !3 {
                    256 | 512 | 1024 | 2048 | 4096 => 0,
                    len => len,
                },
                Some(PayloadRule::UpToPathMtu) if u.arbitrary()? => 0,
                _ => u.int_in_range(MAX_PAYLOAD + 1..=MAX_PAYLOAD + 2000)?,
            };
            (op_code, len)
        }
        FaultKind::UnexpectedPayload => (op_code, wanted.max(1)),
        _ => (op_code, payload_len(op_code, wanted)),
    })
}

/// Faults of one header: it is sealed with the others, so that lengths and CRCs are right.
fn spoil_parts(
    u: &mut Unstructured<'_>,
    fault: FaultKind,
    network: Network,
    draft: &mut Draft,
) -> Result<()> {
    match (fault, network) {
        (FaultKind::BadLver, _) => {
            draft.lrh.set_lver(u.int_in_range(1..=15)?);
        }
        (FaultKind::BadTver, _) => {
            draft.bth.set_t_ver(u.int_in_range(1..=15)?);
        }
        (FaultKind::BadIpVer, Network::RoceV2Ipv4) => {
            draft.ipv4.set_version(other_than(u, 4)?);
        }
        (FaultKind::BadIpVer, Network::RoceV2Ipv6) => {
            draft.ipv6.set_version(other_than(u, 6)?);
        }
        (FaultKind::BadIpVer, _) => {
            draft.grh.set_ip_ver(other_than(u, 6)?);
        }
        (FaultKind::BadNxtHdr, _) => {
            let right = GrhNxtHdr::IBA_TRANSPORT.bits();
            let wrong = right ^ u.int_in_range(1..=u8::MAX)?;
            draft.grh.set_nxt_hdr(GrhNxtHdr(wrong));
        }
        (FaultKind::NotRoce, _) => match (u.int_in_range(0..=3)?, network) {
            (0, _) if draft.start == Start::Ethernet => {
                draft.set_ether_type(*u.choose(&[EtherType::ARP, EtherType(0x88cc)])?);
            }
            (1, Network::RoceV2Ipv4) => {
                draft.ipv4.set_fragment_offset(u.int_in_range(1..=0x1fff)?);
            }
            (2, Network::RoceV2Ipv4) => {
                draft.ipv4.set_protocol(17 ^ u.int_in_range(1..=u8::MAX)?);
            }
            (1 | 2, _) => {
                draft
                    .ipv6
                    .set_next_header(17 ^ u.int_in_range(1..=u8::MAX)?);
            }
            _ => {
                let wrong = ROCE_V2_PORT ^ u.int_in_range(1..=u16::MAX)?;
                draft.udp.set_dst_port(wrong);
            }
        },
        _ => {}
    }
    Ok(())
}

/// A number of 4 bits that is not `right`.
fn other_than(u: &mut Unstructured<'_>, right: u8) -> Result<u8> {
    Ok(right ^ u.int_in_range(1..=15)?)
}

/// Faults of a finished packet. Edits leave the CRCs right, where they are not what is spoiled.
fn spoil_whole(
    u: &mut Unstructured<'_>,
    fault: FaultKind,
    start: Start,
    op_code: OpCode,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    let whole = bytes.len();
    let mut packet = Packet::parse_as(start, bytes.as_mut_slice());
    let edited = match fault {
        FaultKind::Truncated => {
            bytes.truncate(u.int_in_range(0..=whole.saturating_sub(1))?);
            Ok(())
        }
        FaultKind::LengthMismatch => {
            let more = u.int_in_range(1..=64)?;
            bytes.extend(core::iter::repeat_n(u.arbitrary::<u8>()?, more));
            Ok(())
        }
        FaultKind::HeaderStackExceedsPacket => packet.edit_bth(|bth| {
            bth.set_op_code(op_code);
        }),
        FaultKind::BadPktLen => {
            // Four words are less than any packet has, raw ones as well.
            let words = u.int_in_range(0..=4)?;
            packet.edit_lrh(|lrh| {
                lrh.set_pkt_len(words);
            })
        }
        FaultKind::BadPayLen => {
            let change = u.int_in_range(1..=u16::MAX)?;
            match packet.network() {
                Network::Global => packet.edit_grh(|grh| {
                    grh.set_pay_len(grh.pay_len() ^ change);
                }),
                _ => packet.edit_udp(|udp| {
                    udp.set_length(udp.length() ^ change);
                }),
            }
        }
        FaultKind::BadIhl => {
            let short = u.int_in_range(0..=4)?;
            let mut headers = packet.headers();
            let ip = headers.find(|header| header.layout.name == Ipv4::LAYOUT.name);
            let at = ip.map(|ip| ip.offset);
            if let Some(first) = at.and_then(|at| bytes.get_mut(at)) {
                *first = *first & 0xf0 | short;
            }
            Ok(())
        }
        FaultKind::BadChecksum => {
            let change = u.int_in_range(1..=u16::MAX)?;
            packet.edit_ipv4(|ip| {
                ip.set_checksum(ip.checksum() ^ change);
            })
        }
        FaultKind::BadPadCnt => {
            let count = u.int_in_range(1..=3)?;
            packet.edit_bth(|bth| {
                bth.set_pad_cnt(count);
            })
        }
        FaultKind::IcrcMismatch => {
            let payload = packet.payload_offset();
            let crcs = if start == Start::Ib { 2 } else { 0 };
            let at = u.int_in_range(payload..=whole.saturating_sub(crcs).saturating_sub(1))?;
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= u.int_in_range(1..=u8::MAX)?;
            }
            if start == Start::Ib
                && let Some((covered, vcrc)) = bytes.split_last_chunk_mut()
            {
                *vcrc = crc::vcrc(covered);
            }
            Ok(())
        }
        FaultKind::VcrcMismatch => {
            if let Some(byte) = bytes.last_mut() {
                *byte ^= u.int_in_range(1..=u8::MAX)?;
            }
            Ok(())
        }
        _ => Ok(()),
    };
    edited.map_err(|_| Error::IncorrectFormat)
}
