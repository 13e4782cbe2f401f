//! The tables of the code against the tables of the specification, both ways.

use ib_mad::{
    BmCapabilities, CLASSES, CcCapabilities, ClassCapabilities, ClassTable, CmCapabilities,
    ControllerOperations, CounterSelect, CounterSelect2, CounterSelectExtended, Fault, LAYOUTS,
    Method, MgmtClass, NoticeType, PerfCapabilities, PerfCapabilities2, ProducerType,
    RcvErrorSelect, RespTime, RmppStatus, RmppType, SaStatus, TrapNumber,
};
use ib_wire::{
    properties::{layout_disagreements, structs_of},
    table::Layout,
};

const HEADERS: &str = include_str!("../../ib-wire/testdata/spec/headers.csv");
const ATTRIBUTES: &str = include_str!("../../ib-wire/testdata/spec/attributes.csv");
const ATTRIBUTE_IDS: &str = include_str!("../../ib-wire/testdata/spec/attribute_ids.csv");
const ENUMS: &str = include_str!("../../ib-wire/testdata/spec/enums.csv");
const MASKS: &str = include_str!("../../ib-wire/testdata/spec/capability_masks.csv");
const NOTICES: &str = include_str!("../../ib-wire/testdata/spec/notices.csv");

/// Management formats of `headers.csv` that ib-smp and ib-sa have.
const FORMATS_BELOW: [&str; 4] = ["SMPLidRouted", "SMPDirected", "SAHeader", "SAMad"];

/// Parts of structures that ib-smp has.
const PARTS_BELOW: [&str; 3] = ["VLArbitrationEntry", "LIDPortBlock", "PortInfoExtended"];

fn named<'a>(layouts: &[&'a Layout], csv: &str) -> Vec<&'a Layout> {
    let known = structs_of(csv);
    let of_csv = layouts.iter().filter(|layout| known.contains(&layout.name));
    of_csv.copied().collect()
}

/// The rows of a table without quotes in the columns that are read.
fn rows(csv: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    csv.lines().skip(1).map(|line| line.split(',').collect())
}

/// The classes by the names that `attribute_ids.csv` has for them.
fn class_of(name: &str) -> Option<&'static ClassTable> {
    let class = match name {
        "Perf" => MgmtClass::PERF,
        "BM" => MgmtClass::BM,
        "DevMgt" => MgmtClass::DEV_MGT,
        "ComMgt" => MgmtClass::COM_MGT,
        "SNMP" => MgmtClass::SNMP,
        "CongestionControl" => MgmtClass::CONGESTION_CONTROL,
        _ => return None,
    };
    CLASSES.iter().find(|table| table.class == class)
}

#[test]
fn every_layout_agrees_with_its_rows() {
    let headers = named(LAYOUTS, HEADERS);
    let attributes = named(LAYOUTS, ATTRIBUTES);
    assert_eq!(
        headers.len() + attributes.len(),
        LAYOUTS.len(),
        "a layout without rows"
    );
    assert_eq!(layout_disagreements(HEADERS, &headers), [""; 0]);
    assert_eq!(layout_disagreements(ATTRIBUTES, &attributes), [""; 0]);
}

#[test]
fn every_management_format_has_a_layout() {
    let formats = structs_of(HEADERS).into_iter().filter(|name| {
        name.ends_with("Mad") || name.starts_with("RMPP") || ["MADHeader", "GMP"].contains(name)
    });
    for name in formats.filter(|name| !FORMATS_BELOW.contains(name)) {
        assert!(LAYOUTS.iter().any(|layout| layout.name == name), "{name}");
    }
}

#[test]
fn every_attribute_structure_has_a_layout_here_or_below() {
    let below: Vec<&str> = rows(ATTRIBUTE_IDS)
        .filter(|row| ["Subn", "SubnAdm"].contains(&row[0]))
        .map(|row| row[3])
        .chain(PARTS_BELOW)
        .collect();
    for name in structs_of(ATTRIBUTES) {
        let here = LAYOUTS.iter().any(|layout| layout.name == name);
        assert!(here || below.contains(&name), "{name}");
    }
}

