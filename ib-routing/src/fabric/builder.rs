//! Grows a fabric node by node and cable by cable, and says what does not fit.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
};

use ib_wire::{Guid, NodeType};

use super::{Fabric, Node, Port, PortRef};
use crate::{
    error::{TopologyError, TopologyErrorKind},
    index::{IdxVec, NodeIdx},
};

/// The facts of a node that [`FabricBuilder::add_node`] takes; all but the GUID and the number of ports may
/// stay at their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewNode {
    /// Kind of node, which is [normalized](NodeType::normalized): the default is a CA.
    pub type_: NodeType,
    /// Node GUID; every node has its own.
    pub guid: Guid,
    /// Number of ports, port 0 not counted.
    pub num_ports: u8,
    /// GUID of the chassis or card.
    pub system_image_guid: Guid,
    /// Vendor's identifier.
    pub vendor_id: u32,
    /// Device identifier.
    pub device_id: u16,
    /// NodeDescription.
    pub description: String,
    /// Name in topology files; empty means `S-`, `H-` or `R-` and the GUID.
    pub name: String,
    /// True if port 0 of the switch is enhanced.
    pub enhanced_port_0: bool,
}

/// Grows a fabric node by node and cable by cable.
#[derive(Clone, Debug, Default)]
pub struct FabricBuilder {
    pub(super) nodes: IdxVec<NodeIdx, Node>,
    pub(super) by_guid: BTreeMap<Guid, NodeIdx>,
}

impl FabricBuilder {
    /// A fabric without nodes.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            nodes: IdxVec::new(),
            by_guid: BTreeMap::new(),
        }
    }

    /// Adds a node. The ports of a switch get the node's GUID; those of a CA get none yet:
    /// [`port_mut`](Self::port_mut) sets them, or [`build`](Self::build) derives them.
    ///
    /// # Errors
    /// [`TopologyErrorKind::GuidTwice`] if a node has this GUID already.
    pub fn add_node(&mut self, new: NewNode) -> Result<NodeIdx, TopologyError> {
        if self.by_guid.contains_key(&new.guid) {
            return Err(TopologyErrorKind::GuidTwice { guid: new.guid }.into());
        }
        let type_ = new.type_.normalized();
        let guid = if type_.is_switch() {
            new.guid
        } else {
            Guid::NONE
        };
        let name = if new.name.is_empty() {
            default_name(type_, new.guid)
        } else {
            new.name
        };
        let port = Port {
            guid,
            ..Port::default()
        };
        let index = self.nodes.push(Node {
            type_,
            guid: new.guid,
            system_image_guid: new.system_image_guid,
            vendor_id: new.vendor_id,
            device_id: new.device_id,
            description: new.description,
            name,
            enhanced_port_0: new.enhanced_port_0,
            switch: None,
            ports: alloc::vec![port; usize::from(new.num_ports).saturating_add(1)],
        });
        self.by_guid.insert(new.guid, index);
        Ok(index)
    }

    /// Joins two ports by a cable. A cable that is there already is left as it is.
    ///
    /// # Errors
    /// [`TopologyErrorKind::PortOutOfRange`] for a port that the node lacks or for port 0, and
    /// [`TopologyErrorKind::ContradictoryLink`] if one of the ports has a cable to another port.
    pub fn add_link(&mut self, a: PortRef, b: PortRef) -> Result<(), TopologyError> {
        for (end, other) in [(a, b), (b, a)] {
            let found = self.link_port(end)?.peer;
            if let Some(found) = found.filter(|&found| found != other) {
                return Err(TopologyErrorKind::ContradictoryLink {
                    node: self.name(other),
                    port: other.port,
                    peer: self.name(end),
                    peer_port: end.port,
                    found: self.name(found),
                    found_port: found.port,
                }
                .into());
            }
        }
        self.link_port(a)?.peer = Some(b);
        self.link_port(b)?.peer = Some(a);
        Ok(())
    }

    /// Takes a port's cable out, at both ends.
    pub fn remove_link(&mut self, end: PortRef) {
        let peer = self.port_mut(end).and_then(|port| port.peer.take());
        if let Some(port) = peer.and_then(|peer| self.port_mut(peer)) {
            port.peer = None;
        }
    }

    /// The port, to set what is known of it.
    #[must_use]
    pub fn port_mut(&mut self, end: PortRef) -> Option<&mut Port> {
        self.nodes
            .find_mut(end.node)?
            .ports
            .get_mut(usize::from(end.port.0))
    }

    /// The node in its present state.
    #[must_use]
    pub fn node(&self, node: NodeIdx) -> Option<&Node> {
        self.nodes.find(node)
    }

    /// The node, to set what is known of it.
    #[must_use]
    pub fn node_mut(&mut self, node: NodeIdx) -> Option<&mut Node> {
        self.nodes.find_mut(node)
    }

    /// The node with this GUID.
    #[must_use]
    pub fn node_by_guid(&self, guid: Guid) -> Option<NodeIdx> {
        self.by_guid.get(&guid).copied()
    }

    /// The finished fabric. A cabled port of a CA or router without a GUID gets one: that of its node and
    /// its number added, as most vendors number them.
    #[must_use]
    pub fn build(mut self) -> Fabric {
        for node in self.nodes.iter_mut().filter(|node| !node.type_.is_switch()) {
            for (number, port) in (0..).zip(&mut node.ports).skip(1) {
                if port.peer.is_some() && port.guid == Guid::NONE {
                    port.guid = Guid(node.guid.0.wrapping_add(number));
                }
            }
        }
        Fabric::new(self.nodes, self.by_guid)
    }

    fn link_port(&mut self, end: PortRef) -> Result<&mut Port, TopologyError> {
        let missing = |node: String, num_ports: u8| TopologyErrorKind::PortOutOfRange {
            node,
            port: u32::from(end.port.0),
            num_ports,
        };
        let Some(node) = self.nodes.find_mut(end.node) else {
            return Err(missing(String::new(), 0).into());
        };
        let num_ports = node.num_ports();
        let port = node.ports.get_mut(usize::from(end.port.0));
        port.filter(|_| end.port.0 != 0)
            .ok_or_else(|| missing(node.name.clone(), num_ports).into())
    }

    fn name(&self, end: PortRef) -> String {
        self.nodes
            .find(end.node)
            .map_or_else(String::new, |node| node.name.to_string())
    }
}

/// The name that ibnetdiscover gives a node.
fn default_name(type_: NodeType, guid: Guid) -> String {
    let letter = match type_ {
        NodeType::SWITCH => 'S',
        NodeType::ROUTER => 'R',
        _ => 'H',
    };
    format!("{letter}-{:016x}", guid.0)
}
