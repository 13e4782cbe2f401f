//! Records made from attributes that devices reported (IBA vol. 1, 15.2.5), one at a time on request.

use alloc::vec::Vec;

use ib_mad::SmKey;
use ib_sa::{
    GuidInfoRecord, LinearForwardingTableRecord, LinkRecord, MulticastForwardingTableRecord,
    NodeRecord, PKeyTableRecord, PortInfoRecord, SlToVlMappingTableRecord, SmInfoRecord,
    SwitchInfoRecord, VlArbitrationTableRecord,
};
use ib_smp::{
    GuidInfo, LinearForwardingTable, MulticastForwardingTable, PartitionKeyTable,
    SlToVlMappingTable, VlArbitrationTable,
};
use ib_wire::{Lid, PortNum, addr::LidRange};

use super::{AliasGuids, View, scope::QueryScope};
use crate::policy::lanes;
use ib_subnet::{NodeId, PortId, SubnetNode, SubnetPort, arbitration_block};

/// End ports that have LIDs and that the requester may access, with their nodes.
pub(super) fn may_access_end_ports<'a>(
    view: View<'a>,
    scope: QueryScope<'a>,
) -> impl Iterator<Item = (PortId, &'a SubnetNode, LidRange)> {
    end_ports(view, scope).filter(move |&(at, ..)| view.may_access(at))
}

/// End ports that have LIDs, with their nodes.
pub(super) fn end_ports<'a>(
    view: View<'a>,
    scope: QueryScope<'a>,
) -> impl Iterator<Item = (PortId, &'a SubnetNode, LidRange)> {
    scope.nodes(view).flat_map(|(index, node)| {
        node.ports()
            .filter(|(num, _)| node.is_switch() == (num.0 == 0))
            .filter_map(move |(port, record)| {
                Some((PortId { node: index, port }, node, record.lids()?))
            })
    })
}

/// NodeRecord of every end port.
pub(super) fn nodes<'a>(view: View<'a>, scope: QueryScope<'a>) -> impl Iterator<Item = NodeRecord> {
    may_access_end_ports(view, scope).filter_map(|(at, node, lids)| {
        let mut info = *node.info();
        info.set_port_guid(node.port(at.port)?.guid())
            .set_local_port_num(at.port);
        let mut record = NodeRecord::default();
        record
            .set_lid(lids.base())
            .set_node_info(&info)
            .set_node_description(node.description());
        Some(record)
    })
}

/// PortInfoRecord of every port; those of a switch carry the LID of its port 0. M_Keys are set to 0.
pub(super) fn ports<'a>(
    view: View<'a>,
    scope: QueryScope<'a>,
) -> impl Iterator<Item = PortInfoRecord> {
    all_ports(view, scope).filter_map(|(at, lid, entry)| {
        let mut info = *entry.info()?;
        info.set_m_key(ib_wire::MKey(0));
        let mut record = PortInfoRecord::default();
        record
            .set_endport_lid(lid)
            .set_port_num(at.port)
            .set_port_info(&info);
        Some(record)
    })
}

/// SwitchInfoRecord of every switch.
pub(super) fn switches<'a>(
    view: View<'a>,
    scope: QueryScope<'a>,
) -> impl Iterator<Item = SwitchInfoRecord> {
    may_access_end_ports(view, scope).filter_map(|(_, node, lids)| {
        let mut record = SwitchInfoRecord::default();
        record
            .set_lid(lids.base())
            .set_switch_info(node.switch()?.info()?);
        Some(record)
    })
}

/// LinkRecord of every link, once in each direction.
pub(super) fn links<'a>(view: View<'a>, scope: QueryScope<'a>) -> impl Iterator<Item = LinkRecord> {
    scope.nodes(view).flat_map(move |(index, node)| {
        node.ports().filter_map(move |(port, entry)| {
            let peer = entry.peer().filter(|_| entry.is_up())?;
            let other = view.subnet.node(peer.node)?;
            let may_access_both = view.may_access(end_port(node, index, port))
                && view.may_access(end_port(other, peer.node, peer.port));
            let mut record = LinkRecord::default();
            record
                .set_from_lid(port_lid(view, index, port)?)
                .set_from_port(port)
                .set_to_lid(port_lid(view, peer.node, peer.port)?)
                .set_to_port(peer.port);
            may_access_both.then_some(record)
        })
    })
}

