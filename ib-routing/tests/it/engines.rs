//! Single engines beside their peers: lanes, loads, refusals. `suite.rs` tests the properties of all
//! engines.

use std::collections::BTreeSet;

use ib_routing::{
    Fabric, FabricBuilder, LidMap, LidOptions, NewNode, NodeIdx, NodeType, PortRef, RouteOptions,
    SharedEngine, VerifyReport, engine, format::ibnetdiscover, generate::remove_links, verify,
};
use ib_testkit::{
    data::torus_2qos_config,
    fabrics::{fabric, fabrics, generated},
};
use ib_wire::{Guid, Lid, PortNum, addr::LidRange};

fn route(engine: &SharedEngine, fabric: &Fabric) -> Result<VerifyReport, ib_routing::RouteError> {
    let lids = LidMap::assign(fabric, &LidOptions::default()).unwrap();
    let routes = engine.route(fabric, &lids, &RouteOptions::default())?;
    Ok(verify(fabric, &lids, &routes))
}

#[test]
fn nue_needs_one_lane_on_every_fabric() {
    for (name, fabric) in fabrics() {
        let report = route(&engine::NUE, &fabric).unwrap();
        assert_eq!(
            (report.unreachable, report.loops, report.vls),
            (0, 0, 1),
            "{name}"
        );
        assert!(report.all_deadlock_free, "{name}");
    }
}

#[test]
fn nue_is_clean_on_several_lanes() {
    for (name, fabric) in fabrics() {
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        for vls in [2, 3, 8] {
            let on = |threads| RouteOptions {
                threads,
                nue_max_num_vls: vls,
                ..RouteOptions::default()
            };
            let routes = engine::NUE.route(&fabric, &lids, &on(1)).unwrap();
            let report = verify(&fabric, &lids, &routes);
            assert_eq!(
                (report.unreachable, report.loops),
                (0, 0),
                "{name}, {vls} VLs"
            );
            assert!(report.all_deadlock_free, "{name}, {vls} VLs");
            assert!(report.vls <= vls, "{name}: {} of {vls} VLs", report.vls);
            let parallel = engine::NUE.route(&fabric, &lids, &on(2)).unwrap();
            assert!(routes == parallel, "{name}, {vls} VLs");
        }
    }
}

/// Some switches have not as many CAs as cables to others, or a multiple of that: trees chosen side by side must not share
/// these cables.
#[test]
fn sssp_and_nue_load_no_link_of_a_narrow_fat_tree_much_more_than_minhop_does() {
    for spec in [
        "fat-tree:radix=16,levels=3,oversub=2",
        "fat-tree:radix=20,levels=3,oversub=3",
        "fat-tree:radix=14,levels=3,oversub=2",
    ] {
        let fabric = generated(spec);
        let most = |engine| route(engine, &fabric).unwrap().link_load.max;
        let minhop = most(&engine::MINHOP);
        for engine in [&engine::SSSP, &engine::NUE] {
            let load = most(engine);
            assert!(load * 100 <= minhop * 110, "{spec}: {load}, {minhop}");
        }
    }
}

/// The least load of the busiest link: the routes to the CAs at a switch share its links.
fn least_load(fabric: &Fabric) -> u64 {
    let lids = LidMap::assign(fabric, &LidOptions::default()).unwrap();
    let cas = |switch| {
        let ends = lids.at_switch(switch);
        ends.filter(|end| !end.is_switch()).count() as u64
    };
    let all: u64 = fabric.switches().indices().map(cas).sum();
    let of = |switch| {
        let links = fabric.channels_from(switch).len() as u64;
        (cas(switch) * (all - cas(switch))).div_ceil(links.max(1))
    };
    fabric.switches().indices().map(of).max().unwrap()
}

/// A generated fabric that lacks a share of its links in percent, its [`least_load`], and its name.
fn damaged(spec: &str, percent: f64) -> (Fabric, u64, String) {
    let fabric = remove_links(&generated(spec), percent, 1);
    let least = least_load(&fabric);
    (fabric, least, format!("{spec} without {percent} %"))
}

