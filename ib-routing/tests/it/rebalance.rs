//! A rebalance moves one entry after the other, each to a path that is as long, obeys the same rule and carries less.

use ib_routing::{
    ChannelIdx, Fabric, SharedEngine, SwitchIdx, engine, repair,
    update::changed_lids,
    verify::{VerifyReport, verify_on},
};
use ib_testkit::{
    fabrics::{generated, without},
    routed::{Routed, one_thread},
};
use ib_wire::{Lid, random::SplitMix64};

/// The channels of a path.
fn channels(net: &Routed, switch: SwitchIdx, lid: Lid) -> Vec<ChannelIdx> {
    let path = net.routes.path(&net.fabric, switch, lid);
    path.filter_map(|(at, port)| net.fabric.channel_at(at, port))
        .collect()
}

fn report(net: &Routed) -> VerifyReport {
    verify_on(1, &net.fabric, &net.lids, &net.routes)
}

/// The routes after the cables became those of `now`, with `budget` entries to move for the balance; `None` if the
/// engine's rule leaves no path.
fn repaired(old: &Routed, now: &Fabric, budget: usize) -> Option<(Routed, u64)> {
    let (fabric, lids) = (now.clone(), old.lids_on(now));
    let repair = repair(old.installed(), &fabric, &lids, &one_thread(), budget).unwrap();
    if repair.recomputed.is_some() {
        return None;
    }
    let (routes, moved) = (repair.routes, repair.rebalanced);
    let net = Routed {
        fabric,
        lids,
        routes,
    };
    Some((net, moved))
}

/// Checks every step up to `most`; returns how many there were.
fn steps(old: &Routed, now: &Fabric, most: usize, name: &str) -> usize {
    let Some((mut before, none)) = repaired(old, now, 0) else {
        return 0;
    };
    assert_eq!(none, 0);
    let mut was = report(&before);
    let was_safe = was.deadlock_free;
    for step in 1..=most {
        let context = format!("{name} step {step}");
        let (after, moved) = repaired(old, now, step).unwrap();
        let is = report(&after);
        let switches = after.fabric.switches().indices();
        let changed = switches.flat_map(|switch| {
            let lids = changed_lids(&after.lids, &before.routes, &after.routes, switch);
            lids.map(move |lid| (switch, lid)).collect::<Vec<_>>()
        });
        let changed: Vec<_> = changed.collect();
        if moved < step as u64 {
            assert!(changed.is_empty(), "{context}: {changed:?}");
            return step - 1;
        }
        assert_eq!(moved, step as u64, "{context}");
        let &[(switch, lid)] = &changed[..] else {
            panic!("{context}: {changed:?}");
        };
        assert_eq!((is.unreachable, is.loops), (0, 0), "{context}");
        assert!(is.deadlock_free || !was_safe, "{context}: {:?}", is.cycle);
        let [left, taken] = [&before, &after].map(|net| channels(net, switch, lid));
        assert_eq!(left.len(), taken.len(), "{context}");
        let busiest = |report: &VerifyReport, path: &[ChannelIdx]| {
            let loads = path.iter().map(|&at| report.link_load.by_channel[at]);
            loads.max().unwrap()
        };
        let (then, now) = (busiest(&was, &left), busiest(&is, &taken));
        assert!(now < then, "{context}: {now} of {then}");
        assert!(is.link_load.max <= was.link_load.max, "{context}");
        assert!((is.mean_hops - was.mean_hops).abs() < 1e-9, "{context}");
        (before, was) = (after, is);
    }
    most
}

/// Cables go and come back, and each step of both repairs is looked at.
fn rebalanced(spec: &str, engine: &SharedEngine, cables: usize) {
    let whole = Routed::new(engine, generated(spec)).unwrap();
    let mut links: Vec<_> = whole.fabric.switch_links().map(|(end, _)| end).collect();
    SplitMix64::new(8).shuffle(&mut links);
    links.truncate(cables);
    let broken = Routed::new(engine, without(&whole.fabric, &links)).unwrap();
    let back = steps(&broken, &whole.fabric, 8, &format!("{spec} {engine} back"));
    let gone = steps(&whole, &broken.fabric, 8, &format!("{spec} {engine} gone"));
    assert!(back + gone >= 4, "{spec} {engine}: {back} {gone}");
}

#[test]
fn each_step_on_a_tree_moves_one_entry_to_an_equal_path_that_carries_less() {
    rebalanced("fat-tree:radix=4,levels=3", &engine::UPDN, 3);
    rebalanced("fat-tree:radix=4,levels=3", &engine::MINHOP, 3);
}

#[test]
fn each_step_on_a_torus_moves_one_entry_to_an_equal_path_that_carries_less() {
    rebalanced("torus:4x4,hosts=1", &engine::UPDN, 3);
    rebalanced("torus:4x4,hosts=1", &engine::MINHOP, 3);
    rebalanced("torus:4x4,hosts=1", &engine::DFSSSP, 3);
}

#[test]
fn each_step_on_any_fabric_moves_one_entry_to_an_equal_path_that_carries_less() {
    let spec = "random:switches=12,links=24,hosts=2,seed=3";
    rebalanced(spec, &engine::UPDN, 3);
    rebalanced(spec, &engine::NUE, 3);
}
