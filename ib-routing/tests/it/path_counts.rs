//! Path counts after random scripts of changes: the updated report equals that of a full verification.

use std::collections::BTreeSet;

use ib_routing::{
    Fabric, Routes, SwitchIdx, VerifyReport, engine,
    repair::{RoutesInUse, repair, try_repair},
    update::heal::{Changes, heal, heal_lost},
    verify::{PathCounts, certificate, verify_on},
};
use ib_testkit::{
    fabrics::{generated, without},
    routed::{Routed, one_thread},
};
use ib_wire::{Lid, random::SplitMix64};

const FABRICS: [&str; 6] = [
    "fat-tree:radix=6,levels=3",
    "torus:4x4,hosts=2",
    "dragonfly:a=4,p=2,h=2",
    "jellyfish:switches=16,degree=4,hosts=2,seed=5",
    "random:switches=12,links=20,hosts=2,seed=3",
    "ring:switches=5,hosts=2",
];

fn verify(net: &Routed) -> VerifyReport {
    verify_on(1, &net.fabric, &net.lids, &net.routes)
}

fn count(net: &Routed, report: &VerifyReport) -> Option<PathCounts> {
    PathCounts::new(&net.fabric, &net.lids, &net.routes, report)
}

/// The net after its cables became those of another fabric, repaired.
fn repaired(net: &Routed, fabric: Fabric) -> Option<Routed> {
    let lids = net.lids_on(&fabric);
    let repair = repair(net.installed(), &fabric, &lids, &one_thread(), 0).ok()?;
    Some(Routed {
        routes: repair.routes,
        fabric,
        lids,
    })
}

/// The report without the fields of which several values are correct.
fn comparable(report: &VerifyReport) -> VerifyReport {
    VerifyReport {
        order: None,
        cycle: report.cycle.as_ref().map(|_| Vec::new()),
        management_cycle: report.management_cycle.as_ref().map(|_| Vec::new()),
        ..report.clone()
    }
}

/// Fails or returns a cable, or leads one entry elsewhere.
fn change(whole: &Fabric, net: &Routed, random: &mut SplitMix64) -> Option<Routed> {
    match random.below(4) {
        0 | 1 => {
            let mut cables: Vec<_> = net.fabric.switch_links().collect();
            random.shuffle(&mut cables);
            repaired(net, without(&net.fabric, &[cables.first()?.0]))
        }
        2 => {
            let present: BTreeSet<_> = net.fabric.switch_links().collect();
            let gone = whole.switch_links().filter(|at| !present.contains(at));
            let mut gone: Vec<_> = gone.map(|(end, _)| end).collect();
            random.shuffle(&mut gone);
            repaired(net, without(whole, gone.get(1..).unwrap_or_default()))
        }
        _ => {
            let mut net = net.clone();
            let mut switches: Vec<_> = net.fabric.switches().indices().collect();
            random.shuffle(&mut switches);
            let switch = *switches.first()?;
            let lid = Lid(1 + random.below(usize::from(net.lids.max_lid().0)) as u16);
            let mut ports: Vec<_> = net
                .fabric
                .channels_from(switch)
                .map(|(_, channel)| channel.port)
                .collect();
            random.shuffle(&mut ports);
            net.routes.set_port(switch, lid, *ports.first()?);
            Some(net)
        }
    }
}

/// A repair with given path counts, or of tables that are shared, equals a repair that surveys the routes.
fn assert_same_repair(net: &Routed, counts: &PathCounts, next: &Routed, context: &str) {
    let repair = |installed, counts| {
        let repair = try_repair(installed, counts, &next.fabric, &next.lids, &one_thread());
        repair.map(|repair| (repair.routes, repair.before, repair.broken, repair.moved))
    };
    let surveyed = repair(net.installed(), None);
    assert!(
        repair(net.installed(), Some(counts)) == surveyed,
        "{context}"
    );
    let mut routes = net.routes.clone();
    routes.share(1);
    let installed = RoutesInUse {
        routes: &routes,
        ..net.installed()
    };
    assert!(repair(installed, Some(counts)) == surveyed, "{context}");
    assert!(repair(installed, None) == surveyed, "{context}");
}

