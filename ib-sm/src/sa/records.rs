//! Records that repeat what devices told (IBA vol. 1, 15.2.5).

use alloc::vec::Vec;

use ib_mad::SmKey;
use ib_sa::{
    GuidInfoRecord, LinearForwardingTableRecord, LinkRecord, MulticastForwardingTableRecord,
    NodeRecord, PKeyTableRecord, PortInfoRecord, SlToVlMappingTableRecord, SmInfoRecord,
    SwitchInfoRecord, VlArbitrationTableRecord,
};
use ib_smp::{
    GuidInfo, LinearForwardingTable, MulticastForwardingTable, PartitionKeyTable,
    VlArbitrationTable,
};
use ib_wire::{Lid, PortNum, addr::LidRange};

use super::{AliasGuids, View};
use crate::subnet::{Node, NodeIdx, Port, PortRef};

/// End ports that have LIDs, with their nodes, as far as who asks may know of them.
fn seen(view: View<'_>) -> impl Iterator<Item = (PortRef, &Node, LidRange)> {
    end_ports(view).filter(move |&(at, ..)| view.sees(at))
}

/// End ports that have LIDs, with their nodes.
pub(super) fn end_ports(view: View<'_>) -> impl Iterator<Item = (PortRef, &Node, LidRange)> {
    view.subnet.nodes().flat_map(|(index, node)| {
        node.ports()
            .filter(|(num, _)| node.is_switch() == (num.0 == 0))
            .filter_map(move |(port, record)| {
                Some((PortRef { node: index, port }, node, record.lids?))
            })
    })
}

/// NodeRecord of every end port.
pub(super) fn nodes(view: View<'_>) -> Vec<NodeRecord> {
    let records = seen(view).filter_map(|(at, node, lids)| {
        let mut info = node.info;
        info.set_port_guid(node.port(at.port)?.guid)
            .set_local_port_num(at.port);
        let mut record = NodeRecord::default();
        record
            .set_lid(lids.base())
            .set_node_info(&info)
            .set_node_description(&node.description);
        Some(record)
    });
    records.collect()
}

/// PortInfoRecord of every port: those of a switch go by the LID of its port 0. M_Keys are not told.
pub(super) fn ports(view: View<'_>) -> Vec<PortInfoRecord> {
    let mut records = Vec::new();
    for (index, node) in view.subnet.nodes() {
        for (port, entry) in node.ports() {
            let (Some(mut info), Some(lid)) = (entry.info, port_lid(view, index, port)) else {
                continue;
            };
            if !view.sees(end_port(node, index, port)) {
                continue;
            }
            info.set_m_key(ib_wire::MKey(0));
            let mut record = PortInfoRecord::default();
            record
                .set_endport_lid(lid)
                .set_port_num(port)
                .set_port_info(&info);
            records.push(record);
        }
    }
    records
}

/// SwitchInfoRecord of every switch.
pub(super) fn switches(view: View<'_>) -> Vec<SwitchInfoRecord> {
    let records = seen(view).filter_map(|(_, node, lids)| {
        let mut record = SwitchInfoRecord::default();
        record
            .set_lid(lids.base())
            .set_switch_info(&node.switch.as_ref()?.info?);
        Some(record)
    });
    records.collect()
}

/// LinkRecord of every link, once in each direction.
pub(super) fn links(view: View<'_>) -> Vec<LinkRecord> {
    let mut records = Vec::new();
    for (index, node) in view.subnet.nodes() {
        for (port, entry) in node.ports() {
            let Some(peer) = entry.peer.filter(|_| entry.is_up()) else {
                continue;
            };
            let other = view.subnet.node(peer.node);
            let sees_both = view.sees(end_port(node, index, port))
                && other.is_some_and(|other| view.sees(end_port(other, peer.node, peer.port)));
            if !sees_both {
                continue;
            }
            let from = port_lid(view, index, port);
            let to = port_lid(view, peer.node, peer.port);
            if let (Some(from), Some(to)) = (from, to) {
                let mut record = LinkRecord::default();
                record
                    .set_from_lid(from)
                    .set_from_port(port)
                    .set_to_lid(to)
                    .set_to_port(peer.port);
                records.push(record);
            }
        }
    }
    records
}

/// The blocks that stand in the switches.
pub(super) fn forwarding_tables(view: View<'_>) -> Vec<LinearForwardingTableRecord> {
    let mut records = Vec::new();
    for (_, node, lids) in seen(view) {
        let Some(switch) = &node.switch else {
            continue;
        };
        for block in 0..LinearForwardingTable::BLOCKS {
            let Some(&bytes) = switch.lft.block(block) else {
                continue;
            };
            let mut record = LinearForwardingTableRecord::default();
            record
                .set_lid(lids.base())
                .set_block_num(block)
                .set_linear_forwarding_table(&LinearForwardingTable::from_bytes(bytes));
            records.push(record);
        }
    }
    records
}

