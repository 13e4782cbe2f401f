//! Facts that hold for every input: called by the property tests and the fuzz targets alike.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a property that does not hold panics: that is how tests and fuzzers learn of it"
)]

mod changes;

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

use arbitrary::Unstructured;
use ib_wire::{Guid, Lid, Lmc, PortNum, random::SplitMix64};

use crate::{
    Fabric, FabricBuilder, InvalidLid, LidMap, LidOptions, NewNode, NodeType, PortRef, RouteError,
    RouteOptions, Routes, SwitchIdx,
    cluster::{self, Clusters, Union},
    engine,
    format::{
        guid_list, guid2lid, ibnetdiscover, lfts, lid_matrix, mcfdbs, port_lists, sl2vl, sls,
        subnet_list,
    },
    generate::FabricSpec,
    update::heal::{Changes, Healing, HealingProgress, detour, heal},
    verify::{certificate, verify_on},
};

pub use self::changes::any_changes_are_followed;

/// Any text is a fabric or an error with a line; a fabric that is written is read again as it was.
pub fn any_text_is_a_fabric_or_an_error(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let part = "module=\"m\"\nSwitch 2 \"s\"\n@[1] \"a\"\n[2] \"@a\"\n";
    match ibnetdiscover::read_with(&text, |_| Ok(part.into())) {
        Ok(topology) => {
            let written = ibnetdiscover::write(&topology.fabric, None);
            let again = ibnetdiscover::read(&written).expect("what we wrote");
            assert_eq!(again.fabric.num_links(), topology.fabric.num_links());
            assert_eq!(ibnetdiscover::write(&again.fabric, None), written);
        }
        Err(error) => assert!(error.line.is_some(), "{error}"),
    }
}

/// A capture with lines left out, repeated and cut is read, or is an error, and what is read is routed
/// without loops.
pub fn damaged_captures_are_routed_or_refused(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let capture = include_str!("generate/thesis.net");
    let mut text = String::new();
    for line in capture.lines() {
        match input.arbitrary::<u8>().unwrap_or(0) {
            1 => continue,
            2 => text.push_str(line),
            3 => text.push_str(line.get(..line.len() / 2).unwrap_or(line)),
            _ => {}
        }
        text.push_str(line);
        text.push('\n');
    }
    if let Ok(topology) = ibnetdiscover::read(&text) {
        is_routed(&topology.fabric, Lmc::ZERO);
    }
}

/// Random fabrics, connected or not, are routed wherever cables lead, without loops, and without
/// deadlock by the engines that promise it.
pub fn random_fabrics_are_routed(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let lmc = Lmc::try_new(input.arbitrary::<u8>().unwrap_or(0) % 3).unwrap_or_default();
    is_routed(&random_fabric(&mut input), lmc);
}

/// Nue routes random fabrics on as many lanes as it may use, and nothing deadlocks, paths from and to
/// switches included.
pub fn nue_is_clean_on_any_number_of_lanes(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let mut next = |below: u8| input.arbitrary::<u8>().unwrap_or(0) % below;
    let (lmc, vls) = (next(3), 1 + next(8));
    let fabric = random_fabric(&mut input);
    let options = LidOptions {
        lmc: Lmc::try_new(lmc).unwrap_or_default(),
        reassign: true,
        ..LidOptions::default()
    };
    let lids = LidMap::assign(&fabric, &options).expect("few ports");
    let options = RouteOptions {
        threads: 1,
        nue_max_num_vls: vls,
        ..RouteOptions::default()
    };
    let routes = engine::NUE
        .route(&fabric, &lids, &options)
        .expect("any fabric is routed");
    let report = verify_on(1, &fabric, &lids, &routes);
    let apart = apart(&fabric, &lids);
    assert_eq!((report.unreachable, report.loops), (apart, 0));
    assert!(routes.vls() <= vls, "{} of {vls}", routes.vls());
    assert!(report.all_deadlock_free, "{:?}", report.cycle);
}

