//! The datagram that a call builds, and the response that it accepts.

use ib_wire::{Lid, Sl};

use super::*;
use crate::*;

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

#[test]
fn a_congestion_log_lies_at_byte_32_and_is_a_switchs_or_a_cas() {
    let mut log = CongestionLogCa::default();
    log.set_log_type(2).set_threshold_event_counter(9);
    let call = Call::get(MgmtClass::CONGESTION_CONTROL, 0);
    let mut mad = call.request_with(ADDRESS, &log);
    mad.header_mut().set_method(Method::GET_RESP);
    assert_eq!(mad.bytes[32], 2);
    assert_eq!(call.answer(&mad), Ok(&log));
    let call = Call::<CongestionLogSwitch>::get(MgmtClass::CONGESTION_CONTROL, 0);
    let answer = call.answer(&mad);
    assert!(matches!(answer, Err(CallError::NotTheAnswer { .. })));
}

/// Every attribute that a class gets or sets can be called for, where the class's table has it.
#[test]
fn a_call_writes_each_attribute_where_its_table_says() {
    fn check<T>(class: MgmtClass) -> usize
    where
        T: Attribute + FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned,
    {
        let table = CLASSES.iter().find(|table| table.class == class).unwrap();
        let entry = table.attribute(T::ID).unwrap();
        let name = entry.name;
        let structure = T::read_from_bytes(&[0x5a; 256][..size_of::<T>()]).unwrap();
        let mad = Call::get(class, 0).request_with(ADDRESS, &structure);
        assert_eq!(mad.header().attribute_id(), entry.id, "{name}");
        let first = mad.bytes[24..].iter().position(|&byte| byte != 0);
        assert_eq!(first.map(|at| at + 24), Some(entry.offset), "{name}");
        let end = mad.bytes.iter().rposition(|&byte| byte != 0);
        assert_eq!(end, Some(entry.offset + size_of::<T>() - 1), "{name}");
        1
    }
    macro_rules! check {
        ($($class:ident: $($type:ident)*;)*) => {
            [$($(check::<$type>(MgmtClass::$class)),*),*].iter().sum::<usize>()
        };
    }
    let checked = check!(
        PERF: ClassPortInfo PortSamplesControl PortSamplesResult PortCounters PortRcvErrorDetails
            PortXmitDiscardDetails PortOpRcvCounters PortFlowCtlCounters PortVlOpPackets PortVlOpData
            PortVlXmitFlowCtlUpdateErrors PortVlXmitWaitCounters PortCountersExtended
            PortSamplesResultExtended PortExtendedSpeedsCounters SwPortVlCongestion PortRcvConCtrl
            PortSlRcvFecn PortSlRcvBecn PortXmitConCtrl PortVlXmitTimeCong PortXmitDataSl PortRcvDataSl
            PortCountersCong;
        BM: ClassPortInfo Notice BKeyInfo;
        DEV_MGT: ClassPortInfo Notice IoUnitInfo IoControllerProfile ServiceEntries DiagnosticTimeout
            DiagCode;
        SNMP: ClassPortInfo;
        CONGESTION_CONTROL: ClassPortInfo Notice CongestionInfo CongestionKeyInfo CongestionLogSwitch
            SwitchCongestionSetting SwitchPortCongestionSetting CaCongestionSetting
            CongestionControlTable Timestamp;
        VENDOR1_0A: MlnxGeneralInfo MlnxConfigSpace MlnxAccessRegisterGmp MlnxCounterGroupInfo
            MlnxConfigCounterGroup;
    );
    let can_be_asked = |entry: &&crate::AttributeEntry| {
        entry.layout.is_some() && entry.methods.contains(&Method::GET)
    };
    let all = CLASSES.iter().flat_map(|table| table.attributes);
    assert_eq!(checked, all.filter(can_be_asked).count());
}
