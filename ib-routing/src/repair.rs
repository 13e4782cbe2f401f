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
//! The dependencies of all old routes count as well, if that leaves a path, so that both sets can be in use while
//! tables are written: [`crate::update::transition`] has little to drain. If the old routes also keep traffic between
//! CAs and switches, or all traffic, free of deadlock, the repair first tries new paths that preserve this.
//! Time: one survey of the old tables, O(LIDs * switches) on all threads, and O(switches) for each LID
//! that some switch has lost.
//! Source: Lysne et al., "Simple Deadlock-Free Dynamic Network Reconfiguration", 2004, for paths that
//! are added to an acyclic graph; OpenSM's `ucast_cache` for the entries that users expect to stay.

mod choose;
mod growth;
pub(crate) mod lanes;
mod rebalance;
mod reconnect;
pub(crate) mod remap;
pub(crate) mod repairer;
pub(crate) mod rule;
mod run;

use alloc::{borrow::Cow, boxed::Box, sync::Arc, vec::Vec};
use core::cell::{LazyCell, OnceCell};

use ib_wire::{Guid, Lid, PortNum};
use thiserror::Error;

use self::{
    lanes::{Lanes, Protected},
    remap::Remapped,
    repairer::Repairer,
    rule::Rule,
};
use crate::{
    algo::{
        channel_graph::DependencyLayout, dependency::DependencyGraph, lanes::up_down_order,
        shortest_path_dag::senders,
    },
    error::RouteError,
    fabric::{Fabric, lost::LostChannels},
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
    verify::{
        LostPaths, PathCounts, highest_lane,
        path_counts::{has_same_lids, kept::Kept},
        survey::{Survey, survey},
        verify_on,
    },
};

/// Routes in use, with the fabric and the LIDs that they were made for.
#[derive(Clone, Copy, Debug)]
pub struct RoutesInUse<'a> {
    /// The fabric before the change.
    pub fabric: &'a Fabric,
    /// The LIDs that the routes were made for.
    pub lids: &'a LidMap,
    /// The routes on `fabric` for `lids`.
    pub routes: &'a Routes,
}

/// Result of a repair.
#[derive(Clone, Debug)]
pub struct Repair {
    /// The new routes.
    pub routes: Routes,
    /// The old routes by the indices of the new fabric, without entries over cables that are gone: the starting point
    /// of [`crate::update`].
    pub before: Routes,
    /// The reason why the engine computed everything anew, which deserves a warning; `None` if the repair succeeded.
    pub recomputed: Option<RepairError>,
    /// Number of entries over a cable that is gone. Any repair changes at least these.
    pub broken: u64,
    /// Number of entries that differ from the old ones, on remaining and new switches.
    pub moved: u64,
    /// Number of those entries that moved only for the balance.
    pub rebalanced: u64,
    /// The paths that lost cables took, for [`PathCounts::updated_after`]; `None` if they were not searched for.
    pub lost_paths: Option<LostPaths>,
}

/// The reason why a repair was not possible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RepairError {
    /// No remaining path obeys the engine's rule and keeps the other routes in place.
    #[error(
        "the engine's rule allows no path from switch {from} to LID {to} together with the routes in use"
    )]
    NoPath {
        /// The switch where the path starts.
        from: Guid,
        /// The LID that the path leads to.
        to: Lid,
    },
    /// Every remaining path closes a cycle of channels on every virtual lane.
    #[error("every path from switch {from} to LID {to} could deadlock with the routes in use")]
    Deadlock {
        /// The switch where the path starts.
        from: Guid,
        /// The LID that the path leads to.
        to: Lid,
    },
    /// The old routes can deadlock, although the engine's own routes do not.
    #[error("the routes in use can deadlock already")]
    WasUnsafe,
    /// The verifier found that the repaired routes can deadlock.
    #[error("the verifier found a cycle of channels in the repaired routes")]
    VerifyFailed,
    /// A switch is new, and only the engine can make its SLtoVL tables.
    #[error("switch {switch} is new, and the engine's SLtoVL tables differ by port")]
    NewTables {
        /// GUID of the new switch.
        switch: Guid,
    },
}

