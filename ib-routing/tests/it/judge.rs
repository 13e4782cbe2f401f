//! The verifier against brute force: packets followed one by one on small random fabrics.

use std::collections::{BTreeMap, BTreeSet};

use ib_routing::{
    Destination, Fabric, LidMap, LidOptions, PortRef, RouteOptions, Routes, SharedEngine, SlTable,
    SwitchIdx, VlMap, engine,
    mcast::{MulticastTree, MulticastTrees},
    verify::{
        Group, RouteEnd,
        balance::{Pattern, contention, lmc_overlap, worst_shift},
        certificate::{self, ProofError},
        verify_on, verify_with,
    },
};
use ib_testkit::fabrics::{fabric, generated};
use ib_wire::{Lid, Lmc, PortNum, Sl, Vl, random::SplitMix64};

/// A switch's output port, by the switch and the port.
type Out = (SwitchIdx, PortNum);

struct Net {
    name: String,
    fabric: Fabric,
    lids: LidMap,
    routes: Routes,
}

impl Net {
    fn new(name: &str, fabric: Fabric, engine: &SharedEngine, lmc: u8) -> Self {
        let options = LidOptions {
            lmc: Lmc::try_new(lmc).unwrap(),
            reassign: true,
            ..LidOptions::default()
        };
        let lids = LidMap::assign(&fabric, &options).unwrap();
        let routes = engine
            .route(&fabric, &lids, &RouteOptions::default())
            .unwrap();
        Self {
            name: format!("{name} {engine} lmc {lmc}"),
            fabric,
            lids,
            routes,
        }
    }

    /// Ports of CAs with the switch that each is cabled to.
    fn cas(&self) -> Vec<(PortRef, SwitchIdx, Lid, u16)> {
        let cas = self.lids.destinations().iter();
        let cas = cas.filter(|end| !end.is_switch());
        cas.filter_map(|end| {
            let count = end.range.lmc().lid_count();
            Some((end.end, end.switch?, end.range.base(), count))
        })
        .collect()
    }

    /// The outputs to other switches on the path from `switch` to `lid`.
    fn path(&self, mut switch: SwitchIdx, lid: Lid) -> Vec<Out> {
        let mut path = Vec::new();
        loop {
            let port = self.routes.port(switch, lid);
            let node = self.fabric.switch(switch);
            let peer = node.port(port).and_then(|port| port.peer);
            match peer.and_then(|peer| self.fabric.switch_of(peer.node)) {
                Some(next) if port.0 > 0 => {
                    path.push((switch, port));
                    switch = next;
                }
                _ => return path,
            }
        }
    }

    fn members(&self, count: usize, random: &mut SplitMix64) -> Vec<PortRef> {
        let mut ports: Vec<PortRef> = self.cas().iter().map(|&(end, ..)| end).collect();
        random.shuffle(&mut ports);
        ports.truncate(count);
        ports
    }
}

fn nets(engines: &[&SharedEngine], lmc: u8) -> Vec<Net> {
    let mut nets = Vec::new();
    for seed in 0..4 {
        let spec = format!("random:switches=6,links=10,hosts=2,seed={seed}");
        let fabric = generated(&spec);
        for &engine in engines {
            let name = format!("random {seed}");
            nets.push(Net::new(&name, fabric.clone(), engine, lmc));
        }
    }
    for name in [
        "gen-ring-5",
        "gen-karyn-4-2",
        "gen-irregular-20",
        "seed-dualstar",
    ] {
        for &engine in engines {
            nets.push(Net::new(name, fabric(name), engine, lmc));
        }
    }
    nets
}

#[test]
fn load_is_what_counting_all_routes_gives() {
    for net in nets(&[&engine::MINHOP, &engine::DFSSSP], 1) {
        let mut load: BTreeMap<Out, u64> = BTreeMap::new();
        for channel in net.fabric.channels().iter() {
            load.insert((channel.from, channel.port), 0);
        }
        for (source, switch, _, from) in net.cas() {
            for (target, _, base, to) in net.cas() {
                for lid in (base.0..base.0 + to).map(Lid).filter(|_| source != target) {
                    for out in net.path(switch, lid) {
                        *load.get_mut(&out).unwrap() += u64::from(from);
                    }
                }
            }
        }
        let report = verify_on(1, &net.fabric, &net.lids, &net.routes).link_load;
        let count = load.len() as f64;
        let mean = load.values().sum::<u64>() as f64 / count;
        let squares = load.values().map(|&load| (load as f64 - mean).powi(2));
        let stdev = (squares.sum::<f64>() / count).sqrt();
        assert_eq!(report.max, *load.values().max().unwrap(), "{}", net.name);
        assert!((report.mean - mean).abs() < 1e-9, "{}", net.name);
        assert!((report.stdev - stdev).abs() < 1e-6, "{}", net.name);
    }
}

