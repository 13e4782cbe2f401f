//! Messages of third parties and late copies: they change nothing.

use super::lab::*;
use ib_mad::*;
use ib_wire::Qpn;

use crate::{manager::*, *};

/// A copy of the message that was sent last under a name, with a change of its content.
macro_rules! altered {
    ($lab:expr, $type:ident, $name:literal, $change:expr) => {{
        let mut mad = $lab.last_sent($name);
        let (body, _) = $type::parse_mut(&mut mad.bytes[24..], 24).unwrap();
        let change: fn(&mut $type) = $change;
        change(body);
        mad
    }};
}

/// The side hears this message, reports nothing and says nothing.
#[track_caller]
fn expect_no_effect(lab: &mut Lab, side: usize, mad: &Mad) {
    let (sent, reported) = (lab.sent.len(), lab.events[side].len());
    let due = lab.sides[side].poll_timeout();
    lab.deliver(side, mad);
    lab.exchange();
    assert_eq!(lab.sent.len(), sent);
    assert_eq!(lab.events[side].len(), reported);
    assert_eq!(lab.sides[side].poll_timeout(), due);
}

#[test]
fn only_messages_of_our_class_and_version_are_heard() {
    let mut lab = Lab::new();
    lab.lose(A, "REQ");
    lab.connect();
    lab.exchange();
    let req = lab.last_sent("REQ");
    let edits: [fn(&mut MadHeader); 3] = [
        |header| _ = header.set_base_version(2),
        |header| _ = header.set_mgmt_class(MgmtClass::PERF),
        |header| _ = header.set_method(Method::TRAP),
    ];
    for edit in edits {
        let mut mad = req;
        edit(mad.header_mut());
        expect_no_effect(&mut lab, B, &mad);
    }
    lab.deliver(B, &req);
    assert!(matches!(lab.events[B][..], [CmEvent::Requested { .. }]));
}

#[test]
fn an_mra_for_the_rep_holds_who_sent_it_and_that_of_a_third_party_does_not() {
    let mut lab = Lab::new();
    let (a, b) = lab.ask();
    lab.accept(b);
    lab.lose(A, "MRA");
    lab.sides[A].delay(a, &mra(20)).unwrap();
    lab.exchange();
    let stranger = altered!(lab, Mra, "MRA", |mra| {
        mra.set_local_communication_id(0x77);
    });
    expect_no_effect(&mut lab, B, &stranger);
    assert_eq!(lab.state(B, b), Some(ConnectionState::RepSent));
    let own = lab.last_sent("MRA");
    lab.deliver(B, &own);
    assert_eq!(lab.state(B, b), Some(ConnectionState::MraRepRcvd));
    let due = lab.sides[B].poll_timeout().unwrap();
    assert!(due.since(lab.now) > RespTime::from_bits(20).duration());
}

#[test]
fn a_lost_rejection_of_a_rep_comes_again_with_the_next_rep() {
    let mut lab = Lab::new();
    let (a, b) = lab.ask();
    lab.accept(b);
    lab.lose(A, "REJ");
    lab.sides[A]
        .reject(a, &rej(RejReason::CONSUMER_REJECT))
        .unwrap();
    lab.exchange();
    let again = lab.last_sent("REP");
    lab.deliver(A, &again);
    lab.exchange();
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "B: REP",
        "   A reports Replied",
        "   A reports Closed, RejectedHere",
        "A: REJ, lost",
        "A: REJ",
        "   B reports Closed, Rejected REP ConsumerReject",
    ]);
}

#[test]
fn late_copies_wake_no_connection_that_was_closed() {
    let (mut lab, a, b) = Lab::established();
    let (req, rep) = (lab.last_sent("REQ"), lab.last_sent("REP"));
    lab.sides[A].disconnect(a, &Dreq::default()).unwrap();
    lab.exchange();
    assert_eq!(lab.state(A, a), Some(ConnectionState::TimeWait));
    assert_eq!(lab.state(B, b), Some(ConnectionState::TimeWait));
    expect_no_effect(&mut lab, A, &rep);
    expect_no_effect(&mut lab, B, &req);
}

