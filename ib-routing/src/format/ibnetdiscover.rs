//! The topology format of ibnetdiscover, which ibsim loads: one block of lines per node.
//!
//! A block holds settings (`vendid=`, `caguid=` ...), the node's line (`Switch 24 "S-..."`) and a line
//! per cabled port. A blank line ends it. Captures carry more: prompts, chassis headings, notes of the
//! tool; such lines outside blocks are warnings. Old tools print no port GUIDs and no width and speed.

mod line;
mod write;

use alloc::{borrow::ToOwned, collections::BTreeMap, format, string::String, vec::Vec};

use ib_wire::{Guid, Lid, PortNum};

use self::line::{Line, NodeLine, PortLine, Setting};
pub use self::write::{write, write_nodes};
pub use super::Warning;
use crate::{
    error::{TopologyError, TopologyErrorKind as Kind},
    fabric::{Fabric, FabricBuilder, NewNode, NodeType, PortRef},
    index::NodeIdx,
};

/// A fabric as read from a file, and what was odd about the file.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// The fabric.
    pub fabric: Fabric,
    /// Lines that were passed over, and why.
    pub warnings: Vec<Warning>,
}

/// Reads a topology.
///
/// # Errors
/// What no fabric can have: see [`TopologyErrorKind`](crate::TopologyErrorKind). Every error but that of
/// an empty file carries its line.
pub fn read(text: &str) -> Result<Topology, TopologyError> {
    let mut reader = Reader::default();
    for (at, line) in text.lines().enumerate() {
        reader.line(at.saturating_add(1), line)?;
    }
    reader.finish(text)
}

/// Where the reader stands.
#[derive(Default)]
enum Block {
    /// Between blocks.
    #[default]
    Outside,
    /// After settings, before the node's line.
    Settings,
    /// After a node's line.
    Node(NodeIdx),
    /// After a line that looks like a node's, of a kind that there is not.
    Unknown { line: usize, kind: String },
}

#[derive(Default)]
struct Reader {
    builder: FabricBuilder,
    block: Block,
    settings: Settings,
    warnings: Vec<Warning>,
    /// Nodes by name, with the line of their block.
    names: BTreeMap<String, (NodeIdx, usize)>,
    links: Vec<(PortRef, PortLine, usize)>,
    /// What each listed port names as its peer.
    listed: BTreeMap<PortRef, usize>,
    next_guid: NextGuid,
}

/// What the lines before a node say of it.
#[derive(Default)]
struct Settings {
    guid: Option<Guid>,
    system_image_guid: Guid,
    vendor_id: u32,
    device_id: u16,
}

/// The GUIDs that ibsim gives to nodes without one.
struct NextGuid {
    switch: u64,
    other: u64,
}

impl Default for NextGuid {
    fn default() -> Self {
        Self {
            switch: 0x20_0000,
            other: 0x10_0000,
        }
    }
}

impl Reader {
    fn line(&mut self, at: usize, text: &str) -> Result<(), TopologyError> {
        match Line::parse(text).map_err(|kind| kind.at(at))? {
            Line::Comment => {}
            Line::Blank => self.block = Block::Outside,
            Line::Heading => self.block = Block::Outside,
            Line::Setting(setting) => self.setting(setting),
            Line::Node(node) => self.node(node, at)?,
            Line::UnknownNode { kind, text } => {
                match self.block {
                    Block::Node(_) => return Err(Kind::UnknownLine { found: text }.at(at)),
                    _ => {
                        self.warn(at, format!("unknown kind of node {kind:?}, expected Switch, Ca, Hca, Rt or Router"));
                        self.block = Block::Unknown { line: at, kind };
                    }
                }
            }
            Line::Port(port) => self.port(port, at)?,
            Line::Unknown(found) => match self.block {
                Block::Outside => self.warn(
                    at,
                    format!("line outside a node's block passed over: {found:?}"),
                ),
                _ => return Err(Kind::UnknownLine { found }.at(at)),
            },
        }
        Ok(())
    }

    fn warn(&mut self, line: usize, what: String) {
        self.warnings.push(Warning { line, what });
    }

