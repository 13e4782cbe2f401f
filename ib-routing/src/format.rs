//! Text formats: fabrics, tables and lists as OpenSM, ibsim and the diagnostics write them.

pub mod dot;
pub mod fdbs;
pub mod guid2lid;
pub mod guid_list;
pub mod ibnetdiscover;
pub mod lfts;
pub mod lid_matrix;
pub mod mcfdbs;
pub mod node_list;
pub mod port_lists;
pub mod port_report;
pub mod sl2vl;
pub mod sls;
pub mod slurm;
pub mod subnet_list;
pub mod svg;

use alloc::string::String;
use core::fmt;

use ib_wire::text::shorten;

use crate::error::{TopologyError, TopologyErrorKind};

/// A line that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Line of the file, from 1.
    pub line: usize,
    /// The reason why it was passed over.
    pub what: String,
}

/// The text that `write` gives.
fn written(write: impl FnOnce(&mut String) -> fmt::Result) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut out);
    out
}

pub(crate) fn bad(
    line: usize,
    field: &'static str,
    found: &str,
    expected: &'static str,
) -> TopologyError {
    TopologyErrorKind::BadValue {
        field,
        found: shorten(found),
        expected,
    }
    .at(line)
}

/// A number in C's notation.
pub(crate) fn number(text: &str) -> Option<u64> {
    ib_wire::addr::number(text, u64::MAX)
}

/// A number in C's notation that fits.
pub(crate) fn small<T: TryFrom<u64>>(text: &str) -> Option<T> {
    number(text).and_then(|value| value.try_into().ok())
}

/// A number in hexadecimal digits that fits, `0x` before them or not.
pub(crate) fn hexadecimal<T: TryFrom<u64>>(text: &str) -> Option<T> {
    let value = ib_wire::addr::hexadecimal(text, u64::MAX);
    value.and_then(|value| value.try_into().ok())
}

#[cfg(test)]
mod tests;
