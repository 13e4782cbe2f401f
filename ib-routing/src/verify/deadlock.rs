//! The channel dependency graphs of the three kinds of traffic, and what they prove.
//!
//! Traffic between CAs is what users send; management traffic (a diagnostic asking a switch) has
//! routes from and to switches too, and can close a cycle that CAs alone do not.

use alloc::vec::Vec;

use ib_wire::{Lid, Sl, Vl};

use super::{
    Context, Group, VerifyReport,
    dropped::DROP,
    multicast,
    walk::{LOOP, NO_CHANNEL, Target, Walk, entry_port},
};
use crate::{
    algo::{
        dependency::{DependencyCollector, DependencyGraph, Vertex},
        parallel,
    },
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::Destination,
    routes::{Routes, SlTable},
    vl::lanes_in,
};

/// Pairs of ports whose traffic counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// From CA (or router) to CA.
    CaToCa,
    /// From a CA to a switch or from a switch to a CA.
    CaSwitch,
    /// From switch to switch.
    SwitchToSwitch,
}

/// All dependencies.
pub(super) struct Dependencies {
    /// By kind of traffic; a later kind need not hold what the kinds before it hold.
    graphs: [DependencyGraph; 3],
    lanes_used: u16,
}

/// The dependencies that all threads have found so far, by kind of traffic.
pub(super) struct FoundDependencies([DependencyCollector; 3]);

/// The lanes that packets use, as one thread finds them.
pub(super) struct Lanes {
    used: u16,
    state: State,
}

/// The lanes that packets to one LID use at a switch.
enum State {
    /// One lane per destination: whether a switch has CA traffic to pass on, a bit for each LID.
    OneLane(IdxVec<SwitchIdx, u32>),
    /// One lane per source: bits of the lanes, of CA traffic and of switches' own.
    BySource(IdxVec<SwitchIdx, [u16; 2]>),
    /// The lane may change along the path: bits of the lanes on the channel out, by service level.
    Changing(IdxVec<SwitchIdx, [[u16; 16]; 2]>),
}

impl FoundDependencies {
    /// No dependencies of `lanes` lanes; `shared` if several threads add.
    pub(super) fn new(fabric: &Fabric, lanes: u8, shared: bool) -> Self {
        let found = Self(DependencyCollector::several(fabric, lanes, shared));
        parallel::count(fabric.channels().len());
        found
    }

    /// All that was found, with what each thread found out about lanes.
    pub(super) fn finish<'a>(self, lanes: impl Iterator<Item = &'a Lanes>) -> Dependencies {
        parallel::count(self.0.iter().map(DependencyCollector::lines).sum());
        Dependencies {
            graphs: self.0.map(DependencyCollector::into_graph),
            lanes_used: lanes.fold(0, |all, lanes| all | lanes.used),
        }
    }
}

impl Lanes {
    pub(super) fn new(fabric: &Fabric, routes: &Routes) -> Self {
        let switches = fabric.num_switches();
        let state = match (routes.vl_map().is_uniform(), routes.sls()) {
            (true, SlTable::Uniform(_) | SlTable::ByDestination(_)) => {
                State::OneLane(IdxVec::filled(switches, 0))
            }
            (true, SlTable::BySwitch(_) | SlTable::ByPair(_)) => {
                State::BySource(IdxVec::filled(switches, [0; 2]))
            }
            (false, _) => State::Changing(IdxVec::filled(switches, [[0; 16]; 2])),
        };
        Self { used: 0, state }
    }

