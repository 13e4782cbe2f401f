//! The tables of the specification against the layouts and classes of a crate.

use ib_mad::{AttributeId, ClassTable};
use ib_wire::{
    properties::{layout_disagreements, structs_of},
    table::Layout,
};

pub use super::*;

/// The letters and digits of a name: `VL15Dropped` and `VL15_DROPPED` are one.
#[must_use]
pub fn letters(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

/// The bits of a mask and the letters of their names, in the order of the bits.
#[must_use]
pub fn mask_bits(mask: &str) -> Vec<(u64, String)> {
    let rows = rows(CAPABILITY_MASKS).filter(|row| row[0] == mask && row[2] != "Reserved");
    let mut bits: Vec<_> = rows
        .map(|row| (1 << row[1].parse::<u32>().unwrap(), letters(row[2])))
        .collect();
    bits.sort_unstable();
    assert!(!bits.is_empty(), "{mask}");
    bits
}

/// Compares the named bits of masks with their rows, both ways. The bits that every class has may be
/// among those of a class.
#[macro_export]
macro_rules! masks_agree {
    ($($mask:literal: $type:ident),* $(,)?) => {$(
        let table = $crate::spec::mad::mask_bits($mask);
        let general = $crate::spec::mad::mask_bits("ClassPortInfo.CapabilityMask");
        let mut ours: Vec<(u64, String)> = $type::all()
            .iter_names()
            .map(|(name, flag)| (flag.bits().into(), $crate::spec::mad::letters(name)))
            .filter(|bit| table.contains(bit) || !general.contains(bit))
            .collect();
        ours.sort_unstable();
        assert_eq!(ours, table, $mask);
    )*};
}
pub use masks_agree;

fn named<'a>(layouts: &[&'a Layout], csv: &str) -> Vec<&'a Layout> {
    let known = structs_of(csv);
    let of_csv = layouts.iter().filter(|layout| known.contains(&layout.name));
    of_csv.copied().collect()
}

/// Each layout has its rows in one of the two tables, and each row its field.
pub fn layouts_agree(layouts: &[&Layout]) {
    let headers = named(layouts, HEADERS);
    let attributes = named(layouts, ATTRIBUTES);
    let found = headers.len() + attributes.len();
    assert_eq!(found, layouts.len(), "a layout without rows");
    assert_eq!(layout_disagreements(HEADERS, &headers), [""; 0]);
    assert_eq!(layout_disagreements(ATTRIBUTES, &attributes), [""; 0]);
}

/// Compares a class with its rows both ways: number, name, structure, length and methods.
pub fn class_agrees(name: &str, class: &ClassTable, layouts: &[&Layout]) {
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
            assert!(entry.offset + layout.len <= 256, "{}", row[1]);
            let mut known = layouts.iter().chain(ib_mad::LAYOUTS);
            assert!(known.any(|known| *known == layout), "{}", row[1]);
        }
        let methods: Vec<String> = entry.methods.iter().map(ToString::to_string).collect();
        assert_eq!(methods.join(" "), row[5], "{}", row[1]);
        // A congestion log has a layout of its own; Mellanox's attributes follow a key.
        let offset = match (row[0], row[1]) {
            (_, "CongestionLog") | ("Vendor1_0A", _) => 32,
            _ => class.class.data_offset(),
        };
        assert_eq!(entry.offset, offset, "{}", row[1]);
        count += 1;
    }
    assert!(count > 0, "{name}");
    assert_eq!(count, class.attributes.len(), "an attribute without a row");
}

/// The classes of `attribute_ids.csv`.
#[must_use]
pub fn class_names() -> Vec<&'static str> {
    let mut names: Vec<_> = rows(ATTRIBUTE_IDS).map(|row| row[0]).collect();
    names.sort_unstable();
    names.dedup();
    names
}