impl RepairError {
    /// The reason as one word, for JSON.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::NoPath { .. } => "no_path",
            Self::Deadlock { .. } => "deadlock",
            Self::WasUnsafe => "was_unsafe",
            Self::VerifyFailed => "verify_failed",
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
/// The engine's error, if all routes have to be computed anew and cannot be.
pub fn repair(
    old: RoutesInUse<'_>,
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    rebalance: usize,
) -> Result<Repair, RouteError> {
    let remapped = remap::remap(old, fabric, lids, false);
    let before = remapped.routes.clone();
    let attempted =
        Remaining::of(old, None, &remapped, fabric, lids, options.threads).and_then(|remaining| {
            attempt(old, &remaining, &remapped, fabric, lids, options, rebalance)
        });
    let counted = |routes: &Routes| remap::count(old, fabric, lids, routes);
    match attempted {
        Ok((routes, rebalanced)) => Ok(Repair {
            rebalanced,
            ..of(counted(&routes), before, routes)
        }),
        Err(reason) => {
            let routes = old.routes.engine().route(fabric, lids, options)?;
            Ok(Repair {
                recomputed: Some(reason),
                ..of(counted(&routes), before, routes)
            })
        }
    }
}

/// As [`repair`] without a rebalance, but nothing is computed anew: for callers that then ask other engines.
///
/// `counts` are the path counts of the old routes, if there are any: then only the paths that lost a cable are followed
/// to find out what is left. The result is the same.
///
/// # Errors
/// The reason why the routes cannot be repaired.
pub fn try_repair(
    old: RoutesInUse<'_>,
    counts: Option<&PathCounts>,
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
) -> Result<Repair, RepairError> {
    let remapped = remap::remap(old, fabric, lids, counts.is_some());
    let before = remapped.routes.clone();
    let remaining = Remaining::of(old, counts, &remapped, fabric, lids, options.threads)?;
    let (routes, _) = attempt(old, &remaining, &remapped, fabric, lids, options, 0)?;
    let counted = match &remaining {
        Remaining::Counted(kept) => {
            let counted = remap::count_cut_off(old, fabric, lids, &routes, kept.cut_off());
            debug_assert_eq!(counted, remap::count(old, fabric, lids, &routes));
            counted
        }
        Remaining::Surveyed(_) => remap::count(old, fabric, lids, &routes),
    };
    let lost_paths = match remaining {
        Remaining::Counted(kept) => Some(kept.into_lost_paths()),
        Remaining::Surveyed(_) => None,
    };
    Ok(Repair {
        lost_paths,
        ..of(counted, before, routes)
    })
}

/// The result, with the numbers of moved and of broken entries.
fn of((moved, broken): (u64, u64), before: Routes, routes: Routes) -> Repair {
    Repair {
        routes,
        before,
        recomputed: None,
        broken,
        moved,
        rebalanced: 0,
        lost_paths: None,
    }
}

/// Returns true if `fabric` has a cable between switches that `old` had not: then routes in place miss it,
/// and a full computation would use it.
#[must_use]
pub fn has_grown(old: &Fabric, fabric: &Fabric) -> bool {
    remap::has_grown(old, fabric)
}

/// The end that sends of each channel between switches that `fabric` has lost; `None` if the switches differ, or if it has a
/// cable between switches that `old` had not.
#[must_use]
pub fn lost_channels(old: &Fabric, fabric: &Fabric) -> Option<Vec<(SwitchIdx, PortNum)>> {
    let lost = LostChannels::between(old, fabric)?;
    let ends = lost.iter().map(|channel| old.channel(channel));
    Some(ends.map(|end| (end.from, end.port)).collect())
}

/// Returns true if [`try_repair`] with the path counts of the old routes looks only at what cables that are gone have
/// carried: nothing else has changed.
#[must_use]
pub fn is_quick(old: RoutesInUse<'_>, fabric: &Fabric, lids: &LidMap) -> bool {
    LostChannels::between(old.fabric, fabric).is_some() && has_same_lids(old.lids, lids)
}

fn attempt(
    old: RoutesInUse<'_>,
    remaining: &Remaining<'_>,
    remapped: &Remapped,
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    rebalance: usize,
) -> Result<(Routes, u64), RepairError> {
    let threads = options.threads;
    let run = |repairer: Repairer<'_>, lanes| match remaining {
        // Only `try_repair` has counts, and it moves nothing for the balance.
        Remaining::Counted(kept) => Ok((repairer.run_known(lanes, kept.cut_off())?, 0)),
        Remaining::Surveyed(kept) => repairer.run(lanes, &kept.incomplete, rebalance),
    };
    let kept_between_cas = || remaining.between_cas(fabric).into_owned();
    let rules = Rule::of(old, remapped, fabric, lids, options, kept_between_cas).rules;
    let repairer = |rule| {
        let repairer = Repairer::new(remapped, remaining.load(), fabric, lids, options, rule);
        match remaining {
            Remaining::Counted(kept) => repairer.with_lengths(kept.lengths()),
            Remaining::Surveyed(_) => repairer,
        }
    };
    let layout = LazyCell::new(|| Arc::new(DependencyLayout::new(fabric)));
    let order = LazyCell::new(|| Arc::from(up_down_order(fabric, &senders(fabric, lids))));
    let unprotected = || Lanes::unprotected(&layout, &order);
    let mut last = RepairError::WasUnsafe;
    if !remapped.routes.vl_map().is_uniform() {
        for rule in &rules {
            // The lane changes from port to port, so the verifier judges the result afterwards.
            let found = run(repairer(rule), unprotected())?;
            if verify_on(threads, fabric, lids, &found.0).deadlock_free {
                return Ok(found);
            }
            last = RepairError::VerifyFailed;
        }
        return Err(last);
    }
    let surveyed = OnceCell::new();
    let of_old = |protected: Protected| match remaining {
        Remaining::Counted(kept) => kept.lanes(protected),
        Remaining::Surveyed(kept) => {
            let used = lanes_used(old, remapped);
            let graphs = surveyed.get_or_init(|| before(old, remapped, kept, lids, used, threads));
            let dependencies = graphs.get(protected.count().checked_sub(1)?)?;
            Lanes::new(&layout, &order, dependencies, protected)
        }
    };
    for rule in &rules {
        let mut is_safe = false;
        for protected in Protected::KINDS {
            let Some(lanes) = of_old(protected) else {
                continue;
            };
            is_safe = true;
            match run(repairer(rule), lanes) {
                Ok(found) => return Ok(found),
                Err(reason) => last = reason,
            }
        }
        if !is_safe {
            // Traffic between CAs can deadlock already.
            let guaranteed = old.routes.engine().guarantees(options).deadlock_free;
            return match guaranteed {
                true => Err(last),
                false => run(repairer(rule), unprotected()),
            };
        }
        // No path is free of deadlock together with all old routes, so only the routes that are kept count.
        let kept = remaining.between_cas(fabric);
        if let Some(lanes) = Lanes::new(&layout, &order, &kept, Protected::BetweenCas) {
            match run(repairer(rule), lanes) {
                Ok(found) => return Ok(found),
                Err(reason) => last = reason,
            }
        }
    }
    Err(last)
}

