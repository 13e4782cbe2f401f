//! One suite for every engine of this file over every fabric: all LIDs reached, no loop, the promise
//! about deadlock kept and its proof checked, the same routes for any order of the file and any number
//! of threads.

use std::collections::BTreeMap;

use ib_routing::{
    Fabric, FabricBuilder, LidMap, LidOptions, NewNode, NodeType, PathRule, PortRef, RouteError,
    RouteOptions, Routes, SharedEngine, engine,
    format::lfts,
    generate::remove_links,
    verify,
    verify::{certificate, verify_on},
    whatif,
};
use ib_testkit::fabrics::{fabric as fixture, generated};
use ib_wire::{Guid, Lid, Lmc, PortNum, random::SplitMix64};

fn assign(fabric: &Fabric, lmc: u8) -> LidMap {
    let lmc = Lmc::try_new(lmc).unwrap();
    LidMap::assign(
        fabric,
        &LidOptions {
            lmc,
            reassign: true,
            ..LidOptions::default()
        },
    )
    .unwrap()
}

/// The nodes and links of a fabric in another order.
fn shuffled(fabric: &Fabric, seed: u64) -> Fabric {
    let mut random = SplitMix64::new(seed);
    let mut nodes: Vec<_> = fabric.nodes().iter_enumerated().collect();
    random.shuffle(&mut nodes);
    let mut builder = FabricBuilder::new();
    let mut places = BTreeMap::new();
    for (old, node) in nodes {
        let new = NewNode {
            type_: node.type_,
            guid: node.guid,
            num_ports: node.num_ports(),
            system_image_guid: node.system_image_guid,
            vendor_id: node.vendor_id,
            device_id: node.device_id,
            description: node.description.clone(),
            name: node.name.clone(),
            enhanced_port_0: node.enhanced_port_0,
        };
        let new = builder.add_node(new).unwrap();
        for (num, port) in node.ports() {
            builder
                .port_mut(PortRef {
                    node: new,
                    port: num,
                })
                .unwrap()
                .guid = port.guid;
        }
        places.insert(old, new);
    }
    let mut links: Vec<_> = fabric.links().collect();
    random.shuffle(&mut links);
    for (one, other) in links {
        let end = |end: PortRef| PortRef {
            node: places[&end.node],
            port: end.port,
        };
        builder.add_link(end(other), end(one)).unwrap();
    }
    builder.build()
}

/// Routes by the name of the switch and the LID, comparable between fabrics of different order.
fn dump(fabric: &Fabric, lids: &LidMap, routes: &Routes) -> String {
    lfts::write(fabric, lids, routes)
}

/// Returns true if an engine must route a fixture: one of its topology, whole or with faults that it passes.
fn must_route(engine: &SharedEngine, name: &str) -> bool {
    let is_tree = name.starts_with("gen-karyn") || name.starts_with("gen-ft-");
    match engine.name() {
        "ftree" => is_tree || name == "real-qdr-avakas-306",
        "torus-2QoS" => name.starts_with("gen-torus") || name == "gen-mesh-6x4",
        // Down and then up leads from leaf to leaf only where every two share a switch below.
        "dnup" => is_tree || name.starts_with("gen-torus"),
        _ => engine.guarantees(&RouteOptions::default()).any_fabric,
    }
}

/// Returns true if all routes of an engine are as short as there are: those of a file are minhop's here.
fn is_shortest(engine: &SharedEngine) -> bool {
    let paths = engine.guarantees(&RouteOptions::default()).paths;
    paths == PathRule::Shortest || *engine == engine::FILE
}

