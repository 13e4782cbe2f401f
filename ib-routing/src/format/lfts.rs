//! Linear forwarding tables as text: OpenSM's `opensm-lfts.dump` and `opensm.fdbs`, and what `ibroute` and
//! `dump_fts` print.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    vec::Vec,
};
use core::fmt::Write;

use ib_wire::{Guid, Lid, Lmc, PortNum, addr::LidRange};

use super::{Warning, bad, written};
use crate::{
    engine,
    error::TopologyError,
    fabric::{Fabric, NodeType, PortRef},
    lid::LidMap,
    routes::Routes,
};

/// Forwarding tables from a file, on a fabric.
#[derive(Clone, Debug)]
pub struct Tables {
    /// The forwarding tables of all switches of the fabric.
    pub routes: Routes,
    /// The owner of every LID: from the file, or where the file does not name one, from the fabric.
    pub lids: LidMap,
    /// Lines that were passed over: switches and ports that the fabric lacks.
    pub warnings: Vec<Warning>,
}

/// Writes `opensm-lfts.dump`.
#[must_use]
pub fn write(fabric: &Fabric, lids: &LidMap, routes: &Routes) -> String {
    written(|out| write_to(out, fabric, lids, routes))
}

fn write_to(
    out: &mut String,
    fabric: &Fabric,
    lids: &LidMap,
    routes: &Routes,
) -> core::fmt::Result {
    let names: Vec<String> = lids
        .destinations()
        .iter()
        .map(|destination| {
            let kind = match destination.type_ {
                NodeType::SWITCH => "Switch",
                NodeType::ROUTER => "Router",
                _ => "Channel Adapter",
            };
            let node = fabric.node(destination.end.node);
            format!(
                "{kind} portguid {}: '{}'",
                destination.guid, node.description
            )
        })
        .collect();
    for switch in fabric.switches().indices() {
        let node = fabric.switch(switch);
        let own = lids.switch_port(switch);
        let lid = own.map_or(Lid::NONE, |own| own.range.base());
        let (max, guid) = (lids.max_lid(), node.guid);
        writeln!(
            out,
            "Unicast lids [0-{max}] of switch Lid {lid} guid {guid} ('{}'):",
            node.description
        )?;
        let mut count = 0;
        for (destination, name) in lids.destinations().iter().zip(&names) {
            for lid in destination.range.iter() {
                let port = routes.port(switch, lid);
                if port != PortNum::UNREACHABLE {
                    writeln!(out, "0x{:04x} {:03} # {name}", lid.0, port.0)?;
                    count += 1;
                }
            }
        }
        writeln!(out, "{count} lids dumped")?;
    }
    Ok(())
}

/// One `0x0001 003 ...` line.
struct Entry {
    switch: Guid,
    lid: Lid,
    port: PortNum,
    line: usize,
}

/// The port that owns a LID, and the line that says so.
#[derive(Clone, Copy)]
struct Owner {
    guid: Guid,
    is_switch: bool,
    line: usize,
}

impl Owner {
    const fn new((guid, is_switch): (Guid, bool), line: usize) -> Self {
        Self {
            guid,
            is_switch,
            line,
        }
    }
}

/// Reads tables of any of these tools for the switches of `fabric`.
///
/// # Errors
/// A line that begins like a table's or an entry and does not go on like one, a text without any
/// table, and LIDs of a port that do not make a range.
pub fn read(text: &str, fabric: &Fabric) -> Result<Tables, TopologyError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut owners: BTreeMap<Lid, Owner> = BTreeMap::new();
    let mut warnings = Vec::new();
    let (mut table, mut tables) = (None, 0);
    for (at, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.starts_with("Unicast lids") || line.contains("_ucast_routes: Switch ") {
            let (lid, guid) = header(line).ok_or_else(|| {
                bad(
                    at,
                    "table",
                    line,
                    "`Unicast lids [0-9] of switch Lid 2 guid 0x...`",
                )
            })?;
            tables += 1;
            table = Some(guid);
            if fabric.switch_by_guid(guid).is_none() {
                let what = format!("switch {guid} is not in the fabric, its table is passed over");
                warnings.push(Warning { line: at, what });
            }
            if let Some(lid) = lid.filter(|&lid| lid != Lid::NONE) {
                owners.insert(lid, Owner::new((guid, true), at));
            }
        } else if line.starts_with("0x") {
            let expected = "an entry like `0x0001 003 # Switch portguid 0x...`";
            let (lid, port, owner) = entry(line).ok_or_else(|| bad(at, "entry", line, expected))?;
            let Some(switch) = table else {
                return Err(bad(
                    at,
                    "entry",
                    line,
                    "a line `Unicast lids ...` before it",
                ));
            };
            entries.push(Entry {
                switch,
                lid,
                port,
                line: at,
            });
            if let Some(owner) = owner {
                owners.insert(lid, Owner::new(owner, at));
            }
        } else if !(line.is_empty()
            || line.starts_with('#')
            || line.ends_with("lids dumped")
            || line.starts_with("Lid ")
            || line.starts_with("LID ")
            || line.starts_with("Port "))
        {
            let what = format!("passed over: {:?}", ib_wire::text::shorten(line));
            warnings.push(Warning { line: at, what });
        }
    }
    if tables == 0 {
        return Err(bad(
            1,
            "tables",
            text.lines().next().unwrap_or_default(),
            "a line `Unicast lids [...] of switch ...`",
        ));
    }
    let lids = if owners.values().any(|owner| !owner.is_switch) {
        LidMap::of_ranges(fabric, ranges(fabric, &owners, &mut warnings)?)
    } else {
        LidMap::of_fabric(fabric)
    };
    let mut routes = Routes::new(&engine::FILE, fabric, &lids);
    let mut beyond = (0, None);
    for entry in entries {
        if usize::from(entry.lid.0) >= routes.row_len() {
            beyond = (beyond.0 + 1, beyond.1.or(Some(entry.line)));
        } else if let Some(switch) = fabric.switch_by_guid(entry.switch) {
            routes.set_port(switch, entry.lid, entry.port);
        }
    }
    if let (count, Some(line)) = beyond {
        let max = lids.max_lid();
        let what = format!(
            "entries to LIDs beyond {max}, the highest of a port, are passed over: {count}"
        );
        warnings.push(Warning { line, what });
    }
    Ok(Tables {
        routes,
        lids,
        warnings,
    })
}