/// Whatever LIDs ports have, all get one of their own, aligned and in range; those that can keep theirs
/// do, the lists add up, and the database that is kept gives the same again.
pub fn any_lids_are_sorted_out(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let mut builder = random_fabric(&mut input).to_builder();
    let ends: Vec<PortRef> = LidMap::assign(&builder.clone().build(), &LidOptions::default())
        .expect("few ports")
        .destinations()
        .iter()
        .map(|port| port.end)
        .collect();
    let mut lid = || Lid(input.arbitrary::<u8>().unwrap_or(0).into());
    for &end in &ends {
        builder.port_mut(end).expect("a port").lid = lid();
    }
    let mut options = LidOptions {
        last: Lid(300),
        first: Lid(1 + lid().0 % 8),
        lmc: Lmc::try_new(lid().0 as u8 % 4).expect("an LMC"),
        ..LidOptions::default()
    };
    let fabric = builder.build();
    let Ok(map) = LidMap::assign(&fabric, &options) else {
        panic!("28 ports with 8 LIDs each fit in 300");
    };
    assert_eq!(map.destinations().len(), ends.len());
    for port in map.destinations().iter() {
        assert!(port.range.base() >= options.first && port.range.last() <= options.last);
        assert!(
            port.range
                .iter()
                .all(|lid| map.owner(lid).map(|owner| owner.end) == Some(port.end))
        );
    }
    let changes = map.changes(&fabric, &options);
    let moved = changes.conflicts.len() + changes.unassigned.len();
    assert_eq!(changes.kept + changes.foreign.len() + moved, ends.len());
    assert!(
        changes
            .conflicts
            .iter()
            .all(|conflict| conflict.why != InvalidLid::Reassigned)
    );
    options.database =
        guid2lid::read(&guid2lid::write(&map, &Default::default())).expect("what we wrote");
    let again = LidMap::assign(&fabric, &options).expect("the same ports");
    assert_eq!(again.destinations(), map.destinations());
}

/// Any division of a fabric into logical clusters reaches what is connected inside the clusters, without
/// loops, and loads the ports to a neighbour evenly.
pub fn any_clusters_reach_each_other(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let fabric = random_fabric(&mut input);
    let count = 1 + input.arbitrary::<u8>().unwrap_or(0) % 4;
    let mut cluster_of = fabric.parts();
    // Every connected part is cut into a few that are connected in themselves.
    let starts = (0..count).map(|_| input.arbitrary::<u8>().unwrap_or(0));
    let starts: Vec<usize> = starts.map(usize::from).collect();
    grow_clusters(&fabric, &starts, &mut cluster_of);
    let cluster_of = cluster_of.iter().map(|&cluster| cluster as usize).collect();
    let mut configs = cluster::plan(&fabric, &cluster_of);
    for (config, at) in configs.iter_mut().zip(0..) {
        (config.first, config.last) = (Lid(64 * at + 1), Lid(64 * at + 64));
    }
    let text = cluster::write(&configs);
    assert_eq!(
        cluster::write(&cluster::read(&text).expect("what we wrote")),
        text
    );
    let Ok(clusters) = Clusters::validate(&fabric, &configs) else {
        // Only parts that no cable joins may be without transit.
        assert!(fabric.parts().iter().any(|&part| part > 0));
        return;
    };
    let options = RouteOptions {
        threads: 1,
        ..RouteOptions::default()
    };
    let chain = [engine::UPDN.clone()];
    let parts = clusters.route(&chain, true, &LidOptions::default(), &options);
    let parts = parts.expect("few ports");
    for part in &parts {
        let total: usize = part.transit.iter().map(|(_, count)| count).sum();
        assert_eq!(
            total,
            if part.transit.is_empty() {
                0
            } else {
                64 * (parts.len() - 1)
            }
        );
    }
    let union = Union::join(&fabric, &clusters, &parts);
    let report = verify_on(1, &fabric, &union.lids, &union.routes);
    let on_switches = union
        .lids
        .destinations()
        .iter()
        .all(|port| port.switch.is_some());
    assert_eq!(report.loops, 0);
    assert!(
        report.unreachable == 0 || !on_switches,
        "{:?}",
        report.failures
    );
}

