//! Two sides that connect to each other (IBA vol. 1, 12.10).

use super::lab::*;
use ib_mad::*;

use crate::{manager::*, *};

fn peer_to_peer() -> ConnectOptions {
    ConnectOptions {
        peer_to_peer: true,
        ..options()
    }
}

fn peers() -> Lab {
    let mut lab = Lab::new();
    lab.sides[B].unlisten(SERVICE, u64::MAX);
    lab
}

#[test]
fn of_two_reqs_that_cross_the_one_of_the_greater_ca_counts() {
    let mut lab = peers();
    let a = lab.sides[A]
        .connect(address(), &req(), peer_to_peer())
        .unwrap();
    let b = lab.sides[B]
        .connect(address(), &req(), peer_to_peer())
        .unwrap();
    lab.exchange();
    // A has the smaller GUID: it answers.
    lab.expect(&["A: REQ", "B: REQ", "   A reports Requested"]);
    assert_eq!(lab.state(A, a), Some(ConnectionState::ReqRcvd));
    lab.sides[A].accept(a, &rep()).unwrap();
    lab.exchange();
    lab.sides[B].confirm(b, &Rtu::default()).unwrap();
    lab.exchange();
    lab.expect(&[
        "A: REP",
        "   B reports Replied",
        "B: RTU",
        "   A reports Established",
    ]);
    assert!(lab.sides.iter().all(|side| side.poll_timeout().is_none()));
    assert!(lab.sides.iter().all(|side| side.connections() == 1));
}

#[test]
fn of_two_queue_pairs_of_one_ca_the_greater_counts() {
    let mut lab = Lab::with([
        config(A),
        CmConfig {
            first_communication_id: 0xb0,
            ..config(A)
        },
    ]);
    let mut greater = req();
    greater.set_local_qpn(ib_wire::Qpn::try_new(0xaab).unwrap());
    let a = lab.sides[A]
        .connect(address(), &greater, peer_to_peer())
        .unwrap();
    let b = lab.sides[B]
        .connect(address(), &req(), peer_to_peer())
        .unwrap();
    lab.exchange();
    lab.expect(&["A: REQ", "   B reports Requested", "B: REQ"]);
    assert_eq!(lab.state(A, a), Some(ConnectionState::ReqSent));
    assert_eq!(lab.state(B, b), Some(ConnectionState::ReqRcvd));
}

#[test]
fn who_comes_first_waits_for_the_other() {
    let mut lab = peers();
    let a = lab.sides[A]
        .connect(address(), &req(), peer_to_peer())
        .unwrap();
    lab.exchange();
    // No peer is there yet, which is no reason to give up.
    assert_eq!(lab.state(A, a), Some(ConnectionState::ReqSent));
    lab.sides[B]
        .connect(address(), &req(), peer_to_peer())
        .unwrap();
    lab.exchange();
    lab.expect(&["A: REQ", "B: REJ", "B: REQ", "   A reports Requested"]);
}

#[test]
fn the_req_that_lost_changes_nothing_when_it_comes_late() {
    let mut lab = peers();
    let a = lab.sides[A]
        .connect(address(), &req(), peer_to_peer())
        .unwrap();
    let b = lab.sides[B]
        .connect(address(), &req(), peer_to_peer())
        .unwrap();
    lab.exchange();
    lab.sides[A].accept(a, &rep()).unwrap();
    lab.exchange();
    lab.sides[B].confirm(b, &Rtu::default()).unwrap();
    lab.exchange();
    let (_, late) = lab.sent[0];
    assert_eq!(name(&late), "REQ");
    lab.deliver(B, &late);
    let sent = lab.sent.len();
    lab.exchange();
    assert_eq!(lab.sent.len(), sent);
    assert_eq!(lab.state(B, b), Some(ConnectionState::Established));
}
