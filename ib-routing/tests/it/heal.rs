//! Healing: what a failure broke is written first, near to far, and nothing else is touched.

use ib_routing::{
    Fabric, LidMap, LidOptions, PortRef, Routes, SharedEngine, SwitchIdx, engine,
    fabric::Channel,
    update::{
        difference,
        heal::{Changes, HealedEntry, Healing, HealingProgress, detour, heal},
    },
    verify,
};
use ib_testkit::{fabrics::generated, routed::one_thread};
use ib_wire::{Lid, PortNum};

fn route(engine: &SharedEngine, fabric: &Fabric, lids: &LidMap) -> Routes {
    engine.route(fabric, lids, &one_thread()).unwrap()
}

/// A fabric before and after cables were taken out, and the healing.
struct Case {
    fabric: Fabric,
    lids: LidMap,
    installed: Routes,
    new: Routes,
    healing: Healing,
    /// The writes that are possible before there are new routes.
    detours: Healing,
}

impl Case {
    fn new(spec: &str, engine: &SharedEngine, lost: impl Fn(&Fabric) -> Vec<PortRef>) -> Self {
        let whole = generated(spec);
        let lids = LidMap::assign(&whole, &LidOptions::default()).unwrap();
        let installed = route(engine, &whole, &lids);
        let mut builder = whole.to_builder();
        let mut changed = Vec::new();
        for end in lost(&whole) {
            let ends = [Some(end), whole.port(end).unwrap().peer];
            changed.extend(
                ends.into_iter()
                    .flatten()
                    .filter_map(|end| whole.switch_of(end.node)),
            );
            builder.remove_link(end);
        }
        let fabric = builder.build();
        let ranges = lids
            .destinations()
            .iter()
            .map(|port| (port.end, port.range));
        let lids = LidMap::of_ranges(&fabric, ranges);
        let new = route(engine, &fabric, &lids);
        let changes = Changes {
            lost: &changed,
            other: &[],
        };
        let healing = heal(&fabric, &lids, &installed, &new, changes);
        let entries = |switch, lid| installed.port(switch, lid);
        let detours = detour(&fabric, &lids, &entries, changes, &[]);
        Self {
            fabric,
            lids,
            installed,
            new,
            healing,
            detours,
        }
    }

    /// The tables after the last write.
    fn healed(&self) -> Routes {
        let mut healed = self.installed.clone();
        self.healing.apply(&mut healed);
        healed
    }
}

/// The cables of one switch between switches.
fn cables_of(fabric: &Fabric, switch: SwitchIdx) -> Vec<PortRef> {
    let node = fabric.switches()[switch];
    let channels = fabric.channels_from(switch);
    channels
        .map(|(_, channel)| PortRef {
            node,
            port: channel.port,
        })
        .collect()
}

#[test]
fn a_cable_and_a_switch_are_healed_with_less_than_the_new_tables_change() {
    for (spec, engine) in [
        ("fat-tree:radix=8,levels=3", &engine::FTREE),
        ("dragonfly:a=4,p=2,h=2", &engine::UPDN),
        ("torus:4x4,hosts=2", &engine::DFSSSP),
        (
            "jellyfish:switches=20,degree=5,hosts=2,seed=3",
            &engine::MINHOP,
        ),
    ] {
        for count in [1, usize::MAX] {
            let case = Case::new(spec, engine, |fabric| {
                // Neither a leaf of the tree nor far from the roots.
                let busy = if spec.starts_with("fat") {
                    fabric.num_switches() - 1
                } else {
                    0
                };
                let mut cables = cables_of(fabric, SwitchIdx(busy as u32));
                cables.truncate(count);
                cables
            });
            let Case {
                fabric,
                lids,
                new,
                healing,
                ..
            } = &case;
            let healed = case.healed();
            let [reached, wanted] = [&healed, new].map(|routes| verify(fabric, lids, routes));
            assert_eq!(
                (reached.unreachable, reached.loops),
                (wanted.unreachable, 0),
                "{spec} {count}"
            );
            let all = difference(fabric, lids, &case.installed, new);
            let left = difference(fabric, lids, &healed, new);
            assert!(!healing.is_empty(), "{spec} {count} {all:?} {left:?}");
            assert!(
                left.entries + healing.entries().len() as u64 == all.entries,
                "{spec} {count}"
            );
            let mut led = case.installed.clone();
            case.detours.apply(&mut led);
            let reached = verify(fabric, lids, &led);
            assert_eq!(
                (reached.unreachable, reached.loops),
                (wanted.unreachable, 0),
                "detours of {spec} {count}"
            );
        }
    }
}