/// The known blocks of linear forwarding tables of switches.
pub(super) fn forwarding_tables<'a>(
    view: View<'a>,
    scope: QueryScope<'a>,
) -> impl Iterator<Item = LinearForwardingTableRecord> {
    may_access_end_ports(view, scope).flat_map(|(_, node, lids)| {
        let blocks = node
            .switch()
            .into_iter()
            .flat_map(|switch| switch.lft().blocks());
        blocks.map(move |(block, &bytes)| {
            let mut record = LinearForwardingTableRecord::default();
            record
                .set_lid(lids.base())
                .set_block_num(block)
                .set_linear_forwarding_table(&LinearForwardingTable::from_bytes(bytes));
            record
        })
    })
}

/// The known blocks of multicast tables of switches, except empty ones.
pub(super) fn multicast_tables<'a>(
    view: View<'a>,
    scope: QueryScope<'a>,
) -> impl Iterator<Item = MulticastForwardingTableRecord> {
    may_access_end_ports(view, scope).flat_map(|(_, node, lids)| {
        let tables = node.switch().into_iter().flat_map(|switch| switch.mft());
        let used = tables.filter(|(_, bytes)| **bytes != [0; 64]);
        used.map(move |(at, &bytes)| {
            let mut record = MulticastForwardingTableRecord::default();
            record
                .set_lid(lids.base())
                .set_position(at.position)
                .set_block_num(at.block)
                .set_multicast_forwarding_table(&MulticastForwardingTable::from_bytes(bytes));
            record
        })
    })
}

/// The SLtoVL tables that are known, for a switch by input and output port. Packets to port 0 of a switch are on no
/// lane but 0, unless it is an enhanced one: its tables are empty, as with OpenSM 3.3.23.
pub(super) fn sl_to_vl_tables<'a>(
    view: View<'a>,
    scope: QueryScope<'a>,
) -> impl Iterator<Item = SlToVlMappingTableRecord> {
    may_access_end_ports(view, scope).flat_map(|(at, node, lids)| {
        let own = node.port(at.port).and_then(|port| port.sl_to_vl().copied());
        let own = own.map(|table| ((PortNum(0), at.port), table));
        let of_switch = node
            .switch()
            .into_iter()
            .flat_map(|switch| switch.sl_to_vl());
        let all = of_switch.map(|(&ports, &table)| (ports, table));
        let plain = node.switch().filter(|switch| {
            let info = switch.info();
            info.is_some_and(|info| !info.enhanced_port0())
        });
        let to_port_0 = plain.into_iter().flat_map(move |switch| {
            let pairs = node.ports().map(|(input, _)| (input, PortNum(0)));
            let unwritten = pairs.filter(|pair| !switch.sl_to_vl().contains_key(pair));
            unwritten.map(|pair| (pair, SlToVlMappingTable::default()))
        });
        own.into_iter()
            .chain(all)
            .chain(to_port_0)
            .map(move |((input, output), table)| {
                let mut record = SlToVlMappingTableRecord::default();
                record
                    .set_lid(lids.base())
                    .set_input_port_num(input)
                    .set_output_port_num(output)
                    .set_sl_to_vl_mapping_table(&table);
                record
            })
    })
}