/// Numbers clusters anew: each grows from one of the switches `starts` within its part of the fabric.
fn grow_clusters(
    fabric: &Fabric,
    starts: &[usize],
    cluster_of: &mut crate::index::IdxVec<SwitchIdx, u32>,
) {
    let parts = cluster_of.clone();
    cluster_of.fill(u32::MAX);
    let mut count = 0;
    let all = fabric.switches().indices();
    let chosen = starts
        .iter()
        .map(|&start| SwitchIdx((start % fabric.num_switches()) as u32));
    let mut open: Vec<SwitchIdx> = Vec::new();
    for switch in chosen.chain(all.filter(|&switch| {
        // The first of a part comes last, for parts without a start.
        parts.indices().find(|&other| parts[other] == parts[switch]) == Some(switch)
    })) {
        let in_part = open.iter().any(|&other| parts[other] == parts[switch]);
        if cluster_of[switch] == u32::MAX && (open.len() < starts.len() || !in_part) {
            cluster_of[switch] = count;
            count += 1;
            open.push(switch);
        }
    }
    let mut next = 0;
    while let Some(&switch) = open.get(next) {
        next += 1;
        for (_, channel) in fabric.channels_from(switch) {
            if cluster_of[channel.to] == u32::MAX {
                cluster_of[channel.to] = cluster_of[switch];
                open.push(channel.to);
            }
        }
    }
}

/// The verifier ends on any tables, and finds reachable what a walk finds reachable.
pub fn any_tables_are_judged(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let fabric = random_fabric(&mut input);
    let lids = LidMap::assign(&fabric, &LidOptions::default()).expect("few ports");
    let mut routes = Routes::new(&engine::FILE, &fabric, &lids);
    for switch in fabric.switches().indices() {
        for lid in 0..=lids.max_lid().0 {
            let port = input.arbitrary::<u8>().unwrap_or(0) % 20;
            routes.set_port(switch, Lid(lid), PortNum(port));
        }
    }
    let report = verify_on(1, &fabric, &lids, &routes);
    let mut unreachable = 0;
    for source in lids.destinations().iter() {
        for target in lids
            .destinations()
            .iter()
            .filter(|target| target.end != source.end)
        {
            let arrives = source.switch.is_some_and(|switch| {
                let end = routes.path(&fabric, switch, target.range.base()).last();
                end == target.switch.map(|switch| (switch, target.exit))
            });
            unreachable += u64::from(!arrives && !on_one_cable(&fabric, source.end, target.end));
        }
    }
    assert_eq!(report.unreachable, unreachable);
}