    fn setting(&mut self, setting: Setting) {
        if !matches!(self.block, Block::Settings) {
            self.settings = Settings {
                device_id: self.settings.device_id,
                ..Settings::default()
            };
            self.block = Block::Settings;
        }
        match setting {
            Setting::Vendor(id) => self.settings.vendor_id = id,
            Setting::Device(id) => self.settings.device_id = id,
            Setting::SystemImage(guid) => self.settings.system_image_guid = guid,
            Setting::Guid(guid) => self.settings.guid = Some(guid),
            Setting::GuidAfterLast { switch, offset } => {
                let last = if switch {
                    self.next_guid.switch
                } else {
                    self.next_guid.other
                };
                self.settings.guid = Some(Guid(last.wrapping_add(offset)));
            }
            Setting::Other => {}
        }
    }

    fn node(&mut self, node: NodeLine, at: usize) -> Result<(), TopologyError> {
        let settings = match self.block {
            Block::Settings => core::mem::take(&mut self.settings),
            _ => Settings::default(),
        };
        self.settings.device_id = settings.device_id;
        if let Some(&(_, first)) = self.names.get(&node.name) {
            return Err(Kind::NodeTwice {
                node: node.name,
                first,
            }
            .at(at));
        }
        let guid = settings.guid.or_else(|| guid_in_name(&node.name));
        let is_switch = node.type_.is_switch();
        let guid = guid.unwrap_or(Guid(if is_switch {
            self.next_guid.switch
        } else {
            self.next_guid.other
        }));
        if is_switch {
            self.next_guid.switch = guid.0.wrapping_add(1);
        } else {
            self.next_guid.other = guid
                .0
                .wrapping_add(u64::from(node.num_ports))
                .wrapping_add(1);
        }
        let index = self
            .builder
            .add_node(NewNode {
                type_: node.type_,
                guid,
                num_ports: node.num_ports,
                system_image_guid: settings.system_image_guid,
                vendor_id: settings.vendor_id,
                device_id: settings.device_id,
                description: node.description,
                name: node.name.clone(),
                enhanced_port_0: node.enhanced_port_0,
            })
            .map_err(|error| error.kind.at(at))?;
        if !is_switch {
            for port in 1..=node.num_ports {
                // Most vendors number their ports from the node's GUID; a port's line says otherwise.
                let guid = Guid(guid.0.wrapping_add(u64::from(port)));
                self.set_port(
                    PortRef {
                        node: index,
                        port: PortNum(port),
                    },
                    |port| port.guid = guid,
                );
            }
        } else if let Some((lid, lmc)) = node.lid {
            self.set_port(
                PortRef {
                    node: index,
                    port: PortNum(0),
                },
                |port| (port.lid, port.lmc) = (lid, lmc),
            );
        }
        self.names.insert(node.name, (index, at));
        self.block = Block::Node(index);
        Ok(())
    }

    fn port(&mut self, line: PortLine, at: usize) -> Result<(), TopologyError> {
        let node = match &self.block {
            Block::Node(node) => *node,
            Block::Unknown { line, kind } => {
                return Err(Kind::UnknownNodeKind {
                    found: kind.clone(),
                }
                .at(*line));
            }
            Block::Outside | Block::Settings => return Err(Kind::PortWithoutNode.at(at)),
        };
        let entry = self.builder.node(node);
        let (name, num_ports, is_switch) = entry.map_or((String::new(), 0, false), |node| {
            (node.name.clone(), node.num_ports(), node.type_.is_switch())
        });
        let port = match u8::try_from(line.port) {
            Ok(port) if port > 0 && port <= num_ports => PortNum(port),
            _ => {
                return Err(Kind::PortOutOfRange {
                    node: name,
                    port: line.port,
                    num_ports,
                }
                .at(at));
            }
        };
        let here = PortRef { node, port };
        if self.listed.insert(here, self.links.len()).is_some() {
            return Err(Kind::PortTwice { node: name, port }.at(at));
        }
        self.set_port(here, |port| {
            (port.width, port.speed, port.enabled) = (line.width, line.speed, line.enabled);
            if let (Some(guid), false) = (line.guid, is_switch) {
                port.guid = guid;
            }
            if let (Some((lid, lmc)), false) = (line.own_lid, is_switch) {
                (port.lid, port.lmc) = (lid, lmc);
            }
        });
        if let Some(what) = &line.odd {
            self.warn(at, what.to_owned());
        }
        self.links.push((here, line, at));
        Ok(())
    }