/// Most switch-to-switch links between two CA ports, and their mean over all pairs that cables join:
/// the least that routes can have.
fn shortest(fabric: &Fabric, lids: &LidMap) -> (u32, f64) {
    let cas = || lids.destinations().iter().filter(|port| !port.is_switch());
    let (mut most, mut sum, mut pairs) = (0, 0, 0);
    for target in cas() {
        let mut hops = BTreeMap::from_iter(target.switch.map(|switch| (switch, 0)));
        let mut queue = Vec::from_iter(target.switch);
        let mut next = 0;
        while let Some(&at) = queue.get(next) {
            next += 1;
            for (_, channel) in fabric.channels_from(at) {
                if !hops.contains_key(&channel.to) {
                    hops.insert(channel.to, hops[&at] + 1);
                    queue.push(channel.to);
                }
            }
        }
        let sources = cas().filter(|source| source.end != target.end);
        for hops in sources.filter_map(|source| hops.get(&source.switch?)) {
            most = most.max(*hops);
            sum += hops;
            pairs += 1;
        }
    }
    (most, f64::from(sum) / f64::from(pairs.max(1)))
}

/// The options that an engine needs on a fabric.
fn options(engine: &SharedEngine, fabric: &Fabric, lids: &LidMap, threads: usize) -> RouteOptions {
    let mut options = RouteOptions {
        threads,
        ..RouteOptions::default()
    };
    if *engine == engine::FILE {
        let tables = engine::MINHOP.route(fabric, lids, &options);
        options.lfts = Some(tables.unwrap());
    }
    if *engine == engine::TORUS_2QOS {
        options.torus_config = Some(torus_config(fabric));
    }
    options
}

/// A torus-2QoS.conf for the grids of this file, by their number of switches: switches are numbered
/// along z, then y, then x, in the order of their GUIDs. Other fabrics get one that does not fit.
fn torus_config(fabric: &Fabric) -> String {
    let mut guids: Vec<Guid> = fabric
        .switches()
        .iter()
        .map(|&node| fabric.node(node).guid)
        .collect();
    guids.sort();
    let (kind, [x, y, z]) = match guids.len() {
        64 => ("torus", [4, 4, 4]),
        27 => ("torus", [3, 3, 3]),
        25 => ("torus", [5, 5, 1]),
        24 => ("mesh", [6, 4, 1]),
        _ => ("torus", [4, 4, 1]),
    };
    let mut text = format!("{kind} {x} {y} {z}\n");
    for (axis, radix, step) in [("x", x, y * z), ("y", y, z), ("z", z, 1)] {
        let links = [("p", step), ("m", step * (radix - 1))];
        for (way, neighbour) in &links[..if kind == "torus" { 2 } else { 1 }] {
            if let (true, Some(to)) = (radix > 1, guids.get(*neighbour)) {
                text += &format!("{axis}{way}_link {} {to}\n", guids[0]);
            }
        }
    }
    text
}

/// Returns true if an error names a switch of the fabric and its defect. The error of torus-2QoS for a
/// configuration of another fabric cannot name one.
fn is_fair_refusal(fabric: &Fabric, error: &RouteError) -> bool {
    match error {
        RouteError::Topology { switch, what, .. } => {
            fabric.switch_by_guid(*switch).is_some() && !what.is_empty()
        }
        RouteError::NoPath { from, .. } => fabric.switch_by_guid(*from).is_some(),
        RouteError::BadOption { engine, what } => {
            *engine == engine::TORUS_2QOS.name() && what.contains("no seed")
        }
        _ => false,
    }
}

