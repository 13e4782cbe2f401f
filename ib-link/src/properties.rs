//! Facts that hold for every input: called by the property tests and the fuzz targets alike.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a property that does not hold panics, that is how it is reported"
)]

use alloc::{collections::VecDeque, vec::Vec};
use core::time::Duration;

use arbitrary::Unstructured;
use ib_mad::{Engine, Instant};
use ib_wire::{FlowControlPacket, Vl};

use crate::{CreditConfig, CreditLoop, Turn, VlArbiter, VlWeight};

/// The packets on a link, in order.
enum OnWire {
    Data(Vl, u32),
    Update(FlowControlPacket),
}

/// A sender that keeps to its credits overruns no buffer, whatever is lost, and once updates have made up
/// for every loss, its credit is the room that is free.
pub fn credits_overrun_no_buffer(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let buffer = u32::from(u.arbitrary::<u16>().unwrap_or(0)) * 8;
    let config = CreditConfig {
        lanes: 2,
        buffer,
        ..CreditConfig::default()
    };
    let mut now = Instant::ZERO;
    let mut ends = [CreditLoop::new(config, now), CreditLoop::new(config, now)];
    let mut wire = VecDeque::new();
    let mut held = Vec::new();
    while !u.is_empty() {
        let [what, size] = u.arbitrary().unwrap_or([0; 2]);
        let lane = Vl::from_low_bits(what >> 7);
        let len = u32::from(size) * 17 + 1;
        match what % 8 {
            0..3 => {
                let may = ends[0].may_send(lane, len);
                assert_eq!(ends[0].send(lane, len).is_ok(), may);
                if may {
                    wire.push_back(OnWire::Data(lane, len));
                }
            }
            3 | 4 => arrive(&mut ends[1], now, wire.pop_front(), &mut held),
            5 => drop(wire.pop_front()),
            6 if !held.is_empty() => {
                let (lane, len) = held.swap_remove(usize::from(size) % held.len());
                ends[1].free(lane, len);
            }
            _ => {
                now = now + Duration::from_micros(u64::from(size) * 4);
                wire.extend(ends[0].poll_transmit(now).map(OnWire::Update));
                // Updates of the receiver may be lost as well.
                if let Some(update) = ends[1].poll_transmit(now)
                    && size & 1 == 0
                {
                    ends[0].handle_input(now, &update);
                }
            }
        }
    }
    while let Some(on_wire) = wire.pop_front() {
        arrive(&mut ends[1], now, Some(on_wire), &mut held);
    }
    for (lane, len) in held {
        ends[1].free(lane, len);
    }
    for _ in 0..2 {
        now = now + config.update_interval;
        for from in 0..2 {
            while let Some(update) = ends[from].poll_transmit(now) {
                ends[1 - from].handle_input(now, &update);
            }
        }
    }
    let free = u16::try_from(buffer / 64).unwrap().min(2048);
    for lane in [Vl::ZERO, Vl::from_low_bits(1)] {
        assert_eq!(ends[0].credit(lane), free);
    }
}

fn arrive(end: &mut CreditLoop, now: Instant, what: Option<OnWire>, held: &mut Vec<(Vl, u32)>) {
    match what {
        Some(OnWire::Data(lane, len)) => {
            assert_eq!(end.receive(lane, len), Ok(()));
            held.push((lane, len));
        }
        Some(OnWire::Update(update)) => end.handle_input(now, &update),
        None => {}
    }
}

/// A packet is sent whenever a lane of the tables has one, and only from such a lane; where the high table
/// has a limit, no waiting lane of the low one starves.
pub fn an_arbiter_serves_who_waits(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let mut table = || -> Vec<VlWeight> {
        let len = u.int_in_range(0..=70).unwrap_or(0);
        let entry = |bytes: [u8; 2]| VlWeight {
            vl: Vl::from_low_bits(bytes[0]),
            weight: bytes[1],
        };
        (0..len)
            .map(|_| entry(u.arbitrary().unwrap_or([0; 2])))
            .collect()
    };
    let (high, low) = (table(), table());
    let limit: u8 = u.arbitrary().unwrap_or(0);
    let mut arbiter = VlArbiter::new(&high, &low, limit);
    let lanes = |table: &[VlWeight]| {
        let used = table.iter().take(64).filter(|entry| entry.weight > 0);
        used.fold(0u16, |lanes, entry| lanes | 1 << entry.vl.bits()) & 0x7fff
    };
    let mut low_waits = 0u32;
    while !u.is_empty() {
        let [busy, len] = u.arbitrary::<[u16; 2]>().unwrap_or([0; 2]);
        let len = u32::from(len) % 4096 + 1;
        let head = |vl: Vl| (busy >> vl.bits() & 1 != 0).then_some(len);
        let served = arbiter.next(&head);
        match served {
            Some((vl, turn)) => {
                assert!(head(vl).is_some());
                let of = match turn {
                    Turn::Management => 0x8000,
                    Turn::High => lanes(&high),
                    Turn::Low => lanes(&low),
                };
                assert!(of >> vl.bits() & 1 != 0, "{vl} {turn:?}");
            }
            None => assert_eq!(busy & (lanes(&high) | lanes(&low) | 0x8000), 0),
        }
        low_waits = match served {
            Some((_, Turn::High)) if busy & lanes(&low) != 0 => low_waits + len,
            Some((_, Turn::Low)) => 0,
            _ if busy & lanes(&low) == 0 => 0,
            _ => low_waits,
        };
        // A packet that fits into a rest of one byte still goes.
        assert!(limit == 255 || low_waits <= u32::from(limit) * 4096 + 4096);
    }
}
