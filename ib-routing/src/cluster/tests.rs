use alloc::{collections::BTreeMap, string::ToString, vec::Vec};

use ib_wire::{Guid, Lid, Lmc, PortNum};

use super::{ClusterFaultKind as Kind, *};
use crate::{
    Fabric, LidOptions, NodeType, PortRef, RouteOptions, SharedEngine, SwitchIdx, VerifyReport,
    engine,
    generate::FabricSpec,
    index::{IdxVec, NodeIdx},
    mcast::MulticastTree,
    verify,
};

const MCSM: &str = include_str!("../../testdata/clusters/mcsm.conf");

fn fabric(spec: &str) -> Fabric {
    let spec: FabricSpec = spec.parse().expect("a specification");
    spec.build().expect("a fabric")
}

fn mcsm() -> (Fabric, Vec<ClusterConfig>) {
    (fabric("mcsm"), read(MCSM).expect("a configuration"))
}

fn route_all(fabric: &Fabric, configs: &[ClusterConfig]) -> (Vec<ClusterRoutes>, Union) {
    route_with(fabric, configs, &engine::MINHOP)
}

fn route_with(
    fabric: &Fabric,
    configs: &[ClusterConfig],
    engine: &SharedEngine,
) -> (Vec<ClusterRoutes>, Union) {
    let clusters = Clusters::validate(fabric, configs).expect("sound configurations");
    let parts = clusters
        .route(
            core::slice::from_ref(engine),
            true,
            &LidOptions::default(),
            &RouteOptions::default(),
        )
        .expect("routes");
    let union = Union::join(fabric, &clusters, &parts);
    (parts, union)
}

fn judge(fabric: &Fabric, union: &Union) -> VerifyReport {
    let report = verify(fabric, &union.lids, &union.routes);
    assert_eq!(
        (report.unreachable, report.loops),
        (0, 0),
        "{:?}",
        report.failures
    );
    report
}

/// The faults of the configurations: the name of the cluster, the line, and what is wrong.
fn faults(text: &str) -> Vec<(usize, Kind)> {
    let configs = read(text).expect("a configuration");
    let faults = Clusters::validate(&fabric("mcsm"), &configs).expect_err("faults");
    faults
        .into_iter()
        .map(|fault| (fault.line, fault.kind))
        .collect()
}

/// Divides the switches by their numbers, which follow the columns of a mesh and the groups of a
/// dragonfly.
fn divide(fabric: &Fabric, parts: usize) -> IdxVec<SwitchIdx, usize> {
    let count = fabric.num_switches();
    (0..count).map(|at| at * parts / count).collect()
}

/// Ranges of 100 LIDs: engines that take their time then take less of it.
fn few_lids(mut configs: Vec<ClusterConfig>) -> Vec<ClusterConfig> {
    for (config, at) in configs.iter_mut().zip(0..) {
        (config.first, config.last) = (Lid(100 * at + 1), Lid(100 * at + 100));
    }
    configs
}

#[test]
fn three_clusters_of_24_ports_and_six_servers_are_one_fabric() {
    let (fabric, configs) = mcsm();
    let (parts, union) = route_all(&fabric, &configs);
    let report = judge(&fabric, &union);
    assert_eq!((report.pairs, report.max_hops), (30, 1));
    assert!(report.all_deadlock_free);
    let bases: Vec<u16> = union
        .lids
        .destinations()
        .iter()
        .map(|port| port.range.base().0)
        .collect();
    assert_eq!(bases, [1, 2, 3, 1000, 1001, 1002, 2000, 2001, 2002]);
    for part in &parts {
        let counts: Vec<usize> = part.transit.iter().map(|&(_, count)| count).collect();
        assert!(
            counts.iter().all(|count| (499..=500).contains(count)),
            "{counts:?}"
        );
    }
}