/// The switch at which a port on the path from a source port, or that port itself, drops packets on `sl`.
fn dropped_at(
    net: &Net,
    source: &Destination,
    target: &Destination,
    lid: Lid,
    sl: Sl,
) -> Option<SwitchIdx> {
    let lane = |table: &[Vl; 16]| table[usize::from(sl.bits())];
    let map = net.routes.vl_map();
    if !source.is_switch() && lane(map.injection()) == Vl::MANAGEMENT {
        return source.switch;
    }
    let (mut here, mut input) = (source.switch.unwrap(), source.exit);
    for (switch, output) in net.path(here, lid) {
        if lane(map.table(here, input, output)) == Vl::MANAGEMENT {
            return Some(here);
        }
        let peer = net
            .fabric
            .switch(switch)
            .port(output)
            .unwrap()
            .peer
            .unwrap();
        (here, input) = (net.fabric.switch_of(peer.node).unwrap(), peer.port);
    }
    (lane(map.table(here, input, target.exit)) == Vl::MANAGEMENT).then_some(here)
}

#[test]
fn packets_mapped_to_lane_15_are_unreachable_and_wait_for_nobody() {
    let mut random = SplitMix64::new(15);
    for (number, mut net) in nets(&[&engine::UPDN], 1).into_iter().enumerate() {
        let lanes = |random: &mut SplitMix64| {
            [(); 16].map(|()| Vl::try_new(if random.below(9) == 0 { 15 } else { 0 }).unwrap())
        };
        let mut map = VlMap::uniform(lanes(&mut random));
        if number % 2 == 0 {
            map = VlMap::per_port(&net.fabric, *map.injection());
            for switch in net.fabric.switches().indices() {
                for (input, _) in net.fabric.switch(switch).ports() {
                    for (output, _) in net.fabric.switch(switch).ports() {
                        map.set(switch, input, output, lanes(&mut random));
                    }
                }
            }
        }
        let sls = (0..net.routes.row_len() * net.fabric.num_switches())
            .map(|_| Sl::from_low_bits(random.below(16) as u8));
        let sls = SlTable::BySwitch(sls.collect());
        net.routes.set_lanes(sls, map, 16);
        let (mut dropped, mut of_cas) = (0, 0);
        let mut places = BTreeSet::new();
        let ends = net.lids.destinations();
        for (source, target) in ends
            .iter()
            .flat_map(|one| ends.iter().map(move |two| (one, two)))
        {
            for lid in target.range.iter().filter(|_| source != target) {
                let sl = net.routes.sl(source.range.base(), lid);
                if let Some(at) = dropped_at(&net, source, target, lid, sl) {
                    places.insert((source.switch.unwrap(), lid, at));
                    let of_ca = !source.is_switch() && !target.is_switch();
                    let lids = u64::from(source.range.lmc().lid_count());
                    (dropped, of_cas) = (dropped + 1, of_cas + u64::from(of_ca) * lids);
                }
            }
        }
        let report = verify_on(1, &net.fabric, &net.lids, &net.routes);
        assert!(dropped > 0, "{}", net.name);
        assert_eq!(
            (report.unreachable, report.unreachable_ca, report.dropped),
            (dropped, of_cas, dropped),
            "{}",
            net.name
        );
        assert!(report.failures.iter().all(|failure| {
            failure.end == RouteEnd::Dropped
                && places.contains(&(failure.switch, failure.lid, failure.at))
        }));
        assert!(
            (report.vls, report.deadlock_free) == (1, true),
            "{}",
            net.name
        );
        assert_eq!(report, verify_on(2, &net.fabric, &net.lids, &net.routes));
    }
}

