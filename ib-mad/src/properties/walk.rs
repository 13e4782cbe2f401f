//! The walk of an I/O unit whose agent does whatever it likes.

use core::time::Duration;

use arbitrary::Unstructured;
use ib_wire::{Lid, Sl};

use crate::{
    ClientConfig, Engine, Input, Instant, IoController, IoControllerProfile, IoUnit, IoUnitWalk,
    MadAddress, MadStatus, ServiceEntry, WindowConfig,
};

/// A walk ends once, whatever its unit answers or loses, and what it finds of a unit that is honest and
/// stays the same is that unit.
pub fn a_walk_ends_once(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let mut unit = IoUnit::default();
    for _ in 0..u.int_in_range(0..=5).unwrap_or(0) {
        let [slot, services] = u.arbitrary().unwrap_or([1; 2]);
        unit.insert(slot, controller(services % 20));
    }
    let mut walk = IoUnitWalk::new(
        ClientConfig {
            window: WindowConfig {
                timeout: Duration::from_millis(10),
                retries: 1,
                busy_retries: 1,
                ..WindowConfig::default()
            },
            ..ClientConfig::default()
        },
        MadAddress::gsi(Lid(7), Sl::ZERO),
    );
    let mut now = Instant::ZERO;
    let mut is_honest = true;
    let mut end = None;
    for round in 0.. {
        assert!(round < 100_000, "it never ends");
        while let Some(mut mad) = walk.poll_transmit(now) {
            let what = u.arbitrary::<u8>().unwrap_or(0);
            assert!(unit.respond(&mut mad.bytes));
            match what {
                0..200 => {}
                200..216 => {
                    is_honest = false;
                    continue;
                }
                216..232 => {
                    is_honest = false;
                    let status = MadStatus(u16::from(what) - 215);
                    mad.header_mut().set_status(status);
                }
                232..248 => {
                    is_honest = false;
                    let [at, value] = u.arbitrary().unwrap_or([0; 2]);
                    mad.bytes[64 + usize::from(at) % 192] = value;
                }
                _ => {
                    is_honest = false;
                    unit.insert(what, controller(what % 9));
                }
            }
            walk.handle_input(now, Input::Mad(&mad));
        }
        if let Some(ended) = walk.poll_event() {
            assert!(end.is_none(), "it ends twice");
            end = Some(ended);
        }
        match walk.poll_timeout() {
            Some(next) => {
                now = now.max(next);
                walk.handle_timeout(now);
            }
            None => break,
        }
    }
    let Some(end) = end.or_else(|| walk.poll_event()) else {
        panic!("it falls silent without an end");
    };
    if is_honest {
        let report = end.unwrap();
        assert_eq!((report.unit, report.failed.len()), (unit, 0));
    }
}

fn controller(services: u8) -> IoController {
    let service = |number: u8| {
        let mut entry = ServiceEntry::default();
        entry.set_service_id(number.into());
        entry
    };
    IoController {
        profile: IoControllerProfile::default(),
        services: (0..services).map(service).collect(),
    }
}
