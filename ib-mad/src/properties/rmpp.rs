//! Transfers over links that lose packets, and segments that no sender sent.

use alloc::vec::Vec;
use core::time::Duration;

use arbitrary::Unstructured;
use bytes::Bytes;
use ib_wire::{Lid, Sl};

use crate::{
    Engine, Input, Instant, Mad, MadAddress, Method, MgmtClass, Rmpp, RmppConfig, RmppEvent,
    RmppHeader, RmppType, TransactionId,
};

pub(super) const CONFIG: RmppConfig = RmppConfig {
    window: 4,
    retries: 3,
    path_time: Duration::from_millis(10),
    resp_time: crate::RespTime::from_bits(8),
    max_wait: Duration::from_secs(2),
    total_time: Duration::from_secs(40),
    idle_time: Duration::from_secs(16),
    keep_time: Duration::from_secs(10),
    max_message: 20_000,
    max_receivers: 8,
    max_memory: 50_000,
    max_senders: 8,
    max_senders_per_port: 4,
    max_send_memory: 1 << 20,
    peers_acknowledge: true,
};

fn template(transaction: u8) -> Mad {
    let mut mad = Mad::new(MadAddress::gsi(Lid(4), Sl::ZERO));
    mad.header_mut()
        .set_base_version(1)
        .set_class_version(2)
        .set_mgmt_class(MgmtClass::SUBN_ADM)
        .set_method(Method::GET_TABLE_RESP)
        .set_transaction_id(TransactionId(transaction.into()));
    mad
}

/// A message over a link that loses and repeats datagrams arrives whole, or its sender reports a
/// failure; so does its answer, if it has one of many segments. Nothing goes on for ever.
pub fn a_lossy_link_delivers_or_reports(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let len = u.arbitrary::<u16>().unwrap_or(0);
    let is_double_sided = len & 1 != 0;
    let len = usize::from(len) % 10_000;
    let data: Bytes = (0..len).map(|at| (at % 249) as u8).collect();
    let mut sides = [Rmpp::new(CONFIG), Rmpp::new(CONFIG)];
    let mut now = Instant::ZERO;
    let mut request = template(1);
    if is_double_sided {
        request.header_mut().set_method(Method::GET_MULTI);
    }
    sides[0].send(now, &request, data.clone()).unwrap();
    // The messages that each side has begun to send, whether they have arrived, and how often their sender
    // has reported an end.
    let (mut begun, mut arrived, mut ends) = ([1, 0], [0, 0], [0, 0]);
    for round in 0.. {
        assert!(round < 100_000, "it never ends");
        let mut moved = false;
        for from in 0..2 {
            while let Some(mad) = sides[from].poll_transmit(now) {
                moved = true;
                let copies = match u.arbitrary::<u8>().unwrap_or(255) {
                    0..40 => 0,
                    40..60 => 2,
                    _ => 1,
                };
                for _ in 0..copies {
                    sides[1 - from].handle_input(now, Input::Mad(&mad));
                }
            }
            while let Some(event) = sides[from].poll_event() {
                moved = true;
                match event {
                    RmppEvent::Received(message) => {
                        assert_eq!(message.data, data);
                        arrived[1 - from] += 1;
                        if message.header().method() == Method::GET_MULTI {
                            let mut answer = message.first;
                            answer.header_mut().set_method(Method::GET_MULTI_RESP);
                            sides[from].send(now, &answer, data.clone()).unwrap();
                            begun[from] += 1;
                        }
                    }
                    RmppEvent::Sent(_) => {
                        assert_eq!(arrived[from], 1, "acknowledged before it was received");
                        ends[from] += 1;
                    }
                    RmppEvent::SendFailed { .. } => ends[from] += 1,
                    RmppEvent::ReceiveFailed { .. } => {}
                }
            }
        }
        if moved {
            continue;
        }
        let Some(next) = sides.iter().filter_map(Engine::poll_timeout).min() else {
            break;
        };
        now = now.max(next);
        for side in &mut sides {
            side.handle_timeout(now);
        }
    }
    assert!(arrived.iter().all(|&times| times <= 1), "{arrived:?}");
    assert_eq!(ends, begun);
    for side in &sides {
        assert_eq!((side.sending(), side.receiving(), side.memory()), (0, 0, 0));
    }
}