/// Routes a fabric and checks everything that is promised; false if the engine refuses it, as it may.
fn is_clean(engine: &SharedEngine, name: &str, fabric: &Fabric, lmc: u8) -> bool {
    let lids = assign(fabric, lmc);
    let serial = options(engine, fabric, &lids, 1);
    let routes = match engine.route(fabric, &lids, &serial) {
        Ok(routes) => routes,
        Err(error) => {
            let may = !must_route(engine, name) && is_fair_refusal(fabric, &error);
            assert!(may, "{name}: {error}");
            return false;
        }
    };
    let report = verify(fabric, &lids, &routes);
    assert_eq!(
        (report.unreachable, report.loops),
        (apart(fabric, &lids), 0),
        "{name}: {:?}",
        report.failures
    );
    assert_eq!(report.disconnected, report.unreachable, "{name}");
    assert_eq!(report, verify_on(1, fabric, &lids, &routes), "{name}");
    assert_eq!(report.deadlock_free, report.cycle.is_none(), "{name}");
    assert!(
        report.deadlock_free || !engine.guarantees(&serial).deadlock_free,
        "{name}: {:?}",
        report.cycle
    );
    assert!(report.vls <= serial.vls(), "{name}: {} VLs", report.vls);
    let (most, mean) = shortest(fabric, &lids);
    match is_shortest(engine) {
        true => assert!(
            report.max_hops == most && (report.mean_hops - mean).abs() < 1e-9,
            "{name}: {} hops, {mean} would do",
            report.mean_hops
        ),
        false => assert!(
            report.max_hops >= most && report.mean_hops > mean - 1e-9,
            "{name}"
        ),
    }
    if let Some(order) = &report.order {
        assert_eq!(
            certificate::check(fabric, &lids, &routes, order),
            Ok(()),
            "{name}"
        );
    }
    let parallel = options(engine, fabric, &lids, 2);
    assert_eq!(
        engine.route(fabric, &lids, &parallel).as_ref(),
        Ok(&routes),
        "{name}"
    );
    let other = shuffled(fabric, 7);
    let other_lids = assign(&other, lmc);
    let serial = options(engine, &other, &other_lids, 1);
    let other_routes = engine.route(&other, &other_lids, &serial).unwrap();
    assert_eq!(
        dump(&other, &other_lids, &other_routes),
        dump(fabric, &lids, &routes),
        "{name}"
    );
    true
}

/// Two parts without a cable between them, a host that hangs on nothing, and broken links.
fn in_parts(seed: u64) -> Fabric {
    let fabric = generated(&format!("random:switches=9,links=14,hosts=2,seed={seed}"));
    let mut builder = fabric.to_builder();
    let apart = |end: PortRef| fabric.switch_of(end.node).map(|switch| switch.0 % 2);
    for (one, other) in fabric.links() {
        if matches!((apart(one), apart(other)), (Some(one), Some(other)) if one != other) {
            builder.remove_link(one);
        }
    }
    builder.remove_link(fabric.first_host().unwrap());
    builder.build()
}

macro_rules! suite {
    ($($fixture:ident => $file:literal)*) => {
        suite! { @engine auto, &engine::AUTO, [0], $($fixture => $file)* }
        suite! { @engine minhop, &engine::MINHOP, [0, 2], $($fixture => $file)* }
        suite! { @engine updn, &engine::UPDN, [0, 2], $($fixture => $file)* }
        suite! { @engine dnup, &engine::DNUP, [0, 2], $($fixture => $file)* }
        suite! { @engine ftree, &engine::FTREE, [0, 1], $($fixture => $file)* }
        suite! { @engine dor, &engine::DOR, [0, 2], $($fixture => $file)* }
        suite! { @engine torus_2qos, &engine::TORUS_2QOS, [0, 1], $($fixture => $file)* }
        suite! { @engine lash, &engine::LASH, [0], $($fixture => $file)* }
        suite! { @engine sssp, &engine::SSSP, [0], $($fixture => $file)* }
        suite! { @engine dfsssp, &engine::DFSSSP, [0], $($fixture => $file)* }
        suite! { @engine nue, &engine::NUE, [0], $($fixture => $file)* }
        suite! { @engine file, &engine::FILE, [0], $($fixture => $file)* }
    };
    (@engine $name:ident, $engine:expr, $lmcs:expr, $($fixture:ident => $file:literal)*) => {
        mod $name {
            use super::*;

            $(#[test]
            fn $fixture() {
                let fabric = fixture($file);
                for lmc in $lmcs {
                    is_clean($engine, $file, &fabric, lmc);
                }
            })*

            #[test]
            fn degraded() {
                let mut routed = 0;
                for (at, spec) in ["fat-tree:radix=8,levels=3", "torus:4x4", "dragonfly:a=4,p=2,h=2"].iter().enumerate() {
                    let fabric = generated(spec);
                    for seed in 0..3 {
                        let broken = remove_links(&fabric, 15.0, seed + 10 * at as u64);
                        let name = format!("{spec} {seed}");
                        routed += u32::from(is_clean($engine, &name, &broken, 0));
                    }
                }
                let guarantees = $engine.guarantees(&RouteOptions::default());
                assert!(routed == 9 || !guarantees.any_fabric);
            }

            #[test]
            fn in_parts() {
                for seed in 0..6 {
                    let name = format!("parts {seed}");
                    is_clean($engine, &name, &super::in_parts(seed), 1);
                }
            }
        }
    };
}

