//! The subnet management agent of every node: Get and Set of the SM attributes.

use ib_mad::{Attribute, MadStatus, Method, MgmtClass};
use ib_routing::NodeIdx;
use ib_smp::{
    DrDirection, GuidInfo, LinearForwardingTable, MftModifier, MulticastForwardingTable,
    NodeDescription, NodeInfo, PKeyModifier, PartitionKeyTable, PortInfo, PortInfoModifier,
    PortState, SlToVlMappingTable, SlToVlModifier, SwitchInfo, VlArbitrationModifier,
    VlArbitrationTable,
};
use ib_wire::{Lid, PortNum};

use crate::frame::FrameIdx;
use crate::node::{PortIdx, default_sl_to_vl};
use crate::sim::{Sim, directed};

type Data = [u8; 64];

impl Sim {
    /// Turns the request in `frame` into its response; `false` if there is none.
    pub(crate) fn answer_smp(&mut self, arrival: PortIdx, frame: FrameIdx) -> bool {
        let Some(smp) = directed(&mut self.frames[frame].bytes) else {
            return false;
        };
        let (id, modifier) = (smp.attribute_id(), smp.attribute_modifier());
        let set = match smp.method() {
            Method::GET => false,
            Method::SET => true,
            _ => return false,
        };
        let mut data = *smp.smp_data();
        let status = self.attribute(arrival, id.0, modifier, set, &mut data);
        let Some(smp) = directed(&mut self.frames[frame].bytes) else {
            return false;
        };
        smp.set_method(Method::GET_RESP);
        if smp.mgmt_class() == MgmtClass::SUBN_DIRECTED {
            smp.set_d(DrDirection::RETURNING);
        }
        smp.set_status(status);
        smp.set_smp_data(&data);
        let node = self.ports[arrival].node;
        let node = &mut self.nodes[node];
        node.smps_answered = node.smps_answered.wrapping_add(1);
        true
    }