    /// Adds the dependencies of the routes to LIDs of one switch and kind to those found.
    pub(super) fn find<const LIDS: usize>(
        &mut self,
        found: &FoundDependencies,
        context: &Context<'_>,
        walk: &Walk<LIDS>,
        targets: &[Target<'_>],
        of_switch: bool,
    ) {
        let Self { used, state } = self;
        let mut of_switches = 0;
        let used = if of_switch { &mut of_switches } else { used };
        let Some(graphs) = found.0.get(usize::from(of_switch)..) else {
            return;
        };
        match state {
            State::OneLane(has_ca) => one_lane(has_ca, graphs, used, context, walk, targets),
            State::BySource(lanes) => {
                for (at, target) in targets.iter().enumerate() {
                    by_source(lanes, graphs, used, context, walk, at, target.lid);
                }
            }
            State::Changing(lanes) => {
                for (at, target) in targets.iter().enumerate() {
                    changing(lanes, graphs, used, context, walk, at, target.lid);
                }
            }
        }
    }
}

impl Dependencies {
    /// The graphs by kind of traffic: between CAs, between CAs and switches, between switches. A later one
    /// need not hold what an earlier one holds.
    pub(super) fn into_graphs(self) -> [DependencyGraph; 3] {
        self.graphs
    }