/// (source port, LID) pairs that no cable joins.
fn apart(fabric: &Fabric, lids: &LidMap) -> u64 {
    let parts = fabric.parts();
    let part = |port: &ib_routing::Destination| port.switch.map(|switch| parts[switch]);
    let mut count = 0;
    for target in lids.destinations().iter() {
        let others = lids
            .destinations()
            .iter()
            .filter(|source| part(source) != part(target))
            .count();
        count += others as u64 * u64::from(target.range.lmc().lid_count());
    }
    count
}

suite! {
    dragonfly => "gen-dragonfly-4-2-2"
    ft_broken => "gen-ft-48-broken10"
    ft_lost_spine => "gen-ft-48-lostspine"
    ft_oversubscribed => "gen-ft-oversub2-144"
    full => "gen-full-6"
    hypercube => "gen-hypercube-4"
    irregular => "gen-irregular-20"
    irregular_shuffled => "gen-irregular-20-shuffled"
    jellyfish => "gen-jellyfish-30-5"
    karyn_2 => "gen-karyn-4-2"
    karyn_3 => "gen-karyn-4-3"
    karyn_8 => "gen-karyn-8-2"
    line => "gen-line-2"
    mesh => "gen-mesh-6x4"
    parallel_links => "gen-pgft-6x6-par3"
    ring_5 => "gen-ring-5"
    ring_8 => "gen-ring-8"
    single => "gen-single"
    torus_parallel => "gen-torus-3x3x3-par2"
    torus_broken => "gen-torus-4x4x4-broken2"
    torus => "gen-torus-4x4x4"
    torus_5x5 => "gen-torus-5x5"
    ddr => "real-ddr-2009-25"
    edr => "real-edr-102"
    fdr10 => "real-fdr10-152"
    avakas => "real-qdr-avakas-306"
    dual_rail => "real-qdr-dualrail-2016-6"
    sdr => "real-sdr-2007-6"
    dual_star => "seed-dualstar"
}

#[test]
fn hops_of_the_dual_star_are_those_of_the_thesis() {
    let fabric = fixture("seed-dualstar");
    // Node GUIDs by the thesis's LIDs 1..=12, and its hops from each switch to each of them.
    let hops: [(u64, [usize; 12]); 5] = [
        (0xf2, [1, 0, 1, 2, 1, 2, 1, 2, 3, 2, 1, 2]),
        (0xf4, [3, 2, 1, 0, 1, 2, 1, 2, 1, 2, 3, 2]),
        (0xf6, [2, 1, 2, 1, 2, 3, 0, 1, 2, 3, 2, 3]),
        (0xf8, [2, 1, 2, 1, 0, 1, 2, 3, 2, 3, 2, 3]),
        (0xfa, [2, 1, 0, 1, 2, 3, 2, 3, 2, 1, 2, 1]),
    ];
    let at = |switch: u64, port: u8| {
        let switch = fabric.node(fabric.node_by_guid(Guid(switch)).unwrap());
        switch.port(PortNum(port)).unwrap().peer.unwrap().node
    };
    let switch = |guid: u64| fabric.node_by_guid(Guid(guid)).unwrap();
    let nodes = [
        at(0xf2, 6),
        switch(0xf2),
        switch(0xfa),
        switch(0xf4),
        switch(0xf8),
        at(0xf8, 9),
        switch(0xf6),
        at(0xf6, 9),
        at(0xf4, 9),
        at(0xfa, 9),
        at(0xf2, 9),
        at(0xfa, 2),
    ];
    let lids = assign(&fabric, 0);
    let routes = engine::MINHOP
        .route(&fabric, &lids, &RouteOptions::default())
        .unwrap();
    for (guid, row) in hops {
        let from = fabric.switch_by_guid(Guid(guid)).unwrap();
        for (node, expected) in nodes.iter().zip(row) {
            let target = lids
                .destinations()
                .iter()
                .find(|port| port.end.node == *node)
                .unwrap();
            let path: Vec<_> = routes.path(&fabric, from, target.range.base()).collect();
            let links = path.iter().filter(|(_, port)| port.0 != 0).count();
            assert_eq!(links, expected, "from {guid:x} to {}", target.guid);
        }
    }
}

