//! Reachability, loops, hops and load.

use alloc::vec::Vec;

use ib_wire::Lid;

use super::{
    Context, LinkLoad, RouteEnd, RouteFailure, VerifyReport,
    dropped::Dropped,
    square_root,
    walk::{Block, DEAD, LOOP, NO_CHANNEL, PortTable, Target, Walk},
};
use crate::{
    algo::parallel,
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
};

/// Number of failures that a report names.
const NAMED_FAILURES: usize = 20;

/// End ports per switch: LIDs of CAs, and ports of each kind.
pub(super) struct Sources {
    pub(super) ca_lids: IdxVec<SwitchIdx, u32>,
    ca_ports: IdxVec<SwitchIdx, u32>,
    has_lid: IdxVec<SwitchIdx, u32>,
    total_ca_lids: u64,
    total_ca_ports: u64,
    total_switches: u64,
}

impl Sources {
    pub(super) fn new(fabric: &Fabric, lids: &LidMap) -> Self {
        let none = IdxVec::filled(fabric.num_switches(), 0);
        let mut sources = Self {
            ca_lids: none.clone(),
            ca_ports: none.clone(),
            has_lid: none,
            total_ca_lids: 0,
            total_ca_ports: 0,
            total_switches: 0,
        };
        for destination in lids.destinations().iter() {
            if let (true, Some(switch)) = (destination.is_switch(), destination.switch) {
                sources.total_switches += 1;
                sources.has_lid[switch] = 1;
                continue;
            }
            let count = u32::from(destination.range.lmc().lid_count());
            sources.total_ca_lids += u64::from(count);
            sources.total_ca_ports += 1;
            if let Some(switch) = destination.switch {
                sources.ca_lids[switch] += count;
                sources.ca_ports[switch] += 1;
            }
        }
        sources
    }
}

/// Counts of one thread.
pub(super) struct ReachCounts {
    /// CA-pair routes by channel: 32 bits hold all pairs of LIDs.
    load: IdxVec<ChannelIdx, u32>,
    pairs: u64,
    reached_ca_pairs: u64,
    unreachable: u64,
    unreachable_ca: u64,
    dropped: u64,
    loops: u64,
    max_hops: u32,
    failures: Vec<RouteFailure>,
    /// LIDs that the routes of some switch do not reach, in their order.
    incomplete: Vec<Lid>,
}

/// The ports that reach one LID.
#[derive(Clone, Copy, Default)]
struct Reached {
    /// Switches whose route arrives.
    switches: usize,
    /// LIDs of CAs at them.
    ca_lids: u64,
    /// All end ports at them, their own included.
    ports: u64,
}

impl ReachCounts {
    pub(super) fn new(fabric: &Fabric) -> Self {
        Self {
            load: IdxVec::filled(fabric.channels().len(), 0),
            pairs: 0,
            reached_ca_pairs: 0,
            unreachable: 0,
            unreachable_ca: 0,
            dropped: 0,
            loops: 0,
            max_hops: 0,
            failures: Vec::new(),
            incomplete: Vec::new(),
        }
    }