#[test]
fn every_table_answers_every_lid_of_the_other_clusters() {
    let (fabric, configs) = mcsm();
    let (parts, _) = route_all(&fabric, &configs);
    for (part, own) in parts.iter().zip(&configs) {
        for other in configs.iter().filter(|other| other.name != own.name) {
            let mut ports = BTreeMap::new();
            for lid in (other.first.0..=other.last.0).map(Lid) {
                let port = part.routes.port(SwitchIdx(0), lid);
                assert!(
                    own.transit
                        .iter()
                        .any(|transit| transit.place.port == port && transit.leads_to(&other.name))
                );
                *ports.entry(port).or_insert(0) += 1;
            }
            let (least, most) = (ports.values().min(), ports.values().max());
            assert!(
                most.zip(least)
                    .is_some_and(|(most, least)| most - least <= 1),
                "{ports:?}"
            );
        }
        let own_lids = part.lids.num_lids();
        let answered = (own.first.0..=own.last.0)
            .filter(|&lid| part.routes.port(SwitchIdx(0), Lid(lid)) != PortNum::UNREACHABLE);
        assert_eq!(answered.count(), own_lids);
    }
}

#[test]
fn each_cluster_has_its_own_engine() {
    let (fabric, mut configs) = mcsm();
    let engines = [&engine::MINHOP, &engine::UPDN, &engine::DOR];
    for (config, engine) in configs.iter_mut().zip(engines) {
        config.engines = [engine.clone()].into();
    }
    let (parts, union) = route_all(&fabric, &configs);
    let used: Vec<_> = parts.iter().map(|part| part.routes.engine()).collect();
    assert_eq!(used, engines);
    assert!(judge(&fabric, &union).all_deadlock_free);
}

#[test]
fn clusters_of_many_switches_reach_each_other_with_three_engines() {
    let fabric = fabric("mesh:6x4,hosts=2");
    // Two of the six columns each.
    let mut configs = few_lids(plan(&fabric, &divide(&fabric, 3)));
    let engines = [&engine::UPDN, &engine::MINHOP, &engine::DOR];
    for (config, engine) in configs.iter_mut().zip(engines) {
        config.engines = [engine.clone()].into();
    }
    let (parts, union) = route_all(&fabric, &configs);
    judge(&fabric, &union);
    // The one in the middle has four cables to either side, the others four in all.
    for (part, cables) in parts.iter().zip([4, 8, 4]) {
        let counts: Vec<usize> = part.transit.iter().map(|&(_, count)| count).collect();
        assert_eq!(counts.len(), cables);
        let (least, most) = (counts.iter().min(), counts.iter().max());
        assert!(
            most.zip(least)
                .is_some_and(|(most, least)| most - least <= 1),
            "{counts:?}"
        );
    }
}

#[test]
fn every_engine_routes_a_cluster() {
    // Of a fat tree every other leaf and every other spine; of the others, neighbours.
    let trees = fabric("fat-tree:radix=8,levels=2");
    let trees = (
        few_lids(plan(&trees, &(0..12).map(|at| at % 2).collect())),
        trees,
    );
    let torus = fabric("torus:4x4,hosts=2");
    let torus = (few_lids(plan(&torus, &divide(&torus, 2))), torus);
    let fly = fabric("dragonfly:a=4,p=2,h=2");
    let fly = (few_lids(plan(&fly, &divide(&fly, 9))), fly);
    for engine in engine::ALL {
        let cases = match engine.name() {
            // They want tables, or a torus with its configuration.
            "file" | "torus-2QoS" => continue,
            "ftree" => [&trees].to_vec(),
            // A group of a dragonfly is no mesh, half a torus is; and no path leads down and then up
            // through a tree with roots of its own.
            "dor" | "dnup" => [&torus].to_vec(),
            _ => [&trees, &torus, &fly].to_vec(),
        };
        for (configs, fabric) in cases {
            let (_, union) = route_with(fabric, configs, engine);
            judge(fabric, &union);
        }
    }
}