/// Ports that each switch chooses by its own load alone would crowd on some links.
#[test]
fn no_link_of_a_damaged_fat_tree_bears_far_more_than_it_must() {
    let engines = [
        &engine::MINHOP,
        &engine::UPDN,
        &engine::DNUP,
        &engine::SSSP,
        &engine::DFSSSP,
        &engine::NUE,
    ];
    for (spec, percent) in [
        ("fat-tree:radix=12,levels=3", 0.5),
        ("fat-tree:radix=12,levels=3", 3.0),
        ("fat-tree:radix=12,levels=3", 10.0),
        ("fat-tree:radix=18,levels=3", 3.0),
    ] {
        let (fabric, least, name) = damaged(spec, percent);
        for engine in engines {
            let report = route(engine, &fabric).unwrap();
            let max = report.link_load.max;
            let name = format!("{engine} on {name}");
            assert!(max * 2 <= least * 3, "{name}: {max}, {least}");
            assert_eq!((report.unreachable, report.loops), (0, 0), "{name}");
        }
    }
}

/// All CAs of a switch share one tree: if its routes met early, one link to the switch would bear nearly all of them.
#[test]
fn lash_spreads_the_routes_to_a_switch_over_its_links() {
    for (spec, percent) in [
        ("fat-tree:radix=12,levels=3", 0.0),
        ("fat-tree:radix=12,levels=3", 3.0),
        ("fat-tree:radix=12,levels=3", 10.0),
        ("fat-tree:radix=16,levels=3,oversub=2", 0.0),
        ("fat-tree:radix=18,levels=3", 0.0),
        ("fat-tree:radix=18,levels=3", 3.0),
        ("fat-tree:radix=18,levels=3", 10.0),
    ] {
        let (fabric, least, name) = damaged(spec, percent);
        let report = route(&engine::LASH, &fabric).unwrap();
        let max = report.link_load.max;
        assert!(max <= least * 2, "{name}: {max}, {least}");
        assert!(report.is_clean() && report.vls == 1, "{name}");
    }
}

/// No branch of these trees has a twentieth of the CAs, so leaves are equally far from nearly all CAs as roots are.
#[test]
fn updn_finds_the_roots_of_trees_with_many_branches() {
    for (levels, percent, number) in [(2, 0.0, 12), (2, 3.0, 12), (3, 0.0, 144), (3, 3.0, 144)] {
        let spec = format!("fat-tree:radix=24,levels={levels}");
        let fabric = remove_links(&generated(&spec), percent, 1);
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let top = format!("L{levels}-");
        let nodes = fabric.nodes().iter();
        let roots = nodes.filter(|node| node.description.starts_with(&top));
        let roots: Vec<Guid> = roots.map(|node| node.guid).collect();
        assert_eq!(roots.len(), number);
        let found = engine::UPDN
            .route(&fabric, &lids, &RouteOptions::default())
            .unwrap();
        let named = RouteOptions {
            roots,
            ..RouteOptions::default()
        };
        let named = engine::UPDN.route(&fabric, &lids, &named).unwrap();
        assert!(found == named, "{spec} without {percent} %");
    }
}

