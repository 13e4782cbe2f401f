//! Whole packets: parsed beside etherparse.

use std::hint::black_box;

use ib_wire::{Bth, Lid, Lrh, OpCode, Packet, PacketBuilder, Psn, Reth};

use crate::{
    crc::{SLICE16, bytes},
    measure::by_turns,
    row::Row,
};

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = vec![parse_rc_write()];
    rows.extend([256, 4096].map(build_rc_write));
    rows
}

/// RC RDMA WRITE packets of 256 bytes, opened, and five fields read of each.
fn parse_rc_write() -> Row {
    let packets: Vec<Vec<u8>> = (0..64).map(rc_write).collect();
    let frames: Vec<Vec<u8>> = (0..64).map(udp_frame).collect();
    let five_of_ours = |bytes: &[u8]| -> Option<(Lid, OpCode, Psn, u64, u32)> {
        let packet = Packet::parse(bytes);
        let (lrh, bth, reth) = (packet.lrh()?, packet.bth()?, packet.reth()?);
        Some((
            lrh.dlid(),
            bth.op_code(),
            bth.psn(),
            reth.va(),
            reth.dma_len(),
        ))
    };
    let five_of_theirs = |bytes: &[u8]| -> Option<([u8; 4], [u8; 4], u8, u16, u16)> {
        let packet = etherparse::SlicedPacket::from_ethernet(bytes).ok()?;
        let Some(etherparse::NetSlice::Ipv4(ip)) = &packet.net else {
            return None;
        };
        let Some(etherparse::TransportSlice::Udp(udp)) = &packet.transport else {
            return None;
        };
        let header = ip.header();
        Some((
            header.source(),
            header.destination(),
            header.ttl(),
            udp.source_port(),
            udp.destination_port(),
        ))
    };
    let (ours, peer) = by_turns(
        || {
            packets
                .iter()
                .filter(|packet| black_box(five_of_ours(black_box(packet))).is_some())
                .count()
        },
        || {
            frames
                .iter()
                .filter(|frame| black_box(five_of_theirs(black_box(frame))).is_some())
                .count()
        },
    );
    let (ours, peer) = (ours.per(64), peer.per(64));
    let name = "etherparse SlicedPacket + five fields";
    Row::times("packet", "parse-rc-write", name, "ns", &ours, &peer)
}

/// An RC RDMA WRITE packet from headers and payload, both CRCs included.
fn build_rc_write(len: usize) -> Row {
    let payload = bytes(len);
    let mut lrh = Lrh::default();
    lrh.set_dlid(Lid(7)).set_slid(Lid(3));
    let mut bth = Bth::default();
    bth.set_op_code(OpCode::RC_RDMA_WRITE_ONLY)
        .set_psn(Psn::new(17));
    let mut reth = Reth::default();
    reth.set_va(0x1000).set_dma_len(len as u32);
    let headers = [lrh.as_bytes().as_slice(), bth.as_bytes(), reth.as_bytes()].concat();
    let (mut buffer, mut other) = (vec![0; len + 42], vec![0; len + 42]);
    let (ours, peer) = by_turns(
        || {
            let (lrh, bth, reth) = black_box((lrh, bth, reth));
            let builder = PacketBuilder::local(lrh, bth)
                .with(&reth)
                .payload(black_box(&payload));
            builder.build(black_box(&mut buffer))
        },
        || {
            let packet = black_box(other.as_mut_slice());
            let (covered, crcs) = packet.split_at_mut(len + 36);
            covered[..36].copy_from_slice(black_box(&headers));
            covered[36..].copy_from_slice(black_box(&payload));
            let (icrc, vcrc) = crcs.split_at_mut(4);
            icrc.copy_from_slice(&crc32fast::hash(covered).to_le_bytes());
            let mut digest = SLICE16.digest();
            digest.update(covered);
            digest.update(icrc);
            vcrc.copy_from_slice(&digest.finalize().to_le_bytes());
        },
    );
    let name = "memcpy + crc32fast + slice16 VCRC in sequence";
    Row::times(
        "packet",
        format!("build-rc-write-{len}"),
        name,
        "ns",
        &ours,
        &peer,
    )
}

/// LRH, BTH, RETH, 256 bytes of payload; CRCs are of no matter here.
fn rc_write(index: u8) -> Vec<u8> {
    let mut bytes = vec![index; 8 + 12 + 16 + 256 + 6];
    let (lrh, transport) = bytes.split_at_mut(Lrh::LEN);
    lrh.copy_from_slice(&[0, 2, 0, index, 0, 73, 0, 1]);
    transport[..12].copy_from_slice(&[0x0a, 0, 0xff, 0xff, 0, 0, 0, index, 0, 0, 0, index]);
    bytes
}

/// A UDP frame of the same length.
fn udp_frame(index: u8) -> Vec<u8> {
    let mut frame = Vec::new();
    let builder = etherparse::PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4([10, 0, 0, index], [10, 0, 0, 1], 64)
        .udp(0xc000, 4791);
    let payload = [index; 256];
    builder
        .write(&mut frame, &payload)
        .unwrap_or_else(|error| unreachable!("in memory: {error}"));
    frame
}
