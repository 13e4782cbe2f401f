//! The strategies for proptest: what they promise, what can be chosen, and how they shrink.

use std::collections::BTreeSet;

use ib_wire::{
    Bth, FaultKind, OPERATIONS, OpCode, Packet, PayloadRule, Start,
    generate::{FaultyPacket, ValidPacket},
    packet::Network,
    strategy::{faulty_packet, valid_packet},
};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestError, TestRunner},
};

fn code(packet: &ValidPacket) -> Option<OpCode> {
    let packet = Packet::parse_as(packet.start, &packet.bytes[..]);
    packet.bth().map(Bth::op_code)
}

proptest! {
    #[test]
    fn valid_packets_have_no_fault(packet in valid_packet()) {
        prop_assert_eq!(Packet::parse_as(packet.start, &packet.bytes[..]).validate().into_iter().count(), 0);
    }

    #[test]
    fn faulty_packets_have_their_fault_and_no_other(packet in faulty_packet()) {
        let found = Packet::parse_as(packet.start, &packet.bytes[..]).validate();
        let found: Vec<FaultKind> = found.into_iter().map(|fault| fault.kind).collect();
        prop_assert_eq!(found, [packet.fault]);
    }

    #[test]
    fn only_what_was_chosen_comes(
        packet in valid_packet().networks(&[Network::RoceV2Ipv6, Network::Raw]).op_codes(&[OpCode::RC_ACKNOWLEDGE]),
        faulty in faulty_packet().networks(&[Network::Local]).faults(&[FaultKind::IcrcMismatch, FaultKind::BadIhl]),
    ) {
        prop_assert_eq!(code(&packet), Some(OpCode::RC_ACKNOWLEDGE));
        prop_assert_eq!(Packet::parse_as(packet.start, &packet.bytes[..]).network(), Network::RoceV2Ipv6);
        // A packet of InfiniBand's own has no IHL that could be wrong.
        prop_assert_eq!((faulty.start, faulty.fault), (Start::Ib, FaultKind::IcrcMismatch));
    }
}

#[test]
fn a_choice_without_packets_is_refused() {
    let mut runner = TestRunner::default();
    let none = valid_packet().networks(&[Network::None]);
    assert!(none.new_tree(&mut runner).is_err());
    let none = faulty_packet()
        .networks(&[Network::Local])
        .faults(&[FaultKind::BadIhl]);
    assert!(none.new_tree(&mut runner).is_err());
}

#[test]
fn every_operation_and_every_fault_comes() {
    let mut runner = TestRunner::deterministic();
    let (mut codes, mut faults) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..1500 {
        let valid = valid_packet().new_tree(&mut runner).unwrap().current();
        codes.extend(code(&valid));
        faults.insert(
            faulty_packet()
                .new_tree(&mut runner)
                .unwrap()
                .current()
                .fault,
        );
    }
    assert_eq!(codes.len(), OPERATIONS.len());
    assert_eq!(faults.len(), FaultyPacket::FAULTS.len());
}

/// A parser that fails from 1000 bytes of payload on: what is left is no more than that.
#[test]
fn packets_shrink_to_what_fails() {
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let failed = runner.run(&valid_packet(), |packet| {
        let parsed = Packet::parse_as(packet.start, &packet.bytes[..]);
        prop_assert!(parsed.payload().len() < 1000);
        Ok(())
    });
    let Err(TestError::Fail(_, least)) = failed else {
        panic!("{failed:?}");
    };
    let parsed = Packet::parse_as(least.start, &least.bytes[..]);
    let rule = parsed.bth().unwrap().op_code().operation().unwrap().payload;
    let expected = if rule == PayloadRule::PathMtu {
        1024
    } else {
        1000
    };
    assert_eq!(parsed.payload().len(), expected, "{least:?}");
    assert_eq!(parsed.network(), Network::Local, "the first network");
    let bth = parsed.bth().unwrap();
    assert_eq!((bth.dest_qp().bits(), bth.psn().bits()), (0, 0), "no noise");
}