/// Whatever fails, is cabled anew or was not written, the writes of a healing take no path away and close no
/// loop, in any order that their dependencies permit, and at the end all is connected that the new routes
/// connect.
pub fn healing_takes_no_path_away(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let mut next = |below: usize| usize::from(input.arbitrary::<u8>().unwrap_or(0)) % below.max(1);
    let engines = [&engine::MINHOP, &engine::UPDN, &engine::SSSP];
    let (old_engine, new_engine, lmc) = (engines[next(3)], engines[next(3)], next(3) as u8);
    let (failures, everywhere, seed) = (1 + next(5), next(2) == 0, next(256));
    let mut random = SplitMix64::new(seed as u64);
    let old_fabric = random_fabric(&mut input);
    let options = LidOptions {
        lmc: Lmc::try_new(lmc).expect("an LMC"),
        ..LidOptions::default()
    };
    let old_lids = LidMap::assign(&old_fabric, &options).expect("few ports");
    let options = RouteOptions {
        threads: 1,
        ..RouteOptions::default()
    };
    let old = old_engine
        .route(&old_fabric, &old_lids, &options)
        .expect("any fabric is routed");
    let fabric = damaged(&old_fabric, failures, &mut random);
    let ranges = old_lids
        .destinations()
        .iter()
        .map(|port| (port.end, port.range));
    let lids = LidMap::of_ranges(&fabric, ranges);
    let new = new_engine
        .route(&fabric, &lids, &options)
        .expect("any fabric is routed");
    let mut installed = new.clone();
    for switch in fabric.switches().indices() {
        let blocks = (0..).map_while(|number| Some((number, old.lft_block(switch, number)?)));
        for (number, block) in blocks {
            installed.set_lft_block(switch, number, block);
        }
    }
    // Writes that were lost: entries of one switch lead nowhere, or if all are looked at anywhere.
    let held = if everywhere {
        [0, 1, 2, 255]
    } else {
        [0, 0, 255, 255]
    };
    let lost = SwitchIdx(random.below(fabric.num_switches()) as u32);
    for _ in 0..random.below(4) {
        let lid = Lid(1 + random.below(usize::from(lids.max_lid().0)) as u16);
        installed.set_port(lost, lid, PortNum(held[random.below(4)]));
    }
    let neighbours = |fabric: &Fabric, switch| -> BTreeSet<_> {
        let channels = fabric.channels_from(switch);
        channels
            .map(|(_, channel)| (channel.port, channel.to, channel.to_port))
            .collect()
    };
    let (mut lost_ports, mut other) = (Vec::new(), Vec::new());
    for switch in fabric.switches().indices() {
        let [was, is] = [&old_fabric, &fabric].map(|fabric| neighbours(fabric, switch));
        if everywhere || switch == lost || !is.is_subset(&was) {
            other.push(switch);
        } else if is != was {
            lost_ports.push(switch);
        }
    }
    let changes = Changes {
        lost: &lost_ports,
        other: &other,
    };
    let healing = heal(&fabric, &lids, &installed, &new, changes);
    for entry in healing.entries() {
        assert_eq!(entry.port, new.port(entry.switch, entry.lid));
        assert_eq!(healing.port(entry.switch, entry.lid), Some(entry.port));
    }
    let healed = written_in_any_order(&healing, &fabric, &lids, &installed, &mut random);
    let wanted = Outcomes::of(&fabric, &lids, &new);
    assert!(healed.arriving.is_superset(&wanted.arriving));
    let entries = |switch, lid| installed.port(switch, lid);
    let detours = detour(&fabric, &lids, &entries, changes, &[]);
    let led = written_in_any_order(&detours, &fabric, &lids, &installed, &mut random);
    let leaves = |lid: Lid| {
        let owner = lids.owner(lid);
        owner.is_some_and(|owner| {
            owner
                .switch
                .is_some_and(|last| installed.port(last, lid) == owner.exit)
        })
    };
    // Engines reach every pair that cables join.
    let connected = wanted.arriving.iter().filter(|(lid, _)| leaves(*lid));
    for pair in connected {
        assert!(led.arriving.contains(pair), "{pair:?} has no way");
    }
}

/// Makes the writes of a healing in an order that the answers may come in: no pair loses its path, and no loop
/// arises. Returns where packets end then.
fn written_in_any_order(
    healing: &Healing,
    fabric: &Fabric,
    lids: &LidMap,
    installed: &Routes,
    random: &mut SplitMix64,
) -> Outcomes {
    let before = Outcomes::of(fabric, lids, installed);
    for entry in healing.entries() {
        let arrived = before.arriving.contains(&(entry.lid, entry.switch));
        assert!(!arrived, "{entry:?} arrived before");
    }
    let mut progress = HealingProgress::new(healing);
    let mut ready: Vec<usize> = progress.first().collect();
    let (mut tables, mut outcomes, mut written) = (installed.clone(), before, 0);
    while !ready.is_empty() {
        let number = ready.swap_remove(random.below(ready.len()));
        let step = healing.writes()[number].step;
        let held = installed.lft_block(step.switch, step.block);
        let block = healing.block(number, *held.expect("a block"));
        assert_ne!(tables.lft_block(step.switch, step.block), Some(&block));
        assert!(tables.set_lft_block(step.switch, step.block, &block));
        let after = Outcomes::of(fabric, lids, &tables);
        assert!(
            after.arriving.is_superset(&outcomes.arriving),
            "write {number}"
        );
        assert!(
            outcomes.looping.is_superset(&after.looping),
            "write {number}"
        );
        (outcomes, written) = (after, written + 1);
        ready.extend(progress.answered(number));
    }
    assert_eq!(written, healing.writes().len());
    let mut applied = installed.clone();
    healing.apply(&mut applied);
    assert_eq!(applied, tables);
    outcomes
}

