//! A fabric as one JSON document: its nodes, their ports and cables.

use ib_routing::{Fabric, Node, NodeIdx, NodeType, Port};
use ib_wire::{Guid, PortNum};
use serde_json::{Map, Value, json};

/// What `generate --json` prints: counts, and the nodes in this order.
pub fn document(fabric: &Fabric, order: impl IntoIterator<Item = NodeIdx>) -> Map<String, Value> {
    let counts = json!({
        "switches": fabric.count(NodeType::SWITCH),
        "cas": fabric.count(NodeType::CA),
        "routers": fabric.count(NodeType::ROUTER),
        "links": fabric.num_links(),
    });
    let nodes = order
        .into_iter()
        .map(|index| node(fabric, fabric.node(index)));
    let members = [("fabric", counts), ("nodes", nodes.collect())];
    members
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

/// A GUID as all documents print it.
pub fn guid(guid: Guid) -> String {
    guid.to_string()
}

fn node(fabric: &Fabric, node: &Node) -> Value {
    let type_ = match node.type_ {
        NodeType::SWITCH => "switch",
        NodeType::ROUTER => "router",
        _ => "ca",
    };
    let ports = node.ports().filter(|(number, port)| {
        let is_managed = *number == PortNum(0) && node.type_.is_switch();
        is_managed || port.peer.is_some()
    });
    json!({
        "name": node.name,
        "type": type_,
        "node_guid": guid(node.guid),
        "system_image_guid": guid(node.system_image_guid),
        "vendor_id": node.vendor_id,
        "device_id": node.device_id,
        "node_string": node.description,
        "num_ports": node.num_ports(),
        "ports": ports.map(|(number, end)| port(fabric, number, end)).collect::<Vec<_>>(),
    })
}

/// A port with a cable, or the management port of a switch.
fn port(fabric: &Fabric, number: PortNum, port: &Port) -> Value {
    let peer = port.peer.map(
        |peer| json!({ "node_guid": guid(fabric.node(peer.node).guid), "port_num": peer.port.0 }),
    );
    json!({
        "port_num": number.0,
        "port_guid": guid(port.guid),
        "lid": port.lid.0,
        "lmc": port.lmc.bits(),
        "width": port.width.map(|width| width.lanes()),
        "speed": port.speed.map(|speed| speed.to_string()),
        "peer": peer,
    })
}
