//! More connections and messages than there is room for.

use ib_wire::Qpn;

use super::lab::*;
use ib_mad::*;

use crate::{manager::*, *};

fn small() -> CmConfig {
    CmConfig {
        max_connections: 2,
        max_resolutions: 1,
        max_queries: 1,
        max_replies: 3,
        ..config(B)
    }
}

#[test]
fn a_req_too_many_is_told_that_there_are_no_resources() {
    let mut lab = Lab::with([config(A), small()]);
    for qpn in 1..=3 {
        let mut req = req();
        req.set_local_qpn(Qpn::try_new(qpn).unwrap());
        lab.sides[A].connect(address(), &req, options()).unwrap();
    }
    lab.exchange();
    lab.expect(&[
        "A: REQ",
        "   B reports Requested",
        "A: REQ",
        "   B reports Requested",
        "A: REQ",
        "B: REJ",
        "   A reports Closed, Rejected REQ NoResources",
    ]);
    assert_eq!(
        lab.sides[B].connect(address(), &req(), options()),
        Err(CmError::TooMany)
    );
}

#[test]
fn strangers_do_not_fill_the_memory() {
    let mut lab = Lab::with([config(A), small()]);
    let (mut stranger, _, _) = Lab::established();
    let mut mad = stranger.last_sent("REP");
    for number in 0..100 {
        let (rep, _) = Rep::parse_mut(&mut mad.bytes[24..], 24).unwrap();
        rep.set_remote_communication_id(number);
        lab.deliver(B, &mad);
    }
    let answers = core::iter::from_fn(|| lab.sides[B].poll_transmit(lab.now));
    assert_eq!(answers.count(), 3);
    assert_eq!(lab.sides[B].connections(), 0);
    stranger.expect(&[]);
}

#[test]
fn resolutions_are_bounded_on_both_sides() {
    let mut lab = Lab::with([config(A), small()]);
    let mut req = SidrReq::default();
    req.set_service_id(SERVICE);
    for _ in 0..3 {
        lab.sides[A].resolve(address(), &req).unwrap();
    }
    lab.exchange();
    assert_eq!((lab.sides[A].resolutions(), lab.sides[B].queries()), (3, 1));
    lab.sides[B].resolve(address(), &req).unwrap();
    assert_eq!(lab.sides[B].resolve(address(), &req), Err(CmError::TooMany));
}

#[test]
fn other_classes_and_methods_are_not_ours() {
    let (mut lab, a, _) = Lab::established();
    let mut mad = lab.last_sent("REQ");
    mad.header_mut().set_method(Method::GET_RESP);
    lab.deliver(B, &mad);
    mad.header_mut()
        .set_method(Method::SEND)
        .set_mgmt_class(MgmtClass::PERF);
    lab.deliver(B, &mad);
    assert_eq!(lab.sides[B].connections(), 1);
    assert!(lab.sides[B].poll_transmit(lab.now).is_none());
    assert_eq!(lab.state(A, a), Some(ConnectionState::Established));
}

#[test]
fn numbers_of_connections_wrap_around_and_leave_zero_out() {
    let last = CmConfig {
        first_communication_id: u32::MAX,
        ..config(A)
    };
    let mut lab = Lab::with([last, config(B)]);
    let mut ids = Vec::new();
    for qpn in 1..=3 {
        let mut req = req();
        req.set_local_qpn(Qpn::try_new(qpn).unwrap());
        lab.sides[A].connect(address(), &req, options()).unwrap();
        let sent = lab.sides[A].poll_transmit(lab.now).unwrap();
        let (sent, _) = Req::parse(&sent.bytes[24..], 24).unwrap();
        ids.push(sent.local_communication_id());
    }
    assert_eq!(ids, [u32::MAX, 1, 2]);
}
