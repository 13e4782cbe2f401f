//! An example for fuzzing a parser of your own: the fuzzer steers the fields of a packet that is valid, or has one
//! known fault. Put your parser where `Packet` stands.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use ib_wire::{
    Packet,
    generate::{FaultyPacket, ValidPacket},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(valid) = ValidPacket::arbitrary(&mut Unstructured::new(bytes)) {
        assert!(Packet::parse_as(valid.start, &valid.bytes[..]).validate().is_empty());
    }
    if let Ok(faulty) = FaultyPacket::arbitrary(&mut Unstructured::new(bytes)) {
        assert!(!Packet::parse_as(faulty.start, &faulty.bytes[..]).validate().is_empty());
    }
});
