//! The manager's ClassPortInfo.

use super::lab::*;
use ib_mad::*;

use crate::{manager::*, *};

/// The answer of `B` to a request with this method and attribute, after `change`.
fn ask(method: Method, attribute: AttributeId, change: impl Fn(&mut Mad)) -> Option<Mad> {
    let mut lab = Lab::new();
    let mut mad = Mad::new(address());
    mad.header_mut()
        .set_base_version(1)
        .set_mgmt_class(MgmtClass::COM_MGT)
        .set_class_version(2)
        .set_method(method)
        .set_transaction_id(TransactionId(0x1234_5678_9abc_def0))
        .set_attribute_id(attribute);
    change(&mut mad);
    lab.deliver(B, &mad);
    let answer = lab.sides[B].poll_transmit(lab.now);
    assert!(lab.sides[B].poll_transmit(lab.now).is_none());
    if let Some(answer) = answer {
        assert_eq!(answer.address, mad.address);
        let header = answer.header();
        assert_eq!(header.method(), Method::GET_RESP);
        assert_eq!(header.transaction_id(), mad.header().transaction_id());
        assert_eq!(header.attribute_id(), mad.header().attribute_id());
    }
    answer
}

#[test]
fn class_port_info_says_what_can_be_set_up() {
    let answer = ask(Method::GET, ClassPortInfo::ID, |mad| {
        mad.bytes[24..].fill(0xa5);
    });
    let answer = answer.unwrap();
    assert!(answer.header().status().is_ok());
    let (info, rest) = ClassPortInfo::parse(&answer.bytes[24..], 24).unwrap();
    assert_eq!((info.base_version(), info.class_version()), (1, 2));
    assert_eq!(
        CmCapabilities::from_bits_retain(info.capability_mask().bits()),
        CmCapabilities::IS_RELIABLE_CONNECTION_CAPABLE
            | CmCapabilities::IS_UNRELIABLE_CONNECTION_CAPABLE
            | CmCapabilities::IS_SERVICE_ID_RESOLUTION_CAPABLE
    );
    assert_eq!(info.redirect_lid(), ib_wire::Lid(0));
    assert!(rest.iter().all(|&byte| byte == 0));
}

#[test]
fn what_cannot_be_got_or_set_is_refused() {
    for (method, attribute) in [
        (Method::SET, ClassPortInfo::ID),
        (Method::GET, AttributeId(0x0010)),
        (Method::GET, AttributeId(0x0002)),
    ] {
        let status = ask(method, attribute, |_| {}).unwrap().header().status();
        assert_eq!(status, MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    }
    let old = |mad: &mut Mad| {
        mad.header_mut().set_class_version(1);
    };
    let status = ask(Method::GET, ClassPortInfo::ID, old).unwrap();
    assert_eq!(status.header().status(), MadStatus::BAD_VERSION);
}

#[test]
fn answers_and_other_classes_are_not_answered() {
    assert!(ask(Method::GET_RESP, ClassPortInfo::ID, |_| {}).is_none());
    let perf = |mad: &mut Mad| {
        mad.header_mut().set_mgmt_class(MgmtClass::PERF);
    };
    assert!(ask(Method::GET, ClassPortInfo::ID, perf).is_none());
}

#[test]
fn requests_do_not_fill_the_memory() {
    let mut lab = Lab::with([
        config(A),
        CmConfig {
            max_replies: 3,
            ..config(B)
        },
    ]);
    let mut mad = Mad::new(address());
    mad.header_mut()
        .set_base_version(1)
        .set_mgmt_class(MgmtClass::COM_MGT)
        .set_class_version(2)
        .set_method(Method::GET)
        .set_attribute_id(ClassPortInfo::ID);
    for _ in 0..100 {
        lab.deliver(B, &mad);
    }
    let answers = core::iter::from_fn(|| lab.sides[B].poll_transmit(lab.now));
    assert_eq!(answers.count(), 3);
}
