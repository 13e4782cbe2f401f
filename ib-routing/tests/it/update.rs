//! From old routes to new ones: every plan is simulated by a checker of its own.

use std::collections::{BTreeMap, BTreeSet};

use ib_routing::{
    Fabric, LidMap, LidOptions, RouteOptions, Routes, SharedEngine, SwitchIdx, engine,
    repair::repair,
    update::{
        check::{self, Accident},
        difference,
        transition::{self, DrainReason, Safety, Transition},
    },
    verify::verify_on,
};
use ib_testkit::{
    fabrics::{fabric as fixture, generated, without},
    routed::{Routed, one_thread},
};
use ib_wire::{Lid, random::SplitMix64};

fn assign(fabric: &Fabric) -> LidMap {
    LidMap::assign(fabric, &LidOptions::default()).unwrap()
}

/// Up*/down* from one given root.
fn rooted(fabric: &Fabric, lids: &LidMap, root: u32) -> Routes {
    let options = RouteOptions {
        roots: vec![fabric.switch_guid(SwitchIdx(root))],
        ..one_thread()
    };
    engine::UPDN.route(fabric, lids, &options).unwrap()
}

/// Plans, simulates, and holds the proof, if there is one, against all that can happen.
fn planned(name: &str, fabric: &Fabric, lids: &LidMap, old: &Routes, new: &Routes) -> Transition {
    let plan = transition::plan(fabric, lids, old, new);
    let simulated = check::simulate(fabric, lids, old, new, &plan);
    assert_eq!(simulated, Ok(()), "{name}");
    let drained = plan.drain.values().filter_map(|reason| match reason {
        DrainReason::Deadlock(cycle) => Some(cycle),
        DrainReason::Loop => None,
    });
    let of_routes = match &plan.safety {
        Safety::AnyOrder(order) => {
            assert!(check::holds(fabric, lids, old, new, &plan, order), "{name}");
            // Where packets take one link, none waits for another.
            let waits = verify_on(1, fabric, lids, new).max_hops > 1;
            let reversed: Vec<_> = order.iter().rev().copied().collect();
            for wrong in [&reversed[..], &order[1..1]] {
                let holds = check::holds(fabric, lids, old, new, &plan, wrong);
                assert_eq!(holds, !waits, "{name}");
            }
            let twice = [&order[..], &order[..1]].concat();
            assert!(
                !check::holds(fabric, lids, old, new, &plan, &twice),
                "{name}"
            );
            None
        }
        Safety::OldDeadlock(cycle) | Safety::NewDeadlock(cycle) => Some(cycle),
        Safety::Stages => None,
    };
    for cycle in drained.chain(of_routes) {
        assert!(cycle.len() > 1, "{name}");
        for (&(from, _), &(to, _)) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            assert_eq!(fabric.channel(from).to, fabric.channel(to).from, "{name}");
        }
    }
    assert_eq!(plan.new_sls, new_sls(fabric, lids, old, new), "{name}");
    plan
}

/// Pairs of a switch and the LID of a CA to which the CAs there send with other service levels than before.
fn new_sls(fabric: &Fabric, lids: &LidMap, old: &Routes, new: &Routes) -> u64 {
    let mut count = 0;
    for switch in fabric.switches().indices() {
        for target in lids.destinations().iter().filter(|end| !end.is_switch()) {
            for lid in target.range.iter() {
                let [before, after] = [old, new].map(|routes| {
                    let cas = lids.at_switch(switch).filter(|end| !end.is_switch());
                    let from = cas.flat_map(|end| end.range.iter());
                    from.map(|from| routes.sl(from, lid))
                        .collect::<BTreeSet<_>>()
                });
                count += u64::from(before != after);
            }
        }
    }
    count
}

