//! Numbers, cables and routes of nodes that a test puts in by hand.

use ib_smp::{NodeType, PortInfo, PortState};
use ib_wire::{Lmc, MKey};

use super::*;
use crate::Block;
use ib_mad::{Attribute, Method};

fn info(guid: u64, type_: NodeType) -> NodeInfo {
    let mut info = NodeInfo::default();
    info.set_node_guid(Guid(guid))
        .set_node_type(type_)
        .set_num_ports(4)
        .set_local_port_num(PortNum(1));
    info
}

fn at(node: NodeId, port: u8) -> PortId {
    let port = PortNum(port);
    PortId { node, port }
}

/// The own CA on port 1 of the first of three switches in a ring: port 2 of each leads to port 3 of the next.
fn ring() -> (Subnet, NodeId, [NodeId; 3]) {
    let mut subnet = Subnet::default();
    subnet.begin_walk(true);
    let own = subnet.add(info(9, NodeType::CA), Reach::default(), None);
    let switches =
        [1, 2, 3].map(|guid| subnet.add(info(guid, NodeType::SWITCH), Reach::default(), None));
    subnet.set_own_port(at(own, 1));
    subnet
        .port_mut(at(own, 1))
        .unwrap()
        .set_reach(Reach::default());
    assert!(subnet.link(at(own, 1), at(switches[0], 1)));
    for (here, there) in [(0, 1), (1, 2), (2, 0)] {
        assert!(subnet.link(at(switches[here], 2), at(switches[there], 3)));
    }
    // They were added without routes.
    subnet.paths.lose_track();
    subnet.paths.set_stale();
    subnet.refresh_paths();
    (subnet, own, switches)
}

fn set_lid(subnet: &mut Subnet, port: PortId, lid: u16, state: PortState) {
    let mut info = PortInfo::default();
    info.set_lid(Lid(lid)).set_port_state(state);
    let attribute = PortInfo::ID;
    let modifier = port.port.0.into();
    let block = Block {
        port,
        attribute,
        modifier,
    };
    subnet.record(block, info.as_bytes());
}

#[test]
fn written_forwarding_tables_are_a_new_version_but_no_change_of_the_node() {
    let (mut subnet, _, [first, ..]) = ring();
    let before = subnet.version();
    for attribute in [
        ib_smp::LinearForwardingTable::ID,
        ib_smp::MulticastForwardingTable::ID,
    ] {
        let version = subnet.version();
        let block = Block {
            port: at(first, 0),
            attribute,
            modifier: 0,
        };
        subnet.record(block, &[1; 64]);
        assert_ne!(subnet.version(), version);
        let version = subnet.version();
        subnet.forget(block);
        assert_ne!(subnet.version(), version);
    }
    assert_eq!(subnet.changed_since(before).count(), 0);
    set_lid(&mut subnet, at(first, 0), 7, PortState::ACTIVE);
    let changed: Vec<_> = subnet.changed_since(before).map(|(id, _)| id).collect();
    assert_eq!(changed, [first]);
}

#[test]
fn a_derived_route_and_lids_that_stay_are_no_change_of_a_node() {
    let (mut subnet, own, [first, ..]) = ring();
    let lids = LidRange::try_new(Lid(4), Lmc::ZERO).ok();
    assert!(lids.is_some());
    subnet.assign_lids(at(own, 1), lids);
    subnet.unlink(at(first, 2));
    let before = subnet.version();
    assert!(!subnet.refresh_paths().moved.is_empty());
    assert_ne!(subnet.version(), before);
    subnet.assign_lids(at(own, 1), lids);
    assert_eq!(subnet.changed_since(before).count(), 0);
    subnet.assign_lids(at(own, 1), None);
    let changed: Vec<_> = subnet.changed_since(before).map(|(id, _)| id).collect();
    assert_eq!(changed, [own]);
}

#[test]
fn a_removed_cable_moves_the_nodes_behind_it_and_cuts_off_those_without_another() {
    let (mut subnet, own, [first, second, third]) = ring();
    let path = |subnet: &Subnet, id| {
        let node = subnet.node(id).unwrap();
        alloc::string::ToString::to_string(&node.path())
    };
    assert_eq!(path(&subnet, second), "0,1,2");
    assert_eq!(path(&subnet, third), "0,1,3");
    subnet.unlink(at(first, 2));
    let changes = subnet.refresh_paths();
    assert_eq!(changes.moved, [second]);
    assert_eq!(changes.unreachable, []);
    assert_eq!(path(&subnet, second), "0,1,3,3");
    assert_eq!(subnet.node(second).unwrap().found_via(), Some(at(third, 3)));
    // Nothing was removed since.
    assert_eq!(subnet.refresh_paths(), PathChanges::default());
    subnet.unlink(at(third, 3));
    let changes = subnet.refresh_paths();
    assert_eq!((changes.moved, changes.unreachable), (vec![], vec![second]));
    assert!(subnet.is_cut_off(second));
    assert!(!subnet.is_cut_off(own));
    // A cable that leads to it again makes the routes stale.
    subnet.begin_walk(false);
    assert!(subnet.link(at(third, 4), at(second, 4)));
    assert_eq!(subnet.refresh_paths().moved, [second]);
    assert_eq!(path(&subnet, second), "0,1,3,4");
    assert!(!subnet.is_cut_off(second));
}

