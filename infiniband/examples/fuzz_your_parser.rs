//! Tests a parser of one's own by proptest: what it must take, and what it must refuse.
//!
//! `fuzz/fuzz_targets/example_your_parser.rs` does the same for cargo-fuzz.

use infiniband::{
    strategy::{faulty_packet, valid_packet},
    wire::{FaultKind, OpCode, packet},
};
use proptest::prelude::*;

/// The parser: the destination queue pair of a RoCE v2 packet over IPv4 without options.
fn dest_qp(packet: &[u8]) -> Option<u32> {
    let ipv4 = *packet.first()? == 0x45 && *packet.get(9)? == 17;
    let bth = packet.get(28..40).filter(|_| ipv4)?;
    // Bytes 5 to 7 of the BTH; IP header and UDP header are 28 bytes.
    Some(u32::from_be_bytes([
        0,
        *bth.get(5)?,
        *bth.get(6)?,
        *bth.get(7)?,
    ]))
}

fn main() {
    let roce = [packet::Network::RoceV2Ipv4];
    proptest!(|(
        packet in valid_packet().networks(&roce).op_codes(&[OpCode::RC_SEND_ONLY]),
        cut in faulty_packet().networks(&roce).faults(&[FaultKind::Truncated]),
    )| {
        // Packets in an Ethernet frame, or with options, are not this parser's.
        if packet.start == packet::Start::RoceV2Ipv4 && packet.bytes.first() == Some(&0x45) {
            prop_assert!(dest_qp(&packet.bytes).is_some());
        }
        let _ = dest_qp(&cut.bytes);
    });
    println!("the parser takes what it should, and panics at nothing");
}
