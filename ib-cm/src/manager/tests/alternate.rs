//! Another alternate path (IBA vol. 1, 12.8).

use super::lab::*;
use ib_mad::*;

use crate::{manager::*, *};

fn lap() -> Lap {
    let mut lap = Lap::default();
    lap.set_remote_cm_response_timeout(18);
    lap
}

#[test]
fn lap_offers_and_apr_takes_a_path() {
    let (mut lab, a, b) = Lab::established();
    lab.sides[A].load_path(a, &lap()).unwrap();
    lab.exchange();
    lab.sides[B].answer_path(b, &Apr::default()).unwrap();
    lab.exchange();
    lab.expect(&[
        "A: LAP",
        "   B reports PathOffered",
        "B: APR",
        "   A reports PathAnswered Loaded",
    ]);
    assert!(lab.sides.iter().all(|side| side.poll_timeout().is_none()));
    // And the next one.
    lab.sides[A].load_path(a, &lap()).unwrap();
    lab.exchange();
    lab.expect(&["A: LAP", "   B reports PathOffered"]);
}

#[test]
fn a_lost_apr_comes_again_when_lap_comes_again() {
    let (mut lab, a, b) = Lab::established();
    lab.sides[A].load_path(a, &lap()).unwrap();
    lab.exchange();
    lab.lose(B, "APR");
    let mut apr = Apr::default();
    apr.set_ap_status(AprStatus::REJECTED);
    lab.sides[B].answer_path(b, &apr).unwrap();
    lab.exchange();
    lab.wait();
    lab.expect(&[
        "A: LAP",
        "   B reports PathOffered",
        "B: APR, lost",
        "A: LAP",
        "B: APR",
        "   A reports PathAnswered Rejected",
    ]);
}

#[test]
fn an_mra_stretches_the_answer_to_a_lap() {
    let (mut lab, a, b) = Lab::established();
    lab.sides[A].load_path(a, &lap()).unwrap();
    lab.exchange();
    lab.sides[B].delay(b, &mra(22)).unwrap();
    lab.exchange();
    let held = lab.sides[A].poll_timeout().unwrap();
    assert!(held.since(lab.now) > RespTime::from_bits(22).duration());
    lab.sides[B].answer_path(b, &Apr::default()).unwrap();
    lab.exchange();
    lab.expect(&[
        "A: LAP",
        "   B reports PathOffered",
        "B: MRA",
        "B: APR",
        "   A reports PathAnswered Loaded",
    ]);
}

#[test]
fn an_offer_that_nobody_answers_leaves_the_connection() {
    let (mut lab, a, _) = Lab::established();
    for _ in 0..3 {
        lab.lose(A, "LAP");
    }
    lab.sides[A].load_path(a, &lap()).unwrap();
    lab.exchange();
    lab.wait_for_end();
    lab.expect(&[
        "A: LAP, lost",
        "A: LAP, lost",
        "A: LAP, lost",
        "   A reports PathTimedOut",
    ]);
    assert_eq!(lab.state(A, a), Some(ConnectionState::Established));
}

#[test]
fn a_path_for_an_unknown_connection_or_queue_pair_is_refused() {
    let (mut lab, a, b) = Lab::established();
    lab.lose(A, "LAP");
    lab.sides[A].load_path(a, &lap()).unwrap();
    lab.exchange();
    let sent = lab.last_sent("LAP");
    let status = |lab: &mut Lab, change: fn(&mut Lap) -> &mut Lap| {
        let mut mad = sent;
        let (lap, _) = Lap::parse_mut(&mut mad.bytes[24..], 24).unwrap();
        change(lap);
        lab.deliver(B, &mad);
        let mad = lab.sides[B].poll_transmit(lab.now).expect("APR");
        let (apr, _) = Apr::parse(&mad.bytes[24..], 24).unwrap();
        apr.ap_status()
    };
    let unknown = status(&mut lab, |lap| lap.set_remote_communication_id(9));
    assert_eq!(unknown, AprStatus::INVALID_COMMUNICATION_INSTANCE);
    let other = status(&mut lab, |lap| lap.set_remote_qpn_eecn(ib_wire::Qpn::GSI));
    assert_eq!(other, AprStatus::INVALID_QPN_OR_EECN);
    assert_eq!(lab.state(B, b), Some(ConnectionState::Established));
}

#[test]
fn one_path_at_a_time_is_offered_by_the_active_side() {
    let (mut lab, a, b) = Lab::established();
    assert_eq!(lab.sides[B].load_path(b, &lap()), Err(CmError::Passive));
    lab.sides[A].load_path(a, &lap()).unwrap();
    assert_eq!(lab.sides[A].load_path(a, &lap()), Err(CmError::PathOnOffer));
    assert_eq!(
        lab.sides[B].answer_path(b, &Apr::default()),
        Err(CmError::Unknown)
    );
}

#[test]
fn an_offer_ends_with_its_connection() {
    let (mut lab, a, b) = Lab::established();
    lab.sides[A].load_path(a, &lap()).unwrap();
    lab.exchange();
    lab.sides[B].disconnect(b, &Dreq::default()).unwrap();
    lab.exchange();
    lab.wait_for_end();
    lab.expect(&[
        "A: LAP",
        "   B reports PathOffered",
        "B: DREQ",
        "   A reports Closed, DisconnectedByPeer",
        "A: DREP",
        "   B reports Closed, Disconnected",
        "   A reports Released",
        "   B reports Released",
    ]);
    lab.expect_nothing_left();
}
