//! Chassis: which nodes are boards of one box.
//!
//! The boards of a chassis have one system image GUID, but vendors differ. Boards of Topspin (Cisco) and InfiniCon
//! have their slot in it; Xsigo's switches have the kind of port there, and its adapters belong to the leaf switch
//! that they are cabled to. Voltaire's boards have system image GUIDs of their own; they are one chassis where line,
//! spine and router boards are cabled inside it, which the device identifiers tell. Source: libibnetdisc, chassis.c.

use alloc::{collections::BTreeMap, vec, vec::Vec};

use ib_wire::{Guid, PortNum};

use crate::{
    fabric::{Fabric, Node, PortRef},
    index::{IdxVec, NodeIdx},
};

const VOLTAIRE: u32 = 0x8f1;
const TOPSPIN: u32 = 0x5ad;
const INFINICON: u32 = 0x66a;
const XSIGO: u32 = 0x1397;

/// Nodes of one box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chassis {
    /// The common part of its system image GUIDs; of Voltaire's the lowest GUID of a spine less one.
    pub guid: Guid,
    /// Its nodes in the order of the fabric: two or more.
    pub nodes: Vec<NodeIdx>,
}

/// A board of a chassis of Voltaire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Board {
    /// Ports up to this one are cabled inside the chassis.
    Line(u8),
    Spine(u8),
    Router,
}

/// Device identifiers of Voltaire's boards.
const BOARDS: [(u16, Board); 16] = [
    (0x5a00, Board::Router),
    (0x5a01, Board::Router),
    (0x5a08, Board::Spine(u8::MAX)),
    (0x5a09, Board::Line(12)),
    (0x5a0b, Board::Spine(u8::MAX)),
    (0x5a0d, Board::Line(12)),
    (0x5a32, Board::Spine(u8::MAX)),
    (0x5a33, Board::Spine(u8::MAX)),
    (0x5a34, Board::Line(12)),
    (0x5a37, Board::Spine(u8::MAX)),
    (0x5a38, Board::Line(12)),
    (0x5a40, Board::Spine(u8::MAX)),
    (0x5a42, Board::Line(12)),
    (0x5a5b, Board::Line(18)),
    (0x5a5c, Board::Spine(u8::MAX)),
    (0x5a5d, Board::Spine(18)),
];

impl Board {
    fn of(node: &Node) -> Option<Self> {
        let found = BOARDS.iter().find(|(id, _)| *id == node.device_id);
        found
            .filter(|_| node.vendor_id == VOLTAIRE)
            .map(|(_, board)| *board)
    }

    /// Returns true if a port is cabled inside the chassis.
    fn is_inner(self, port: PortNum) -> bool {
        match self {
            Self::Line(last) | Self::Spine(last) => port.0 <= last,
            Self::Router => true,
        }
    }

    /// Returns true if boards of these kinds are cabled to each other in a chassis.
    fn joins(self, other: Self) -> bool {
        matches!(self, Self::Spine(_)) != matches!(other, Self::Spine(_))
    }
}

/// The chassis of a fabric that have two nodes or more, in the order of their first nodes.
#[must_use]
pub fn find(fabric: &Fabric) -> Vec<Chassis> {
    let mut nodes: BTreeMap<Guid, Vec<NodeIdx>> = BTreeMap::new();
    for (index, node) in fabric.nodes().iter_enumerated() {
        if node.vendor_id == VOLTAIRE && Board::of(node).is_some() {
            continue;
        }
        let guid = guid_of(fabric, node);
        if guid != Guid::NONE {
            nodes.entry(guid).or_default().push(index);
        }
    }
    let mut found: Vec<Chassis> = nodes
        .into_iter()
        .map(|(guid, nodes)| Chassis { guid, nodes })
        .collect();
    found.extend(of_voltaire(fabric));
    found.retain(|chassis| chassis.nodes.len() > 1);
    found.sort_by_key(|chassis| chassis.nodes.first().copied());
    found
}

/// The part of a system image GUID that all nodes of a chassis have.
fn guid_of(fabric: &Fabric, node: &Node) -> Guid {
    /// The byte that holds the slot, or the kind of port.
    const SLOT: u64 = 0xff00_0000;
    let own = node.system_image_guid;
    let without_slot = |guid: Guid| Guid(guid.0 & !SLOT);
    let is_of_xsigo = own.0 >> 40 == u64::from(XSIGO);
    match node.vendor_id {
        TOPSPIN | INFINICON => without_slot(own),
        _ if node.vendor_id == XSIGO || is_of_xsigo => match own.0 >> 32 {
            0x0013_9701 => without_slot(own),
            0x0013_9702 | 0x0013_9703 => {
                let port = node.port(PortNum(1));
                let peer = port.and_then(|port| port.peer);
                let far = peer.map(|peer| fabric.node(peer.node).system_image_guid);
                let leaf = far.filter(|far| far.0 >> 24 == 0x00_1397_0102);
                leaf.map_or(own, without_slot)
            }
            _ => own,
        },
        _ => own,
    }
}