#[test]
fn a_cluster_is_computed_without_a_look_behind_its_boundary() {
    let (fabric, configs) = mcsm();
    let (before, _) = route_all(&fabric, &configs);
    // The third cluster loses a server and a cable inside: the first does not notice.
    let mut builder = fabric.to_builder();
    let third = fabric
        .node_by_guid(Guid(0x2c90_0000_0300))
        .expect("the third switch");
    builder.remove_link(PortRef {
        node: third,
        port: PortNum(1),
    });
    let (after, _) = route_all(&builder.build(), &configs);
    assert_eq!(before[0].routes, after[0].routes);
    assert_eq!(before[1].routes, after[1].routes);
}

#[test]
fn a_dead_transit_cable_is_not_used() {
    let (fabric, configs) = mcsm();
    let first = fabric
        .node_by_guid(Guid(0x2c90_0000_0100))
        .expect("the first switch");
    let mut builder = fabric.to_builder();
    builder.remove_link(PortRef {
        node: first,
        port: PortNum(21),
    });
    let fabric = builder.build();
    let (parts, union) = route_all(&fabric, &configs);
    judge(&fabric, &union);
    let counts: Vec<_> = parts[0]
        .transit
        .iter()
        .map(|(place, count)| (place.port.0, *count))
        .collect();
    assert_eq!(counts, [(22, 1000), (23, 500), (24, 500)]);
}

#[test]
fn lids_of_a_port_with_several_leave_by_several_ports() {
    let (fabric, mut configs) = mcsm();
    for config in &mut configs {
        config.lmc = Lmc::try_new(2).ok();
    }
    let (parts, union) = route_all(&fabric, &configs);
    judge(&fabric, &union);
    let server = union
        .lids
        .destinations()
        .iter()
        .find(|port| port.range.base().0 >= 2000 && port.type_ == NodeType::CA);
    let server = server.expect("a server of the third cluster").range;
    let ports: Vec<_> = server
        .iter()
        .map(|lid| parts[0].routes.port(SwitchIdx(0), lid).0)
        .collect();
    assert!(ports.contains(&23) && ports.contains(&24), "{ports:?}");
}

#[test]
fn what_is_written_is_read_again() {
    let (fabric, configs) = mcsm();
    for configs in [configs, plan(&fabric, &divide(&fabric, 3))] {
        let text = write(&configs);
        let again = read(&text).expect("what we wrote");
        assert_eq!(write(&again), text);
        assert!(Clusters::validate(&fabric, &again).is_ok());
    }
}

#[test]
fn a_bad_line_is_named() {
    for (text, line) in [
        ("", 1),
        ("# nothing\n", 1),
        ("lids 1 2\n", 1),
        ("cluster\n", 1),
        ("cluster two words\n", 1),
        ("cluster a\n", 1),
        ("cluster a\n\ncluster b\nlids 1 2\n", 1),
        ("cluster a\nlids 5\n", 2),
        ("cluster a\nlids 9 5\n", 2),
        ("cluster a\nlids 0 5\n", 2),
        ("cluster a\nlids 1 0xc000\n", 2),
        ("cluster a\nlids 1 2 3\n", 2),
        ("cluster a\nlids 1 2\nlmc 8\n", 3),
        ("cluster a\nlids 1 2\nengine minhop fastest\n", 3),
        ("cluster a\nlids 1 2\nswitch nine\n", 3),
        ("cluster a\nlids 1 2\n\nboundary 0x10\n", 4),
        ("cluster a\nlids 1 2\nboundary 0x10 0\n", 3),
        ("cluster a\nlids 1 2\nboundary 0x10 1 2\n", 3),
        ("cluster a\nlids 1 2\ntransit 0x10 256\n", 3),
        ("cluster a\nlids 1 2\nborder 0x10 1\n", 3),
    ] {
        assert_eq!(read(text).expect_err(text).line, Some(line), "{text}");
    }
}

