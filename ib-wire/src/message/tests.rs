use super::*;
use crate::{Lrh, Packet};

fn send(data: &[u8], mtu: Mtu) -> Segments<'_> {
    Segments::try_new(
        Transport::RC,
        MessageOperation::Send,
        data,
        mtu,
        Psn::new(0xff_fffe),
    )
    .unwrap()
}

/// Receives the segments into a buffer of 0xA5.
fn put_together(segments: Segments<'_>, transport: Transport, mtu: Mtu, len: usize) -> Vec<u8> {
    let mut buffer = vec![0xa5; len];
    let mut receiver = Reassembly::try_new(transport, mtu, segments.psn).unwrap();
    let count = segments.len();
    for (index, segment) in segments.enumerate() {
        let verdict = receiver.receive(segment.op_code, segment.psn, segment.payload.len());
        let PacketDisposition::Accept { offset, completes } = verdict else {
            panic!("{verdict:?}");
        };
        assert_eq!(completes, index + 1 == count);
        let offset = offset as usize;
        buffer[offset..offset + segment.payload.len()].copy_from_slice(segment.payload);
    }
    buffer
}

#[test]
fn a_message_of_any_length_comes_out_as_it_went_in() {
    let data: Vec<u8> = (0..2100).map(|i| (i * 7) as u8).collect();
    for len in [0, 1, 255, 256, 257, 511, 512, 513, 1024, 2099] {
        let data = &data[..len];
        let segments = send(data, Mtu::MTU_256);
        assert_eq!(segments.len(), len.div_ceil(256).max(1));
        let out = put_together(segments, Transport::RC, Mtu::MTU_256, len);
        assert_eq!(out, data, "{len} bytes");
    }
}

#[test]
fn headers_stand_in_the_packets_that_the_opcode_table_says() {
    let data = [7; 600];
    let operations = [
        MessageOperation::Send,
        MessageOperation::SendImmediate(ImmDt::from_bytes([1; 4])),
        MessageOperation::SendInvalidate(Ieth::from_bytes([2; 4])),
        MessageOperation::Write(Reth::from_bytes([3; 16])),
        MessageOperation::WriteImmediate(Reth::from_bytes([4; 16]), ImmDt::from_bytes([5; 4])),
        MessageOperation::ReadResponse(Aeth::from_bytes([6; 4])),
    ];
    for operation in operations {
        for len in [1, 600] {
            let data = &data[..len];
            let segments =
                Segments::try_new(Transport::RC, operation, data, Mtu::MTU_256, Psn::new(5));
            for segment in segments.unwrap() {
                let mut bth = Bth::default();
                segment.write_bth(&mut bth);
                let mut builder = PacketBuilder::local(Lrh::default(), bth);
                segment.add_to(&mut builder);
                let mut buffer = [0xa5; 400];
                let len = builder.build(&mut buffer).unwrap();
                let packet = Packet::parse(&buffer[..len]);
                assert!(packet.validate().is_empty(), "{operation:?}");
                assert_eq!(packet.payload(), segment.payload);
            }
        }
    }
}

#[test]
fn what_a_transport_lacks_cannot_be_cut() {
    let invalidate = MessageOperation::SendInvalidate(Ieth::default());
    let cut = |transport, operation, data| {
        Segments::try_new(transport, operation, data, Mtu::MTU_256, Psn::new(0)).err()
    };
    let not_carried = |transport, packets| Some(MessageError::NotCarried { transport, packets });
    assert_eq!(
        cut(Transport::UC, invalidate, &[]),
        not_carried(Transport::UC, 1)
    );
    let long = &[0; 257];
    assert_eq!(
        cut(Transport::UD, MessageOperation::Send, long),
        not_carried(Transport::UD, 2)
    );
    let bad = Segments::try_new(
        Transport::RC,
        MessageOperation::Send,
        &[],
        Mtu(9),
        Psn::new(0),
    );
    assert_eq!(bad.err(), Some(MessageError::BadMtu { found: 9 }));
}

#[test]
fn a_reliable_receiver_waits_for_the_packet_that_is_missing() {
    let mut receiver = Reassembly::try_new(Transport::RC, Mtu::MTU_256, Psn::new(5)).unwrap();
    let first = OpCode::RC_SEND_FIRST;
    let last = OpCode::RC_SEND_LAST;
    assert_eq!(
        receiver.receive(last, Psn::new(7), 9),
        PacketDisposition::Lost { missing: 2 }
    );
    assert_eq!(
        receiver.receive(first, Psn::new(4), 256),
        PacketDisposition::Duplicate
    );
    assert_eq!(
        receiver.receive(last, Psn::new(5), 9),
        PacketDisposition::Invalid
    );
    assert_eq!(
        receiver.receive(first, Psn::new(5), 255),
        PacketDisposition::Invalid
    );
    let accepted = PacketDisposition::Accept {
        offset: 0,
        completes: false,
    };
    assert_eq!(receiver.receive(first, Psn::new(5), 256), accepted);
    let other = OpCode::RC_RDMA_WRITE_LAST;
    assert_eq!(
        receiver.receive(other, Psn::new(6), 9),
        PacketDisposition::Invalid
    );
    let accepted = PacketDisposition::Accept {
        offset: 256,
        completes: true,
    };
    assert_eq!(receiver.receive(last, Psn::new(6), 9), accepted);
    assert_eq!(receiver.expected(), Psn::new(7));
}

#[test]
fn an_unreliable_receiver_drops_the_message_and_takes_the_next() {
    let mut receiver = Reassembly::try_new(Transport::UC, Mtu::MTU_256, Psn::new(5)).unwrap();
    let accepted = PacketDisposition::Accept {
        offset: 0,
        completes: false,
    };
    assert_eq!(
        receiver.receive(OpCode::UC_SEND_FIRST, Psn::new(5), 256),
        accepted
    );
    let lost = PacketDisposition::Lost { missing: 1 };
    assert_eq!(receiver.receive(OpCode::UC_SEND_LAST, Psn::new(7), 9), lost);
    let whole = PacketDisposition::Accept {
        offset: 0,
        completes: true,
    };
    assert_eq!(
        receiver.receive(OpCode::UC_SEND_ONLY, Psn::new(8), 9),
        whole
    );
}

#[test]
fn an_unreliable_receiver_goes_on_where_its_sender_starts_again() {
    let mut receiver = Reassembly::try_new(Transport::UC, Mtu::MTU_256, Psn::new(900)).unwrap();
    let missing = (1 << 24) - 800;
    let lost = PacketDisposition::Lost { missing };
    let only = OpCode::UC_SEND_ONLY;
    assert_eq!(receiver.receive(only, Psn::new(100), 9), lost);
    for psn in [100, 101] {
        let whole = PacketDisposition::Accept {
            offset: 0,
            completes: true,
        };
        assert_eq!(receiver.receive(only, Psn::new(psn), 9), whole);
    }
}
