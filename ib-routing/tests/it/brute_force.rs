//! Every number of the verifier's report against packets that are followed one by one, over tables with gaps and loops
//! and with lanes of every kind.

use std::collections::{BTreeMap, BTreeSet};

use ib_routing::{
    ChannelIdx, Destination, Fabric, FabricBuilder, LidMap, LidOptions, NewNode, NodeType, PairSls,
    PortRef, SlTable, SwitchIdx, VerifyReport, VlMap, engine,
    verify::{PathCounts, RouteEnd, verify_on},
};
use ib_testkit::{
    fabrics::generated,
    routed::{Routed, one_thread},
};
use ib_wire::{Guid, Lid, Lmc, PortNum, Sl, Vl, random::SplitMix64};

/// The kinds of lanes that routes may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lanes {
    One,
    ByDestination,
    BySwitch,
    ByPair,
    PerPort,
    PerPortByPair,
}

pub(crate) const LANES: [Lanes; 6] = [
    Lanes::One,
    Lanes::ByDestination,
    Lanes::BySwitch,
    Lanes::ByPair,
    Lanes::PerPort,
    Lanes::PerPortByPair,
];

/// A channel and the lane of a packet on it.
type Place = (ChannelIdx, u8);

/// The places that packets hold while they wait for others.
type Waits = BTreeSet<(Place, Place)>;

fn random_sl(random: &mut SplitMix64) -> Sl {
    Sl::from_low_bits(random.below(16) as u8)
}

fn random_table(random: &mut SplitMix64) -> [Vl; 16] {
    [(); 16].map(|()| Vl::try_new(random.below(4) as u8).unwrap())
}

/// Service levels and SLtoVL tables of a kind, at random, on four lanes.
pub(crate) fn set_lanes(net: &mut Routed, kind: Lanes, random: &mut SplitMix64) {
    let row = net.routes.row_len();
    let mut map = VlMap::uniform(random_table(random));
    if matches!(kind, Lanes::PerPort | Lanes::PerPortByPair) {
        map = VlMap::per_port(&net.fabric, random_table(random));
        for switch in net.fabric.switches().indices() {
            let last = net.fabric.switch(switch).num_ports();
            for (input, output) in (0..=last).flat_map(|one| (0..=last).map(move |two| (one, two)))
            {
                map.set(
                    switch,
                    PortNum(input),
                    PortNum(output),
                    random_table(random),
                );
            }
        }
    }
    let mut sls = |count: usize| (0..count).map(|_| random_sl(random)).collect::<Vec<_>>();
    let sls = match kind {
        Lanes::One => SlTable::Uniform(Sl::from_low_bits(5)),
        Lanes::ByDestination => SlTable::ByDestination(sls(row)),
        Lanes::BySwitch | Lanes::PerPort => SlTable::BySwitch(sls(row * net.fabric.num_switches())),
        Lanes::ByPair | Lanes::PerPortByPair => {
            let ends = net.lids.destinations().iter();
            let all: Vec<Lid> = ends.flat_map(|end| end.range.iter()).collect();
            let mut pairs = PairSls::new(&all);
            for &source in &all {
                let row = pairs.add_row(sls(all.len()));
                pairs.set_source(source, row);
            }
            SlTable::ByPair(pairs)
        }
    };
    net.routes.set_lanes(sls, map, 4);
}

/// The route from a switch to a LID: its channels, and the end.
struct Route {
    channels: Vec<ChannelIdx>,
    /// The switch where the route ends or, if it never ends, that it has come to after as many links as there are switches.
    last: SwitchIdx,
    end: Option<RouteEnd>,
}

fn route(net: &Routed, target: &Destination, start: SwitchIdx, lid: Lid) -> Route {
    let (mut channels, mut last) = (Vec::new(), start);
    loop {
        let port = net.routes.port(last, lid);
        let mut out = net.fabric.channels_from(last);
        let Some((index, channel)) = out.find(|(_, channel)| channel.port == port) else {
            let arrives = target.switch == Some(last) && target.exit == port;
            let end = (!arrives).then_some(RouteEnd::Dead);
            return Route {
                channels,
                last,
                end,
            };
        };
        if channels.len() == net.fabric.num_switches() {
            return Route {
                channels,
                last,
                end: Some(RouteEnd::Loop),
            };
        }
        channels.push(index);
        last = channel.to;
    }
}

