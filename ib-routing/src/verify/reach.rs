//! Reachability, loops, hops and load.

use alloc::vec::Vec;

use ib_wire::Lid;

use super::{
    Context, Failure, LinkLoad, VerifyReport, square_root,
    walk::{DEAD, LOOP, NO_CHANNEL, PortTable, Walk},
};
use crate::{
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
};

/// How many failures a report names.
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

/// What one thread has counted.
pub(super) struct Tally {
    load: IdxVec<ChannelIdx, u64>,
    carried: IdxVec<SwitchIdx, u32>,
    pairs: u64,
    reached_ca_pairs: u64,
    unreachable: u64,
    unreachable_ca: u64,
    loops: u64,
    max_hops: u32,
    hop_sum: u64,
    failures: Vec<Failure>,
}

impl Tally {
    pub(super) fn new(fabric: &Fabric) -> Self {
        Self {
            load: IdxVec::filled(fabric.channels().len(), 0),
            carried: IdxVec::filled(fabric.num_switches(), 0),
            pairs: 0,
            reached_ca_pairs: 0,
            unreachable: 0,
            unreachable_ca: 0,
            loops: 0,
            max_hops: 0,
            hop_sum: 0,
            failures: Vec::new(),
        }
    }

    /// Counts the routes to one LID.
    pub(super) fn count(
        &mut self,
        context: &Context<'_>,
        walk: &Walk,
        destination: &Destination,
        lid: Lid,
    ) {
        let Context {
            fabric,
            table,
            sources,
            ..
        } = context;

        let is_ca = !destination.is_switch();
        let own = u64::from(destination.range.lmc().lid_count());
        let (mut ports, mut ca_lids, mut arrive) = (0, 0, 0);
        for ((&hops, &lids), (&cas, &switch)) in walk
            .hops
            .iter()
            .zip(sources.ca_lids.iter())
            .zip(sources.ca_ports.iter().zip(sources.has_lid.iter()))
        {
            if hops < LOOP {
                arrive += 1;
                ports += u64::from(cas + switch);
                if lids > 0 && is_ca {
                    ca_lids += u64::from(lids);
                    self.max_hops = self.max_hops.max(hops);
                    self.hop_sum += u64::from(lids) * u64::from(hops);
                }
            }
        }
        if arrive < walk.hops.len() {
            self.failures(table, walk, lid);
        }
        // A port reaches itself without the switches, and two CAs on one cable each other.
        let at_root = destination
            .switch
            .is_some_and(|switch| walk.hops[switch] == 0);
        let itself = u64::from(!at_root);
        let on_cable = || {
            let peer = fabric
                .port(destination.end)
                .filter(|port| !port.disabled)?
                .peer?;
            let up = fabric.port(peer).is_some_and(|port| !port.disabled);
            Some(up && !fabric.node(peer.node).type_.is_switch())
        };
        let peer = destination.switch.is_none() && on_cable() == Some(true);
        ports += itself + u64::from(peer);
        let total = sources.total_ca_ports + sources.total_switches;
        self.unreachable += total.saturating_sub(ports);
        if !is_ca {
            return;
        }
        let others = sources.total_ca_lids - own;
        let reached = (ca_lids + itself * own + u64::from(peer) * own).saturating_sub(own);
        self.pairs += others;
        self.reached_ca_pairs += reached;
        self.unreachable_ca += others.saturating_sub(reached);
        self.add_load(table, walk, sources);
    }

    fn add_load(&mut self, table: &PortTable, walk: &Walk, sources: &Sources) {
        for (carried, &lids) in self.carried.iter_mut().zip(sources.ca_lids.iter()) {
            *carried = lids;
        }
        for &switch in &walk.order {
            let (channel, routes) = (walk.next[switch], self.carried[switch]);
            if channel != NO_CHANNEL && routes > 0 && walk.hops[switch] < LOOP {
                self.load[channel] += u64::from(routes);
                self.carried[table.to(channel)] += routes;
            }
        }
    }

    fn failures(&mut self, table: &PortTable, walk: &Walk, lid: Lid) {
        for (switch, &hops) in walk
            .hops
            .iter_enumerated()
            .filter(|(_, hops)| **hops >= LOOP)
        {
            self.loops += u64::from(hops == LOOP);
            if self.failures.len() < NAMED_FAILURES {
                let at = walk.end(table, switch);
                self.failures.push(Failure {
                    switch,
                    lid,
                    at,
                    is_loop: hops != DEAD,
                });
            }
        }
    }

    /// Adds what a thread counted that had later LIDs.
    pub(super) fn merge(&mut self, later: Self) {
        for (load, more) in self.load.iter_mut().zip(later.load.iter()) {
            *load += more;
        }
        self.pairs += later.pairs;
        self.reached_ca_pairs += later.reached_ca_pairs;
        self.unreachable += later.unreachable;
        self.unreachable_ca += later.unreachable_ca;
        self.loops += later.loops;
        self.max_hops = self.max_hops.max(later.max_hops);
        self.hop_sum += later.hop_sum;
        let room = NAMED_FAILURES.saturating_sub(self.failures.len());
        self.failures.extend(later.failures.into_iter().take(room));
    }

    pub(super) fn report(self, report: &mut VerifyReport) {
        report.pairs = self.pairs;
        report.unreachable = self.unreachable;
        report.unreachable_ca = self.unreachable_ca;
        report.loops = self.loops;
        report.max_hops = self.max_hops;
        report.mean_hops = match self.reached_ca_pairs {
            0 => 0.0,
            reached => self.hop_sum as f64 / reached as f64,
        };
        report.link_load = link_load(self.load);
        report.failures = self.failures;
    }
}

fn link_load(by_channel: IdxVec<ChannelIdx, u64>) -> LinkLoad {
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
