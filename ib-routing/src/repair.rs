//! Repair: new routes after a change of the fabric that touch only what must change.
//!
//! A cable that fails takes some forwarding entries with it; a full computation would move thousands
//! of others for the sake of balance, and every moved entry can reorder packets and has to be sent.
//! [`repair`] keeps each entry whose whole path is still there, and reconnects the others, nearest to the
//! destination first, at the least loaded port that the engine's rule allows. What held before holds
//! after: all LIDs that cables join are reached, no route loops, routes stay shortest or up*/down*
//! where the engine's are, and CA traffic that could not deadlock still cannot: a new path is taken
//! only if its dependencies close no cycle with those of the kept ones on its lane, else it moves to
//! another lane. Where no such path is found the engine computes everything anew, and
//! [`Repair::recomputed`] says why.
//!
//! The dependencies of all old routes count as well, if that leaves a path, so that both sets can be in
//! use while tables are written: [`crate::update::transition`] has little to drain.
//! Time O(LIDs * switches) to read the old tables, and little more than that for what is reconnected.
//! Source: Lysne et al., "Simple Deadlock-Free Dynamic Network Reconfiguration", 2004, for paths that
//! are added to an acyclic graph; OpenSM's `ucast_cache` for the entries that users expect to stay.

mod rebalance;
mod reconnect;
mod remap;
mod repairer;
mod rule;

use ib_wire::{Guid, Lid};
use thiserror::Error;

use self::{remap::Remapped, repairer::Repairer};
use crate::{
    error::RouteError, fabric::Fabric, lid::LidMap, options::RouteOptions, routes::Routes,
    verify::verify_on,
};

/// Routes in use, with the fabric and the LIDs that they were made for.
#[derive(Clone, Copy, Debug)]
pub struct Installed<'a> {
    /// The fabric before the change.
    pub fabric: &'a Fabric,
    /// Its LIDs.
    pub lids: &'a LidMap,
    /// Its routes.
    pub routes: &'a Routes,
}

/// Result of a repair.
#[derive(Clone, Debug)]
pub struct Repair {
    /// The new routes.
    pub routes: Routes,
    /// The old routes by the numbers of the new fabric, without entries over cables that are gone:
    /// what [`crate::update`] starts from.
    pub before: Routes,
    /// Why the engine had to compute everything anew: worth a warning.
    pub recomputed: Option<RepairError>,
    /// Entries over a cable that is gone: any repair changes at least these.
    pub broken: u64,
    /// Entries that differ from the old ones, at switches that are left and new ones.
    pub moved: u64,
    /// Entries among them that moved for the balance alone.
    pub rebalanced: u64,
}

/// Why a repair was not possible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RepairError {
    /// No path of the engine's rule is left that keeps the other routes in place.
    #[error(
        "no path from switch {from} to LID {to} by the engine's rule beside the routes in place"
    )]
    NoPath {
        /// The switch at the start.
        from: Guid,
        /// The destination.
        to: Lid,
    },
    /// Every path that is left closes a cycle of channels on every virtual lane.
    #[error("every path from switch {from} to LID {to} could deadlock with the routes in place")]
    Deadlock {
        /// The switch at the start.
        from: Guid,
        /// The destination.
        to: Lid,
    },
    /// The old routes can deadlock, though the engine's do not.
    #[error("the routes in place can deadlock already")]
    WasUnsafe,
    /// The verifier found that the repaired routes can deadlock.
    #[error("the verifier found a cycle of channels in the repaired routes")]
    VerifyFailed,
    /// A switch is new, and only the engine can make its SLtoVL tables.
    #[error("switch {switch} is new, and the engine's SLtoVL tables differ by port")]
    NewTables {
        /// The new switch.
        switch: Guid,
    },
}