/// The lanes of a packet on the channels of its route.
fn places(net: &Routed, source: &Destination, channels: &[ChannelIdx], sl: Sl) -> Vec<Place> {
    let mut input = source.exit;
    let on = channels.iter().map(|&index| {
        let channel = net.fabric.channel(index);
        let lane = net
            .routes
            .vl_map()
            .vl(channel.from, input, channel.port, sl);
        input = channel.to_port;
        (index, lane.bits())
    });
    on.collect()
}

fn has_cycle(waits: &Waits) -> bool {
    let mut left = waits.clone();
    loop {
        let held: BTreeSet<Place> = left.iter().map(|&(from, _)| from).collect();
        let before = left.len();
        left.retain(|(_, to)| held.contains(to));
        if left.len() == before {
            return before > 0;
        }
    }
}

fn assert_cycle(cycle: &[(ChannelIdx, Vl)], waits: &Waits, context: &str) {
    let places: Vec<Place> = cycle.iter().map(|&(at, vl)| (at, vl.bits())).collect();
    assert!(!places.is_empty(), "{context}");
    for (at, &from) in places.iter().enumerate() {
        let to = places[(at + 1) % places.len()];
        assert!(waits.contains(&(from, to)), "{context}: {from:?} {to:?}");
    }
}

/// The numbers of a report, counted packet by packet, and what packets wait for by kind of traffic: between CAs, then
/// between CAs and switches as well, then all.
fn judged(net: &Routed) -> (VerifyReport, [Waits; 3]) {
    let mut report = VerifyReport::default();
    let mut waits = [const { Waits::new() }; 3];
    let mut load: BTreeMap<ChannelIdx, u64> = BTreeMap::new();
    let (mut reached, mut lanes) = (0, BTreeSet::new());
    for target in net.lids.destinations().iter() {
        for lid in target.range.iter() {
            for switch in net.fabric.switches().indices() {
                let loops = route(net, target, switch, lid).end == Some(RouteEnd::Loop);
                report.loops += u64::from(loops);
            }
            for source in net
                .lids
                .destinations()
                .iter()
                .filter(|source| *source != target)
            {
                let route = route(net, target, source.switch.unwrap(), lid);
                report.unreachable += u64::from(route.end.is_some());
                let of_switches = usize::from(source.is_switch()) + usize::from(target.is_switch());
                let lids = u64::from(source.range.lmc().lid_count());
                if of_switches == 0 {
                    report.pairs += lids;
                    report.unreachable_ca += if route.end.is_some() { lids } else { 0 };
                }
                if route.end.is_some() {
                    continue;
                }
                for from in source.range.iter() {
                    let places = places(net, source, &route.channels, net.routes.sl(from, lid));
                    for pair in places.windows(2) {
                        for waits in waits.iter_mut().skip(of_switches) {
                            waits.insert((pair[0], pair[1]));
                        }
                    }
                    if of_switches == 0 {
                        lanes.extend(places.iter().map(|&(_, lane)| lane));
                        reached += 1;
                        for &channel in &route.channels {
                            *load.entry(channel).or_default() += 1;
                        }
                        report.max_hops = report.max_hops.max(route.channels.len() as u32);
                    }
                }
            }
        }
    }
    report.mean_hops = load.values().sum::<u64>() as f64 / f64::from(reached.max(1));
    report.link_load.max = load.values().copied().max().unwrap_or(0);
    let by_channel = net.fabric.channels().indices();
    let by_channel = by_channel.map(|channel| load.get(&channel).copied().unwrap_or(0));
    report.link_load.by_channel = by_channel.collect();
    report.dependencies = waits[0].len();
    report.vls = lanes.len().max(1) as u8;
    let [between_cas, with_switches, all] = &waits;
    report.deadlock_free = !has_cycle(between_cas);
    report.ca_switch_deadlock_free = !has_cycle(with_switches);
    report.all_deadlock_free = !has_cycle(all);
    (report, waits)
}

