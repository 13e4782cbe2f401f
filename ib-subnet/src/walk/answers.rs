//! The answers of a walk: the facts to record, and the reads that follow.

use ib_mad::{Attribute, Mad};
use ib_smp::{
    CapabilityMask, LinearForwardingTable, MlnxExtPortInfo, NodeDescription, NodeInfo, NodeType,
    PKeyModifier, PartitionKeyTable, PortInfo, PortInfoModifier, PortPhysicalState, PortState,
    SmInfo, SmpDirected, SwitchInfo, VendorLinkSpeeds,
};
use ib_wire::{Guid, Lid, PortNum};

use super::{Finding, Scope, Unresponsive, Walk};
use crate::{
    Block, NodeId, PortId, Read, ReadTarget, Subnet,
    discovery::has_vendor_speeds,
    link_speed::{active_speed, has_speeds_beyond_hdr},
    node::{AllSpeeds, Trust},
    route::Reach,
};

impl Walk {
    /// Accepts the answer to a read.
    pub fn handle_answer(&mut self, subnet: &mut Subnet, read: Read, mad: &Mad) {
        let Ok((smp, _)) = SmpDirected::parse(&mad.bytes, 0) else {
            return;
        };
        let is_ok = smp.status().is_ok() && smp.attribute_id() == read.attribute;
        let understood = if is_ok {
            self.take_in(subnet, read, smp)
        } else {
            self.is_optional(subnet, read, smp)
        };
        if !understood {
            self.findings.push_back(Finding::Refused {
                at: read.target.port().map(|port| subnet.port_at(port)),
                attribute_id: read.attribute,
                status: smp.status(),
            });
            if self.scope == Scope::Changes {
                self.mark_failed(subnet, read);
            }
        }
    }

    /// Handles a read that was given up.
    pub fn handle_failure(&mut self, subnet: &mut Subnet, read: Read) {
        let neighbor = matches!(read.target, ReadTarget::Behind(_));
        match read.target {
            _ if self.scope == Scope::Changes => {
                self.mark_failed(subnet, read);
                return;
            }
            // Another manager need not answer, nor a device that does not support the vendor's attribute.
            ReadTarget::Port(_)
                if read.attribute == SmInfo::ID || read.attribute == MlnxExtPortInfo::ID =>
            {
                return;
            }
            // The second question to a suspected node: its first answer stays valid.
            ReadTarget::Port(_) if read.attribute == NodeInfo::ID => return,
            ReadTarget::Behind(port) => {
                subnet.forget_m_key_behind(port);
                self.unlink(subnet, port);
                if let Some(port) = subnet.port_mut(port) {
                    port.neighbor_silent = true;
                }
            }
            ReadTarget::Port(port) => {
                subnet.forget_m_key(port);
                if !subnet.set_silent(port.node) {
                    return;
                }
            }
            ReadTarget::OwnNode => subnet.note_own_failure(),
        }
        let reach = reach_asked(subnet, read.target).unwrap_or_default();
        self.findings.push_back(Finding::Unresponsive(Unresponsive {
            path: reach.path,
            at: read.target.port().map(|port| subnet.port_at(port)),
            neighbor,
            attribute_id: read.attribute,
        }));
    }