#[test]
fn one_walk_sees_one_cable_at_a_port_and_a_later_one_may_see_another() {
    let (mut subnet, _, [first, second, third]) = ring();
    for (a, b) in [
        (at(first, 2), at(third, 4)),
        (at(third, 4), at(first, 2)),
        (at(first, 9), at(third, 4)),
    ] {
        assert!(!subnet.link(a, b));
    }
    assert_eq!(
        subnet.port(at(first, 2)).unwrap().peer(),
        Some(at(second, 3))
    );
    assert_eq!(subnet.port(at(third, 4)).unwrap().peer(), None);
    assert!(subnet.link(at(first, 2), at(second, 3)), "the same again");
    subnet.begin_walk(false);
    assert!(subnet.has_older_cable(at(first, 2), at(third, 4)));
    assert!(!subnet.has_older_cable(at(first, 2), at(second, 3)));
    assert!(!subnet.has_older_cable(at(first, 4), at(third, 4)));
    assert!(subnet.link(at(first, 2), at(third, 4)));
    assert_eq!(
        subnet.port(at(first, 2)).unwrap().peer(),
        Some(at(third, 4))
    );
    assert_eq!(
        subnet.port(at(third, 4)).unwrap().peer(),
        Some(at(first, 2))
    );
    assert_eq!(subnet.port(at(second, 3)).unwrap().peer(), None);
}

#[test]
fn a_link_has_two_ends_that_are_up() {
    let (mut subnet, _, [first, second, _]) = ring();
    let (here, there) = (at(first, 2), at(second, 3));
    for (a, b, expected) in [
        (PortState::ACTIVE, PortState::INITIALIZE, true),
        (PortState::ACTIVE, PortState::DOWN, false),
        (PortState::DOWN, PortState::ARMED, false),
    ] {
        set_lid(&mut subnet, here, 0, a);
        set_lid(&mut subnet, there, 0, b);
        assert_eq!(
            (subnet.is_link(here), subnet.is_link(there)),
            (expected, expected)
        );
    }
    assert!(!subnet.is_link(at(first, 4)));
}

#[test]
fn a_route_begins_at_a_switch_with_a_lid() {
    let (mut subnet, own, [first, ..]) = ring();
    let reach = Reach {
        start: Some(first),
        path: "0,2".parse().unwrap(),
    };
    assert_eq!(subnet.resolve(reach), None, "no LID is known");
    set_lid(&mut subnet, at(own, 1), 5, PortState::ACTIVE);
    assert_eq!(subnet.resolve(reach), None);
    set_lid(&mut subnet, at(first, 0), 6, PortState::ACTIVE);
    let route = subnet.resolve(reach).unwrap();
    assert_eq!(route.start(), Some(Lid(6)));
    assert_eq!(route.path(), &reach.path);
    let smp = route.request(Method::GET, PortInfo::ID, 7, MKey(8));
    assert_eq!((smp.dr_slid(), smp.m_key()), (Lid(5), MKey(8)));
    assert_eq!(route.datagram(&smp).address.lid, Lid(6));
    // A LID that nobody may have is none.
    set_lid(&mut subnet, at(first, 0), 0xc000, PortState::ACTIVE);
    assert_eq!(subnet.resolve(reach), None);
}

#[test]
fn the_node_that_went_first_loses_its_number_when_too_many_are_gone() {
    let mut subnet = Subnet::default();
    let most = MAX_REMEMBERED as u64;
    let add =
        |subnet: &mut Subnet, guid| subnet.add(info(guid, NodeType::CA), Reach::default(), None);
    let ids: Vec<NodeId> = (1..=most).map(|guid| add(&mut subnet, guid)).collect();
    assert_eq!(ids.last(), Some(&NodeId(MAX_REMEMBERED as u32 - 1)));
    for &id in &ids {
        subnet.remove(id);
    }
    assert_eq!(subnet.gone.len(), MAX_REMEMBERED);
    // One that comes back has its number, and is not gone any more.
    assert_eq!(add(&mut subnet, 1), ids[0]);
    assert_eq!(subnet.gone.len(), MAX_REMEMBERED - 1);
    let new = add(&mut subnet, most + 1);
    assert_eq!(
        new,
        NodeId(MAX_REMEMBERED as u32),
        "there is room for its number"
    );
    subnet.remove(ids[0]);
    let newer = add(&mut subnet, most + 2);
    assert_eq!(newer, ids[1], "2 went first");
    assert_eq!(subnet.find(Guid(2)), None);
    assert_ne!(add(&mut subnet, 2), ids[1]);
    assert_eq!(subnet.find(Guid(1)), None, "gone");
    assert_eq!(subnet.nodes().count(), 3);
}