fn assert_same(report: &VerifyReport, net: &Routed, context: &str) {
    let (counted, waits) = judged(net);
    let numbers = |report: &VerifyReport| {
        (
            [
                report.pairs,
                report.unreachable,
                report.unreachable_ca,
                report.loops,
            ],
            [
                report.deadlock_free,
                report.ca_switch_deadlock_free,
                report.all_deadlock_free,
            ],
            (report.dependencies, report.max_hops, report.link_load.max),
            report.link_load.by_channel.clone(),
        )
    };
    assert_eq!(numbers(report), numbers(&counted), "{context}");
    assert!(
        (report.mean_hops - counted.mean_hops).abs() < 1e-9,
        "{context}"
    );
    assert_eq!((report.dropped, report.disconnected), (0, 0), "{context}");
    if report.unreachable == 0 {
        assert_eq!(report.vls, counted.vls, "{context}");
    }
    let is_clean = report.deadlock_free && (report.unreachable, report.loops) == (0, 0);
    assert_eq!(report.is_clean(), is_clean, "{context}");
    let [between_cas, with_switches, all] = &waits;
    match (&report.cycle, &report.order) {
        (Some(cycle), None) => assert_cycle(cycle, between_cas, context),
        (None, Some(order)) => {
            let places = order
                .iter()
                .zip(0..)
                .map(|(at, place)| ((at.channel, at.lane), place));
            let places: BTreeMap<Place, usize> = places.collect();
            assert!(
                between_cas
                    .iter()
                    .all(|(from, to)| places[from] < places[to]),
                "{context}"
            );
        }
        both => panic!("{context}: {both:?}"),
    }
    match &report.management_cycle {
        Some(cycle) if report.ca_switch_deadlock_free => assert_cycle(cycle, all, context),
        Some(cycle) => assert_cycle(cycle, with_switches, context),
        None => assert!(report.all_deadlock_free, "{context}"),
    }
}

/// The named failures are the first ones, with their ends.
fn assert_failures(report: &VerifyReport, net: &Routed, context: &str) {
    let mut left = report.failures.iter();
    let mut total = 0;
    for target in net.lids.destinations().iter() {
        for lid in target.range.iter() {
            for switch in net.fabric.switches().indices() {
                let route = route(net, target, switch, lid);
                let Some(end) = route.end else { continue };
                total += 1;
                let Some(found) = left.next() else { continue };
                assert_eq!(
                    (found.switch, found.lid, found.end),
                    (switch, lid, end),
                    "{context}"
                );
                assert!(found.at == route.last, "{context}: {found:?}");
            }
        }
    }
    assert_eq!(report.failures.len(), total.min(20), "{context}");
}

fn net(spec: &str, lmc: u8) -> Routed {
    let fabric = generated(spec);
    let options = LidOptions {
        lmc: Lmc::try_new(lmc).unwrap(),
        ..LidOptions::default()
    };
    let lids = LidMap::assign(&fabric, &options).unwrap();
    let routes = engine::MINHOP.route(&fabric, &lids, &one_thread()).unwrap();
    Routed {
        fabric,
        lids,
        routes,
    }
}

const SPECS: [(&str, u8); 5] = [
    ("ring:switches=5,hosts=2", 0),
    ("torus:3x3,hosts=1", 1),
    ("fat-tree:radix=4,levels=2", 1),
    ("random:switches=6,links=10,hosts=2,seed=3", 0),
    // More LIDs at a switch than are followed together, in more than one block.
    ("random:switches=3,links=3,hosts=20,seed=1", 1),
];

#[test]
fn reports_are_what_following_each_packet_gives() {
    let mut random = SplitMix64::new(9);
    let (mut cycles, mut proofs) = (0, 0);
    for (spec, lmc) in SPECS {
        for kind in LANES {
            let mut net = net(spec, lmc);
            set_lanes(&mut net, kind, &mut random);
            let report = verify_on(1, &net.fabric, &net.lids, &net.routes);
            let context = format!("{spec} {kind:?}");
            assert_same(&report, &net, &context);
            assert_eq!(report.unreachable, 0);
            let counts = PathCounts::new(&net.fabric, &net.lids, &net.routes, &report);
            let is_counted = matches!(kind, Lanes::One | Lanes::ByDestination | Lanes::BySwitch);
            assert_eq!(counts.is_some(), is_counted, "{context}");
            if let Some(counts) = counts {
                assert_same(&counts.report(), &net, &context);
            }
            cycles += u32::from(!report.deadlock_free);
            proofs += u32::from(report.deadlock_free);
        }
    }
    assert!(cycles > 3 && proofs > 3, "{cycles} {proofs}");
}