    fn take_in(&mut self, subnet: &mut Subnet, read: Read, smp: &SmpDirected) -> bool {
        let data = smp.smp_data();
        match read.target {
            ReadTarget::OwnNode => {
                subnet.note_own_answer();
                self.take_in_node_info(subnet, None, data)
            }
            ReadTarget::Behind(port) if self.scope == Scope::Changes => {
                self.outcome.marked.insert(port);
                true
            }
            ReadTarget::Behind(port) => self.take_in_node_info(subnet, Some(port), data),
            ReadTarget::Port(port) => match read.attribute {
                NodeInfo::ID => match NodeInfo::parse(data, 0) {
                    Ok((info, _)) if self.scope == Scope::Changes => {
                        let known = subnet.node(port.node).map(|node| node.info.node_type());
                        self.outcome.inconsistent |= known != Some(info.node_type());
                        true
                    }
                    Ok((info, _)) => {
                        self.on_node_info_again(subnet, port.node, info);
                        true
                    }
                    Err(_) => false,
                },
                NodeDescription::ID => {
                    if let Some(node) = subnet.node_mut(port.node) {
                        node.description = NodeDescription::from_bytes(*data);
                    }
                    true
                }
                SwitchInfo::ID => match SwitchInfo::parse(data, 0) {
                    Ok((info, _)) if self.scope == Scope::Changes => {
                        self.compare_switch_info(subnet, port, info);
                        true
                    }
                    Ok((info, _)) => {
                        self.on_switch_info(subnet, port.node, info);
                        true
                    }
                    Err(_) => false,
                },
                PortInfo::ID => {
                    let modifier = PortInfoModifier::from_bits(smp.attribute_modifier());
                    let extended = modifier.is_some_and(|modifier| modifier.extended_speeds);
                    let info = PortInfo::from_bytes(*data);
                    if self.scope == Scope::Changes {
                        self.compare_port(subnet, port, &info);
                    } else {
                        self.on_port_info(subnet, port, info, extended);
                    }
                    true
                }
                PartitionKeyTable::ID => {
                    self.on_p_key_table(subnet, port, read.modifier, data);
                    true
                }
                SmInfo::ID => match SmInfo::parse(data, 0) {
                    Ok((info, _)) => {
                        let finding = Finding::Manager { port, info: *info };
                        self.findings.push_back(finding);
                        true
                    }
                    Err(_) => false,
                },
                MlnxExtPortInfo::ID => {
                    if let (Ok((info, _)), Some(port)) =
                        (MlnxExtPortInfo::parse(data, 0), subnet.port_mut(port))
                    {
                        port.fdr10 = info.link_speed_active().contains(VendorLinkSpeeds::FDR10);
                        port.vendor_speeds = Some(*info);
                    }
                    true
                }
                _ => {
                    let block = Block {
                        port,
                        attribute: read.attribute,
                        modifier: read.modifier,
                    };
                    subnet.record(block, data);
                    true
                }
            },
        }
    }

    /// Whether a refusal need not be reported: that of an attribute that a device may lack, or that of the bit
    /// that shows speeds beyond HDR. In the second case PortInfo is read once more without the bit.
    fn is_optional(&mut self, subnet: &mut Subnet, read: Read, smp: &SmpDirected) -> bool {
        let ReadTarget::Port(port) = read.target else {
            return false;
        };
        match read.attribute {
            MlnxExtPortInfo::ID | SmInfo::ID => true,
            PortInfo::ID => {
                let modifier = PortInfoModifier::from_bits(smp.attribute_modifier());
                let extended = modifier.is_some_and(|modifier| modifier.extended_speeds);
                if extended && let Some(node) = subnet.node_mut(port.node) {
                    node.all_speeds = AllSpeeds::Refused;
                    self.queue.push_back(read);
                }
                extended
            }
            _ => false,
        }
    }

