//! The observed subnet as a fabric, in which LIDs are assigned and for which routes are computed.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use ib_routing::{
    Fabric, FabricBuilder, LidMap, LinkSpeed, LinkWidth, NewNode, Node, NodeIdx, PortRef,
    SwitchIdx, index::Idx as _,
};
use ib_smp::{CapabilityMask, NodeDescription, NodeInfo, NodeType};
use ib_wire::{Guid, PortNum};

use crate::{NodeId, PortId, Subnet, SubnetNode, SubnetPort, link_speed::active_speed};

/// The difference between a port of a fabric and the same port of the subnet later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PortChange {
    /// The port is the same.
    None,
    /// The port has lost its cable, which led from a switch to another.
    LostCable,
}

/// A fabric, with the mapping from the nodes of the subnet to those of the fabric.
#[derive(Clone, Debug, Default)]
pub struct FabricIndex {
    fabric: Fabric,
    nodes: Vec<Option<NodeIdx>>,
    /// The numbers in the subnet of the fabric's nodes, in the order of their indices.
    ids: Vec<NodeId>,
}

impl FabricIndex {
    /// Builds the fabric of the nodes that `takes_part` selects and of the cables that `is_link` selects at
    /// either end.
    #[must_use]
    pub fn build(
        subnet: &Subnet,
        takes_part: impl Fn(NodeId, &SubnetNode) -> bool,
        is_link: impl Fn(PortId) -> bool,
    ) -> Self {
        let mut builder = FabricBuilder::new();
        let (mut nodes, mut ids) = (Vec::new(), Vec::new());
        for (id, node) in subnet.nodes() {
            nodes.resize(id.index().saturating_add(1), None);
            if let (true, Some(slot)) = (takes_part(id, node), nodes.last_mut()) {
                // A subnet contains each GUID only once.
                *slot = builder.add_node(new_node(node)).ok();
                if slot.is_some() {
                    ids.push(id);
                }
            }
        }
        let place = |port: PortId| {
            Some(PortRef {
                node: (*nodes.get(port.node.index())?)?,
                port: port.port,
            })
        };
        for (here, node, record) in subnet.ports() {
            let Some(end) = place(here) else { continue };
            if let Some(entry) = builder.port_mut(end) {
                if record.guid() != Guid::NONE {
                    entry.guid = record.guid();
                }
                let has_lid = !node.is_switch() || here.port == PortNum::MANAGEMENT;
                if let Some(info) = record.info().filter(|_| has_lid) {
                    (entry.lid, entry.lmc) = (info.lid(), info.lmc());
                }
                (entry.width, entry.speed) = link_at(subnet, here);
            }
            if let Some(peer) = record.peer().filter(|_| is_link(here)).and_then(place) {
                // A cable is visited from both ends; the second visit changes nothing.
                let _ = builder.add_link(end, peer);
            }
        }
        Self {
            fabric: builder.build(),
            nodes,
            ids,
        }
    }

    /// The index after a change of the subnet, equal to one that is [built](Self::build) then; `None` unless the change is
    /// that cables between switches were lost. `since` is the [version](Subnet::version) of the subnet from which
    /// this index was built, with the same rules; only nodes that have changed since are looked at in full.
    #[must_use]
    pub fn after_losing(
        &self,
        subnet: &Subnet,
        since: u64,
        takes_part: impl Fn(NodeId, &SubnetNode) -> bool,
        is_link: impl Fn(PortId) -> bool,
    ) -> Option<Self> {
        let lost = self.lost_cables(subnet, since, takes_part, is_link)?;
        let ends: Vec<PortRef> = lost.iter().map(|&(end, _)| end).collect();
        let mut fabric = self.fabric.without_cables(&ends);
        for (end, at) in lost {
            let far = self.fabric.port(end)?.peer?;
            for (end, at) in [(end, at), (far, self.port_id(far)?)] {
                let (width, speed) = link_at(subnet, at);
                fabric.set_link(end, width, speed);
            }
        }
        Some(Self {
            fabric,
            nodes: self.nodes.clone(),
            ids: self.ids.clone(),
        })
    }