#[test]
fn a_new_root_is_reached_in_stages_or_by_draining() {
    let mut unsafe_at_once = 0;
    for (name, root) in [
        ("gen-torus-5x5", 12),
        ("gen-ring-8", 4),
        ("gen-hypercube-4", 15),
        ("gen-full-6", 5),
        ("gen-karyn-4-2", 3),
    ] {
        let fabric = fixture(name);
        let lids = assign(&fabric);
        let (old, new) = (rooted(&fabric, &lids, 0), rooted(&fabric, &lids, root));
        let plan = planned(name, &fabric, &lids, &old, &new);
        // All in one stage, nothing drained for it: the simulation sees what the plan avoids.
        let at_once = Transition {
            stages: vec![plan.stages.concat()],
            drain: plan
                .drain
                .iter()
                .filter(|(_, hazard)| **hazard == DrainReason::Loop)
                .map(|(lid, hazard)| (*lid, hazard.clone()))
                .collect(),
            ..plan.clone()
        };
        let outcome = check::simulate(&fabric, &lids, &old, &new, &at_once);
        match plan.safety {
            Safety::AnyOrder(_) => assert_eq!(outcome, Ok(()), "{name}"),
            Safety::Stages => {
                unsafe_at_once += 1;
                assert!(
                    matches!(outcome, Err(Accident::Deadlock { .. })),
                    "{name}: {outcome:?}"
                );
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!(unsafe_at_once, 3);
}

#[test]
fn engines_with_lanes_change_places() {
    for name in [
        "gen-torus-5x5",
        "gen-mesh-6x4",
        "gen-ring-8",
        "gen-dragonfly-4-2-2",
    ] {
        let fabric = fixture(name);
        let lids = assign(&fabric);
        let by = |engine: &SharedEngine| engine.route(&fabric, &lids, &one_thread()).unwrap();
        let (lash, dfsssp) = (by(&engine::LASH), by(&engine::DFSSSP));
        let nue = by(&engine::NUE);
        for (old, new) in [(&lash, &dfsssp), (&nue, &lash)] {
            planned(name, &fabric, &lids, old, new);
        }
    }
}

#[test]
fn what_can_deadlock_already_is_said() {
    let fabric = fixture("gen-torus-5x5");
    let lids = assign(&fabric);
    let by = |engine: &SharedEngine| engine.route(&fabric, &lids, &one_thread()).unwrap();
    let (minhop, updn) = (by(&engine::MINHOP), by(&engine::UPDN));
    let plan = planned("minhop first", &fabric, &lids, &minhop, &updn);
    assert!(matches!(plan.safety, Safety::OldDeadlock(_)));
    let plan = planned("updn first", &fabric, &lids, &updn, &minhop);
    assert!(matches!(plan.safety, Safety::NewDeadlock(_)));
}

#[test]
fn nothing_to_write_is_no_stage() {
    let fabric = fixture("gen-ring-5");
    let lids = assign(&fabric);
    let routes = rooted(&fabric, &lids, 0);
    let plan = planned("same", &fabric, &lids, &routes, &routes);
    assert!(plan.stages.is_empty() && plan.drain.is_empty());
}

#[test]
fn a_repair_drains_nothing_on_a_tree_and_less_than_a_full_computation_elsewhere() {
    let (mut by_repair, mut in_full) = (0, 0);
    for (engine, name) in [
        (&engine::UPDN, "gen-karyn-4-2"),
        (&engine::MINHOP, "gen-karyn-4-2"),
        (&engine::UPDN, "gen-mesh-6x4"),
        (&engine::DFSSSP, "gen-irregular-20"),
    ] {
        let fabric = fixture(name);
        let net = Routed::new(engine, fabric).unwrap();
        let mut cables: Vec<_> = net.fabric.switch_links().collect();
        SplitMix64::new(3).shuffle(&mut cables);
        for &(end, _) in cables.iter().take(2) {
            let broken = without(&net.fabric, &[end]);
            let left = net.lids_on(&broken);
            let repaired = repair(net.installed(), &broken, &left, &one_thread(), 0).unwrap();
            let before = &repaired.before;
            let drained = |name: &str, new: &Routes| {
                let plan = planned(name, &broken, &left, before, new);
                let drained = plan.drain.len();
                assert!(
                    matches!(plan.safety, Safety::AnyOrder(_) | Safety::Stages),
                    "{name}"
                );
                drained
            };
            let name = format!("{engine} {name}");
            let drain = drained(&name, &repaired.routes);
            assert!(drain == 0 || !name.contains("karyn"), "{name}: {drain}");
            if repaired.recomputed.is_none() {
                let full = engine.route(&broken, &left, &one_thread()).unwrap();
                by_repair += drain;
                in_full += drained(&name, &full);
            }
        }
    }
    assert!(by_repair < in_full / 2, "{by_repair} and {in_full}");
}

#[test]
fn a_plan_that_leaves_blocks_out_is_found() {
    let fabric = fixture("gen-ring-5");
    let lids = assign(&fabric);
    let (old, new) = (rooted(&fabric, &lids, 0), rooted(&fabric, &lids, 2));
    let mut plan = transition::plan(&fabric, &lids, &old, &new);
    plan.stages.pop();
    let found = check::simulate(&fabric, &lids, &old, &new, &plan);
    assert!(
        matches!(found, Err(Accident::Unfinished { .. })),
        "{found:?}"
    );
    assert!(lids.owner(Lid(1)).is_some());
}

#[test]
fn steps_in_the_opposite_order_loop_where_the_simulation_says_so() {
    // More than 64 LIDs, so that there are several blocks.
    let fabric = generated("ring:switches=8,hosts=9");
    let lids = assign(&fabric);
    let mut loops = BTreeMap::new();
    for root in [2, 4] {
        let (old, new) = (rooted(&fabric, &lids, 0), rooted(&fabric, &lids, root));
        let mut plan = transition::plan(&fabric, &lids, &old, &new);
        plan.drain.clear();
        let mut steps = plan.stages.concat();
        for _ in 0..steps.len() {
            steps.rotate_left(1);
            plan.stages = vec![steps.iter().rev().copied().collect()];
            let Err(Accident::Loop { step, lid, switch }) =
                check::simulate(&fabric, &lids, &old, &new, &plan)
            else {
                continue;
            };
            let mut now = old.clone();
            for written in &plan.stages[0][..step] {
                let first = written.block * 64;
                for lid in (first..first + 64).map(Lid) {
                    now.set_port(written.switch, lid, new.port(written.switch, lid));
                }
            }
            let path: Vec<_> = now.path(&fabric, switch, lid).map(|(at, _)| at).collect();
            assert!(path[1..].contains(&switch), "{lid} {path:?}");
            assert_eq!(plan.stages[0][step - 1].block, lid.0 / 64);
            *loops.entry(lid.0 / 64).or_insert(0) += 1;
        }
    }
    assert!(
        loops.len() == 2 && loops.values().all(|&count| count > 2),
        "{loops:?}"
    );
}

#[test]
fn differences_are_what_comparing_all_entries_gives() {
    let fabric = generated("ring:switches=8,hosts=9");
    let lids = assign(&fabric);
    let routes: Vec<Routes> = (0..3).map(|root| rooted(&fabric, &lids, root)).collect();
    for (old, new) in routes
        .iter()
        .flat_map(|old| routes.iter().map(move |new| (old, new)))
    {
        let (mut entries, mut blocks) = (0, BTreeSet::new());
        for switch in fabric.switches().indices() {
            for lid in (1..=lids.max_lid().0)
                .map(Lid)
                .filter(|&lid| lids.owner(lid).is_some())
            {
                if old.port(switch, lid) != new.port(switch, lid) {
                    entries += 1;
                    blocks.insert((switch, lid.0 / 64));
                }
            }
        }
        let switches: BTreeSet<_> = blocks.iter().map(|(switch, _)| switch).collect();
        let found = difference(&fabric, &lids, old, new);
        let expected = (entries, blocks.len() as u64, switches.len() as u64);
        assert_eq!((found.entries, found.blocks, found.switches), expected);
    }
}
