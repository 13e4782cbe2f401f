//! `querylid` and `dump_portguid`: which port has a LID, and which ports a node's description names.

use ib_sm::{PortAt, SubnetManager};
use ib_wire::{Guid, Lid, PortNum};
use regex_lite::Regex;
use serde_json::{Value, json};

use super::Reply;
use crate::output::{place, stderr::printable, table::Table};

/// A port with the description of its node.
pub(super) fn named(sm: &SubnetManager, at: PortAt) -> String {
    let name = sm.fabric().node_by_guid(at.node_guid);
    let name = name.map(|node| sm.fabric().node(node).description.as_str());
    match name {
        Some(name) if !name.is_empty() => format!("{at} \"{}\"", printable(name)),
        _ => at.to_string(),
    }
}

/// End ports of nodes whose description matches one of the regular expressions.
pub(super) fn port_guids(sm: &SubnetManager, patterns: &str) -> Reply {
    let patterns = match patterns
        .split_whitespace()
        .map(Regex::new)
        .collect::<Result<Vec<_>, _>>()
    {
        Ok(patterns) => patterns,
        Err(error) => {
            return Reply::refused(format_args!("no regular expression: {error}"));
        }
    };
    let mut table = Table::new(["port GUID", "LID", "port", "node"]);
    let mut list = Vec::new();
    for destination in sm.lids().destinations().iter() {
        let node = sm.fabric().node(destination.end.node);
        let description = &node.description;
        if !patterns.iter().any(|pattern| pattern.is_match(description)) {
            continue;
        }
        let (Lid(lid), port) = (destination.range.base(), destination.end.port.0);
        table.row([
            destination.guid.to_string(),
            lid.to_string(),
            port.to_string(),
            printable(&node.description).to_string(),
        ]);
        list.push(json!({
            "port_guid": destination.guid, "lid": lid, "port": port, "node": node.description,
        }));
    }
    Reply::table(&table, list.into())
}

/// The port that has a LID, and the ports of its node.
pub(super) fn owner(sm: &SubnetManager, lid: Lid) -> Reply {
    let Some(owner) = sm.lids().owner(lid) else {
        return Reply {
            text: "no port has this LID".to_owned(),
            json: Value::Null,
        };
    };
    let node = sm.fabric().node(owner.end.node);
    let (port_guid, port): (Guid, u8) = (owner.guid, owner.end.port.0);
    let name = printable(&node.description).to_string();
    let kind = place::type_name(node.type_);
    let mut text = format!(
        "port {port} of \"{name}\", port GUID {port_guid}, LIDs {} to {}\n{kind} {}, {} ports",
        owner.range.base().0,
        owner.range.last().0,
        node.guid,
        node.num_ports(),
    );
    let mut states = Vec::new();
    let observed = sm.subnet().find(node.guid);
    // Only a switch has a port 0.
    for (id, _, port) in sm.subnet().ports().filter(|(id, node, _)| {
        Some(id.node) == observed && (node.is_switch() || id.port != PortNum::MANAGEMENT)
    }) {
        // What OpenSM calls the health of a port.
        let (state, health) = (
            port.state(),
            if port.info().is_some() { "OK" } else { "ERROR" },
        );
        text.push_str(&format!("\nport {}: {state}, {health}", id.port.0));
        states.push(json!({ "port": id.port.0, "state": state.to_string(), "health": health }));
    }
    Reply {
        text,
        json: json!({
            "port_guid": port_guid, "port": port, "node": node.description, "node_guid": node.guid,
            "kind": kind, "num_ports": node.num_ports(), "lid": owner.range.base().0,
            "lmc": owner.range.lmc().bits(), "ports": states,
        }),
    }
}

pub(super) fn lid(text: &str) -> Option<Lid> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.ok().map(Lid)
}
