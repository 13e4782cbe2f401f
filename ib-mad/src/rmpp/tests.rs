//! Transfers in virtual time: whole ones, and everything that can go wrong.

mod bounds;
mod senders;
mod turns;

use core::time::Duration;

use bytes::Bytes;
use ib_wire::{Gid, Lid, Qpn, Sl};

use super::*;
use crate::{Engine, GrhAddress, Input, Instant, MadAddress, Method, TransactionId};

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn template(method: Method) -> Mad {
    let mut mad = Mad::new(MadAddress::gsi(Lid(4), Sl::ZERO));
    mad.header_mut()
        .set_base_version(1)
        .set_class_version(2)
        .set_mgmt_class(MgmtClass::SUBN_ADM)
        .set_method(method)
        .set_transaction_id(TransactionId(0x1234));
    mad
}

fn data(len: usize) -> Bytes {
    (0..len).map(|at| (at % 251) as u8).collect()
}

fn config() -> RmppConfig {
    RmppConfig {
        window: 4,
        retries: 2,
        ..RmppConfig::default()
    }
}

/// Two ports and the packets between them.
struct Pair {
    sides: [Rmpp; 2],
    /// Datagrams sent so far, by side.
    sent: [Vec<Mad>; 2],
    events: [Vec<RmppEvent>; 2],
}

impl Pair {
    fn new(configs: [RmppConfig; 2]) -> Self {
        Self {
            sides: configs.map(Rmpp::new),
            sent: [const { Vec::new() }; 2],
            events: [const { Vec::new() }; 2],
        }
    }

    /// Runs until nothing moves, or to the end of the timers; `lose` is asked for each datagram.
    fn run(&mut self, now: &mut Instant, lose: impl FnMut(usize, &Mad) -> bool) {
        self.run_answering(now, None, lose);
    }

    /// As [`run`](Self::run); side 1 answers the first message with `answer`.
    fn run_answering(
        &mut self,
        now: &mut Instant,
        mut answer: Option<Bytes>,
        mut lose: impl FnMut(usize, &Mad) -> bool,
    ) {
        for _ in 0..10_000 {
            let mut moved = false;
            for from in 0..2 {
                while let Some(mad) = self.sides[from].poll_transmit(*now) {
                    moved = true;
                    self.sent[from].push(mad);
                    if !lose(from, &mad) {
                        self.sides[1 - from].handle_input(*now, Input::Mad(&mad));
                    }
                }
                while let Some(event) = self.sides[from].poll_event() {
                    self.events[from].push(event);
                }
            }
            if !self.received(1).is_empty()
                && let Some(data) = answer.take()
            {
                let template = template(Method::GET_MULTI_RESP);
                self.sides[1].send(*now, &template, data).unwrap();
                continue;
            }
            if moved {
                continue;
            }
            let timeouts = self.sides.iter().filter_map(Engine::poll_timeout);
            let Some(next) = timeouts.min() else {
                return;
            };
            *now = (*now).max(next);
            for side in &mut self.sides {
                side.handle_timeout(*now);
            }
        }
        panic!("it never ends");
    }

    fn received(&self, side: usize) -> Vec<&RmppMessage> {
        let events = self.events[side].iter();
        let received = events.filter_map(|event| match event {
            RmppEvent::Received(message) => Some(message),
            _ => None,
        });
        received.collect()
    }
}

/// The header that acknowledges the segments up to `segment` and opens the window up to `window_last`.
fn ack_header(segment: u32, window_last: u32) -> RmppAck {
    let mut ack = RmppAck::default();
    ack.set_rmpp_version(1)
        .set_rmpp_type(RmppType::ACK)
        .set_active(true)
        .set_segment_number(segment)
        .set_new_window_last(window_last);
    ack
}

/// The bare datagram of an acknowledgement in answer to `head`.
fn acknowledging(head: &Mad, ack: &RmppAck) -> Mad {
    segment::bare(head, &RmppHeader::from_bytes(*ack.as_bytes()))
}

/// The type of a datagram and its two fields that the type gives a meaning: of DATA, the segment number and the payload length.
fn segment_of(mad: &Mad) -> (RmppType, u32, u32) {
    let header = mad.rmpp().unwrap();
    (header.rmpp_type(), header.data1(), header.data2())
}

