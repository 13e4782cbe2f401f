//! Contention of traffic patterns on links, and the degree to which the LIDs of one port use different paths.

use alloc::{vec, vec::Vec};

use ib_wire::{Lid, PortNum, random::SplitMix64};

use crate::{
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
    routes::Routes,
};

/// The pairs of CA ports that send at the same time: one packet each, to the base LID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Port i sends to port i + n, ports counted by LID.
    Shift(usize),
    /// A random permutation, from this seed.
    Random(u64),
    /// Every port sends to every other port.
    AllToAll,
}

/// The number of packets of a pattern on the busiest link, and the mean over the links in use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contention {
    /// Packets on the busiest link; 1 is free of contention.
    pub max: u32,
    /// Mean over links that carry any.
    pub mean: f64,
}

/// Sends the packets of a pattern and counts the packets that share a link.
#[must_use]
pub fn contention(fabric: &Fabric, lids: &LidMap, routes: &Routes, pattern: Pattern) -> Contention {
    let ends = lids.destinations().iter();
    let cas: Vec<&Destination> = ends.filter(|port| !port.is_switch()).collect();
    let mut load: IdxVec<ChannelIdx, u32> = IdxVec::filled(fabric.channels().len(), 0);
    let mut send = |source: &Destination, target: &Destination| {
        let Some(switch) = source.switch else { return };
        for (switch, port) in routes.path(fabric, switch, target.range.base()) {
            if let Some(channel) = fabric.channel_at(switch, port) {
                load[channel] += 1;
            }
        }
    };
    let mut targets = cas.clone();
    match pattern {
        Pattern::Shift(by) => targets.rotate_left(by.checked_rem(cas.len()).unwrap_or(0)),
        Pattern::Random(seed) => SplitMix64::new(seed).shuffle(&mut targets),
        Pattern::AllToAll => {
            for shift in 1..cas.len() {
                let targets = cas.iter().cycle().skip(shift);
                cas.iter()
                    .zip(targets)
                    .for_each(|(source, target)| send(source, target));
            }
            targets.clear();
        }
    }
    cas.iter()
        .zip(targets)
        .for_each(|(source, target)| send(source, target));
    let used = load.iter().filter(|&&load| load > 0);
    let (count, sum) = used.fold((0u32, 0u64), |(count, sum), &load| {
        (count + 1, sum + u64::from(load))
    });
    Contention {
        max: load.iter().copied().max().unwrap_or(0),
        mean: if count == 0 {
            0.0
        } else {
            sum as f64 / f64::from(count)
        },
    }
}

/// The worst contention of all shifts, and a shift that has it. Fat trees can reach 1.
#[must_use]
pub fn worst_shift(fabric: &Fabric, lids: &LidMap, routes: &Routes) -> (Contention, usize) {
    let cas = lids
        .destinations()
        .iter()
        .filter(|port| !port.is_switch())
        .count();
    let mut worst = (Contention::default(), 0);
    for shift in 1..cas {
        let found = contention(fabric, lids, routes, Pattern::Shift(shift));
        if found.max > worst.0.max {
            worst = (found, shift);
        }
    }
    worst
}

/// Pairs of CA ports by what all paths between them (one per LID of the destination) have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// Pairs by the number of common switches, those of the two ports not counted.
    pub common_switches: Vec<u64>,
    /// Pairs by the number of common links.
    pub common_links: Vec<u64>,
}

/// Counts, for all CA ports with more than one LID and sources at other switches.
#[must_use]
pub fn lmc_overlap(fabric: &Fabric, lids: &LidMap, routes: &Routes) -> Overlap {
    let mut overlap = Overlap::default();
    let cas = || lids.destinations().iter().filter(|port| !port.is_switch());
    let mut sources: IdxVec<SwitchIdx, u64> = IdxVec::filled(fabric.num_switches(), 0);
    for switch in cas().filter_map(|port| port.switch) {
        sources[switch] += 1;
    }
    for target in cas().filter(|port| port.range.lmc().bits() > 0) {
        for (switch, &count) in sources.iter_enumerated().filter(|(_, count)| **count > 0) {
            if target.switch == Some(switch) {
                continue;
            }
            let mut common: Option<Vec<(SwitchIdx, PortNum)>> = None;
            let mut common_switches: Option<Vec<SwitchIdx>> = None;
            for lid in target.range.iter() {
                let path = hops(fabric, routes, switch, lid);
                match (&mut common, &mut common_switches) {
                    (Some(links), Some(switches)) => {
                        links.retain(|link| path.contains(link));
                        switches.retain(|&switch| path.iter().any(|&(other, _)| other == switch));
                    }
                    _ => {
                        common_switches =
                            Some(path.iter().skip(1).map(|&(switch, _)| switch).collect());
                        common = Some(path);
                    }
                }
            }
            let links = common.map_or(0, |links| links.len());
            let switches = common_switches.map_or(0, |switches| switches.len());
            for (histogram, at) in [
                (&mut overlap.common_links, links),
                (&mut overlap.common_switches, switches),
            ] {
                if histogram.len() <= at {
                    histogram.extend(vec![0; at + 1 - histogram.len()]);
                }
                if let Some(pairs) = histogram.get_mut(at) {
                    *pairs += count;
                }
            }
        }
    }
    overlap
}

/// The links between switches on the path to `lid`.
fn hops(
    fabric: &Fabric,
    routes: &Routes,
    switch: SwitchIdx,
    lid: Lid,
) -> Vec<(SwitchIdx, PortNum)> {
    let path = routes.path(fabric, switch, lid);
    path.filter(|&(switch, port)| fabric.channel_at(switch, port).is_some())
        .collect()
}
