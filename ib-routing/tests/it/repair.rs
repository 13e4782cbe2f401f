//! Repair after random failures and returns, for each engine: what was true before is true afterwards, and few more
//! entries move than necessary.

use std::collections::BTreeMap;

use ib_routing::{
    Fabric, FabricBuilder, LidMap, LidOptions, NewNode, NodeIdx, PortRef, SharedEngine, SlTable,
    SwitchIdx,
    algo::bfs,
    engine,
    repair::{Repair, RepairError, has_grown, is_quick, lost_channels, repair},
    update::difference,
    verify,
    verify::{certificate, verify_on},
};
use ib_testkit::{
    fabrics::{fabric as fixture, generated, without},
    routed::{Routed, one_thread},
};
use ib_wire::{Guid, Lid, Lmc, PortNum, random::SplitMix64};

const FABRICS: [&str; 8] = [
    "gen-karyn-4-3",
    "gen-ft-48-broken10",
    "gen-torus-4x4x4",
    "gen-torus-5x5",
    "gen-mesh-6x4",
    "gen-dragonfly-4-2-2",
    "gen-irregular-20",
    "gen-jellyfish-30-5",
];

/// The repair after the cables became those of `fabric`, whose ports have the LIDs `lids`.
fn repair_net(net: &Routed, fabric: &Fabric, lids: &LidMap, budget: usize) -> Repair {
    repair(net.installed(), fabric, lids, &one_thread(), budget).unwrap()
}

/// All cables of a switch, a few cables between switches, or a host's, by turns.
fn failure(fabric: &Fabric, turn: u64, random: &mut SplitMix64) -> Vec<PortRef> {
    let mut cables: Vec<_> = fabric.switch_links().map(|(one, _)| one).collect();
    random.shuffle(&mut cables);
    match turn % 3 {
        0 => cables.into_iter().take(1).collect(),
        1 => cables.into_iter().take(3).collect(),
        _ => {
            let mut switches: Vec<_> = fabric.switches().iter().copied().collect();
            random.shuffle(&mut switches);
            let node = switches[0];
            let ports = fabric.node(node).ports().filter(|(port, _)| port.0 > 0);
            ports.map(|(port, _)| PortRef { node, port }).collect()
        }
    }
}

/// Pairs that no cable joins, as the verifier counts them.
fn apart(fabric: &Fabric, lids: &LidMap) -> u64 {
    let parts = fabric.parts();
    let ends = || lids.destinations().iter();
    let part = |switch: Option<SwitchIdx>| switch.map(|switch| parts[switch]);
    ends()
        .map(|target| {
            let from = ends().filter(|source| {
                let together = part(source.switch) == part(target.switch);
                source.end != target.end && !(together && source.switch.is_some())
            });
            from.count() as u64
        })
        .sum()
}

/// Entries that have to change so that all paths are shortest, and there are paths at all.
fn least_moves(old: &Routed, fabric: &Fabric, lids: &LidMap) -> u64 {
    let mut count = 0;
    for target in lids.destinations().iter() {
        let lid = target.range.base();
        let Some(root) = target.switch else {
            // Entries over a cable that is gone are removed.
            let gone = |&switch: &SwitchIdx| {
                let port = old.routes.port(switch, lid);
                port != PortNum::UNREACHABLE && fabric.channel_at(switch, port).is_none()
            };
            count += fabric.switches().indices().filter(gone).count() as u64;
            continue;
        };
        let distance = bfs::distances(fabric, &[root]);
        for switch in fabric.switches().indices() {
            let port = old.routes.port(switch, lid);
            let holds = if switch == root {
                port == target.exit
            } else if distance[switch] == bfs::UNREACHED {
                port == PortNum::UNREACHABLE
            } else {
                let to = fabric
                    .channel_at(switch, port)
                    .map(|at| fabric.channel(at).to);
                to.is_some_and(|to| distance[to] + 1 == distance[switch])
            };
            count += u64::from(!holds);
        }
    }
    count
}

