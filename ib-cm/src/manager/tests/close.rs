//! Refusals and ends (IBA vol. 1, 12.9 and 12.10).

use ib_wire::{Guid, Qpn};

use super::lab::*;
use ib_mad::*;

use crate::{manager::*, *};

#[test]
fn a_consumer_rejects_a_req() {
    let mut lab = Lab::new();
    let (_, b) = lab.ask();
    lab.sides[B]
        .reject(b, &rej(RejReason::CONSUMER_REJECT))
        .unwrap();
    lab.exchange();
    lab.wait_for_end();
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "   B reports Closed, RejectedHere",
        "B: REJ",
        "   A reports Closed, Rejected REQ ConsumerReject",
        "   A reports Released",
        "   B reports Released",
    ]);
    lab.expect_nothing_left();
}

#[test]
fn a_consumer_rejects_a_rep() {
    let mut lab = Lab::new();
    let (a, b) = lab.ask();
    lab.accept(b);
    lab.sides[A]
        .reject(a, &rej(RejReason::CONSUMER_REJECT))
        .unwrap();
    lab.exchange();
    assert_eq!(lab.state(A, a), Some(ConnectionState::TimeWait));
    assert_eq!(lab.state(B, b), Some(ConnectionState::TimeWait));
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "B: REP",
        "   A reports Replied",
        "   A reports Closed, RejectedHere",
        "A: REJ",
        "   B reports Closed, Rejected REP ConsumerReject",
    ]);
}

#[test]
fn a_lost_rejection_comes_again_with_the_next_req() {
    let mut lab = Lab::new();
    lab.lose(B, "REJ");
    let (_, b) = lab.ask();
    lab.sides[B].reject(b, &rej(RejReason::NO_QP)).unwrap();
    lab.exchange();
    let again = lab.last_sent("REQ");
    lab.deliver(B, &again);
    lab.exchange();
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "   B reports Closed, RejectedHere",
        "B: REJ, lost",
        "B: REJ",
        "   A reports Closed, Rejected REQ NoQp",
    ]);
}

#[test]
fn an_active_side_may_change_its_mind() {
    let mut lab = Lab::new();
    let a = lab.connect();
    lab.exchange();
    lab.sides[A]
        .reject(a, &rej(RejReason::CONSUMER_REJECT))
        .unwrap();
    lab.exchange();
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "   A reports Closed, RejectedHere",
        "A: REJ",
        "   B reports Closed, Rejected Other Timeout",
    ]);
}

#[test]
fn a_service_that_nobody_has_is_refused_and_not_remembered() {
    let mut lab = Lab::new();
    lab.sides[B].unlisten(SERVICE, u64::MAX);
    lab.connect();
    lab.exchange();
    lab.expect(&[
        "A: REQ",
        "B: REJ",
        "   A reports Closed, Rejected REQ InvalidServiceId",
    ]);
    assert_eq!(lab.sides[B].connections(), 0);
}

#[test]
fn another_version_of_the_class_is_told_ours() {
    let mut lab = Lab::new();
    lab.lose(A, "REQ");
    lab.connect();
    lab.exchange();
    let mut old = lab.last_sent("REQ");
    old.header_mut().set_class_version(1);
    lab.deliver(B, &old);
    lab.exchange();
    let mad = lab.last_sent("REJ");
    let (rej, _) = Rej::parse(&mad.bytes[24..], 24).unwrap();
    assert_eq!(rej.reason(), RejReason::INVALID_CLASS_VERSION);
    assert_eq!(rej.information(), RejInformation::ClassVersion(2));
}

#[test]
fn dreq_and_drep_end_a_connection() {
    let (mut lab, a, b) = Lab::established();
    lab.sides[B].disconnect(b, &Dreq::default()).unwrap();
    lab.exchange();
    assert_eq!(lab.state(A, a), Some(ConnectionState::TimeWait));
    assert_eq!(lab.state(B, b), Some(ConnectionState::TimeWait));
    let closed_at = lab.now;
    lab.wait_for_end();
    lab.expect(&[
        "B: DREQ",
        "   A reports Closed, DisconnectedByPeer",
        "A: DREP",
        "   B reports Closed, Disconnected",
        "   A reports Released",
        "   B reports Released",
    ]);
    // Twice the path, and the delay of an acknowledgement.
    let way = RespTime::from_bits(10).duration();
    assert_eq!(
        lab.since(closed_at),
        2 * way + RespTime::from_bits(15).duration()
    );
    lab.expect_nothing_left();
}