    fn set_port(&mut self, end: PortRef, set: impl FnOnce(&mut crate::fabric::Port)) {
        if let Some(port) = self.builder.port_mut(end) {
            set(port);
        }
    }

    fn finish(mut self, text: &str) -> Result<Topology, TopologyError> {
        if self.names.is_empty() {
            let empty = text
                .lines()
                .all(|line| matches!(Line::parse(line), Ok(Line::Blank | Line::Comment)));
            let kind = if empty { Kind::Empty } else { Kind::NoFabric };
            return Err(kind.at(1));
        }
        let links = core::mem::take(&mut self.links);
        for (here, line, at) in &links {
            self.link(*here, line, *at, &links)?;
        }
        Ok(Topology {
            fabric: self.builder.build(),
            warnings: self.warnings,
        })
    }

    fn link(
        &mut self,
        here: PortRef,
        line: &PortLine,
        at: usize,
        links: &[(PortRef, PortLine, usize)],
    ) -> Result<(), TopologyError> {
        let name = |builder: &FabricBuilder, end: PortRef| {
            builder
                .node(end.node)
                .map_or_else(String::new, |node| node.name.clone())
        };
        let Some(&(peer, _)) = self.names.get(&line.peer) else {
            return Err(Kind::MissingNode {
                node: line.peer.clone(),
            }
            .at(at));
        };
        let num_ports = self
            .builder
            .node(peer)
            .map_or(0, crate::fabric::Node::num_ports);
        let port = match u8::try_from(line.peer_port) {
            Ok(port) if port > 0 && port <= num_ports => PortNum(port),
            _ => {
                let (node, port) = (line.peer.clone(), line.peer_port);
                return Err(Kind::PortOutOfRange {
                    node,
                    port,
                    num_ports,
                }
                .at(at));
            }
        };
        let peer = PortRef { node: peer, port };
        let answer = self
            .listed
            .get(&peer)
            .and_then(|&at| links.get(at))
            .map(|(_, line, _)| line);
        if let Some(answer) = answer {
            let names = self.names.get(&answer.peer).map(|&(node, _)| node);
            if names != Some(here.node) || answer.peer_port != u32::from(here.port.0) {
                return Err(Kind::ContradictoryLink {
                    node: name(&self.builder, here),
                    port: here.port,
                    peer: line.peer.clone(),
                    peer_port: port,
                    found: answer.peer.clone(),
                    found_port: PortNum(u8::try_from(answer.peer_port).unwrap_or(u8::MAX)),
                }
                .at(at));
            }
        } else {
            self.one_sided(peer, line, at);
        }
        self.builder
            .add_link(here, peer)
            .map_err(|error| error.kind.at(at))
    }

    /// A partial capture lists a link at one end only: what that end says of the other is all there is.
    fn one_sided(&mut self, peer: PortRef, line: &PortLine, at: usize) {
        let is_switch = self
            .builder
            .node(peer.node)
            .is_some_and(|node| node.type_ == NodeType::Switch);
        self.warn(
            at,
            format!(
                "only this end lists the link to {:?} port {}",
                line.peer, peer.port
            ),
        );
        self.set_port(peer, |port| {
            (port.width, port.speed) = (line.width, line.speed);
            if let (Some(guid), false) = (line.peer_guid, is_switch) {
                port.guid = guid;
            }
            if !is_switch && line.peer_lid != Lid::NONE {
                port.lid = line.peer_lid;
            }
        });
    }
}

/// The GUID in a name like `S-0002c90300a1b2c3`.
fn guid_in_name(name: &str) -> Option<Guid> {
    let (kind, digits) = name.split_once('-')?;
    let known = matches!(kind, "S" | "H" | "R") && digits.len() == 16;
    let value = u64::from_str_radix(digits, 16).ok().filter(|_| known)?;
    Some(Guid(value))
}

#[cfg(test)]
mod tests;
