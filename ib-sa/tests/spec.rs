//! The tables of the code against the tables of the specification, both ways.

use ib_sa::*;
use ib_wire::properties::structs_of;

use ib_testkit::spec::{COMPONENT_MASKS, mad::*};

#[test]
fn every_layout_agrees_with_its_rows() {
    layouts_agree(LAYOUTS);
}

#[test]
fn subnet_administration_has_every_attribute() {
    assert_eq!(CLASSES.len(), 1);
    class_agrees("SubnAdm", &CLASSES[0], LAYOUTS);
}

/// Bits and fields of a record's components, by the specification.
fn components_of(record: &str) -> Vec<(u8, &'static str)> {
    let rows = rows(COMPONENT_MASKS).filter(|row| row[0] == record);
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
    assert_eq!(count, rows(COMPONENT_MASKS).count());
}

#[test]
fn names_of_components_are_those_of_their_bits() {
    assert_eq!(PathComponents::DGID.bits(), 1 << 2);
    assert_eq!(McMemberComponents::JOIN_STATE.bits(), 1 << 16);
    assert_eq!(NodeComponents::NODE_GUID.bits(), 1 << 7);
    assert_eq!(PortInfoComponents::LINK_SPEED_EXT_ENABLED.bits(), 1 << 57);
    assert_eq!(ServiceComponents::SERVICE_DATA64_1.bits(), 1 << 36);
}

#[test]
fn flags_agree_with_the_masks() {
    masks_agree!(
        "SA.ClassPortInfo.CapabilityMask": SaCapabilities,
        "SA.ClassPortInfo.CapabilityMask2": SaCapabilities2,
    );
}

#[test]
fn code_points_and_join_states_agree_with_the_enums() {
    code_points_agree!("SELECTOR": Selector);
    let join_states: Vec<(u64, String)> = JoinState::all()
        .iter_names()
        .map(|(name, state)| (state.bits().into(), letters(name)))
        .collect();
    let table = enumerated("JOIN_STATE_BITS").into_iter();
    let table: Vec<_> = table.map(|(bits, name)| (bits, letters(name))).collect();
    assert_eq!(join_states, table);
}

/// The layers meet here: what no crate of them has would be seen nowhere else.
#[test]
fn every_structure_of_the_tables_is_in_one_of_the_layers() {
    let layers = [ib_mad::LAYOUTS, ib_cm::LAYOUTS, ib_smp::LAYOUTS, LAYOUTS];
    let has = |name| {
        layers
            .concat()
            .iter()
            .filter(|layout| layout.name == name)
            .count()
    };
    for name in structs_of(ATTRIBUTES) {
        assert_eq!(has(name), 1, "{name}");
    }
    let is_management = |name: &str| {
        name.ends_with("Mad")
            || ["RMPP", "SMP"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
            || ["MADHeader", "GMP", "SAHeader"].contains(&name)
    };
    for name in structs_of(HEADERS)
        .into_iter()
        .filter(|name| is_management(name))
    {
        assert_eq!(has(name), 1, "{name}");
    }
}

#[test]
fn every_class_of_the_tables_is_in_one_of_the_layers() {
    let classes = [ib_mad::CLASSES, ib_cm::CLASSES, ib_smp::CLASSES, CLASSES].concat();
    let attributes: usize = classes.iter().map(|class| class.attributes.len()).sum();
    // Both forms of an SMP carry the attributes of one class.
    let twice = rows(ATTRIBUTE_IDS).filter(|row| row[0] == "Subn").count();
    assert_eq!(attributes, rows(ATTRIBUTE_IDS).count() + twice);
    for (value, name) in enumerated("MGMT_CLASS") {
        let class = ib_mad::MgmtClass(value as u8);
        let has_table = classes.iter().any(|table| table.class == class);
        let is_vendors = class.is_vendor_range_1() || class.is_vendor_range_2();
        let has_no_attributes = ["DevAdm", "BootMgt", "BIS"].contains(&name);
        // Of the vendors' classes only the attributes of Mellanox's are known.
        let is_known = class == ib_mad::MgmtClass::VENDOR1_0A || !is_vendors;
        assert_eq!(has_table, is_known && !has_no_attributes, "{name}");
        assert_eq!(
            class.methods().is_some(),
            has_table && !is_vendors,
            "{name}"
        );
    }
}