    fn attribute(
        &mut self,
        arrival: PortIdx,
        id: u16,
        modifier: u32,
        set: bool,
        data: &mut Data,
    ) -> MadStatus {
        const BAD: MadStatus = MadStatus::INVALID_FIELD_VALUE;
        let node_idx = self.ports[arrival].node;
        let number = self.ports[arrival].number;
        let node = &mut self.nodes[node_idx];
        match (ib_mad::AttributeId(id), set) {
            (NodeDescription::ID, false) => put(data, node.description.as_bytes()),
            (NodeInfo::ID, false) => {
                let mut info = node.info;
                info.set_local_port_num(number);
                let end = self.end_port(arrival);
                info.set_port_guid(self.ports[end].guid);
                put(data, info.as_bytes());
            }
            (SwitchInfo::ID, _) => {
                let Some(info) = &mut node.switch_info else {
                    return MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE;
                };
                if set {
                    let Ok((new, _)) = SwitchInfo::parse(data, 0) else {
                        return BAD;
                    };
                    if new.linear_fdb_top().0 >= info.linear_fdb_cap() {
                        return BAD;
                    }
                    let change = info.port_state_change() && !new.port_state_change();
                    info.set_linear_fdb_top(new.linear_fdb_top())
                        .set_default_port(new.default_port())
                        .set_default_multicast_primary_port(new.default_multicast_primary_port())
                        .set_default_multicast_not_primary_port(
                            new.default_multicast_not_primary_port(),
                        )
                        .set_life_time_value(new.life_time_value())
                        .set_port_state_change(change)
                        .set_multicast_fdb_top(new.multicast_fdb_top());
                }
                put(data, info.as_bytes());
            }
            (LinearForwardingTable::ID, _) if node.is_switch() => {
                let cap = node.switch_info.map_or(0, |info| info.linear_fdb_cap());
                let first = (modifier as usize).saturating_mul(64);
                if first >= usize::from(cap) {
                    return BAD;
                }
                if set {
                    let end = first.saturating_add(64);
                    if node.lft.len() < end {
                        node.lft.resize(end, PortNum::UNREACHABLE);
                    }
                    for (to, from) in node.lft.iter_mut().skip(first).zip(data.iter()) {
                        *to = PortNum(*from);
                    }
                }
                let entries = node.lft.iter().skip(first).map(|port| port.0);
                data.iter_mut()
                    .zip(entries.chain(std::iter::repeat(255)))
                    .for_each(|(to, from)| *to = from);
            }
            (MulticastForwardingTable::ID, _) if node.is_switch() => {
                let at = MftModifier::from_bits(modifier);
                let position = usize::from(at.position);
                let first = usize::from(at.block).saturating_mul(32);
                let cap = node.switch_info.map_or(0, |info| info.multicast_fdb_cap());
                if first >= usize::from(cap) || position > usize::from(node.num_ports / 16) {
                    return BAD;
                }
                let Ok((block, _)) = MulticastForwardingTable::parse_mut(data, 0) else {
                    return BAD;
                };
                if set {
                    if node.mft.len() <= position {
                        node.mft.resize(position.saturating_add(1), Vec::new());
                    }
                    if let Some(masks) = node.mft.get_mut(position) {
                        if masks.len() < first.saturating_add(32) {
                            masks.resize(first.saturating_add(32), 0);
                        }
                        for (at, to) in masks.iter_mut().skip(first).take(32).enumerate() {
                            *to = block.port_mask_block(at).unwrap_or(0);
                        }
                    }
                }
                let masks = node.mft.get(position).map_or(&[][..], Vec::as_slice);
                for at in 0..32usize {
                    let mask = masks.get(first.saturating_add(at)).copied().unwrap_or(0);
                    let _ = block.set_port_mask_block(at, mask);
                }
            }
            (PortInfo::ID, _) => {
                let Some(at) = PortInfoModifier::from_bits(modifier) else {
                    return BAD;
                };
                let Some(port) = self.addressed_port(arrival, at.port) else {
                    return BAD;
                };
                let mut status = MadStatus::OK;
                if set && let Ok((new, _)) = PortInfo::parse(data, 0) {
                    let new = *new;
                    status = self.set_port_info(port, &new);
                }
                let mut info = self.ports[port].info;
                info.set_local_port_num(number);
                put(data, info.as_bytes());
                return status;
            }
            (PartitionKeyTable::ID, _) => {
                let Some(at) = PKeyModifier::from_bits(modifier) else {
                    return BAD;
                };
                let Some(port) = self.addressed_port(arrival, at.port) else {
                    return BAD;
                };
                let capacity = self.p_key_capacity(port);
                if at.block.saturating_mul(32) >= capacity {
                    return BAD;
                }
                let block = usize::from(at.block);
                let tables = &mut self.ports[port].p_keys;
                if set && let Ok((new, _)) = PartitionKeyTable::parse(data, 0) {
                    if tables.len() <= block {
                        tables.resize(block.saturating_add(1), PartitionKeyTable::default());
                    }
                    if let Some(table) = tables.get_mut(block) {
                        *table = *new;
                    }
                }
                let table = tables.get(block).copied().unwrap_or_default();
                put(data, table.as_bytes());
            }
            (SlToVlMappingTable::ID, _) => {
                let node = &mut self.nodes[node_idx];
                let ports = node.num_ports;
                let switch = node.is_switch();
                let pairs = match SlToVlModifier::from_bits(modifier) {
                    Some(SlToVlModifier::Pair { input, output }) if switch => {
                        (input.0..=input.0, output.0..=output.0)
                    }
                    Some(_) if !switch => (0..=0, number.0..=number.0),
                    Some(SlToVlModifier::AllInputs { output }) => (0..=ports, output.0..=output.0),
                    Some(SlToVlModifier::AllOutputs { input }) => (input.0..=input.0, 0..=ports),
                    Some(SlToVlModifier::All) => (0..=ports, 0..=ports),
                    _ => return BAD,
                };
                if *pairs.0.end() > ports || *pairs.1.end() > ports {
                    return BAD;
                }
                let first = (*pairs.0.start(), *pairs.1.start());
                if set && let Ok((new, _)) = SlToVlMappingTable::parse(data, 0) {
                    for input in pairs.0 {
                        for output in pairs.1.clone() {
                            node.sl_to_vl.insert((input, output), *new);
                        }
                    }
                }
                let table = node.sl_to_vl.get(&first).copied();
                put(data, table.unwrap_or_else(default_sl_to_vl).as_bytes());
            }
            (VlArbitrationTable::ID, _) => {
                let Some(at) = VlArbitrationModifier::from_bits(modifier) else {
                    return BAD;
                };
                let Some(port) = self.addressed_port(arrival, at.port) else {
                    return BAD;
                };
                let tables = &mut self.ports[port].vl_arbitration;
                let index = (at.half as usize).saturating_sub(1);
                if set && let Ok((new, _)) = VlArbitrationTable::parse(data, 0) {
                    let tables = tables.get_or_insert_with(Box::default);
                    if let Some(table) = tables.get_mut(index) {
                        *table = *new;
                    }
                }
                let table = tables
                    .as_ref()
                    .and_then(|tables| tables.get(index))
                    .copied();
                put(data, table.unwrap_or_default().as_bytes());
            }
            (GuidInfo::ID, _) => {
                let end = self.end_port(arrival);
                let mut info = GuidInfo::default();
                if modifier == 0 {
                    let _ = info.set_guid_block(0, self.ports[end].guid);
                }
                put(data, info.as_bytes());
            }
            _ => return MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE,
        }
        MadStatus::OK
    }