/// The end of the route from each switch to each LID.
struct Outcomes {
    arriving: BTreeSet<(Lid, SwitchIdx)>,
    looping: BTreeSet<(Lid, SwitchIdx)>,
}

impl Outcomes {
    fn of(fabric: &Fabric, lids: &LidMap, routes: &Routes) -> Self {
        let (mut arriving, mut looping) = (BTreeSet::new(), BTreeSet::new());
        for target in lids.destinations().iter() {
            for lid in target.range.iter() {
                for switch in fabric.switches().indices() {
                    let path = routes.path(fabric, switch, lid);
                    let end = target.switch.map(|switch| (switch, target.exit));
                    if end.is_some() && path.last() == end {
                        arriving.insert((lid, switch));
                    } else if routes.path(fabric, switch, lid).count() > fabric.num_switches() {
                        looping.insert((lid, switch));
                    }
                }
            }
        }
        Self { arriving, looping }
    }
}

/// A fabric after some cables and switches failed and some ports were cabled anew.
fn damaged(fabric: &Fabric, failures: usize, random: &mut SplitMix64) -> Fabric {
    let mut builder = fabric.to_builder();
    let cables: Vec<_> = fabric.links().collect();
    let port = |random: &mut SplitMix64| PortRef {
        node: fabric.switches().as_slice()[random.below(fabric.num_switches())],
        port: PortNum(1 + random.below(8) as u8),
    };
    for _ in 0..failures {
        match random.below(6) {
            0 => {
                let node = port(random).node;
                (1..=8).for_each(|port| {
                    builder.remove_link(PortRef {
                        node,
                        port: PortNum(port),
                    })
                });
            }
            1 => {
                let (one, other) = (port(random), port(random));
                let _ = builder.add_link(one, other);
            }
            2 if !cables.is_empty() => {
                // A cable moves to another port, as a host that is plugged in elsewhere.
                let (one, other) = cables[random.below(cables.len())];
                builder.remove_link(one);
                let _ = builder.add_link(port(random), other);
            }
            _ if !cables.is_empty() => builder.remove_link(cables[random.below(cables.len())].0),
            _ => {}
        }
    }
    builder.build()
}

/// Any text is tables, service levels and lists, or an error.
pub fn any_text_is_tables_or_an_error(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let fabric = FabricSpec::Thesis.build().expect("a fabric");
    let lids = LidMap::assign(&fabric, &LidOptions::default()).expect("few ports");
    let _ = lfts::read(&text, &fabric);
    let _ = sls::read(
        &text,
        &lids,
        &mut Routes::new(&engine::FILE, &fabric, &lids),
    );
    let _ = sl2vl::read(&text, &fabric);
    let _ = (
        lid_matrix::read(&text, &fabric),
        subnet_list::read(&text),
        mcfdbs::read(&text)
            .map(|groups| assert_eq!(mcfdbs::read(&mcfdbs::write(&groups)), Ok(groups))),
    );
    let _ = (
        guid2lid::read(&text),
        guid_list::read(&text),
        guid_list::read_ids(&text),
    );
    let _ = (
        port_lists::read_hop_weights(&text),
        port_lists::read_port_order(&text),
        port_lists::read_ports(&text),
    );
    if let Ok(configs) = cluster::read(&text) {
        let _ = Clusters::validate(&fabric, &configs);
    }
    let _ = text.parse::<FabricSpec>();
}

fn on_one_cable(fabric: &Fabric, one: PortRef, other: PortRef) -> bool {
    fabric.port(one).and_then(|port| port.peer) == Some(other)
}

