//! Discovery by directed routes (IBA vol. 1, 14.4.3 and 14.2.2).
//!
//! From the own node outwards: NodeInfo of whoever is behind a port, then what that node is made of.
//! Requests wait in one queue in the order in which they came up, so the walk is breadth-first, and
//! each node is reached by a shortest route, however many requests are in flight. A cable answers
//! for both its ends: the NodeInfo heard through it names the far port, so the far port is not asked
//! who is behind it. A node that does not answer costs its own time-out and nobody else's.

use alloc::collections::BTreeMap;

use ib_smp::{
    CapabilityMask, CapabilityMask2, DrPath, LinearForwardingTable, LinkSpeedsExt, NodeDescription,
    NodeInfo, NodeType, PortInfo, PortState, SwitchInfo,
};
use ib_wire::{Guid, Lid, PortNum};

use super::Sweep;
use crate::{
    event::Event,
    request::Request,
    subnet::{KnownTable, Node, NodeIdx, PortRef, Trust},
};

impl Sweep {
    /// Asks the own node who it is: everything else follows from the answers.
    pub(super) fn start_discovery(&mut self) {
        self.queue.push_back(Request::GetNodeInfo(None));
    }

    /// The route of a question about who is behind `from`; `None` if that is known meanwhile, or the
    /// route has 63 hops already.
    pub(crate) fn neighbor_path(&self, from: Option<PortRef>) -> Option<DrPath> {
        let Some(from) = from else {
            return Some(DrPath::OWN_NODE);
        };
        let port = self.subnet.port(from)?;
        if port.peer.is_some() || !self.subnet.is_steady(from.node) {
            return None;
        }
        self.subnet.path(from)?.then(from.port)
    }

    /// The route that the answer to that question came over.
    pub(super) fn asked_path(&self, from: Option<PortRef>) -> Option<DrPath> {
        match from {
            None => Some(DrPath::OWN_NODE),
            Some(from) => self.subnet.path(from)?.then(from.port),
        }
    }

    pub(super) fn on_node_info(&mut self, from: Option<PortRef>, path: DrPath, info: &NodeInfo) {
        let arrived_at = info.local_port_num();
        if let Some(field) = impossible_field(from, info) {
            self.errors = self.errors.saturating_add(1);
            self.events.push_back(Event::InvalidNodeInfo {
                found_via: from.map(|port| self.subnet.port_at(port)),
                node_guid: info.node_guid(),
                field,
            });
            return;
        }
        let node = match self.subnet.add(*info, path) {
            Ok(node) => {
                if let Some(record) = self.subnet.node_mut(node) {
                    record.found_via = from;
                }
                if self.before.find(info.node_guid()).is_none() {
                    self.events.push_back(Event::NodeAppeared {
                        node_guid: info.node_guid(),
                    });
                }
                self.ask_about(node, arrived_at);
                if node == NodeIdx::OWN && info.node_type() != NodeType::SWITCH {
                    self.own_port.port = arrived_at;
                }
                node
            }
            Err(known) => {
                let twin = self.subnet.node(known).is_none_or(|node| {
                    node.info.node_type() != info.node_type()
                        || node.info.num_ports() != info.num_ports()
                });
                if twin {
                    self.claimed_twice(from, info);
                    return;
                }
                known
            }
        };
        let here = PortRef {
            node,
            port: arrived_at,
        };
        if info.node_type() != NodeType::SWITCH {
            self.add_end_port(here, path, info);
        }
        if let Some(from) = from
            && !self.subnet.link(from, here)
        {
            self.claimed_twice(Some(from), info);
        }
    }

    pub(super) fn on_node_description(&mut self, node: NodeIdx, description: NodeDescription) {
        if let Some(node) = self.subnet.node_mut(node) {
            node.description = description;
        }
    }