fn is_sound(name: &str, old: &Routed, fabric: &Fabric, lids: &LidMap, repair: &Repair) {
    let report = verify(fabric, lids, &repair.routes);
    assert_eq!(
        (report.unreachable, report.loops),
        (apart(fabric, lids), 0),
        "{name}: {:?}",
        report.failures
    );
    let before = verify(&old.fabric, &old.lids, &old.routes);
    if before.deadlock_free && repair.recomputed.is_none() {
        assert!(report.deadlock_free, "{name}: {:?}", report.cycle);
    }
    assert!(report.vls <= before.vls.max(8), "{name}");
    let parts = fabric.parts();
    for end in lids.destinations().iter() {
        let Some(root) = end.switch else { continue };
        for switch in fabric
            .switches()
            .indices()
            .filter(|&at| parts[at] != parts[root])
        {
            let port = repair.routes.port(switch, end.range.base());
            assert_eq!(port, PortNum::UNREACHABLE, "{name}");
        }
    }
    if let SlTable::BySwitch(sls) | SlTable::ByDestination(sls) = repair.routes.sls() {
        let highest = sls.iter().max().unwrap();
        assert!(highest.bits() < repair.routes.vls(), "{name}");
    }
    if let Some(order) = &report.order {
        let checked = certificate::check(fabric, lids, &repair.routes, order);
        assert_eq!(checked, Ok(()), "{name}");
    }
}

/// Entries whose paths led over cables that are gone: no other has a reason to move.
fn cut_off(old: &Routed, fabric: &Fabric) -> u64 {
    let mut count = 0;
    for lid in old
        .lids
        .destinations()
        .iter()
        .flat_map(|end| end.range.iter())
    {
        for switch in old.fabric.switches().indices() {
            let mut path = old.routes.path(&old.fabric, switch, lid);
            let gone = path.any(|(at, port)| {
                old.fabric.channel_at(at, port).is_some() && fabric.channel_at(at, port).is_none()
            });
            count += u64::from(gone);
        }
    }
    count
}

/// Fails cables and switches of every fabric, and holds the repair against what it promises and
/// `most`: the entries that it may move, of those broken and those that must move for shortest paths, or
/// may move at all where the engine's need not be the shortest.
fn failures_are_repaired(engine: &SharedEngine, most: impl Fn(u64, u64) -> u64) {
    let (mut tried, mut recomputed) = (0, 0);
    for name in FABRICS {
        let Some(whole) = Routed::new(engine, fixture(name)) else {
            continue;
        };
        let mut random = SplitMix64::new(11);
        for turn in 0..6 {
            let name = format!("{engine} {name} {turn}");
            let fabric = without(&whole.fabric, &failure(&whole.fabric, turn, &mut random));
            let lids = whole.lids_on(&fabric);
            let repaired = repair_net(&whole, &fabric, &lids, 0);
            is_sound(&name, &whole, &fabric, &lids, &repaired);
            assert_eq!(repaired.rebalanced, 0, "{name}");
            tried += 1;
            if repaired.recomputed.is_some() {
                recomputed += 1;
                continue;
            }
            let limit = match engine.name() {
                // Paths need not be the shortest, so that no entry has to move for that.
                "nue" => most(repaired.broken, cut_off(&whole, &fabric)),
                _ => most(repaired.broken, least_moves(&whole, &fabric, &lids)),
            };
            assert!(
                repaired.broken <= repaired.moved && repaired.moved <= limit,
                "{name}: {} broken, {} moved, {limit} allowed",
                repaired.broken,
                repaired.moved,
            );
        }
    }
    assert!(tried > 10, "{engine}: no fabric");
    assert!(recomputed * 3 <= tried, "{engine}: {recomputed} of {tried}");
}

#[test]
fn minhop_moves_what_must_move() {
    // One entry in a hundred more where a tree that cannot deadlock shall stay so.
    failures_are_repaired(&engine::MINHOP, |_, least| least + least / 100);
}

#[test]
fn sssp_moves_what_must_move() {
    failures_are_repaired(&engine::SSSP, |_, least| least + least.div_ceil(80));
}

#[test]
fn dor_moves_what_must_move() {
    failures_are_repaired(&engine::DOR, |_, least| least + least / 10);
}

#[test]
fn dfsssp_moves_little_more_than_must_move() {
    failures_are_repaired(&engine::DFSSSP, |_, least| least + least / 2 + 8);
}

#[test]
fn lash_moves_little_more_than_must_move() {
    failures_are_repaired(&engine::LASH, |_, least| least + least / 2 + 8);
}

#[test]
fn updn_moves_the_orphaned_and_who_came_through_them() {
    failures_are_repaired(&engine::UPDN, |broken, _| 3 * broken);
}

#[test]
fn ftree_moves_the_orphaned_and_who_came_through_them() {
    failures_are_repaired(&engine::FTREE, |broken, _| 3 * broken);
}

#[test]
fn nue_moves_nobody_whose_path_is_there() {
    failures_are_repaired(&engine::NUE, |_, cut_off| cut_off);
}

