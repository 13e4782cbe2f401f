//! A fabric as one JSON document: its nodes, their ports and cables.

use std::collections::BTreeMap;

use ib_routing::{
    Fabric, LinkSpeed, LinkWidth, Node, NodeIdx, NodeType, Port, PortRef,
    fabric::{FabricBuilder, NewNode},
};
use ib_wire::{Guid, Lid, Lmc, PortNum};
use serde::{Deserialize, Serialize};

/// The document that `generate --json` and `discover --json` print, and `--fabric` reads.
#[derive(Debug, Serialize, Deserialize)]
pub struct Document {
    /// Counts for the reader; they are not read back.
    #[serde(default)]
    fabric: Counts,
    nodes: Vec<NodeDocument>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Counts {
    switches: usize,
    cas: usize,
    routers: usize,
    links: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct NodeDocument {
    #[serde(default)]
    name: String,
    #[serde(rename = "type")]
    type_: String,
    node_guid: String,
    #[serde(default)]
    system_image_guid: Option<String>,
    #[serde(default)]
    vendor_id: u32,
    #[serde(default)]
    device_id: u16,
    #[serde(default)]
    node_string: String,
    num_ports: u8,
    ports: Vec<PortDocument>,
}

/// A port with a cable, or the management port of a switch.
#[derive(Debug, Serialize, Deserialize)]
struct PortDocument {
    port_num: u8,
    port_guid: String,
    #[serde(default)]
    lid: u16,
    #[serde(default)]
    lmc: u8,
    #[serde(default)]
    width: Option<u8>,
    #[serde(default)]
    speed: Option<String>,
    peer: Option<Peer>,
}

/// The other end of a cable.
#[derive(Debug, Serialize, Deserialize)]
struct Peer {
    node_guid: String,
    port_num: u8,
}

impl Document {
    /// The document of a fabric with its nodes in this order.
    pub fn new(fabric: &Fabric, order: impl IntoIterator<Item = NodeIdx>) -> Self {
        let nodes = order.into_iter().map(|index| fabric.node(index));
        Self {
            fabric: Counts {
                switches: fabric.count(NodeType::SWITCH),
                cas: fabric.count(NodeType::CA),
                routers: fabric.count(NodeType::ROUTER),
                links: fabric.num_links(),
            },
            nodes: nodes.map(|node| NodeDocument::new(fabric, node)).collect(),
        }
    }
}

/// A GUID as all documents print it.
pub fn guid(guid: Guid) -> String {
    guid.to_string()
}

/// The words for node types.
const TYPES: [(NodeType, &str); 3] = [
    (NodeType::SWITCH, "switch"),
    (NodeType::CA, "ca"),
    (NodeType::ROUTER, "router"),
];

impl NodeDocument {
    fn new(fabric: &Fabric, node: &Node) -> Self {
        let mut types = TYPES.iter();
        let type_ = types.find(|(type_, _)| *type_ == node.type_);
        let ports = node.ports().filter(|(number, port)| {
            let is_managed = *number == PortNum(0) && node.type_.is_switch();
            is_managed || port.peer.is_some()
        });
        Self {
            name: node.name.clone(),
            type_: type_.map_or("", |(_, word)| word).to_owned(),
            node_guid: guid(node.guid),
            system_image_guid: Some(guid(node.system_image_guid)),
            vendor_id: node.vendor_id,
            device_id: node.device_id,
            node_string: node.description.clone(),
            num_ports: node.num_ports(),
            ports: ports
                .map(|(number, port)| PortDocument::new(fabric, number, port))
                .collect(),
        }
    }
}

impl PortDocument {
    fn new(fabric: &Fabric, number: PortNum, port: &Port) -> Self {
        let peer = port.peer.map(|peer| Peer {
            node_guid: guid(fabric.node(peer.node).guid),
            port_num: peer.port.0,
        });
        Self {
            port_num: number.0,
            port_guid: guid(port.guid),
            lid: port.lid.0,
            lmc: port.lmc.bits(),
            width: port.width.map(LinkWidth::lanes),
            speed: port.speed.map(|speed| speed.to_string()),
            peer,
        }
    }
}

/// Why a text is no document of a fabric.
#[derive(Debug)]
pub struct DocumentError {
    /// Line of the text, from 1.
    pub line: usize,
    /// The error, and the form that was expected.
    pub what: String,
}

/// Reads what [`Document`] writes.
///
/// # Errors
/// Text that is not such a document, or whose parts contradict each other.
pub fn read(text: &str) -> Result<Fabric, DocumentError> {
    let document: Document = serde_json::from_str(text).map_err(|error| DocumentError {
        line: error.line().max(1),
        what: format!("{error}, expected a document as `ib generate --json` prints it"),
    })?;
    // Values have no line of their own: a document is printed on one.
    build(&document).map_err(|what| DocumentError { line: 1, what })
}

fn build(document: &Document) -> Result<Fabric, String> {
    let mut builder = FabricBuilder::new();
    let mut indices = BTreeMap::new();
    for node in &document.nodes {
        let (guid, new) = node.parse()?;
        let index = builder.add_node(new).map_err(|error| error.to_string())?;
        indices.insert(guid, index);
    }
    for node in &document.nodes {
        let Some(&index) = parse_guid(&node.node_guid)
            .ok()
            .and_then(|guid| indices.get(&guid))
        else {
            continue;
        };
        for entry in &node.ports {
            let at =
                |what: String| format!("port {} of {}: {what}", entry.port_num, node.node_guid);
            let port = entry.parse().map_err(at)?;
            let end = PortRef {
                node: index,
                port: PortNum(entry.port_num),
            };
            let Some(to) = builder.port_mut(end) else {
                return Err(at(format!("expected at most port {}", node.num_ports)));
            };
            *to = Port {
                peer: to.peer,
                ..port
            };
            let Some(peer) = &entry.peer else {
                continue;
            };
            let guid = parse_guid(&peer.node_guid).map_err(at)?;
            let Some(&other) = indices.get(&guid) else {
                return Err(at(format!("its peer {guid} is not among the nodes")));
            };
            let other = PortRef {
                node: other,
                port: PortNum(peer.port_num),
            };
            builder
                .add_link(end, other)
                .map_err(|error| at(error.to_string()))?;
        }
    }
    Ok(builder.build())
}

impl NodeDocument {
    fn parse(&self) -> Result<(Guid, NewNode), String> {
        let at = |what: String| format!("node {}: {what}", self.node_guid);
        let mut types = TYPES.iter();
        let Some((type_, _)) = types.find(|(_, word)| *word == self.type_) else {
            return Err(at(format!(
                "type {:?}, expected switch, ca or router",
                self.type_
            )));
        };
        let guid = parse_guid(&self.node_guid).map_err(at)?;
        let system_image_guid = match &self.system_image_guid {
            Some(text) => parse_guid(text).map_err(at)?,
            None => Guid::NONE,
        };
        let new = NewNode {
            type_: *type_,
            guid,
            num_ports: self.num_ports,
            system_image_guid,
            vendor_id: self.vendor_id,
            device_id: self.device_id,
            description: self.node_string.clone(),
            name: self.name.clone(),
            enhanced_port_0: false,
        };
        Ok((guid, new))
    }
}

impl PortDocument {
    /// The port without its cable.
    fn parse(&self) -> Result<Port, String> {
        let lmc =
            Lmc::try_new(self.lmc).map_err(|_| format!("lmc {}, expected 0 to 7", self.lmc))?;
        let width = |lanes| {
            LinkWidth::from_lanes(lanes)
                .ok_or_else(|| format!("width {lanes}, expected 1, 2, 4, 8 or 12"))
        };
        let speed = |text: &String| {
            let names = LinkSpeed::ALL.map(|(_, name)| name).join(", ");
            let speed = text.parse::<LinkSpeed>();
            speed.map_err(|_| format!("speed {text:?}, expected one of {names}"))
        };
        Ok(Port {
            guid: parse_guid(&self.port_guid)?,
            lid: Lid(self.lid),
            lmc,
            width: self.width.map(width).transpose()?,
            speed: self.speed.as_ref().map(speed).transpose()?,
            ..Port::default()
        })
    }
}

fn parse_guid(text: &str) -> Result<Guid, String> {
    let guid = text.parse();
    guid.map_err(|_| format!("GUID {text:?}, expected up to 16 hexadecimal digits"))
}
