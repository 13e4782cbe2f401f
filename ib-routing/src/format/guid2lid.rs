//! OpenSM's `guid2lid`: which port owned which LIDs, kept over restarts.

use alloc::{collections::BTreeMap, string::String};
use core::fmt::Write;

use ib_wire::{Guid, Lid};

use super::{bad, number};
use crate::{error::TopologyError, lid::LidMap};

/// Writes `<port guid> <first lid> <last lid>` and a blank line per port.
#[must_use]
pub fn write(lids: &LidMap) -> String {
    let mut out = String::new();
    for destination in lids.destinations().iter() {
        let (first, last) = (destination.range.base().0, destination.range.last().0);
        // Writing to a string does not fail.
        let _ = writeln!(out, "{} 0x{first:04x} 0x{last:04x}\n", destination.guid);
    }
    out
}

/// Reads base LIDs by port GUID, as [`LidOptions::database`](crate::LidOptions::database) wants them.
///
/// # Errors
/// A line that is not a GUID and two unicast LIDs, the second not below the first.
pub fn read(text: &str) -> Result<BTreeMap<Guid, Lid>, TopologyError> {
    let mut database = BTreeMap::new();
    for (at, line) in super::lines(text) {
        let mut words = line.split_whitespace();
        let guid = words.next().and_then(|guid| guid.parse::<Guid>().ok());
        let mut lid = || {
            words
                .next()
                .and_then(number)
                .and_then(|lid| u16::try_from(lid).ok())
                .filter(|&lid| (Lid::UNICAST_MIN..=Lid::UNICAST_MAX).contains(&Lid(lid)))
        };
        match (guid, lid(), lid()) {
            (Some(guid), Some(first), Some(last)) if first <= last => {
                database.insert(guid, Lid(first))
            }
            _ => {
                return Err(bad(
                    at,
                    "guid2lid",
                    line,
                    "a port GUID, the first and the last LID",
                ));
            }
        };
    }
    Ok(database)
}
