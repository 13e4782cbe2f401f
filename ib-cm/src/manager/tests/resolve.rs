//! Service ID resolution (IBA vol. 1, 12.11).

use super::lab::*;
use ib_mad::*;

use crate::{manager::*, *};

fn ask(lab: &mut Lab) {
    let mut req = SidrReq::default();
    req.set_service_id(SERVICE);
    lab.sides[A].resolve(address(), &req).unwrap();
    lab.exchange();
}

fn queried(lab: &Lab) -> QueryId {
    match lab.events[B].last() {
        Some(CmEvent::Queried { query, .. }) => *query,
        other => panic!("{other:?}"),
    }
}

#[test]
fn sidr_req_is_answered_by_sidr_rep() {
    let mut lab = Lab::new();
    ask(&mut lab);
    let query = queried(&lab);
    let mut rep = SidrRep::default();
    rep.set_qpn(ib_wire::Qpn::try_new(0x48).unwrap());
    lab.sides[B].answer_query(query, &rep).unwrap();
    lab.exchange();
    lab.expect(&[
        "A: SIDR_REQ",
        "   B reports Queried",
        "B: SIDR_REP",
        "   A reports Resolved Valid",
    ]);
    let Some(CmEvent::Resolved { answer, .. }) = lab.events[A].last() else {
        panic!("no answer");
    };
    assert_eq!((answer.qpn().bits(), answer.service_id()), (0x48, SERVICE));
    lab.wait_for_end();
    lab.expect_nothing_left();
}

#[test]
fn a_lost_answer_comes_again_and_the_consumer_is_asked_once() {
    let mut lab = Lab::new();
    ask(&mut lab);
    lab.lose(B, "SIDR_REP");
    let query = queried(&lab);
    lab.sides[B]
        .answer_query(query, &SidrRep::default())
        .unwrap();
    lab.exchange();
    lab.wait();
    lab.expect(&[
        "A: SIDR_REQ",
        "   B reports Queried",
        "B: SIDR_REP, lost",
        "A: SIDR_REQ",
        "B: SIDR_REP",
        "   A reports Resolved Valid",
    ]);
    assert_eq!(
        lab.sides[B].answer_query(query, &SidrRep::default()),
        Err(CmError::Unknown)
    );
}

#[test]
fn a_service_that_nobody_has_is_said_so() {
    let mut lab = Lab::new();
    lab.sides[B].unlisten(SERVICE, u64::MAX);
    ask(&mut lab);
    lab.expect(&[
        "A: SIDR_REQ",
        "B: SIDR_REP",
        "   A reports Resolved ServiceNotSupported",
    ]);
    lab.expect_nothing_left();
}

#[test]
fn silence_ends_a_resolution() {
    let mut lab = Lab::with([
        CmConfig {
            resolve_retries: 1,
            ..config(A)
        },
        config(B),
    ]);
    lab.lose(A, "SIDR_REQ");
    lab.lose(A, "SIDR_REQ");
    ask(&mut lab);
    lab.wait_for_end();
    lab.expect(&[
        "A: SIDR_REQ, lost",
        "A: SIDR_REQ, lost",
        "   A reports ResolveTimedOut",
    ]);
    lab.expect_nothing_left();
}

#[test]
fn a_question_without_an_answer_is_forgotten() {
    let mut lab = Lab::new();
    ask(&mut lab);
    let query = queried(&lab);
    lab.now = lab.now + CmConfig::default().query_keep_time;
    lab.sides[B].handle_timeout(lab.now);
    assert_eq!(lab.sides[B].queries(), 0);
    assert_eq!(
        lab.sides[B].answer_query(query, &SidrRep::default()),
        Err(CmError::Unknown)
    );
}
