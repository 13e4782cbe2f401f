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

fn node_of(map: &LidMap, lid: u16) -> Option<u32> {
    map.owner(Lid(lid)).map(|owner| owner.end.node.0)
}

/// Port GUID of a node's end port.
fn guid(fabric: &Fabric, node: u32) -> Guid {
    let node = fabric.node(NodeIdx(node));
    node.end_ports().next().expect("an end port").1.guid
}

#[test]
fn foreign_lids_stay() {
    // A new manager takes a fabric over that another one brought up.
    let mut builder = ring();
    for (node, lid) in (0..8).zip([40, 3, 900, 17, 0xbfff, 1, 8, 25]) {
        set(&mut builder, node, lid);
    }
    let fabric = builder.build();
    let options = LidOptions::default();
    let map = LidMap::assign(&fabric, &options).expect("LIDs");
    let changes = map.changes(&fabric, &options);
    assert_eq!((changes.kept, changes.foreign.len()), (0, 8));
    assert_eq!((changes.unassigned.len(), changes.conflicts.len()), (0, 0));
    assert_eq!(lids(&map), [1, 3, 8, 17, 25, 40, 900, 0xbfff]);
}

#[test]
fn conflicts_of_merged_subnets_move_on_the_side_that_joins() {
    // Switches 0 and 1 and their hosts 4 and 5 are known; the other half comes with the same LIDs.
    let mut builder = ring();
    for (node, lid) in (0..8).zip([1, 2, 1, 2, 3, 4, 3, 4]) {
        set(&mut builder, node, lid);
    }
    let fabric = builder.build();
    let known = [(0, 1), (1, 2), (4, 3), (5, 4)];
    let options = LidOptions {
        database: known
            .map(|(node, lid)| (guid(&fabric, node), Lid(lid)))
            .into(),
        ..LidOptions::default()
    };
    let map = LidMap::assign(&fabric, &options).expect("LIDs");
    let changes = map.changes(&fabric, &options);
    assert_eq!(
        (
            changes.kept,
            changes.foreign.len(),
            changes.unassigned.len()
        ),
        (4, 0, 0)
    );
    let found = changes.conflicts.iter();
    let found: Vec<_> = found
        .map(|conflict| (conflict.end.node.0, conflict.old.0, conflict.why))
        .collect();
    let taken = |node| InvalidLid::Taken(guid(&fabric, node));
    assert_eq!(found.len(), 4);
    for expected in [
        (2, 1, taken(0)),
        (3, 2, taken(1)),
        (6, 3, taken(4)),
        (7, 4, taken(5)),
    ] {
        assert!(found.contains(&expected), "{found:?}");
    }
}

#[test]
fn unassigned_ports_get_free_lids_and_nobody_moves_for_them() {
    let mut builder = ring();
    for (node, lid) in [(0, 2), (1, 4), (4, 5), (6, 1)] {
        set(&mut builder, node, lid);
    }
    let fabric = builder.build();
    let options = LidOptions {
        database: [(guid(&fabric, 1), Lid(4)), (Guid(0x99), Lid(7))].into(),
        ..LidOptions::default()
    };
    let map = LidMap::assign(&fabric, &options).expect("LIDs");
    let changes = map.changes(&fabric, &options);
    assert_eq!(
        (changes.kept, changes.foreign.len(), changes.conflicts.len()),
        (1, 3, 0)
    );
    let new: Vec<_> = changes
        .unassigned
        .iter()
        .map(|&(end, lid)| (end.node.0, lid.0))
        .collect();
    // Hosts come before switches: their GUIDs are lower.
    assert_eq!(new, [(5, 3), (7, 6), (2, 7), (3, 8)]);
    assert_eq!(changes.absent, [Guid(0x99)]);
}

#[test]
fn what_is_valid_stays_and_only_the_rest_moves() {
    let mut builder = ring();
    // Switches 0..4 and hosts 4..8: one LID is no unicast LID, two are the same, four ports have none.
    set(&mut builder, 0, 0xc001);
    set(&mut builder, 1, 77);
    set(&mut builder, 2, 77);
    set(&mut builder, 4, 3);
    let fabric = builder.build();
    let options = LidOptions::default();
    let map = LidMap::assign(&fabric, &options).expect("LIDs");
    let changes = map.changes(&fabric, &options);
    assert_eq!((node_of(&map, 3), node_of(&map, 77)), (Some(4), Some(1)));
    let why = |node| {
        let found = changes
            .conflicts
            .iter()
            .find(|conflict| conflict.end.node.0 == node);
        found.map(|conflict| conflict.why)
    };
    assert_eq!(why(0), Some(InvalidLid::OutOfRange));
    assert_eq!(why(2), Some(InvalidLid::Taken(guid(&fabric, 1))));
    assert_eq!((changes.foreign.len(), changes.unassigned.len()), (2, 4));
}