/// LID and GUID of the switch that a table belongs to.
fn header(line: &str) -> Option<(Option<Lid>, Guid)> {
    if let Some((_, guid)) = line.split_once("_ucast_routes: Switch ") {
        return Some((None, guid.trim().parse().ok()?));
    }
    let (_, rest) = line.split_once(" of switch ")?;
    let lid = rest
        .strip_prefix("Lid ")
        .and_then(|rest| rest.split_whitespace().next());
    let lid = lid
        .and_then(super::number)
        .and_then(|lid| u16::try_from(lid).ok())
        .map(Lid);
    let (_, guid) = rest.split_once("guid ")?;
    let guid = guid.split_whitespace().next()?.parse().ok()?;
    Some((lid, guid))
}

/// LID, port, and the port GUID of the owner if it is named.
#[allow(clippy::type_complexity, reason = "the three columns of a line")]
fn entry(line: &str) -> Option<(Lid, PortNum, Option<(Guid, bool)>)> {
    let mut words = line.split_whitespace().filter(|&word| word != ":");
    let lid = words
        .next()
        .and_then(super::number)
        .and_then(|lid| u16::try_from(lid).ok())?;
    let port = match words.next()? {
        "UNREACHABLE" | "---" => 255,
        port => super::small(port)?,
    };
    let owner = line.split_once("portguid ").and_then(|(kind, rest)| {
        let guid = rest.split([':', ' ', ')']).next()?.parse().ok()?;
        Some((guid, kind.contains("Switch")))
    });
    Some((Lid(lid), PortNum(port), owner))
}

/// The ranges of LIDs that belong to one port each.
fn ranges(
    fabric: &Fabric,
    owners: &BTreeMap<Lid, Owner>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<(PortRef, LidRange)>, TopologyError> {
    let ports = ca_ports(fabric, owners);
    let mut spans: Vec<(Owner, Lid, u16)> = Vec::new();
    for (&lid, &owner) in owners {
        match spans.last_mut() {
            Some((last, base, count))
                if last.guid == owner.guid && base.0.checked_add(*count) == Some(lid.0) =>
            {
                *count = count.saturating_add(1);
            }
            _ => spans.push((owner, lid, 1)),
        }
    }
    let mut ranges = Vec::new();
    for (owner, base, count) in spans {
        let Owner { guid, line, .. } = owner;
        let end = if owner.is_switch {
            fabric.node_by_guid(guid).map(|node| PortRef {
                node,
                port: PortNum::MANAGEMENT,
            })
        } else {
            ports.get(&guid).copied()
        };
        let Some(end) = end else {
            let what = format!("LID {base}: port {guid} is not in the fabric");
            warnings.push(Warning { line, what });
            continue;
        };
        let lmc = Lmc::try_new(count.ilog2() as u8)
            .ok()
            .filter(|_| count.is_power_of_two());
        let range = lmc.and_then(|lmc| LidRange::try_new(base, lmc).ok());
        let range = range.ok_or_else(|| {
            let found = format!("{count} LIDs of port {guid} from {base}");
            bad(
                line,
                "LIDs",
                &found,
                "2^LMC LIDs from a multiple of their number",
            )
        })?;
        ranges.push((end, range));
    }
    Ok(ranges)
}

/// CA ports by the GUID that the tables call them: the fabric's own, or node GUID + port number as
/// ibsim numbers them, whichever finds more.
fn ca_ports(fabric: &Fabric, owners: &BTreeMap<Lid, Owner>) -> BTreeMap<Guid, PortRef> {
    let (mut named, mut numbered) = (BTreeMap::new(), BTreeMap::new());
    for (node, entry) in fabric
        .nodes()
        .iter_enumerated()
        .filter(|(_, node)| !node.type_.is_switch())
    {
        for (port, end) in entry.end_ports().filter(|(_, end)| end.peer.is_some()) {
            named.insert(end.guid, PortRef { node, port });
            let guid = Guid(entry.guid.0.wrapping_add(u64::from(port.0)));
            numbered.insert(guid, PortRef { node, port });
        }
    }
    let wanted: BTreeSet<Guid> = owners.values().map(|owner| owner.guid).collect();
    let found = |ports: &BTreeMap<Guid, PortRef>| {
        wanted
            .iter()
            .filter(|guid| ports.contains_key(guid))
            .count()
    };
    if found(&numbered) > found(&named) {
        numbered
    } else {
        named
    }
}
