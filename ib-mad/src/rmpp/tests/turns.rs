//! Double-sided transfers: the acknowledgement of segment 0 by which the requester opens the window of the answer.

use super::*;

/// An acknowledgement by the requester, for the answer.
fn turn(method: Method, change: impl FnOnce(&mut RmppAck)) -> Mad {
    let mut ack = ack_header(0, 3);
    change(&mut ack);
    acknowledging(&template(method), &ack)
}

/// A port that has received the first `segments` of the three segments of a request.
fn responder(method: Method, segments: u32) -> Rmpp {
    let sender = RmppSender::new(config(), &template(method), data(500)).unwrap();
    let mut rmpp = Rmpp::new(config());
    for number in 1..=segments {
        rmpp.handle_mad(at(0), &sender.segment_for_test(number));
        while rmpp.poll_transmit(at(0)).is_some() {}
    }
    rmpp
}

/// Segments of the answer that go out at once.
fn sent_at_once(rmpp: &mut Rmpp, method: Method) -> Vec<u32> {
    rmpp.send(at(1), &template(method), data(2000)).unwrap();
    core::iter::from_fn(|| rmpp.poll_transmit(at(1)))
        .map(|mad| segment_of(&mad).1)
        .collect()
}

#[test]
fn the_answer_waits_for_its_turn_and_an_early_turn_counts() {
    let mut rmpp = responder(Method::GET_MULTI, 3);
    assert_eq!(sent_at_once(&mut rmpp, Method::GET_MULTI_RESP), []);
    let mut rmpp = responder(Method::GET_MULTI, 3);
    assert!(rmpp.handle_mad(at(1), &turn(Method::GET_MULTI, |_| {})));
    assert_eq!(sent_at_once(&mut rmpp, Method::GET_MULTI_RESP), [1, 2, 3]);
}

#[test]
fn a_faulty_acknowledgement_is_no_turn() {
    let faults: [fn(&mut RmppAck); 4] = [
        |ack| {
            ack.set_segment_number(1);
        },
        |ack| {
            ack.set_new_window_last(0);
        },
        |ack| {
            ack.set_rmpp_version(2);
        },
        |ack| {
            ack.set_rmpp_status(RmppStatus::ILLEGAL_STATUS);
        },
    ];
    for (index, fault) in faults.into_iter().enumerate() {
        let mut rmpp = responder(Method::GET_MULTI, 3);
        rmpp.handle_mad(at(1), &turn(Method::GET_MULTI, fault));
        let sent = sent_at_once(&mut rmpp, Method::GET_MULTI_RESP);
        assert_eq!(sent, [], "fault {index}");
    }
}

#[test]
fn no_turn_comes_before_the_request_is_whole_or_for_a_class_method_of_one_side() {
    let mut rmpp = responder(Method::GET_MULTI, 2);
    rmpp.handle_mad(at(1), &turn(Method::GET_MULTI, |_| {}));
    assert_eq!(sent_at_once(&mut rmpp, Method::GET_MULTI_RESP), []);
    // A table is no answer to a message of many segments: it starts with its first segment alone.
    let mut rmpp = responder(Method::GET_TABLE, 3);
    rmpp.handle_mad(at(1), &turn(Method::GET_TABLE, |_| {}));
    assert_eq!(sent_at_once(&mut rmpp, Method::GET_TABLE_RESP), [1]);
}

#[test]
fn an_answer_whose_request_was_one_datagram_starts_at_once() {
    let mut rmpp = Rmpp::new(config());
    assert_eq!(sent_at_once(&mut rmpp, Method::GET_MULTI_RESP), [1]);
}

/// A requester whose message of three segments is acknowledged to its end.
fn requester() -> Rmpp {
    let mut rmpp = Rmpp::new(config());
    rmpp.send(at(0), &template(Method::GET_MULTI), data(500))
        .unwrap();
    for segment in [1, 3] {
        while rmpp.poll_transmit(at(0)).is_some() {}
        rmpp.handle_mad(at(0), &acknowledgement(segment));
    }
    let said = rmpp.poll_transmit(at(0)).unwrap();
    assert_eq!(segment_of(&said), (RmppType::ACK, 0, 1));
    assert!(matches!(rmpp.poll_event(), Some(RmppEvent::Sent(_))));
    rmpp
}

/// The responder's acknowledgement of the request up to `segment`.
fn acknowledgement(segment: u32) -> Mad {
    turn(Method::GET_MULTI_RESP, |ack| {
        ack.set_segment_number(segment).set_new_window_last(5);
    })
}

#[test]
fn the_last_acknowledgement_gives_the_turn_again_and_an_overtaken_one_does_not() {
    let mut rmpp = requester();
    rmpp.handle_mad(at(1), &acknowledgement(1));
    assert_eq!(rmpp.poll_transmit(at(1)), None);
    rmpp.handle_mad(at(1), &acknowledgement(3));
    let again = rmpp.poll_transmit(at(1)).unwrap();
    assert_eq!(segment_of(&again), (RmppType::ACK, 0, 1));
    assert_eq!(rmpp.poll_event(), None, "the message was reported before");
}

#[test]
fn a_responder_that_stops_after_the_request_ends_the_transaction() {
    let mut rmpp = requester();
    let status = RmppStatus::RESOURCES_EXHAUSTED;
    let stop = segment::ending_mad(
        &template(Method::GET_MULTI_RESP),
        status,
        config().resp_time,
    );
    assert!(rmpp.handle_mad(at(1), &stop));
    let Some(RmppEvent::ReceiveFailed { key, error }) = rmpp.poll_event() else {
        panic!("no answer will come");
    };
    assert_eq!(key, RmppKey::of_data(&template(Method::GET_MULTI_RESP)));
    assert_eq!(error, RmppError::EndedByPeer { status });
    assert_eq!((rmpp.sending(), rmpp.poll_transmit(at(1))), (0, None));
}
