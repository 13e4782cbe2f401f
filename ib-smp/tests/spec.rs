//! The tables of the code against the tables of the specification, both ways.

use ib_mad::{AttributeId, ClassTable};
use ib_smp::*;
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
fn both_forms_of_an_smp_carry_every_attribute() {
    assert_eq!(CLASSES.len(), 2);
    for class in CLASSES {
        check_class("Subn", class);
    }
}

#[test]
fn every_smp_format_has_a_layout() {
    for name in structs_of(HEADERS) {
        let here = LAYOUTS.iter().any(|layout| layout.name == name);
        assert_eq!(here, name.starts_with("SMP"), "{name}");
    }
}

/// Values and names of an enum of the specification.
fn enum_values(name: &str) -> Vec<(u64, &'static str)> {
    let enums = include_str!("../../ib-wire/testdata/spec/enums.csv");
    let rows = rows(enums).filter(|row| row[0] == name);
    rows.map(|row| (row[1].parse().unwrap(), row[2])).collect()
}

#[test]
fn code_points_agree_with_the_enums() {
    macro_rules! check {
        ($($enum:literal: $type:ident),* $(,)?) => {$(
            let mut ours: Vec<(u64, &str)> = $type::NAMED
                .iter()
                .map(|&(value, name)| (value.bits().into(), name))
                .collect();
            let mut sorted = enum_values($enum);
            ours.sort_unstable();
            sorted.sort_unstable();
            assert_eq!(ours, sorted, $enum);
        )*};
    }
    check!(
        "DR_DIRECTION": DrDirection,
        "LINK_DOWN_DEFAULT_STATE": LinkDownDefaultState,
        "LINK_SPEED_ACTIVE": LinkSpeed,
        "LINK_SPEED_EXT2_ACTIVE": LinkSpeedExt2,
        "LINK_SPEED_EXT_ACTIVE": LinkSpeedExt,
        "LINK_WIDTH": LinkWidth,
        "M_KEY_PROTECT": MKeyProtect,
        "NODE_TYPE": NodeType,
        "PORT_PHYS_STATE": PortPhysicalState,
        "PORT_STATE": PortState,
        "SMINFO_ATTR_MOD": SmControl,
        "SM_STATE": SmState,
        "VL_CAP": VlCap,
    );
}

/// The letters and digits of a name: `1x` and `X1` are not one, `IsSM` and `IS_SM` are.
fn letters(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

#[test]
fn flags_agree_with_the_masks() {
    let masks = include_str!("../../ib-wire/testdata/spec/capability_masks.csv");
    macro_rules! check {
        ($($mask:literal: $type:ident),* $(,)?) => {$(
            let mut bits: Vec<(u64, String)> = rows(masks)
                .filter(|row| row[0] == $mask && row[2] != "Reserved")
                .map(|row| (1 << row[1].parse::<u32>().unwrap(), letters(row[2])))
                .collect();
            let mut ours: Vec<(u64, String)> = $type::all()
                .iter_names()
                .map(|(name, flag)| (flag.bits().into(), letters(name)))
                .collect();
            bits.sort_unstable();
            ours.sort_unstable();
            assert_eq!(ours, bits, $mask);
        )*};
    }
    check!(
        "PortInfo.CapabilityMask": CapabilityMask,
        "PortInfo.CapabilityMask2": CapabilityMask2,
        "PortInfoExtended.CapabilityMask": ExtendedCapabilityMask,
    );
}

#[test]
fn sets_of_widths_and_speeds_agree_with_the_enums() {
    macro_rules! check {
        ($($enum:literal: $type:ident),* $(,)?) => {$(
            for (bits, name) in enum_values($enum) {
                let flag = $type::from_bits_retain(bits as u8);
                let ours: Vec<_> = flag.iter_names().map(|(name, _)| name.to_owned()).collect();
                let name = match name.strip_suffix('x') {
                    Some(lanes) => format!("X{lanes}"),
                    None => name.to_owned(),
                };
                match name.as_str() {
                    "NoChange" => assert!(flag.is_empty()),
                    "SetToSupported" => assert_eq!(flag, $type::SET_TO_SUPPORTED),
                    "Disabled" => assert_eq!(bits, 30),
                    _ => assert_eq!(ours, [name], $enum),
                }
            }
        )*};
    }
    check!(
        "LINK_WIDTH_SUPPORTED_BITS": LinkWidths,
        "LINK_WIDTH_ENABLED_BITS": LinkWidths,
        "LINK_SPEED_SUPPORTED_BITS": LinkSpeeds,
        "LINK_SPEED_ENABLED_BITS": LinkSpeeds,
        "LINK_SPEED_EXT_SUPPORTED_BITS": LinkSpeedsExt,
        "LINK_SPEED_EXT_ENABLED_BITS": LinkSpeedsExt,
    );
    assert_eq!(enum_values("LINK_SPEED_FDR10_BITS"), [(1, "FDR10")]);
    assert_eq!(VendorLinkSpeeds::FDR10.bits(), 1);
}

#[test]
fn modifiers_survive_their_bits() {
    use ib_wire::PortNum;
    for bits in (0..=0xff).map(|low| low << 24 | low << 12 | low) {
        let mft = MftModifier::from_bits(bits);
        assert_eq!(MftModifier::from_bits(mft.bits()), mft);
        if let Some(modifier) = PKeyModifier::from_bits(bits) {
            assert_eq!(modifier.bits(), bits);
        }
        if let Some(modifier) = PortInfoModifier::from_bits(bits) {
            assert_eq!(modifier.bits(), bits);
        }
    }
    for (bits, position, block) in [(0x2000_0005, 2, 5), (0xf000_01ff, 15, 511)] {
        assert_eq!(MftModifier { position, block }.bits(), bits);
    }
    let (input, output) = (PortNum(3), PortNum(7));
    for (modifier, bits) in [
        (SlToVlModifier::Pair { input, output }, 0x0307),
        (SlToVlModifier::AllInputs { output }, 0x2_0007),
        (SlToVlModifier::AllOutputs { input }, 0x1_0300),
        (SlToVlModifier::All, 0x3_0000),
    ] {
        assert_eq!(modifier.bits(), bits);
        assert_eq!(SlToVlModifier::from_bits(bits), Some(modifier));
    }
    assert_eq!(SlToVlModifier::from_bits(0x4_0000), None);
    let half = VlArbitrationHalf::HighFirst;
    let modifier = VlArbitrationModifier { half, port: output };
    assert_eq!(modifier.bits(), 0x3_0007);
    for bits in [0, 0x5_0000, 0x1_0100] {
        assert_eq!(VlArbitrationModifier::from_bits(bits), None);
    }
    let p_key = PKeyModifier {
        port: output,
        block: 1,
    };
    assert_eq!(p_key.bits(), 0x7_0001);
    let extended = PortInfoModifier {
        port: output,
        extended_speeds: true,
    };
    assert_eq!(extended.bits(), 0x8000_0007);
    assert_eq!(PortInfoModifier::from_bits(0x100), None);
}
