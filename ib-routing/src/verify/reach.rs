//! Reachability, loops, hops and load: one walk per (switch, LID), each switch visited once per LID.

use alloc::vec::Vec;

use ib_wire::{Lid, PortNum};

use super::{Failure, LinkLoad, VerifyReport, square_root};
use crate::{
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
    routes::Routes,
};

/// How many failures a report names.
const NAMED_FAILURES: usize = 20;

/// A switch whose route has not been followed yet.
const UNKNOWN: u32 = u32::MAX;
/// On the walk that is being made.
const WALKING: u32 = u32::MAX - 1;
/// The route ends at a wrong or dead port.
const DEAD: u32 = u32::MAX - 2;
/// The route comes back.
const LOOP: u32 = u32::MAX - 3;

/// End ports per switch: LIDs of CAs, and ports of each kind.
struct Sources {
    ca_lids: IdxVec<SwitchIdx, u64>,
    ca_ports: IdxVec<SwitchIdx, u64>,
    total_ca_lids: u64,
    total_ca_ports: u64,
    total_switches: u64,
}

impl Sources {
    fn new(fabric: &Fabric, lids: &LidMap) -> Self {
        let mut ca_lids = IdxVec::filled(fabric.num_switches(), 0);
        let mut ca_ports = IdxVec::filled(fabric.num_switches(), 0);
        let (mut total_ca_lids, mut total_ca_ports, mut total_switches) = (0, 0, 0);
        for destination in lids.destinations().iter() {
            if destination.is_switch() {
                total_switches += 1;
                continue;
            }
            let count = u64::from(destination.range.lmc().lid_count());
            total_ca_lids += count;
            total_ca_ports += 1;
            if let Some(switch) = destination.switch {
                ca_lids[switch] += count;
                ca_ports[switch] += 1;
            }
        }
        Self {
            ca_lids,
            ca_ports,
            total_ca_lids,
            total_ca_ports,
            total_switches,
        }
    }
}

pub(super) fn follow(fabric: &Fabric, lids: &LidMap, routes: &Routes) -> VerifyReport {
    let sources = Sources::new(fabric, lids);
    let mut report = VerifyReport::default();
    let mut load: IdxVec<ChannelIdx, u64> = IdxVec::filled(fabric.channels().len(), 0);
    let mut hop_sum = 0u64;
    let mut walk = Walk::new(fabric);
    for destination in lids.destinations().iter() {
        for lid in destination.range.iter() {
            if !destination.is_switch() {
                report.pairs +=
                    sources.total_ca_lids - u64::from(destination.range.lmc().lid_count());
            }
            walk.follow(fabric, routes, destination, lid, &mut report);
            walk.count(
                fabric,
                destination,
                &sources,
                &mut report,
                &mut load,
                &mut hop_sum,
            );
        }
    }
    let reached = report.pairs.saturating_sub(report.unreachable_ca);
    report.mean_hops = if reached == 0 {
        0.0
    } else {
        hop_sum as f64 / reached as f64
    };
    report.link_load = link_load(load);
    report
}

struct Walk {
    hops: IdxVec<SwitchIdx, u32>,
    next: IdxVec<SwitchIdx, Option<ChannelIdx>>,
    stack: Vec<SwitchIdx>,
    /// Switches by hops, the nearest first.
    order: Vec<SwitchIdx>,
    carried: IdxVec<SwitchIdx, u64>,
}

impl Walk {
    fn new(fabric: &Fabric) -> Self {
        let switches = fabric.num_switches();
        Self {
            hops: IdxVec::filled(switches, UNKNOWN),
            next: IdxVec::filled(switches, None),
            stack: Vec::new(),
            order: Vec::new(),
            carried: IdxVec::filled(switches, 0),
        }
    }

    /// Finds how far every switch is from `lid` along its route.
    fn follow(
        &mut self,
        fabric: &Fabric,
        routes: &Routes,
        destination: &Destination,
        lid: Lid,
        report: &mut VerifyReport,
    ) {
        self.hops.fill(UNKNOWN);
        self.order.clear();
        for start in fabric.switches().indices() {
            let mut here = start;
            while self.hops[here] == UNKNOWN {
                let port = routes.port(here, lid);
                let exit = destination.switch == Some(here) && port == destination.exit;
                let next = if exit || port == PortNum::UNREACHABLE {
                    None
                } else {
                    fabric.channel_at(here, port)
                };
                self.next[here] = next;
                if exit {
                    self.hops[here] = 0;
                    self.order.push(here);
                } else if let Some(channel) = next {
                    self.hops[here] = WALKING;
                    self.stack.push(here);
                    here = fabric.channel(channel).to;
                } else {
                    self.hops[here] = DEAD;
                }
            }
            let end = match self.hops[here] {
                WALKING => LOOP,
                end => end,
            };
            let mut hops = end;
            while let Some(switch) = self.stack.pop() {
                if end < LOOP {
                    hops += 1;
                    self.order.push(switch);
                } else {
                    report.loops += u64::from(end == LOOP);
                }
                self.hops[switch] = hops;
            }
            if self.hops[start] >= LOOP && report.failures.len() < NAMED_FAILURES {
                let is_loop = self.hops[start] == LOOP;
                report.failures.push(Failure {
                    switch: start,
                    lid,
                    at: here,
                    is_loop,
                });
            }
        }
        let hops = &self.hops;
        self.order.sort_unstable_by_key(|&switch| hops[switch]);
    }

    /// Adds the routes of all CAs to the load, the farthest switches first, and counts who is cut off.
    fn count(
        &mut self,
        fabric: &Fabric,
        destination: &Destination,
        sources: &Sources,
        report: &mut VerifyReport,
        load: &mut IdxVec<ChannelIdx, u64>,
        hop_sum: &mut u64,
    ) {
        let is_ca = !destination.is_switch();
        let (mut reached_cas, mut reached_ca_lids, mut reached_switches) = (0, 0, 0);
        for &switch in &self.order {
            reached_cas += sources.ca_ports[switch];
            reached_ca_lids += sources.ca_lids[switch];
            reached_switches += 1;
            self.carried[switch] = sources.ca_lids[switch];
        }
        report.unreachable += sources.total_ca_ports - reached_cas;
        report.unreachable += sources.total_switches.saturating_sub(reached_switches);
        if destination.switch.is_none() {
            report.unreachable -= u64::from(is_ca);
        }
        if !is_ca {
            return;
        }
        let own = u64::from(destination.range.lmc().lid_count());
        report.unreachable_ca += sources.total_ca_lids - reached_ca_lids;
        if destination.switch.is_none() {
            report.unreachable_ca -= own;
        }
        for &switch in self.order.iter().rev() {
            let hops = self.hops[switch];
            let routes = self.carried[switch];
            if let (Some(channel), true) = (self.next[switch], routes > 0) {
                load[channel] += routes;
                self.carried[fabric.channel(channel).to] += routes;
            }
            if sources.ca_lids[switch] > 0 {
                report.max_hops = report.max_hops.max(hops);
                *hop_sum += sources.ca_lids[switch] * u64::from(hops);
            }
        }
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
