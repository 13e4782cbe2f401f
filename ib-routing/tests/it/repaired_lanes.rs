//! Repairs of routes whose service levels and lanes are of every kind.

use ib_routing::{
    Fabric, LidMap, Routes, SlTable, SwitchIdx, VlMap, engine,
    repair::{RepairError, RoutesInUse, repair, try_repair},
    verify::{PathCounts, VerifyReport, certificate, verify_on},
};
use ib_testkit::{
    fabrics::{generated, without},
    routed::{Routed, one_thread},
};
use ib_wire::{Lid, PortNum, Sl, random::SplitMix64};

use crate::brute_force::{LANES, Lanes, set_lanes};

fn report(net: &Routed) -> VerifyReport {
    verify_on(1, &net.fabric, &net.lids, &net.routes)
}

/// The levels of all packets that both route sets know.
fn levels(lids: &LidMap, routes: &Routes) -> Vec<Sl> {
    let all = || lids.destinations().iter().flat_map(|end| end.range.iter());
    let pairs = all().flat_map(|from| all().map(move |to| (from, to)));
    pairs.map(|(from, to)| routes.sl(from, to)).collect()
}

#[test]
fn lanes_of_every_kind_outlive_cables_that_go_and_come_back() {
    let mut repairs = 0;
    // Paths that go up and then down wait for each other on no lane, whatever the lanes are.
    for (spec, base) in [
        ("fat-tree:radix=4,levels=2", &engine::UPDN),
        ("torus:3x3,hosts=1", &engine::UPDN),
        ("torus:3x3,hosts=1", &engine::NUE),
    ] {
        for kind in LANES {
            let mut random = SplitMix64::new(17);
            let mut old = Routed::new(&engine::UPDN, generated(spec)).unwrap();
            old.routes.set_engine(base);
            set_lanes(&mut old, kind, &mut random);
            let mut cables: Vec<_> = old.fabric.switch_links().map(|(end, _)| end).collect();
            random.shuffle(&mut cables);
            let whole = old.fabric.clone();
            for gone in [&cables[..1], &cables[1..3], &[]] {
                let context = format!("{spec} {base} {kind:?} without {gone:?}");
                let fabric = without(&whole, gone);
                let before = report(&old);
                let lids = old.lids_on(&fabric);
                let repair = repair(old.installed(), &fabric, &lids, &one_thread(), 0).unwrap();
                if repair.recomputed.is_some() {
                    break;
                }
                repairs += 1;
                let counts = PathCounts::new(&old.fabric, &old.lids, &old.routes, &before);
                let counted = counts.as_ref().map(|counts| {
                    let repair =
                        try_repair(old.installed(), Some(counts), &fabric, &lids, &one_thread());
                    repair.unwrap().routes
                });
                let new = Routed {
                    fabric,
                    lids,
                    routes: repair.routes,
                };
                assert!(
                    counted.is_none_or(|routes| routes == new.routes),
                    "{context}"
                );
                let after = report(&new);
                assert_eq!((after.unreachable, after.loops), (0, 0), "{context}");
                assert!(before.deadlock_free && after.deadlock_free, "{context}");
                let order = after.order.unwrap();
                let proof = certificate::check(&new.fabric, &new.lids, &new.routes, &order);
                assert_eq!(proof, Ok(()), "{context}");
                if !matches!(kind, Lanes::BySwitch | Lanes::PerPort) {
                    let same = levels(&old.lids, &old.routes) == levels(&new.lids, &new.routes);
                    assert!(same, "{context}");
                }
                assert_eq!(old.routes.vl_map(), new.routes.vl_map(), "{context}");
                old = new;
            }
        }
    }
    assert!(repairs > 20, "{repairs}");
}

/// A ring whose packets may go round: each LID has the first lane on which no cycle arises.
fn ring_by_destination() -> Routed {
    let mut net = Routed::new(&engine::MINHOP, generated("ring:switches=6,hosts=1")).unwrap();
    net.routes.set_engine(&engine::NUE);
    let mut sls = vec![Sl::ZERO; net.routes.row_len()];
    let map = VlMap::identity(8);
    for lid in (1..=net.lids.max_lid().0).map(Lid) {
        // LIDs that are not placed yet have no path.
        let all = net.routes.clone();
        for later in (lid.0 + 1..=net.lids.max_lid().0).map(Lid) {
            for switch in net.fabric.switches().indices() {
                net.routes.set_port(switch, later, PortNum::UNREACHABLE);
            }
        }
        let is_safe = |sl: &u8| {
            sls[usize::from(lid.0)] = Sl::from_low_bits(*sl);
            net.routes
                .set_lanes(SlTable::ByDestination(sls.clone()), map.clone(), 8);
            report(&net).deadlock_free
        };
        (0..8).find(is_safe).unwrap();
        let levels = net.routes.sls().clone();
        net.routes = all;
        net.routes.set_lanes(levels, map.clone(), 8);
    }
    net
}