#[test]
#[cfg_attr(miri, ignore = "a pure long loop")]
fn messages_of_any_length_arrive_whole() {
    for len in [0, 1, 199, 200, 201, 400, 799, 800, 801, 20_000] {
        let mut pair = Pair::new([config(); 2]);
        let mut now = at(0);
        pair.sides[0]
            .send(now, &template(Method::GET_TABLE_RESP), data(len))
            .unwrap();
        pair.run(&mut now, |_, _| false);
        assert_eq!(pair.received(1)[0].data, data(len), "{len} bytes");
        assert!(matches!(pair.events[0][..], [RmppEvent::Sent(_)]));
        assert_eq!((pair.sides[0].sending(), pair.sides[1].receiving()), (0, 0));
        assert_eq!(pair.sides[1].memory(), 0);
    }
}

#[test]
fn the_first_segment_goes_alone_and_then_a_window_at_a_time() {
    let mut pair = Pair::new([config(); 2]);
    pair.sides[0]
        .send(at(0), &template(Method::GET_TABLE_RESP), data(2000))
        .unwrap();
    pair.run(&mut at(0), |_, _| false);
    let acks: Vec<_> = pair.sent[1].iter().map(segment_of).collect();
    assert_eq!(
        acks,
        [
            (RmppType::ACK, 1, 5),
            (RmppType::ACK, 5, 9),
            (RmppType::ACK, 9, 13),
            (RmppType::ACK, 10, 13)
        ]
    );
    for ack in &pair.sent[1] {
        assert_eq!(ack.header().method(), Method::GET_TABLE);
    }
    let lengths: Vec<_> = pair.sent[0].iter().map(|mad| segment_of(mad).2).collect();
    assert_eq!(lengths, [2200, 0, 0, 0, 0, 0, 0, 0, 0, 220]);
}

#[test]
#[cfg_attr(miri, ignore = "a pure long loop")]
fn any_one_loss_is_repaired() {
    let clean = {
        let mut pair = Pair::new([config(); 2]);
        pair.sides[0]
            .send(at(0), &template(Method::GET_TABLE_RESP), data(2000))
            .unwrap();
        pair.run(&mut at(0), |_, _| false);
        pair.sent.map(|sent| sent.len())
    };
    for (side, datagrams) in clean.into_iter().enumerate() {
        for lost in 0..datagrams {
            let mut pair = Pair::new([config(); 2]);
            pair.sides[0]
                .send(at(0), &template(Method::GET_TABLE_RESP), data(2000))
                .unwrap();
            let mut count = 0;
            pair.run(&mut at(0), |from, _| {
                count += usize::from(from == side);
                from == side && count == lost + 1
            });
            assert_eq!(pair.received(1).len(), 1, "loss {lost} of side {side}");
            assert_eq!(pair.received(1)[0].data, data(2000));
            assert!(matches!(pair.events[0][..], [RmppEvent::Sent(_)]));
        }
    }
}

#[test]
fn a_silent_receiver_is_given_up_with_an_abort() {
    let mut pair = Pair::new([config(); 2]);
    pair.sides[0]
        .send(at(0), &template(Method::GET_TABLE_RESP), data(500))
        .unwrap();
    pair.run(&mut at(0), |from, _| from == 0);
    let sent: Vec<_> = pair.sent[0].iter().map(|mad| segment_of(mad).0).collect();
    let segment = RmppType::DATA;
    assert_eq!(sent, [segment, segment, segment, RmppType::ABORT]);
    let abort = pair.sent[0][3];
    assert_eq!(
        abort.rmpp().unwrap().rmpp_status(),
        RmppStatus::TOO_MANY_RETRIES
    );
    assert_eq!(abort.header().method(), Method::GET_TABLE_RESP);
    assert!(matches!(
        pair.events[0][..],
        [RmppEvent::SendFailed {
            error: RmppError::Ended {
                status: RmppStatus::TOO_MANY_RETRIES
            },
            ..
        }]
    ));
}

