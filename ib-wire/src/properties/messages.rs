//! Messages over a link that loses and repeats packets.

use alloc::vec::Vec;

use crate::{
    Mtu, OpCode, Psn, Transport,
    message::{MessageOperation, PacketDisposition, Reassembly, Segments},
};

/// A message whose packets are lost and repeated, as the bytes say, arrives whole when the sender
/// starts again from the number that the receiver expects.
pub fn messages_survive_loss_and_repetition(bytes: &[u8]) {
    let [len_low, len_high, psn, ops @ ..] = bytes else {
        return;
    };
    let data: Vec<u8> = (0..u16::from_le_bytes([*len_low, *len_high]) & 0x1fff)
        .map(|index| index as u8 ^ psn)
        .collect();
    let first = Psn::new(0xff_fff0 + u32::from(*psn & 31));
    let message = |transport| {
        Segments::try_new(
            transport,
            MessageOperation::Send,
            &data,
            Mtu::MTU_256,
            first,
        )
    };
    let Ok(segments) = message(Transport::RC) else {
        panic!("RC carries every SEND");
    };
    let segments: Vec<_> = segments.collect();
    let Ok(mut receiver) = Reassembly::try_new(Transport::RC, Mtu::MTU_256, first) else {
        panic!("a legal MTU");
    };
    let mut received = alloc::vec![0xa5; data.len()];
    let mut complete = false;
    let mut ops = ops.iter();
    while !complete {
        let next = receiver.expected().since(first);
        for segment in segments.iter().skip(next.unsigned_abs() as usize) {
            // Without orders left, everything arrives: every run ends.
            let times = ops.next().map_or(1, |op| op & 3);
            for _ in 0..times {
                match receiver.receive(segment.op_code, segment.psn, segment.payload.len()) {
                    PacketDisposition::Accept { offset, completes } => {
                        let to = received.iter_mut().skip(offset as usize);
                        to.zip(segment.payload).for_each(|(to, from)| *to = *from);
                        complete = completes;
                    }
                    PacketDisposition::Duplicate | PacketDisposition::Lost { .. } => {}
                    PacketDisposition::Invalid => panic!("{segment:?}"),
                }
            }
        }
    }
    assert_eq!(received, data);
}

/// After any packets whatever, an unreliable receiver takes the next message that comes whole.
pub fn any_packets_leave_an_unreliable_receiver_ready(bytes: &[u8]) {
    let (chunks, rest) = bytes.as_chunks::<6>();
    let Ok(mut receiver) = Reassembly::try_new(Transport::UC, Mtu::MTU_256, Psn::new(7)) else {
        panic!("a legal MTU");
    };
    for &[op_code, high, middle, low, len, is_next] in chunks {
        // Most packets have the number that is expected, and a length that is legal.
        let psn = match is_next {
            0..128 => receiver.expected(),
            _ => Psn::new(u32::from_be_bytes([0, high, middle, low])),
        };
        let len = if len < 128 { 256 } else { usize::from(len) * 2 };
        let _ = receiver.receive(OpCode(0x20 | op_code & 31), psn, len);
    }
    let data = alloc::vec![3; 100 + rest.len() * 150];
    let first = receiver.expected();
    let message = Segments::try_new(
        Transport::UC,
        MessageOperation::Send,
        &data,
        Mtu::MTU_256,
        first,
    );
    let Ok(segments) = message else {
        panic!("UC carries every SEND");
    };
    let mut received = 0;
    for segment in segments {
        let verdict = receiver.receive(segment.op_code, segment.psn, segment.payload.len());
        let offset = received as u32;
        received += segment.payload.len();
        let completes = received == data.len();
        assert_eq!(verdict, PacketDisposition::Accept { offset, completes });
    }
    assert_eq!(received, data.len());
}