    /// Returns true if the index equals one that is [built](Self::build) now. The arguments are those of
    /// [`after_losing`](Self::after_losing).
    #[must_use]
    pub fn is_current(
        &self,
        subnet: &Subnet,
        since: u64,
        takes_part: impl Fn(NodeId, &SubnetNode) -> bool,
        is_link: impl Fn(PortId) -> bool,
    ) -> bool {
        let lost = self.lost_cables(subnet, since, takes_part, is_link);
        lost.is_some_and(|lost| lost.is_empty())
    }

    /// The ends of the cables between switches that the subnet has lost; `None` for any other change.
    fn lost_cables(
        &self,
        subnet: &Subnet,
        since: u64,
        takes_part: impl Fn(NodeId, &SubnetNode) -> bool,
        is_link: impl Fn(PortId) -> bool,
    ) -> Option<Vec<(PortRef, PortId)>> {
        if subnet.num_nodes() != self.ids.len() {
            return None;
        }
        let mut lost = Vec::new();
        for (id, node) in subnet.changed_since(since) {
            let here = self.node(id).filter(|_| takes_part(id, node))?;
            if !is_same_node(self.fabric.node(here), node) {
                return None;
            }
            for (port, record) in node.ports() {
                let at = PortId { node: id, port };
                let has_lid = !node.is_switch() || port == PortNum::MANAGEMENT;
                let peer = record.peer().filter(|_| is_link(at));
                match self.port_change(subnet, at, record, has_lid, peer)? {
                    PortChange::None => {}
                    PortChange::LostCable => lost.push((PortRef { node: here, port }, at)),
                }
            }
        }
        Some(lost)
    }

    /// The difference between a port of the fabric and the same port of the subnet; `None` for a difference other than
    /// that a cable between switches was lost. `peer` is the other end of the port's present cable.
    fn port_change(
        &self,
        subnet: &Subnet,
        at: PortId,
        record: &SubnetPort,
        has_lid: bool,
        peer: Option<PortId>,
    ) -> Option<PortChange> {
        let end = self.port(at)?;
        let was = self.fabric.port(end)?;
        let lid = record.info().filter(|_| has_lid);
        let lid = lid.map_or(Default::default(), |info| (info.lid(), info.lmc()));
        let guid = Some(record.guid()).filter(|&guid| guid != Guid::NONE);
        if (was.lid, was.lmc) != lid || guid.is_some_and(|guid| guid != was.guid) {
            return None;
        }
        if let (None, Some(far)) = (peer, was.peer)
            && self.fabric.switch_of(end.node).is_some()
        {
            let lost_cable = self.fabric.switch_of(far.node).is_some();
            return lost_cable.then_some(PortChange::LostCable);
        }
        let peer = match peer {
            Some(peer) => Some(self.port(peer)?),
            None => None,
        };
        let is_same = peer == was.peer && (was.width, was.speed) == link_at(subnet, at);
        is_same.then_some(PortChange::None)
    }

    /// Enters LIDs that are about to be assigned, so that the index equals one that is built once the ports have them.
    pub fn set_lids(&mut self, lids: &LidMap) {
        for destination in lids.destinations().iter() {
            let range = destination.range;
            self.fabric
                .set_lid(destination.end, range.base(), range.lmc());
        }
    }

    /// The fabric that was built from the subnet.
    #[must_use]
    pub const fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Takes the fabric out.
    #[must_use]
    pub fn into_fabric(self) -> Fabric {
        self.fabric
    }

