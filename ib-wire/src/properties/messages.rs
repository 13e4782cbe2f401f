//! Messages over a link that loses and repeats packets.

use alloc::vec::Vec;

use crate::{
    Mtu, Psn, Transport,
    message::{Operation, Reassembly, Segments, Verdict},
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
    let message =
        |transport| Segments::try_new(transport, Operation::Send, &data, Mtu::MTU_256, first);
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
                    Verdict::Accept { offset, completes } => {
                        let to = received.iter_mut().skip(offset as usize);
                        to.zip(segment.payload).for_each(|(to, from)| *to = *from);
                        complete = completes;
                    }
                    Verdict::Duplicate | Verdict::Lost { .. } => {}
                    Verdict::Invalid => panic!("{segment:?}"),
                }
            }
        }
    }
    assert_eq!(received, data);
}
