//! The effects of a failed cable or switch: nodes that are cut off, routes that move, and whether the
//! routes stay safe.

use alloc::vec::Vec;

use ib_wire::{Guid, PortNum};

use crate::{
    engine::SharedEngine,
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
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The item that failed.
    pub loss: Loss,
    /// Port GUIDs of the CAs that the largest group of CAs no longer reaches.
    pub cut_off: Vec<Guid>,
    /// Forwarding table entries that a repair changes, on switches that are left.
    pub moved: u64,
    /// Entries that would change if the engine computed all routes anew.
    pub moved_in_full: u64,
    /// Why the engine had to compute them anew: then the repair changes as many.
    pub recomputed: Option<RepairError>,
    /// The repaired routes, judged; or why there are none.
    pub report: Result<VerifyReport, RouteError>,
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

/// Repairs the routes of the fabric without what fails, and compares. `before` is what the same engine
/// routed on the whole fabric.
#[must_use]
pub fn fail(
    fabric: &Fabric,
    lids: &LidMap,
    engine: &SharedEngine,
    options: &RouteOptions,
    before: &Routes,
    loss: Loss,
) -> Outcome {
    let broken = without(fabric, loss);
    let gone = match loss {
        Loss::Switch(switch) => fabric.switches().find(switch).copied(),
        Loss::Link(..) => None,
    };
    let ranges = lids
        .destinations()
        .iter()
        .filter(|port| Some(port.end.node) != gone);
    let left = LidMap::of_ranges(&broken, ranges.map(|port| (port.end, port.range)));
    let cut_off = cut_off(&broken, &left);
    let in_full = engine.route(&broken, &left, options);
    let moved_in_full = in_full.map_or(0, |after| moved(&left, before, &after, loss));
    let old = Installed {
        fabric,
        lids,
        routes: before,
    };
    let (mut moves, mut recomputed) = (0, None);
    let report = repair(old, &broken, &left, options, 0).map(|repair| {
        moves = moved(&left, before, &repair.routes, loss);
        recomputed = repair.recomputed;
        verify_on(options.threads, &broken, &left, &repair.routes)
    });
    Outcome {
        loss,
        cut_off,
        moved: moves,
        moved_in_full,
        recomputed,
        report,
    }
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