    /// A node in the fabric, if it takes part.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<NodeIdx> {
        *self.nodes.get(id.index())?
    }

    /// A switch in the fabric, if it takes part.
    #[must_use]
    pub fn switch(&self, id: NodeId) -> Option<SwitchIdx> {
        self.fabric.switch_of(self.node(id)?)
    }

    /// The port at the other end of the cable that the fabric has at this port.
    #[must_use]
    pub fn peer(&self, here: PortId) -> Option<PortId> {
        self.port_id(self.fabric.port(self.port(here)?)?.peer?)
    }

    /// The port of the subnet that a port of the fabric stands for.
    #[must_use]
    pub fn port_id(&self, port: PortRef) -> Option<PortId> {
        Some(PortId {
            node: *self.ids.get(port.node.at())?,
            port: port.port,
        })
    }

    /// A port in the fabric, if its node takes part.
    #[must_use]
    pub fn port(&self, port: PortId) -> Option<PortRef> {
        Some(PortRef {
            node: self.node(port.node)?,
            port: port.port,
        })
    }
}

/// Width and speed of the link of a port. The other end speaks for one whose PortInfo was not read.
fn link_at(subnet: &Subnet, here: PortId) -> (Option<LinkWidth>, Option<LinkSpeed>) {
    let record = subnet.port(here).filter(|record| record.info().is_none());
    let far = record.and_then(|record| record.peer());
    link_of(subnet, far.unwrap_or(here))
}

/// Returns true if a node of the fabric would be made as it is.
fn is_same_node(was: &Node, node: &SubnetNode) -> bool {
    let is = new_node(node);
    (was.type_, was.guid, was.num_ports()) == (is.type_, is.guid, is.num_ports)
        && (was.system_image_guid, was.vendor_id, was.device_id)
            == (is.system_image_guid, is.vendor_id, is.device_id)
        && was.description == is.description
        && was.enhanced_port_0 == is.enhanced_port_0
}

/// Width and speed of the link of a port, as the port reports them.
fn link_of(subnet: &Subnet, at: PortId) -> (Option<LinkWidth>, Option<LinkSpeed>) {
    let record = subnet.port(at);
    let Some((node, record)) = subnet.node(at.node).zip(record) else {
        return (None, None);
    };
    let Some(info) = record.info() else {
        return (None, None);
    };
    let speed = match record.is_fdr10() {
        true => Some(LinkSpeed::Fdr10),
        false => active_speed(info, has_extended_speeds(node, at.port)),
    };
    (info.width(), speed)
}

fn new_node(node: &SubnetNode) -> NewNode {
    let info = node.info();
    let switch_info = node.switch().and_then(|switch| switch.info());
    NewNode {
        type_: node_type(info),
        guid: info.node_guid(),
        num_ports: info.num_ports(),
        system_image_guid: info.system_image_guid(),
        vendor_id: info.vendor_id(),
        device_id: info.device_id(),
        description: description(node.description()),
        enhanced_port_0: switch_info.is_some_and(|info| info.enhanced_port0()),
        ..NewNode::default()
    }
}

/// Returns true if the extended speeds of a port are valid: its own capabilities announce them, or those of port 0 of
/// its switch.
fn has_extended_speeds(node: &SubnetNode, port: PortNum) -> bool {
    let end_port = if node.is_switch() {
        PortNum::MANAGEMENT
    } else {
        port
    };
    let info = node.port(end_port).and_then(|port| port.info());
    info.is_some_and(|info| {
        info.capability_mask()
            .contains(CapabilityMask::IS_EXTENDED_SPEEDS_SUPPORTED)
    })
}

/// NodeDescription in one line: control characters, which hosts may put into it, become spaces.
#[must_use]
pub fn description(of: &NodeDescription) -> String {
    let text = of.node_string().to_string();
    text.replace(char::is_control, " ")
}

/// The type of a node; an unknown type is treated as a CA, which does not forward.
#[must_use]
pub fn node_type(info: &NodeInfo) -> NodeType {
    info.node_type().normalized()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_one_line() {
        let mut text = NodeDescription::default();
        text.set_node_string(&ib_wire::table::Text::new("node-7 HCA-1\n[1] \"x\"[1]\r\n"));
        assert_eq!(description(&text), "node-7 HCA-1 [1] \"x\"[1]  ");
    }
}
