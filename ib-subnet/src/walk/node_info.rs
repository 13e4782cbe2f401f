//! Answers to NodeInfo: nodes, their cables, and GUIDs that two nodes have.

use ib_mad::Attribute;
use ib_smp::{NodeDescription, NodeInfo, NodeType, PortInfo, PortState};
use ib_wire::{Guid, PortNum};

use super::{Scope, Walk, WalkFinding, answers::reach_asked};
use crate::{NodeId, PortId, Read, ReadTarget, Subnet, route::Reach};

impl Walk {
    pub(super) fn take_in_node_info(
        &mut self,
        subnet: &mut Subnet,
        behind: Option<PortId>,
        data: &[u8; 64],
    ) -> bool {
        let target = behind.map_or(ReadTarget::OwnNode, ReadTarget::Behind);
        let Ok((info, _)) = NodeInfo::parse(data, 0) else {
            return false;
        };
        if let Some(reach) = reach_asked(subnet, target) {
            self.on_node_info(subnet, behind, reach, info);
        }
        true
    }

    fn on_node_info(
        &mut self,
        subnet: &mut Subnet,
        behind: Option<PortId>,
        reach: Reach,
        info: &NodeInfo,
    ) {
        if let Some(field) = impossible_field(behind, info) {
            self.findings.push_back(WalkFinding::InvalidNodeInfo {
                behind: behind.map(|port| subnet.port_at(port)),
                node_guid: info.node_guid(),
                field,
            });
            if let Some(port) = behind {
                self.unlink(subnet, port);
            }
            return;
        }
        let Some(id) = self.identify(subnet, behind, reach, info) else {
            return;
        };
        let here = PortId {
            node: id,
            port: info.local_port_num(),
        };
        if info.node_type() != NodeType::SWITCH {
            self.add_end_port(subnet, here, behind, reach, info);
        }
        let Some(behind) = behind else { return };
        // A cable that this partial walk did not examine contradicts this one: one of the two is wrong.
        if self.scope == Scope::Ports && subnet.has_older_cable(behind, here) {
            let is_settled = |port| {
                subnet
                    .port(port)
                    .is_some_and(|port| port.is_read_in(self.number))
            };
            self.outcome.inconsistent |= !(is_settled(behind) && is_settled(here));
        }
        if subnet.link(behind, here) {
            self.outcome.changed.extend([behind.node, here.node]);
        } else {
            self.claimed_twice(subnet, Some(behind), info);
        }
    }

    /// The node that a NodeInfo describes; it is queued for reading where necessary. `None` if two nodes have its
    /// GUID.
    fn identify(
        &mut self,
        subnet: &mut Subnet,
        behind: Option<PortId>,
        reach: Reach,
        info: &NodeInfo,
    ) -> Option<NodeId> {
        let known = subnet.find(info.node_guid());
        match known.and_then(|id| Some((id, subnet.node(id)?))) {
            Some((_, node)) if node.is_read_in(self.number) && !node.is_same_kind(info) => {
                self.claimed_twice(subnet, behind, info);
                None
            }
            Some((id, node)) if node.is_read_in(self.number) => Some(id),
            Some((id, node)) if node.is_same_kind(info) => {
                // The link of a port that stayed Active was never down, so the node was not restarted.
                let may_be_restarted = behind.is_none_or(|port| {
                    let port = subnet.port(port);
                    port.is_none_or(|port| {
                        port.state() != PortState::ACTIVE || port.peer().is_none()
                    })
                });
                if self.scope == Scope::Everything {
                    subnet.set_reach(id, reach, behind);
                }
                if self.scope == Scope::Everything || may_be_restarted {
                    if let Some(node) = subnet.node_mut(id) {
                        node.set_info(*info);
                    }
                    self.read_node(subnet, id, info.local_port_num());
                }
                Some(id)
            }
            _ => {
                let id = subnet.add(*info, reach, behind);
                if known.is_none() {
                    self.findings.push_back(WalkFinding::NodeFound(id));
                }
                self.read_node(subnet, id, info.local_port_num());
                Some(id)
            }
        }
        .inspect(|&id| {
            if behind.is_none() {
                let port = match info.node_type() {
                    NodeType::SWITCH => PortNum::MANAGEMENT,
                    _ => info.local_port_num(),
                };
                subnet.set_own_port(PortId { node: id, port });
            }
        })
    }