#[test]
fn a_sender_that_stops_is_given_up_after_the_idle_time() {
    let mut pair = Pair::new([config(); 2]);
    let mut now = at(0);
    pair.sides[0]
        .send(now, &template(Method::GET_TABLE_RESP), data(500))
        .unwrap();
    let mut count = 0;
    // After the first segment and its acknowledgement nothing arrives any more.
    pair.run(&mut now, |from, _| {
        count += usize::from(from == 0);
        from == 0 && count > 1
    });
    let status = RmppStatus::TOTAL_TIME_TOO_LONG;
    let last = pair.sent[1].last().unwrap();
    assert_eq!(last.rmpp().unwrap().rmpp_status(), status);
    assert_eq!(pair.events[1].len(), 1);
    assert!(matches!(
        pair.events[1][0],
        RmppEvent::ReceiveFailed {
            error: RmppError::Ended { status: s },
            ..
        } if s == status
    ));
    assert_eq!(now, at(0) + config().idle_time);
}

#[test]
fn a_sender_that_drips_is_given_up_after_the_total_time() {
    let mut sender =
        RmppSender::new(config(), &template(Method::GET_TABLE_RESP), data(20_000)).unwrap();
    let mut receiver = RmppReceiver::new(config(), &sender.segment_for_test(1)).unwrap();
    let end = at(0) + config().total_time;
    let mut now = at(0);
    while receiver.error().is_none() {
        if let Some(segment) = sender.poll_transmit(now) {
            assert_eq!(receiver.handle_mad(now, &segment), None);
            if let Some(ack) = receiver.poll_transmit() {
                sender.handle_mad(now, &ack);
            }
        }
        let next = now + Duration::from_secs(3);
        now = receiver.poll_timeout().map_or(next, |due| due.min(next));
        receiver.handle_timeout(now);
    }
    assert_eq!(now, end);
    let status = RmppStatus::TOTAL_TIME_TOO_LONG;
    assert_eq!(receiver.error(), Some(RmppError::Ended { status }));
}

#[test]
fn a_message_over_the_limit_is_stopped() {
    let small = RmppConfig {
        max_message: 1000,
        ..config()
    };
    let mut pair = Pair::new([config(), small]);
    pair.sides[0]
        .send(at(0), &template(Method::GET_TABLE_RESP), data(2000))
        .unwrap();
    pair.run(&mut at(0), |_, _| false);
    let last = pair.sent[1].last().unwrap().rmpp().unwrap();
    assert_eq!(last.rmpp_type(), RmppType::STOP);
    assert!(matches!(
        pair.events[0][..],
        [RmppEvent::SendFailed {
            error: RmppError::EndedByPeer {
                status: RmppStatus::RESOURCES_EXHAUSTED
            },
            ..
        }]
    ));
    assert_eq!(pair.sides[1].receiving(), 0);
}

#[test]
fn more_transfers_than_allowed_are_stopped() {
    let mut rmpp = Rmpp::new(RmppConfig {
        max_receivers: 2,
        ..config()
    });
    for transaction in 0..3 {
        let mut sender_template = template(Method::GET_TABLE_RESP);
        sender_template
            .header_mut()
            .set_transaction_id(TransactionId(transaction));
        let mut sender = RmppSender::new(config(), &sender_template, data(500)).unwrap();
        assert!(rmpp.handle_mad(at(0), &sender.poll_transmit(at(0)).unwrap()));
    }
    assert_eq!(rmpp.receiving(), 2);
    let types: Vec<_> = core::iter::from_fn(|| rmpp.poll_transmit(at(0)))
        .map(|mad| segment_of(&mad).0)
        .collect();
    assert_eq!(types, [RmppType::STOP, RmppType::ACK, RmppType::ACK]);
}

#[test]
fn messages_together_stay_below_the_memory_limit() {
    let mut rmpp = Rmpp::new(RmppConfig {
        max_memory: 10_000,
        window: 64,
        ..config()
    });
    let mut stopped = 0;
    for transaction in 0..20 {
        let mut head = template(Method::GET_TABLE_RESP);
        head.header_mut()
            .set_transaction_id(TransactionId(transaction));
        let sender = RmppSender::new(config(), &head, data(4000)).unwrap();
        for number in 1..20 {
            rmpp.handle_mad(at(0), &sender.segment_for_test(number));
            while let Some(mad) = rmpp.poll_transmit(at(0)) {
                stopped += usize::from(segment_of(&mad).0 == RmppType::STOP);
            }
        }
    }
    assert!(
        (1..=10_000 + 2 * 4000).contains(&rmpp.memory()),
        "{}",
        rmpp.memory()
    );
    assert!(stopped > 0);
    assert_eq!(stopped + rmpp.receiving(), 20);
}