#[test]
fn gaps_and_loops_are_what_following_each_packet_gives() {
    let mut random = SplitMix64::new(4);
    let (mut loops, mut dead) = (0, 0);
    for (spec, lmc) in SPECS {
        for (kind, faults) in LANES.into_iter().zip([1, 2, 4, 8, 16, 40]) {
            let mut net = net(spec, lmc);
            set_lanes(&mut net, kind, &mut random);
            for _ in 0..faults {
                let switch = SwitchIdx(random.below(net.fabric.num_switches()) as u32);
                let lid = Lid(1 + random.below(usize::from(net.lids.max_lid().0)) as u16);
                let ports = usize::from(net.fabric.switch(switch).num_ports());
                let port = PortNum(random.below(ports + 2) as u8);
                net.routes.set_port(switch, lid, port);
            }
            let report = verify_on(1, &net.fabric, &net.lids, &net.routes);
            let context = format!("{spec} {kind:?} {faults}");
            assert_same(&report, &net, &context);
            assert_failures(&report, &net, &context);
            assert_eq!(report, verify_on(3, &net.fabric, &net.lids, &net.routes));
            let is_whole = report.unreachable == 0 && report.loops == 0;
            let counts = PathCounts::new(&net.fabric, &net.lids, &net.routes, &report);
            assert!(is_whole || counts.is_none(), "{context}");
            loops += report.loops;
            dead += report.unreachable;
        }
    }
    assert!(loops > 10 && dead > 10, "{loops} {dead}");
}

/// A switch with two hosts, and two more hosts on one cable. `is_up` says whether that cable's far end is enabled.
fn two_on_one_cable(is_up: bool) -> (Fabric, [PortRef; 2]) {
    let mut builder = FabricBuilder::new();
    let mut add = |type_, guid, num_ports| {
        let new = NewNode {
            type_,
            guid: Guid(guid),
            num_ports,
            ..NewNode::default()
        };
        builder.add_node(new).unwrap()
    };
    let switch = add(NodeType::SWITCH, 0x10, 4);
    let hosts = [1, 2, 3, 4].map(|guid| add(NodeType::CA, guid, 1));
    let [one, two, three, four] = hosts.map(|node| PortRef {
        node,
        port: PortNum(1),
    });
    let at = |port| PortRef {
        node: switch,
        port: PortNum(port),
    };
    for (end, peer) in [(at(1), one), (at(2), two), (three, four)] {
        builder.add_link(end, peer).unwrap();
    }
    builder.port_mut(four).unwrap().disabled = !is_up;
    (builder.build(), [three, four])
}

#[test]
fn two_hosts_on_one_cable_reach_each_other_while_it_is_up() {
    // Of five ports the switch and its two hosts reach each other, and so do the other two.
    for (is_up, unreachable, unreachable_ca) in [(true, 12, 8), (false, 14, 10)] {
        let (fabric, pair) = two_on_one_cable(is_up);
        let known = LidMap::assign(&two_on_one_cable(true).0, &LidOptions::default()).unwrap();
        let ranges = known
            .destinations()
            .iter()
            .map(|port| (port.end, port.range));
        let lids = LidMap::of_ranges(&fabric, ranges);
        assert!(pair.iter().all(|end| lids.range_of(*end).is_some()));
        let routes = engine::MINHOP.route(&fabric, &lids, &one_thread()).unwrap();
        let report = verify_on(1, &fabric, &lids, &routes);
        assert_eq!(
            (report.unreachable, report.unreachable_ca),
            (unreachable, unreachable_ca)
        );
        assert_eq!(
            (report.pairs, report.disconnected, report.loops),
            (12, 12, 0)
        );
    }
}
