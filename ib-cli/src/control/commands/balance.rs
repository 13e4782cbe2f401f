//! `switchbalance` and `lidbalance`: how evenly switches spread routes over their ports, in the lines that OpenSM's console
//! prints.

use std::fmt::Write as _;

use ib_routing::{
    Fabric, LidMap, NodeIdx, Routes, SwitchIdx,
    verify::spread::{LidSpread, SwitchSpread},
};
use ib_sm::SubnetManager;
use ib_wire::Guid;
use serde_json::{Value, json};

use super::Reply;
use crate::output::stderr::printable;

/// Routes to CAs and routers by port of each switch: those of uneven switches, or of all with `verbose`.
pub(super) fn of_switches(sm: &SubnetManager, values: &str) -> Reply {
    let (is_verbose, guid) = match values.strip_prefix("verbose") {
        Some(rest) if rest.is_empty() || rest.starts_with(' ') => (true, rest.trim()),
        _ => (false, values),
    };
    let (routes, switches) = match scope(sm, guid, "switchbalance [verbose] [GUID]") {
        Ok(found) => found,
        Err(refused) => return refused,
    };
    let (fabric, mut text, mut list) = (sm.fabric(), String::new(), Vec::new());
    for switch in switches {
        let spread = SwitchSpread::of(fabric, sm.lids(), routes, switch);
        let is_even = spread.is_even();
        if is_even && !is_verbose {
            continue;
        }
        let node = fabric.switch(switch);
        let (guid, name) = (node.guid, printable(&node.description));
        let word = if is_even {
            "Switch"
        } else {
            "Unbalanced Switch"
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{word}: {guid} ({name})");
        for (port, count) in &spread.ports {
            let _ = writeln!(text, "Port {port}: {count}");
        }
        list.push(json!({
            "node_guid": guid, "name": name, "balanced": is_even, "ports": by_port(&spread.ports),
        }));
    }
    answer(text, list)
}

/// Hosts with several LIDs that a switch forwards unevenly over its neighbours or its ports.
pub(super) fn of_lids(sm: &SubnetManager, guid: &str) -> Reply {
    let (routes, switches) = match scope(sm, guid, "lidbalance [GUID]") {
        Ok(found) => found,
        Err(refused) => return refused,
    };
    let (mut text, mut list) = (String::new(), Vec::new());
    for switch in switches {
        for spread in LidSpread::all_of(sm.fabric(), sm.lids(), routes, switch) {
            write_lids(&mut text, &mut list, sm.fabric(), sm.lids(), &spread);
        }
    }
    answer(text, list)
}

fn write_lids(
    text: &mut String,
    list: &mut Vec<Value>,
    fabric: &Fabric,
    lids: &LidMap,
    spread: &LidSpread,
) {
    let (neighbors, ports) = (spread.neighbors_are_even(), spread.ports_are_even());
    let Some(owner) = lids.destinations().find(spread.destination) else {
        return;
    };
    if neighbors && ports {
        return;
    }
    let named = |node: NodeIdx| {
        let node = fabric.node(node);
        (node.guid, printable(&node.description))
    };
    let (switch, switch_name) = {
        let node = fabric.switch(spread.switch);
        (node.guid, printable(&node.description))
    };
    let (guid, name) = named(owner.end.node);
    let kind = if owner.type_ == ib_routing::NodeType::ROUTER {
        "Router"
    } else {
        "CA"
    };
    let ends = format!("Switch {switch} ({switch_name}): {kind} {guid} ({name}): ");
    if !neighbors {
        let _ = write!(text, "Unbalanced Remote Forwarding: {ends}");
        for &(neighbor, count) in &spread.neighbors {
            let (guid, name) = named(neighbor);
            let _ = write!(text, "Dest {guid}({name}) - {count} ");
        }
        text.push('\n');
    }
    if !ports {
        let _ = write!(text, "Unbalanced Port Forwarding: {ends}");
        for (port, count) in &spread.ports {
            let _ = write!(text, "Port {port} - {count}: ");
        }
        text.push('\n');
    }
    let neighbors = spread.neighbors.iter().map(|&(neighbor, count)| {
        let (guid, name) = named(neighbor);
        json!({ "node_guid": guid, "name": name, "lids": count })
    });
    list.push(json!({
        "switch_guid": switch, "switch_name": switch_name, "node_guid": guid, "name": name,
        "port_guid": owner.guid, "neighbors": neighbors.collect::<Vec<_>>(), "ports": by_port(&spread.ports),
    }));
}

fn by_port(ports: &[(ib_wire::PortNum, u32)]) -> Vec<Value> {
    let ports = ports.iter();
    ports
        .map(|(port, lids)| json!({ "port": port.0, "lids": lids }))
        .collect()
}

/// The routes, and the switch that is named, or all of them.
fn scope<'a>(
    sm: &'a SubnetManager,
    guid: &str,
    usage: &str,
) -> Result<(&'a Routes, Vec<SwitchIdx>), Reply> {
    let Some(routes) = sm.routes() else {
        return Err(Reply::refused("there are no routes yet"));
    };
    let fabric = sm.fabric();
    if guid.is_empty() {
        return Ok((routes, fabric.switches().indices().collect()));
    }
    let Ok(guid) = guid.parse::<Guid>() else {
        return Err(Reply::refused(format_args!(
            "expected `{usage}`, with the GUID of a switch"
        )));
    };
    match fabric.switch_by_guid(guid) {
        Some(switch) => Ok((routes, vec![switch])),
        None => Err(Reply::refused(format_args!(
            "no switch has the GUID {guid}"
        ))),
    }
}

/// The lines, or a sentence if there are none.
fn answer(text: String, list: Vec<Value>) -> Reply {
    let text = match list.is_empty() {
        true => "balanced".to_owned(),
        false => text,
    };
    Reply {
        text,
        json: list.into(),
    }
}