#[test]
fn both_sides_may_disconnect_at_once() {
    let (mut lab, a, b) = Lab::established();
    lab.sides[A].disconnect(a, &Dreq::default()).unwrap();
    lab.sides[B].disconnect(b, &Dreq::default()).unwrap();
    lab.exchange();
    lab.expect(&[
        "A: DREQ",
        "   B reports Closed, DisconnectedByPeer",
        "B: DREQ",
        "   A reports Closed, DisconnectedByPeer",
        "A: DREP",
        "B: DREP",
    ]);
}

#[test]
fn a_lost_drep_comes_again_even_from_who_has_forgotten() {
    let (mut lab, a, _) = Lab::established();
    lab.lose(B, "DREP");
    lab.sides[A].disconnect(a, &Dreq::default()).unwrap();
    lab.exchange();
    // TimeWait of B ends before DREQ is repeated.
    lab.wait();
    lab.wait();
    lab.expect(&[
        "A: DREQ",
        "   B reports Closed, DisconnectedByPeer",
        "B: DREP, lost",
        "   B reports Released",
        "A: DREQ",
        "B: DREP",
        "   A reports Closed, Disconnected",
    ]);
}

#[test]
fn a_dreq_that_nobody_answers_ends_all_the_same() {
    let (mut lab, a, _) = Lab::established();
    for _ in 0..3 {
        lab.lose(A, "DREQ");
    }
    lab.sides[A].disconnect(a, &Dreq::default()).unwrap();
    lab.exchange();
    lab.wait_for_end();
    lab.expect(&[
        "A: DREQ, lost",
        "A: DREQ, lost",
        "A: DREQ, lost",
        "   A reports Closed, DisconnectTimedOut",
        "   A reports Released",
    ]);
}

#[test]
fn a_dreq_for_another_queue_pair_is_ignored() {
    let (mut lab, a, b) = Lab::established();
    lab.lose(A, "DREQ");
    lab.sides[A].disconnect(a, &Dreq::default()).unwrap();
    lab.exchange();
    let mut wrong = lab.last_sent("DREQ");
    let (dreq, _) = Dreq::parse_mut(&mut wrong.bytes[24..], 24).unwrap();
    dreq.set_remote_qpn_eecn(Qpn::try_new(0xbad).unwrap());
    lab.deliver(B, &wrong);
    assert_eq!(lab.state(B, b), Some(ConnectionState::Established));
}

#[test]
fn a_disconnection_is_a_confirmation_too() {
    let mut lab = Lab::new();
    let (a, b) = lab.ask();
    lab.accept(b);
    lab.lose(A, "RTU");
    lab.confirm(a);
    lab.sides[A].disconnect(a, &Dreq::default()).unwrap();
    lab.exchange();
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "B: REP",
        "   A reports Replied",
        "A: RTU, lost",
        "A: DREQ",
        "   B reports Closed, DisconnectedByPeer",
        "B: DREP",
        "   A reports Closed, Disconnected",
    ]);
}

/// A side that has forgotten everything and begins anew with the same queue pair.
fn reborn(lab: &mut Lab) {
    lab.sides[A] = CommunicationManager::new(CmConfig {
        first_communication_id: 0xa8,
        first_transaction_id: TransactionId(77),
        ..config(A)
    });
    lab.connect();
    lab.exchange();
}

/// A REQ from a queue pair in use, and the connection of B that it ends: that is in TimeWait.
fn stale() -> (Lab, ConnectionId) {
    let (mut lab, _, b) = Lab::established();
    reborn(&mut lab);
    lab.expect(&[
        "A: REQ",
        "B: REJ",
        "   A reports Closed, Rejected REQ StaleConnection",
        "B: DREQ",
        "A: DREP",
        "   B reports Closed, Stale",
    ]);
    assert_eq!(lab.state(B, b), Some(ConnectionState::TimeWait));
    (lab, b)
}

#[test]
fn a_req_from_a_queue_pair_in_use_ends_the_stale_connection() {
    let (mut lab, _) = stale();
    lab.wait_for_end();
    // Nothing is stale any more.
    lab.expect(&["   A reports Released", "   B reports Released"]);
    lab.connect();
    lab.exchange();
    lab.expect(&["A: REQ", "   B reports Requested"]);
}