#[test]
fn nue_balances_large_fat_trees_as_sssp_does() {
    let whole = generated("fat-tree:radix=12,levels=3");
    let lids = LidMap::assign(&whole, &LidOptions::default()).unwrap();
    let on = |fabric: &Fabric, engine: &SharedEngine, threads| {
        let options = RouteOptions {
            threads,
            ..RouteOptions::default()
        };
        engine.route(fabric, &lids, &options).unwrap()
    };
    let routes = on(&whole, &engine::NUE, 1);
    let most = |routes| verify(&whole, &lids, routes).link_load.max;
    assert!(most(&routes) <= most(&on(&whole, &engine::SSSP, 1)));
    // Where cables are missing, some switches without CAs have no shortest path that fits. CAs have, as long as their own
    // shortest paths close no cycle.
    for percent in [0.0, 0.2, 0.4, 0.6, 1.0, 5.0, 20.0] {
        let fabric = remove_links(&whole, percent, 1);
        let routes = on(&fabric, &engine::NUE, 1);
        let report = verify(&fabric, &lids, &routes);
        assert_eq!((report.unreachable, report.loops, report.vls), (0, 0, 1));
        assert!(report.all_deadlock_free, "{percent} %");
        let sssp = verify(&fabric, &lids, &on(&fabric, &engine::SSSP, 1));
        assert_eq!(sssp.deadlock_free, percent < 20.0);
        let hops = |report: &VerifyReport| (report.max_hops, report.mean_hops);
        let (load, limit) = (report.link_load.max, sssp.link_load.max);
        if sssp.deadlock_free {
            assert_eq!(hops(&report), hops(&sssp), "{percent} %");
            assert!(load <= limit, "{percent} %: {load}, {limit}");
        }
        assert!(routes == on(&fabric, &engine::NUE, 2), "{percent} %");
    }
}

#[test]
fn ftree_joins_switches_too_on_whole_and_broken_trees() {
    for name in [
        "gen-karyn-4-3",
        "gen-ft-48-broken10",
        "gen-ft-48-lostspine",
        "real-qdr-avakas-306",
    ] {
        let report = route(&engine::FTREE, &fabric(name)).unwrap();
        assert_eq!((report.unreachable, report.loops), (0, 0), "{name}");
        assert!(report.all_deadlock_free, "{name}");
    }
}

#[test]
fn no_shift_of_all_hosts_loads_a_link_of_a_whole_tree_twice() {
    for spec in [
        "fat-tree:radix=8,levels=2",
        "fat-tree:radix=8,levels=3",
        "fat-tree:radix=12,levels=2,parallel=2,pods=6",
        "fat-tree:radix=4,levels=4",
    ] {
        let fabric = generated(spec);
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let routes = engine::FTREE
            .route(&fabric, &lids, &RouteOptions::default())
            .unwrap();
        let (worst, shift) = ib_routing::verify::balance::worst_shift(&fabric, &lids, &routes);
        assert_eq!(worst.max, 1, "{spec:?}, shift by {shift}");
    }
}

#[test]
fn ftree_shares_links_out_among_compute_nodes_first() {
    // Eight hosts on a leaf, four links up; every other host is an I/O node.
    let fabric = generated("fat-tree:radix=12,levels=2,oversub=2");
    let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
    let cas = lids.destinations().iter().filter(|end| !end.is_switch());
    let compute: Vec<_> = cas.step_by(2).collect();
    let busiest_for_compute_nodes = |options: &RouteOptions| {
        let routes = engine::FTREE.route(&fabric, &lids, options).unwrap();
        let mut down = std::collections::BTreeMap::<_, u32>::new();
        for end in &compute {
            let far = fabric.switches().indices();
            let mut paths = far.map(|far| routes.path(&fabric, far, end.range.base()));
            // From another leaf: up, then from the spine down.
            let from_spine = paths.find_map(|mut path| path.nth(1).zip(path.next()));
            *down.entry(from_spine.unwrap().0).or_default() += 1;
        }
        down.values().copied().max().unwrap()
    };
    let listed = RouteOptions {
        compute_nodes: compute.iter().map(|end| end.guid).collect(),
        ..RouteOptions::default()
    };
    assert_eq!(busiest_for_compute_nodes(&RouteOptions::default()), 2);
    assert_eq!(busiest_for_compute_nodes(&listed), 1);
}