    /// Counts the routes to LIDs of one switch and kind.
    pub(super) fn count<const LIDS: usize>(
        &mut self,
        context: &Context<'_>,
        walk: &mut Walk<LIDS>,
        targets: &[Target<'_>],
        of_switch: bool,
    ) {
        let reached = self.reached(&context.sources, walk, targets.len(), of_switch);
        for (lane, (target, reached)) in targets.iter().zip(reached).enumerate() {
            if reached.switches < walk.hops.len() {
                self.failures(&context.table, walk, lane, target.lid);
                self.incomplete.push(target.lid);
            }
            if let Some(owner) = target.owner {
                self.add_pairs(context, walk, lane, owner, reached);
            }
        }
        if !of_switch {
            self.add_load(context, walk, targets.len());
        }
    }

    /// Finds the ports that reach each of `count` LIDs. Counts the hops between CAs.
    fn reached<const LIDS: usize>(
        &mut self,
        sources: &Sources,
        walk: &Walk<LIDS>,
        count: usize,
        of_switch: bool,
    ) -> [Reached; LIDS] {
        parallel::count(walk.hops.len() * count);
        let mut all = [Reached::default(); LIDS];
        for (switch, hops) in walk.hops.iter_enumerated() {
            let ca_lids = sources.ca_lids[switch];
            let ports = sources.ca_ports[switch] + sources.has_lid[switch];
            for (reached, &hops) in all.iter_mut().zip(hops).take(count) {
                if hops < LOOP {
                    reached.switches += 1;
                    reached.ca_lids += u64::from(ca_lids);
                    reached.ports += u64::from(ports);
                    if ca_lids > 0 && !of_switch {
                        self.max_hops = self.max_hops.max(hops);
                    }
                }
            }
        }
        all
    }

    /// Counts the pairs of one LID.
    fn add_pairs<const LIDS: usize>(
        &mut self,
        context: &Context<'_>,
        walk: &Walk<LIDS>,
        lane: usize,
        owner: &Destination,
        reached: Reached,
    ) {
        let Context {
            fabric, sources, ..
        } = context;
        let own = u64::from(owner.range.lmc().lid_count());
        // A port reaches itself without the switches, and two CAs on one cable each other.
        let at_root = owner
            .switch
            .is_some_and(|switch| walk.hops[switch].get(lane) == Some(&0));
        let itself = u64::from(!at_root);
        let on_cable = || {
            let peer = fabric.port(owner.end).filter(|port| !port.disabled)?.peer?;
            let up = fabric.port(peer).is_some_and(|port| !port.disabled);
            Some(up && !fabric.node(peer.node).type_.is_switch())
        };
        let peer = u64::from(owner.switch.is_none() && on_cable() == Some(true));
        let ports = reached.ports + itself + peer;
        let total = sources.total_ca_ports + sources.total_switches;
        self.unreachable += total.saturating_sub(ports);
        if owner.is_switch() {
            return;
        }
        let others = sources.total_ca_lids - own;
        let reached = (reached.ca_lids + (itself + peer) * own).saturating_sub(own);
        self.pairs += others;
        self.reached_ca_pairs += reached;
        self.unreachable_ca += others.saturating_sub(reached);
    }

    /// Counts the routes of CA pairs on the channels that they take.
    fn add_load<const LIDS: usize>(
        &mut self,
        context: &Context<'_>,
        walk: &mut Walk<LIDS>,
        count: usize,
    ) {
        parallel::count(walk.order.len() * count);
        let Context { sources, table, .. } = context;
        let Walk {
            next,
            hops,
            carried,
            order,
            ..
        } = walk;
        for (carried, &lids) in carried.iter_mut().zip(sources.ca_lids.iter()) {
            *carried = [lids; LIDS];
        }
        for &switch in order.iter() {
            let here = carried[switch];
            let lanes = next[switch].iter().zip(&hops[switch]).zip(here).take(count);
            for (lane, ((&channel, &hops), routes)) in lanes.enumerate() {
                if channel != NO_CHANNEL && routes > 0 && hops < LOOP {
                    self.load[channel] += routes;
                    if let Some(carried) = carried[table.to(channel)].get_mut(lane) {
                        *carried += routes;
                    }
                }
            }
        }
    }

    fn failures<const LIDS: usize>(
        &mut self,
        table: &PortTable,
        walk: &Walk<LIDS>,
        lane: usize,
        lid: Lid,
    ) {
        for (switch, hops) in walk.hops.iter_enumerated() {
            let Some(&hops) = hops.get(lane).filter(|hops| **hops >= LOOP) else {
                continue;
            };
            self.loops += u64::from(hops == LOOP);
            if self.failures.len() < NAMED_FAILURES {
                let at = walk.end(table, switch, lane);
                self.failures.push(RouteFailure {
                    switch,
                    lid,
                    at,
                    end: if hops == DEAD {
                        RouteEnd::Dead
                    } else {
                        RouteEnd::Loop
                    },
                });
            }
        }
    }

    /// Counts packets that have a route and are dropped on it.
    pub(super) fn drop(&mut self, dropped: Dropped) {
        self.unreachable += dropped.ports;
        self.dropped += dropped.ports;
        self.unreachable_ca += dropped.ca_lids;
        if self.failures.len() < NAMED_FAILURES {
            self.failures.extend(dropped.first);
        }
    }

    /// All that threads have counted, each in blocks of LIDs of its own.
    pub(super) fn sum(threads: usize, fabric: &Fabric, mut parts: Vec<Self>) -> Self {
        let mut all = parts.pop().unwrap_or_else(|| Self::new(fabric));
        if parts.is_empty() {
            return all;
        }
        let load = |at: usize| {
            parallel::count(1 + parts.len() / 4);
            let channel = ChannelIdx::new(at);
            let more: u32 = parts.iter().map(|part| part.load[channel]).sum();
            all.load[channel] + more
        };
        let load = parallel::map_many(threads, all.load.len(), load);
        all.load = load.into();
        for part in parts {
            all.pairs += part.pairs;
            all.reached_ca_pairs += part.reached_ca_pairs;
            all.unreachable += part.unreachable;
            all.unreachable_ca += part.unreachable_ca;
            all.dropped += part.dropped;
            all.loops += part.loops;
            all.max_hops = all.max_hops.max(part.max_hops);
            all.failures.extend(part.failures);
            all.incomplete.extend(part.incomplete);
        }
        // Each thread has named its first failures, block by block; a block is of one thread, so its order stays.
        all.failures
            .sort_by_key(|failure| usize::from(failure.lid.0) / Block::LIDS);
        all.failures.truncate(NAMED_FAILURES);
        all.incomplete.sort_unstable();
        all
    }

    /// The routes of CA pairs on each channel, and the LIDs that some switch does not reach.
    pub(super) fn into_loads(self) -> (IdxVec<ChannelIdx, u32>, Vec<Lid>) {
        (self.load, self.incomplete)
    }

    pub(super) fn report(self, report: &mut VerifyReport) {
        parallel::count(self.load.len());
        report.pairs = self.pairs;
        report.unreachable = self.unreachable;
        report.unreachable_ca = self.unreachable_ca;
        report.dropped = self.dropped;
        report.loops = self.loops;
        report.max_hops = self.max_hops;
        report.mean_hops = match self.reached_ca_pairs {
            0 => 0.0,
            // Each route counts once on every link that it takes.
            reached => {
                self.load.iter().copied().map(u64::from).sum::<u64>() as f64 / reached as f64
            }
        };
        report.link_load = link_load(self.load.iter().copied().map(u64::from).collect());
        report.failures = self.failures;
    }
}

pub(super) fn link_load(by_channel: IdxVec<ChannelIdx, u64>) -> LinkLoad {
    let count = by_channel.len().max(1) as f64;
    let max = by_channel.iter().copied().max().unwrap_or(0);
    let mean = by_channel.iter().sum::<u64>() as f64 / count;
    let squares: f64 = by_channel
        .iter()
        .map(|&load| (load as f64 - mean) * (load as f64 - mean))
        .sum();
    LinkLoad {
        max,
        mean,
        stdev: square_root(squares / count),
        by_channel,
    }
}
