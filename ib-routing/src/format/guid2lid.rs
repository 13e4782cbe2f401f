//! OpenSM's `guid2lid`: which port owned which LIDs, kept over restarts.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
};
use core::fmt::Write;

use ib_wire::{Guid, Lid};

use super::{bad, number};
use crate::{error::TopologyError, lid::LidMap};

/// Writes `<port guid> <first lid> <last lid>` and a blank line per port: those that are there, then
/// those that are remembered by their base LID alone.
#[must_use]
pub fn write(lids: &LidMap, remembered: &BTreeMap<Guid, Lid>) -> String {
    let mut out = String::new();
    let mut line = |guid: Guid, first: Lid, last: Lid| {
        // Writing to a string does not fail.
        let _ = writeln!(out, "{guid} 0x{:04x} 0x{:04x}\n", first.0, last.0);
    };
    let mut there = BTreeSet::new();
    for destination in lids.destinations().iter() {
        there.insert(destination.guid);
        line(
            destination.guid,
            destination.range.base(),
            destination.range.last(),
        );
    }
    for (&guid, &lid) in remembered.iter().filter(|(guid, _)| !there.contains(guid)) {
        line(guid, lid, lid);
    }
    out
}

/// Reads base LIDs by port GUID, as [`LidOptions::database`](crate::LidOptions::database) wants them.
///
/// # Errors
/// A line that is not a GUID and two unicast LIDs, the second not below the first.
pub fn read(text: &str) -> Result<BTreeMap<Guid, Lid>, TopologyError> {
    let mut database = BTreeMap::new();
    for (at, line) in ib_wire::text::lines(text) {
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
