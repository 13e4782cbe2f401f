//! General services agents of every node: congestion control, device, baseboard and communication management.

use ib_cm::{CmMessage, Rej, RejReason, Req, SidrRep, SidrReq, SidrStatus};
use ib_mad::{
    Attribute, AttributeId, BKey, BKeyInfo, CaCongestionSetting, CcKey, ClassPortInfo,
    CongestionControlMad, CongestionControlTable, CongestionInfo, CongestionKeyInfo,
    CongestionLogCa, CongestionLogSwitch, IoControllerProfile, IoUnitInfo, Mad, MadAddress,
    MadStatus, Method, MgmtClass, SwitchCongestionSetting, SwitchPortCongestionSetting, Timestamp,
};
use ib_sim::SimOptions;
use ib_wire::{Lid, Sl};

use ib_testkit::worked_traces::{Host, T, at};

const S2_LID: u16 = 3;
const T_LID: u16 = 9;

fn host() -> Host {
    let mut host = Host::new(SimOptions {
        traps: false,
        ..SimOptions::default()
    });
    host.bring_up();
    host
}

fn request(lid: u16, class: MgmtClass, method: Method, id: AttributeId, modifier: u32) -> Mad {
    let mut mad = Mad::new(MadAddress::gsi(Lid(lid), Sl::ZERO));
    let version = match class {
        MgmtClass::COM_MGT | MgmtClass::CONGESTION_CONTROL => 2,
        _ => 1,
    };
    mad.header_mut()
        .set_base_version(1)
        .set_mgmt_class(class)
        .set_class_version(version)
        .set_method(method)
        .set_attribute_id(id)
        .set_attribute_modifier(modifier);
    mad
}

/// The status of the answer to a Get, and the attribute from `offset` on.
fn get(
    host: &mut Host,
    lid: u16,
    class: MgmtClass,
    id: AttributeId,
    modifier: u32,
) -> (MadStatus, Mad) {
    let answer = host
        .exchange(&request(lid, class, Method::GET, id, modifier))
        .unwrap();
    assert_eq!(answer.header().method(), Method::GET_RESP);
    (answer.header().status(), answer)
}

fn cc(host: &mut Host, lid: u16, id: AttributeId, modifier: u32) -> (MadStatus, Mad) {
    get(host, lid, MgmtClass::CONGESTION_CONTROL, id, modifier)
}

/// Sets an attribute of congestion control with a key; the status, `None` without an answer.
fn set<T>(host: &mut Host, lid: u16, key: u64, modifier: u32, value: &T) -> Option<MadStatus>
where
    T: Attribute + zerocopy::IntoBytes + zerocopy::Immutable,
{
    let class = MgmtClass::CONGESTION_CONTROL;
    let mut mad = request(lid, class, Method::SET, T::ID, modifier);
    mad.set_attribute(value);
    let (cc, _) = CongestionControlMad::parse_mut(&mut mad.bytes, 0).unwrap();
    cc.set_cc_key(CcKey(key));
    Some(host.exchange(&mad)?.header().status())
}

#[test]
fn every_node_has_an_agent_of_each_class() {
    let mut host = host();
    for class in [
        MgmtClass::PERF,
        MgmtClass::BM,
        MgmtClass::DEV_MGT,
        MgmtClass::COM_MGT,
        MgmtClass::CONGESTION_CONTROL,
    ] {
        for lid in [S2_LID, T_LID] {
            let (status, answer) = get(&mut host, lid, class, ClassPortInfo::ID, 0);
            assert_eq!(status, MadStatus::OK, "{class} of LID {lid}");
            let at = class.data_offset();
            let (info, _) = ClassPortInfo::parse(&answer.bytes[at..], 0).unwrap();
            assert_eq!(info.base_version(), 1);
            assert_eq!(info.class_version(), answer.header().class_version());
        }
    }
}