    fn take_in_node_info(
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
            self.findings.push_back(Finding::InvalidNodeInfo {
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
                    .is_some_and(|port| port.read_in == self.number)
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
        let same_kind = |node: &crate::Node| {
            node.info.node_type() == info.node_type() && node.info.num_ports() == info.num_ports()
        };
        match known.and_then(|id| Some((id, subnet.node(id)?))) {
            Some((_, node)) if node.read_in == self.number && !same_kind(node) => {
                self.claimed_twice(subnet, behind, info);
                None
            }
            Some((id, node)) if node.read_in == self.number => Some(id),
            Some((id, node)) if same_kind(node) => {
                // The link of a port that stayed Active was never down, so the node was not restarted.
                let may_be_restarted = behind.is_none_or(|port| {
                    let port = subnet.port(port);
                    port.is_none_or(|port| port.state() != PortState::ACTIVE || port.peer.is_none())
                });
                if self.scope == Scope::Everything
                    && let Some(node) = subnet.node_mut(id)
                {
                    node.reach = reach;
                    node.found_via = behind;
                }
                if self.scope == Scope::Everything || may_be_restarted {
                    if let Some(node) = subnet.node_mut(id) {
                        node.info = *info;
                    }
                    self.read_node(subnet, id, info.local_port_num());
                }
                Some(id)
            }
            _ => {
                let id = subnet.add(*info, reach);
                if let Some(node) = subnet.node_mut(id) {
                    node.found_via = behind;
                }
                if known.is_none() {
                    self.findings.push_back(Finding::NodeFound(id));
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
        node.read_in = self.number;
        let (is_switch, guid) = (node.is_switch(), node.info.port_guid());
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
        let is_restarted = behind.is_none_or(|port| {
            subnet
                .port(port)
                .is_none_or(|port| port.state() != PortState::ACTIVE)
        });
        let Some(port) = subnet.port_mut(here) else {
            return;
        };
        if port.asked_in == number {
            return;
        }
        let is_new = port.reach.is_none();
        if is_new || is_everything || is_restarted {
            port.asked_in = number;
            port.reach = Some(reach);
            subnet.set_port_guid(here, info.port_guid());
            self.ask(ReadTarget::Port(here), PortInfo::ID, here.port.0.into());
        }
    }

    fn claimed_twice(&mut self, subnet: &mut Subnet, behind: Option<PortId>, info: &NodeInfo) {
        if self.scope == Scope::Ports {
            self.outcome.inconsistent = true;
            return;
        }
        self.findings.push_back(Finding::DuplicateGuid {
            node_guid: info.node_guid(),
            behind: behind.map(|port| subnet.port_at(port)),
        });
        // Either two nodes have this GUID, or the node before the cable answered earlier under another GUID.
        if let Some(behind) = behind
            && let Some(in_front) = subnet.node_mut(behind.node)
            && in_front.trust == Trust::Given
        {
            in_front.trust = Trust::Checked;
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

    fn on_node_info_again(&mut self, subnet: &mut Subnet, id: NodeId, info: &NodeInfo) {
        let Some(node) = subnet.node(id) else { return };
        let (before, now) = (node.info.node_guid(), info.node_guid());
        let (path, via) = (node.reach.path, node.found_via);
        if now != before {
            subnet.distrust(id);
            self.findings.push_back(Finding::GuidChanged {
                path,
                behind: via.map(|port| subnet.port_at(port)),
                before,
                now,
            });
        }
    }

    fn on_switch_info(&mut self, subnet: &mut Subnet, id: NodeId, info: &SwitchInfo) {
        let top = info.linear_fdb_top();
        let Some(switch) = subnet.switch_mut(id) else {
            return;
        };
        // A switch that was restarted has lost its top, and with it the content of its tables.
        let known_top = switch.info.map(|known| known.linear_fdb_top());
        if known_top != Some(top) {
            switch.forget_tables();
            switch.is_fresh = top == Lid::NONE;
        }
        switch.info = Some(*info);
        self.read_unknown_blocks(subnet, id);
    }

    /// Queues the reads of the blocks of a switch's linear table that are in use and unknown.
    fn read_unknown_blocks(&mut self, subnet: &Subnet, id: NodeId) {
        let Some(switch) = subnet.switch(id) else {
            return;
        };
        let top = switch.info.map_or(Lid::NONE, |info| info.linear_fdb_top());
        if !self.options.tables || top == Lid::NONE {
            return;
        }
        // Entries above the top have no meaning.
        let (last, _) = LinearForwardingTable::block_of(top);
        let unknown: alloc::vec::Vec<u16> = (0..=last)
            .filter(|&block| switch.lft.block(block).is_none())
            .collect();
        for block in unknown {
            let target = ReadTarget::Port(PortId::management(id));
            self.ask(target, LinearForwardingTable::ID, block.into());
        }
    }

    fn on_port_info(&mut self, subnet: &mut Subnet, port: PortId, info: PortInfo, extended: bool) {
        if self.reads_all_speeds(subnet, port, &info, extended) {
            return;
        }
        let is_end_port = subnet.is_end_port(port);
        let own = subnet.own_port();
        let number = self.number;
        let Some(node) = subnet.node(port.node) else {
            return;
        };
        let leads_on = match node.is_switch() {
            true => port.port != PortNum::MANAGEMENT,
            false => own == Some(port),
        };
        let node_info = node.info;
        let extended_speeds = node.port(match node.is_switch() {
            true => PortNum::MANAGEMENT,
            false => port.port,
        });
        let extended_speeds = extended_speeds
            .and_then(|port| port.info)
            .or_else(|| is_end_port.then_some(info))
            .is_some_and(|info| {
                info.capability_mask()
                    .contains(CapabilityMask::IS_EXTENDED_SPEEDS_SUPPORTED)
            });
        let Some(record) = subnet.port_mut(port) else {
            return;
        };
        let first_in_this_walk = core::mem::replace(&mut record.read_in, number) != number;
        self.outcome.changed.insert(port.node);
        let is_new = record.info.is_none();
        let had_lid = record.info.is_some_and(|known| known.lid() != Lid::NONE);
        // Its top may be there: a manager that did not know of the restart writes SwitchInfo as a whole.
        let is_restarted_switch = is_end_port && had_lid && info.lid() == Lid::NONE;
        let was_active = record.state() == PortState::ACTIVE;
        let is_active = info.port_state() == PortState::ACTIVE;
        // A port that is Active has not been restarted.
        if !is_active {
            record.forget_tables();
        }
        record.was_active |= is_new && is_active;
        record.fdr10 &= is_active;
        record.set_info(info);
        let (is_up, has_peer) = (record.is_up(), record.peer.is_some());
        let unread_keys = record.p_key_table.is_empty();
        // The own port's mask has IsSM too.
        let is_managed = info.capability_mask().contains(CapabilityMask::IS_SM);
        if self.options.managers
            && is_managed
            && is_end_port
            && own != Some(port)
            && first_in_this_walk
        {
            self.ask(ReadTarget::Port(port), SmInfo::ID, 0);
        }
        if self.options.tables && is_end_port && unread_keys {
            self.ask(ReadTarget::Port(port), PartitionKeyTable::ID, 0);
        }
        let is_linked = info.port_physical_state() == PortPhysicalState::LINK_UP;
        // The link of a port that stayed Active was never down, so its cable and its speed are the same.
        let is_settled = self.scope == Scope::Ports && has_peer && was_active && is_active;
        if self.options.vendor_speeds
            && is_linked
            && !is_settled
            && has_vendor_speeds(&node_info)
            && active_speed(&info, extended_speeds) == Some(ib_routing::LinkSpeed::Qdr)
        {
            self.ask(
                ReadTarget::Port(port),
                MlnxExtPortInfo::ID,
                port.port.0.into(),
            );
        }
        if is_restarted_switch && let Some(switch) = subnet.switch_mut(port.node) {
            switch.forget_tables();
            switch.is_start = false;
            if let Some(node) = subnet.node_mut(port.node) {
                node.ports.iter_mut().for_each(crate::Port::forget_tables);
            }
            self.read_unknown_blocks(subnet, port.node);
        }
        if !leads_on {
            return;
        }
        if !is_up {
            let peer = subnet.port(port).and_then(|port| port.peer);
            if let Some(peer) = peer.filter(|_| self.scope == Scope::Ports) {
                self.read_around(subnet, peer.node);
            }
            self.unlink(subnet, port);
            if let Some(record) = subnet.port_mut(port) {
                record.neighbor_silent = false;
            }
            return;
        }
        if is_settled {
            if let Some(record) = subnet.port_mut(port) {
                record.linked_in = number;
            }
        } else {
            self.ask(ReadTarget::Behind(port), NodeInfo::ID, 0);
        }
    }

    /// Reads the ports of other switches that are cabled to a switch which lost a cable. If that switch is off,
    /// all these ports are down. This is then known without waiting for the time-outs of requests to the switch
    /// or through it.
    fn read_around(&mut self, subnet: &mut Subnet, id: NodeId) {
        let Some(node) = subnet.node(id).filter(|node| node.is_switch()) else {
            return;
        };
        let peers = node.ports().filter_map(|(_, port)| port.peer);
        let peers: alloc::vec::Vec<PortId> = peers.collect();
        for peer in peers {
            let is_switch = subnet.switch(peer.node).is_some();
            let number = self.number;
            let Some(port) = subnet.port_mut(peer).filter(|_| is_switch) else {
                continue;
            };
            if core::mem::replace(&mut port.asked_in, number) != number && port.read_in != number {
                self.ask(ReadTarget::Port(peer), PortInfo::ID, peer.port.0.into());
            }
        }
    }

    /// Reads PortInfo once more, with bit 31 of the modifier, for the ports of a device that supports NDR or XDR:
    /// older devices refuse the bit. The capabilities of port 0 of a switch, or the speeds of one of its ports,
    /// apply to all its ports. Returns whether this answer lacks the speeds.
    fn reads_all_speeds(
        &mut self,
        subnet: &mut Subnet,
        port: PortId,
        info: &PortInfo,
        extended: bool,
    ) -> bool {
        let is_fast = has_speeds_beyond_hdr(info, subnet.is_end_port(port));
        let number = self.number;
        let Some(node) = subnet.node_mut(port.node) else {
            return false;
        };
        if is_fast && node.all_speeds == AllSpeeds::Unasked {
            node.all_speeds = AllSpeeds::Asked;
            // Earlier answers lack the speeds as well.
            let earlier = node.ports();
            let earlier = earlier.filter(|(_, port)| port.info.is_some() && port.read_in == number);
            let earlier: alloc::vec::Vec<PortNum> = earlier.map(|(number, _)| number).collect();
            for number in earlier {
                let target = ReadTarget::Port(PortId {
                    port: number,
                    ..port
                });
                self.ask(target, PortInfo::ID, number.0.into());
            }
        }
        let lacks = subnet
            .node(port.node)
            .is_some_and(|node| node.all_speeds == AllSpeeds::Asked)
            && !extended;
        if lacks {
            self.ask(ReadTarget::Port(port), PortInfo::ID, port.port.0.into());
        }
        lacks
    }

    /// Records a block of a P_Key table. Tables are filled from the front: if a block ends with a free entry, the
    /// blocks after it are empty.
    fn on_p_key_table(
        &mut self,
        subnet: &mut Subnet,
        port: PortId,
        modifier: u32,
        data: &[u8; 64],
    ) {
        let Some(at) = PKeyModifier::from_bits(modifier) else {
            return;
        };
        let entries = subnet.node(port.node).map_or(0, |node| match &node.switch {
            Some(switch) if port.port != PortNum::MANAGEMENT => switch
                .info
                .map_or(0, |info| info.partition_enforcement_cap()),
            _ => node.info.partition_cap(),
        });
        let attribute = PartitionKeyTable::ID;
        subnet.record(
            Block {
                port,
                attribute,
                modifier,
            },
            data,
        );
        let next = at.block.saturating_add(1);
        if !data.ends_with(&[0, 0]) && next < entries.div_ceil(PartitionKeyTable::ENTRIES) {
            let next = PKeyModifier { block: next, ..at };
            self.ask(ReadTarget::Port(port), attribute, next.bits());
        }
    }

    /// Marks a switch whose SwitchInfo has changed.
    fn compare_switch_info(&mut self, subnet: &Subnet, port: PortId, info: &SwitchInfo) {
        let known = subnet.switch(port.node).and_then(|switch| switch.info);
        // A switch that was restarted has lost its top.
        let is_other = known.is_none_or(|known| known.linear_fdb_top() != info.linear_fdb_top());
        if is_other || info.port_state_change() {
            self.outcome.marked.insert(port);
        }
    }

    /// Marks a port if its state has changed, or if it has lost its LID: the device was restarted then.
    ///
    /// If the port serves another master, that one has configured the subnet meanwhile, and nothing that is known need
    /// hold.
    fn compare_port(&mut self, subnet: &Subnet, port: PortId, info: &PortInfo) {
        let known = subnet.port(port);
        let before = known.and_then(|port| port.info());
        let had_lid = before.is_some_and(|before| before.lid() != Lid(0));
        let has_lost_lid = had_lid && info.lid() == Lid(0);
        if has_lost_lid || known.map(crate::Port::state) != Some(info.port_state()) {
            self.outcome.marked.insert(port);
        }
        let master = before.map(|before| before.master_sm_lid());
        if had_lid && !has_lost_lid && master != Some(info.master_sm_lid()) {
            self.outcome.inconsistent = true;
        }
    }

    /// Marks the device that a walk for changes could not read, and the switches around it: their ports show
    /// whether its cables are still connected.
    fn mark_failed(&mut self, subnet: &Subnet, read: Read) {
        let ReadTarget::Port(port) = read.target else {
            return;
        };
        if read.attribute == SmInfo::ID {
            return;
        }
        self.outcome.marked.insert(port);
        if let Some(node) = subnet.node(port.node) {
            let peers = node.ports().filter_map(|(_, port)| port.peer);
            let around = peers.filter(|peer| subnet.switch(peer.node).is_some());
            self.outcome.marked.extend(around);
        }
    }
}

/// The route of a read that was answered, even if the read would not be sent any more.
fn reach_asked(subnet: &Subnet, target: ReadTarget) -> Option<Reach> {
    match target {
        ReadTarget::OwnNode => Some(Reach::default()),
        ReadTarget::Port(port) => subnet.reach(port),
        ReadTarget::Behind(port) => subnet.reach_behind(port),
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