#[test]
fn contention_is_what_counting_the_packets_gives() {
    for net in nets(&[&engine::UPDN], 0) {
        let cas = net.cas();
        let busiest = |pairs: &mut dyn Iterator<Item = (usize, usize)>| {
            let mut load: BTreeMap<Out, u32> = BTreeMap::new();
            for (source, target) in pairs {
                for out in net.path(cas[source].1, cas[target].2) {
                    *load.entry(out).or_default() += 1;
                }
            }
            let max = load.values().copied().max().unwrap_or(0);
            let sum: u32 = load.values().sum();
            (max, f64::from(sum) / (load.len().max(1) as f64))
        };
        let found = |pattern| {
            let found = contention(&net.fabric, &net.lids, &net.routes, pattern);
            (found.max, found.mean)
        };
        let count = cas.len();
        for shift in 0..count {
            let mut pairs = (0..count).map(|at| (at, (at + shift) % count));
            assert_eq!(
                found(Pattern::Shift(shift)),
                busiest(&mut pairs),
                "{}",
                net.name
            );
        }
        let mut pairs = (0..count).flat_map(|one| {
            let others = (0..count).filter(move |&other| other != one);
            others.map(move |other| (one, other))
        });
        assert_eq!(
            found(Pattern::AllToAll),
            busiest(&mut pairs),
            "{}",
            net.name
        );
        let all = (1..count).map(|shift| (found(Pattern::Shift(shift)), shift));
        let worst = all.reduce(|worst, next| if next.0.0 > worst.0.0 { next } else { worst });
        let (most, shift) = worst_shift(&net.fabric, &net.lids, &net.routes);
        assert_eq!(Some(((most.max, most.mean), shift)), worst, "{}", net.name);
        // A permutation leaves no port out: no more packets meet than there are ports.
        let random = found(Pattern::Random(7));
        assert!(random.0 as usize <= count && random == found(Pattern::Random(7)));
    }
}

#[test]
fn overlap_is_what_comparing_all_paths_gives() {
    for net in nets(&[&engine::MINHOP, &engine::SSSP], 2) {
        let (mut switches, mut links): (BTreeMap<usize, u64>, BTreeMap<usize, u64>) =
            (BTreeMap::new(), BTreeMap::new());
        for (_, switch, ..) in net.cas() {
            for (_, at, base, count) in net.cas().into_iter().filter(|&(_, at, ..)| at != switch) {
                let paths = (base.0..base.0 + count).map(|lid| net.path(switch, Lid(lid)));
                let sets: Vec<BTreeSet<Out>> =
                    paths.map(|path| path.into_iter().collect()).collect();
                let common = sets[0]
                    .iter()
                    .filter(|out| sets.iter().all(|set| set.contains(out)));
                *links.entry(common.count()).or_default() += 1;
                let passed = |set: &BTreeSet<Out>| -> BTreeSet<SwitchIdx> {
                    let on_the_way = set.iter().map(|&(switch, _)| switch);
                    on_the_way.filter(|&on| on != switch && on != at).collect()
                };
                let sets: Vec<BTreeSet<SwitchIdx>> = sets.iter().map(passed).collect();
                let common = sets[0]
                    .iter()
                    .filter(|on| sets.iter().all(|set| set.contains(on)));
                *switches.entry(common.count()).or_default() += 1;
            }
        }
        let overlap = lmc_overlap(&net.fabric, &net.lids, &net.routes);
        for (found, expected) in [
            (overlap.common_links, links),
            (overlap.common_switches, switches),
        ] {
            let found = found
                .into_iter()
                .enumerate()
                .filter(|(_, pairs)| *pairs > 0);
            assert_eq!(found.collect::<BTreeMap<_, _>>(), expected, "{}", net.name);
        }
    }
}

fn groups<'a>(trees: &'a [MulticastTree], sl: Sl) -> Vec<Group<'a>> {
    let mlids = (0xc000..).map(Lid);
    let groups = trees.iter().zip(mlids);
    groups
        .map(|(tree, mlid)| Group { mlid, sl, tree })
        .collect()
}