/// Boards that are cabled inside one chassis.
fn of_voltaire(fabric: &Fabric) -> Vec<Chassis> {
    let mut found = Vec::new();
    let mut is_seen = IdxVec::filled(fabric.nodes().len(), false);
    for (start, node) in fabric.nodes().iter_enumerated() {
        if !matches!(Board::of(node), Some(Board::Spine(_))) || is_seen[start] {
            continue;
        }
        is_seen[start] = true;
        let mut nodes = vec![start];
        let mut next = 0;
        while let Some(&here) = nodes.get(next) {
            next += 1;
            for board in boards_beside(fabric, here) {
                if !core::mem::replace(&mut is_seen[board], true) {
                    nodes.push(board);
                }
            }
        }
        let spines = nodes.iter().map(|&index| fabric.node(index));
        let spines = spines.filter(|node| matches!(Board::of(node), Some(Board::Spine(_))));
        let lowest = spines.map(|node| node.guid.0).min().unwrap_or_default();
        nodes.sort_unstable();
        found.push(Chassis {
            guid: Guid(lowest.saturating_sub(1)),
            nodes,
        });
    }
    found
}

/// The boards that a board is cabled to inside their chassis.
fn boards_beside(fabric: &Fabric, here: NodeIdx) -> Vec<NodeIdx> {
    let node = fabric.node(here);
    let Some(own) = Board::of(node) else {
        return Vec::new();
    };
    let ports = node.ports().filter(|(number, _)| own.is_inner(*number));
    let peers = ports.filter_map(|(_, port)| {
        let PortRef { node, port } = port.peer?;
        let board = Board::of(fabric.node(node))?;
        (board.joins(own) && board.is_inner(port)).then_some(node)
    });
    peers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{FabricBuilder, NewNode, NodeType};

    fn node(guid: u64, system: u64, vendor_id: u32, device_id: u16) -> NewNode {
        NewNode {
            type_: NodeType::SWITCH,
            guid: Guid(guid),
            system_image_guid: Guid(system),
            vendor_id,
            device_id,
            num_ports: 36,
            ..NewNode::default()
        }
    }

    /// A node by its number, and a port of it.
    type End = (u32, u8);

    fn fabric(nodes: &[NewNode], links: &[(End, End)]) -> Fabric {
        let mut builder = FabricBuilder::new();
        for node in nodes {
            builder.add_node(node.clone()).expect("a new GUID");
        }
        for &(one, other) in links {
            let end = |(node, port): End| PortRef {
                node: NodeIdx(node),
                port: PortNum(port),
            };
            builder.add_link(end(one), end(other)).expect("free ports");
        }
        builder.build()
    }

    /// The GUIDs and the numbers of the nodes.
    fn found(fabric: &Fabric) -> Vec<(u64, Vec<u32>)> {
        let numbers = |nodes: &[NodeIdx]| nodes.iter().map(|node| node.0).collect();
        let all = find(fabric).into_iter();
        all.map(|chassis| (chassis.guid.0, numbers(&chassis.nodes)))
            .collect()
    }

    #[test]
    fn nodes_with_one_system_image_guid_are_one_chassis() {
        let nodes = [
            node(1, 0x99, 0x2c9, 1),
            node(2, 0x98, 0x2c9, 1),
            node(3, 0x99, 0x2c9, 1),
            node(4, 0, 0x2c9, 1),
            node(5, 0, 0x2c9, 1),
        ];
        assert_eq!(found(&fabric(&nodes, &[])), [(0x99, vec![0, 2])]);
    }

    #[test]
    fn the_slot_in_a_guid_of_topspin_does_not_count() {
        let system = 0x0005_ad01_0203_0405;
        let nodes = [
            node(1, system, TOPSPIN, 1),
            node(2, system | 0x0700_0000, TOPSPIN, 1),
            node(3, system, 0x2c9, 1),
            node(4, system | 0x0700_0000, 0x2c9, 1),
        ];
        let guid = 0x0005_ad01_0003_0405;
        assert_eq!(found(&fabric(&nodes, &[])), [(guid, vec![0, 1])]);
    }

    #[test]
    fn an_adapter_of_xsigo_belongs_to_the_leaf_that_it_is_cabled_to() {
        let nodes = [
            node(1, 0x0013_9701_0200_0001, XSIGO, 1),
            node(2, 0x0013_9702_0500_0002, XSIGO, 1),
            node(3, 0x0013_9702_0500_0003, XSIGO, 1),
        ];
        let fabric = fabric(&nodes, &[((0, 1), (1, 1))]);
        assert_eq!(found(&fabric), [(0x0013_9701_0000_0001, vec![0, 1])]);
    }

    #[test]
    fn boards_of_voltaire_are_one_chassis_where_they_are_cabled_inside_it() {
        let (spine, line) = (0x5a08, 0x5a09);
        let nodes = [
            node(0x11, 0x51, VOLTAIRE, spine),
            node(0x12, 0x52, VOLTAIRE, line),
            node(0x13, 0x53, VOLTAIRE, line),
            // Another box, cabled to an outer port of a line board.
            node(0x14, 0x54, VOLTAIRE, spine),
            node(0x15, 0x55, VOLTAIRE, line),
        ];
        let links = [
            ((0, 1), (1, 1)),
            ((0, 2), (2, 1)),
            ((3, 1), (4, 1)),
            ((3, 2), (1, 20)),
        ];
        let expected = [(0x10, vec![0, 1, 2]), (0x13, vec![3, 4])];
        assert_eq!(found(&fabric(&nodes, &links)), expected);
    }
}
