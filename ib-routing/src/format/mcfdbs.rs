//! Multicast forwarding tables as text: OpenSM's `opensm.mcfdbs`, the output ports of each group at
//! each switch.

use alloc::{collections::BTreeMap, string::String};
use core::fmt::Write;

use ib_wire::{Guid, Lid, PortNum};

use super::{bad, number};
use crate::{error::TopologyError, mcast::PortSet};

/// Output ports by multicast LID and by node GUID of the switch.
pub type MulticastTables = BTreeMap<Lid, BTreeMap<Guid, PortSet>>;

/// Writes the tables: switches by GUID, their groups by LID.
#[must_use]
pub fn write(groups: &MulticastTables) -> String {
    let mut tables: BTreeMap<Guid, BTreeMap<Lid, PortSet>> = BTreeMap::new();
    for (&mlid, switches) in groups {
        for (&switch, &ports) in switches {
            tables.entry(switch).or_default().insert(mlid, ports);
        }
    }
    let mut out = String::new();
    // Writing to a string does not fail.
    for (switch, groups) in tables {
        let _ = writeln!(out, "\nSwitch {switch}\nLID    : Out Port(s)");
        for (mlid, ports) in groups {
            let _ = write!(out, "0x{:04X} :", mlid.0);
            for port in ports.iter() {
                let _ = write!(out, " 0x{:03X} ", port.0);
            }
            out.push('\n');
        }
    }
    out
}

/// Reads the tables.
///
/// # Errors
/// A line that is no switch's and no group's, a group without a switch before it, and a LID that is not
/// multicast.
pub fn read(text: &str) -> Result<MulticastTables, TopologyError> {
    let mut groups = MulticastTables::new();
    let mut switch = None;
    for (at, line) in ib_wire::text::lines(text) {
        if let Some(guid) = line.strip_prefix("Switch ") {
            let guid = guid.trim().parse::<Guid>().ok();
            switch = Some(guid.ok_or_else(|| bad(at, "switch", line, "`Switch 0x...`"))?);
        } else if !line.starts_with("LID ") {
            let expected = "a multicast LID and ports, as `0xC000 : 0x001  0x015`";
            let (mlid, ports) = group(line).ok_or_else(|| bad(at, "group", line, expected))?;
            let switch =
                switch.ok_or_else(|| bad(at, "group", line, "a line `Switch 0x...` before it"))?;
            groups.entry(mlid).or_default().insert(switch, ports);
        }
    }
    Ok(groups)
}

fn group(line: &str) -> Option<(Lid, PortSet)> {
    let (mlid, words) = line.split_once(':')?;
    let mlid = Lid(u16::try_from(number(mlid.trim())?).ok()?);
    let mut ports = PortSet::default();
    for word in words.split_whitespace() {
        ports.insert(PortNum(u8::try_from(number(word)?).ok()?));
    }
    let is_multicast = (Lid::MULTICAST_MIN..=Lid::MULTICAST_MAX).contains(&mlid);
    is_multicast.then_some((mlid, ports))
}