/// A transfer ends once, whatever its receiver acknowledges, and nothing is left of it.
pub fn any_acknowledgements_end_a_transfer(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let mut rmpp = Rmpp::new(CONFIG);
    let mut now = Instant::ZERO;
    let len = usize::from(u.arbitrary::<u8>().unwrap_or(0)) * 8;
    let data: Bytes = (0..len).map(|at| (at % 249) as u8).collect();
    let key = rmpp.send(now, &template(1), data).unwrap();
    let (mut ends, mut sent) = (0, 0);
    for round in 0.. {
        assert!(round < 100_000, "it never ends");
        while let Some(mad) = rmpp.poll_transmit(now) {
            sent = sent.max(mad.rmpp().map_or(0, RmppHeader::data1));
        }
        while let Some(event) = rmpp.poll_event() {
            let is_end = match event {
                RmppEvent::Sent(of) => of == key,
                RmppEvent::SendFailed { key: of, .. } => of == key,
                _ => false,
            };
            ends += usize::from(is_end);
        }
        match u.arbitrary::<u8>() {
            Ok(what) if !u.is_empty() => {
                let mad = answer_to(sent, what, &mut u);
                rmpp.handle_mad(now, &mad);
                now = now + Duration::from_millis(u64::from(what / 16));
                rmpp.handle_timeout(now);
            }
            _ => match rmpp.poll_timeout() {
                Some(next) => {
                    now = now.max(next);
                    rmpp.handle_timeout(now);
                }
                None => break,
            },
        }
    }
    assert_eq!((ends, rmpp.sending(), rmpp.receiving()), (1, 0, 0));
}

/// An answer that a receiver might send: as a rule an acknowledgement of segments up to `sent`.
fn answer_to(sent: u32, what: u8, u: &mut Unstructured<'_>) -> Mad {
    let mut mad = template(1);
    mad.header_mut().set_method(Method::GET_TABLE);
    let [number, ahead] = u.arbitrary().unwrap_or([0; 2]);
    let number = u32::from(number) % (sent + 1 + u32::from(number / 250));
    let kind = match what % 16 {
        0 => RmppType::STOP,
        1 => RmppType::ABORT,
        2 => RmppType(ahead),
        _ => RmppType::ACK,
    };
    let (header, _) = RmppHeader::parse_mut(&mut mad.bytes[24..], 24).unwrap();
    header
        .set_rmpp_version(1)
        .set_rmpp_type(kind)
        .set_active(true)
        .set_r_resp_time(crate::RespTime::from_bits(what / 8))
        .set_data1(number)
        // Mostly a window that goes on, or one that does not.
        .set_data2((number + u32::from(ahead % 4)).saturating_sub(u32::from(ahead / 248)));
    mad
}

/// Whatever segments arrive in whatever order: the limits hold, and an ABORT has no answer.
pub fn any_segments_stay_within_bounds(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let mut rmpp = Rmpp::new(CONFIG);
    let mut now = Instant::ZERO;
    let mut answers = Vec::new();
    while !u.is_empty() {
        let mut mad = template(u.arbitrary::<u8>().unwrap_or(0) % 16);
        let header: [u8; 12] = u.arbitrary().unwrap_or_default();
        mad.bytes[24..36].copy_from_slice(&header);
        // Most are of a kind that goes further than the first checks.
        let shape: u8 = u.arbitrary().unwrap_or(0);
        if shape & 0x80 == 0 {
            mad.bytes[24] = 1;
            mad.bytes[25] = 1 + (shape & 3);
            mad.bytes[26] |= 1;
            mad.bytes[27] = 0;
            mad.bytes[28..31].fill(0);
            mad.bytes[32..35].fill(0);
        }
        if shape & 0x40 != 0 {
            let request = Method(mad.header().method().bits() ^ 0x80);
            mad.header_mut().set_method(request);
        }
        let is_abort = mad.rmpp().is_some_and(|h| h.rmpp_type() == RmppType::ABORT);
        let handled = rmpp.handle_mad(now, &mad);
        assert_eq!(handled, mad.rmpp().is_some());
        answers.clear();
        answers.extend(core::iter::from_fn(|| rmpp.poll_transmit(now)));
        if is_abort && mad.bytes[24] == 1 {
            assert!(answers.is_empty(), "{answers:?}");
        }
        while let Some(event) = rmpp.poll_event() {
            if let RmppEvent::Received(message) = event {
                assert!(message.data.len() <= CONFIG.max_message);
            }
        }
        assert!(rmpp.receiving() <= CONFIG.max_receivers);
        assert!(rmpp.memory() <= CONFIG.max_memory + 2 * CONFIG.max_message);
        now = now + Duration::from_millis(u.arbitrary::<u8>().unwrap_or(0).into());
        rmpp.handle_timeout(now);
        // Packets that a time-out sends do not answer the next segment.
        while rmpp.poll_transmit(now).is_some() {}
        while rmpp.poll_event().is_some() {}
    }
    rmpp.handle_timeout(now + Duration::from_secs(41));
    rmpp.handle_timeout(now + Duration::from_secs(100));
    assert_eq!((rmpp.receiving(), rmpp.memory()), (0, 0));
}