#[test]
fn lids_that_nobody_has_stay_unreachable() {
    let fabric = fixture("gen-ring-5");
    let options = LidOptions {
        first: Lid(100),
        ..LidOptions::default()
    };
    let lids = LidMap::assign(&fabric, &options).unwrap();
    for engine in engine::ALL {
        let Ok(routes) = engine.route(&fabric, &lids, &RouteOptions::default()) else {
            continue;
        };
        for switch in fabric.switches().indices() {
            for lid in (0..routes.row_len() as u16)
                .map(Lid)
                .filter(|&lid| lids.owner(lid).is_none())
            {
                assert_eq!(
                    routes.port(switch, lid),
                    PortNum::UNREACHABLE,
                    "{engine} {lid}"
                );
            }
        }
    }
}

#[test]
fn paths_of_one_port_go_through_different_spines() {
    let fabric = fixture("gen-karyn-4-2");
    let lids = assign(&fabric, 2);
    let routes = engine::MINHOP
        .route(&fabric, &lids, &RouteOptions::default())
        .unwrap();
    let overlap = ib_routing::verify::balance::lmc_overlap(&fabric, &lids, &routes);
    // 16 ports, each with 12 others at other leaves: four LIDs through four spines share nothing.
    assert_eq!(
        (overlap.common_switches, overlap.common_links),
        (vec![16 * 12], vec![16 * 12])
    );
}

#[test]
fn load_of_minhop_is_at_most_opensms() {
    // Routes per link of OpenSM 3.3.23's minhop on the same files.
    for (name, opensm) in [
        ("real-edr-102", 144),
        ("real-qdr-avakas-306", 270),
        ("real-fdr10-152", 472),
        ("gen-mesh-6x4", 170),
        ("gen-torus-4x4x4", 66),
        ("gen-torus-5x5", 76),
        ("gen-torus-3x3x3-par2", 36),
        ("gen-torus-4x4x4-broken2", 62),
        ("gen-irregular-20", 279),
        ("gen-irregular-20-shuffled", 371),
        ("gen-jellyfish-30-5", 80),
        ("gen-hypercube-4", 12),
        ("gen-ft-48-broken10", 90),
        ("gen-ft-48-lostspine", 84),
        ("gen-dragonfly-4-2-2", 110),
        ("gen-karyn-4-3", 192),
        ("gen-ring-8", 40),
    ] {
        let fabric = fixture(name);
        let lids = assign(&fabric, 0);
        let routes = engine::MINHOP
            .route(&fabric, &lids, &RouteOptions::default())
            .unwrap();
        assert!(
            verify(&fabric, &lids, &routes).link_load.max <= opensm,
            "{name}"
        );
    }
}

#[test]
fn roots_that_are_not_there_are_an_error() {
    let fabric = fixture("gen-karyn-4-2");
    let lids = assign(&fabric, 0);
    let options = RouteOptions {
        roots: vec![Guid(0x1234)],
        ..RouteOptions::default()
    };
    let error = engine::UPDN.route(&fabric, &lids, &options).unwrap_err();
    assert!(matches!(error, RouteError::NoRoot { .. }), "{error}");
}

