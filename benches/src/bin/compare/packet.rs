//! Whole packets: parsed beside etherparse, built beside a sequence of passes, printed beside tshark.

use std::{hint::black_box, io::Write as _};

use ib_benches::SLICE16;
use ib_wire::{
    Bth, Ethernet, Ipv4, Lid, Lrh, OpCode, Packet, PacketBuilder, Psn, Qpn, Reth,
    roce::{Udp, flow_label},
};

use crate::{
    crc::bytes,
    dissect::{CASES, Dissection},
    measure::by_turns,
    row::Row,
};

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = vec![parse_rc_write()];
    rows.extend([256, 4096].map(build_rc_write));
    rows.extend(dissect_rocev2());
    rows
}

/// RC RDMA WRITE packets of 256 bytes, opened, and five fields read of each.
fn parse_rc_write() -> Row {
    let packets: Vec<Vec<u8>> = (0..64).map(rc_write).collect();
    let frames: Vec<Vec<u8>> = (0..64).map(udp_frame).collect();
    // Five fields of each, added up: LID, operation, PSN, virtual address and length here; both
    // addresses, time to live and both ports there.
    let five_of_ours = |bytes: &[u8]| -> Option<u64> {
        let packet = Packet::parse(bytes);
        let (lrh, bth, reth) = (packet.lrh()?, packet.bth()?, packet.reth()?);
        let narrow = u64::from(lrh.dlid().0) ^ u64::from(bth.op_code().0);
        Some(narrow ^ u64::from(bth.psn().bits()) ^ reth.va() ^ u64::from(reth.dma_len()))
    };
    let five_of_theirs = |bytes: &[u8]| -> Option<u64> {
        let packet = etherparse::SlicedPacket::from_ethernet(bytes).ok()?;
        let Some(etherparse::NetSlice::Ipv4(ip)) = &packet.net else {
            return None;
        };
        let Some(etherparse::TransportSlice::Udp(udp)) = &packet.transport else {
            return None;
        };
        let header = ip.header();
        let addresses =
            u32::from_ne_bytes(header.source()) ^ u32::from_ne_bytes(header.destination());
        let ports = udp.source_port() ^ udp.destination_port();
        Some(u64::from(addresses) ^ u64::from(header.ttl()) ^ u64::from(ports))
    };
    let (ours, peer) = by_turns(
        || {
            let packets = black_box(&packets).iter();
            packets
                .filter_map(|packet| five_of_ours(packet))
                .fold(0, u64::wrapping_add)
        },
        || {
            let frames = black_box(&frames).iter();
            frames
                .filter_map(|frame| five_of_theirs(frame))
                .fold(0, u64::wrapping_add)
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
    // Both sides find their headers in memory: three structs here, one image of them there.
    let given = (lrh, bth, reth);
    let headers = [lrh.as_bytes().as_slice(), bth.as_bytes(), reth.as_bytes()].concat();
    let (mut buffer, mut other) = (vec![0; len + 42], vec![0; len + 42]);
    let (ours, peer) = by_turns(
        || {
            let (lrh, bth, reth) = *black_box(&given);
            PacketBuilder::local(lrh, bth)
                .with(&reth)
                .payload(black_box(&payload))
                .build(black_box(&mut buffer))
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
    // A vector takes every byte, and 256 bytes fit into the length of a datagram.
    builder
        .write(&mut frame, &payload)
        .unwrap_or_else(|error| unreachable!("in memory: {error}"));
    frame
}

/// From a capture file of RoCE v2 packets to printed fields, a packet.
fn dissect_rocev2() -> Vec<Row> {
    let capture = capture_of_rocev2();
    let dissection = Dissection {
        subject: "packet",
        case: "dissect-rocev2",
        ours: &["decode", "packet", "--pcap", "-"],
        fields: (
            "BTH.op_code,BTH.dest_qp,BTH.psn",
            &[
                "infiniband.bth.opcode",
                "infiniband.bth.destqp",
                "infiniband.bth.psn",
            ],
        ),
        input: capture.clone(),
        capture,
    };
    dissection.rows()
}

/// A pcap file of RC RDMA WRITE packets over RoCE v2, with 256 bytes of payload each.
fn capture_of_rocev2() -> Vec<u8> {
    let payload = bytes(256);
    let mut link = Ethernet::default();
    link.set_src(&[2; 6])
        .set_dst(&[4; 6])
        .set_ether_type(ib_wire::EtherType::IPV4);
    let mut reth = Reth::default();
    reth.set_va(0x1000).set_dma_len(256);
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 0xffff, 1] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    let mut frame = vec![0; 400];
    for psn in 0..CASES {
        let mut bth = Bth::default();
        let qp = Qpn::try_new(0x100 + psn % 16).unwrap_or_default();
        bth.set_op_code(OpCode::RC_RDMA_WRITE_ONLY)
            .set_psn(Psn::new(psn))
            .set_dest_qp(qp);
        let udp = Udp::roce_v2(flow_label(Qpn::GSI, qp));
        let ip = Ipv4::roce_v2([10, 0, 0, 1], [10, 0, 0, 2]);
        let mut builder = PacketBuilder::roce_v2_ipv4(ip, &[], udp, bth);
        builder.link(link.as_bytes()).with(&reth).payload(&payload);
        let len = builder.build(&mut frame).unwrap_or(0);
        for word in [psn / 1_000_000, psn % 1_000_000, len as u32, len as u32] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        let _ = file.write_all(&frame[..len]);
    }
    file
}