/// A tree of three levels, and two CAs on roots with no neighbour in common.
fn tree_with_cas_on_roots() -> (Fabric, [Guid; 2]) {
    // Every switch gets a port for a CA.
    let text = ibnetdiscover::write(&generated("fat-tree:radix=8,levels=3"), None);
    let text = text.replace("Switch\t8 ", "Switch\t9 ");
    let fabric = ibnetdiscover::read(&text).unwrap().fabric;
    let below = |root: NodeIdx| -> BTreeSet<NodeIdx> {
        let peers = fabric.node(root).ports();
        peers
            .filter_map(|(_, port)| Some(port.peer?.node))
            .collect()
    };
    let roots = fabric.switches().iter().copied();
    let roots: Vec<_> = roots
        .filter(|&root| fabric.node(root).description.starts_with("L3-"))
        .collect();
    let other = roots
        .iter()
        .find(|&&root| below(root).is_disjoint(&below(roots[0])));
    let mut builder = fabric.to_builder();
    let guids = [Guid(0x9001), Guid(0x9002)];
    for (guid, &root) in guids.into_iter().zip([&roots[0], other.unwrap()]) {
        let port = PortRef {
            node: root,
            port: PortNum(9),
        };
        let ca = NewNode {
            guid,
            num_ports: 1,
            ..NewNode::default()
        };
        let node = builder.add_node(ca).unwrap();
        let end = PortRef {
            node,
            port: PortNum(1),
        };
        builder.port_mut(end).unwrap().guid = guid;
        builder.add_link(end, port).unwrap();
    }
    (builder.build(), guids)
}

