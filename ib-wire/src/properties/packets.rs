//! Packets of any bytes, valid ones, and those with one fault.

use alloc::vec::Vec;

use arbitrary::{Arbitrary, Unstructured};

use crate::{
    Bth, FaultKind, Grh, Packet, Start, Vl,
    generate::{FaultyPacket, ValidPacket},
    packet::Expected,
};

/// Any bytes give a result, wherever they are said to start: the parts follow each other and lie in
/// the bytes, every fault names a place in them, and a packet without fault builds again as it was.
pub fn any_bytes_parse(bytes: &[u8]) {
    for &(start, _) in Start::NAMED {
        parts_fit(start, bytes);
    }
}

/// A packet that was valid until a few bytes of its headers changed, or its end, and that has the right
/// CRCs again, keeps every rule that any bytes keep: only such packets come past the CRCs.
pub fn nearly_valid_packets_parse(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let edits = u.int_in_range(1..=4).unwrap_or(1);
    let edits: Vec<(u8, u8, u8)> = (0..edits)
        .map(|_| u.arbitrary().unwrap_or_default())
        .collect();
    let Ok(ValidPacket { start, mut bytes }) = ValidPacket::arbitrary(&mut u) else {
        return;
    };
    for (what, place, value) in edits {
        let packet = Packet::parse_as(start, bytes.as_slice());
        let (headers, len) = (packet.payload_offset(), bytes.len());
        if headers == 0 {
            break;
        }
        match what % 8 {
            0 => bytes.truncate(len - usize::from(value) % 64 % len),
            1 => bytes.extend([value; 8].iter().take(usize::from(place) % 8)),
            // Lengths are most often wrong by a little.
            2 | 3 => {
                let at = usize::from(place) % headers;
                bytes[at] = bytes[at].wrapping_add(value % 9).wrapping_sub(4);
            }
            _ => bytes[usize::from(place) % headers] = value,
        }
    }
    seal_again(start, &mut bytes);
    parts_fit(start, &bytes);
}

/// Writes the checksum and the CRCs that the other bytes ask for, each where it is found wrong.
fn seal_again(start: Start, bytes: &mut [u8]) {
    for kind in [
        FaultKind::BadChecksum,
        FaultKind::IcrcMismatch,
        FaultKind::VcrcMismatch,
    ] {
        let faults = Packet::parse_as(start, &*bytes).validate();
        let Some(fault) = faults.iter().find(|fault| fault.kind == kind).copied() else {
            continue;
        };
        let Expected::Number(right) = fault.expected else {
            panic!("{fault}");
        };
        let (at, len) = match kind {
            FaultKind::BadChecksum => (fault.at.offset + 10, 2),
            FaultKind::IcrcMismatch => (fault.at.offset, 4),
            _ => (fault.at.offset, 2),
        };
        bytes[at..at + len].copy_from_slice(&right.to_be_bytes()[8 - len..]);
        let faults = Packet::parse_as(start, &*bytes).validate();
        assert!(!faults.has(kind), "{start}: {fault}");
    }
}

/// What holds for any bytes, wherever they are said to start.
fn parts_fit(start: Start, bytes: &[u8]) {
    let packet = Packet::parse_as(start, bytes);
    let mut next = 0;
    for header in packet.headers() {
        assert_eq!(header.offset, next, "{start}");
        assert_eq!(header.bytes.len(), header.layout.len, "{start}");
        next += header.layout.len;
    }
    assert_eq!(next, packet.payload_offset(), "{start}");
    let parts = next + packet.payload().len() + packet.pad().len();
    assert!(parts + packet.trailer().len() <= bytes.len(), "{start}");
    let faults = packet.validate();
    for fault in faults.iter() {
        assert!(fault.at.offset <= bytes.len(), "{start}: {fault}");
    }
    if faults.error().is_none() {
        builds_again(&packet);
    }
    if start == Start::Ib {
        assert_eq!(Packet::parse(bytes), packet);
    }
}

fn builds_again(packet: &Packet<&[u8]>) {
    let Some(builder) = packet.to_builder() else {
        panic!("a packet without fault can be built: {packet:?}");
    };
    let mut built = alloc::vec![0xa5; builder.packet_len()];
    assert_eq!(builder.build(&mut built), Ok(built.len()));
    assert_eq!([&built, packet.trailer()].concat(), packet.bytes());
}

/// Generated valid packets have no fault, and build again as they were.
pub fn valid_packets_have_no_fault(bytes: &[u8]) {
    let Ok(valid) = ValidPacket::arbitrary(&mut Unstructured::new(bytes)) else {
        return;
    };
    let packet = Packet::parse_as(valid.start, valid.bytes.as_slice());
    let faults: Vec<_> = packet.validate().into_iter().collect();
    assert!(faults.is_empty(), "{faults:?}: {valid:?}");
    builds_again(&packet);
}

/// Changes of headers leave a valid packet valid, and nothing but these headers and the CRCs differs.
pub fn edits_leave_packets_valid(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let (Ok(lane), Ok(bth), Ok(grh)) =
        (u.arbitrary(), Bth::arbitrary(&mut u), u.arbitrary::<Grh>())
    else {
        return;
    };
    let Ok(ValidPacket { start, mut bytes }) = ValidPacket::arbitrary(&mut u) else {
        return;
    };
    let before = bytes.clone();
    let mut packet = Packet::parse_as(start, bytes.as_mut_slice());
    let old = Packet::parse_as(start, before.as_slice());
    let has_lrh = packet.switch_hop(Vl::from_low_bits(lane)).is_ok();
    assert_eq!(has_lrh, old.lrh().is_some());
    let has_bth = packet.edit_bth(|new| {
        let (op_code, pad_cnt) = (new.op_code(), new.pad_cnt());
        *new = bth;
        new.set_op_code(op_code).set_pad_cnt(pad_cnt).set_t_ver(0);
    });
    assert_eq!(has_bth.is_ok(), old.bth().is_some());
    let has_grh = packet.edit_grh(|new| {
        let (pay_len, nxt_hdr) = (new.pay_len(), new.nxt_hdr());
        *new = grh;
        new.set_ip_ver(6).set_pay_len(pay_len).set_nxt_hdr(nxt_hdr);
    });
    assert_eq!(has_grh.is_ok(), old.grh().is_some());
    let packet = Packet::parse_as(start, packet.into_bytes());
    assert!(packet.validate().is_empty(), "{packet:?}");
    assert_eq!(packet.bth().map(Bth::psn), old.bth().map(|_| bth.psn()));
    assert_eq!(packet.grh().map(Grh::sgid), old.grh().map(|_| grh.sgid()));
    assert_eq!(packet.payload(), old.payload());
    assert_eq!(packet.udp(), old.udp());
}

/// The fault of a generated packet is among those found.
pub fn faults_are_found(bytes: &[u8]) {
    let Ok(faulty) = FaultyPacket::arbitrary(&mut Unstructured::new(bytes)) else {
        return;
    };
    let faults = Packet::parse(faulty.bytes.as_slice()).validate();
    let listed: Vec<_> = faults.iter().collect();
    assert!(faults.has(faulty.fault), "{faulty:?}: {listed:?}");
}