#[test]
fn configurations_are_checked_against_each_other() {
    let line = |part: &str| {
        1 + MCSM
            .lines()
            .position(|line| line.contains(part))
            .expect(part)
    };
    let one = Guid(0x2c90_0000_0100);
    assert!(Clusters::validate(&fabric("mcsm"), &read(MCSM).expect("a configuration")).is_ok());

    let overlap = faults(&MCSM.replace("lids       1000", "lids       900"));
    let kind = Kind::RangesOverlap {
        other: "first".to_string(),
        first: Lid(900),
        last: Lid(999),
    };
    assert_eq!(overlap, [(line("cluster    second"), kind)]);

    let twice = faults(&MCSM.replace("cluster    third", "cluster    second"));
    assert!(twice.contains(&(line("cluster    third"), Kind::NameTwice)));

    let transit = faults(&MCSM.replace(
        "transit    0x00002c9000000100 22",
        "transit    0x00002c9000000100 20",
    ));
    let kind = Kind::TransitNotBoundary {
        switch: one,
        port: PortNum(20),
    };
    assert_eq!(transit, [(line("transit    0x00002c9000000100 22"), kind)]);

    let sided = faults(
        &MCSM
            .replace("boundary   0x00002c9000000200 23\n", "")
            .replace("transit    0x00002c9000000200 23 first\n", "")
            .replace("multicast  0x00002c9000000200 23", "#"),
    );
    let kind = Kind::OneSided {
        switch: one,
        port: PortNum(21),
        peer: Guid(0x2c90_0000_0200),
        peer_port: PortNum(23),
        other: "second".to_string(),
    };
    assert_eq!(sided, [(line("boundary   0x00002c9000000100 21"), kind)]);

    let shared = faults(
        &MCSM
            .lines()
            .filter(|line| !line.contains("2c9000000100 21") && !line.contains("2c9000000200 23"))
            .map(|line| line.to_string() + "\n")
            .collect::<alloc::string::String>(),
    );
    assert!(
        matches!(shared[..], [(_, Kind::SharedSwitch { .. })]),
        "{shared:?}"
    );

    let nobody = faults(
        "cluster a\nlids 1 9\nboundary 0x2c9000000100 21\nboundary 0x2c9000000100 22\nboundary 0x2c9000000100 23\nboundary 0x2c9000000100 24\n",
    );
    assert!(
        matches!(nobody[0], (3, Kind::Unclaimed { .. })),
        "{nobody:?}"
    );

    let unknown = faults(&MCSM.replace("boundary   0x00002c9000000300 24", "boundary   0x77 24"));
    assert!(unknown.contains(&(
        line("boundary   0x00002c9000000300 24"),
        Kind::UnknownSwitch { guid: Guid(0x77) }
    )));

    let port = faults(&MCSM.replace(
        "boundary   0x00002c9000000300 24",
        "boundary   0x00002c9000000300 25",
    ));
    assert!(
        matches!(port[0].1, Kind::NoSuchPort { num_ports: 24, .. }),
        "{port:?}"
    );

    let host = faults(&MCSM.replace(
        "boundary   0x00002c9000000300 24",
        "boundary   0x00002c9000000300 24\nboundary   0x00002c9000000300 1",
    ));
    assert_eq!(
        host[0].1,
        Kind::BoundaryToHost {
            switch: Guid(0x2c90_0000_0300),
            port: PortNum(1)
        }
    );

    let name = faults(&MCSM.replace("21 second", "21 fourth"));
    assert_eq!(
        name,
        [(
            line("21 second"),
            Kind::UnknownCluster {
                name: "fourth".to_string()
            }
        )]
    );

    let none = faults(
        &MCSM
            .replace("transit    0x00002c9000000100 21 second", "")
            .replace("transit    0x00002c9000000100 22 second", ""),
    );
    assert_eq!(
        none,
        [(
            line("cluster    first"),
            Kind::NoTransit {
                to: "second".to_string()
            }
        )]
    );
}

