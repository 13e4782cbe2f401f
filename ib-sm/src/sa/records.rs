//! Records that repeat what devices told (IBA vol. 1, 15.2.5).

use alloc::vec::Vec;

use ib_sa::{
    LinearForwardingTableRecord, LinkRecord, NodeRecord, PortInfoRecord, SmInfoRecord,
    SwitchInfoRecord,
};
use ib_smp::LinearForwardingTable;
use ib_wire::{Lid, PortNum, addr::LidRange};

use super::View;
use crate::subnet::{Node, NodeIdx, PortRef};

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
    let records = end_ports(view).filter_map(|(at, node, lids)| {
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
    let records = end_ports(view).filter_map(|(_, node, lids)| {
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
    for (_, node, lids) in end_ports(view) {
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

/// This manager and the others. The keys stay secret.
pub(super) fn managers(view: View<'_>) -> Vec<SmInfoRecord> {
    let others = view.others.iter().copied();
    let all = core::iter::once((view.own_port, view.own)).chain(others);
    let records = all.filter_map(|(port, mut info)| {
        info.set_sm_key(0);
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