    /// The port that a modifier names: 0 is the port of arrival on a CA, port 0 on a switch.
    fn addressed_port(&self, arrival: PortIdx, number: PortNum) -> Option<PortIdx> {
        let node = &self.nodes[self.ports[arrival].node];
        if number == PortNum::MANAGEMENT && !node.is_switch() {
            return Some(self.end_port(arrival));
        }
        node.port_idx(number)
    }

    fn p_key_capacity(&self, port: PortIdx) -> u16 {
        let number = self.ports[port].number;
        let node = &self.nodes[self.ports[port].node];
        match node.switch_info {
            Some(info) if number != PortNum::MANAGEMENT => info.partition_enforcement_cap(),
            _ => node.info.partition_cap(),
        }
    }

    fn set_port_info(&mut self, port: PortIdx, new: &PortInfo) -> MadStatus {
        let end_port = self.end_port(port) == port;
        let external = self.ports[port].number != PortNum::MANAGEMENT;
        let info = &mut self.ports[port].info;
        if end_port {
            if new.lid() != Lid::NONE && !new.lid().is_unicast() {
                return MadStatus::INVALID_FIELD_VALUE;
            }
            info.set_m_key(new.m_key())
                .set_gid_prefix(new.gid_prefix())
                .set_lid(new.lid())
                .set_master_sm_lid(new.master_sm_lid())
                .set_m_key_lease_period(new.m_key_lease_period())
                .set_m_key_protect_bits(new.m_key_protect_bits())
                .set_lmc(new.lmc())
                .set_master_sm_sl(new.master_sm_sl())
                .set_client_reregister(new.client_reregister())
                .set_subnet_timeout(new.subnet_timeout());
        }
        if external {
            if new.operational_vls().0 != 0 {
                info.set_operational_vls(new.operational_vls());
            }
            info.set_neighbor_mtu(new.neighbor_mtu())
                .set_vl_high_limit(new.vl_high_limit())
                .set_vl_stall_count(new.vl_stall_count())
                .set_hoq_life(new.hoq_life())
                .set_partition_enforcement_inbound(new.partition_enforcement_inbound())
                .set_partition_enforcement_outbound(new.partition_enforcement_outbound())
                .set_local_phy_errors(new.local_phy_errors())
                .set_overrun_errors(new.overrun_errors());
        }
        let now = info.port_state();
        match (new.port_state(), now) {
            (PortState::NO_CHANGE, _) => MadStatus::OK,
            (PortState::ARMED, PortState::INITIALIZE)
            | (PortState::ACTIVE, PortState::ARMED)
            | (PortState::ARMED, PortState::ARMED)
            | (PortState::ACTIVE, PortState::ACTIVE) => {
                self.set_port_state(port, new.port_state());
                MadStatus::OK
            }
            (PortState::DOWN, _) if external => {
                let peer = self.ports[port].peer;
                self.link_lost(port);
                self.train(port);
                if let Some(peer) = peer {
                    self.link_lost(peer);
                }
                MadStatus::OK
            }
            _ => MadStatus::INVALID_FIELD_VALUE,
        }
    }

    /// A port of this node changed its state: a switch notes it in SwitchInfo.
    pub(crate) fn note_state_change(&mut self, node: NodeIdx) {
        if let Some(info) = self.nodes[node].switch_info.as_mut() {
            info.set_port_state_change(true);
        }
    }
}

fn put(data: &mut Data, bytes: &[u8]) {
    *data = [0; 64];
    for (to, from) in data.iter_mut().zip(bytes) {
        *to = *from;
    }
}