#[test]
fn transit_that_goes_round_in_a_circle_is_refused() {
    // To the third: the first sends to the second, and the second to the first.
    let text = MCSM
        .replace("23 third", "23 second")
        .replace("24 third", "24 second")
        .replace("0x00002c9000000100 21 second", "0x00002c9000000100 21")
        .replace("0x00002c9000000200 21 third", "0x00002c9000000200 23 third")
        .replace("0x00002c9000000200 22 third", "0x00002c9000000200 24 third");
    let found = faults(&text);
    let circle = found.iter().find_map(|(_, kind)| match kind {
        Kind::TransitCycle { to, through } => Some((to.as_str(), through.len())),
        _ => None,
    });
    assert_eq!(circle, Some(("third", 2)), "{found:?}");
}

#[test]
fn multicast_joints_are_named_by_both_sides_and_make_a_tree() {
    let sided = faults(&MCSM.replace("multicast  0x00002c9000000300 23", ""));
    assert!(
        matches!(
            sided[..],
            [(
                _,
                Kind::MulticastOneSided {
                    port: PortNum(21),
                    ..
                }
            )]
        ),
        "{sided:?}"
    );
    let circle = faults(
        &MCSM
            .replace(
                "multicast  0x00002c9000000300 23",
                "multicast  0x00002c9000000300 23\nmulticast  0x00002c9000000300 21",
            )
            .replace(
                "multicast  0x00002c9000000100 21",
                "multicast  0x00002c9000000100 21\nmulticast  0x00002c9000000100 23",
            ),
    );
    assert!(
        matches!(circle[..], [(_, Kind::MulticastCycle { .. })]),
        "{circle:?}"
    );
}

fn hosts(fabric: &Fabric) -> Vec<PortRef> {
    let nodes = fabric.nodes().iter_enumerated();
    let hosts = nodes.filter(|(_, node)| !node.type_.is_switch());
    hosts
        .map(|(node, _): (NodeIdx, _)| PortRef {
            node,
            port: PortNum(1),
        })
        .collect()
}

/// Trees of `groups` groups of the hosts that `choose` picks, each made by the clusters and joined.
fn joined(fabric: &Fabric, configs: &[ClusterConfig], members: &[PortRef]) -> MulticastTree {
    let clusters = Clusters::validate(fabric, configs).expect("sound configurations");
    let trees: Vec<MulticastTree> = clusters
        .views()
        .iter()
        .map(|view| {
            let own = members.iter().filter_map(|end| {
                let node = view.own().node_by_guid(fabric.node(end.node).guid)?;
                Some(PortRef { node, ..*end })
            });
            view.tree(&mut view.trees([]), &own.collect::<Vec<_>>())
        })
        .collect();
    join_trees(fabric, &clusters, &trees)
}

#[test]
fn the_joined_trees_deliver_every_packet_once() {
    let (triangle, configs) = mcsm();
    let mesh = fabric("mesh:6x4,hosts=2");
    let by_columns = plan(&mesh, &divide(&mesh, 3));
    let flies = fabric("dragonfly:a=4,p=2,h=2");
    let by_groups = plan(&flies, &divide(&flies, 9));
    for (fabric, configs) in [(triangle, configs), (mesh, by_columns), (flies, by_groups)] {
        for step in [1, 2, 3] {
            let members: Vec<PortRef> = hosts(&fabric).into_iter().step_by(step).collect();
            let tree = joined(&fabric, &configs, &members);
            assert_eq!(tree.left_out, []);
            for &from in &members {
                let got = crate::mcast::flood(&fabric, &tree, from);
                let others = members.iter().copied().filter(|&member| member != from);
                assert_eq!(got, others.collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn members_that_no_joint_leads_to_are_left_out() {
    let (fabric, mut configs) = mcsm();
    configs[1].multicast.truncate(1);
    configs[2].multicast.clear();
    let members = hosts(&fabric);
    let tree = joined(&fabric, &configs, &members);
    assert_eq!(tree.left_out, members[4..]);
}