#[test]
fn ftree_goes_back_up_to_io_nodes_only_and_as_often_as_it_may() {
    let (fabric, storage) = tree_with_cas_on_roots();
    let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
    let cas = lids.destinations().iter().filter(|end| !end.is_switch());
    let options = |max_reverse_hops, io_nodes: &[Guid]| RouteOptions {
        compute_nodes: cas
            .clone()
            .map(|end| end.guid)
            .filter(|guid| !storage.contains(guid))
            .collect(),
        io_nodes: io_nodes.to_vec(),
        max_reverse_hops,
        ..RouteOptions::default()
    };
    let route = |options: &RouteOptions| engine::FTREE.route(&fabric, &lids, options);
    for (refused, why) in [
        (
            options(1, &storage),
            "by 2 reverse hops, max_reverse_hops and io_guid_file allow 1",
        ),
        (options(2, &[]), "allow 0"),
        (options(2, &storage[..1]), "allow 0"),
    ] {
        let error = route(&refused).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    for allowed in [options(0, &[]), options(2, &storage)] {
        let report = verify(&fabric, &lids, &route(&allowed).unwrap());
        assert!(
            report.is_clean(),
            "{} unreachable, {:?}",
            report.unreachable,
            report.cycle
        );
    }
    // Two hops down to a leaf that both roots are above, two up again.
    let routes = route(&options(2, &storage)).unwrap();
    let ends = storage.map(|guid| cas.clone().find(|end| end.guid == guid).unwrap());
    let path = routes.path(&fabric, ends[0].switch.unwrap(), ends[1].range.base());
    assert_eq!(path.count(), 5);
}

#[test]
fn ftree_names_the_switch_that_breaks_the_tree() {
    let error = route(&engine::FTREE, &fabric("gen-ring-8")).unwrap_err();
    assert!(
        error.to_string().contains("switch 0x0020000000000000"),
        "{error}"
    );
}

#[test]
fn layers_suffice_on_a_torus_of_eight() {
    let fabric = generated("torus:8x8x8,hosts=1");
    for engine in [&engine::DFSSSP, &engine::LASH] {
        let report = route(engine, &fabric).unwrap();
        assert!(
            report.deadlock_free && report.vls <= 8,
            "{engine}: {} VLs",
            report.vls
        );
    }
}

#[test]
fn torus_2qos_passes_broken_links_and_names_a_switch_without_place() {
    let options = RouteOptions {
        torus_config: Some(torus_2qos_config()),
        ..RouteOptions::default()
    };
    let whole = fabric("gen-torus-4x4x4");
    let mut builder = whole.to_builder();
    let failed = whole.switches().iter().nth(42).copied().unwrap();
    let peers: Vec<_> = whole
        .node(failed)
        .ports()
        .filter_map(|(_, port)| port.peer)
        .collect();
    for peer in peers {
        builder.remove_link(peer);
    }
    for (name, fabric, vls) in [
        ("whole", whole.clone(), 2),
        ("two links", fabric("gen-torus-4x4x4-broken2"), 2),
    ] {
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let routes = engine::TORUS_2QOS.route(&fabric, &lids, &options).unwrap();
        let report = verify(&fabric, &lids, &routes);
        assert_eq!(
            (report.unreachable, report.loops, routes.vls()),
            (0, 0, vls),
            "{name}"
        );
        assert!(report.all_deadlock_free, "{name}: {:?}", report.cycle);
    }
    // A switch without links has no place: the error names it.
    let fabric = builder.build();
    let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
    let error = engine::TORUS_2QOS
        .route(&fabric, &lids, &options)
        .unwrap_err();
    assert!(
        error.to_string().contains("no place in the torus"),
        "{error}"
    );
}

/// OpenSM 3.3.23 without a torus-2QoS.conf reports `ERR 4E11: Opening /etc/opensm/torus-2QoS.conf` and configures min-hop.
#[test]
fn torus_2qos_without_a_configuration_leaves_the_fabric_to_the_next_engine() {
    let fabric = fabric("gen-torus-5x5");
    let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
    let by = |no_fallback| {
        let chain = [engine::TORUS_2QOS.clone()];
        engine::chain::route(
            &chain,
            no_fallback,
            &fabric,
            &lids,
            &RouteOptions::default(),
        )
    };
    let chosen = by(false).unwrap();
    assert_eq!(chosen.routes.engine().name(), "minhop");
    let [(failed, error)] = &chosen.failed[..] else {
        panic!("{:?}", chosen.failed);
    };
    assert_eq!(failed.name(), "torus-2QoS");
    assert!(
        error.to_string().contains("torus_config is missing"),
        "{error}"
    );
    assert_eq!(by(true).unwrap_err().to_string(), error.to_string());
}

/// OpenSM 3.3.23 with the same files: routes on the busiest link by sssp and dfsssp, which share their
/// paths; by lash, and its VLs; and by nue on one VL.
const OPENSM: &[(&str, u64, u64, u8, u64)] = &[
    ("gen-ft-48-broken10", 78, 216, 1, 84),
    ("gen-ft-48-lostspine", 84, 252, 1, 78),
    ("gen-ft-oversub2-144", 264, 1584, 1, 360),
    ("gen-karyn-4-2", 12, 48, 1, 12),
    ("gen-karyn-4-3", 92, 768, 3, 92),
    ("gen-karyn-8-2", 56, 448, 1, 80),
    ("gen-pgft-6x6-par3", 30, 180, 1, 42),
    ("real-edr-102", 144, 1728, 1, 192),
    ("real-qdr-avakas-306", 350, 4734, 1, 423),
    ("seed-dualstar", 5, 10, 1, 4),
    ("gen-jellyfish-30-5", 80, 112, 3, 128),
    ("gen-irregular-20", 224, 431, 3, 320),
    ("gen-irregular-20-shuffled", 371, 424, 2, 440),
    ("gen-dragonfly-4-2-2", 94, 88, 3, 220),
    ("gen-hypercube-4", 13, 8, 1, 16),
    ("gen-mesh-6x4", 160, 144, 1, 240),
    ("gen-torus-4x4x4", 57, 48, 5, 185),
    ("gen-torus-4x4x4-broken2", 63, 64, 4, 226),
    ("gen-torus-5x5", 78, 60, 3, 170),
    ("gen-torus-3x3x3-par2", 30, 36, 1, 78),
    ("gen-ring-8", 40, 40, 4, 50),
    ("gen-ring-5", 3, 3, 2, 4),
    ("gen-full-6", 9, 9, 1, 9),
    ("real-fdr10-152", 472, 2832, 1, 472),
];

/// A generated fabric, the share of its links that is removed in percent, and the seed of the choice.
type Damaged = (&'static str, f64, u64);

/// The same of damaged fabrics.
const OPENSM_DAMAGED: &[(Damaged, u64, u64, u8, u64)] = &[
    (("fat-tree:radix=8,levels=2", 10.0, 1), 52, 96, 1, 52),
    (("fat-tree:radix=8,levels=2", 10.0, 2), 48, 96, 2, 48),
    (("fat-tree:radix=8,levels=3", 5.0, 1), 248, 1472, 4, 988),
    (("fat-tree:radix=8,levels=3", 5.0, 2), 264, 1792, 4, 1380),
    (("fat-tree:radix=6,levels=3", 15.0, 1), 153, 351, 4, 153),
    (("fat-tree:radix=6,levels=3", 15.0, 2), 153, 297, 5, 153),
    (("torus:4x4x4,hosts=1", 5.0, 1), 54, 64, 5, 139),
    (("torus:4x4x4,hosts=1", 5.0, 2), 61, 68, 5, 109),
    (("torus:6x6,hosts=2", 10.0, 1), 228, 272, 4, 512),
    (("torus:6x6,hosts=2", 10.0, 2), 186, 264, 5, 374),
    (("mesh:5x5,hosts=2", 10.0, 1), 178, 204, 3, 312),
    (("mesh:5x5,hosts=2", 10.0, 2), 276, 360, 1, 342),
    (("hypercube:dim=5,hosts=2", 10.0, 1), 106, 112, 3, 178),
    (("hypercube:dim=5,hosts=2", 10.0, 2), 106, 108, 3, 180),
    (("dragonfly:a=4,p=2,h=2", 10.0, 1), 172, 176, 4, 272),
    (("dragonfly:a=4,p=2,h=2", 10.0, 2), 130, 140, 4, 310),
    (
        ("jellyfish:switches=30,degree=5,hosts=2,seed=3", 10.0, 1),
        96,
        140,
        3,
        154,
    ),
    (
        ("jellyfish:switches=30,degree=5,hosts=2,seed=3", 10.0, 2),
        86,
        108,
        3,
        268,
    ),
    (
        ("random:switches=24,links=50,hosts=40,seed=7", 10.0, 1),
        36_800,
        54_400,
        2,
        60_080,
    ),
    (("torus:3x3x3,hosts=2", 15.0, 1), 70, 76, 2, 200),
    (("torus:3x3x3,hosts=2", 15.0, 2), 68, 68, 2, 98),
    (
        ("fat-tree:radix=12,levels=2,parallel=2", 20.0, 1),
        60,
        180,
        1,
        60,
    ),
    (
        ("fat-tree:radix=12,levels=2,parallel=2", 20.0, 2),
        96,
        180,
        1,
        90,
    ),
];

/// All fabrics with OpenSM's figures.
fn beside_opensm() -> impl Iterator<Item = (String, Fabric, u64, u64, u8, u64)> {
    let whole = OPENSM.iter().map(|&(name, sssp, lash, vls, nue)| {
        let fabric = fabric(name);
        (name.to_owned(), fabric, sssp, lash, vls, nue)
    });
    let damaged = OPENSM_DAMAGED
        .iter()
        .map(|&(damaged, sssp, lash, vls, nue)| {
            let (spec, percent, seed) = damaged;
            let whole = generated(spec);
            let fabric = remove_links(&whole, percent, seed);
            (format!("{damaged:?}"), fabric, sssp, lash, vls, nue)
        });
    whole.chain(damaged)
}

#[test]
fn load_of_sssp_and_dfsssp_is_at_most_opensms() {
    for (name, fabric, opensm, ..) in beside_opensm() {
        for engine in [&engine::SSSP, &engine::DFSSSP] {
            let load = route(engine, &fabric).unwrap().link_load.max;
            assert!(load <= opensm, "{name} {engine}: {load}, OpenSM {opensm}");
        }
    }
}

#[test]
fn load_and_lanes_of_lash_are_at_most_opensms() {
    for (name, fabric, _, opensm, opensm_vls, _) in beside_opensm() {
        let report = route(&engine::LASH, &fabric).unwrap();
        let load = report.link_load.max;
        assert!(load <= opensm, "{name}: {load}, OpenSM {opensm}");
        let vls = report.vls;
        assert!(vls <= opensm_vls, "{name}: {vls} VLs, OpenSM {opensm_vls}");
    }
}

#[test]
fn load_of_nue_on_one_lane_is_at_most_opensms() {
    for (name, fabric, .., opensm) in beside_opensm() {
        let load = route(&engine::NUE, &fabric).unwrap().link_load.max;
        assert!(load <= opensm, "{name}: {load}, OpenSM {opensm}");
    }
}

/// The load is that of OpenSM 3.3.23's tables, the least of three recordings.
#[test]
fn nue_on_one_lane_carries_less_than_opensm_on_a_dragonfly_of_a_thousand_hosts() {
    let report = route(&engine::NUE, &generated("dragonfly:a=8,p=4,h=4")).unwrap();
    assert!(report.is_clean() && report.all_deadlock_free);
    let load = report.link_load.max;
    assert!(load <= 6188, "{load}");
}

#[test]
fn lash_refuses_to_begin_at_a_lane_that_there_is_not() {
    let fabric = fabric("gen-ring-8");
    let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
    for (start, vls) in [(8, 0), (9, 8), (12, 12), (15, 15)] {
        let options = RouteOptions {
            lash_start_vl: start,
            max_vls: vls,
            ..RouteOptions::default()
        };
        let error = engine::LASH.route(&fabric, &lids, &options).unwrap_err();
        assert!(error.to_string().contains("lash_start_vl"), "{error}");
    }
    let options = RouteOptions {
        lash_start_vl: 9,
        max_vls: 15,
        ..RouteOptions::default()
    };
    let routes = engine::LASH.route(&fabric, &lids, &options).unwrap();
    assert!(verify(&fabric, &lids, &routes).deadlock_free);
}

#[test]
fn a_ca_port_without_a_guid_gets_one_when_it_is_cabled() {
    let mut builder = FabricBuilder::new();
    let switch = NewNode {
        type_: NodeType::SWITCH,
        guid: Guid(0x20),
        num_ports: 8,
        ..NewNode::default()
    };
    let host = NewNode {
        guid: Guid(0x10),
        num_ports: 2,
        ..NewNode::default()
    };
    let (switch, host) = (
        builder.add_node(switch).unwrap(),
        builder.add_node(host).unwrap(),
    );
    let [there, here] = [(switch, 3), (host, 2)].map(|(node, port)| PortRef {
        node,
        port: PortNum(port),
    });
    builder.add_link(there, here).unwrap();
    let fabric = builder.build();
    assert_eq!(fabric.port(here).unwrap().guid, Guid(0x12));
    let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
    assert!(
        lids.destinations()
            .iter()
            .all(|port| port.guid != Guid::NONE)
    );
}

/// The loads are those of OpenSM 3.3.23's tables, read from a subnet that it brought up on ibsim.
#[test]
fn direct_networks_carry_at_most_half_of_what_opensm_adds_to_the_mean() {
    for (spec, mean, opensm) in [
        ("dragonfly:a=8,p=4,h=4", 1028, 1960),
        ("torus:8x8x8,hosts=2", 2048, 3832),
    ] {
        let fabric = generated(spec);
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let routes = engine::MINHOP
            .route(&fabric, &lids, &RouteOptions::default())
            .unwrap();
        let load = verify(&fabric, &lids, &routes).link_load.max;
        assert!(load - mean <= (opensm - mean) / 2, "{spec}: {load}");
    }
}

/// Spines, leaves with CAs below all of them, and below some leaves a further switch with CAs.
fn tree_of_two_depths(spines: u64, leaves: u64, deep: u64, cas: u64) -> Fabric {
    let mut builder = FabricBuilder::default();
    let mut next = 0u64;
    let mut add = |builder: &mut FabricBuilder, type_: NodeType, ports: u8| {
        next += 0x10;
        let guid = Guid(next);
        let node = NewNode {
            type_,
            guid,
            num_ports: ports,
            ..NewNode::default()
        };
        builder.add_node(node).unwrap()
    };
    let mut used = std::collections::BTreeMap::<NodeIdx, u8>::new();
    let mut link = |builder: &mut FabricBuilder, a: NodeIdx, b: NodeIdx| {
        let mut port = |node| {
            let port = used.entry(node).or_insert(0);
            *port += 1;
            PortRef {
                node,
                port: PortNum(*port),
            }
        };
        builder.add_link(port(a), port(b)).unwrap();
    };
    let tops: Vec<NodeIdx> = (0..spines)
        .map(|_| add(&mut builder, NodeType::SWITCH, 36))
        .collect();
    for number in 0..leaves {
        let leaf = add(&mut builder, NodeType::SWITCH, 36);
        for &top in &tops {
            link(&mut builder, leaf, top);
        }
        let mut with_cas = vec![leaf];
        if number < deep {
            let below = add(&mut builder, NodeType::SWITCH, 36);
            link(&mut builder, leaf, below);
            with_cas.push(below);
        }
        for at in with_cas {
            for _ in 0..cas {
                let ca = add(&mut builder, NodeType::CA, 1);
                link(&mut builder, ca, at);
            }
        }
    }
    builder.build()
}

#[test]
fn updn_balances_a_tree_whose_leaves_have_different_depths() {
    for (spines, leaves, deep, cas) in [(4, 6, 2, 4), (4, 8, 3, 2), (2, 5, 1, 3)] {
        let fabric = tree_of_two_depths(spines, leaves, deep, cas);
        let load = |engine: &SharedEngine| route(engine, &fabric).unwrap().link_load.max;
        let (updn, minhop) = (load(&engine::UPDN), load(&engine::MINHOP));
        assert!(updn <= minhop, "updn {updn}, minhop {minhop}");
    }
}

/// `dor` takes the first neighbour that leads nearer, so it does not balance spines: only so is a mesh free of deadlock. The
/// loads of `dor` are those of OpenSM 3.3.23's tables for the same fabrics on ibsim.
#[test]
fn dor_loads_a_tree_as_opensms_does() {
    for (tree, opensm) in [((4, 6, 2, 4), 192), ((4, 8, 3, 2), 72), ((2, 5, 1, 3), 72)] {
        let (spines, leaves, deep, cas) = tree;
        let fabric = tree_of_two_depths(spines, leaves, deep, cas);
        let dor = route(&engine::DOR, &fabric).unwrap().link_load.max;
        assert_eq!(dor, opensm, "{tree:?}");
    }
}

/// Tables of more than 7,168 LIDs are written page by page, and smaller ones whole.
#[test]
fn the_ports_do_not_depend_on_how_far_the_lids_are_apart() {
    let fabric = generated("fat-tree:radix=12,levels=3");
    let near = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
    let far = |lid: Lid| Lid(lid.0 * 16);
    let ranges = near.destinations().iter().map(|end| {
        let range = LidRange::try_new(far(end.range.base()), end.range.lmc()).unwrap();
        (end.end, range)
    });
    let apart = LidMap::of_ranges(&fabric, ranges);
    assert!(near.max_lid() < Lid(1000) && apart.max_lid() > Lid(7168));
    let hosts: Vec<Guid> = near.destinations().iter().map(|end| end.guid).collect();
    let listed = RouteOptions {
        scatter_ports: Some(1),
        guid_routing_order: hosts.iter().copied().step_by(40).collect(),
        guid_routing_order_no_scatter: true,
        ..RouteOptions::default()
    };
    for options in [RouteOptions::default(), listed] {
        for engine in [&engine::MINHOP, &engine::UPDN] {
            let both = [&near, &apart].map(|lids| engine.route(&fabric, lids, &options).unwrap());
            let [tables, wide] = &both;
            assert!(verify(&fabric, &apart, wide).is_clean());
            for switch in fabric.switches().indices() {
                for lid in (1..=near.max_lid().0).map(Lid) {
                    let ports = (tables.port(switch, lid), wide.port(switch, far(lid)));
                    assert_eq!(ports.0, ports.1, "{engine} {lid}");
                }
            }
        }
    }
}