/// Returns true if packets between CAs and of the trees, on one lane, can wait for each other in a circle.
fn can_deadlock(net: &Net, trees: &[MulticastTree]) -> bool {
    let mut waits: BTreeMap<Out, BTreeSet<Out>> = BTreeMap::new();
    for (source, switch, ..) in net.cas() {
        for (_, _, lid, _) in net
            .cas()
            .into_iter()
            .filter(|&(target, ..)| target != source)
        {
            for pair in net.path(switch, lid).windows(2) {
                waits.entry(pair[0]).or_default().insert(pair[1]);
            }
        }
    }
    let far = |(switch, port): Out| {
        let peer = net.fabric.switch(switch).port(port)?.peer?;
        Some((net.fabric.switch_of(peer.node)?, peer.port))
    };
    for tree in trees {
        for (&switch, ports) in &tree.ports {
            for port in ports.iter().filter(|port| port.0 > 0) {
                let Some((next, input)) = far((switch, port)) else {
                    continue;
                };
                for out in tree.ports[&next]
                    .iter()
                    .filter(|&out| out != input && out.0 > 0)
                {
                    if far((next, out)).is_some() {
                        waits.entry((switch, port)).or_default().insert((next, out));
                    }
                }
            }
        }
    }
    // A place that reaches itself is on a cycle.
    waits.keys().any(|&start| {
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(here) = open.pop() {
            for &next in waits.get(&here).into_iter().flatten() {
                if next == start {
                    return true;
                }
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    })
}

#[test]
fn trees_and_routes_deadlock_together_where_brute_force_says_so() {
    let (mut cycles, mut proofs) = (0, 0);
    for net in nets(&[&engine::UPDN, &engine::MINHOP], 0) {
        let mut random = SplitMix64::new(5);
        for count in [1, 3, 6] {
            let mut maker = MulticastTrees::new(&net.fabric, BTreeSet::new());
            let trees: Vec<MulticastTree> = (0..count)
                .map(|_| maker.tree(&net.members(4, &mut random)))
                .collect();
            let groups = groups(&trees, Sl::ZERO);
            let report = verify_with(1, &net.fabric, &net.lids, &net.routes, &groups);
            let expected = can_deadlock(&net, &trees);
            assert_eq!(report.multicast_deadlock_free, !expected, "{}", net.name);
            assert_eq!(report.multicast_cycle.is_some(), expected, "{}", net.name);
            match &report.multicast_order {
                Some(order) => {
                    proofs += 1;
                    let unicast = certificate::check(&net.fabric, &net.lids, &net.routes, order);
                    assert_eq!(unicast, Ok(()), "{}", net.name);
                    let both = certificate::check_groups(&net.fabric, &net.routes, &groups, order);
                    assert_eq!(both, Ok(()), "{}", net.name);
                }
                None => cycles += u32::from(report.deadlock_free),
            }
        }
    }
    // Both outcomes occur, cycles that unicast routes alone do not close among them.
    assert!(cycles > 2 && proofs > 2, "{cycles} cycles, {proofs} proofs");
}

#[test]
fn groups_round_a_ring_deadlock_on_its_lane_and_not_on_another() {
    let net = Net::new(
        "ring",
        generated("ring:switches=5,hosts=1"),
        &engine::UPDN,
        0,
    );
    let ports: Vec<PortRef> = net.cas().iter().map(|&(end, ..)| end).collect();
    let tree_of = |members: &[usize]| {
        let members: Vec<PortRef> = members.iter().map(|&at| ports[at % 5]).collect();
        MulticastTrees::new(&net.fabric, BTreeSet::new()).tree(&members)
    };
    // Each covers three switches in a row: together they turn at every switch.
    let round: Vec<MulticastTree> = (0..5).map(|at| tree_of(&[at, at + 1, at + 2])).collect();
    let judge = |trees: &[MulticastTree], sl| {
        let groups = groups(trees, sl);
        verify_with(1, &net.fabric, &net.lids, &net.routes, &groups)
    };
    let report = judge(&round, Sl::ZERO);
    assert!(report.deadlock_free && !report.multicast_deadlock_free);
    let cycle = report.multicast_cycle.unwrap();
    assert_eq!(cycle.len(), 5);
    for (at, (channel, _)) in cycle.iter().enumerate() {
        let next = net.fabric.channel(cycle[(at + 1) % 5].0).from;
        assert_eq!(net.fabric.channel(*channel).to, next);
    }
    // One group that turns where no unicast route does: alone on a lane it does no harm.
    let alone: Vec<&MulticastTree> = round
        .iter()
        .filter(|tree| !judge(core::slice::from_ref(*tree), Sl::ZERO).multicast_deadlock_free)
        .collect();
    assert!(!alone.is_empty());
    for tree in alone {
        let other = judge(core::slice::from_ref(tree), Sl::try_new(1).unwrap());
        assert!(other.multicast_deadlock_free);
    }
}

#[test]
fn a_proof_with_two_channels_exchanged_is_refused() {
    let net = Net::new(
        "ring",
        generated("ring:switches=5,hosts=1"),
        &engine::UPDN,
        0,
    );
    let members: Vec<PortRef> = net.cas().iter().take(3).map(|&(end, ..)| end).collect();
    let trees = [MulticastTrees::new(&net.fabric, BTreeSet::new()).tree(&members)];
    let groups = groups(&trees, Sl::try_new(1).unwrap());
    let report = verify_with(1, &net.fabric, &net.lids, &net.routes, &groups);
    let mut order = report.multicast_order.unwrap();
    order.reverse();
    let check = |order: &[_]| certificate::check_groups(&net.fabric, &net.routes, &groups, order);
    assert!(matches!(
        check(&order),
        Err(certificate::ProofError::Multicast { .. })
    ));
    let twice = order[0];
    order.push(twice);
    assert!(matches!(
        check(&order),
        Err(certificate::ProofError::Twice { .. })
    ));
}

#[test]
fn a_proof_in_which_one_packet_goes_backwards_is_refused() {
    for net in nets(&[&engine::UPDN], 0).iter().take(5) {
        let report = verify_on(1, &net.fabric, &net.lids, &net.routes);
        let order = report.order.unwrap();
        let check = |order: &[_]| certificate::check(&net.fabric, &net.lids, &net.routes, order);
        assert_eq!(check(&order), Ok(()), "{}", net.name);
        let twice = [&order[..], &order[..1]].concat();
        assert!(
            matches!(check(&twice), Err(ProofError::Twice { .. })),
            "{}",
            net.name
        );
        let mut pairs = BTreeSet::new();
        for (_, switch, ..) in net.cas() {
            for (_, _, lid, _) in net.cas() {
                let path = net.path(switch, lid);
                let path = path
                    .iter()
                    .map(|&(at, port)| net.fabric.channel_at(at, port).unwrap());
                let path: Vec<_> = path.collect();
                pairs.extend(path.windows(2).map(|pair| [pair[0], pair[1]]));
            }
        }
        assert!(!pairs.is_empty());
        for pair in pairs {
            let places =
                pair.map(|channel| order.iter().position(|at| at.channel == channel).unwrap());
            let mut exchanged = order.clone();
            exchanged.swap(places[0], places[1]);
            let found = check(&exchanged);
            assert!(
                matches!(found, Err(ProofError::Backward { .. })),
                "{} {found:?}",
                net.name
            );
            let mut without = order.clone();
            without.remove(places[0]);
            let found = check(&without);
            assert!(
                matches!(found, Err(ProofError::Missing { .. })),
                "{} {found:?}",
                net.name
            );
        }
    }
}

#[test]
fn groups_are_judged_on_the_lanes_that_the_tables_give_them() {
    let mut random = SplitMix64::new(3);
    let (mut proofs, mut cycles) = (0, 0);
    for mut net in nets(&[&engine::UPDN], 0) {
        for per_port in [false, true] {
            let table = |random: &mut SplitMix64| {
                [(); 16].map(|()| Vl::try_new(random.below(4) as u8).unwrap())
            };
            let mut map = VlMap::identity(8);
            if per_port {
                map = VlMap::per_port(&net.fabric, table(&mut random));
                for switch in net.fabric.switches().indices() {
                    let ports = || net.fabric.switch(switch).ports().map(|(port, _)| port);
                    for (input, output) in
                        ports().flat_map(|one| ports().map(move |two| (one, two)))
                    {
                        map.set(switch, input, output, table(&mut random));
                    }
                }
            }
            net.routes.set_lanes(SlTable::Uniform(Sl::ZERO), map, 8);
            let mut maker = MulticastTrees::new(&net.fabric, BTreeSet::new());
            let trees: Vec<MulticastTree> = (0..3)
                .map(|_| maker.tree(&net.members(4, &mut random)))
                .collect();
            let groups = groups(&trees, Sl::from_low_bits(5));
            let report = verify_with(1, &net.fabric, &net.lids, &net.routes, &groups);
            match &report.multicast_order {
                Some(order) => {
                    proofs += 1;
                    let both = certificate::check_groups(&net.fabric, &net.routes, &groups, order);
                    assert_eq!(both, Ok(()), "{}", net.name);
                }
                None => {
                    cycles += 1;
                    assert!(!report.multicast_deadlock_free, "{}", net.name);
                }
            }
        }
    }
    assert!(proofs > 8, "{proofs} {cycles}");
}
