//! Packets: checksums, fields, building, and the check of everything.

use std::hint::black_box;

use ib_wire::{
    Bth, EtherType, Ethernet, Ipv4, Lid, Lrh, OpCode, Packet, PacketBuilder, Psn, Qpn, Reth, Start,
    crc::{Coverage, icrc, vcrc},
    roce::Udp,
};

use super::{Error, Path, Work, ensure, work};

pub(super) const PATHS: &[Path] = &[
    Path {
        name: "icrc-256",
        prepare: || icrc_of(256),
    },
    Path {
        name: "icrc-4096",
        prepare: || icrc_of(4096),
    },
    Path {
        name: "vcrc-4096",
        prepare: || {
            let bytes = payload(4096);
            work(move || {
                black_box(vcrc(black_box(&bytes)));
            })
        },
    },
    Path {
        name: "packet-parse-rc-write",
        prepare: parse_rc_write,
    },
    Path {
        name: "packet-build-rc-write",
        prepare: build_rc_write,
    },
    Path {
        name: "packet-dissect-ib",
        prepare: || dissect(Start::Ib, rc_write()?),
    },
    Path {
        name: "packet-dissect-rocev2",
        prepare: || dissect(Start::Ethernet, rocev2()?),
    },
];

/// Bytes that differ from their neighbours.
fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 31) as u8).collect()
}

fn icrc_of(len: usize) -> Result<Work, Error> {
    let bytes = payload(len);
    work(move || {
        black_box(icrc(Coverage::IbaLocal, black_box(&bytes)));
    })
}

/// An RC RDMA WRITE of 256 bytes on an InfiniBand link.
pub(super) fn rc_write() -> Result<Vec<u8>, Error> {
    let payload = payload(256);
    let mut bytes = vec![0; 400];
    let len = rc_write_builder(&payload).build(&mut bytes)?;
    bytes.truncate(len);
    Ok(bytes)
}

fn rc_write_builder(payload: &[u8]) -> PacketBuilder<'_> {
    let mut lrh = Lrh::default();
    lrh.set_dlid(Lid(7)).set_slid(Lid(3));
    let mut bth = Bth::default();
    bth.set_op_code(OpCode::RC_RDMA_WRITE_ONLY)
        .set_psn(Psn::new(17));
    let mut reth = Reth::default();
    reth.set_va(0x1000).set_dma_len(payload.len() as u32);
    let mut builder = PacketBuilder::local(lrh, bth);
    builder.with(&reth).payload(payload);
    builder
}

/// An RC RDMA WRITE of 256 bytes over RoCE v2, in an Ethernet frame.
pub(super) fn rocev2() -> Result<Vec<u8>, Error> {
    let payload = payload(256);
    let mut link = Ethernet::default();
    link.set_src(&[2; 6])
        .set_dst(&[4; 6])
        .set_ether_type(EtherType::IPV4);
    let mut bth = Bth::default();
    bth.set_op_code(OpCode::RC_RDMA_WRITE_ONLY)
        .set_dest_qp(Qpn::try_new(0x48)?);
    let mut reth = Reth::default();
    reth.set_va(0x1000).set_dma_len(256);
    let ip = Ipv4::roce_v2([10, 0, 0, 1], [10, 0, 0, 2]);
    let mut bytes = vec![0; 400];
    let mut builder = PacketBuilder::roce_v2_ipv4(ip, &[], Udp::roce_v2(0), bth);
    let builder = builder.link(link.as_bytes()).with(&reth).payload(&payload);
    let len = builder.build(&mut bytes)?;
    bytes.truncate(len);
    Ok(bytes)
}

/// Opens 64 packets, and reads five fields of each.
fn parse_rc_write() -> Result<Work, Error> {
    let packets = vec![rc_write()?; 64];
    let five_fields = |bytes: &[u8]| -> Option<u64> {
        let packet = Packet::parse(bytes);
        let (lrh, bth, reth) = (packet.lrh()?, packet.bth()?, packet.reth()?);
        let narrow = u64::from(lrh.dlid().0) ^ u64::from(bth.op_code().0);
        Some(narrow ^ u64::from(bth.psn().bits()) ^ reth.va() ^ u64::from(reth.dma_len()))
    };
    Ok(Box::new(move || {
        let mut packets = black_box(&packets).iter();
        let all = packets.all(|packet| black_box(five_fields(packet)).is_some());
        ensure(all, "a packet lacks a header")
    }))
}

/// Builds a packet, both CRCs included.
fn build_rc_write() -> Result<Work, Error> {
    let payload = payload(256);
    let mut bytes = vec![0; 400];
    Ok(Box::new(move || {
        let len = rc_write_builder(black_box(&payload)).build(black_box(&mut bytes))?;
        ensure(len == 298, "another length")
    }))
}

/// Finds the headers of 16 packets and checks lengths, fields and CRCs.
fn dissect(start: Start, packet: Vec<u8>) -> Result<Work, Error> {
    let packets = vec![packet; 16];
    Ok(Box::new(move || {
        for bytes in black_box(&packets) {
            let packet = Packet::parse_as(start, bytes.as_slice());
            for header in packet.headers() {
                black_box(header.offset);
            }
            ensure(packet.validate().is_empty(), "the packet has a fault")?;
        }
        Ok(())
    }))
}