impl RepairError {
    /// The reason in one word, as in JSON.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::NoPath { .. } => "no_path",
            Self::Deadlock { .. } => "deadlock",
            Self::WasUnsafe => "was_unsafe",
            Self::VerifyFailed => "refuted",
            Self::NewTables { .. } => "new_tables",
        }
    }
}

/// Routes `fabric`, which `old.fabric` has become, with as few changes as its engine's rule allows.
///
/// `rebalance` is how many more entries may move from busy links to idle ones, as after a link came
/// back; 0 leaves all routes that still hold. LIDs that no port has any more keep their entries, so that
/// a port that comes back finds its routes.
///
/// # Errors
/// That of the engine, where all routes have to be computed anew and cannot be.
pub fn repair(
    old: Installed<'_>,
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    rebalance: usize,
) -> Result<Repair, RouteError> {
    let remapped = remap::remap(old, fabric, lids);
    let before = remapped.routes.clone();
    match attempt(old, remapped, fabric, lids, options, rebalance) {
        Ok((routes, rebalanced)) => Ok(Repair {
            rebalanced,
            ..of(old, fabric, lids, before, routes)
        }),
        Err(reason) => {
            let routes = old.routes.engine().route(fabric, lids, options)?;
            Ok(Repair {
                recomputed: Some(reason),
                ..of(old, fabric, lids, before, routes)
            })
        }
    }
}

/// As [`repair`] without a rebalance, but nothing is computed anew: for callers that then ask other engines.
///
/// # Errors
/// Why the routes cannot be repaired.
pub fn try_repair(
    old: Installed<'_>,
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
) -> Result<Repair, RepairError> {
    let remapped = remap::remap(old, fabric, lids);
    let before = remapped.routes.clone();
    let (routes, _) = attempt(old, remapped, fabric, lids, options, 0)?;
    Ok(of(old, fabric, lids, before, routes))
}

fn of(
    old: Installed<'_>,
    fabric: &Fabric,
    lids: &LidMap,
    before: Routes,
    routes: Routes,
) -> Repair {
    let (moved, broken) = remap::count(old, fabric, lids, &routes);
    Repair {
        routes,
        before,
        recomputed: None,
        broken,
        moved,
        rebalanced: 0,
    }
}

/// Whether `fabric` has a cable between switches that `old` had not: then routes in place miss it,
/// and a full computation would use it.
#[must_use]
pub fn has_grown(old: &Fabric, fabric: &Fabric) -> bool {
    remap::has_grown(old, fabric)
}

fn attempt(
    old: Installed<'_>,
    remapped: Remapped,
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    rebalance: usize,
) -> Result<(Routes, u64), RepairError> {
    if let Some(switch) = remapped.new_tables {
        return Err(RepairError::NewTables { switch });
    }
    let rules = rule::Rule::of(old, &remapped, fabric, lids, options);
    let repairer = |rule| Repairer::new(&remapped, fabric, lids, options, rule);
    let mut last = RepairError::WasUnsafe;
    for rule in &rules {
        if !remapped.routes.vl_map().is_uniform() {
            // The lane changes from port to port: only the verifier can check the result.
            let (routes, rebalanced) = repairer(rule).run(None, rebalance)?;
            if verify_on(options.threads, fabric, lids, &routes).deadlock_free {
                return Ok((routes, rebalanced));
            }
            last = RepairError::VerifyFailed;
            continue;
        }
        for base in [BaseDependencies::Old, BaseDependencies::Kept] {
            match repairer(rule).run(Some(base), rebalance) {
                Ok(found) => return Ok(found),
                Err(reason) => last = reason,
            }
        }
        if last == RepairError::WasUnsafe && !old.routes.engine().guarantees(options).deadlock_free
        {
            return repairer(rule).run(None, rebalance);
        }
    }
    Err(last)
}

/// Which dependencies new paths must not close a cycle with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BaseDependencies {
    /// Those of all old routes, as far as their cables are there.
    Old,
    /// Those of the routes that stay.
    Kept,
}