/// The fabric without a node: all later numbers change.
fn without_node(fabric: &Fabric, gone: NodeIdx) -> Fabric {
    let mut builder = FabricBuilder::new();
    let mut places = BTreeMap::new();
    for (old, node) in fabric.nodes().iter_enumerated() {
        if old == gone {
            continue;
        }
        let new = NewNode {
            type_: node.type_,
            guid: node.guid,
            num_ports: node.num_ports(),
            ..NewNode::default()
        };
        let new = builder.add_node(new).unwrap();
        for (port, entry) in node.ports() {
            builder.port_mut(PortRef { node: new, port }).unwrap().guid = entry.guid;
        }
        places.insert(old, new);
    }
    for (one, other) in fabric.links() {
        let end = |end: PortRef| {
            let node = *places.get(&end.node)?;
            Some(PortRef { node, ..end })
        };
        if let (Some(one), Some(other)) = (end(one), end(other)) {
            builder.add_link(one, other).unwrap();
        }
    }
    builder.build()
}

/// The LIDs by port GUID, for a fabric whose nodes have other numbers.
fn lids_by_guid(known: &LidMap, fabric: &Fabric) -> LidMap {
    let database = known.destinations().iter();
    let options = LidOptions {
        database: database
            .map(|port| (port.guid, port.range.base()))
            .collect(),
        ..LidOptions::default()
    };
    LidMap::assign(fabric, &options).unwrap()
}

#[test]
fn switches_that_leave_and_come_back_are_known_by_their_guids() {
    for engine in [
        &engine::MINHOP,
        &engine::UPDN,
        &engine::DFSSSP,
        &engine::NUE,
    ] {
        for name in ["gen-karyn-4-3", "gen-jellyfish-30-5", "gen-torus-4x4x4"] {
            let whole = Routed::new(engine, fixture(name)).unwrap();
            for gone in [0, 7, 15] {
                let gone = whole.fabric.switches()[SwitchIdx(gone)];
                let fabric = without_node(&whole.fabric, gone);
                let lids = lids_by_guid(&whole.lids, &fabric);
                let name = format!("{engine} {name} without {gone:?}");
                let repaired = repair_net(&whole, &fabric, &lids, 0);
                is_sound(&name, &whole, &fabric, &lids, &repaired);
                let broken = Routed {
                    fabric,
                    lids,
                    routes: repaired.routes,
                };
                let lids = lids_by_guid(&whole.lids, &whole.fabric);
                let back = repair_net(&broken, &whole.fabric, &lids, 0);
                is_sound(&name, &broken, &whole.fabric, &lids, &back);
            }
        }
    }
}

#[test]
fn a_host_that_comes_back_costs_one_entry() {
    let whole = Routed::new(&engine::MINHOP, fixture("gen-karyn-4-3")).unwrap();
    let host = whole.fabric.first_host().unwrap();
    let fabric = without(&whole.fabric, &[host]);
    let others = whole.lids.destinations().iter();
    let others = others.filter(|port| port.end.node != host.node);
    let lids = LidMap::of_ranges(&fabric, others.map(|port| (port.end, port.range)));
    let left = repair_net(&whole, &fabric, &lids, 0);
    assert_eq!((left.broken, left.moved), (0, 0));
    let broken = Routed {
        fabric,
        lids,
        routes: left.routes,
    };
    let back = repair_net(&broken, &whole.fabric, &whole.lids, 0);
    assert_eq!((back.broken, back.moved), (1, 1));
    assert_eq!(back.routes, whole.routes);
}

#[test]
fn links_that_come_back_get_as_many_routes_as_asked() {
    let whole = Routed::new(&engine::UPDN, fixture("gen-karyn-4-3")).unwrap();
    // A switch that has no hosts: others pass through it.
    let is_idle = |&switch: &SwitchIdx| whole.lids.at_switch(switch).count() == 1;
    let idle = whole.fabric.switches().indices().find(is_idle).unwrap();
    let node = whole.fabric.switches()[idle];
    let ports = whole
        .fabric
        .node(node)
        .ports()
        .filter(|(port, _)| port.0 > 0);
    let ends: Vec<_> = ports.map(|(port, _)| PortRef { node, port }).collect();
    let fabric = without(&whole.fabric, &ends);
    let broken = Routed::new(&engine::UPDN, fabric).unwrap();
    let lids = broken.lids_on(&whole.fabric);
    let load = |budget| {
        let back = repair_net(&broken, &whole.fabric, &lids, budget);
        is_sound("back", &broken, &whole.fabric, &lids, &back);
        assert_eq!(back.recomputed, None);
        assert!(back.rebalanced <= budget as u64);
        let still = difference(&whole.fabric, &lids, &broken.routes, &back.routes);
        assert!(still.entries <= back.moved);
        let load = verify(&whole.fabric, &lids, &back.routes).link_load;
        (back.rebalanced, load.max, load.stdev)
    };
    let (none, some, all) = (load(0), load(10), load(10_000));
    assert_eq!((none.0, some.0), (0, 10));
    assert!(all.0 > 10 && all.0 < 10_000, "{all:?}");
    assert!(
        some.2 < none.2 && all.2 < some.2,
        "{none:?} {some:?} {all:?}"
    );
    assert!(all.1 < none.1, "{none:?} {all:?}");
}