    /// Judges CA traffic alone, with multicast groups, and with each further kind added.
    pub(super) fn report(
        self,
        threads: usize,
        fabric: &Fabric,
        routes: &Routes,
        groups: &[Group<'_>],
        report: &mut VerifyReport,
    ) {
        report.vls = (self.lanes_used.count_ones() as u8).max(1);
        let [graph, mut ca_switch, mut all] = self.graphs;
        report.dependencies = graph.num_edges();
        let with_groups = (!groups.is_empty()).then(|| {
            let mut both = graph.clone();
            for group in groups {
                multicast::add(fabric, routes.vl_map(), group, &mut both);
            }
            both
        });
        ca_switch.merge(&graph);
        all.merge(&ca_switch);
        let judged = [
            Some(&graph),
            Some(&ca_switch),
            Some(&all),
            with_groups.as_ref(),
        ];
        let judge = |at: usize| Some((*judged.get(at)?)?.order());
        let verdicts = parallel::map(threads, judged.len(), judge);
        let mut verdicts = verdicts.into_iter().flatten();
        match verdicts.next() {
            Some(Err(cycle)) => report.cycle = Some(lanes_of(cycle)),
            order => (report.deadlock_free, report.order) = (true, order.and_then(Result::ok)),
        }
        for free in [
            &mut report.ca_switch_deadlock_free,
            &mut report.all_deadlock_free,
        ] {
            let cycle = verdicts.next().and_then(Result::err);
            *free = cycle.is_none();
            // Each kind of traffic adds to those before: the first cycle is reported.
            if report.management_cycle.is_none() {
                report.management_cycle = cycle.map(lanes_of);
            }
        }
        report.multicast_deadlock_free = report.deadlock_free;
        match verdicts.next() {
            Some(Ok(order)) => {
                (report.multicast_deadlock_free, report.multicast_order) = (true, Some(order));
            }
            Some(Err(cycle)) => {
                report.multicast_deadlock_free = false;
                report.multicast_cycle = Some(lanes_of(cycle));
            }
            None => {}
        }
    }
}

/// The lanes on which packets wait, a bit each: what is mapped to VL15 is dropped instead.
const HOLDING: u16 = !(1 << DROP);

/// The dependencies of LIDs where all packets to one of them have the same lane. `graphs` are those of
/// CA traffic and of what switches send.
fn one_lane<const LIDS: usize>(
    has_ca: &mut IdxVec<SwitchIdx, u32>,
    graphs: &[DependencyCollector],
    lanes_used: &mut u16,
    context: &Context<'_>,
    walk: &Walk<LIDS>,
    targets: &[Target<'_>],
) {
    let Context {
        routes,
        table,
        sources,
        ..
    } = context;
    let mut lanes = [0; LIDS];
    for (lane, target) in lanes.iter_mut().zip(targets) {
        *lane = uniform_lane(routes, routes.sl_from(SwitchIdx(0), target.lid));
        *lanes_used |= 1 << *lane & HOLDING;
    }
    for (has_ca, &lids) in has_ca.iter_mut().zip(sources.ca_lids.iter()) {
        *has_ca = if lids > 0 { u32::MAX } else { 0 };
    }
    parallel::count(2 * walk.order.len() * targets.len());
    for &switch in &walk.order {
        let (next, hops, ca) = (walk.next[switch], walk.hops[switch], has_ca[switch]);
        let lids = next.iter().zip(hops).zip(lanes).take(targets.len());
        for (at, ((&channel, hops), lane)) in lids.enumerate() {
            if channel == NO_CHANNEL || hops >= LOOP || lane == DROP {
                continue;
            }
            let to = table.to(channel);
            has_ca[to] |= ca & 1 << at;
            let after = walk.next[to].get(at).copied().unwrap_or(NO_CHANNEL);
            let kind = usize::from(ca >> at & 1 == 0);
            if let Some(graph) = graphs.get(kind).filter(|_| after != NO_CHANNEL) {
                let [from, to] = [channel, after].map(|channel| Vertex { channel, lane });
                graph.add(from, to);
            }
        }
    }
}

/// The dependencies of a LID where the lane depends on the source.
fn by_source<const LIDS: usize>(
    lanes: &mut IdxVec<SwitchIdx, [u16; 2]>,
    graphs: &[DependencyCollector],
    lanes_used: &mut u16,
    context: &Context<'_>,
    walk: &Walk<LIDS>,
    at: usize,
    lid: Lid,
) {
    parallel::count(2 * walk.order.len());
    for switch in lanes.indices() {
        lanes[switch] = source_lanes(context, switch, lid).map(|mask| mask & HOLDING);
    }
    for &switch in &walk.order {
        let Some((channel, to, after)) = step(context, walk, switch, at) else {
            continue;
        };
        let [ca, own] = lanes[switch];
        *lanes_used |= ca;
        let entry = &mut lanes[to];
        *entry = [entry[0] | ca, entry[1] | own];
        if after == NO_CHANNEL {
            continue;
        }
        for (graph, mask) in graphs.iter().zip([ca, own & !ca]) {
            for lane in lanes_in(mask) {
                let [from, to] = [channel, after].map(|channel| Vertex { channel, lane });
                graph.add(from, to);
            }
        }
    }
}

/// The channel that a switch sends by to LID `at` of a walk, where it leads, and the channel from there
/// on; `None` where the route does not arrive.
fn step<const LIDS: usize>(
    context: &Context<'_>,
    walk: &Walk<LIDS>,
    switch: SwitchIdx,
    at: usize,
) -> Option<(ChannelIdx, SwitchIdx, ChannelIdx)> {
    let arrives = walk.hops[switch].get(at).is_some_and(|&hops| hops < LOOP);
    let channel = *walk.next[switch].get(at)?;
    if channel == NO_CHANNEL || !arrives {
        return None;
    }
    let to = context.table.to(channel);
    Some((channel, to, *walk.next[to].get(at)?))
}

/// The dependencies of a LID where SLtoVL tables differ by port.
fn changing<const LIDS: usize>(
    lanes: &mut IdxVec<SwitchIdx, [[u16; 16]; 2]>,
    graphs: &[DependencyCollector],
    lanes_used: &mut u16,
    context: &Context<'_>,
    walk: &Walk<LIDS>,
    at: usize,
    lid: Lid,
) {
    let Context {
        fabric,
        lids,
        routes,
        ..
    } = context;
    let map = routes.vl_map();
    parallel::count(8 * walk.order.len());
    lanes.fill([[0; 16]; 2]);
    for &switch in &walk.order {
        let Some((channel, to, after)) = step(context, walk, switch, at) else {
            continue;
        };
        let out = fabric.channel(channel).port;
        for source in lids.at_switch(switch) {
            let kind = usize::from(source.is_switch());
            for from in sources_of(routes, source) {
                let sl = routes.sl(from, lid);
                let vl = map.vl(switch, entry_port(source), out, sl);
                if let Some(mask) = lane_mask(&mut lanes[switch], kind, sl) {
                    *mask |= 1 << vl.bits() & HOLDING;
                }
            }
        }
        let here = lanes[switch];
        *lanes_used |= here[0].iter().fold(0, |all, mask| all | mask);
        if after == NO_CHANNEL {
            continue;
        }
        let (input, out) = (fabric.channel(channel).to_port, fabric.channel(after).port);
        for ((kind, by_sl), graph) in here.iter().enumerate().zip(graphs) {
            for (sl, &mask) in (0..).zip(by_sl).filter(|(_, mask)| **mask != 0) {
                let sl = Sl::from_low_bits(sl);
                let vl = map.vl(to, input, out, sl).bits();
                if vl == DROP {
                    continue;
                }
                if let Some(entry) = lane_mask(&mut lanes[to], kind, sl) {
                    *entry |= 1 << vl;
                }
                for lane in lanes_in(mask) {
                    graph.add(
                        Vertex { channel, lane },
                        Vertex {
                            channel: after,
                            lane: vl,
                        },
                    );
                }
            }
        }
    }
}

pub(super) fn lanes_of(cycle: Vec<Vertex>) -> Vec<(ChannelIdx, Vl)> {
    cycle
        .into_iter()
        .map(|vertex| (vertex.channel, Vl::try_new(vertex.lane).unwrap_or_default()))
        .collect()
}

/// The lanes of what a switch's CAs send, and of what it and they send together.
fn source_lanes(context: &Context<'_>, switch: SwitchIdx, lid: Lid) -> [u16; 2] {
    let Context {
        lids,
        routes,
        sources,
        ..
    } = context;
    if !matches!(routes.sls(), SlTable::ByPair(_)) {
        let bit = 1 << uniform_lane(routes, routes.sl_from(switch, lid));
        return [if sources.ca_lids[switch] > 0 { bit } else { 0 }, bit];
    }
    let mut lanes = [0; 2];
    for source in lids.at_switch(switch) {
        for from in source.range.iter() {
            let bit = 1 << uniform_lane(routes, routes.sl(from, lid));
            let [ca, all] = &mut lanes;
            *all |= bit;
            *ca |= if source.is_switch() { 0 } else { bit };
        }
    }
    lanes
}

/// The source LIDs of a port that can differ in their service levels.
fn sources_of(routes: &Routes, source: &Destination) -> impl Iterator<Item = Lid> + use<> {
    let count = match routes.sls() {
        SlTable::ByPair(_) => usize::from(source.range.lmc().lid_count()),
        _ => 1,
    };
    let base = source.range.base().0;
    (0..count).map(move |at| Lid(base + at as u16))
}

fn lane_mask(lanes: &mut [[u16; 16]; 2], kind: usize, sl: Sl) -> Option<&mut u16> {
    lanes.get_mut(kind)?.get_mut(usize::from(sl.bits()))
}

/// The lane of a service level where one table serves all ports.
pub(super) fn uniform_lane(routes: &Routes, sl: Sl) -> u8 {
    let table = routes.vl_map().injection();
    table.get(usize::from(sl.bits())).map_or(0, |vl| vl.bits())
}

/// The highest lane that any packet can use.
pub(crate) fn highest_lane(routes: &Routes) -> u8 {
    let highest = routes.vl_map().highest().bits();
    let of = |sl: Sl| {
        if routes.vl_map().is_uniform() {
            uniform_lane(routes, sl)
        } else {
            highest
        }
    };
    let highest = |sls: &[Sl]| {
        let mut used = [false; 16];
        for sl in sls {
            if let Some(used) = used.get_mut(usize::from(sl.bits())) {
                *used = true;
            }
        }
        let used = (0..16).zip(used).filter(|(_, used)| *used);
        used.map(|(sl, _)| of(Sl::from_low_bits(sl)))
            .max()
            .unwrap_or(0)
    };
    match routes.sls() {
        SlTable::Uniform(sl) => of(*sl),
        SlTable::ByDestination(sls) | SlTable::BySwitch(sls) => highest(sls),
        // A pair without a row has level 0.
        SlTable::ByPair(sls) => highest(sls.as_slice()).max(of(Sl::ZERO)),
    }
}