#[test]
fn an_updated_report_equals_that_of_a_full_verification() {
    for (seed, spec) in (1..).zip(FABRICS) {
        let whole = generated(spec);
        for engine in [
            &engine::MINHOP,
            &engine::UPDN,
            &engine::LASH,
            &engine::DFSSSP,
            &engine::NUE,
        ] {
            let Some(mut net) = Routed::new(engine, whole.clone()) else {
                continue;
            };
            let mut random = SplitMix64::new(seed);
            let mut counts = count(&net, &verify(&net));
            let mut updated = 0;
            for step in 0..12 {
                let Some(next) = change(&whole, &net, &mut random) else {
                    continue;
                };
                let full = verify(&next);
                let context = format!("{spec} {engine} step {step}");
                if let Some(counts) = &counts {
                    assert_same_repair(&net, counts, &next, &context);
                }
                let more = counts
                    .as_ref()
                    .and_then(|counts| counts.updated(net.installed(), next.installed()));
                let is_complete = full.unreachable == 0;
                assert!(more.is_none() || is_complete, "{context}: {full:?}");
                if let Some(counts) = &more {
                    updated += 1;
                    let report = counts.report();
                    assert_eq!(comparable(&report), comparable(&full), "{context}");
                    if let Some(order) = &report.order {
                        certificate::check(&next.fabric, &next.lids, &next.routes, order).unwrap();
                    }
                }
                // A change that breaks a path is taken back.
                if is_complete {
                    counts = more.or_else(|| count(&next, &full));
                    net = next;
                }
            }
            assert!(
                updated >= 3 || counts.is_none(),
                "{spec} {engine}: {updated} updates"
            );
        }
    }
}

#[test]
fn lost_paths_that_a_repair_found_lead_to_the_same_verification_and_writes() {
    let mut repaired = 0;
    for spec in FABRICS {
        for engine in [&engine::MINHOP, &engine::UPDN, &engine::DFSSSP] {
            let Some(mut net) = Routed::new(engine, generated(spec)) else {
                continue;
            };
            net.routes.share(1);
            let Some(counts) = count(&net, &verify(&net)) else {
                continue;
            };
            for (end, far_end) in net.fabric.switch_links().step_by(3) {
                let context = format!("{spec} {engine} {end:?}");
                let fabric = without(&net.fabric, &[end]);
                let repair = try_repair(
                    net.installed(),
                    Some(&counts),
                    &fabric,
                    &net.lids,
                    &one_thread(),
                );
                let Ok(repair) = repair else { continue };
                let lost = repair.lost_paths.unwrap();
                let next = Routed {
                    routes: repair.routes,
                    lids: net.lids.clone(),
                    fabric,
                };
                let (old, new) = (net.installed(), next.installed());
                let after = counts.updated_after(old, new, &lost);
                let searched = counts.updated(old, new);
                assert_eq!(after.is_some(), searched.is_some(), "{context}");
                if let Some((after, searched)) = after.zip(searched) {
                    let report = comparable(&after.report());
                    assert_eq!(report, comparable(&verify(&next)), "{context}");
                    assert_eq!(report, comparable(&searched.report()), "{context}");
                    assert_eq!(after.examined(), searched.examined(), "{context}");
                    repaired += 1;
                }
                let ends = [end, far_end].map(|end| net.fabric.switch_of(end.node).unwrap());
                let changes = Changes {
                    lost: &ends,
                    other: &[],
                };
                let (installed, routes) = (&net.routes, &next.routes);
                let searched = heal(&next.fabric, &next.lids, installed, routes, changes);
                let healing = heal_lost(&next.fabric, &next.lids, installed, routes, &lost);
                assert_eq!(healing, searched, "{context}");
                // Entries that changed elsewhere are found all the same.
                let mut other = next;
                let destination = other.lids.destinations().iter().next().unwrap();
                let (lid, root) = (destination.range.base(), destination.switch);
                let mut switches = other.fabric.switches().indices();
                let switch = switches.find(|&at| Some(at) != root).unwrap();
                let (_, channel) = other.fabric.channels_from(switch).next().unwrap();
                other.routes.set_port(switch, lid, channel.port);
                let full = verify(&other);
                let after = counts.updated_after(net.installed(), other.installed(), &lost);
                if let Some(after) = after {
                    assert_eq!(comparable(&after.report()), comparable(&full), "{context}");
                }
            }
        }
    }
    assert!(repaired > 100, "{repaired}");
}