#[test]
fn an_engine_without_a_rule_left_says_why_it_computes_all_anew() {
    // The root of a mesh loses a neighbour: the old ranks leave that one no path up.
    let whole = Routed::new(&engine::UPDN, fixture("gen-mesh-6x4")).unwrap();
    let mut random = SplitMix64::new(11);
    let mut reasons = Vec::new();
    for turn in 0..6 {
        let fabric = without(&whole.fabric, &failure(&whole.fabric, turn, &mut random));
        let lids = whole.lids_on(&fabric);
        let repaired = repair_net(&whole, &fabric, &lids, 0);
        let full = engine::UPDN.route(&fabric, &lids, &one_thread()).unwrap();
        if let Some(reason) = repaired.recomputed {
            assert_eq!(repaired.routes, full);
            assert!(matches!(reason, RepairError::NoPath { .. }), "{reason}");
            assert_eq!(reason.kind(), "no_path");
            reasons.push(reason);
        }
    }
    assert!(!reasons.is_empty());
}

#[test]
fn reasons_are_named_like_their_variants() {
    let (from, lid) = (Guid(1), Lid(2));
    for (reason, kind) in [
        (RepairError::NoPath { from, to: lid }, "no_path"),
        (RepairError::Deadlock { from, to: lid }, "deadlock"),
        (RepairError::WasUnsafe, "was_unsafe"),
        (RepairError::VerifyFailed, "verify_failed"),
        (RepairError::NewTables { switch: from }, "new_tables"),
    ] {
        assert_eq!(reason.kind(), kind);
    }
}

#[test]
fn cables_that_come_back_make_all_paths_the_shortest_again() {
    for engine in [&engine::MINHOP, &engine::SSSP] {
        for spec in [
            "torus:4x4,hosts=1",
            "jellyfish:switches=16,degree=4,hosts=1,seed=5",
        ] {
            let whole = generated(spec);
            let mut random = SplitMix64::new(21);
            for turn in 0..3 {
                let name = format!("{engine} {spec} {turn}");
                let gone = failure(&whole, turn, &mut random);
                let old = Routed::new(engine, without(&whole, &gone)).unwrap();
                assert!(has_grown(&old.fabric, &whole), "{name}");
                assert!(!has_grown(&whole, &old.fabric), "{name}");
                assert!(!has_grown(&whole, &whole), "{name}");
                let lids = old.lids_on(&whole);
                let back = repair_net(&old, &whole, &lids, 0);
                is_sound(&name, &old, &whole, &lids, &back);
                assert_eq!(back.recomputed, None, "{name}");
                let least = least_moves(&old, &whole, &lids);
                assert!(least > 0, "{name}");
                let limit = least + least.div_ceil(20);
                assert!(
                    (least..=limit).contains(&back.moved),
                    "{name}: {} of {least}",
                    back.moved
                );
                let full = engine.route(&whole, &lids, &one_thread()).unwrap();
                let hops = [&back.routes, &full].map(|routes| {
                    let report = verify_on(1, &whole, &lids, routes);
                    (report.max_hops, report.mean_hops)
                });
                assert_eq!(hops[0], hops[1], "{name}");
            }
        }
    }
}

