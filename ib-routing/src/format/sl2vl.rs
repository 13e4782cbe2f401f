//! SLtoVL tables as text: OpenSM's `opensm-sl2vl.dump`.

use alloc::{format, string::String, vec::Vec};
use core::fmt::Write;

use ib_wire::{Guid, Lid, PortNum, Vl};

use super::{Warning, bad, written};
use crate::{
    error::TopologyError,
    fabric::Fabric,
    index::SwitchIdx,
    lid::LidMap,
    routes::Routes,
    vl::{SlToVl, VlMap},
};

/// Writes the tables of all cabled ports.
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
    let head = "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n#--------------------------------------------------------";
    for switch in fabric.switches().indices() {
        let node = fabric.switch(switch);
        let own = lids.switch_port(switch);
        let lid = own.map_or(Lid::NONE, |own| own.range.base());
        writeln!(
            out,
            "Switch {}, base LID {lid}, \"{}\"\n{head}",
            node.guid, node.description
        )?;
        for (output, _) in node.ports().filter(|(_, end)| end.peer.is_some()) {
            for (input, _) in node.ports() {
                row(
                    out,
                    input,
                    output,
                    routes.vl_map().table(switch, input, output),
                )?;
            }
        }
    }
    for destination in lids
        .destinations()
        .iter()
        .filter(|destination| !destination.is_switch())
    {
        let node = fabric.node(destination.end.node);
        let (guid, lid) = (destination.guid, destination.range.base());
        writeln!(
            out,
            "Channel Adapter {guid}, base LID {lid}, \"{}\"\n{head}",
            node.description
        )?;
        row(out, PortNum(0), PortNum(0), routes.vl_map().injection())?;
    }
    Ok(())
}

fn row(out: &mut String, input: PortNum, output: PortNum, table: &SlToVl) -> core::fmt::Result {
    write!(out, "{:<3} {:<3} :", input.0, output.0)?;
    for vl in table {
        write!(out, " {:<2}", vl.bits())?;
    }
    out.push('\n');
    Ok(())
}

/// Reads tables. Ports that the file leaves out map each service level to the lane of its number.
///
/// All CA ports get the first table of any: one that differs is a warning, as are tables of switches
/// that are not in the fabric and of ports that a switch lacks.
///
/// # Errors
/// A row that does not hold 16 lanes, rows before the first switch, and a text without any switch or CA.
pub fn read(text: &str, fabric: &Fabric) -> Result<(VlMap, Vec<Warning>), TopologyError> {
    let identity = *VlMap::default().injection();
    let mut map = VlMap::per_port(fabric, identity);
    let mut warnings = Vec::new();
    let mut injection: Option<SlToVl> = None;
    let mut owner: Option<Owner> = None;
    for (at, line) in ib_wire::text::lines(text) {
        let mut warn = |what| warnings.push(Warning { line: at, what });
        let kinds = ["Switch", "Channel Adapter", "Router"];
        if let Some(kind) = kinds.iter().find(|kind| line.starts_with(**kind)) {
            let guid = line
                .split([' ', ','])
                .find(|word| word.starts_with("0x"))
                .and_then(|guid| guid.parse().ok());
            let guid = guid.ok_or_else(|| bad(at, "port", line, "a GUID after the kind"))?;
            owner = Some(match (*kind, fabric.switch_by_guid(guid)) {
                ("Switch", Some(switch)) => Owner::Switch(switch),
                ("Switch", None) => {
                    warn(format!(
                        "switch {guid} is not in the fabric, its tables are passed over"
                    ));
                    Owner::Unknown
                }
                _ => Owner::Ca(guid),
            });
            continue;
        }
        let Some((ports, lanes)) = line.split_once(':') else {
            continue;
        };
        let Some(owner) = &owner else {
            return Err(bad(at, "row", line, "a line `Switch 0x...` before it"));
        };
        let lanes: Option<Vec<Vl>> = lanes
            .split_whitespace()
            .map(|vl| Vl::try_new(super::small(vl)?).ok())
            .collect();
        let table = lanes.and_then(|lanes| SlToVl::try_from(lanes).ok());
        let table = table.ok_or_else(|| bad(at, "row", line, "16 lanes from 0 to 15"))?;
        if let Owner::Ca(guid) = owner {
            let used = injection.get_or_insert(table);
            if *used != table {
                warn(format!(
                    "{guid} has another table than the first CA, whose table stands for all"
                ));
            }
            continue;
        }
        let mut numbers = ports.split_whitespace().map(super::small);
        let (Some(Some(input)), Some(Some(output))) = (numbers.next(), numbers.next()) else {
            return Err(bad(at, "row", line, "an input and an output port"));
        };
        if let &Owner::Switch(switch) = owner {
            let last = fabric.switch(switch).num_ports();
            if input > last || output > last {
                let guid = fabric.switch_guid(switch);
                warn(format!(
                    "switch {guid} has ports up to {last}, the row is passed over"
                ));
            }
            map.set(switch, PortNum(input), PortNum(output), table);
        }
    }
    if owner.is_none() {
        let found = text.lines().next().unwrap_or_default();
        let expected = "a line `Switch 0x...` or `Channel Adapter 0x...`";
        return Err(bad(1, "SLtoVL", found, expected));
    }
    map.set_injection(injection.unwrap_or(identity));
    Ok((map, warnings))
}

/// The owner of the rows that follow.
enum Owner {
    Switch(SwitchIdx),
    Ca(Guid),
    Unknown,
}
