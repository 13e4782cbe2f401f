//! The ways to name a node or a port: LID, GUID, GID, directed route or name, optionally followed by `:PORT`.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use ib_routing::{Fabric, NodeIdx, PortRef};
use ib_smp::{DrPath, PortAddress};
use ib_wire::{Guid, Lid, NodeType, PortNum, text::TextError};
use thiserror::Error;

use crate::snapshot::{Snapshot, SnapshotNode};

/// The node that a text names, and the port if the text names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The node that the text names.
    pub node: NodeIdx,
    /// The port: the one after the colon, or the one that has the LID, port GUID or GID; `None` if the text names only
    /// a node.
    pub port: Option<PortNum>,
    /// The LID, if the text was a LID. A port with an LMC above 0 has several LIDs.
    pub lid: Option<Lid>,
}

/// The reason why a text names no node.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// No node fits the text.
    #[error(
        "{text:?} names no node, expected a LID, GUID, GID, directed route or node name, and :PORT after it for a port"
    )]
    Unknown {
        /// The text that was given.
        text: String,
    },
    /// Several nodes have the name.
    #[error("{text:?} matches {} nodes, expected one of {}", nodes.len(), list(nodes))]
    Ambiguous {
        /// The text that was given.
        text: String,
        /// The nodes that the text fits, by name and GUID.
        nodes: Vec<(String, Guid)>,
    },
    /// The node does not have the port.
    #[error("{text:?}: {name} has ports up to {last}")]
    NoSuchPort {
        /// The text that was given.
        text: String,
        /// Name of the node.
        name: String,
        /// Highest port number of the node.
        last: u8,
    },
}

/// The first few of the nodes that fit an ambiguous name.
fn list(nodes: &[(String, Guid)]) -> String {
    const SHOWN: usize = 8;
    let shown = nodes.iter().take(SHOWN);
    let mut texts: Vec<String> = shown
        .map(|(name, guid)| format!("{name} ({guid})"))
        .collect();
    if nodes.len() > SHOWN {
        texts.push("...".into());
    }
    texts.join(", ")
}

impl Snapshot {
    /// The node, or the port of a node, that a text names.
    ///
    /// A name is compared with the whole description, then with its first word, then without regard to case. `S-`, `H-`
    /// or `R-` followed by the GUID, as ibnetdiscover prints nodes, is a name too.
    ///
    /// # Errors
    /// Refuses a text that fits no node or several nodes, and a port that the node does not have.
    pub fn find(&self, text: &str) -> Result<Named, NameError> {
        match self.find_whole(text) {
            Err(NameError::Unknown { .. }) => {}
            found => return found,
        }
        let unknown = || NameError::Unknown { text: text.into() };
        let (name, port) = text.rsplit_once(':').ok_or_else(unknown)?;
        let port: PortNum = port.parse().map_err(|_| unknown())?;
        let found = match self.find_whole(name) {
            Err(NameError::Unknown { .. }) => return Err(unknown()),
            found => found?,
        };
        let node = self.node(found.node).ok_or_else(unknown)?;
        let is_there = node.ports().any(|(number, _)| number == port);
        if !is_there {
            return Err(NameError::NoSuchPort {
                text: text.into(),
                name: node.name(),
                last: node.info.num_ports(),
            });
        }
        Ok(Named {
            node: found.node,
            port: Some(port),
            lid: None,
        })
    }

    fn find_whole(&self, text: &str) -> Result<Named, NameError> {
        let by_address = match text.parse::<PortAddress>() {
            Ok(PortAddress::Lid(lid)) => self.port_by_lid(lid).map(|at| (at, Some(lid))),
            Ok(PortAddress::Route(path)) => self.port_by_path(&path).map(|at| (at, None)),
            Ok(PortAddress::Guid(guid)) => return self.find_guid(text, guid),
            Ok(PortAddress::Gid(gid)) => self.port_by_guid(gid.guid()).map(|at| (at, None)),
            Err(_) => None,
        };
        if let Some((at, lid)) = by_address {
            return Ok(Named {
                node: at.node,
                port: Some(at.port),
                lid,
            });
        }
        self.find_name(text)
    }

    fn find_guid(&self, text: &str, guid: Guid) -> Result<Named, NameError> {
        if let Some(node) = self.node_by_guid(guid) {
            return Ok(Named {
                node,
                port: None,
                lid: None,
            });
        }
        match self.port_by_guid(guid) {
            Some(at) => Ok(Named {
                node: at.node,
                port: Some(at.port),
                lid: None,
            }),
            None => Err(NameError::Unknown { text: text.into() }),
        }
    }

