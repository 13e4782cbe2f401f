//! A walk of a simulated unit finds what the unit is.

use alloc::{format, vec::Vec};

use ib_wire::{Guid, Lid, Sl, table::Text};

use super::*;
use crate::{
    CallError, ClassPortInfo, ClientConfig, Engine, FailureReason, Input, Instant, Mad, MadAddress,
    MadHeader, MadStatus, Method, MgmtClass,
};

const ADDRESS: MadAddress = MadAddress::gsi(Lid(7), Sl::ZERO);

fn controller(guid: u64, services: u8) -> IoController {
    let mut profile = IoControllerProfile::default();
    profile
        .set_guid(Guid(guid))
        .set_id_string(&Text::new("a disk"));
    let services = (0..services).map(|number| {
        let mut service = ServiceEntry::default();
        service
            .set_service_name(&Text::new(&format!("SRP.T10:{guid:016X}.{number}")))
            .set_service_id(guid << 8 | u64::from(number));
        service
    });
    IoController {
        profile,
        services: services.collect(),
    }
}

/// Slots 1, 3 and 255, with none, one block and a block and a half of services.
fn unit() -> IoUnit {
    let mut unit = IoUnit::default();
    unit.insert(1, controller(0x11, 0));
    unit.insert(3, controller(0x33, 4));
    unit.insert(255, controller(0xff, 6));
    unit
}

/// Walks to the end; `answer` plays the unit and says whether it answers.
fn walk(mut answer: impl FnMut(&mut Mad) -> bool) -> (Result<WalkReport, WalkError>, Vec<Mad>) {
    let mut walk = IoUnitWalk::new(ClientConfig::default(), ADDRESS);
    let mut now = Instant::ZERO;
    let mut asked = Vec::new();
    loop {
        while let Some(mut mad) = walk.poll_transmit(now) {
            asked.push(mad);
            if answer(&mut mad) {
                walk.handle_input(now, Input::Mad(&mad));
            }
        }
        if let Some(end) = walk.poll_event() {
            assert!(walk.poll_event().is_none());
            return (end, asked);
        }
        now = walk.poll_timeout().expect("nothing is due");
        walk.handle_timeout(now);
    }
}

#[test]
fn a_walk_finds_the_whole_unit_and_asks_nothing_in_vain() {
    let unit = unit();
    let (end, asked) = walk(|mad| unit.respond(&mut mad.bytes));
    let report = end.unwrap();
    assert_eq!(report.unit, unit);
    assert!(report.failed.is_empty());
    let asked: Vec<_> = asked
        .iter()
        .map(|mad| {
            (
                mad.header().attribute_id().0,
                mad.header().attribute_modifier(),
            )
        })
        .collect();
    assert_eq!(
        asked,
        [
            (0x10, 0),
            (0x11, 1),
            (0x11, 3),
            (0x11, 255),
            (0x12, 0x0003_0300),
            (0x12, 0x00ff_0300),
            (0x12, 0x00ff_0504),
            (0x10, 0),
        ]
    );
}

#[test]
fn targets_are_found_by_the_beginning_of_their_names() {
    let unit = unit();
    assert_eq!(unit.targets("SRP.T10:").count(), 10);
    assert_eq!(unit.targets("").count(), 10);
    assert_eq!(unit.targets("iSER").count(), 0);
    let only: Vec<_> = unit.targets("SRP.T10:00000000000000FF.5").collect();
    assert_eq!(
        only,
        [IoTarget {
            slot: 255,
            controller: Guid(0xff),
            name: "SRP.T10:00000000000000FF.5",
            service_id: 0xff05,
        }]
    );
}

#[test]
fn a_unit_without_controllers_is_a_unit() {
    let unit = IoUnit::default();
    let (end, asked) = walk(|mad| unit.respond(&mut mad.bytes));
    assert_eq!(end.unwrap().unit, unit);
    assert_eq!(asked.len(), 2);
}

#[test]
fn a_controller_that_fails_leaves_the_others() {
    let unit = unit();
    let (end, _) = walk(|mad| {
        let header = mad.header();
        let silent = header.attribute_id().0 == 0x12 && header.attribute_modifier() >> 16 == 3;
        let gone = header.attribute_id().0 == 0x11 && header.attribute_modifier() == 1;
        unit.respond(&mut mad.bytes);
        if gone {
            mad.header_mut().set_status(MadStatus(0x0100));
        }
        !silent
    });
    let report = end.unwrap();
    assert_eq!(
        report.unit.controllers.keys().copied().collect::<Vec<_>>(),
        [255]
    );
    let status = MadStatus(0x0100);
    assert_eq!(report.failed[&1], CallError::Refused { status });
    let silent = CallError::Unanswered(FailureReason::TimedOut);
    assert_eq!(report.failed[&3], silent);
}