    pub(super) fn on_switch_info(&mut self, node: NodeIdx, info: SwitchInfo) {
        // A table that is in use is read back: what stands in it already is not sent again. Above
        // the top, and with no top at all, the bytes are anyone's guess.
        let top = info.linear_fdb_top();
        let blocks = match LinearForwardingTable::block_of(top) {
            _ if top == Lid::NONE => 0..0,
            (last, _) => 0..last.saturating_add(1),
        };
        let known = self.known_before(node).and_then(|before| {
            let switch = before.switch.as_ref()?;
            // A switch that was restarted has forgotten its top.
            (switch.info?.linear_fdb_top() == top).then(|| {
                (
                    switch.lft.clone(),
                    switch.mft.clone(),
                    switch.is_fresh,
                    switch.sl_to_vl.clone(),
                )
            })
        });
        let Some(switch) = self.subnet.switch_mut(node) else {
            return;
        };
        switch.info = Some(info);
        (switch.lft, switch.mft, switch.is_fresh, switch.sl_to_vl) = known.unwrap_or_else(|| {
            let fresh = top == Lid::NONE;
            (
                KnownTable::default(),
                BTreeMap::new(),
                fresh,
                BTreeMap::new(),
            )
        });
        for block in blocks {
            if switch.lft.block(block).is_none() {
                self.queue.push_back(Request::GetLft(node, block));
            }
        }
    }

    /// Takes in PortInfo; `extended` says whether it was asked for with all speeds.
    pub(super) fn on_port_info(&mut self, port: PortRef, info: PortInfo, extended: bool) {
        if self.asks_again(port, &info, extended) {
            return;
        }
        // The own mask has IsSM as well.
        let managed = info.capability_mask().contains(CapabilityMask::IS_SM)
            && port != self.own_port
            && self
                .subnet
                .port(port)
                .is_some_and(|port| port.info.is_none());
        let is_end_port = self.is_end_port(port);
        if managed && is_end_port {
            self.queue.push_back(Request::GetSmInfo(port));
        }
        let is_own_node = port.node == NodeIdx::OWN;
        let Some(node) = self.subnet.node(port.node) else {
            return;
        };
        let leads_on = if node.is_switch() {
            port.port != PortNum(0)
        } else {
            is_own_node
        };
        // A port that is still active has not been restarted.
        let before = self
            .known_before(port.node)
            .and_then(|node| node.port(port.port))
            .filter(|_| info.port_state() == PortState::ACTIVE)
            .map(|before| {
                (
                    before.reregistered,
                    before.sl_to_vl,
                    before.vl_arbitration.clone(),
                    before.p_key_table.clone(),
                )
            });
        let told_before = self.told_before(port, &info);
        if let Some(record) = self.subnet.port_mut(port) {
            record.set_info(info);
            (
                record.reregistered,
                record.sl_to_vl,
                record.vl_arbitration,
                record.p_key_table,
            ) = before.unwrap_or_default();
            record.reregistered |= told_before;
            let unread = record.p_key_table.is_empty();
            if leads_on && record.is_up() && record.peer.is_none() {
                self.queue.push_back(Request::GetNodeInfo(Some(port)));
            }
            if unread && is_end_port {
                self.queue.push_back(Request::GetPKeyTable(port, 0));
            }
        }
    }

    /// Whether the host behind a port told this manager everything before a restart, and has known no other since.
    fn told_before(&self, port: PortRef, info: &PortInfo) -> bool {
        let own = match port == self.own_port {
            true => Some(info),
            false => self
                .subnet
                .port(self.own_port)
                .and_then(|own| own.info.as_ref()),
        };
        let own = own.map(PortInfo::lid);
        self.restored
            && self.first_sweep
            && info.port_state() == PortState::ACTIVE
            && own.is_some_and(|lid| lid != Lid::NONE && lid == info.master_sm_lid())
    }

    /// Asks once more, with bit 31 of the modifier, for the ports of a device that knows NDR or XDR: the
    /// bit is an error to older devices. What port 0 of a switch says, or one of its ports shows, goes for
    /// all its ports.
    fn asks_again(&mut self, port: PortRef, info: &PortInfo, extended: bool) -> bool {
        let is_fast = knows_extended_speeds(info, self.is_end_port(port));
        let Some(node) = self.subnet.node_mut(port.node) else {
            return false;
        };
        if is_fast && !core::mem::replace(&mut node.extended_speeds, true) {
            // Answers that came before this one lack the speeds as well.
            let told = node.ports().filter(|(_, port)| port.info.is_some());
            let again: alloc::vec::Vec<_> = told.map(|(number, _)| number).collect();
            let again = again.into_iter().map(|number| PortRef {
                node: port.node,
                port: number,
            });
            self.queue.extend(again.map(Request::GetPortInfo));
        }
        let lacks = self
            .subnet
            .node(port.node)
            .is_some_and(|node| node.extended_speeds)
            && !extended;
        if lacks {
            self.queue.push_back(Request::GetPortInfo(port));
        }
        lacks
    }