#[test]
fn what_an_agent_does_not_know_is_refused_with_the_reason() {
    let mut host = host();
    let class = MgmtClass::CONGESTION_CONTROL;
    let (status, _) = cc(&mut host, T_LID, AttributeId(0x77), 0);
    assert_eq!(status, MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    let (status, _) = cc(&mut host, T_LID, SwitchCongestionSetting::ID, 0);
    assert_eq!(
        status,
        MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE,
        "a CA is no switch"
    );
    let (status, _) = cc(&mut host, S2_LID, CaCongestionSetting::ID, 0);
    assert_eq!(
        status,
        MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE,
        "a switch is no CA"
    );
    let (status, _) = cc(&mut host, T_LID, CongestionControlTable::ID, 2);
    assert_eq!(
        status,
        MadStatus::INVALID_FIELD_VALUE,
        "there are two blocks"
    );
    let (status, _) = cc(&mut host, S2_LID, SwitchPortCongestionSetting::ID, 1);
    assert_eq!(
        status,
        MadStatus::INVALID_FIELD_VALUE,
        "8 ports are one block"
    );
    let mut old = request(T_LID, class, Method::GET, ClassPortInfo::ID, 0);
    old.header_mut().set_class_version(1);
    let status = host.exchange(&old).unwrap().header().status();
    assert_eq!(status, MadStatus::BAD_VERSION);
    let (status, _) = get(
        &mut host,
        T_LID,
        MgmtClass::DEV_MGT,
        IoControllerProfile::ID,
        1,
    );
    assert_eq!(
        status,
        MadStatus::INVALID_FIELD_VALUE,
        "no slot has a controller"
    );
    assert_eq!(
        set(&mut host, T_LID, 0, 0, &Timestamp::default()),
        Some(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE)
    );
}

#[test]
fn congestion_settings_are_kept_where_they_were_written() {
    let mut host = host();
    let (_, answer) = cc(&mut host, T_LID, CongestionInfo::ID, 0);
    let (info, _) = CongestionInfo::parse(&answer.bytes[64..], 0).unwrap();
    assert_eq!(info.control_table_cap(), 2);
    for block in 0..2 {
        let mut table = CongestionControlTable::default();
        table.set_ccti_limit(100 + block as u16);
        assert_eq!(set(&mut host, T_LID, 0, block, &table), Some(MadStatus::OK));
    }
    for block in 0..2 {
        let (status, answer) = cc(&mut host, T_LID, CongestionControlTable::ID, block);
        assert_eq!(status, MadStatus::OK);
        let (table, _) = CongestionControlTable::parse(&answer.bytes[64..], 0).unwrap();
        assert_eq!(table.ccti_limit(), 100 + block as u16);
    }
    let mut setting = SwitchCongestionSetting::default();
    setting.set_threshold(7).set_marking_rate(5);
    assert_eq!(set(&mut host, S2_LID, 0, 0, &setting), Some(MadStatus::OK));
    let (_, answer) = cc(&mut host, S2_LID, SwitchCongestionSetting::ID, 0);
    let (found, _) = SwitchCongestionSetting::parse(&answer.bytes[64..], 0).unwrap();
    assert_eq!(*found, setting);
    // The logs are empty, and say whose they are.
    let (_, answer) = cc(&mut host, S2_LID, CongestionLogSwitch::ID, 0);
    let (log, _) = CongestionLogSwitch::parse(&answer.bytes[32..], 0).unwrap();
    assert_eq!((log.log_type(), log.log_events_counter()), (1, 0));
    let (_, answer) = cc(&mut host, T_LID, CongestionLogCa::ID, 0);
    let (log, _) = CongestionLogCa::parse(&answer.bytes[32..], 0).unwrap();
    assert_eq!((log.log_type(), log.threshold_event_counter()), (2, 0));
}

#[test]
fn a_key_guards_what_a_manager_writes() {
    let mut host = host();
    let mut info = CongestionKeyInfo::default();
    info.set_cc_key(CcKey(0x1234)).set_cc_key_protect_bit(true);
    assert_eq!(set(&mut host, T_LID, 0, 0, &info), Some(MadStatus::OK));
    let table = CongestionControlTable::default();
    assert_eq!(set(&mut host, T_LID, 0x9999, 0, &table), None);
    assert_eq!(set(&mut host, T_LID, 0, 0, &table), None);
    assert_eq!(
        set(&mut host, T_LID, 0x1234, 0, &table),
        Some(MadStatus::OK)
    );
    let (_, answer) = cc(&mut host, T_LID, CongestionKeyInfo::ID, 0);
    let (found, _) = CongestionKeyInfo::parse(&answer.bytes[64..], 0).unwrap();
    assert_eq!(
        (found.cc_key(), found.cc_key_violations()),
        (CcKey(0), 2),
        "the key is protected"
    );
    let class = MgmtClass::CONGESTION_CONTROL;
    let mut asked = request(T_LID, class, Method::GET, CongestionKeyInfo::ID, 0);
    let (mad, _) = CongestionControlMad::parse_mut(&mut asked.bytes, 0).unwrap();
    mad.set_cc_key(CcKey(0x1234));
    let answer = host.exchange(&asked).unwrap();
    let (found, _) = CongestionKeyInfo::parse(&answer.bytes[64..], 0).unwrap();
    assert_eq!(found.cc_key(), CcKey(0x1234));
    // Each class has its own key.
    let (_, answer) = get(&mut host, T_LID, MgmtClass::BM, BKeyInfo::ID, 0);
    let (found, _) = BKeyInfo::parse(&answer.bytes[64..], 0).unwrap();
    assert_eq!((found.b_key(), found.b_key_violations()), (BKey(0), 0));
}

#[test]
fn an_io_unit_has_no_slots() {
    let mut host = host();
    let (_, answer) = get(&mut host, T_LID, MgmtClass::DEV_MGT, IoUnitInfo::ID, 0);
    let (info, _) = IoUnitInfo::parse(&answer.bytes[64..], 0).unwrap();
    assert_eq!(
        (info.max_controllers(), info.controller_list(0)),
        (0, Some(15))
    );
}

#[test]
fn a_node_without_services_rejects_connections_and_a_host_gets_them_itself() {
    let mut host = host();
    let class = MgmtClass::COM_MGT;
    let mut req = Req::default();
    req.set_local_communication_id(0xabcd);
    let mut connect = request(T_LID, class, Method::SEND, Req::ID, 0);
    connect.set_attribute(&req);
    let answer = host.exchange(&connect).unwrap();
    assert_eq!(
        (answer.header().method(), answer.header().attribute_id()),
        (Method::SEND, Rej::ID)
    );
    let (rej, _) = Rej::parse(&answer.bytes[24..], 0).unwrap();
    assert_eq!(rej.remote_communication_id(), 0xabcd);
    assert_eq!(
        (rej.message_rejected(), rej.reason()),
        (CmMessage::REQ, RejReason::INVALID_SERVICE_ID)
    );

    let mut sidr = SidrReq::default();
    sidr.set_request_id(77).set_service_id(0x1_0000);
    let mut resolve = request(T_LID, class, Method::SEND, SidrReq::ID, 0);
    resolve.set_attribute(&sidr);
    let answer = host.exchange(&resolve).unwrap();
    assert_eq!(answer.header().attribute_id(), SidrRep::ID);
    let (rep, _) = SidrRep::parse(&answer.bytes[24..], 0).unwrap();
    assert_eq!(
        (rep.request_id(), rep.status()),
        (77, SidrStatus::SERVICE_NOT_SUPPORTED)
    );
    // A rejection has no answer.
    let mut reject = request(T_LID, class, Method::SEND, Rej::ID, 0);
    reject.set_attribute(&Rej::default());
    assert_eq!(host.exchange(&reject), None);

    let mut target = Host::at(host.sim.clone(), at(T, 1));
    assert_eq!(
        host.exchange(&connect),
        None,
        "no agent answers for the host"
    );
    let received = target.receive().unwrap();
    assert_eq!(received.header().attribute_id(), Req::ID);
}
