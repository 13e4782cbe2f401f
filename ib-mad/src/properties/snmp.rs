//! SNMP messages in segments.

use alloc::{collections::BTreeSet, vec::Vec};
use core::time::Duration;

use arbitrary::Unstructured;
use ib_wire::{Lid, Sl};

use crate::{Instant, MadAddress, SnmpConfig, SnmpReassembler, snmp_segments};

/// Whatever segments come in whatever order, no more messages are open than may be, a message of who sent
/// no damaged segment is the one that was sent, and none is left in the end.
pub fn segments_make_the_messages_that_were_sent(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let config = SnmpConfig {
        max_messages: 3,
        max_message: 4000,
        ..SnmpConfig::default()
    };
    let mut reassembler = SnmpReassembler::new(config);
    let mut now = Instant::ZERO;
    let mut damaged = BTreeSet::new();
    while !u.is_empty() {
        let [sender, number, damage] = u.arbitrary().unwrap_or([0; 3]);
        let message = message(u16::from(sender) * 20);
        let address = MadAddress::gsi(Lid(u16::from(sender)), Sl::ZERO);
        let segments: Vec<_> = snmp_segments(address, 1, config.first_segment, &message).collect();
        let mut segment = segments[usize::from(number) % segments.len()];
        if damage >= 224 {
            // Its length, its number, or the first bytes of the message.
            segment.bytes[60 + usize::from(damage) % 8] = number;
            damaged.insert(sender);
        }
        if let Ok(Some(whole)) = reassembler.handle_mad(now, &segment) {
            assert!(whole.data.len() <= config.max_message);
            assert!(damaged.contains(&sender) || whole.data == message);
        }
        assert!(reassembler.incomplete() <= config.max_messages);
        now = now + Duration::from_millis(u64::from(damage) * 4);
        reassembler.handle_timeout(now);
    }
    while let Some(next) = reassembler.poll_timeout() {
        reassembler.handle_timeout(next);
    }
    assert_eq!(reassembler.incomplete(), 0);
}

/// A SEQUENCE with this many bytes of content.
fn message(content: u16) -> Vec<u8> {
    let mut message = alloc::vec![0x30, 0x82];
    message.extend(content.to_be_bytes());
    message.extend((0..content).map(|at| (at % 251) as u8));
    message
}