    /// Queues the reads that apply to every type of node.
    fn read_node(&mut self, subnet: &mut Subnet, id: NodeId, port: PortNum) {
        let Some(node) = subnet.node_mut(id) else {
            return;
        };
        node.note_read(self.number);
        let (is_switch, guid) = (node.is_switch(), node.info().port_guid());
        self.ask(
            ReadTarget::Port(PortId { node: id, port }),
            NodeDescription::ID,
            0,
        );
        if is_switch {
            subnet.set_port_guid(PortId::management(id), guid);
            self.read_switch(subnet, id);
        }
    }

    /// Records the port of a CA or router that answered, and reads it once in this walk.
    fn add_end_port(
        &mut self,
        subnet: &mut Subnet,
        here: PortId,
        behind: Option<PortId>,
        reach: Reach,
        info: &NodeInfo,
    ) {
        let is_everything = self.scope == Scope::Everything;
        let number = self.number;
        // The route to the own port does not lead out and back.
        let is_own = behind.is_some() && subnet.own_port() == Some(here);
        let is_restarted = behind.is_none_or(|port| {
            subnet
                .port(port)
                .is_none_or(|port| port.state() != PortState::ACTIVE)
        });
        let Some(port) = subnet.port_mut(here) else {
            return;
        };
        if port.is_asked_in(number) {
            return;
        }
        let is_new = port.reach().is_none();
        if is_new || is_everything || is_restarted {
            port.note_asked(number);
            if !is_own {
                port.set_reach(reach);
            }
            subnet.set_port_guid(here, info.port_guid());
            self.ask(ReadTarget::Port(here), PortInfo::ID, here.port.0.into());
        }
    }

    fn claimed_twice(&mut self, subnet: &mut Subnet, behind: Option<PortId>, info: &NodeInfo) {
        if self.scope == Scope::Ports {
            self.outcome.inconsistent = true;
            return;
        }
        self.findings.push_back(WalkFinding::DuplicateGuid {
            node_guid: info.node_guid(),
            behind: behind.map(|port| subnet.port_at(port)),
        });
        // Either two nodes have this GUID, or the node before the cable answered earlier under another GUID.
        if let Some(behind) = behind
            && let Some(in_front) = subnet.node_mut(behind.node)
            && in_front.suspect()
        {
            let port = match in_front.is_switch() {
                true => PortId::management(behind.node),
                false => behind,
            };
            self.queue.push_front(Read {
                target: ReadTarget::Port(port),
                attribute: NodeInfo::ID,
                modifier: 0,
            });
        }
    }

    pub(super) fn on_node_info_again(&mut self, subnet: &mut Subnet, id: NodeId, info: &NodeInfo) {
        let Some(node) = subnet.node(id) else { return };
        let (before, now) = (node.info().node_guid(), info.node_guid());
        let (path, via) = (node.path(), node.found_via());
        if now != before {
            subnet.distrust(id);
            self.findings.push_back(WalkFinding::GuidChanged {
                path,
                behind: via.map(|port| subnet.port_at(port)),
                before,
                now,
            });
        }
    }
}

/// Name of the field of NodeInfo with an impossible value. An unknown node type is not impossible: it may be
/// defined later.
fn impossible_field(behind: Option<PortId>, info: &NodeInfo) -> Option<&'static str> {
    // Only the own node is reached without a link, if it is a switch.
    let by_no_link = behind.is_none() && info.node_type() == NodeType::SWITCH;
    let local = info.local_port_num();
    if info.node_guid() == Guid::NONE {
        Some("node_guid")
    } else if info.num_ports() == 0 {
        Some("num_ports")
    } else if local.0 > info.num_ports() || (local.0 == 0 && !by_no_link) {
        Some("local_port_num")
    } else {
        None
    }
}
