//! Packets of any bytes, valid ones, and those with one fault.

use alloc::vec::Vec;

use arbitrary::{Arbitrary, Unstructured};

use crate::{
    Bth, FaultKind, FlowControlPacket, Grh, Ipv4, Ipv6, Packet, Start, Udp, Vl,
    generate::{FaultyFlowControl, FaultyPacket, ValidPacket},
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

/// Properties of any bytes, for any declared start.
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

/// Changes of headers leave a valid packet valid, and nothing but these headers, the checksum of IPv4
/// and the CRCs differs.
pub fn edits_leave_packets_valid(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let (Ok(new), Ok(ValidPacket { start, mut bytes })) =
        (NewHeaders::of(&mut u), ValidPacket::arbitrary(&mut u))
    else {
        return;
    };
    let before = bytes.clone();
    let old = Packet::parse_as(start, before.as_slice());
    let mut packet = Packet::parse_as(start, bytes.as_mut_slice());
    let edited = new.put_into(&mut packet);
    let there = [
        old.lrh().is_some(),
        old.bth().is_some(),
        old.grh().is_some(),
        old.ipv4().is_some(),
        old.ipv6().is_some(),
        old.udp().is_some(),
    ];
    assert_eq!(edited, there, "{old:?}");
    let packet = Packet::parse_as(start, packet.into_bytes());
    assert!(packet.validate().is_empty(), "{packet:?}");
    assert_eq!(packet.bth().map(Bth::psn), old.bth().map(|_| new.bth.psn()));
    assert_eq!(
        packet.grh().map(Grh::sgid),
        old.grh().map(|_| new.grh.sgid())
    );
    assert_eq!(
        packet.ipv4().map(Ipv4::src),
        old.ipv4().map(|_| new.ipv4.src())
    );
    assert_eq!(
        packet.ipv6().map(Ipv6::src),
        old.ipv6().map(|_| new.ipv6.src())
    );
    assert_eq!(
        packet.udp().map(Udp::src_port),
        old.udp().map(|_| new.udp.src_port())
    );
    assert_eq!(packet.payload(), old.payload());
    assert_eq!(packet.ipv4_options(), old.ipv4_options());
}

/// Fields of a packet that switches and routers may change.
struct NewHeaders {
    lane: u8,
    bth: Bth,
    grh: Grh,
    ipv4: Ipv4,
    ipv6: Ipv6,
    udp: Udp,
}

impl NewHeaders {
    fn of(u: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        Ok(Self {
            lane: u.arbitrary()?,
            bth: u.arbitrary()?,
            grh: u.arbitrary()?,
            ipv4: u.arbitrary()?,
            ipv6: u.arbitrary()?,
            udp: u.arbitrary()?,
        })
    }

    /// Changes every header that the packet has, all fields but those that say how it goes on; whether
    /// LRH, BTH, GRH, IPv4, IPv6 and UDP were there.
    fn put_into(&self, packet: &mut Packet<&mut [u8]>) -> [bool; 6] {
        let lrh = packet.switch_hop(Vl::from_low_bits(self.lane));
        let bth = packet.edit_bth(|bth| {
            let old = *bth;
            *bth = self.bth;
            bth.set_op_code(old.op_code())
                .set_pad_cnt(old.pad_cnt())
                .set_t_ver(old.t_ver());
        });
        let grh = packet.edit_grh(|grh| {
            let old = *grh;
            *grh = self.grh;
            grh.set_ip_ver(old.ip_ver())
                .set_pay_len(old.pay_len())
                .set_nxt_hdr(old.nxt_hdr());
        });
        let ipv4 = packet.edit_ipv4(|ip| {
            let old = *ip;
            *ip = self.ipv4;
            ip.set_version(old.version())
                .set_ihl(old.ihl())
                .set_total_length(old.total_length())
                .set_fragment_offset(old.fragment_offset())
                .set_protocol(old.protocol())
                .set_checksum(old.checksum());
        });
        let ipv6 = packet.edit_ipv6(|ip| {
            let old = *ip;
            *ip = self.ipv6;
            ip.set_version(old.version())
                .set_payload_length(old.payload_length())
                .set_next_header(old.next_header());
        });
        let udp = packet.edit_udp(|udp| {
            let old = *udp;
            *udp = self.udp;
            udp.set_dst_port(old.dst_port()).set_length(old.length());
        });
        [lrh, bth, grh, ipv4, ipv6, udp].map(|edited| edited.is_ok())
    }
}

/// A generated fault is found, and nothing else; changes by switches and routers do not hide it.
pub fn faults_are_found(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let (
        Ok(new),
        Ok(FaultyPacket {
            start,
            fault,
            mut bytes,
        }),
    ) = (NewHeaders::of(&mut u), FaultyPacket::arbitrary(&mut u))
    else {
        return;
    };
    let judge = |bytes: &[u8]| {
        let faults = Packet::parse_as(start, bytes).validate();
        let listed: Vec<_> = faults.into_iter().collect();
        let kinds = listed.iter().map(|found| found.kind);
        assert!(kinds.eq([fault]), "{start} {fault}: {listed:?}");
    };
    judge(&bytes);
    new.put_into(&mut Packet::parse_as(start, bytes.as_mut_slice()));
    judge(&bytes);
    let Ok(FaultyFlowControl { fault, bytes }) = u.arbitrary() else {
        return;
    };
    let faults = FlowControlPacket::validate_bytes(&bytes);
    let kinds = faults.iter().map(|found| found.kind);
    assert!(kinds.eq([fault]), "{fault}: {faults:?}");
}