#[test]
fn a_stale_connection_in_timewait_closes_once() {
    let (mut lab, b) = stale();
    lab.connect();
    lab.exchange();
    lab.expect(&[
        "A: REQ",
        "B: REJ",
        "   A reports Closed, Rejected REQ StaleConnection",
    ]);
    assert_eq!(lab.state(B, b), Some(ConnectionState::TimeWait));
}

#[test]
fn a_stale_connection_that_waits_for_a_drep_keeps_waiting() {
    let (mut lab, _, b) = Lab::established();
    lab.lose(B, "DREQ");
    lab.sides[B].disconnect(b, &Dreq::default()).unwrap();
    lab.exchange();
    reborn(&mut lab);
    lab.expect(&[
        "B: DREQ, lost",
        "A: REQ",
        "B: REJ",
        "   A reports Closed, Rejected REQ StaleConnection",
    ]);
    assert_eq!(lab.state(B, b), Some(ConnectionState::DreqSent));
    while lab.state(B, b) == Some(ConnectionState::DreqSent) {
        lab.wait();
    }
    lab.expect(&[
        "   A reports Released",
        "B: DREQ",
        "A: DREP",
        "   B reports Closed, Disconnected",
    ]);
}

#[test]
fn a_rep_from_a_queue_pair_in_use_is_stale_too() {
    let (mut lab, a, _) = Lab::established();
    // B has forgotten, and gives its old queue pair to a new connection.
    lab.sides[B] = CommunicationManager::new(CmConfig {
        first_communication_id: 0xb8,
        ..config(B)
    });
    lab.sides[B].listen(SERVICE, u64::MAX);
    let mut other = req();
    other.set_local_qpn(Qpn::try_new(0xaab).unwrap());
    lab.sides[A].connect(address(), &other, options()).unwrap();
    lab.exchange();
    let b = lab.requested();
    lab.accept(b);
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "B: REP",
        "   A reports Closed, Stale",
        "A: REJ",
        "   B reports Closed, Rejected REP StaleConnection",
        "A: DREQ",
        "B: DREP",
        "   A reports Closed, Stale",
    ]);
    assert_eq!(lab.state(A, a), Some(ConnectionState::TimeWait));
}

#[test]
fn a_number_that_is_taken_is_refused() {
    let (mut lab, _, b) = Lab::established();
    let mut mad = lab.last_sent("REQ");
    mad.header_mut().set_transaction_id(TransactionId(99));
    let (req, _) = Req::parse_mut(&mut mad.bytes[24..], 24).unwrap();
    req.set_local_qpn(Qpn::try_new(0xccc).unwrap());
    lab.deliver(B, &mad);
    lab.exchange();
    let mad = lab.last_sent("REJ");
    let (rej, _) = Rej::parse(&mad.bytes[24..], 24).unwrap();
    assert_eq!(rej.reason(), RejReason::DUPLICATE_LOCAL_COMMUNICATION_ID);
    assert_eq!(lab.state(B, b), Some(ConnectionState::Established));
}

#[test]
fn a_rep_to_nobody_ends_its_sender() {
    let mut lab = Lab::new();
    let (a, b) = lab.ask();
    // A has forgotten that it asked.
    lab.sides[A] = CommunicationManager::new(config(A));
    lab.accept(b);
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "B: REP",
        "A: REJ",
        "   B reports Closed, Rejected REP InvalidCommunicationId",
    ]);
    assert_eq!(lab.state(A, a), None);
}

#[test]
fn a_rejection_of_another_connection_is_ignored() {
    let (mut lab, a, b) = Lab::established();
    let mut mad = Mad::new(address());
    mad.bytes = lab.last_sent("RTU").bytes;
    mad.header_mut().set_attribute_id(Rej::ID);
    let (rej, _) = Rej::parse_mut(&mut mad.bytes[24..], 24).unwrap();
    rej.set_local_communication_id(b.0 + 1)
        .set_remote_communication_id(a.0)
        .set_reason(RejReason::CONSUMER_REJECT);
    lab.deliver(A, &mad);
    assert_eq!(lab.state(A, a), Some(ConnectionState::Established));
}

#[test]
fn a_timeout_names_the_ca_that_gave_up() {
    let mut lab = Lab::new();
    let a = lab.connect();
    lab.exchange();
    lab.sides[A].reject(a, &Rej::default()).unwrap();
    lab.exchange();
    let mad = lab.last_sent("REJ");
    let (rej, _) = Rej::parse(&mad.bytes[24..], 24).unwrap();
    assert_eq!(rej.information(), RejInformation::CaGuid(Guid(0xa)));
}
