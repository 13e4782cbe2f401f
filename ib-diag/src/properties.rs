//! Properties that hold for every input. The property tests and the fuzz targets call them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a property fails by panicking"
)]

use alloc::vec::Vec;

use ib_routing::{NodeIdx, PortRef, index::IdxVec};
use ib_sa::McMemberRecord;
use ib_smp::{DrPath, NodeInfo, PortInfo, PortPhysicalState, PortState};
use ib_wire::{Guid, Lid, NodeType, PortNum};

use crate::{
    CheckOptions, check, difference,
    snapshot::{Snapshot, SnapshotNode, VERSION},
};

/// Any bytes are a snapshot file, or yield an error with the position of the first difference.
pub fn any_file_is_a_snapshot_or_an_error(bytes: &[u8]) {
    match Snapshot::from_bytes(bytes) {
        Ok(snapshot) => survives(&snapshot),
        Err(error) => assert!(alloc::format!("{error}").starts_with("byte ")),
    }
}

/// A snapshot can be written, read, compared and judged whatever its devices answered. Each 3 bytes of the input change
/// one byte of the body of a small snapshot: two bytes give the offset, one gives the value.
pub fn any_body_can_be_judged(bytes: &[u8]) {
    let mut body = example().body();
    for edit in bytes.chunks_exact(3) {
        let at = usize::from(u16::from_be_bytes([edit[0], edit[1]])) % body.len();
        body[at] = edit[2];
    }
    if let Ok(snapshot) = Snapshot::from_body(&body, VERSION) {
        survives(&snapshot);
    }
}

fn survives(snapshot: &Snapshot) {
    let again = Snapshot::from_bytes(&snapshot.to_bytes()).expect("what was written is read");
    assert_eq!(&again, snapshot);
    let same = difference(&snapshot.fabric(), &again.fabric());
    assert!(same.is_empty(), "{same:?}");
    let report = check(snapshot, Some(&again), &CheckOptions::default());
    for finding in &report.findings {
        assert!(!finding.message.is_empty() && !finding.action.is_empty());
    }
    assert!(snapshot.links().len() >= snapshot.cables().count());
}

/// A switch and two hosts that are cabled to it.
fn example() -> Snapshot {
    let ends = [(0, 1, 1, 1), (0, 2, 2, 1)];
    let mut nodes: IdxVec<NodeIdx, SnapshotNode> = IdxVec::new();
    for (guid, type_, ports) in [
        (1, NodeType::SWITCH, 3),
        (2, NodeType::CA, 1),
        (3, NodeType::CA, 1),
    ] {
        let mut info = NodeInfo::default();
        info.set_node_guid(Guid(guid))
            .set_port_guid(Guid(guid))
            .set_node_type(type_)
            .set_num_ports(ports)
            .set_local_port_num(PortNum(1));
        let mut node = SnapshotNode::new(info, DrPath::OWN_NODE);
        for (number, port) in node.ports.iter_mut().enumerate() {
            let mut info = PortInfo::default();
            info.set_lid(Lid(u16::try_from(guid).unwrap_or(0) * u16::from(number < 2)))
                .set_port_state(PortState::ACTIVE)
                .set_port_physical_state(PortPhysicalState::LINK_UP);
            port.info = Some(info);
        }
        nodes.push(node);
    }
    let mut snapshot = Snapshot {
        nodes,
        groups: Some(Vec::from([McMemberRecord::default()])),
        ..Snapshot::default()
    };
    for (node, port, peer, peer_port) in ends {
        let end = |node, port| PortRef {
            node: NodeIdx(node),
            port: PortNum(port),
        };
        let pair: Vec<PortRef> = [end(node, port), end(peer, peer_port)].into();
        for (here, there) in [(pair[0], pair[1]), (pair[1], pair[0])] {
            snapshot.port_mut(here).expect("a port of the example").peer = Some(there);
        }
    }
    snapshot
}
