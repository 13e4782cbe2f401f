//! Answers to PortInfo: links that came up or went down, restarts, and the reads that follow.

use ib_mad::Attribute;
use ib_smp::{
    CapabilityMask, MlnxExtPortInfo, NodeInfo, PartitionKeyTable, PortInfo, PortPhysicalState,
    PortState, SmInfo,
};
use ib_wire::{Lid, PortNum};

use super::{Scope, Walk};
use crate::{
    NodeId, PortId, ReadTarget, Subnet, SubnetNode, SubnetPort,
    discovery::has_vendor_speeds,
    link_speed::{active_speed, has_speeds_beyond_hdr},
};

impl Walk {
    pub(super) fn on_port_info(
        &mut self,
        subnet: &mut Subnet,
        port: PortId,
        info: PortInfo,
        extended: bool,
    ) {
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
        let node_info = *node.info();
        let extended_speeds = node.port(match node.is_switch() {
            true => PortNum::MANAGEMENT,
            false => port.port,
        });
        let extended_speeds = extended_speeds
            .and_then(SubnetPort::info)
            .or_else(|| is_end_port.then_some(&info))
            .is_some_and(|info| {
                info.capability_mask()
                    .contains(CapabilityMask::IS_EXTENDED_SPEEDS_SUPPORTED)
            });
        let Some(record) = subnet.port_mut(port) else {
            return;
        };
        let first_in_this_walk = record.note_read(number);
        self.outcome.changed.insert(port.node);
        let had_lid = record.info().is_some_and(|known| known.lid() != Lid::NONE);
        // Its top may be there: a manager that did not know of the restart writes SwitchInfo as a whole.
        let is_restarted_switch = is_end_port && had_lid && info.lid() == Lid::NONE;
        let was_active = record.state() == PortState::ACTIVE;
        let is_active = info.port_state() == PortState::ACTIVE;
        record.observe(info);
        let (is_up, has_peer) = (record.is_up(), record.peer().is_some());
        let unread_keys = record.p_key_table().is_empty();
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
        if is_restarted_switch && let Some(node) = subnet.node_mut(port.node) {
            node.note_restart();
            self.read_unknown_blocks(subnet, port.node);
        }
        if !leads_on {
            return;
        }
        if !is_up {
            let peer = subnet.port(port).and_then(SubnetPort::peer);
            if let Some(peer) = peer.filter(|_| self.scope == Scope::Ports) {
                self.read_around(subnet, peer.node);
            }
            self.unlink(subnet, port);
            if let Some(record) = subnet.port_mut(port) {
                record.set_neighbor_silent(false);
            }
            return;
        }
        if is_settled {
            if let Some(record) = subnet.port_mut(port) {
                record.confirm_cable(number);
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
        let peers = node.ports().filter_map(|(_, port)| port.peer());
        let peers: alloc::vec::Vec<PortId> = peers.collect();
        for peer in peers {
            let is_switch = subnet.switch(peer.node).is_some();
            let number = self.number;
            let Some(port) = subnet.port_mut(peer).filter(|_| is_switch) else {
                continue;
            };
            if port.note_asked(number) && !port.is_read_in(number) {
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
        if is_fast && node.ask_all_speeds() {
            // Earlier answers lack the speeds as well.
            let earlier = node.ports();
            let earlier =
                earlier.filter(|(_, port)| port.info().is_some() && port.is_read_in(number));
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
            .is_some_and(SubnetNode::shows_all_speeds)
            && !extended;
        if lacks {
            self.ask(ReadTarget::Port(port), PortInfo::ID, port.port.0.into());
        }
        lacks
    }
}