/// The VL arbitration tables that are known, by block. Blocks for which a port has no room are empty, as with OpenSM
/// 3.3.23, and so are those of port 0 of a switch, which has no lanes to arbitrate.
pub(super) fn vl_arbitration_tables<'a>(
    view: View<'a>,
    scope: QueryScope<'a>,
) -> impl Iterator<Item = VlArbitrationTableRecord> {
    /// Two blocks of low priority and two of high priority.
    const BLOCKS: u16 = 4;
    let switches = may_access_end_ports(view, scope).filter(|(at, ..)| at.port == PortNum(0));
    let empty = switches.flat_map(|(at, _, lids)| {
        (0..BLOCKS).map(move |block| (at.port, lids.base(), block, [0; 64]))
    });
    let known = all_ports(view, scope).filter(|(at, ..)| at.port != PortNum(0));
    let known = known.flat_map(|(at, lid, entry)| {
        let halves = entry.info().into_iter().flat_map(lanes::halves_with_room);
        let has_room: Vec<u16> = halves.map(arbitration_block).collect();
        (0..BLOCKS).filter_map(move |block| {
            let bytes = entry.vl_arbitration().block(block).copied();
            let empty = (!has_room.contains(&block)).then_some([0; 64]);
            Some((at.port, lid, block, bytes.or(empty)?))
        })
    });
    empty.chain(known).map(|(port, lid, block, bytes)| {
        let mut record = VlArbitrationTableRecord::default();
        record
            .set_lid(lid)
            .set_output_port_num(port)
            // Blocks count from 1, as in the attribute's modifier, to 4.
            .set_block_num(block.saturating_add(1) as u8)
            .set_vl_arbitration_table(&VlArbitrationTable::from_bytes(bytes));
        record
    })
}

/// The P_Key tables that were read or written, by blocks.
pub(super) fn p_key_tables<'a>(
    view: View<'a>,
    scope: QueryScope<'a>,
) -> impl Iterator<Item = PKeyTableRecord> {
    all_ports(view, scope).flat_map(|(at, lid, entry)| {
        entry.p_key_table().blocks().map(move |(block, &bytes)| {
            let mut record = PKeyTableRecord::default();
            record
                .set_lid(lid)
                .set_block_num(block)
                .set_port_num(at.port)
                .set_p_key_table(&PartitionKeyTable::from_bytes(bytes));
            record
        })
    })
}

/// The GUIDs of every end port, by block; GUIDCap is their number.
pub(super) fn guid_infos<'a>(
    view: View<'a>,
    aliases: &'a AliasGuids,
    scope: QueryScope<'a>,
) -> impl Iterator<Item = GuidInfoRecord> + 'a {
    let each = may_access_end_ports(view, scope)
        .filter_map(|(at, node, lids)| Some((node.port(at.port)?, lids)));
    each.flat_map(move |(port, lids)| {
        let count = port.info().map_or(0, |info| info.guid_cap());
        (0..count.div_ceil(GuidInfo::ENTRIES)).map(move |block| {
            let mut record = GuidInfoRecord::default();
            record
                .set_lid(lids.base())
                .set_block_num(block)
                .set_guid_info(&aliases.block(port.guid(), block));
            record
        })
    })
}

/// All ports that the requester may access, including external ports of switches, with their LIDs.
pub(super) fn all_ports<'a>(
    view: View<'a>,
    scope: QueryScope<'a>,
) -> impl Iterator<Item = (PortId, Lid, &'a SubnetPort)> {
    scope.nodes(view).flat_map(move |(index, node)| {
        let ports = node.ports();
        let seen = ports.filter(move |&(port, _)| view.may_access(end_port(node, index, port)));
        seen.filter_map(move |(port, entry)| {
            let at = PortId { node: index, port };
            Some((at, port_lid(view, index, port)?, entry))
        })
    })
}

/// The end port for a port: port 0 of a switch for all its ports.
fn end_port(node: &SubnetNode, index: NodeId, port: PortNum) -> PortId {
    let port = if node.is_switch() { PortNum(0) } else { port };
    PortId { node: index, port }
}

/// SMInfo of this manager and of the others. The keys stay secret.
pub(super) fn managers(view: View<'_>) -> impl Iterator<Item = SmInfoRecord> {
    let others = view.others.iter().copied();
    let all = view
        .own_port
        .map(|port| (port, view.own))
        .into_iter()
        .chain(others);
    all.filter_map(move |(port, mut info)| {
        info.set_sm_key(SmKey(0));
        let mut record = SmInfoRecord::default();
        record
            .set_lid(port_lid(view, port.node, port.port)?)
            .set_sm_info(&info);
        Some(record)
    })
}

/// The LID under which a port is known: a switch has one for all its ports.
fn port_lid(view: View<'_>, node: NodeId, port: PortNum) -> Option<Lid> {
    let node = view.subnet.node(node)?;
    let end = if node.is_switch() { PortNum(0) } else { port };
    Some(node.port(end)?.lids()?.base())
}