/// The answer of a port that has received the first segment of three to a datagram made from the
/// second one.
fn answer_to(change: impl FnOnce(&mut Mad, &mut RmppHeader)) -> Option<RmppHeader> {
    let mut sender =
        RmppSender::new(config(), &template(Method::GET_TABLE_RESP), data(500)).unwrap();
    let mut rmpp = Rmpp::new(config());
    rmpp.handle_mad(at(0), &sender.poll_transmit(at(0)).unwrap());
    let ack = rmpp.poll_transmit(at(0)).unwrap();
    sender.handle_mad(at(0), &ack);
    let mut mad = sender.poll_transmit(at(0)).unwrap();
    let mut header = *mad.rmpp().unwrap();
    change(&mut mad, &mut header);
    segment::write(&mut mad, HEADER_AT, header.as_bytes());
    rmpp.handle_mad(at(0), &mad);
    let answer = rmpp.poll_transmit(at(0))?;
    assert_eq!(answer.header().method(), Method::GET_TABLE);
    Some(*answer.rmpp().unwrap())
}

#[test]
fn each_fault_of_a_segment_has_its_abort() {
    let status = |change: fn(&mut RmppHeader)| {
        let answer = answer_to(|_, header| change(header)).unwrap();
        assert_eq!(answer.rmpp_type(), RmppType::ABORT);
        answer.rmpp_status()
    };
    assert_eq!(
        status(|header| {
            header.set_rmpp_version(2);
        }),
        RmppStatus::UNSUPPORTED_VERSION
    );
    assert_eq!(
        status(|header| {
            header.set_rmpp_type(RmppType(9));
        }),
        RmppStatus::BAD_RMPP_TYPE
    );
    assert_eq!(
        status(|header| {
            header.set_rmpp_status(RmppStatus(1));
        }),
        RmppStatus::ILLEGAL_STATUS
    );
    assert_eq!(
        status(|header| {
            header.set_first(true);
        }),
        RmppStatus::INCONSISTENT_FIRST_AND_SEGMENT_NUMBER
    );
    for length in [19, 221] {
        let answer = answer_to(|_, header| {
            header.set_last(true).set_data2(length);
        });
        assert_eq!(
            answer.unwrap().rmpp_status(),
            RmppStatus::INCONSISTENT_LAST_AND_PAYLOAD_LENGTH
        );
    }
}

#[test]
fn an_abort_is_never_answered() {
    for (version, status) in [(1, 0), (1, 1), (1, 118), (1, 127), (1, 200), (2, 127)] {
        let answer = answer_to(|_, header| {
            header
                .set_rmpp_version(version)
                .set_rmpp_type(RmppType::ABORT)
                .set_rmpp_status(RmppStatus(status));
        });
        assert_eq!(answer, None, "{version} {status}");
    }
}

#[test]
fn a_stop_is_answered_only_if_its_status_is_none_of_a_stop() {
    let answer = |status| {
        answer_to(|_, header| {
            header.set_rmpp_type(RmppType::STOP).set_rmpp_status(status);
        })
    };
    assert_eq!(answer(RmppStatus::RESOURCES_EXHAUSTED), None);
    let abort = answer(RmppStatus(2)).unwrap();
    assert_eq!(abort.rmpp_type(), RmppType::ABORT);
    assert_eq!(abort.rmpp_status(), RmppStatus::ILLEGAL_STATUS);
}

