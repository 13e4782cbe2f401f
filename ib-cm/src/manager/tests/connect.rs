//! Setting a connection up (IBA vol. 1, 12.10).

use core::time::Duration;

use super::lab::*;
use ib_mad::*;

use crate::{manager::*, *};

#[test]
fn req_rep_and_rtu_make_a_connection() {
    let mut lab = Lab::new();
    let (a, b) = lab.ask();
    lab.accept(b);
    lab.confirm(a);
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "B: REP",
        "   A reports Replied",
        "A: RTU",
        "   B reports Established",
    ]);
    assert_eq!(lab.state(A, a), Some(ConnectionState::Established));
    assert_eq!(lab.state(B, b), Some(ConnectionState::Established));
    assert!(lab.sides.iter().all(|side| side.poll_timeout().is_none()));
}

#[test]
fn messages_carry_the_numbers_of_both_sides_in_one_transaction_of_version_2() {
    let (lab, a, b) = Lab::established();
    let [req, rep, rtu] = ["REQ", "REP", "RTU"].map(|name| lab.last_sent(name));
    let ids = |mad: &Mad| {
        let (ids, _) = Rtu::parse(&mad.bytes[24..], 24).unwrap();
        (ids.local_communication_id(), ids.remote_communication_id())
    };
    assert_eq!(ids(&req).0, a.0);
    assert_eq!(ids(&rep), (b.0, a.0));
    assert_eq!(ids(&rtu), (a.0, b.0));
    for mad in [req, rep, rtu] {
        let header = mad.header();
        assert_eq!(header.transaction_id(), TransactionId(1));
        assert_eq!(header.mgmt_class(), MgmtClass::COM_MGT);
        assert_eq!((header.class_version(), header.method()), (2, Method::SEND));
    }
}

#[test]
fn mras_stretch_both_answers() {
    let mut lab = Lab::new();
    let (a, b) = lab.ask();
    lab.sides[B].delay(b, &mra(20)).unwrap();
    lab.exchange();
    // Twice the time after which REQ would be repeated.
    let deadline = lab.sides[A].poll_timeout().unwrap();
    assert!(deadline.since(lab.now) > RespTime::from_bits(20).duration());
    lab.accept(b);
    lab.sides[A].delay(a, &mra(20)).unwrap();
    lab.exchange();
    lab.confirm(a);
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "B: MRA",
        "B: REP",
        "   A reports Replied",
        "A: MRA",
        "A: RTU",
        "   B reports Established",
    ]);
}

#[test]
fn a_lost_req_is_repeated_after_the_time_that_it_gives() {
    let mut lab = Lab::new();
    lab.lose(A, "REQ");
    lab.connect();
    lab.exchange();
    let sent_at = lab.now;
    lab.wait();
    lab.expect(&["A: REQ, lost", "A: REQ", "   B reports Requested"]);
    let way = RespTime::from_bits(10).duration();
    let answer = RespTime::from_bits(18).duration();
    assert_eq!(lab.since(sent_at), answer + 2 * way);
}

#[test]
fn a_lost_rep_is_repeated_after_the_time_that_the_req_gives() {
    let mut lab = Lab::new();
    let mut patient = req();
    patient.set_remote_cm_response_timeout(20);
    let (_, b) = lab.ask_with(&patient);
    lab.lose(B, "REP");
    lab.accept(b);
    let sent_at = lab.now;
    lab.wait();
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "B: REP, lost",
        "B: REP",
        "   A reports Replied",
    ]);
    let way = RespTime::from_bits(10).duration();
    let answer = RespTime::from_bits(18).duration();
    assert_eq!(lab.since(sent_at), answer + 2 * way);
}

#[test]
fn a_lost_rep_comes_again_when_req_comes_again() {
    let mut lab = Lab::new();
    let mut patient = req();
    patient.set_local_cm_response_timeout(20);
    let (_, b) = lab.ask_with(&patient);
    lab.lose(B, "REP");
    lab.accept(b);
    lab.wait();
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "B: REP, lost",
        "A: REQ",
        "B: REP",
        "   A reports Replied",
    ]);
}

#[test]
fn a_lost_rtu_comes_again_when_rep_comes_again() {
    let mut lab = Lab::new();
    let (a, b) = lab.ask();
    lab.accept(b);
    lab.lose(A, "RTU");
    lab.confirm(a);
    lab.wait();
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "B: REP",
        "   A reports Replied",
        "A: RTU, lost",
        "B: REP",
        "A: RTU",
        "   B reports Established",
    ]);
}

#[test]
fn a_lost_mra_comes_again_when_req_comes_again() {
    let mut lab = Lab::new();
    let (_, b) = lab.ask();
    lab.lose(B, "MRA");
    lab.sides[B].delay(b, &mra(20)).unwrap();
    lab.exchange();
    lab.wait();
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "B: MRA, lost",
        "A: REQ",
        "B: MRA",
    ]);
}

