//! The patterns in which datagrams are exchanged (IBA vol. 1, 13.4.5): who asks, who answers, and what
//! has no answer.

use super::*;

fn mad(class: MgmtClass, method: Method) -> Mad {
    let mut mad = Mad::new(MadAddress::smi(Lid(1)));
    mad.header_mut()
        .set_base_version(1)
        .set_class_version(class.version())
        .set_mgmt_class(class)
        .set_method(method)
        .set_attribute_id(AttributeId(0x02));
    mad
}

/// The same datagram with another method: its answer.
fn with(mad: &Mad, method: Method) -> Mad {
    let mut answer = *mad;
    answer.header_mut().set_method(method);
    answer
}

/// One request goes out once, and this answer ends it.
fn asked_and_answered(class: MgmtClass, method: Method, answer: Method) {
    let mut window = window();
    window.request(&mad(class, method), 7).unwrap();
    let [request] = sent(&mut window, at(0))[..] else {
        panic!("one request");
    };
    assert_eq!(request.header().method(), method);
    let answer = with(&request, answer);
    let MadMatch::Answer(answered) = window.handle_mad(at(1), &answer) else {
        panic!("it is the answer");
    };
    assert_eq!((answered.context, answered.attempts), (7, 1));
    assert!(sent(&mut window, at(1000)).is_empty() && window.is_empty());
}

#[test]
fn get_is_answered_by_get_resp() {
    asked_and_answered(MgmtClass::PERF, Method::GET, Method::GET_RESP);
}

#[test]
fn set_is_answered_by_get_resp() {
    asked_and_answered(MgmtClass::PERF, Method::SET, Method::GET_RESP);
}

#[test]
fn send_has_no_answer_and_reaches_its_consumer() {
    let mut window = window();
    let send = mad(MgmtClass::COM_MGT, Method::SEND);
    assert!(matches!(
        window.handle_mad(at(0), &send),
        MadMatch::Unsolicited
    ));
    // Even if a number of ours is in it.
    window
        .request(&mad(MgmtClass::COM_MGT, Method::SEND), 7)
        .unwrap();
    let [ours] = sent(&mut window, at(0))[..] else {
        panic!("one datagram");
    };
    assert!(matches!(
        window.handle_mad(at(1), &ours),
        MadMatch::Unsolicited
    ));
}

#[test]
fn trap_is_repeated_until_it_is_repressed() {
    let mut window = window();
    let trap = mad(MgmtClass::SUBN_LID, Method::TRAP);
    window.request(&trap, 7).unwrap();
    let [first] = sent(&mut window, at(0))[..] else {
        panic!("one trap");
    };
    window.handle_timeout(at(10));
    let [second] = sent(&mut window, at(10))[..] else {
        panic!("the trap again");
    };
    assert_eq!(first, second);
    let repress = with(&first, Method::TRAP_REPRESS);
    assert!(matches!(
        window.handle_mad(at(11), &repress),
        MadMatch::Answer(_)
    ));
    window.handle_timeout(at(1000));
    assert!(sent(&mut window, at(1000)).is_empty());
}

#[test]
fn trap_repress_has_no_answer() {
    // A TrapRepress without a trap to repress has no reply.
    let mut window = window();
    let repress = mad(MgmtClass::SUBN_LID, Method::TRAP_REPRESS);
    assert!(matches!(
        window.handle_mad(at(0), &repress),
        MadMatch::Unsolicited
    ));
    assert!(sent(&mut window, at(0)).is_empty());
    // Nor does it answer a Get whose transaction it names.
    window.request(&get(1), 7).unwrap();
    let [request] = sent(&mut window, at(0))[..] else {
        panic!("one request");
    };
    let repress = with(&request, Method::TRAP_REPRESS);
    assert!(matches!(
        window.handle_mad(at(1), &repress),
        MadMatch::Unsolicited
    ));
    assert_eq!(window.in_flight(), 1);
}

/// An agent's trap goes to the manager, which represses it and reports it to every subscriber.
#[test]
fn trap_becomes_a_report_that_its_subscriber_answers() {
    let [mut agent, mut manager, mut subscriber] = [window(), window(), window()];
    agent
        .request(&mad(MgmtClass::SUBN_LID, Method::TRAP), 1)
        .unwrap();
    let [trap] = sent(&mut agent, at(0))[..] else {
        panic!("one trap");
    };

    assert!(matches!(
        manager.handle_mad(at(1), &trap),
        MadMatch::Unsolicited
    ));
    let repress = with(&trap, Method::TRAP_REPRESS);
    manager
        .request(&mad(MgmtClass::SUBN_ADM, Method::REPORT), 2)
        .unwrap();
    let [report] = sent(&mut manager, at(1))[..] else {
        panic!("one report");
    };
    assert!(matches!(
        agent.handle_mad(at(2), &repress),
        MadMatch::Answer(_)
    ));

    assert!(matches!(
        subscriber.handle_mad(at(2), &report),
        MadMatch::Unsolicited
    ));
    let response = with(&report, Method::REPORT_RESP);
    let MadMatch::Answer(answer) = manager.handle_mad(at(3), &response) else {
        panic!("it is the answer");
    };
    assert_eq!(answer.context, 2);
    assert!(
        [agent, manager, subscriber]
            .iter()
            .all(TransactionWindow::is_empty)
    );
}
