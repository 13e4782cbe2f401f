//! The tables of the specification, for the tests of every crate that has a part of them.
#![allow(dead_code, reason = "each crate's test takes what it needs")]

pub(crate) const HEADERS: &str = include_str!("../../testdata/spec/headers.csv");
pub(crate) const ENUMS: &str = include_str!("../../testdata/spec/enums.csv");

/// The rows of a table without quotes in the columns that are read.
pub(crate) fn rows(csv: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    csv.lines().skip(1).map(|line| line.split(',').collect())
}

/// Values and names of an enum, in the order of the table.
pub(crate) fn enumerated(name: &str) -> Vec<(u64, &'static str)> {
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
#[allow(unused_macros, reason = "each crate's test takes what it needs")]
macro_rules! code_points_agree {
    ($($enum:literal: $type:ty),* $(,)?) => {$(
        let mut ours: Vec<(u64, &str)> = <$type>::NAMED
            .iter()
            .map(|&(value, name)| (u64::from(value.bits()), name))
            .collect();
        let mut table = $crate::support::enumerated($enum);
        ours.sort_unstable();
        table.sort_unstable();
        assert_eq!(ours, table, $enum);
    )*};
}
#[allow(unused_imports, reason = "each crate's test takes what it needs")]
pub(crate) use code_points_agree;