#[test]
fn a_host_that_comes_back_gets_a_lane_on_which_nothing_waits_in_a_circle() {
    let whole = ring_by_destination();
    assert!(report(&whole).deadlock_free);
    let highest = (1..=whole.lids.max_lid().0).map(|lid| whole.routes.sl(Lid(1), Lid(lid)));
    assert!(highest.max() > Some(Sl::ZERO));
    let hosts = whole
        .lids
        .destinations()
        .iter()
        .filter(|end| !end.is_switch());
    let mut lanes = Vec::new();
    for host in hosts {
        let fabric = without(&whole.fabric, &[host.end]);
        let others = whole
            .lids
            .destinations()
            .iter()
            .filter(|end| end.end != host.end);
        let lids = LidMap::of_ranges(&fabric, others.map(|end| (end.end, end.range)));
        let mut routes = whole.routes.clone();
        let lid = host.range.base();
        for switch in fabric.switches().indices() {
            routes.set_port(switch, lid, PortNum::UNREACHABLE);
        }
        let SlTable::ByDestination(mut sls) = routes.sls().clone() else {
            panic!("other levels");
        };
        sls[usize::from(lid.0)] = Sl::ZERO;
        routes.set_lanes(
            SlTable::ByDestination(sls),
            whole.routes.vl_map().clone(),
            8,
        );
        let old = RoutesInUse {
            fabric: &fabric,
            lids: &lids,
            routes: &routes,
        };
        let counts = PathCounts::new(
            &fabric,
            &lids,
            &routes,
            &verify_on(1, &fabric, &lids, &routes),
        );
        for counts in [None, counts.as_ref()] {
            let back = try_repair(old, counts, &whole.fabric, &whole.lids, &one_thread()).unwrap();
            let net = Routed {
                routes: back.routes,
                ..whole.clone()
            };
            let report = report(&net);
            assert_eq!((report.unreachable, report.loops), (0, 0));
            assert!(report.deadlock_free, "{lid}: {:?}", report.cycle);
            for other in (1..=whole.lids.max_lid().0)
                .map(Lid)
                .filter(|&other| other != lid)
            {
                assert_eq!(net.routes.sl(Lid(1), other), whole.routes.sl(Lid(1), other));
            }
            lanes.push(net.routes.sl(Lid(1), lid));
        }
    }
    assert!(lanes.iter().any(|sl| *sl > Sl::ZERO), "{lanes:?}");
}

/// The fabric with one more switch between two others.
fn with_one_more(fabric: &Fabric) -> Fabric {
    let mut builder = fabric.to_builder();
    let first = fabric.switches()[SwitchIdx(0)];
    let free = |node| {
        let node: &ib_routing::fabric::Node = fabric.node(node);
        let mut ports = node
            .ports()
            .filter(|(port, end)| port.0 > 0 && end.peer.is_none());
        ports.next().map(|(port, _)| port)
    };
    let added = builder
        .add_node(ib_routing::NewNode {
            type_: fabric.node(first).type_,
            guid: ib_wire::Guid(0xadded),
            num_ports: 2,
            ..Default::default()
        })
        .unwrap();
    let port = free(first).unwrap();
    let one = ib_routing::PortRef { node: first, port };
    let other = ib_routing::PortRef {
        node: added,
        port: PortNum(1),
    };
    builder.add_link(one, other).unwrap();
    builder.build()
}

#[test]
fn only_the_engine_makes_the_tables_of_a_new_switch() {
    let mut net = Routed::new(&engine::UPDN, generated("torus:3x3,hosts=1")).unwrap();
    let host = net.fabric.first_host().unwrap();
    net = Routed::new(&engine::UPDN, without(&net.fabric, &[host])).unwrap();
    let fabric = with_one_more(&net.fabric);
    let lids = LidMap::assign(&fabric, &Default::default()).unwrap();
    let added = fabric.switch_by_guid(ib_wire::Guid(0xadded)).unwrap();
    for kind in [Lanes::One, Lanes::PerPort] {
        set_lanes(&mut net, kind, &mut SplitMix64::new(1));
        let old = RoutesInUse {
            lids: &net.lids,
            ..net.installed()
        };
        let back = repair(old, &fabric, &lids, &one_thread(), 0).unwrap();
        let new_tables = RepairError::NewTables {
            switch: fabric.switch_guid(added),
        };
        let expected = (kind == Lanes::PerPort).then_some(new_tables);
        assert_eq!(back.recomputed, expected);
        let report = verify_on(1, &fabric, &lids, &back.routes);
        assert_eq!((report.unreachable, report.loops), (report.disconnected, 0));
    }
}
