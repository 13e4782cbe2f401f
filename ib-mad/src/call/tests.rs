//! What a call builds and what it takes for its answer.

use ib_wire::{Lid, Sl};

use super::*;
use crate::{ClassPortInfo, PortCounters};

const ADDRESS: MadAddress = MadAddress::gsi(Lid(7), Sl::ZERO);

#[test]
fn a_set_carries_its_attribute_at_the_place_of_the_class() {
    let mut counters = PortCounters::default();
    counters.set_port_select(3);
    let call = Call::set(MgmtClass::PERF, 0);
    let mut mad = call.request_with(ADDRESS, &counters);
    assert_eq!(mad.bytes[64..108], counters.as_bytes()[..]);
    assert_eq!(mad.header().method(), Method::SET);
    mad.header_mut().set_method(Method::GET_RESP);
    assert_eq!(call.answer(&mad), Ok(&counters));
}

#[test]
fn a_status_is_a_refusal() {
    let call = Call::<ClassPortInfo>::get(MgmtClass::SUBN_ADM, 0);
    let mut mad = call.request(ADDRESS);
    assert_eq!(mad.header().class_version(), 2);
    let status = MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE;
    mad.header_mut()
        .set_method(Method::GET_RESP)
        .set_status(status);
    assert_eq!(call.answer(&mad), Err(CallError::Refused { status }));
}

#[test]
fn another_attribute_or_a_request_is_not_the_answer() {
    let call = Call::<ClassPortInfo>::get(MgmtClass::PERF, 0);
    let request = call.request(ADDRESS);
    assert!(matches!(
        call.answer(&request),
        Err(CallError::NotTheAnswer { .. })
    ));
    let mut other = Call::<PortCounters>::get(MgmtClass::PERF, 0).request(ADDRESS);
    other.header_mut().set_method(Method::GET_RESP);
    assert!(matches!(
        call.answer(&other),
        Err(CallError::NotTheAnswer { .. })
    ));
}