#[test]
fn a_unit_that_is_silent_is_an_error() {
    let (end, asked) = walk(|_| false);
    let silent = CallError::Unanswered(FailureReason::TimedOut);
    assert_eq!(end, Err(WalkError::Unit(silent)));
    assert_eq!(asked.len(), 4);
}

#[test]
fn a_unit_that_changes_is_walked_again() {
    let mut unit = unit();
    let mut profiles = 0;
    let (end, _) = walk(|mad| {
        if mad.header().attribute_id().0 == 0x11 {
            profiles += 1;
            if profiles == 2 {
                unit.insert(9, controller(0x99, 1));
            }
        }
        unit.respond(&mut mad.bytes)
    });
    assert_eq!(end.unwrap().unit, unit);
    assert_eq!(profiles, 3 + 4);
}

#[test]
fn a_unit_that_never_stays_the_same_is_given_up() {
    let mut unit = unit();
    let (end, _) = walk(|mad| {
        let change = unit.info.change_id();
        unit.info.set_change_id(change.wrapping_add(1));
        unit.respond(&mut mad.bytes)
    });
    assert_eq!(end, Err(WalkError::KeepsChanging));
}

fn ask(unit: &IoUnit, method: Method, id: u16, modifier: u32) -> (bool, MadStatus, Mad) {
    let mut mad = Mad::new(ADDRESS);
    mad.header_mut()
        .set_base_version(1)
        .set_class_version(1)
        .set_mgmt_class(MgmtClass::DEV_MGT)
        .set_method(method)
        .set_attribute_id(crate::AttributeId(id))
        .set_attribute_modifier(modifier);
    let answered = unit.respond(&mut mad.bytes);
    (answered, mad.header().status(), mad)
}

#[test]
fn the_agent_says_what_is_wrong_with_a_request() {
    let unit = unit();
    let invalid = MadStatus::INVALID_FIELD_VALUE;
    let unsupported = MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE;
    for (method, id, modifier, expected) in [
        (Method::GET, 0x10, 0, MadStatus::OK),
        (Method::SET, 0x10, 0, unsupported),
        (Method::GET, 0x77, 0, unsupported),
        (Method::GET, 0x11, 0, invalid),
        (Method::GET, 0x11, 2, MadStatus(0x0100)),
        (Method::GET, 0x11, 256, invalid),
        (Method::GET, 0x12, 0x0003_0300, MadStatus::OK),
        // Last before first, more than a block, and more than there are.
        (Method::GET, 0x12, 0x0003_0002, invalid),
        (Method::GET, 0x12, 0x0003_0001, invalid),
        (Method::GET, 0x12, 0x00ff_0400, invalid),
        (Method::GET, 0x12, 0x00ff_0605, invalid),
        (Method::GET, 0x12, 0x0002_0000, MadStatus(0x0100)),
    ] {
        let (answered, status, mad) = ask(&unit, method, id, modifier);
        assert!(answered);
        assert_eq!(status, expected, "{method} {id:#x} {modifier:#x}");
        assert_eq!(mad.header().method(), Method::GET_RESP);
    }
}

#[test]
fn the_agent_answers_requests_of_its_class_only() {
    let unit = unit();
    assert!(!ask(&unit, Method::GET_RESP, 0x10, 0).0);
    assert!(!ask(&unit, Method::TRAP_REPRESS, 0x02, 0).0);
    let (_, _, mut mad) = ask(&unit, Method::GET, 0x10, 0);
    mad.header_mut()
        .set_method(Method::GET)
        .set_mgmt_class(MgmtClass::PERF);
    assert!(!unit.respond(&mut mad.bytes));
    mad.header_mut()
        .set_mgmt_class(MgmtClass::DEV_MGT)
        .set_class_version(2);
    assert!(unit.respond(&mut mad.bytes));
    let (header, _) = MadHeader::parse(&mad.bytes, 0).unwrap();
    assert_eq!(header.status(), MadStatus::BAD_VERSION);
    let (_, _, mad) = ask(&unit, Method::GET, 0x01, 0);
    let (info, _) = ClassPortInfo::parse(&mad.bytes[64..], 64).unwrap();
    assert_eq!(info.class_version(), 1);
}