#[test]
fn a_dreq_for_a_closed_connection_is_answered_and_closes_it_once() {
    let (mut lab, a, b) = Lab::established();
    lab.sides[A].disconnect(a, &Dreq::default()).unwrap();
    lab.sides[B].disconnect(b, &Dreq::default()).unwrap();
    lab.exchange();
    let late = lab.sent.iter().rev();
    let mut late = late.filter(|(side, mad)| *side == B && name(mad) == "DREQ");
    let late = late.next().unwrap().1;
    let (sent, reported) = (lab.sent.len(), lab.events[A].len());
    lab.deliver(A, &late);
    lab.exchange();
    assert_eq!(lab.events[A].len(), reported);
    assert_eq!(lab.sent.len(), sent + 1);
    assert_eq!(name(&lab.sent[sent].1), "DREP");
}

#[test]
fn a_rep_to_the_passive_side_is_none_of_its_business() {
    let (mut lab, _, b) = Lab::established();
    let mut rep = lab.last_sent("REP");
    let (body, _) = Rep::parse_mut(&mut rep.bytes[24..], 24).unwrap();
    body.set_remote_communication_id(b.0)
        .set_local_communication_id(0x77);
    expect_no_effect(&mut lab, B, &rep);
}

#[test]
fn a_second_acceptance_by_another_connection_is_rejected() {
    let (mut lab, a, b) = Lab::established();
    let second = altered!(lab, Rep, "REP", |rep| {
        rep.set_local_communication_id(0x77);
    });
    lab.deliver(A, &second);
    let answer = lab.sides[A].poll_transmit(lab.now).unwrap();
    assert_eq!(name(&answer), "REJ");
    let (rej, _) = Rej::parse(&answer.bytes[24..], 24).unwrap();
    assert_eq!(rej.reason(), RejReason::INVALID_COMMUNICATION_ID);
    assert_eq!(rej.remote_communication_id(), 0x77);
    assert_eq!(lab.state(A, a), Some(ConnectionState::Established));
    assert_eq!(lab.state(B, b), Some(ConnectionState::Established));
}

#[test]
fn a_rejection_that_names_our_number_needs_no_guid() {
    let mut lab = Lab::new();
    let (a, b) = lab.ask();
    lab.lose(A, "REJ");
    lab.sides[A]
        .reject(a, &rej(RejReason::CONSUMER_REJECT))
        .unwrap();
    lab.exchange();
    let mut rej = lab.last_sent("REJ");
    let (body, _) = Rej::parse_mut(&mut rej.bytes[24..], 24).unwrap();
    // Nobody has this GUID.
    body.set_reason(RejReason::TIMEOUT)
        .set_remote_communication_id(b.0)
        .set_local_communication_id(a.0)
        .set_reject_info_length(8);
    lab.deliver(B, &rej);
    assert_eq!(lab.state(B, b), Some(ConnectionState::TimeWait));
}

#[test]
fn reliable_datagrams_share_a_queue_pair() {
    for (service, qpn, shares) in [
        (TransportService::RD, 0xaaa, true),
        (TransportService::RC, 0, true),
        (TransportService::RC, 0xaaa, false),
    ] {
        let mut lab = Lab::new();
        let mut req = req();
        req.set_transport_service_type(service)
            .set_local_qpn(Qpn::try_new(qpn).unwrap());
        let (_, first) = lab.ask_with(&req);
        lab.sides[A].connect(address(), &req, options()).unwrap();
        lab.exchange();
        let requested = lab.events[B].iter();
        let requested = requested.filter(|event| matches!(event, CmEvent::Requested { .. }));
        assert_eq!(requested.count(), if shares { 2 } else { 1 }, "{service}");
        let state = lab.state(B, first);
        assert_eq!(state == Some(ConnectionState::ReqRcvd), shares, "{service}");
    }
}

#[test]
fn the_passive_one_of_two_peers_repeats_its_lost_rep() {
    let mut lab = Lab::new();
    lab.sides[B].unlisten(SERVICE, u64::MAX);
    let peers = ConnectOptions {
        peer_to_peer: true,
        ..options()
    };
    // A waits longer for the RTU than B for the REP.
    let mut hasty = req();
    hasty.set_remote_cm_response_timeout(16);
    let a = lab.sides[A].connect(address(), &req(), peers).unwrap();
    lab.sides[B].connect(address(), &hasty, peers).unwrap();
    lab.exchange();
    lab.lose(A, "REP");
    lab.sides[A].accept(a, &rep()).unwrap();
    lab.exchange();
    let repeated = lab.last_sent("REQ");
    lab.deliver(A, &repeated);
    lab.exchange();
    lab.expect(&[
        "A: REQ",
        "B: REQ",
        "   A reports Requested",
        "A: REP, lost",
        "A: REP",
        "   B reports Replied",
    ]);
}
