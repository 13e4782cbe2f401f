//! Faults of packets that are right but for one thing, their CRCs included.

use ib_wire::{
    Bth, BuildError, FaultKind, Gid, Grh, Ipv4, Lrh, OpCode, Packet, PacketBuilder, Start, Udp,
    crc::{Coverage, icrc},
    packet::seal,
};

fn build(builder: &PacketBuilder<'_>) -> Vec<u8> {
    let mut bytes = vec![0xa5; builder.packet_len()];
    assert_eq!(builder.build(&mut bytes), Ok(bytes.len()));
    bytes
}

fn bth(op_code: OpCode) -> Bth {
    let mut bth = Bth::default();
    bth.set_op_code(op_code);
    bth
}

fn kinds(start: Start, bytes: &[u8]) -> Vec<FaultKind> {
    let faults = Packet::parse_as(start, bytes).validate();
    faults.iter().map(|fault| fault.kind).collect()
}

fn grh() -> Grh {
    Grh::new(Gid::default(), Gid::default())
}

#[test]
fn pad_bytes_fill_a_frame_to_a_multiple_of_four() {
    let mut builder = PacketBuilder::roce_v1(grh(), bth(OpCode::RC_SEND_ONLY));
    let mut bytes = build(builder.payload(b"four"));
    // One byte more, and no pad for it.
    bytes.insert(56, b's');
    let error = BuildError::Unaligned {
        part: "packet",
        len: 61,
    };
    assert_eq!(seal(Start::RoceV1, &mut bytes), Err(error));
    bytes[5] += 1;
    let (covered, crc) = bytes.split_last_chunk_mut().unwrap();
    *crc = icrc(Coverage::RoceV1, covered);
    assert_eq!(kinds(Start::RoceV1, &bytes), [FaultKind::BadPadCnt]);
}

#[test]
fn the_pad_count_of_an_operation_without_a_name_is_judged() {
    let reserved = OpCode(0x1f);
    for (payload, pad_cnt, expected) in [
        (
            &b""[..],
            1,
            &[FaultKind::ReservedOpCode, FaultKind::BadPadCnt][..],
        ),
        (b"four", 3, &[FaultKind::ReservedOpCode]),
    ] {
        let mut builder = PacketBuilder::local(Lrh::default(), bth(reserved));
        let mut bytes = build(builder.payload(payload));
        let mut packet = Packet::parse(bytes.as_mut_slice());
        let edited = packet.edit_bth(|bth| {
            bth.set_pad_cnt(pad_cnt);
        });
        assert_eq!(edited, Ok(()));
        assert_eq!(kinds(Start::Ib, &bytes), expected);
    }
}

#[test]
fn nothing_of_a_header_is_what_follows_the_packet() {
    let ip = Ipv4::roce_v2([10, 0, 0, 1], [10, 0, 0, 2]);
    let builder = PacketBuilder::roce_v2_ipv4(ip, &[], Udp::default(), bth(OpCode::UC_SEND_ONLY));
    let mut bytes = build(&builder);
    // As senders leave it that let the adapter cut what they send.
    bytes[2..4].fill(0);
    let packet = Packet::parse_as(Start::RoceV2Ipv4, bytes.as_slice());
    let decoded = packet.payload_offset();
    assert_eq!(packet.trailer(), &bytes[decoded..]);
}

#[test]
fn the_checksum_of_a_header_that_is_cut_is_not_judged() {
    let ip = Ipv4::roce_v2([10, 0, 0, 1], [10, 0, 0, 2]);
    let bth = bth(OpCode::UC_SEND_ONLY);
    let bytes = build(&PacketBuilder::roce_v2_ipv4(
        ip,
        &[7; 20],
        Udp::default(),
        bth,
    ));
    for len in 20..40 {
        let kinds = kinds(Start::RoceV2Ipv4, &bytes[..len]);
        assert_eq!(kinds, [FaultKind::Truncated], "{len} bytes");
    }
}