#[test]
fn a_sender_ends_with_the_status_of_its_peer() {
    let ended = |version, kind, status| {
        let (mut sender, _) = sender_after(1, 2, 0);
        let mut header = RmppHeader::default();
        header
            .set_rmpp_version(version)
            .set_rmpp_type(kind)
            .set_active(true)
            .set_rmpp_status(RmppStatus(status));
        sender.handle_mad(at(1), &segment::bare(&template(Method::GET_TABLE), &header));
        assert_eq!(sender.poll_timeout(), None);
        let said = sender.poll_transmit(at(1));
        (sender.outcome().unwrap().unwrap_err(), said)
    };
    for (version, kind, status, reported) in [
        (1, RmppType::STOP, 1, 1),
        (1, RmppType::ABORT, 118, 118),
        (1, RmppType::ABORT, 127, 127),
        (2, RmppType::ABORT, 125, 125),
        // No status of an ABORT.
        (1, RmppType::ABORT, 1, 124),
        (1, RmppType::ABORT, 128, 124),
    ] {
        let status = RmppStatus(status);
        let error = RmppError::EndedByPeer {
            status: RmppStatus(reported),
        };
        assert_eq!(ended(version, kind, status.bits()), (error, None));
    }
    // A STOP that is none: the abort goes with the stream, its method is that of the data.
    let (error, abort) = ended(1, RmppType::STOP, 7);
    let status = RmppStatus::ILLEGAL_STATUS;
    assert_eq!(error, RmppError::Ended { status });
    let abort = abort.unwrap();
    assert_eq!(abort.header().method(), Method::GET_TABLE_RESP);
    assert_eq!(segment_of(&abort), (RmppType::ABORT, 0, 0));
}

#[test]
fn lengths_of_all_segments_but_the_last_may_say_anything() {
    let sender = RmppSender::new(config(), &template(Method::GET_TABLE_RESP), data(500)).unwrap();
    for length in [0, 1, 220, u32::MAX] {
        let [first, middle, last] = [1, 2, 3].map(|number| sender.segment_for_test(number));
        let mut receiver = RmppReceiver::new(config(), &first).unwrap();
        for mut mad in [first, middle] {
            let mut header = *mad.rmpp().unwrap();
            header.set_data2(length);
            segment::write(&mut mad, HEADER_AT, header.as_bytes());
            assert_eq!(receiver.handle_mad(at(0), &mad), None, "{length}");
            assert!(receiver.memory() < 4096, "{length}");
        }
        let message = receiver.handle_mad(at(0), &last).unwrap();
        assert_eq!(message.data, data(500), "{length}");
    }
}

#[test]
fn a_complete_transfer_is_acknowledged_again_until_it_is_forgotten() {
    let sender = RmppSender::new(config(), &template(Method::GET_TABLE_RESP), data(500)).unwrap();
    let mut rmpp = Rmpp::new(config());
    for number in 1..=3 {
        rmpp.handle_mad(at(0), &sender.segment_for_test(number));
        let _ = rmpp.poll_transmit(at(0));
    }
    assert!(matches!(rmpp.poll_event(), Some(RmppEvent::Received(_))));
    for number in [3, 1, 2] {
        rmpp.handle_mad(at(5), &sender.segment_for_test(number));
        let ack = rmpp.poll_transmit(at(5)).unwrap();
        let (kind, acknowledged, window_last) = segment_of(&ack);
        assert_eq!((kind, acknowledged), (RmppType::ACK, 3), "{number}");
        assert!(window_last >= 3);
    }
    let kept = at(0) + config().keep_time;
    assert_eq!(rmpp.poll_timeout(), Some(kept));
    rmpp.handle_timeout(kept);
    assert_eq!((rmpp.receiving(), rmpp.poll_event()), (0, None));
    rmpp.handle_mad(kept, &sender.segment_for_test(3));
    assert_eq!(rmpp.poll_transmit(kept), None);
}

