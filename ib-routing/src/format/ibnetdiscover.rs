//! The topology format of ibnetdiscover, which ibsim loads: one block of lines per node.
//!
//! A block holds settings (`vendid=`, `caguid=` ...), the node's line (`Switch 24 "S-..."`) and a line
//! per cabled port. A blank line ends it. Captures carry more: prompts, chassis headings, notes of the
//! tool; such lines outside blocks are warnings. Old tools print no port GUIDs and no width and speed.
//!
//! ibsim's own files may be made of parts: `include "FILE"` reads another one, `module="M"` puts the nodes
//! that follow under a name (`M#id` to the others), and `@[port] "NAME"` gives a port a name by which
//! another module links to it (`"M@NAME"`).

mod include;
mod line;
mod write;

use alloc::{borrow::ToOwned, collections::BTreeMap, format, string::String, vec::Vec};

use ib_wire::{Guid, Lid, PortNum};

pub use self::write::{write, write_grouped, write_nodes};
use self::{
    include::Lines,
    line::{Line, NodeLine, PortLine, Setting},
};
pub use super::Warning;
use crate::{
    error::{TopologyError, TopologyErrorKind as Kind},
    fabric::{Fabric, FabricBuilder, NewNode, NodeType, PortRef},
    index::NodeIdx,
};

/// A fabric as read from a file, and what was odd about the file.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// The fabric that the text describes.
    pub fabric: Fabric,
    /// Lines that were passed over, and why.
    pub warnings: Vec<Warning>,
}

/// Reads a topology that includes no files.
///
/// # Errors
/// A contradiction or an impossible value: see [`TopologyErrorKind`](crate::TopologyErrorKind). Every error
/// but that of an empty file has its line.
pub fn read(text: &str) -> Result<Topology, TopologyError> {
    read_with(text, |_| {
        Err("found in a text, expected only files to include others".to_owned())
    })
}

/// Reads a topology; `load` gives the text of a file that it includes, or says why it cannot.
///
/// # Errors
/// As [`read()`], and what is wrong in an included file or with it.
pub fn read_with(
    text: &str,
    mut load: impl FnMut(&str) -> Result<String, String>,
) -> Result<Topology, TopologyError> {
    let lines = Lines::read(text, &mut load)?;
    let mut reader = Reader::default();
    for (at, line) in lines.iter() {
        reader.line(at, line).map_err(|error| lines.locate(error))?;
    }
    let mut topology = reader.finish(&lines).map_err(|error| lines.locate(error))?;
    for warning in &mut topology.warnings {
        let what = core::mem::take(&mut warning.what);
        (warning.line, warning.what) = lines.place(warning.line, what);
    }
    Ok(topology)
}

/// The block that the current line is in.
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
    /// The line in which each listed port names its peer.
    listed: BTreeMap<PortRef, usize>,
    next_guid: NextGuid,
    /// Argument of the latest `module=`.
    module: String,
    /// Ports by the names that other modules link to, as `module@name`.
    aliases: BTreeMap<String, PortRef>,
}

/// Settings from the lines before a node.
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
            Line::Alias { port, name } => self.alias(port, &name, at)?,
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
            Setting::Module(name) => self.module = name,
            Setting::Other => {}
        }
    }

    fn node(&mut self, mut node: NodeLine, at: usize) -> Result<(), TopologyError> {
        let settings = match self.block {
            Block::Settings => core::mem::take(&mut self.settings),
            _ => Settings::default(),
        };
        self.settings.device_id = settings.device_id;
        node.name = self.in_module(node.name);
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
        // Every node has a LID at least: more than there are LIDs are no subnet.
        if self.names.len() >= usize::from(Lid::UNICAST_MAX.0) {
            let most = Lid::UNICAST_MAX.0;
            return Err(Kind::TooManyNodes { most }.at(at));
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

    /// A node's name as other modules see it.
    fn in_module(&self, name: String) -> String {
        if self.module.is_empty() || name.contains(['#', '@']) {
            name
        } else {
            format!("{}#{name}", self.module)
        }
    }

    /// A port's other name with its module: `@name` is one of this module.
    fn full_alias(&self, name: &str) -> String {
        match name.strip_prefix('@') {
            Some(name) => format!("{}@{name}", self.module),
            None => name.to_owned(),
        }
    }

    /// The port of the block's node that a line is about.
    fn port_here(&self, port: u32, at: usize) -> Result<PortRef, TopologyError> {
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
        let num_ports = entry.map_or(0, crate::fabric::Node::num_ports);
        match u8::try_from(port) {
            Ok(port) if port > 0 && port <= num_ports => Ok(PortRef {
                node,
                port: PortNum(port),
            }),
            _ => Err(Kind::PortOutOfRange {
                node: entry.map_or_else(String::new, |node| node.name.clone()),
                port,
                num_ports,
            }
            .at(at)),
        }
    }

    fn alias(&mut self, port: u32, name: &str, at: usize) -> Result<(), TopologyError> {
        let here = self.port_here(port, at)?;
        let alias = format!("{}@{name}", self.module);
        match self.aliases.insert(alias.clone(), here) {
            None => Ok(()),
            Some(_) => Err(Kind::AliasTwice { alias }.at(at)),
        }
    }

    fn port(&mut self, mut line: PortLine, at: usize) -> Result<(), TopologyError> {
        let here = self.port_here(line.port, at)?;
        let PortRef { node, port } = here;
        let entry = self.builder.node(node);
        let (name, is_switch) = entry.map_or((String::new(), false), |node| {
            (node.name.clone(), node.type_.is_switch())
        });
        line.peer = if line.peer.contains('@') {
            self.full_alias(&line.peer)
        } else {
            self.in_module(line.peer)
        };
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

    fn finish(mut self, lines: &Lines) -> Result<Topology, TopologyError> {
        if self.names.is_empty() {
            let empty = lines
                .iter()
                .all(|(_, line)| matches!(Line::parse(line), Ok(Line::Blank | Line::Comment)));
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
        if line.peer.contains('@') && !self.names.contains_key(&line.peer) {
            return self.link_to_alias(here, line, at);
        }
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

    /// Links to a port's other name: only this end names the other.
    fn link_to_alias(
        &mut self,
        here: PortRef,
        line: &PortLine,
        at: usize,
    ) -> Result<(), TopologyError> {
        let Some(&peer) = self.aliases.get(&line.peer) else {
            let alias = line.peer.clone();
            return Err(Kind::UnknownAlias { alias }.at(at));
        };
        self.set_port(peer, |port| {
            (port.width, port.speed) = (line.width, line.speed);
        });
        self.builder
            .add_link(here, peer)
            .map_err(|error| error.kind.at(at))
    }

    /// A partial capture lists a link at one end only: what that end says of the other is all there is.
    fn one_sided(&mut self, peer: PortRef, line: &PortLine, at: usize) {
        let is_switch = self
            .builder
            .node(peer.node)
            .is_some_and(|node| node.type_ == NodeType::SWITCH);
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
    let value = super::hexadecimal(digits).filter(|_| known)?;
    Some(Guid(value))
}

#[cfg(test)]
mod tests;