#[test]
fn a_ring_that_is_cut_is_healed_from_near_to_far() {
    // Switches 0 to 7 in a ring: the cable between 0 and 7 goes, so packets from 0 to the host at 7 go the
    // long way, and their switches are written from 7 backwards.
    let case = Case::new("ring:switches=8,hosts=1", &engine::MINHOP, |fabric| {
        let between = |end: &PortRef| {
            let peer = fabric.port(*end).unwrap().peer.unwrap();
            fabric.switch_of(peer.node) == Some(SwitchIdx(7))
        };
        cables_of(fabric, SwitchIdx(0))
            .into_iter()
            .filter(between)
            .collect()
    });
    let Case { lids, healing, .. } = &case;
    let host = lids
        .at_switch(SwitchIdx(7))
        .find(|port| !port.is_switch())
        .unwrap();
    let lid = host.range.base();
    let mut order: Vec<(usize, SwitchIdx)> = Vec::new();
    for entry in healing.entries().iter().filter(|entry| entry.lid == lid) {
        order.push((entry.write, entry.switch));
    }
    order.sort_unstable();
    let switches: Vec<u32> = order.iter().map(|(_, switch)| switch.0).collect();
    // The engine chooses which of the two shortest paths switch 3 has.
    assert!(
        switches == [3, 2, 1, 0] || switches == [2, 1, 0],
        "{switches:?}"
    );
    let stages: Vec<u32> = order
        .iter()
        .map(|&(write, _)| healing.writes()[write].stage)
        .collect();
    assert!(stages.is_sorted_by(|one, next| one < next), "{stages:?}");
}

#[test]
fn detours_round_a_spine_are_short_and_share_the_other_spines() {
    // One cable of a leaf goes: its spine leads over a leaf and another spine, and the other leaves take another
    // spine themselves.
    let case = Case::new("fat-tree:radix=8,levels=2", &engine::FTREE, |fabric| {
        let leaf = fabric.switches().indices().next().unwrap();
        cables_of(fabric, leaf).into_iter().take(1).collect()
    });
    let Case { fabric, lids, .. } = &case;
    let mut led = case.installed.clone();
    case.detours.apply(&mut led);
    let mut ports = std::collections::BTreeMap::new();
    for entry in case.detours.entries() {
        let links = led.path(fabric, entry.switch, entry.lid).count();
        assert!(links <= 4, "{entry:?} is {links} switches away");
        let is_leaf = lids.at_switch(entry.switch).count() > 1;
        if is_leaf {
            *ports.entry((entry.switch, entry.port)).or_insert(0) += 1;
        }
    }
    let busiest = ports.values().max().unwrap();
    let total: usize = ports.values().sum();
    assert!(busiest * 3 <= total, "{ports:?}");
}

#[test]
fn a_host_that_moved_is_healed_everywhere_without_being_named() {
    let fabric = generated("fat-tree:radix=4,levels=2");
    let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
    let new = route(&engine::FTREE, &fabric, &lids);
    let mut installed = new.clone();
    let host = lids
        .destinations()
        .iter()
        .find(|port| !port.is_switch())
        .unwrap();
    let lid = host.range.base();
    for switch in fabric.switches().indices() {
        installed.set_port(switch, lid, PortNum::UNREACHABLE);
    }
    let healing = heal(&fabric, &lids, &installed, &new, Changes::default());
    assert_eq!(healing.entries().len(), fabric.num_switches());
    assert!(healing.entries().iter().all(|entry| entry.lid == lid));
    assert_eq!(healing.writes()[0].step.switch, host.switch.unwrap());
    healing.apply(&mut installed);
    assert_eq!(installed, new);
}

