//! Packets for other people's fuzzers and property tests (feature `arbitrary`).
//!
//! [`ValidPacket`] is a packet without any fault; [`FaultyPacket`] has exactly one thing done to it,
//! and says what. Both come from `arbitrary`'s bytes, so that a fuzzer can steer them.
//!
//! ```
//! use arbitrary::{Arbitrary, Unstructured};
//! use ib_wire::{Packet, generate::ValidPacket};
//! let valid = ValidPacket::arbitrary(&mut Unstructured::new(&[7; 500]))?;
//! assert!(Packet::parse_as(valid.start, &valid.bytes).validate().is_empty());
//! # Ok::<(), arbitrary::Error>(())
//! ```

use alloc::vec::Vec;

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::{
    Aeth, AtomicAckEth, AtomicEth, Bth, CnpRoceV2, Deth, Eth, EtherType, Ethernet, FaultKind, Grh,
    GrhNxtHdr, Ieth, ImmDt, Ipv4, Ipv6, Lrh, OPERATIONS, OpCode, Packet, PacketBuilder,
    PayloadRule, ROCE_V2_PORT, Rdeth, Reth, Rwh, Start, Udp, Vlan, Xrceth, crc,
};

/// A packet that nothing is wrong with: any network, any operation, any field, reserved bits set too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidPacket {
    /// Where the bytes start.
    pub start: Start,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// A packet of an InfiniBand link with one named fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultyPacket {
    /// What was done to it: [`Packet::validate`] lists it, maybe beside what follows from it.
    pub fault: FaultKind,
    /// The packet.
    pub bytes: Vec<u8>,
}

impl<'a> Arbitrary<'a> for ValidPacket {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let start = *u.choose(&[
            Start::Ib,
            Start::RoceV1,
            Start::RoceV2Ipv4,
            Start::RoceV2Ipv6,
            Start::Ethernet,
        ])?;
        let bytes = match start {
            Start::Ethernet => frame(u)?,
            _ => packet(u, start)?,
        };
        Ok(Self { start, bytes })
    }
}

/// A RoCE packet in an Ethernet frame, behind up to three VLAN tags.
fn frame(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let (start, ether_type) = *u.choose(&[
        (Start::RoceV1, EtherType::ROCE_V1),
        (Start::RoceV2Ipv4, EtherType::IPV4),
        (Start::RoceV2Ipv6, EtherType::IPV6),
    ])?;
    let tags = u.int_in_range(0..=3)?;
    let types = core::iter::repeat_n(EtherType::VLAN, tags).chain([ether_type]);
    let mut ethernet: Ethernet = u.arbitrary()?;
    let mut bytes = Vec::new();
    for (index, ether_type) in types.enumerate() {
        if index == 0 {
            bytes.extend(ethernet.set_ether_type(ether_type).as_bytes());
        } else {
            let mut tag: Vlan = u.arbitrary()?;
            bytes.extend(tag.set_ether_type(ether_type).as_bytes());
        }
    }
    bytes.extend(packet(u, start)?);
    Ok(bytes)
}

/// A valid packet of the kind.
fn packet(u: &mut Unstructured<'_>, start: Start) -> Result<Vec<u8>> {
    let operation = u.choose(OPERATIONS)?;
    let mut bth: Bth = u.arbitrary()?;
    bth.set_op_code(operation.op_code).set_t_ver(0);
    let mut lrh: Lrh = u.arbitrary()?;
    lrh.set_lver(0);
    let mut grh: Grh = u.arbitrary()?;
    grh.set_ip_ver(6).set_nxt_hdr(GrhNxtHdr::IBA_TRANSPORT);
    let options: [u8; 40] = u.arbitrary()?;
    let options = options.get(..u.int_in_range(0..=10usize)?.saturating_mul(4));
    let mut udp: Udp = u.arbitrary()?;
    udp.set_dst_port(ROCE_V2_PORT);
    let len = match operation.payload {
        PayloadRule::None => 0,
        PayloadRule::PathMtu => *u.choose(&[256, 512, 1024, 2048, 4096])?,
        PayloadRule::UpToPathMtu => u.int_in_range(1..=4096)?,
        PayloadRule::EmptyToPathMtu => u.int_in_range(0..=4096)?,
    };
    let pattern: [u8; 13] = u.arbitrary()?;
    let payload: Vec<u8> = pattern.iter().copied().cycle().take(len).collect();
    let mut builder = match start {
        Start::Ib | Start::Ethernet => match u.int_in_range(0..=9)? {
            0 => {
                let words = u.int_in_range(2..=64usize)?;
                let payload = pattern.iter().copied().cycle();
                let payload: Vec<u8> = payload.take(words.saturating_mul(4)).collect();
                let mut rwh = PacketBuilder::raw(lrh, u.arbitrary::<Rwh>()?);
                rwh.payload(&payload);
                return build(&rwh);
            }
            1 => {
                let mut raw = PacketBuilder::raw_ipv6(lrh);
                raw.payload(options.filter(|raw| raw.len() >= 12).unwrap_or(&[0x60; 40]));
                return build(&raw);
            }
            2..=5 => PacketBuilder::local(lrh, bth),
            _ => PacketBuilder::global(lrh, grh, bth),
        },
        Start::RoceV1 => PacketBuilder::roce_v1(grh, bth),
        Start::RoceV2Ipv4 => {
            let mut ip: Ipv4 = u.arbitrary()?;
            ip.set_version(4).set_protocol(17).set_fragment_offset(0);
            PacketBuilder::roce_v2_ipv4(ip, options.unwrap_or_default(), udp, bth)
        }
        Start::RoceV2Ipv6 => {
            let mut ip: Ipv6 = u.arbitrary()?;
            ip.set_version(6).set_next_header(17);
            PacketBuilder::roce_v2_ipv6(ip, udp, bth)
        }
    };
    for eth in operation.headers {
        match eth {
            Eth::Rdeth => builder.with(&u.arbitrary::<Rdeth>()?),
            Eth::Deth => builder.with(&u.arbitrary::<Deth>()?),
            Eth::Xrceth => builder.with(&u.arbitrary::<Xrceth>()?),
            Eth::Reth => builder.with(&u.arbitrary::<Reth>()?),
            Eth::AtomicEth => builder.with(&u.arbitrary::<AtomicEth>()?),
            Eth::Aeth => builder.with(&u.arbitrary::<Aeth>()?),
            Eth::AtomicAckEth => builder.with(&u.arbitrary::<AtomicAckEth>()?),
            Eth::ImmDt => builder.with(&u.arbitrary::<ImmDt>()?),
            Eth::Ieth => builder.with(&u.arbitrary::<Ieth>()?),
            Eth::CnpRoceV2 => builder.with(&u.arbitrary::<CnpRoceV2>()?),
        };
    }
    builder.payload(&payload).pad(u.arbitrary()?);
    build(&builder)
}