#[test]
fn transfers_differ_by_peer_transaction_class_version_and_method() {
    let first = |change: fn(&mut Mad)| {
        let mut head = template(Method::GET_TABLE_RESP);
        change(&mut head);
        let sender = RmppSender::new(config(), &head, data(500)).unwrap();
        sender.segment_for_test(1)
    };
    let behind_a_router = |mad: &mut Mad, last: u8| {
        let mut gid = Gid::default();
        gid.0[15] = last;
        mad.address.grh = Some(GrhAddress {
            gid,
            gid_index: 0,
            hop_limit: 1,
            traffic_class: 0,
            flow_label: 0,
        });
    };
    let mut mads = vec![
        first(|_| {}),
        first(|mad| mad.address.lid = Lid(5)),
        first(|mad| mad.address.qpn = Qpn::try_new(7).unwrap()),
        first(|mad| {
            mad.header_mut().set_transaction_id(TransactionId(1));
        }),
        first(|mad| {
            mad.header_mut().set_class_version(3);
        }),
        first(|mad| {
            mad.header_mut().set_method(Method::GET_MULTI_RESP);
        }),
        first(|mad| {
            mad.header_mut().set_mgmt_class(MgmtClass::VENDOR2_30);
        }),
    ];
    for last in [1, 2] {
        let mut mad = first(|_| {});
        behind_a_router(&mut mad, last);
        mads.push(mad);
    }
    let mut rmpp = Rmpp::new(config());
    for (index, mad) in mads.iter().enumerate() {
        assert!(rmpp.handle_mad(at(0), mad));
        assert_eq!(rmpp.receiving(), index + 1);
    }
    // The same once more are no new ones.
    for mad in &mads {
        assert!(rmpp.handle_mad(at(0), mad));
    }
    assert_eq!(rmpp.receiving(), mads.len());
}

#[test]
fn a_segment_that_was_acknowledged_is_acknowledged_again() {
    let answer = answer_to(|_, header| {
        header.set_first(true).set_data1(1);
    });
    let answer = answer.unwrap();
    assert_eq!((answer.rmpp_type(), answer.data1()), (RmppType::ACK, 1));
}

#[test]
fn segments_above_the_window_and_of_unknown_transfers_are_dropped() {
    assert_eq!(
        answer_to(|_, header| {
            header.set_data1(6);
        }),
        None
    );
    let mut rmpp = Rmpp::new(config());
    let mut sender =
        RmppSender::new(config(), &template(Method::GET_TABLE_RESP), data(500)).unwrap();
    let _ = sender.poll_transmit(at(0));
    let mut ack = RmppReceiver::new(config(), &template(Method::GET_TABLE_RESP)).unwrap();
    let _ = ack.handle_mad(at(0), &sender.segment_for_test(1));
    sender.handle_mad(at(0), &ack.poll_transmit().unwrap());
    assert!(rmpp.handle_mad(at(0), &sender.poll_transmit(at(0)).unwrap()));
    assert_eq!((rmpp.poll_transmit(at(0)), rmpp.receiving()), (None, 0));
}

/// Reaction to an ACK of a sender of three segments that has sent the first.
fn sender_after(segment: u32, window_last: u32, status: u8) -> (RmppSender, Option<RmppStatus>) {
    let mut sender =
        RmppSender::new(config(), &template(Method::GET_TABLE_RESP), data(500)).unwrap();
    let _ = sender.poll_transmit(at(0));
    let mut ack = ack_header(segment, window_last);
    ack.set_rmpp_status(RmppStatus(status));
    sender.handle_mad(at(0), &acknowledging(&template(Method::GET_TABLE), &ack));
    let status = match sender.outcome() {
        Some(Err(RmppError::Ended { status })) => {
            let abort = sender.poll_transmit(at(0)).unwrap();
            assert_eq!(abort.rmpp().unwrap().rmpp_status(), status);
            Some(status)
        }
        _ => None,
    };
    (sender, status)
}

#[test]
fn each_fault_of_an_acknowledgement_has_its_abort() {
    assert_eq!(sender_after(1, 5, 0).1, None);
    assert_eq!(sender_after(1, 5, 3).1, Some(RmppStatus::ILLEGAL_STATUS));
    assert_eq!(
        sender_after(1, 0, 0).1,
        Some(RmppStatus::NEW_WINDOW_LAST_TOO_SMALL)
    );
    assert_eq!(
        sender_after(4, 5, 0).1,
        Some(RmppStatus::SEGMENT_NUMBER_TOO_BIG)
    );
    assert_eq!(
        sender_after(2, 5, 0).1,
        Some(RmppStatus::SEGMENT_NUMBER_TOO_BIG)
    );
}