#[test]
fn a_repair_is_quick_if_only_cables_between_switches_are_gone() {
    let whole = Routed::new(&engine::MINHOP, generated("torus:4x4,hosts=1")).unwrap();
    let (one, other) = whole.fabric.switch_links().nth(5).unwrap();
    let fabric = without(&whole.fabric, &[one]);
    let end = |end: PortRef| (whole.fabric.switch_of(end.node).unwrap(), end.port);
    let mut ends = [end(one), end(other)];
    ends.sort_unstable();
    assert_eq!(
        lost_channels(&whole.fabric, &fabric).as_deref(),
        Some(&ends[..])
    );
    assert_eq!(
        lost_channels(&whole.fabric, &whole.fabric).as_deref(),
        Some(&[][..])
    );
    assert_eq!(lost_channels(&fabric, &whole.fabric), None);
    let lids = whole.lids_on(&fabric);
    assert!(is_quick(whole.installed(), &fabric, &lids));
    let options = LidOptions {
        lmc: Lmc::try_new(1).unwrap(),
        ..LidOptions::default()
    };
    let others = LidMap::assign(&fabric, &options).unwrap();
    assert!(!is_quick(whole.installed(), &fabric, &others));
    let broken = Routed::new(&engine::MINHOP, fabric).unwrap();
    let lids = broken.lids_on(&whole.fabric);
    assert!(!is_quick(broken.installed(), &whole.fabric, &lids));
}

/// Number of links from each switch to the nearest one with hosts.
fn levels(net: &Routed) -> Vec<u16> {
    let switches = || net.fabric.switches().indices();
    let has_hosts = |&switch: &SwitchIdx| net.lids.at_switch(switch).count() > 1;
    let from: Vec<_> = switches()
        .filter(has_hosts)
        .map(|leaf| bfs::distances(&net.fabric, &[leaf]))
        .collect();
    let level = |switch| from.iter().map(|distance| distance[switch]).min().unwrap();
    switches().map(level).collect()
}

#[test]
fn no_repaired_path_of_a_tree_goes_up_after_it_went_down() {
    for engine in [&engine::UPDN, &engine::FTREE] {
        let whole = Routed::new(engine, generated("fat-tree:radix=6,levels=3")).unwrap();
        let levels = levels(&whole);
        let mut cables: Vec<_> = whole.fabric.switch_links().collect();
        SplitMix64::new(2).shuffle(&mut cables);
        let (mut repaired, mut longest) = (0, 0);
        for gone in cables.chunks(4).take(4) {
            let ends: Vec<_> = gone.iter().map(|(end, _)| *end).collect();
            let fabric = without(&whole.fabric, &ends);
            let lids = whole.lids_on(&fabric);
            let repair = repair_net(&whole, &fabric, &lids, 0);
            is_sound(engine.name(), &whole, &fabric, &lids, &repair);
            if repair.recomputed.is_some() {
                continue;
            }
            repaired += 1;
            let cas = || lids.destinations().iter().filter(|end| !end.is_switch());
            for lid in cas().map(|end| end.range.base()) {
                for from in cas().filter_map(|end| end.switch) {
                    let path = repair.routes.path(&fabric, from, lid);
                    let heights: Vec<u16> = path.map(|(at, _)| levels[at.0 as usize]).collect();
                    let mut down = heights.windows(2).skip_while(|pair| pair[1] > pair[0]);
                    assert!(down.all(|pair| pair[1] < pair[0]), "{engine}: {heights:?}");
                    longest = longest.max(heights.len());
                }
            }
        }
        assert!(
            repaired >= 2 && longest == 5,
            "{engine}: {repaired} {longest}"
        );
    }
}

#[test]
fn a_host_that_moved_breaks_the_entries_of_both_its_switches() {
    let whole = Routed::new(&engine::MINHOP, generated("fat-tree:radix=4,levels=2")).unwrap();
    let hosts: Vec<_> = whole
        .lids
        .destinations()
        .iter()
        .filter(|end| !end.is_switch())
        .collect();
    let first = hosts[0];
    let other = hosts.iter().find(|end| end.switch != first.switch).unwrap();
    // The second host's cable goes, and the first one moves to its place.
    let place = whole.fabric.port(other.end).unwrap().peer.unwrap();
    let mut builder = whole.fabric.to_builder();
    builder.remove_link(first.end);
    builder.remove_link(other.end);
    builder.add_link(first.end, place).unwrap();
    let fabric = builder.build();
    let ranges = whole
        .lids
        .destinations()
        .iter()
        .filter(|end| end.end != other.end);
    let lids = LidMap::of_ranges(&fabric, ranges.map(|end| (end.end, end.range)));
    let repaired = repair_net(&whole, &fabric, &lids, 0);
    is_sound("moved", &whole, &fabric, &lids, &repaired);
    assert_eq!(repaired.recomputed, None);
    assert_eq!(repaired.broken, 2);
    let differs = |&switch: &SwitchIdx| {
        let lid = first.range.base();
        whole.routes.port(switch, lid) != repaired.routes.port(switch, lid)
    };
    let moved = fabric.switches().indices().filter(differs).count();
    assert_eq!(repaired.moved, moved as u64);
}
