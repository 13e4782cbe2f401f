//! The tables of the code against the tables of the specification, both ways.

use ib_mad::{
    AttributeId, BmCapabilities, CLASSES, CcCapabilities, ClassCapabilities, ClassTable,
    ControllerOperations, CounterSelect, CounterSelect2, CounterSelectExtended, LAYOUTS, MadStatus,
    Method, MgmtClass, MlnxCapabilities, MlnxRegisterMethod, MlnxRegisterStatus, MlnxTlvType,
    NoticeType, PerfCapabilities, PerfCapabilities2, PortCountersCongSelect, ProducerType,
    RcvErrorSelect, RespTime, RmppHeader, RmppStatus, RmppType, SaStatus, StatusCode, TrapNumber,
};
use ib_testkit::spec::{NOTICES, mad::*};

/// The classes by the names that `attribute_ids.csv` has for them.
fn class_of(name: &str) -> Option<&'static ClassTable> {
    let class = match name {
        "Perf" => MgmtClass::PERF,
        "BM" => MgmtClass::BM,
        "DevMgt" => MgmtClass::DEV_MGT,
        "SNMP" => MgmtClass::SNMP,
        "CongestionControl" => MgmtClass::CONGESTION_CONTROL,
        "Vendor1_0A" => MgmtClass::VENDOR1_0A,
        _ => return None,
    };
    CLASSES.iter().find(|table| table.class == class)
}

#[test]
fn every_layout_agrees_with_its_rows() {
    layouts_agree(LAYOUTS);
}

#[test]
fn every_attribute_has_its_number_its_structure_and_its_methods() {
    let names = class_names();
    let elsewhere = ["Subn", "SubnAdm", "ComMgt"];
    let ours: Vec<_> = names
        .iter()
        .filter(|name| !elsewhere.contains(name))
        .collect();
    assert_eq!(ours.len(), CLASSES.len(), "{ours:?}");
    for name in ours {
        let class = class_of(name).unwrap_or_else(|| panic!("no class {name}"));
        class_agrees(name, class, LAYOUTS);
    }
}

#[test]
fn every_attribute_uses_methods_of_its_class() {
    for table in CLASSES {
        let Some(methods) = table.class.methods() else {
            assert!(table.class.is_vendor_range_1(), "{}", table.class);
            continue;
        };
        for entry in table.attributes {
            for method in entry.methods {
                assert!(
                    methods.contains(method),
                    "{} {}: {method}",
                    table.class,
                    entry.name
                );
                assert!(table.allows(*method, entry.id));
            }
        }
    }
}

#[test]
fn a_class_finds_each_of_its_attributes_and_no_other() {
    for table in CLASSES {
        for id in (0..=u16::MAX).map(AttributeId) {
            let entry = table.attributes.iter().find(|entry| entry.id == id);
            let found = table.attribute(id).map(|entry| entry.name);
            assert_eq!(found, entry.map(|entry| entry.name), "{} {id}", table.class);
        }
    }
}

#[test]
fn every_class_has_its_methods() {
    for (of, class) in [
        ("METHODS_SUBN", MgmtClass::SUBN_LID),
        ("METHODS_SUBN", MgmtClass::SUBN_DIRECTED),
        ("METHODS_SUBN_ADM", MgmtClass::SUBN_ADM),
        ("METHODS_PERF", MgmtClass::PERF),
        ("METHODS_BM", MgmtClass::BM),
        ("METHODS_DEV_MGT", MgmtClass::DEV_MGT),
        ("METHODS_COM_MGT", MgmtClass::COM_MGT),
        ("METHODS_SNMP", MgmtClass::SNMP),
        ("METHODS_CC", MgmtClass::CONGESTION_CONTROL),
    ] {
        let values: Vec<Method> = enumerated(of)
            .into_iter()
            .map(|(value, _)| Method(value as u8))
            .collect();
        assert_eq!(class.methods(), Some(&values[..]), "{of}");
    }
}

#[test]
fn code_points_agree_with_the_enums() {
    code_points_agree!(
        "MGMT_CLASS": MgmtClass,
        "METHOD": Method,
        "RMPP_TYPE": RmppType,
        "RMPP_STATUS": RmppStatus,
        "MAD_STATUS_CODE": StatusCode,
        "SA_STATUS": SaStatus,
        "NOTICE_TYPE": NoticeType,
        "PRODUCER_TYPE": ProducerType,
        "TRAP_NUMBER": TrapNumber,
        "MLNX_TLV_TYPE": MlnxTlvType,
        "MLNX_REGISTER_STATUS": MlnxRegisterStatus,
        "MLNX_REGISTER_METHOD": MlnxRegisterMethod,
    );
}

