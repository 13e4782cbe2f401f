//! The transaction window under any order of answers.

use alloc::{collections::BTreeMap, vec::Vec};
use core::time::Duration;

use arbitrary::Unstructured;
use ib_wire::{Lid, Qpn};

use crate::{
    ClassPortInfo, Engine, InFlight, Input, Instant, Mad, MadAddress, MadStatus, Method, MgmtClass,
    TransactionId, TransactionWindow, WindowConfig, WindowEvent,
};

const PER_DESTINATION: u32 = 2;
const LIMIT: u32 = 6;

/// Each request ends exactly once, answered or failed, whatever is lost, late, repeated, busy,
/// redirected or made up; the limits hold all the time.
pub fn every_request_ends_once(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let first = u.arbitrary::<u32>().unwrap_or(1);
    let mut window = TransactionWindow::new(WindowConfig {
        timeout: Duration::from_millis(10),
        retries: 2,
        busy_wait: Duration::from_millis(5),
        busy_retries: 2,
        max_redirects: 2,
        in_flight: match first % 2 {
            0 => InFlight::Fixed(LIMIT),
            _ => InFlight::Adaptive { min: 1, max: LIMIT },
        },
        per_destination: PER_DESTINATION,
        max_requests: 40,
        first_transaction_id: TransactionId(first.into()),
        ..WindowConfig::default()
    });
    let mut now = Instant::ZERO;
    let mut opened = 0u32;
    let mut ends = BTreeMap::new();
    let mut seen: Vec<Mad> = Vec::new();
    while !u.is_empty() && opened < 2000 {
        let (what, which) = u.arbitrary::<(u8, u8)>().unwrap_or_default();
        let known = match seen.len() {
            0 => None,
            len => seen.get(usize::from(which) % len).copied(),
        };
        match (what % 8, known) {
            (0 | 1, _) => {
                if window.request(&request(which), opened).is_ok() {
                    opened += 1;
                }
            }
            (2, Some(mad)) => answer(&mut window, now, &mad, MadStatus::OK),
            (3, Some(mad)) => answer(&mut window, now, &mad, MadStatus::BUSY),
            (4, Some(mad)) => answer(&mut window, now, &mad, MadStatus::REDIRECT),
            (5, Some(mad)) if which >= 128 => window.handle_input(now, Input::Returned(&mad)),
            (5, Some(mad)) => window.handle_input(now, Input::SendFailed(&mad)),
            (6, Some(mad)) => {
                let mut forged = mad;
                forged.bytes[usize::from(what) % 24] ^= which;
                window.handle_input(now, Input::Mad(&forged));
            }
            _ => {
                now = now + Duration::from_millis(which.into());
                window.handle_timeout(now);
            }
        }
        settle(&mut window, now, &mut seen, &mut ends);
        assert!(window.in_flight() <= LIMIT && window.limit() <= LIMIT);
    }
    // Silence from now on: all that is left fails.
    while let Some(next) = window.poll_timeout() {
        now = now.max(next);
        window.handle_timeout(now);
        settle(&mut window, now, &mut seen, &mut ends);
    }
    assert!(window.is_empty(), "{window:?}");
    assert_eq!(window.in_flight(), 0);
    assert_eq!(ends.len(), opened as usize);
    assert!(ends.values().all(|&times| times == 1));
}

fn request(which: u8) -> Mad {
    let mut mad = Mad::new(MadAddress::smi(Lid(u16::from(which) % 5 + 1)));
    mad.header_mut()
        .set_base_version(1)
        .set_class_version(1)
        .set_mgmt_class(MgmtClass::PERF)
        .set_method(Method::GET);
    mad
}

fn answer(window: &mut TransactionWindow<u32>, now: Instant, mad: &Mad, status: MadStatus) {
    let mut answer = *mad;
    answer
        .header_mut()
        .set_method(Method::GET_RESP)
        .set_status(status);
    if status == MadStatus::REDIRECT {
        let (info, _) = ClassPortInfo::parse_mut(&mut answer.bytes[64..], 64).unwrap();
        info.set_redirect_lid(Lid(mad.address.lid.0 % 5 + 1))
            .set_redirect_qp(Qpn::GSI);
    }
    window.handle_input(now, Input::Mad(&answer));
}

/// Sends what may be sent and notes what ended.
fn settle(
    window: &mut TransactionWindow<u32>,
    now: Instant,
    seen: &mut Vec<Mad>,
    ends: &mut BTreeMap<u32, u32>,
) {
    while let Some(mad) = window.poll_transmit(now) {
        if seen.len() >= 64 {
            seen.remove(0);
        }
        seen.push(mad);
    }
    while let Some(event) = window.poll_event() {
        let context = match event {
            WindowEvent::Answered { answer, .. } => answer.context,
            WindowEvent::Failed(failure) => failure.context,
            WindowEvent::Unsolicited(_) | WindowEvent::Stale(_) => continue,
        };
        *ends.entry(context).or_default() += 1;
    }
}
