//! The tables of the specification, for the tests of every crate that implements a part of them.

#[cfg(feature = "mad")]
pub mod mad;

macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident = $file:literal;)*) => {$(
        $(#[$doc])*
        pub const $name: &str = include_str!(concat!("../../ib-wire/testdata/spec/", $file));
    )*};
}

tables! {
    /// Fields of the headers.
    HEADERS = "headers.csv";
    /// Named values.
    ENUMS = "enums.csv";
    /// Operation codes with their headers.
    OPCODES = "opcodes.csv";
    /// Fields of the attributes.
    ATTRIBUTES = "attributes.csv";
    /// Classes with their attributes.
    ATTRIBUTE_IDS = "attribute_ids.csv";
    /// Bits of capability masks.
    CAPABILITY_MASKS = "capability_masks.csv";
    /// Bits of component masks.
    COMPONENT_MASKS = "component_masks.csv";
    /// Notices with their numbers.
    NOTICES = "notices.csv";
}

/// The rows of a table without quotes in the columns that are read.
pub fn rows(csv: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    csv.lines().skip(1).map(|line| line.split(',').collect())
}

/// Values and names of an enum, in the order of the table.
#[must_use]
pub fn enumerated(name: &str) -> Vec<(u64, &'static str)> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None => text.parse().unwrap(),
    };
    let values: Vec<_> = rows(ENUMS)
        .filter(|row| row[0] == name)
        .map(|row| (number(row[1]), row[2]))
        .collect();
    assert!(!values.is_empty(), "{name}");
    values
}

/// Compares the named values of code points with their enums, both ways.
#[macro_export]
macro_rules! code_points_agree {
    ($($enum:literal: $type:ty),* $(,)?) => {$(
        let mut ours: Vec<(u64, &str)> = <$type>::NAMED
            .iter()
            .map(|&(value, name)| (u64::from(value.bits()), name))
            .collect();
        let mut table = $crate::spec::enumerated($enum);
        ours.sort_unstable();
        table.sort_unstable();
        assert_eq!(ours, table, $enum);
    )*};
}
pub use code_points_agree;