#[test]
fn only_the_lids_whose_entries_changed_are_examined() {
    let net = Routed::new(&engine::MINHOP, generated("fat-tree:radix=8,levels=3")).unwrap();
    let counts = count(&net, &verify(&net)).unwrap();
    assert_eq!(counts.examined(), net.lids.num_lids());
    for (end, _) in net.fabric.switch_links().step_by(11) {
        let next = repaired(&net, without(&net.fabric, &[end])).unwrap();
        let owned = net
            .lids
            .destinations()
            .iter()
            .flat_map(|end| end.range.iter());
        let differs = |lid: &Lid| {
            let mut switches = net.fabric.switches().indices();
            switches.any(|switch| net.routes.port(switch, *lid) != next.routes.port(switch, *lid))
        };
        let changed = owned.filter(differs).count();
        let counts = counts.updated(net.installed(), next.installed()).unwrap();
        assert!(
            (1..=changed).contains(&counts.examined()),
            "{} > {changed}",
            counts.examined()
        );
        assert!(changed < net.lids.num_lids());
    }
}

#[test]
fn a_repair_shares_the_tables_that_it_leaves_unchanged() {
    let mut net = Routed::new(&engine::MINHOP, generated("fat-tree:radix=8,levels=3")).unwrap();
    net.routes.share(1);
    let counts = count(&net, &verify(&net)).unwrap();
    for (end, far_end) in net.fabric.switch_links().step_by(11) {
        let ends = [end, far_end].map(|end| net.fabric.switch_of(end.node));
        let fabric = without(&net.fabric, &[end]);
        let repaired = try_repair(
            net.installed(),
            Some(&counts),
            &fabric,
            &net.lids,
            &one_thread(),
        );
        let repaired = repaired.unwrap().routes;
        let row = |routes: &Routes, switch| routes.shared_lft(switch).cloned().unwrap();
        let shares =
            |&switch: &SwitchIdx| row(&net.routes, switch).is_same(&row(&repaired, switch));
        let switches = fabric.switches().indices();
        let (same, other): (Vec<SwitchIdx>, Vec<SwitchIdx>) =
            switches.partition(|&switch| net.routes.lft(switch) == repaired.lft(switch));
        assert!(same.len() > other.len() && !other.is_empty());
        // The tables of the switches that lost the cable are made anew.
        let mut others = same.iter().filter(|&&switch| !ends.contains(&Some(switch)));
        assert!(others.all(shares), "{end:?}");
        assert!(!other.iter().any(shares), "{end:?}");
    }
}

#[test]
fn a_repair_with_counts_is_the_same_where_a_host_moves() {
    let net = Routed::new(&engine::MINHOP, generated("fat-tree:radix=4,levels=2")).unwrap();
    let counts = count(&net, &verify(&net)).unwrap();
    let hosts = net
        .lids
        .destinations()
        .iter()
        .filter(|end| !end.is_switch());
    let hosts: Vec<_> = hosts.collect();
    for (first, other) in [(0, 2), (0, 1), (3, 0)] {
        // The second host's cable goes, and the first one moves to its place.
        let (first, other) = (hosts[first], hosts[other]);
        let mut builder = net.fabric.to_builder();
        let place = net.fabric.port(other.end).unwrap().peer.unwrap();
        builder.remove_link(first.end);
        builder.remove_link(other.end);
        builder.add_link(first.end, place).unwrap();
        let fabric = builder.build();
        let next = Routed {
            lids: net.lids_on(&fabric),
            routes: net.routes.clone(),
            fabric,
        };
        assert_same_repair(&net, &counts, &next, "moved");
    }
}

#[test]
fn a_repair_with_counts_shares_the_tables_that_it_leaves_as_they_are() {
    let whole = generated("torus:5x5,hosts=1");
    let mut cables = whole.switch_links().map(|(one, _)| one);
    // One cable comes back, and another goes.
    let (back, gone) = (cables.next().unwrap(), cables.nth(20).unwrap());
    let mut net = Routed::new(&engine::MINHOP, without(&whole, &[back])).unwrap();
    net.routes.share(1);
    let counts = count(&net, &verify(&net)).unwrap();
    let fabric = without(&whole, &[gone]);
    let lids = net.lids_on(&fabric);
    let repair = try_repair(
        net.installed(),
        Some(&counts),
        &fabric,
        &lids,
        &one_thread(),
    );
    let routes = repair.unwrap().routes;
    let is_shared = |&switch: &SwitchIdx| {
        let both = (net.routes.shared_lft(switch), routes.shared_lft(switch));
        matches!(both, (Some(before), Some(after)) if before.is_same(after))
    };
    let shared = fabric.switches().indices().filter(is_shared).count();
    assert!(shared > 0 && shared < fabric.num_switches(), "{shared}");
}