/// The rest of the old routes: taken from their path counts, or found by following all of them.
enum Remaining<'c> {
    Counted(Box<Kept<'c>>),
    Surveyed(Survey),
}

/// Number of lanes that the old routes use, over all cables or over those that are left.
fn lanes_used(old: RoutesInUse<'_>, remapped: &Remapped) -> u8 {
    highest_lane(old.routes).max(highest_lane(&remapped.routes)) + 1
}

impl<'c> Remaining<'c> {
    /// The rest of the old routes on `fabric`.
    fn of(
        old: RoutesInUse<'c>,
        counts: Option<&'c PathCounts>,
        remapped: &Remapped,
        fabric: &Fabric,
        lids: &LidMap,
        threads: usize,
    ) -> Result<Self, RepairError> {
        if let Some(switch) = remapped.new_tables {
            return Err(RepairError::NewTables { switch });
        }
        if let Some(kept) = counts.and_then(|counts| counts.kept(old, fabric, lids)) {
            return Ok(Self::Counted(Box::new(kept)));
        }
        let used = lanes_used(old, remapped);
        let kept = survey(threads, fabric, lids, &remapped.routes, used, |_| true);
        Ok(Self::Surveyed(kept))
    }

    /// CA-pair routes on each channel.
    const fn load(&self) -> &IdxVec<ChannelIdx, u32> {
        match self {
            Self::Counted(kept) => kept.load(),
            Self::Surveyed(kept) => &kept.load,
        }
    }

    /// The dependencies of traffic between CAs on the paths that still arrive.
    fn between_cas(&self, fabric: &Fabric) -> Cow<'_, DependencyGraph> {
        match self {
            Self::Counted(kept) => Cow::Owned(kept.between_cas(fabric)),
            Self::Surveyed(kept) => Cow::Borrowed(&kept.graphs[0]),
        }
    }
}

/// The dependencies of all old routes over cables that still exist: of traffic between CAs, of traffic from and to CAs,
/// and of all traffic. `kept` are those that still arrive.
fn before(
    old: RoutesInUse<'_>,
    remapped: &Remapped,
    kept: &Survey,
    lids: &LidMap,
    lanes: u8,
    threads: usize,
) -> [DependencyGraph; 3] {
    let mut changed = alloc::vec![false; usize::from(u16::MAX) + 1];
    let gone = old
        .lids
        .destinations()
        .iter()
        .flat_map(|end| end.range.iter());
    let gone = gone.filter(|&lid| lids.owner(lid).is_none_or(|owner| owner.switch.is_none()));
    for lid in gone.chain(kept.incomplete.iter().copied()) {
        if let Some(changed) = changed.get_mut(usize::from(lid.0)) {
            *changed = true;
        }
    }
    let is_changed = |lid: Lid| changed.get(usize::from(lid.0)) == Some(&true);
    let was = survey(threads, old.fabric, old.lids, old.routes, lanes, is_changed);
    let mut graphs = kept.graphs.clone();
    for (graph, was) in graphs.iter_mut().zip(&was.graphs) {
        graph.merge_renumbered(was, &remapped.channels);
    }
    let [between_cas, ca_switch, between_switches] = graphs;
    let mut of_cas = ca_switch;
    of_cas.merge(&between_cas);
    let mut all = between_switches;
    all.merge(&of_cas);
    [between_cas, of_cas, all]
}
