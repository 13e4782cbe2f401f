//! The tables of the code against the tables of the specification, both ways.

use ib_mad::{AttributeId, ClassTable};
use ib_sa::*;
use ib_wire::{
    properties::{layout_disagreements, structs_of},
    table::Layout,
};

const HEADERS: &str = include_str!("../../ib-wire/testdata/spec/headers.csv");
const ATTRIBUTES: &str = include_str!("../../ib-wire/testdata/spec/attributes.csv");
const ATTRIBUTE_IDS: &str = include_str!("../../ib-wire/testdata/spec/attribute_ids.csv");

/// The rows of a table without quotes in the columns that are read.
fn rows(csv: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    csv.lines().skip(1).map(|line| line.split(',').collect())
}

fn named<'a>(layouts: &[&'a Layout], csv: &str) -> Vec<&'a Layout> {
    let known = structs_of(csv);
    let of_csv = layouts.iter().filter(|layout| known.contains(&layout.name));
    of_csv.copied().collect()
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

/// Checks a class against its rows both ways: number, name, structure, length and methods.
fn check_class(name: &str, class: &ClassTable) {
    let mut count = 0;
    for row in rows(ATTRIBUTE_IDS).filter(|row| row[0] == name) {
        let id = u16::from_str_radix(&row[2][2..], 16).unwrap();
        let entry = class.attribute(AttributeId(id));
        let entry = entry.unwrap_or_else(|| panic!("{name} has no {}", row[1]));
        assert_eq!(entry.name, row[1]);
        let layout = entry.layout.map_or("", |layout| layout.name);
        assert_eq!(layout, row[3], "{}", row[1]);
        if let Some(layout) = entry.layout {
            assert_eq!(layout.len.to_string(), row[4], "{}", row[1]);
            let known = LAYOUTS.iter().chain(ib_mad::LAYOUTS);
            assert!(known.clone().any(|known| *known == layout), "{}", row[1]);
        }
        let methods: Vec<String> = entry.methods.iter().map(ToString::to_string).collect();
        assert_eq!(methods.join(" "), row[5], "{}", row[1]);
        assert_eq!(entry.offset, class.class.data_offset());
        count += 1;
    }
    assert_eq!(count, class.attributes.len(), "an attribute without a row");
}

#[test]
fn subnet_administration_has_every_attribute() {
    assert_eq!(CLASSES.len(), 1);
    check_class("SubnAdm", &CLASSES[0]);
}

/// Bits and fields of a record's components, by the specification.
fn components_of(record: &str) -> Vec<(u8, &'static str)> {
    let csv = include_str!("../../ib-wire/testdata/spec/component_masks.csv");
    let rows = rows(csv).filter(|row| row[0] == record);
    rows.map(|row| (row[2].parse().unwrap(), row[1])).collect()
}

#[test]
fn component_masks_agree_with_the_table() {
    let mut count = 0;
    macro_rules! check {
        ($($record:literal: $type:ident),* $(,)?) => {$({
            let expected = components_of($record);
            type Set = <$type as Record>::Components;
            let table = <Set as ComponentSet>::TABLE;
            let ours: Vec<(u8, &str)> = table.iter().map(|c| (c.bit, c.name)).collect();
            assert_eq!(ours, expected, $record);
            let all = table.iter().fold(0, |bits, component| bits | 1 << component.bit);
            assert_eq!(Set::all().bits(), all, $record);
            count += expected.len();
        })*};
    }
    check!(
        "NodeRecord": NodeRecord,
        "PortInfoRecord": PortInfoRecord,
        "SLtoVLMappingTableRecord": SlToVlMappingTableRecord,
        "SwitchInfoRecord": SwitchInfoRecord,
        "LinearForwardingTableRecord": LinearForwardingTableRecord,
        "RandomForwardingTableRecord": RandomForwardingTableRecord,
        "MulticastForwardingTableRecord": MulticastForwardingTableRecord,
        "SMInfoRecord": SmInfoRecord,
        "InformInfoRecord": InformInfoRecord,
        "LinkRecord": LinkRecord,
        "GUIDInfoRecord": GuidInfoRecord,
        "ServiceRecord": ServiceRecord,
        "P_KeyTableRecord": PKeyTableRecord,
        "PathRecord": PathRecord,
        "VLArbitrationTableRecord": VlArbitrationTableRecord,
        "MCMemberRecord": McMemberRecord,
        "TraceRecord": TraceRecord,
        "MultiPathRecord": MultiPathRecord,
        "ServiceAssociationRecord": ServiceAssociationRecord,
        "PortInfoExtendedRecord": PortInfoExtendedRecord,
    );
    let csv = include_str!("../../ib-wire/testdata/spec/component_masks.csv");
    assert_eq!(count, rows(csv).count());
}

#[test]
fn names_of_components_are_those_of_their_bits() {
    assert_eq!(PathComponents::DGID.bits(), 1 << 2);
    assert_eq!(McMemberComponents::JOIN_STATE.bits(), 1 << 16);
    assert_eq!(NodeComponents::NODE_GUID.bits(), 1 << 7);
    assert_eq!(PortInfoComponents::LINK_SPEED_EXT_ENABLED.bits(), 1 << 57);
    assert_eq!(ServiceComponents::SERVICE_DATA64_1.bits(), 1 << 36);
}