/// Up to 12 switches of 8 ports with random cables, and hosts.
fn random_fabric(input: &mut Unstructured<'_>) -> Fabric {
    let mut next = |below: u8| input.arbitrary::<u8>().unwrap_or(0) % below.max(1);
    let mut builder = FabricBuilder::new();
    let switches: Vec<_> = (0..=next(12))
        .map(|at| {
            let guid = Guid(0x2000 + u64::from(at ^ 5));
            let new = NewNode {
                type_: NodeType::SWITCH,
                guid,
                num_ports: 8,
                ..NewNode::default()
            };
            builder.add_node(new).expect("another GUID")
        })
        .collect();
    for _ in 0..next(40) {
        let mut end = || {
            let node = switches[usize::from(next(switches.len() as u8))];
            PortRef {
                node,
                port: PortNum(1 + next(8)),
            }
        };
        let (one, other) = (end(), end());
        let _ = builder.add_link(one, other);
    }
    for at in 0..next(16) {
        let new = NewNode {
            guid: Guid(0x1000 + 16 * u64::from(at)),
            num_ports: 1,
            ..NewNode::default()
        };
        let node = builder.add_node(new).expect("another GUID");
        let host = PortRef {
            node,
            port: PortNum(1),
        };
        builder.port_mut(host).expect("a port").guid = Guid(0x1001 + 16 * u64::from(at));
        let switch = switches[usize::from(next(switches.len() as u8))];
        let _ = builder.add_link(
            PortRef {
                node: switch,
                port: PortNum(1 + next(8)),
            },
            host,
        );
    }
    builder.build()
}

/// A line or a ring of all switches, seeded with the first cable that there is.
fn torus_config(fabric: &Fabric) -> String {
    let mut text = format!("torus {} 1 1\n", fabric.num_switches());
    if let Some(link) = fabric.channels().iter().next() {
        let (from, to) = (fabric.switch_guid(link.from), fabric.switch_guid(link.to));
        text.push_str(&format!("xp_link {:#x} {:#x}\n", from.0, to.0));
    }
    text
}

/// (source port, LID) pairs that no cable joins.
fn apart(fabric: &Fabric, lids: &LidMap) -> u64 {
    let parts = fabric.parts();
    let part = |switch: Option<SwitchIdx>| switch.map(|switch| parts[switch]);
    let mut apart = 0;
    for target in lids.destinations().iter() {
        let cut_off = lids.destinations().iter().filter(|source| {
            let together = source.switch.is_some() && part(source.switch) == part(target.switch);
            !together && source.end != target.end && !on_one_cable(fabric, source.end, target.end)
        });
        apart += cut_off.count() as u64 * u64::from(target.range.lmc().lid_count());
    }
    apart
}

fn is_routed(fabric: &Fabric, lmc: Lmc) {
    let options = LidOptions {
        lmc,
        reassign: true,
        ..LidOptions::default()
    };
    let lids = LidMap::assign(fabric, &options).expect("few ports");
    let apart = apart(fabric, &lids);
    // The engine `file` wants tables, and `auto` is one of the others.
    let others =
        |engine: &&engine::SharedEngine| **engine != engine::AUTO && **engine != engine::FILE;
    for engine in engine::ALL.into_iter().filter(others) {
        let options = RouteOptions {
            threads: 1,
            torus_config: Some(torus_config(fabric)),
            ..RouteOptions::default()
        };
        let guarantees = engine.guarantees(&options);
        let routes = match engine.route(fabric, &lids, &options) {
            Ok(routes) => routes,
            // Engines with a rule about the topology say which switch breaks it.
            Err(RouteError::Topology { switch, .. }) => {
                assert!(fabric.switch_by_guid(switch).is_some(), "{engine}");
                assert!(!guarantees.any_fabric, "{engine}");
                continue;
            }
            Err(RouteError::BadOption { .. }) if *engine == engine::TORUS_2QOS => continue,
            Err(error) => panic!("{engine}: {error}"),
        };
        let report = verify_on(1, fabric, &lids, &routes);
        assert_eq!((report.unreachable, report.loops), (apart, 0), "{engine}");
        assert_eq!(report.disconnected, apart);
        assert!(
            report.deadlock_free || !guarantees.deadlock_free,
            "{engine}: {:?}",
            report.cycle
        );
        if let Some(order) = &report.order {
            assert_eq!(
                certificate::check(fabric, &lids, &routes, order),
                Ok(()),
                "{engine}"
            );
        }
    }
}