    /// Names the nodes that the sweep before knew and this one did not reach.
    pub(super) fn report_vanished(&mut self) {
        for (_, node) in self.before.nodes() {
            let node_guid = node.info.node_guid();
            if self.subnet.find(node_guid).is_none() {
                self.events.push_back(Event::NodeVanished { node_guid });
            }
        }
    }

    /// A node as the sweep before left it.
    fn known_before(&self, node: NodeIdx) -> Option<&Node> {
        let guid = self.subnet.node(node)?.info.node_guid();
        self.before.node(self.before.find(guid)?)
    }

    /// Queues what a node that was not known is asked.
    fn ask_about(&mut self, index: NodeIdx, arrived_at: PortNum) {
        let Some(node) = self.subnet.node(index) else {
            return;
        };
        let (is_switch, num_ports) = (node.is_switch(), node.info.num_ports());
        self.queue.push_back(Request::GetNodeDescription(PortRef {
            node: index,
            port: arrived_at,
        }));
        if is_switch {
            let guid = node.info.port_guid();
            self.subnet.set_port_guid(PortRef::management(index), guid);
            self.queue.push_back(Request::GetSwitchInfo(index));
            for port in (0..=num_ports).map(PortNum) {
                self.queue
                    .push_back(Request::GetPortInfo(PortRef { node: index, port }));
            }
        }
    }

    pub(super) fn is_end_port(&self, port: PortRef) -> bool {
        let node = self.subnet.node(port.node);
        node.is_some_and(|node| node.is_switch() == (port.port == PortNum(0)))
    }

    /// Notes the port of a CA or router through which it was heard, once.
    fn add_end_port(&mut self, here: PortRef, path: DrPath, info: &NodeInfo) {
        if let Some(port) = self.subnet.port_mut(here)
            && port.path.is_none()
        {
            port.path = Some(path);
            self.subnet.set_port_guid(here, info.port_guid());
            self.queue.push_back(Request::GetPortInfo(here));
        }
    }

    fn claimed_twice(&mut self, from: Option<PortRef>, info: &NodeInfo) {
        self.errors = self.errors.saturating_add(1);
        self.events.push_back(Event::DuplicateGuid {
            node_guid: info.node_guid(),
            found_via: from.map(|port| self.subnet.port_at(port)),
        });
        // Either somebody has this GUID a second time, or the node in front is one that was met before under another.
        if let Some(from) = from
            && let Some(in_front) = self.subnet.node_mut(from.node)
            && in_front.trust == Trust::Given
        {
            in_front.trust = Trust::Checked;
            self.queue.push_front(Request::CheckNodeInfo(from.node));
        }
    }

    /// Takes in what a node says when it is asked again who it is.
    pub(super) fn on_node_info_again(&mut self, node: NodeIdx, info: &NodeInfo) {
        let Some(record) = self.subnet.node(node) else {
            return;
        };
        let (before, found_via) = (record.info.node_guid(), record.found_via);
        let now = info.node_guid();
        if now != before {
            self.subnet.distrust(node);
            self.errors = self.errors.saturating_add(1);
            self.events.push_back(Event::GuidChanged {
                found_via: found_via.map(|port| self.subnet.port_at(port)),
                before,
                now,
            });
        }
    }
}

/// The field of NodeInfo that says what cannot be. A type that has no name is none of them: it may get one.
fn impossible_field(from: Option<PortRef>, info: &NodeInfo) -> Option<&'static str> {
    // Only the own node, if it is a switch, is reached without a link.
    let by_no_link = from.is_none() && info.node_type() == NodeType::SWITCH;
    let arrived_at = info.local_port_num();
    if info.node_guid() == Guid::NONE {
        Some("node_guid")
    } else if info.num_ports() == 0 {
        Some("num_ports")
    } else if arrived_at.0 > info.num_ports() || (arrived_at.0 == 0 && !by_no_link) {
        Some("local_port_num")
    } else {
        None
    }
}

/// Whether a device shows all its speeds only to who sets bit 31 of the modifier: it knows NDR or XDR.
/// Only what an end port says of its capabilities counts.
pub(crate) fn knows_extended_speeds(info: &PortInfo, is_end_port: bool) -> bool {
    let says_so = is_end_port
        && info
            .capability_mask()
            .contains(CapabilityMask::IS_CAPABILITY_MASK2_SUPPORTED)
        && info
            .capability_mask2()
            .contains(CapabilityMask2::IS_LINK_SPEED_NDR_SUPPORTED);
    says_so || info.link_speed_ext_supported().contains(LinkSpeedsExt::NDR)
}