#[test]
fn every_attribute_has_its_number_its_structure_and_its_methods() {
    let mut count = 0;
    for row in rows(ATTRIBUTE_IDS) {
        let Some(class) = class_of(row[0]) else {
            continue;
        };
        let id = u16::from_str_radix(&row[2][2..], 16).unwrap();
        let entry = class.attribute(ib_mad::AttributeId(id));
        let entry = entry.unwrap_or_else(|| panic!("{} has no {}", row[0], row[1]));
        assert_eq!(entry.name, row[1]);
        assert_eq!(
            entry.layout.map_or("", |layout| layout.name),
            row[3],
            "{}",
            row[1]
        );
        if let Some(layout) = entry.layout {
            assert_eq!(layout.len.to_string(), row[4], "{}", row[1]);
        }
        let methods: Vec<String> = entry.methods.iter().map(ToString::to_string).collect();
        assert_eq!(methods.join(" "), row[5], "{}", row[1]);
        count += 1;
    }
    let all: usize = CLASSES.iter().map(|table| table.attributes.len()).sum();
    assert_eq!(count, all, "an attribute without a row");
}

#[test]
fn every_attribute_uses_methods_of_its_class() {
    for table in CLASSES {
        let methods = table.class.methods().unwrap();
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
            let len = entry.layout.map_or(0, |layout| layout.len);
            assert!(entry.offset + len <= 256, "{}", entry.name);
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
        let values: Vec<Method> = enum_values(of)
            .into_iter()
            .map(|(value, _)| Method(value as u8))
            .collect();
        assert_eq!(class.methods(), Some(&values[..]), "{of}");
    }
}

/// Values and names of an enum of the specification.
fn enum_values(name: &str) -> Vec<(u64, &'static str)> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None => text.parse().unwrap(),
    };
    let rows = rows(ENUMS).filter(|row| row[0] == name);
    rows.map(|row| (number(row[1]), row[2])).collect()
}

#[test]
fn code_points_agree_with_the_enums() {
    macro_rules! check {
        ($($enum:literal: $type:ident),* $(,)?) => {$(
            let ours: Vec<(u64, &str)> = $type::NAMED
                .iter()
                .map(|&(value, name)| (value.bits().into(), name))
                .collect();
            let mut sorted = enum_values($enum);
            let mut ours_sorted = ours.clone();
            sorted.sort_unstable();
            ours_sorted.sort_unstable();
            assert_eq!(ours_sorted, sorted, $enum);
        )*};
    }
    check!(
        "MGMT_CLASS": MgmtClass,
        "METHOD": Method,
        "RMPP_TYPE": RmppType,
        "RMPP_STATUS": RmppStatus,
        "MAD_STATUS_CODE": Fault,
        "SA_STATUS": SaStatus,
        "NOTICE_TYPE": NoticeType,
        "PRODUCER_TYPE": ProducerType,
        "TRAP_NUMBER": TrapNumber,
    );
}

#[test]
fn response_times_agree_with_the_enum() {
    for (code, name) in enum_values("RESP_TIME") {
        let time = RespTime::from_bits(code as u8);
        match name.strip_suffix(" ns") {
            Some(nanos) => assert_eq!(time.duration().as_nanos().to_string(), nanos),
            None => assert_eq!(time, RespTime::NONE),
        }
    }
}

/// The letters and digits of a name: `VL15Dropped` and `VL15_DROPPED` are one.
fn letters(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

#[test]
fn flags_agree_with_the_masks() {
    macro_rules! check {
        ($($mask:literal: $type:ident),* $(,)?) => {$(
            let bits: Vec<(u32, String)> = rows(MASKS)
                .filter(|row| row[0] == $mask)
                .map(|row| (row[1].parse().unwrap(), letters(row[2])))
                .collect();
            assert!(!bits.is_empty(), $mask);
            for (bit, name) in bits {
                let flag = $type::from_bits_retain(1 << bit);
                let ours: Vec<_> = flag.iter_names().map(|(name, _)| letters(name)).collect();
                assert_eq!(ours, [name], $mask);
            }
        )*};
    }
    check!(
        "PortCounters.CounterSelect": CounterSelect,
        "PortCounters.CounterSelect2": CounterSelect2,
        "PortCountersExtended.CounterSelect": CounterSelectExtended,
        "PortRcvErrorDetails.CounterSelect": RcvErrorSelect,
        "PM.ClassPortInfo.CapabilityMask": PerfCapabilities,
        "PM.ClassPortInfo.CapabilityMask2": PerfCapabilities2,
        "CC.ClassPortInfo.CapabilityMask": CcCapabilities,
        "BM.ClassPortInfo.CapabilityMask": BmCapabilities,
        "CM.ClassPortInfo.CapabilityMask": CmCapabilities,
        "ClassPortInfo.CapabilityMask": ClassCapabilities,
        "IOControllerProfile.ControllerOperationsMask": ControllerOperations,
    );
}

#[test]
fn select_bits_of_extended_speeds_agree_with_the_masks() {
    let mut count = 0;
    for row in rows(MASKS) {
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