/// The blocks of multicast tables that stand in the switches, as far as anything stands in them.
pub(super) fn multicast_tables(view: View<'_>) -> Vec<MulticastForwardingTableRecord> {
    let mut records = Vec::new();
    for (_, node, lids) in seen(view) {
        let tables = node.switch.iter().flat_map(|switch| &switch.mft);
        for (at, &bytes) in tables.filter(|(_, bytes)| **bytes != [0; 64]) {
            let mut record = MulticastForwardingTableRecord::default();
            record
                .set_lid(lids.base())
                .set_position(at.position)
                .set_block_num(at.block)
                .set_multicast_forwarding_table(&MulticastForwardingTable::from_bytes(bytes));
            records.push(record);
        }
    }
    records
}

/// The SLtoVL tables that were read or written: of a switch by input and output port.
pub(super) fn sl_to_vl_tables(view: View<'_>) -> Vec<SlToVlMappingTableRecord> {
    let mut records = Vec::new();
    for (at, node, lids) in seen(view) {
        let own = node.port(at.port).and_then(|port| port.sl_to_vl);
        let own = own.map(|table| ((PortNum(0), at.port), table));
        let of_switch = node.switch.iter().flat_map(|switch| &switch.sl_to_vl);
        let all = of_switch.map(|(&ports, &table)| (ports, table));
        for ((input, output), table) in own.into_iter().chain(all) {
            let mut record = SlToVlMappingTableRecord::default();
            record
                .set_lid(lids.base())
                .set_input_port_num(input)
                .set_output_port_num(output)
                .set_sl_to_vl_mapping_table(&table);
            records.push(record);
        }
    }
    records
}

/// The VL arbitration tables that were read or written, by blocks.
pub(super) fn vl_arbitration_tables(view: View<'_>) -> Vec<VlArbitrationTableRecord> {
    let mut records = Vec::new();
    for (port, lid, entry) in all_ports(view) {
        for (block, &bytes) in entry.vl_arbitration.blocks() {
            let mut record = VlArbitrationTableRecord::default();
            record
                .set_lid(lid)
                .set_output_port_num(port)
                // Blocks count from 1 as in the attribute's modifier; there are four.
                .set_block_num(block.saturating_add(1) as u8)
                .set_vl_arbitration_table(&VlArbitrationTable::from_bytes(bytes));
            records.push(record);
        }
    }
    records
}

/// The P_Key tables that were read or written, by blocks.
pub(super) fn p_key_tables(view: View<'_>) -> Vec<PKeyTableRecord> {
    let mut records = Vec::new();
    for (port, lid, entry) in all_ports(view) {
        for (block, &bytes) in entry.p_key_table.blocks() {
            let mut record = PKeyTableRecord::default();
            record
                .set_lid(lid)
                .set_block_num(block)
                .set_port_num(port)
                .set_p_key_table(&PartitionKeyTable::from_bytes(bytes));
            records.push(record);
        }
    }
    records
}

/// The GUIDs of every end port, by blocks: as many as its GUIDCap says.
pub(super) fn guid_infos(view: View<'_>, aliases: &AliasGuids) -> Vec<GuidInfoRecord> {
    let mut records = Vec::new();
    for (at, node, lids) in seen(view) {
        let Some(port) = node.port(at.port) else {
            continue;
        };
        let count = port.info.map_or(0, |info| info.guid_cap());
        for block in 0..count.div_ceil(GuidInfo::ENTRIES) {
            let mut record = GuidInfoRecord::default();
            record
                .set_lid(lids.base())
                .set_block_num(block)
                .set_guid_info(&aliases.block(port.guid, block));
            records.push(record);
        }
    }
    records
}

/// All ports that who asks may know of, external ones of switches as well, with their LIDs.
fn all_ports(view: View<'_>) -> impl Iterator<Item = (PortNum, Lid, &Port)> {
    view.subnet.nodes().flat_map(move |(index, node)| {
        let ports = node.ports();
        let seen = ports.filter(move |&(port, _)| view.sees(end_port(node, index, port)));
        seen.filter_map(move |(port, entry)| Some((port, port_lid(view, index, port)?, entry)))
    })
}

/// The port that stands for this one: port 0 of a switch for all its ports.
fn end_port(node: &Node, index: NodeIdx, port: PortNum) -> PortRef {
    let port = if node.is_switch() { PortNum(0) } else { port };
    PortRef { node: index, port }
}

/// This manager and the others. The keys stay secret.
pub(super) fn managers(view: View<'_>) -> Vec<SmInfoRecord> {
    let others = view.others.iter().copied();
    let all = core::iter::once((view.own_port, view.own)).chain(others);
    let records = all.filter_map(|(port, mut info)| {
        info.set_sm_key(SmKey(0));
        let mut record = SmInfoRecord::default();
        record
            .set_lid(port_lid(view, port.node, port.port)?)
            .set_sm_info(&info);
        Some(record)
    });
    records.collect()
}

/// The LID by which a port is known: a switch has one for all its ports.
fn port_lid(view: View<'_>, node: NodeIdx, port: PortNum) -> Option<Lid> {
    let node = view.subnet.node(node)?;
    let end = if node.is_switch() { PortNum(0) } else { port };
    Some(node.port(end)?.lids?.base())
}