#[test]
fn data_is_as_good_as_an_rtu() {
    let mut lab = Lab::new();
    let (a, b) = lab.ask();
    lab.accept(b);
    lab.lose(A, "RTU");
    lab.confirm(a);
    lab.sides[B].data_arrived(b);
    assert_eq!(lab.state(B, b), Some(ConnectionState::Established));
    assert!(matches!(
        lab.sides[B].poll_event(),
        Some(CmEvent::Established { rtu: None, .. })
    ));
}

#[test]
fn a_req_without_an_answer_is_repeated_as_often_as_it_says_and_then_taken_back() {
    let mut lab = Lab::new();
    for _ in 0..3 {
        lab.lose(A, "REQ");
    }
    lab.connect();
    lab.exchange();
    lab.wait_for_end();
    lab.expect(&[
        "A: REQ, lost",
        "A: REQ, lost",
        "A: REQ, lost",
        "   A reports Closed, TimedOut",
        "A: REJ",
        "   A reports Released",
    ]);
    lab.expect_nothing_left();
}

#[test]
fn who_gives_up_tells_the_side_whose_number_it_never_learned() {
    let mut lab = Lab::new();
    for _ in 0..3 {
        lab.lose(B, "REP");
    }
    let mut patient = req();
    patient.set_local_cm_response_timeout(22);
    let (_, b) = lab.ask_with(&patient);
    lab.accept(b);
    lab.wait_for_end();
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "B: REP, lost",
        "A: REQ",
        "B: REP, lost",
        "A: REQ",
        "B: REP, lost",
        "   A reports Closed, TimedOut",
        "A: REJ",
        "   B reports Closed, Rejected REQ Timeout",
        "   A reports Released",
        "   B reports Released",
    ]);
    lab.expect_nothing_left();
}

#[test]
fn a_rep_without_an_rtu_ends_on_both_sides() {
    let mut lab = Lab::new();
    let (a, b) = lab.ask();
    lab.accept(b);
    for _ in 0..3 {
        lab.lose(A, "RTU");
    }
    lab.confirm(a);
    lab.wait_for_end();
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "B: REP",
        "   A reports Replied",
        "A: RTU, lost",
        "B: REP",
        "A: RTU, lost",
        "B: REP",
        "A: RTU, lost",
        "   B reports Closed, TimedOut",
        "B: REJ",
        "   A reports Closed, Rejected REP Timeout",
        "   A reports Released",
        "   B reports Released",
    ]);
    lab.expect_nothing_left();
}

#[test]
fn an_mra_holds_once_until_its_message_is_sent_again() {
    let mut lab = Lab::new();
    let (_, b) = lab.ask();
    lab.sides[B].delay(b, &mra(20)).unwrap();
    lab.exchange();
    let held = lab.sides[A].poll_timeout();
    let again = lab.last_sent("MRA");
    lab.now = lab.now + Duration::from_secs(1);
    lab.deliver(A, &again);
    assert_eq!(lab.sides[A].poll_timeout(), held);
}

#[test]
fn no_code_makes_anybody_wait_longer_than_the_limit() {
    let mut lab = Lab::new();
    let mut patient = req();
    patient
        .set_remote_cm_response_timeout(31)
        .set_local_cm_response_timeout(31);
    lab.sides[A]
        .connect(address(), &patient, options())
        .unwrap();
    lab.exchange();
    let limit = lab.now + CmConfig::default().max_wait;
    assert_eq!(lab.sides[A].poll_timeout(), Some(limit));
    let b = lab.requested();
    lab.sides[B].accept(b, &rep()).unwrap();
    lab.lose(B, "REP");
    lab.exchange();
    assert_eq!(lab.sides[B].poll_timeout(), Some(limit));
    lab.sides[B].handle_timeout(lab.now);
}

#[test]
fn a_late_copy_of_each_message_changes_nothing() {
    let (mut lab, a, b) = Lab::established();
    for (side, mad) in lab.sent.clone() {
        lab.deliver(1 - side, &mad);
    }
    lab.exchange();
    // A side that repeats REP has not received RTU.
    lab.expect(&["A: RTU"]);
    assert_eq!(lab.state(A, a), Some(ConnectionState::Established));
    assert_eq!(lab.state(B, b), Some(ConnectionState::Established));
}

#[test]
fn commands_of_another_state_are_refused() {
    let (mut lab, a, b) = Lab::established();
    let state = ConnectionState::Established;
    let wrong = Err(CmError::WrongState { state });
    assert_eq!(lab.sides[B].accept(b, &rep()), wrong);
    assert_eq!(lab.sides[A].confirm(a, &Rtu::default()), wrong);
    assert_eq!(lab.sides[A].delay(a, &mra(9)), wrong);
    assert_eq!(lab.sides[A].reject(a, &Rej::default()), wrong);
    let stranger = ConnectionId(99);
    assert_eq!(
        lab.sides[A].confirm(stranger, &Rtu::default()),
        Err(CmError::Unknown)
    );
    assert_eq!(lab.state(A, stranger), None);
}