#[test]
fn bits_of_a_status_agree_with_the_enum() {
    let table = enumerated("MAD_STATUS_BITS");
    let bits = |name: &str| {
        let (bits, _) = table.iter().find(|(_, known)| *known == name).unwrap();
        MadStatus(*bits as u16)
    };
    assert!(bits("Busy").is_busy() && !bits("Busy").is_redirect());
    assert!(bits("Redirect").is_redirect() && !bits("Redirect").is_busy());
    assert_eq!(bits("InvalidFieldMask").code(), StatusCode(7));
    assert_eq!(bits("ClassSpecificMask").class_part(), 0x7f);
    assert_eq!(table.len(), 6);
}

#[test]
fn flags_of_rmpp_agree_with_the_enum() {
    for (bits, name) in enumerated("RMPP_FLAGS") {
        let mut header = RmppHeader::default();
        match name {
            "Active" => header.set_active(true),
            "First" => header.set_first(true),
            "Last" => header.set_last(true),
            other => panic!("{other}"),
        };
        assert_eq!(u64::from(header.as_bytes()[2]), bits, "{name}");
    }
}

#[test]
fn response_times_agree_with_the_enum() {
    for (code, name) in enumerated("RESP_TIME") {
        let time = RespTime::from_bits(code as u8);
        match name.strip_suffix(" ns") {
            Some(nanos) => assert_eq!(time.duration().as_nanos().to_string(), nanos),
            None => assert_eq!(time, RespTime::NONE),
        }
    }
}

#[test]
fn flags_agree_with_the_masks() {
    masks_agree!(
        "PortCounters.CounterSelect": CounterSelect,
        "PortCounters.CounterSelect2": CounterSelect2,
        "PortCountersExtended.CounterSelect": CounterSelectExtended,
        "PortRcvErrorDetails.CounterSelect": RcvErrorSelect,
        "PM.ClassPortInfo.CapabilityMask": PerfCapabilities,
        "PM.ClassPortInfo.CapabilityMask2": PerfCapabilities2,
        "CC.ClassPortInfo.CapabilityMask": CcCapabilities,
        "BM.ClassPortInfo.CapabilityMask": BmCapabilities,
        "ClassPortInfo.CapabilityMask": ClassCapabilities,
        "IOControllerProfile.ControllerOperationsMask": ControllerOperations,
        "MlnxGeneralInfo.CapabilityMask": MlnxCapabilities,
        "PortCountersCong.CounterSelect": PortCountersCongSelect,
    );
}

#[test]
fn select_bits_of_extended_speeds_agree_with_the_masks() {
    let mut count = 0;
    for row in rows(CAPABILITY_MASKS) {
        let layout = match row[0] {
            "PortExtendedSpeedsCounters.CounterSelect" => {
                ib_mad::PortExtendedSpeedsCounters::LAYOUT
            }
            "PortExtendedSpeedsCountersRSFEC.CounterSelect" => {
                ib_mad::PortExtendedSpeedsCountersRsFec::LAYOUT
            }
            _ => continue,
        };
        let field = layout
            .fields
            .iter()
            .find(|field| letters(field.name) == letters(row[2]));
        // With Reed-Solomon correction the lanes' parity counters have bits and no fields.
        let Some(field) = field else {
            assert!(
                row[2].starts_with("ErrorDetectionCounterLane"),
                "{}",
                row[2]
            );
            continue;
        };
        let bit: u32 = row[1].parse().unwrap();
        assert_eq!(
            ib_mad::extended_speeds_select(field.name),
            Some(1 << bit),
            "{}",
            row[2]
        );
        count += 1;
    }
    assert_eq!(count, 38 + 17);
}

#[test]
fn every_trap_has_the_details_of_its_row() {
    use ib_mad::NoticeDetails as Details;

    for row in rows(NOTICES) {
        let (class, trap) = match row[0].split_once(':') {
            Some(("BM", trap)) => (MgmtClass::BM, trap),
            Some((_, trap)) => (MgmtClass::CONGESTION_CONTROL, trap),
            None => (MgmtClass::SUBN_LID, row[0]),
        };
        let name = match Details::new(class, trap.parse().unwrap(), &[0; 54]) {
            Details::Gid(_) => "NoticeDetails64",
            Details::LinkStateChange(_) => "NoticeDetails128",
            Details::LinkTrouble(_) => "NoticeDetails129",
            Details::LocalChange(_) => "NoticeDetails144",
            Details::SystemImageGuidChange(_) => "NoticeDetails145",
            Details::BadMKey(_) => "NoticeDetails256",
            Details::BadKey(_) => "NoticeDetails257",
            Details::BadPKeyAtSwitchPort(_) => "NoticeDetails259",
            Details::BadCcKey(_) => "NoticeDetailsCC0",
            Details::BadBKey(_) => "NoticeDetailsBM259",
            Details::Baseboard(_) => "NoticeDetailsBM260",
            _ => "",
        };
        assert_eq!(name, row[4], "trap {}", row[0]);
    }
}
