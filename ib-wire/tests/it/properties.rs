//! The properties over generated inputs, and over inputs that once broke one.

use ib_wire::properties;
use proptest::{collection::vec, prelude::*};

ib_testkit::properties! {
    any_bytes_parse(vec(any::<u8>(), 0..400));
    nearly_valid_packets_parse(vec(any::<u8>(), 0..600));
    edits_leave_packets_valid(vec(any::<u8>(), 0..600));
    valid_packets_have_no_fault(vec(any::<u8>(), 0..600));
    faults_are_found(vec(any::<u8>(), 0..600));
    crcs_agree_with_a_shift_register(vec(any::<u8>(), 0..700));
    any_packets_leave_an_unreliable_receiver_ready(vec(any::<u8>(), 0..100));
    messages_survive_loss_and_repetition(vec(any::<u8>(), 0..100));
}

proptest! {
    /// Headers that look right bring the parser past its first checks.
    #[test]
    fn bytes_that_look_like_packets_parse(
        lnh in 0u8..4, words in 0u16..80, ihl in 5u8..16, bytes in vec(any::<u8>(), 20..320),
    ) {
        let mut bytes = bytes;
        bytes[1] = bytes[1] & 0xfc | lnh;
        bytes[4..6].copy_from_slice(&words.to_be_bytes());
        properties::any_bytes_parse(&bytes);
        bytes[0] = 0x40 | ihl;
        bytes[9] = 17;
        properties::any_bytes_parse(&bytes);
        bytes[2..4].copy_from_slice(&words.to_be_bytes());
        bytes[6..8].fill(0);
        properties::any_bytes_parse(&bytes);
        bytes[12..14].copy_from_slice(&[0x89, 0x15]);
        properties::any_bytes_parse(&bytes);
    }
}

#[test]
fn generators_reach_every_operation_and_every_fault_everywhere() {
    use std::collections::BTreeSet;

    use arbitrary::{Arbitrary, Unstructured};
    use ib_wire::{
        FaultKind, OPERATIONS, Packet, Start,
        generate::{FaultyFlowControl, FaultyPacket, ValidPacket},
    };

    let (mut operations, mut faults) = (BTreeSet::new(), BTreeSet::new());
    let (mut starts, mut fault_starts) = (BTreeSet::new(), BTreeSet::new());
    let mut state = 1u64;
    for _ in 0..6000 {
        let bytes: Vec<u8> = std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        })
        .take(600)
        .collect();
        let valid = ValidPacket::arbitrary(&mut Unstructured::new(&bytes)).unwrap();
        let packet = Packet::parse_as(valid.start, valid.bytes.as_slice());
        operations.extend(packet.bth().map(|bth| bth.op_code()));
        starts.insert(valid.start.to_string());
        let faulty = FaultyPacket::arbitrary(&mut Unstructured::new(&bytes)).unwrap();
        faults.insert(faulty.fault);
        fault_starts.insert((faulty.fault, faulty.start.to_string()));
        let faulty = FaultyFlowControl::arbitrary(&mut Unstructured::new(&bytes)).unwrap();
        faults.insert(faulty.fault);
    }
    assert_eq!(operations.len(), OPERATIONS.len());
    assert_eq!(starts.len(), Start::NAMED.len());
    assert!(faults.iter().eq(FaultKind::ALL), "{faults:?}");
    let everywhere = [
        FaultKind::Truncated,
        FaultKind::HeaderStackExceedsPacket,
        FaultKind::BadTver,
        FaultKind::BadPadCnt,
        FaultKind::BadPayloadLength,
        FaultKind::UnexpectedPayload,
        FaultKind::ReservedOpCode,
        FaultKind::ManufacturerOpCode,
        FaultKind::IcrcMismatch,
    ];
    for (fault, (_, start)) in everywhere.iter().flat_map(|fault| {
        let starts = Start::NAMED.iter();
        starts.map(move |start| (fault, start))
    }) {
        let seen = fault_starts.contains(&(*fault, start.to_string()));
        assert!(seen, "{fault} at {start}");
    }
}
