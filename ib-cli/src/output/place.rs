//! Nodes and ports of a snapshot, as documents name them.

use ib_diag::{SilentDevice, Snapshot, SnapshotNode};
use ib_routing::{NodeIdx, NodeType, PortRef, layout::natural_order};
use serde_json::{Map, Value, json};

/// The kind of a node, as documents name it.
pub fn type_name(type_: NodeType) -> &'static str {
    match type_ {
        NodeType::SWITCH => "switch",
        NodeType::ROUTER => "router",
        _ => "ca",
    }
}

/// A port: GUID of the node, number, name, and the LID by which its agents are reached.
pub fn port(snapshot: &Snapshot, at: PortRef) -> Map<String, Value> {
    let node = snapshot.node(at.node);
    let lid = node.and_then(|node| Some(node.port(node.managing_port(at.port))?.lid().0));
    let value = json!({
        "node_guid": node.map(|node| node.guid().to_string()),
        "port": at.port.0,
        "name": snapshot.name(at.node),
        "type": node.map(|node| type_name(node.type_())),
        "lid": lid,
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// GUID and LMC of the end port by whose LID the agents of a port are reached: of a switch those of port 0.
pub fn end_port(snapshot: &Snapshot, at: PortRef) -> [(&'static str, Value); 2] {
    let port = snapshot.node(at.node);
    let port = port.and_then(|node| node.port(node.managing_port(at.port)));
    let guid = port.map(|port| port.guid).filter(|guid| guid.0 != 0);
    let lmc = port.and_then(|port| Some(port.info?.lmc().bits()));
    [("port_guid", shown(guid)), ("lmc", json!(lmc))]
}

/// The state of a port and its link as documents print it; null is what the snapshot does not know.
pub struct LinkState {
    pub state: Value,
    pub physical_state: Value,
    pub mtu: Value,
    pub width: Value,
    pub speed: Value,
}

impl LinkState {
    pub fn of(snapshot: &Snapshot, at: PortRef) -> Self {
        let info = snapshot.port(at).and_then(|port| port.info);
        let link = snapshot.link_at(at);
        Self {
            state: shown(info.map(|info| info.port_state())),
            physical_state: shown(info.map(|info| info.port_physical_state())),
            mtu: shown(info.map(|info| info.neighbor_mtu())),
            width: shown(link.and_then(|link| link.width)),
            speed: shown(link.and_then(|link| link.speed)),
        }
    }
}

/// A value as documents print it: as text, or null.
pub fn shown(value: Option<impl ToString>) -> Value {
    json!(value.map(|value| value.to_string()))
}

/// A port as one piece of text: `NAME:PORT`.
pub fn text(snapshot: &Snapshot, at: PortRef) -> String {
    format!("{}:{}", snapshot.name(at.node), at.port)
}

/// A device that does not respond, in a sentence: its directed route and the port in front of it.
pub fn silent(snapshot: &Snapshot, silent: &SilentDevice) -> String {
    let behind = snapshot.in_front_of(&silent.path);
    let behind = behind.map(|at| format!(", behind {},", text(snapshot, at)));
    let behind = behind.unwrap_or_default();
    format!("the device at {}{behind} does not respond", silent.path)
}

/// The base LID of a node: of a switch that of port 0, of others the first that there is.
pub fn lid(node: &SnapshotNode) -> u16 {
    let lids = node.end_ports().map(|(_, port)| port.lid());
    lids.map(|lid| lid.0).find(|lid| *lid != 0).unwrap_or(0)
}

/// The nodes in the order in which people look for them: switches, then the others, each by name.
pub fn by_name(snapshot: &Snapshot) -> Vec<(NodeIdx, &SnapshotNode)> {
    let mut nodes: Vec<_> = snapshot.nodes.iter_enumerated().collect();
    nodes.sort_by_cached_key(|(_, node)| {
        (!node.is_switch(), natural_order(&node.name()), node.guid())
    });
    nodes
}