#[test]
fn a_chain_falls_back_and_says_so() {
    let fabric = fixture("gen-torus-4x4x4");
    let lids = assign(&fabric, 0);
    let options = RouteOptions {
        roots: vec![Guid(0x1234)],
        ..RouteOptions::default()
    };
    let chain = |no_fallback| {
        ib_routing::engine::chain::route(
            core::slice::from_ref(&engine::UPDN),
            no_fallback,
            &fabric,
            &lids,
            &options,
        )
    };
    let chosen = chain(false).unwrap();
    assert_eq!(chosen.routes.engine(), &engine::MINHOP);
    assert_eq!(chosen.failed.len(), 1);
    assert!(chain(true).is_err());
}

#[test]
fn losing_a_leaf_cuts_off_its_hosts_and_nobody_else() {
    let fabric = fixture("gen-karyn-4-2");
    let lids = assign(&fabric, 0);
    let options = RouteOptions::default();
    let engine = &engine::UPDN;
    let before = engine.route(&fabric, &lids, &options).unwrap();
    for loss in whatif::switches(&fabric).chain(whatif::links(&fabric, true)) {
        let outcome = whatif::fail(&fabric, &lids, &options, &before, loss);
        let hosts = match loss {
            whatif::Loss::Switch(switch) => lids
                .at_switch(switch)
                .filter(|port| !port.is_switch())
                .count(),
            whatif::Loss::Link(one, other) => {
                let ca = |end: PortRef| fabric.node(end.node).type_ == NodeType::CA;
                usize::from(ca(one) || ca(other))
            }
        };
        assert_eq!(outcome.cut_off.len(), hosts, "{loss:?}");
        let report = outcome.report.unwrap();
        assert_eq!(
            report.unreachable_ca,
            hosts as u64 * (2 * (16 - hosts as u64) + hosts as u64 - 1)
        );
        assert!(report.deadlock_free);
    }
}

#[test]
fn no_packet_loops_while_tables_are_written_in_order() {
    for (name, from, to) in [
        ("gen-torus-5x5", &engine::MINHOP, &engine::UPDN),
        ("gen-mesh-6x4", &engine::UPDN, &engine::DOR),
        ("gen-irregular-20", &engine::UPDN, &engine::MINHOP),
        ("gen-ft-48-broken10", &engine::MINHOP, &engine::UPDN),
    ] {
        let fabric = fixture(name);
        let lids = assign(&fabric, 0);
        let options = RouteOptions::default();
        let old = from.route(&fabric, &lids, &options).unwrap();
        let new = to.route(&fabric, &lids, &options).unwrap();
        let order = ib_routing::update::order(&fabric, &lids, &old, &new);
        let difference = ib_routing::update::difference(&fabric, &lids, &old, &new);
        assert_eq!(order.steps.len() as u64, difference.blocks, "{name}");
        let mut now = old.clone();
        for step in &order.steps {
            for lid in (step.block * 64..step.block * 64 + 64).map(Lid) {
                now.set_port(step.switch, lid, new.port(step.switch, lid));
            }
            // Drained LIDs carry nothing: the others must all arrive, at every moment.
            for target in lids.destinations().iter() {
                let lid = target.range.base();
                for switch in fabric
                    .switches()
                    .indices()
                    .filter(|_| !order.drain.contains(&lid))
                {
                    let end = now.path(&fabric, switch, lid).last();
                    assert_eq!(
                        end,
                        target.switch.map(|at| (at, target.exit)),
                        "{name} {step:?} {lid}"
                    );
                }
            }
        }
        let left = ib_routing::update::difference(&fabric, &lids, &now, &new);
        assert_eq!(left.entries, 0, "{name}");
        let all = lids.destinations().len();
        assert!(
            order.drain.len() < all,
            "{name}: {} of {all} drained",
            order.drain.len()
        );
    }
}
