use super::*;
use crate::{FabricBuilder, NewNode, generate::FabricSpec, index::NodeIdx};

fn ring() -> FabricBuilder {
    let spec: FabricSpec = "ring:switches=4,hosts=1".parse().expect("a specification");
    spec.build().expect("a fabric").to_builder()
}

fn set(builder: &mut FabricBuilder, node: u32, lid: u16) {
    let node = NodeIdx(node);
    let port = PortNum(u8::from(node.0 >= 4));
    builder
        .port_mut(PortRef { node, port })
        .expect("a port")
        .lid = Lid(lid);
}

fn lids(map: &LidMap) -> Vec<u16> {
    map.destinations()
        .iter()
        .map(|destination| destination.range.base().0)
        .collect()
}

#[test]
fn lids_follow_the_port_guids() {
    let map = LidMap::assign(&ring().build(), &LidOptions::default()).expect("LIDs");
    assert_eq!(lids(&map), [1, 2, 3, 4, 5, 6, 7, 8]);
    let guids: Vec<Guid> = map
        .destinations()
        .iter()
        .map(|destination| destination.guid)
        .collect();
    assert!(guids.is_sorted());
}

#[test]
fn what_is_valid_stays_and_only_the_rest_moves() {
    let mut builder = ring();
    // Switches 0..4 and hosts 4..8: one LID is foreign, two are the same, the rest is unassigned.
    set(&mut builder, 0, 0xc001);
    set(&mut builder, 1, 77);
    set(&mut builder, 2, 77);
    set(&mut builder, 4, 3);
    let fabric = builder.build();
    let map = LidMap::assign(&fabric, &LidOptions::default()).expect("LIDs");
    let changes = map.changes(&fabric);
    assert_eq!(
        map.owner(Lid(3)).map(|owner| owner.end.node),
        Some(NodeIdx(4))
    );
    assert_eq!(
        map.owner(Lid(77)).map(|owner| owner.end.node),
        Some(NodeIdx(1))
    );
    let nodes =
        |list: &[(PortRef, Lid, Lid)]| list.iter().map(|(end, ..)| end.node.0).collect::<Vec<_>>();
    assert_eq!(
        (nodes(&changes.foreign), nodes(&changes.conflicts)),
        (vec![0], vec![2])
    );
    assert_eq!((changes.kept, changes.unassigned.len()), (2, 4));
}

#[test]
fn misaligned_lids_move_when_the_lmc_grows() {
    let mut builder = ring();
    set(&mut builder, 4, 6);
    set(&mut builder, 5, 8);
    let fabric = builder.build();
    let lmc = Lmc::try_new(2).expect("an LMC");
    let map = LidMap::assign(
        &fabric,
        &LidOptions {
            lmc,
            ..LidOptions::default()
        },
    )
    .expect("LIDs");
    assert_eq!(
        map.owner(Lid(11)).map(|owner| owner.end.node),
        Some(NodeIdx(5))
    );
    assert!(
        map.destinations()
            .iter()
            .all(|port| port.range.base().0 % port.range.lmc().lid_count() == 0)
    );
    let changes = map.changes(&fabric);
    assert_eq!(
        (changes.kept, changes.foreign.len(), changes.conflicts.len()),
        (1, 1, 0)
    );
}

#[test]
fn the_database_comes_before_what_a_port_has() {
    let mut builder = ring();
    set(&mut builder, 4, 9);
    let fabric = builder.build();
    let guid = fabric
        .node(NodeIdx(5))
        .port(PortNum(1))
        .expect("a port")
        .guid;
    let options = LidOptions {
        database: [(guid, Lid(9))].into(),
        ..LidOptions::default()
    };
    let map = LidMap::assign(&fabric, &options).expect("LIDs");
    assert_eq!(map.owner(Lid(9)).map(|owner| owner.guid), Some(guid));
}

#[test]
fn exhausted_lids_are_an_error_that_says_who_got_none() {
    let fabric = ring().build();
    let options = LidOptions {
        first: Lid(10),
        last: Lid(15),
        ..LidOptions::default()
    };
    let error = LidMap::assign(&fabric, &options).expect_err("eight ports, six LIDs");
    let first = fabric.node(NodeIdx(2)).guid;
    assert_eq!(
        error,
        RouteError::LidsExhausted {
            left: 2,
            ports: 8,
            first
        }
    );
}

#[test]
fn a_node_without_cables_gets_no_lid() {
    let mut builder = ring();
    builder
        .add_node(NewNode {
            guid: Guid(1),
            num_ports: 2,
            ..NewNode::default()
        })
        .expect("a node");
    let map = LidMap::assign(&builder.build(), &LidOptions::default()).expect("LIDs");
    assert_eq!(map.num_lids(), 8);
}
