//! The effects of a failed cable or switch: nodes that are cut off, routes that move, and whether the
//! routes stay safe.
//!
//! [`fail`] answers for one failure as a manager would: it repairs the routes of the fabric without what
//! fails, and verifies all of them. [`fail_each`] answers for many, with the same results: it reads the
//! routes once, and for the failure of a cable between switches looks only at the LIDs whose routes use it.

mod incremental;

use alloc::vec::Vec;

use ib_wire::{Guid, PortNum};

use crate::{
    error::RouteError,
    fabric::{Fabric, PortRef},
    index::SwitchIdx,
    lid::LidMap,
    options::RouteOptions,
    repair::{Installed, RepairError, repair},
    routes::Routes,
    verify::{VerifyReport, verify_on},
};

/// The item that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The cable between two ports.
    Link(PortRef, PortRef),
    /// A switch with all its cables.
    Switch(SwitchIdx),
}

/// Effects of the failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The item that failed.
    pub loss: Loss,
    /// Port GUIDs of the CAs that the largest group of CAs no longer reaches.
    pub cut_off: Vec<Guid>,
    /// Forwarding table entries that a repair changes, on switches that are left.
    pub moved: u64,
    /// Why the engine had to compute all routes anew: then the repair changes as many entries as that.
    pub recomputed: Option<RepairError>,
    /// The repaired routes, verified; or why there are none.
    pub report: Result<Findings, RouteError>,
}

/// What a verification of repaired routes finds: fields of a [`VerifyReport`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Findings {
    /// (source port, destination LID) pairs of all end ports without a route.
    pub unreachable: u64,
    /// Those between CA ports.
    pub unreachable_ca: u64,
    /// (switch, LID) pairs whose route never ends.
    pub loops: u64,
    /// Whether traffic between CAs cannot deadlock.
    pub deadlock_free: bool,
    /// CA-pair routes on the busiest directed link between switches.
    pub load_max: u64,
}

impl From<&VerifyReport> for Findings {
    fn from(report: &VerifyReport) -> Self {
        Self {
            unreachable: report.unreachable,
            unreachable_ca: report.unreachable_ca,
            loops: report.loops,
            deadlock_free: report.deadlock_free,
            load_max: report.link_load.max,
        }
    }
}

/// All cables between switches, and with `hosts` those to CAs too.
pub fn links(fabric: &Fabric, hosts: bool) -> impl Iterator<Item = Loss> + '_ {
    let is_switch = |end: PortRef| fabric.switch_of(end.node).is_some();
    fabric
        .links()
        .filter(move |&(one, other)| hosts || (is_switch(one) && is_switch(other)))
        .map(|(one, other)| Loss::Link(one, other))
}

/// All switches.
pub fn switches(fabric: &Fabric) -> impl Iterator<Item = Loss> + '_ {
    fabric.switches().indices().map(Loss::Switch)
}

/// The outcome of each of `losses`, one at a time, in their order: equal to what [`fail`] says of each.
/// `before` are the routes of the whole fabric. `done` is called once for each failure that is finished, on
/// any thread.
///
/// A failure that cuts the fabric, takes a switch or a CA's cable, or that no repair with few changes can
/// mend costs as much as [`fail`]; another one O(switches) for each LID whose routes use the cable.
#[must_use]
pub fn fail_each(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    before: &Routes,
    losses: &[Loss],
    done: &(dyn Fn() + Sync),
) -> Vec<Outcome> {
    incremental::fail_each(fabric, lids, options, before, losses, done)
}

/// Repairs the routes of the fabric without what fails, verifies all of them, and compares. `before` are the
/// routes of the whole fabric; the engine that made them repairs them.
#[must_use]
pub fn fail(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    before: &Routes,
    loss: Loss,
) -> Outcome {
    let broken = without(fabric, loss);
    let left = lids_left(fabric, lids, &broken, loss);
    let cut_off = cut_off(&broken, &left);
    let old = Installed {
        fabric,
        lids,
        routes: before,
    };
    let (mut moves, mut recomputed) = (0, None);
    let report = repair(old, &broken, &left, options, 0).map(|repair| {
        moves = moved(&left, before, &repair.routes, loss);
        recomputed = repair.recomputed;
        Findings::from(&verify_on(options.threads, &broken, &left, &repair.routes))
    });
    Outcome {
        loss,
        cut_off,
        moved: moves,
        recomputed,
        report,
    }
}

/// Entries that would change if the engine computed all routes anew, on switches that are left.
///
/// # Errors
/// What the engine cannot do with the fabric that is left.
pub fn moved_in_full(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    before: &Routes,
    loss: Loss,
) -> Result<u64, RouteError> {
    let broken = without(fabric, loss);
    let left = lids_left(fabric, lids, &broken, loss);
    let after = before.engine().route(&broken, &left, options)?;
    Ok(moved(&left, before, &after, loss))
}

/// The fabric with the links of `loss` disabled: nodes keep their numbers.
#[must_use]
pub fn without(fabric: &Fabric, loss: Loss) -> Fabric {
    let mut builder = fabric.to_builder();
    let ends: Vec<PortRef> = match loss {
        Loss::Link(one, other) => [one, other].into(),
        Loss::Switch(switch) => {
            let node = fabric.switches()[switch];
            let ports = fabric.switch(switch).ports().filter(|(port, _)| port.0 > 0);
            ports.map(|(port, _)| PortRef { node, port }).collect()
        }
    };
    for end in ends {
        if let Some(port) = builder.port_mut(end) {
            port.disabled = true;
        }
    }
    builder.build()
}

/// The LIDs of all ports but those of a switch that failed.
fn lids_left(fabric: &Fabric, lids: &LidMap, broken: &Fabric, loss: Loss) -> LidMap {
    let gone = match loss {
        Loss::Switch(switch) => fabric.switches().find(switch).copied(),
        Loss::Link(..) => None,
    };
    let ranges = lids
        .destinations()
        .iter()
        .filter(|port| Some(port.end.node) != gone);
    LidMap::of_ranges(broken, ranges.map(|port| (port.end, port.range)))
}

/// Entries that differ, of LIDs that are left.
fn moved(lids: &LidMap, before: &Routes, after: &Routes, loss: Loss) -> u64 {
    let mut moved = 0;
    for at in 0..after.num_switches() {
        let switch = SwitchIdx(at as u32);
        if loss == Loss::Switch(switch) {
            continue;
        }
        for port in lids.destinations().iter() {
            let differs = |lid: &ib_wire::Lid| {
                let (old, new) = (before.port(switch, *lid), after.port(switch, *lid));
                old != new && new != PortNum::UNREACHABLE
            };
            moved += port.range.iter().filter(differs).count() as u64;
        }
    }
    moved
}

/// CAs that are not in the part of the fabric with the most CAs.
fn cut_off(fabric: &Fabric, lids: &LidMap) -> Vec<Guid> {
    let parts = fabric.parts();
    let cas = || lids.destinations().iter().filter(|port| !port.is_switch());
    let mut sizes = alloc::vec![0u32; fabric.num_switches()];
    for switch in cas().filter_map(|port| port.switch) {
        if let Some(size) = sizes.get_mut(parts[switch] as usize) {
            *size += 1;
        }
    }
    let most = sizes.iter().copied().max().unwrap_or(0);
    let main = sizes
        .iter()
        .position(|&size| size == most && most > 0)
        .map(|at| at as u32);
    let out = |switch: Option<SwitchIdx>| switch.is_none_or(|switch| Some(parts[switch]) != main);
    cas()
        .filter(|port| out(port.switch))
        .map(|port| port.guid)
        .collect()
}
