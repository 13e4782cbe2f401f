//! Lists of GUIDs, one a line: roots, compute and I/O nodes, the order of routing; and the numbers of
//! switches (`ids_guid_file`).

use alloc::{collections::BTreeMap, vec::Vec};

use ib_wire::Guid;

use super::{bad, number};
use crate::error::TopologyError;

/// Reads a list; `#` begins a comment.
///
/// # Errors
/// A line that does not begin with a GUID.
pub fn read(text: &str) -> Result<Vec<Guid>, TopologyError> {
    ib_wire::text::lines(text)
        .map(|(at, line)| {
            let word = line.split_whitespace().next().unwrap_or_default();
            word.parse()
                .map_err(|_| bad(at, "GUID", line, "up to 16 hexadecimal digits"))
        })
        .collect()
}

/// Reads `<guid> <number>` lines.
///
/// # Errors
/// A line that is neither.
pub fn read_ids(text: &str) -> Result<BTreeMap<Guid, u64>, TopologyError> {
    ib_wire::text::lines(text)
        .map(|(at, line)| {
            let mut words = line.split_whitespace();
            let guid = words.next().and_then(|guid| guid.parse().ok());
            let id = words.next().and_then(number);
            guid.zip(id)
                .ok_or_else(|| bad(at, "id", line, "a GUID and a number"))
        })
        .collect()
}
