//! The effects of a failed cable or switch: nodes that are cut off, routes that move, and whether the routes stay free
//! of deadlock.
//!
//! [`fail`] computes the effects of one failure as a manager would: it repairs the routes of the remaining fabric, and
//! verifies all of them. [`fail_each`] does so for many failures, with the same results. It reads the routes once, and
//! for each failure examines only the paths that it takes.

mod incremental;

use alloc::vec::Vec;

use ib_wire::{Guid, Lid, PortNum};

use crate::{
    error::RouteError,
    fabric::{Fabric, PortRef},
    index::SwitchIdx,
    lid::LidMap,
    options::RouteOptions,
    repair::{RepairError, RoutesInUse, repair},
    routes::Routes,
    update::changed_lids,
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

/// The effects of a failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The item that failed.
    pub loss: Loss,
    /// Port GUIDs of the CAs that the largest group of CAs no longer reaches.
    pub cut_off: Vec<Guid>,
    /// Number of forwarding table entries that the repair changes on the remaining switches.
    pub moved: u64,
    /// The reason why the engine computed all routes anew, so that `moved` counts all entries that differ from them;
    /// `None` if the repair succeeded.
    pub recomputed: Option<RepairError>,
    /// The findings about the repaired routes, or the reason why there are none.
    pub report: Result<VerifySummary, RouteError>,
}

/// The findings of a verification of repaired routes: fields of a [`VerifyReport`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifySummary {
    /// (source port, destination LID) pairs of all end ports without a route.
    pub unreachable: u64,
    /// (source port, destination LID) pairs between CA ports without a route.
    pub unreachable_ca: u64,
    /// (switch, LID) pairs whose route never ends.
    pub loops: u64,
    /// True if traffic between CAs cannot deadlock.
    pub deadlock_free: bool,
    /// CA-pair routes on the busiest directed link between switches.
    pub load_max: u64,
}

impl From<&VerifyReport> for VerifySummary {
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

/// All cables between switches; with `hosts`, the cables to CAs too.
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

/// The outcome of each of `losses`, one at a time, in their order: equal to the result of [`fail`] for each. `before`
/// are the routes of the whole fabric. `done` is called once for each failure that is finished, on any thread.
///
/// A failure that splits the fabric, or cannot be repaired with few changes, costs as much as [`fail`]. Any other failure
/// of a cable costs O(switches) for each LID whose routes use it, and O(LIDs) if a CA is at its end; that of a switch costs
/// O(switches) for each LID.
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

/// Repairs the routes of the remaining fabric, verifies all of them, and compares. `before` are the routes of the whole
/// fabric; the engine that computed them repairs them.
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
    let old = RoutesInUse {
        fabric,
        lids,
        routes: before,
    };
    let (mut moves, mut recomputed) = (0, None);
    let report = repair(old, &broken, &left, options, 0).map(|repair| {
        moves = moved(&left, before, &repair.routes, loss);
        recomputed = repair.recomputed;
        VerifySummary::from(&verify_on(options.threads, &broken, &left, &repair.routes))
    });
    Outcome {
        loss,
        cut_off,
        moved: moves,
        recomputed,
        report,
    }
}

/// Number of entries on the remaining switches that would change if the engine computed all routes anew.
///
/// # Errors
/// The error of an engine that cannot route the remaining fabric.
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

/// The fabric with the links of `loss` disabled. The indices of nodes do not change.
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

/// Number of entries that differ, for the remaining LIDs.
fn moved(lids: &LidMap, before: &Routes, after: &Routes, loss: Loss) -> u64 {
    let mut moved = 0;
    for at in 0..after.num_switches() {
        let switch = SwitchIdx(at as u32);
        if loss == Loss::Switch(switch) {
            continue;
        }
        let lids = changed_lids(lids, before, after, switch);
        let differs = |lid: &Lid| after.port(switch, *lid) != PortNum::UNREACHABLE;
        moved += lids.filter(differs).count() as u64;
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