fn build(builder: &PacketBuilder<'_>) -> Result<Vec<u8>> {
    let mut bytes = alloc::vec![0; builder.packet_len()];
    match builder.build(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(_) => Err(arbitrary::Error::IncorrectFormat),
    }
}

/// Faults that can be done to a packet of a link.
const FAULTS: [FaultKind; 14] = [
    FaultKind::Truncated,
    FaultKind::LengthMismatch,
    FaultKind::BadPktLen,
    FaultKind::BadLver,
    FaultKind::BadTver,
    FaultKind::BadIpVer,
    FaultKind::BadNxtHdr,
    FaultKind::BadPayLen,
    FaultKind::BadPadCnt,
    FaultKind::HeaderStackExceedsPacket,
    FaultKind::ReservedOpCode,
    FaultKind::ManufacturerOpCode,
    FaultKind::IcrcMismatch,
    FaultKind::VcrcMismatch,
];

impl<'a> Arbitrary<'a> for FaultyPacket {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut bytes = packet(u, Start::Ib)?;
        // A fault that does not fit this packet gives way to one that fits every packet.
        let wanted = *u.choose(&FAULTS)?;
        let fault = match spoil(&mut bytes, wanted, u)? {
            Some(()) => wanted,
            None => {
                spoil(&mut bytes, FaultKind::VcrcMismatch, u)?;
                FaultKind::VcrcMismatch
            }
        };
        Ok(Self { fault, bytes })
    }
}

/// Does the fault to the packet; `None`, and nothing done, if the packet has no place for it.
fn spoil(bytes: &mut Vec<u8>, fault: FaultKind, u: &mut Unstructured<'_>) -> Result<Option<()>> {
    let whole = bytes.len();
    let some: u8 = u.int_in_range(1..=15)?;
    let mut packet = Packet::parse(bytes.as_mut_slice());
    let filled = packet.payload().len().saturating_add(packet.pad().len());
    // The operation with the longest stack of headers exceeds no packet that has such a stack.
    let longest = OpCode::RD_CMP_SWAP.headers_len();
    let has_longest_stack = packet
        .bth()
        .is_some_and(|bth| bth.op_code().headers_len() >= longest);
    let done = match fault {
        FaultKind::Truncated => {
            bytes.truncate(u.int_in_range(0..=whole.saturating_sub(1))?);
            return Ok(Some(()));
        }
        FaultKind::LengthMismatch => {
            bytes.extend(core::iter::repeat_n(some, some.into()));
            return Ok(Some(()));
        }
        FaultKind::BadPktLen => packet.edit_lrh(|lrh| {
            lrh.set_pkt_len(u16::from(some & 3));
        }),
        FaultKind::BadLver => packet.edit_lrh(|lrh| {
            lrh.set_lver(some);
        }),
        FaultKind::BadTver => packet.edit_bth(|bth| {
            bth.set_t_ver(some);
        }),
        FaultKind::BadIpVer => packet.edit_grh(|grh| {
            grh.set_ip_ver(if some == 6 { 4 } else { some });
        }),
        FaultKind::BadNxtHdr => packet.edit_grh(|grh| {
            grh.set_nxt_hdr(GrhNxtHdr(some));
        }),
        FaultKind::BadPayLen => packet.edit_grh(|grh| {
            let wrong = grh.pay_len().wrapping_add(some.into());
            grh.set_pay_len(wrong);
        }),
        FaultKind::BadPadCnt if filled == 0 => packet.edit_bth(|bth| {
            bth.set_pad_cnt((some & 3).max(1));
        }),
        FaultKind::HeaderStackExceedsPacket if filled == 0 && !has_longest_stack => packet
            .edit_bth(|bth| {
                bth.set_op_code(OpCode::RD_CMP_SWAP);
            }),
        FaultKind::ReservedOpCode => packet.edit_bth(|bth| {
            bth.set_op_code(OpCode(0x70 | some));
        }),
        FaultKind::ManufacturerOpCode => packet.edit_bth(|bth| {
            bth.set_op_code(OpCode(0xc0 | some));
        }),
        FaultKind::IcrcMismatch if packet.icrc().is_some() => {
            let at = whole.saturating_sub(6);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= some;
            }
            if let Some((covered, vcrc)) = bytes.split_last_chunk_mut() {
                *vcrc = crc::vcrc(covered);
            }
            return Ok(Some(()));
        }
        FaultKind::VcrcMismatch => {
            if let Some(byte) = bytes.last_mut() {
                *byte ^= some;
            }
            return Ok(Some(()));
        }
        _ => return Ok(None),
    };
    Ok(done.ok())
}