#[test]
fn a_window_that_never_opens_ends_the_transfer() {
    let (mut sender, _) = sender_after(1, 1, 0);
    let mut now = at(0);
    while let Some(next) = sender.poll_timeout() {
        now = next;
        sender.handle_timeout(now);
        let said = sender.poll_transmit(now).map(|mad| segment_of(&mad).0);
        assert!(said.is_none_or(|kind| kind == RmppType::ABORT), "{said:?}");
    }
    let status = RmppStatus::TOO_MANY_RETRIES;
    assert_eq!(sender.outcome(), Some(Err(RmppError::Ended { status })));
    assert!(now > at(0));
}

#[test]
fn an_old_acknowledgement_is_ignored() {
    let (mut sender, _) = sender_after(1, 3, 0);
    let sent: Vec<_> = core::iter::from_fn(|| sender.poll_transmit(at(0))).collect();
    assert_eq!(sent.len(), 2);
    let before = sender.clone();
    let mut header = RmppHeader::default();
    header
        .set_rmpp_version(1)
        .set_rmpp_type(RmppType::ACK)
        .set_active(true)
        .set_data2(1);
    sender.handle_mad(at(5), &segment::bare(&template(Method::GET_TABLE), &header));
    assert_eq!(sender.poll_timeout(), before.poll_timeout());
    assert_eq!(sender.poll_transmit(at(5)), None);
    assert_eq!(sender.outcome(), None);
}

#[test]
fn segments_in_any_order_within_the_window_are_put_together() {
    let mut sender =
        RmppSender::new(config(), &template(Method::GET_TABLE_RESP), data(900)).unwrap();
    let mut receiver = RmppReceiver::new(config(), &sender.segment_for_test(1)).unwrap();
    assert_eq!(
        receiver.handle_mad(at(0), &sender.segment_for_test(1)),
        None
    );
    let _ = receiver.poll_transmit();
    for number in [4, 2, 2, 5] {
        assert_eq!(
            receiver.handle_mad(at(0), &sender.segment_for_test(number)),
            None
        );
        assert_eq!(receiver.poll_transmit(), None, "{number}");
    }
    let message = receiver
        .handle_mad(at(0), &sender.segment_for_test(3))
        .unwrap();
    assert_eq!(message.data, data(900));
    let ack = receiver.poll_transmit().unwrap();
    assert_eq!(segment_of(&ack).1, 5);
    let _ = sender.poll_transmit(at(0));
}

#[test]
fn a_double_sided_transfer_turns_round() {
    let mut pair = Pair::new([config(); 2]);
    let mut now = at(0);
    pair.sides[0]
        .send(now, &template(Method::GET_MULTI), data(500))
        .unwrap();
    pair.run_answering(&mut now, Some(data(1000)), |_, _| false);
    let turn: Vec<_> = pair.sent[0]
        .iter()
        .filter(|mad| segment_of(mad) == (RmppType::ACK, 0, 1))
        .collect();
    assert_eq!(turn.len(), 1);
    assert_eq!(turn[0].header().method(), Method::GET_MULTI);
    assert_eq!(pair.received(0)[0].data, data(1000));
    assert_eq!(
        pair.sides
            .each_ref()
            .map(|side| side.sending() + side.receiving()),
        [0, 0]
    );
}

#[test]
fn a_lost_turn_does_not_lose_the_answer() {
    let mut pair = Pair::new([config(); 2]);
    let mut now = at(0);
    pair.sides[0]
        .send(now, &template(Method::GET_MULTI), data(500))
        .unwrap();
    pair.run_answering(&mut now, Some(data(1000)), |_, mad| {
        segment_of(mad) == (RmppType::ACK, 0, 1)
    });
    assert_eq!(pair.received(0)[0].data, data(1000));
}

#[test]
fn a_class_without_rmpp_sends_no_segments() {
    let mut mad = template(Method::GET_RESP);
    mad.header_mut().set_mgmt_class(MgmtClass::PERF);
    assert_eq!(
        RmppSender::new(config(), &mad, data(1)).err(),
        Some(RmppError::NoRmpp {
            class: MgmtClass::PERF
        })
    );
    assert!(!Rmpp::new(config()).handle_mad(at(0), &mad));
}
