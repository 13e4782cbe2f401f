//! Packets of any bytes, valid ones, and those with one fault.

use alloc::vec::Vec;

use arbitrary::{Arbitrary, Unstructured};

use crate::{
    Packet, Start,
    generate::{FaultyPacket, ValidPacket},
};

/// Any bytes give a result, wherever they are said to start: the parts follow each other and lie in
/// the bytes, every fault names a place in them, and a packet without fault builds again as it was.
pub fn any_bytes_parse(bytes: &[u8]) {
    for &(start, _) in Start::NAMED {
        let packet = Packet::parse_as(start, bytes);
        let mut next = 0;
        for header in packet.headers() {
            assert_eq!(header.offset, next, "{start}");
            assert_eq!(header.bytes.len(), header.layout.len, "{start}");
            next += header.layout.len;
        }
        assert_eq!(next, packet.payload_offset(), "{start}");
        let parts = next + packet.payload().len() + packet.pad().len();
        assert!(parts <= bytes.len(), "{start}");
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

/// The fault of a generated packet is among those found.
pub fn faults_are_found(bytes: &[u8]) {
    let Ok(faulty) = FaultyPacket::arbitrary(&mut Unstructured::new(bytes)) else {
        return;
    };
    let faults = Packet::parse(faulty.bytes.as_slice()).validate();
    let listed: Vec<_> = faults.iter().collect();
    assert!(faults.has(faulty.fault), "{faulty:?}: {listed:?}");
}