#[test]
fn the_managers_own_port_keeps_its_lid() {
    let mut builder = ring();
    set(&mut builder, 4, 9);
    set(&mut builder, 7, 9);
    let fabric = builder.build();
    let first = LidMap::assign(&fabric, &LidOptions::default()).expect("LIDs");
    assert_eq!(node_of(&first, 9), Some(4));
    let options = LidOptions {
        manager: Some(guid(&fabric, 7)),
        ..LidOptions::default()
    };
    let map = LidMap::assign(&fabric, &options).expect("LIDs");
    assert_eq!(node_of(&map, 9), Some(7));
}

#[test]
fn misaligned_lids_move_when_the_lmc_grows() {
    let mut builder = ring();
    set(&mut builder, 4, 6);
    set(&mut builder, 5, 8);
    let fabric = builder.build();
    let options = LidOptions {
        lmc: Lmc::try_new(2).expect("an LMC"),
        ..LidOptions::default()
    };
    let map = LidMap::assign(&fabric, &options).expect("LIDs");
    assert_eq!(node_of(&map, 11), Some(5));
    let aligned = |port: &Destination| {
        port.range
            .base()
            .0
            .is_multiple_of(port.range.lmc().lid_count())
    };
    assert!(map.destinations().iter().all(aligned));
    let changes = map.changes(&fabric, &options);
    let why: Vec<_> = changes
        .conflicts
        .iter()
        .map(|conflict| conflict.why)
        .collect();
    assert_eq!(
        (changes.foreign.len(), &why[..]),
        (1, &[InvalidLid::Misaligned][..])
    );
}

#[test]
fn hosts_and_enhanced_switches_have_an_lmc_each() {
    let mut builder = ring();
    for node in [0, 1] {
        builder
            .node_mut(NodeIdx(node))
            .expect("a switch")
            .enhanced_port_0 = true;
    }
    let fabric = builder.build();
    let options = LidOptions {
        lmc: Lmc::try_new(3).expect("an LMC"),
        switch_lmc: Lmc::try_new(1).expect("an LMC"),
        ..LidOptions::default()
    };
    let map = LidMap::assign(&fabric, &options).expect("LIDs");
    // Two enhanced switches, two base ones, four hosts.
    assert_eq!(map.num_lids(), 2 * 2 + 2 + 4 * 8);
    for port in map.destinations().iter() {
        let node = port.end.node.0;
        let expected = if node < 2 {
            1
        } else if node < 4 {
            0
        } else {
            3
        };
        assert_eq!(port.range.lmc().bits(), expected);
    }
}

#[test]
fn a_range_of_lids_is_all_that_is_handed_out() {
    let mut builder = ring();
    set(&mut builder, 0, 1999);
    set(&mut builder, 1, 2000);
    let fabric = builder.build();
    let options = LidOptions {
        first: Lid(1001),
        last: Lid(1999),
        ..LidOptions::default()
    };
    let map = LidMap::assign(&fabric, &options).expect("LIDs");
    assert_eq!(lids(&map), [1001, 1002, 1003, 1004, 1005, 1006, 1007, 1999]);
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
    let without = [2, 3].map(|node| guid(&fabric, node)).to_vec();
    assert_eq!(
        alloc::string::ToString::to_string(&error),
        alloc::format!(
            "unicast LIDs are exhausted: 8 ports need 8, there are 6: 2 got none: {}, {}",
            without[0],
            without[1]
        )
    );
    let expected = RouteError::LidsExhausted {
        without,
        ports: 8,
        needed: 8,
        available: 6,
        fitting: None,
    };
    assert_eq!(error, expected);
}

#[test]
fn an_lmc_that_is_too_high_is_an_error_that_says_which_one_fits() {
    let spec = "fat-tree:radix=28,levels=2";
    let spec: crate::generate::FabricSpec = spec.parse().expect("a generator");
    let fabric = spec.build().expect("a fabric");
    let options = LidOptions {
        lmc: Lmc::try_new(7).expect("an LMC"),
        ..LidOptions::default()
    };
    let error = LidMap::assign(&fabric, &options).expect_err("392 ports with 128 LIDs each");
    let text = alloc::string::ToString::to_string(&error);
    let expected =
        "unicast LIDs are exhausted: 434 ports need 50218, there are 49151 (LMC 6 fits): ";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn a_map_without_lids_has_nothing_at_any_switch() {
    let lids = LidMap::default();
    assert_eq!(lids.at_switch(SwitchIdx(3)).len(), 0);
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