#[test]
fn tables_that_arrive_need_no_healing_though_the_new_ones_differ() {
    let fabric = generated("torus:4x4,hosts=1");
    let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
    let [old, new] = [&engine::UPDN, &engine::DOR].map(|engine| route(engine, &fabric, &lids));
    let all: Vec<SwitchIdx> = fabric.switches().indices().collect();
    assert_ne!(old, new);
    let changes = Changes {
        lost: &[],
        other: &all,
    };
    assert!(heal(&fabric, &lids, &old, &new, changes).is_empty());
}

#[test]
fn a_write_that_fails_holds_back_only_what_leads_over_it() {
    let case = Case::new("ring:switches=8,hosts=1", &engine::MINHOP, |fabric| {
        cables_of(fabric, SwitchIdx(0))
            .into_iter()
            .take(1)
            .collect()
    });
    let healing = &case.healing;
    let mut progress = HealingProgress::new(healing);
    let mut ready: Vec<usize> = progress.first().collect();
    let failed = ready[0];
    let mut sent = Vec::new();
    while let Some(number) = ready.pop() {
        sent.push(number);
        if number != failed {
            ready.extend(progress.answered(number));
        }
    }
    let mut held_back = vec![false; healing.writes().len()];
    for number in 0..held_back.len() {
        let after = healing.after(number).iter();
        held_back[number] = after
            .into_iter()
            .any(|&first| first == failed || held_back[first]);
    }
    assert!(held_back.contains(&true));
    for (number, held_back) in held_back.into_iter().enumerate() {
        assert_eq!(sent.contains(&number), !held_back, "{number}");
    }
}

#[test]
fn a_block_keeps_what_the_switch_holds_but_for_the_healed_entries() {
    let case = Case::new("ring:switches=8,hosts=1", &engine::MINHOP, |fabric| {
        cables_of(fabric, SwitchIdx(0))
            .into_iter()
            .take(1)
            .collect()
    });
    let Case {
        healing, installed, ..
    } = &case;
    let last = healing.writes().len() - 1;
    let write = &healing.writes()[last];
    let held: [u8; 64] = installed.lft(write.step.switch)[..64].try_into().unwrap();
    let block = healing.block(last, held);
    for (lid, (now, was)) in (0..).map(Lid).zip(block.into_iter().zip(held)) {
        match healing.port(write.step.switch, lid) {
            Some(port) => assert_eq!((now, was != now), (port.0, true), "{lid}"),
            None => assert_eq!(now, was, "{lid}"),
        }
    }
}

#[test]
fn pairs_that_no_cables_join_are_counted() {
    // The ring falls into two parts, of which one has a path of five switches.
    let case = Case::new("ring:switches=8,hosts=20", &engine::MINHOP, |fabric| {
        let between = |(_, channel): &(_, &Channel)| {
            [(7, 0), (2, 3)].contains(&(channel.from.0, channel.to.0))
        };
        let all = fabric
            .switches()
            .indices()
            .flat_map(|switch| fabric.channels_from(switch));
        let ends = all.filter(between).map(|(_, channel)| PortRef {
            node: fabric.switches()[channel.from],
            port: channel.port,
        });
        ends.collect()
    });
    let Case { fabric, lids, .. } = &case;
    let parts = fabric.parts();
    let mut apart = 0;
    for end in lids.destinations().iter() {
        let away = fabric
            .switches()
            .indices()
            .filter(|&at| parts[at] != parts[end.switch.unwrap()]);
        apart += away.count() as u64;
    }
    assert!(apart > 0);
    for (name, healing) in [("healing", &case.healing), ("detours", &case.detours)] {
        assert_eq!(healing.unreachable(), apart, "{name}");
        assert!(
            healing.writes().iter().any(|write| write.step.block > 0),
            "{name}"
        );
        let place = |entry: &HealedEntry| (entry.lid.0 / 64, entry.switch, entry.lid);
        assert!(
            healing
                .entries()
                .is_sorted_by(|one, next| place(one) < place(next)),
            "{name}"
        );
        let mut last = 0;
        for (number, write) in healing.writes().iter().enumerate() {
            let entries: Vec<_> = healing.entries_of(number).collect();
            let step = |entry: &HealedEntry| (entry.switch, entry.lid.0 / 64);
            let expected = (write.step.switch, write.step.block);
            assert!(
                entries.iter().all(|entry| step(entry) == expected),
                "{name} {number}"
            );
            assert!(
                entries.iter().any(|entry| entry.write == number),
                "{name} {number}"
            );
            assert!(
                healing.after(number).iter().all(|&first| first < number),
                "{name}"
            );
            let before = healing
                .after(number)
                .iter()
                .map(|&first| healing.writes()[first].stage);
            assert_eq!(
                write.stage,
                before.max().map_or(0, |stage| stage + 1),
                "{name}"
            );
            assert!(write.step.block >= last, "{name}");
            last = write.step.block;
        }
        for entry in healing.entries() {
            assert_eq!(
                healing.port(entry.switch, entry.lid),
                Some(entry.port),
                "{name}"
            );
        }
    }
}