    fn find_name(&self, text: &str) -> Result<Named, NameError> {
        let wanted = text.trim();
        let is_whole = |node: &SnapshotNode| node.name() == wanted || node.description() == wanted;
        let is_label = |node: &SnapshotNode| {
            let kind = match node.type_() {
                NodeType::SWITCH => 'S',
                NodeType::ROUTER => 'R',
                _ => 'H',
            };
            format!("{kind}-{:016x}", node.guid().0).eq_ignore_ascii_case(wanted)
        };
        let is_first_word =
            |node: &SnapshotNode| node.name().split_whitespace().next() == Some(wanted);
        let is_alike = |node: &SnapshotNode| {
            let name = node.name();
            name.eq_ignore_ascii_case(wanted)
                || name
                    .split_whitespace()
                    .next()
                    .is_some_and(|word| word.eq_ignore_ascii_case(wanted))
        };
        let ways: [&dyn Fn(&SnapshotNode) -> bool; 4] =
            [&is_whole, &is_label, &is_first_word, &is_alike];
        for fits in ways {
            let found: Vec<NodeIdx> = self
                .nodes
                .iter_enumerated()
                .filter(|(_, node)| fits(node))
                .map(|(index, _)| index)
                .collect();
            match found.as_slice() {
                [] => {}
                &[node] => {
                    return Ok(Named {
                        node,
                        port: None,
                        lid: None,
                    });
                }
                several => {
                    let nodes = several.iter().filter_map(|&index| {
                        let node = self.node(index)?;
                        Some((node.name(), node.guid()))
                    });
                    return Err(NameError::Ambiguous {
                        text: text.into(),
                        nodes: nodes.collect(),
                    });
                }
            }
        }
        Err(NameError::Unknown { text: text.into() })
    }

    /// The end port that owns a LID.
    #[must_use]
    pub fn port_by_lid(&self, lid: Lid) -> Option<PortRef> {
        let mut ports = self.ports();
        let owner = ports.find(|(at, node, port)| {
            let is_end_port = node.managing_port(at.port) == at.port;
            is_end_port && port.lids().is_some_and(|range| range.contains(lid))
        });
        owner.map(|(at, _, _)| at)
    }

    /// The end port with this GUID.
    #[must_use]
    pub fn port_by_guid(&self, guid: Guid) -> Option<PortRef> {
        let mut ports = self.ports();
        let owner = ports.find(|(at, node, port)| {
            node.managing_port(at.port) == at.port && port.guid == guid && guid != Guid::NONE
        });
        owner.map(|(at, _, _)| at)
    }

    /// The port at the end of a directed route; for a switch it is port 0.
    #[must_use]
    pub fn port_by_path(&self, path: &DrPath) -> Option<PortRef> {
        let mut here = self.own_port?;
        for port in path.ports() {
            let leaving = PortRef {
                node: here.node,
                port,
            };
            here = self.port(leaving)?.peer?;
        }
        let managing = self.node(here.node)?.managing_port(here.port);
        Some(PortRef {
            port: managing,
            ..here
        })
    }

    /// Replaces the names of nodes with those from a node name map.
    pub fn rename(&mut self, names: &NodeNameMap) {
        for node in self.nodes.iter_mut() {
            node.alias = names.names.get(&node.guid()).cloned();
        }
    }
}

impl Named {
    /// The port that the text names, or else the port that represents the node: the one with a LID, else the first.
    #[must_use]
    pub fn port_of(&self, snapshot: &Snapshot) -> PortRef {
        let own = |port| PortRef {
            node: self.node,
            port,
        };
        if let Some(port) = self.port {
            return own(port);
        }
        let node = snapshot.node(self.node);
        let ends = || node.into_iter().flat_map(SnapshotNode::end_ports);
        let mut ready = ends().filter(|(_, port)| port.lid().is_unicast());
        let best = ready.next().or_else(|| ends().next());
        own(best.map_or(PortNum(1), |(number, _)| number))
    }
}

/// Names of nodes by GUID, from a file in OpenSM's format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeNameMap {
    names: BTreeMap<Guid, String>,
}

impl NodeNameMap {
    /// The fabric with the names of the map as descriptions of its nodes. Nodes that the map does not have keep theirs.
    #[must_use]
    pub fn renamed(&self, fabric: Fabric) -> Fabric {
        if self.names.is_empty() {
            return fabric;
        }
        let mut builder = fabric.to_builder();
        for (&guid, name) in &self.names {
            let node = builder.node_by_guid(guid);
            if let Some(node) = node.and_then(|node| builder.node_mut(node)) {
                node.description.clone_from(name);
            }
        }
        builder.build()
    }

    /// Reads a map. Each line is a GUID and a name in double quotes; `#` begins a comment.
    ///
    /// # Errors
    /// Reports the first line that is neither empty nor such an entry.
    pub fn read(text: &str) -> Result<Self, TextError> {
        let mut names = BTreeMap::new();
        for (line, whole) in (1..).zip(text.lines()) {
            let entry = whole.trim();
            if entry.is_empty() || entry.starts_with('#') {
                continue;
            }
            let parsed = entry.split_once('"').and_then(|(guid, rest)| {
                let (name, _) = rest.split_once('"')?;
                Some((guid.trim().parse::<Guid>().ok()?, name.to_string()))
            });
            let Some((guid, name)) = parsed else {
                let expected = "a GUID and a name in quotes, as 0x0002c90300a1b2c3 \"leaf 1\"";
                return Err(TextError::new(line, entry, expected));
            };
            names.insert(guid, name);
        }
        Ok(Self { names })
    }
}

#[cfg(test)]
mod tests;
