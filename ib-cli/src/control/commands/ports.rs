//! `querylid` and `dump_portguid`: which port has a LID, and which ports a node's description names.

use ib_sm::{PortAt, SubnetManager};
use ib_wire::{Guid, Lid};
use serde_json::{Value, json};

use super::Answer;
use crate::output::{stderr::printable, table::Table};

/// A port with the description of its node.
pub(super) fn named(sm: &SubnetManager, at: PortAt) -> String {
    let name = sm.fabric().node_by_guid(at.node_guid);
    let name = name.map(|node| sm.fabric().node(node).description.as_str());
    match name {
        Some(name) if !name.is_empty() => format!("{at} \"{}\"", printable(name)),
        _ => at.to_string(),
    }
}

pub(super) fn port_guids(sm: &SubnetManager, pattern: &str) -> Answer {
    let mut table = Table::new(["port GUID", "LID", "port", "node"]);
    let mut list = Vec::new();
    for destination in sm.lids().destinations().iter() {
        let node = sm.fabric().node(destination.end.node);
        if !node.description.contains(pattern) {
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
    Answer::table(&table, list.into())
}

pub(super) fn owner(sm: &SubnetManager, lid: Lid) -> Answer {
    let Some(owner) = sm.lids().owner(lid) else {
        return Answer {
            text: "no port has this LID".to_owned(),
            json: Value::Null,
        };
    };
    let node = sm.fabric().node(owner.end.node);
    let (port_guid, port): (Guid, u8) = (owner.guid, owner.end.port.0);
    let name = printable(&node.description).to_string();
    Answer {
        text: format!("port {port} of \"{name}\", port GUID {port_guid}"),
        json: json!({ "port_guid": port_guid, "port": port, "node": node.description }),
    }
}

pub(super) fn lid(text: &str) -> Option<Lid> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.ok().map(Lid)
}