/// Links from each switch to the destination, if those whose paths broke join the nearest neighbours one by one.
fn nearest(case: &Case, lid: Lid) -> Vec<Option<usize>> {
    let Case {
        fabric,
        lids,
        installed,
        ..
    } = case;
    let owner = lids.owner(lid).unwrap();
    let mut links: Vec<_> = fabric
        .switches()
        .indices()
        .map(|switch| {
            let path: Vec<_> = installed.path(fabric, switch, lid).collect();
            let arrives = path.last().copied() == owner.switch.map(|last| (last, owner.exit));
            arrives.then(|| path.len() - 1)
        })
        .collect();
    let broken: Vec<_> = fabric
        .switches()
        .indices()
        .filter(|at| links[at.0 as usize].is_none())
        .collect();
    for length in 1..2 * fabric.num_switches() {
        let joins = |&&at: &&SwitchIdx| {
            let mut channels = fabric.channels_from(at);
            links[at.0 as usize].is_none()
                && channels.any(|(_, channel)| links[channel.to.0 as usize] == Some(length - 1))
        };
        let found: Vec<_> = broken.iter().filter(joins).copied().collect();
        for at in found {
            links[at.0 as usize] = Some(length);
        }
    }
    links
}

#[test]
fn detours_lead_over_the_nearest_neighbours_and_keep_ports_where_they_can() {
    for (spec, engine, switches) in [
        ("fat-tree:radix=6,levels=3", &engine::FTREE, [20, 30]),
        ("torus:4x4,hosts=2", &engine::DOR, [5, 6]),
        ("ring:switches=9,hosts=1", &engine::MINHOP, [0, 0]),
        (
            "random:switches=14,links=26,hosts=3,seed=4",
            &engine::UPDN,
            [3, 8],
        ),
    ] {
        let case = Case::new(spec, engine, |fabric| {
            let cables = switches.map(|at| cables_of(fabric, SwitchIdx(at)));
            cables
                .iter()
                .flat_map(|cables| cables.iter().copied().take(2))
                .collect()
        });
        let Case {
            fabric,
            lids,
            installed,
            detours,
            ..
        } = &case;
        let mut led = installed.clone();
        detours.apply(&mut led);
        let mut kept = 0;
        for lid in (1..=lids.max_lid().0)
            .map(Lid)
            .filter(|&lid| lids.owner(lid).is_some())
        {
            let links = nearest(&case, lid);
            for switch in fabric.switches().indices() {
                let Some(expected) = links[switch.0 as usize] else {
                    continue;
                };
                let path: Vec<_> = led.path(fabric, switch, lid).collect();
                assert_eq!(path.len() - 1, expected, "{spec} {switch:?} {lid}");
                let old = fabric.channel_at(switch, installed.port(switch, lid));
                let holds = old.is_some_and(|old| {
                    links[fabric.channel(old).to.0 as usize]
                        .is_some_and(|left| left + 1 == expected)
                });
                if holds {
                    kept += 1;
                    assert_eq!(detours.port(switch, lid), None, "{spec} {switch:?} {lid}");
                }
            }
        }
        assert!(kept > 0 && !detours.is_empty(), "{spec}");
    }
}
