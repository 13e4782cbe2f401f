//! Routes: repaired or computed, and verified (IBA vol. 1, 18.2.4).
//!
//! After a loss the routes in force are repaired: those that are still valid stay as they are. Otherwise the
//! engines are tried in the order of preference. Routes that loop, or that leave a connected pair unreachable,
//! are not installed; the next engine is tried.
//!
//! All of this takes longer than a call of an engine may, so it is [`Work`](crate::Work): data that is handed to
//! the host and comes back with the result.

use alloc::{borrow::Cow, format, sync::Arc, vec::Vec};

use ib_routing::{
    Destination, Fabric, LidMap, RouteError, RouteOptions, Routes, SharedEngine, TopologyError,
    VerifyReport,
    engine::{self, chain},
    format,
    repair::{RepairError, RoutesInUse, has_grown, try_repair},
    update::difference,
    verify,
    verify::{Defect, LostPaths, PathCounts, Permission, Verdict},
};
use ib_smp::VlCap;
use ib_subnet::PortId;
use thiserror::Error;

use super::Situation;
use crate::{
    config::RouteTables,
    plan::{InstalledRoutes, Loss, Topology},
    reconcile::tables,
};

/// Engine name of routes that a previous manager left.
pub(crate) const KEPT: &str = "kept";

/// The input from which routes are computed.
#[derive(Clone, Debug)]
pub(crate) struct RoutingTask {
    topology: Arc<Topology>,
    /// Routes in force that are to be repaired; `None` if all routes are to be computed anew.
    installed: Option<InstalledRoutes>,
    engines: Vec<SharedEngine>,
    /// Routes that a previous manager left; they stay in force if they are valid.
    in_place: Option<Arc<Routes>>,
    /// The search ends if the routes in force cannot be repaired, so that broken entries can be led over neighbours before
    /// all routes are computed.
    stops_if_unrepairable: bool,
    /// True if routes that can deadlock may be installed.
    allow_deadlock: bool,
    options: RouteOptions,
    /// The texts that the engine `file` reads.
    tables: RouteTables,
}

/// Routes of a previous manager that stay, the verifier's report on them, and the number of entries that differ from the
/// engine's.
type Kept = (Arc<Routes>, VerifyReport, u64);

/// The reason why the routes that a previous manager left are replaced.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotKept {
    /// Entries are missing, and no entries can be added by which every pair has a path.
    #[error("{0}")]
    Unrepairable(RepairError),
    /// The routes have a defect that the configuration does not permit.
    #[error("{0}")]
    Defect(Defect),
}

/// The result of a search for routes.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoutingResult {
    /// The routes; `None` if none of the remaining engines can route the fabric.
    pub(crate) routes: Option<Arc<Routes>>,
    /// The verifier's report, if the engine has already verified its routes.
    pub(crate) report: Option<VerifyReport>,
    /// Number of engines tried so far, including the one that made these routes.
    pub(crate) tried: usize,
    /// Engines that could not route the fabric, and their errors.
    pub(crate) failed: Vec<(&'static str, RouteError)>,
    /// Set if the routes are those of a previous manager: the number of entries that differ from the engine's.
    pub(crate) differing: Option<u64>,
    /// The reason why the routes of a previous manager do not stay.
    pub(crate) not_kept: Option<NotKept>,
    /// The reason why the routes in force could not be repaired.
    pub(crate) unrepairable: Option<RepairError>,
    /// Number of entries of the routes in force that led nowhere, and number of entries that change.
    pub(crate) repaired: Option<(u64, u64)>,
    /// The paths that the repair found to be lost.
    pub(crate) lost_paths: Option<Arc<LostPaths>>,
    /// The routes are repaired, but there are cables for which they were not computed: all routes are to be
    /// computed anew once every port is served.
    pub(crate) is_provisional: bool,
}

impl RoutingTask {
    /// The task for the discovered topology.
    pub(crate) fn new(at: Situation<'_>, reroute: bool) -> Self {
        let config = at.config();
        let repairs = config.use_ucast_cache && !reroute;
        let is_first = at.plan().installed().is_none();
        let in_place = (is_first && !reroute && !config.takeover)
            .then(|| tables::left_in_place(at))
            .flatten();
        let cluster = at.plan().topology().cluster();
        let named = config.routing_engines.as_slice();
        let named = cluster.map_or(named, |cluster| cluster.engines(named));
        let engines: Vec<SharedEngine> = chain::engines(named, config.no_fallback).collect();
        let options = RouteOptions {
            max_vls: usable_vls(at),
            ..match cluster {
                Some(cluster) => cluster.route_options(&engines, &config.route_options),
                None => config.route_options.clone(),
            }
        };
        Self {
            in_place: in_place.map(Arc::new),
            topology: Arc::clone(at.plan().topology()),
            installed: at.plan().installed().filter(|_| repairs).cloned(),
            engines,
            stops_if_unrepairable: false,
            allow_deadlock: config.allow_deadlock,
            options,
            tables: config.route_tables.clone(),
        }
    }

    /// The topology that is routed.
    pub(crate) const fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// The loss after which the routes in force are repaired, which took these paths.
    pub(crate) fn loss(&self, paths: Arc<LostPaths>) -> Option<Loss> {
        let before = Arc::clone(self.installed.as_ref()?.routes());
        Some(Loss { before, paths })
    }

    /// Ends the search without routes if those in force cannot be repaired.
    pub(crate) fn stop_if_unrepairable(&mut self) {
        self.stops_if_unrepairable = true;
    }

    /// Makes the engines compute all routes, instead of a repair of those in force.
    pub(crate) fn compute_anew(&mut self) {
        self.installed = None;
    }

    /// Repairs the routes in force if `tried` is 0 and they can be repaired; else tries the engines after the
    /// first `tried`.
    pub(crate) fn route(&self, tried: usize) -> RoutingResult {
        let mut result = RoutingResult {
            tried,
            ..RoutingResult::default()
        };
        if tried == 0
            && (self.repair(&mut result)
                || (self.stops_if_unrepairable && result.unrepairable.is_some()))
        {
            return result;
        }
        let (fabric, lids) = (self.topology.fabric(), self.topology.lids());
        for engine in self.engines.iter().skip(tried) {
            result.tried = result.tried.saturating_add(1);
            let routed = self
                .options_of(engine)
                .and_then(|options| engine.route_and_report(fabric, lids, &options));
            match routed {
                Ok((mut routes, report)) => {
                    (result.routes, result.report) = match self.keep(&routes) {
                        Some(Ok((kept, report, entries))) => {
                            result.differing = Some(entries);
                            (Some(kept), Some(report))
                        }
                        not_kept => {
                            match not_kept {
                                Some(not_kept) => result.not_kept = not_kept.err(),
                                None => self.keep_unowned(&mut routes),
                            }
                            (Some(self.shared(routes)), report)
                        }
                    };
                    break;
                }
                Err(reason) => result.failed.push((engine.name(), reason)),
            }
        }
        result
    }

    /// The routes that a previous manager left, with the verifier's report and the number of entries that differ from
    /// the engine's, or the reason why they cannot stay. Entries that they lack are added. `None` if there are none, or
    /// if they are the engine's.
    fn keep(&self, own: &Routes) -> Option<Result<Kept, NotKept>> {
        let in_place = self.in_place.as_deref()?;
        let (fabric, lids) = (self.topology.fabric(), self.topology.lids());
        if difference(fabric, lids, in_place, own).entries == 0 {
            return None;
        }
        let before = RoutesInUse {
            fabric,
            lids,
            routes: in_place,
        };
        let kept = match try_repair(before, None, fabric, lids, &self.options) {
            Ok(repair) => repair.routes,
            Err(reason) => return Some(Err(NotKept::Unrepairable(reason))),
        };
        let report = self.verify(&kept);
        let permission = Permission {
            deadlock: self.allow_deadlock,
            ..Permission::default()
        };
        if let Verdict::Refused(defect) = report.verdict(permission) {
            return Some(Err(NotKept::Defect(defect)));
        }
        let entries = difference(fabric, lids, &kept, own).entries;
        Some(Ok((self.shared(kept), report, entries)))
    }

    /// Takes over the entries for LIDs of no port from the tables that a previous manager left, which are equal otherwise:
    /// so nothing is written, and a port that comes back with its LID finds its routes.
    fn keep_unowned(&self, own: &mut Routes) {
        let Some(in_place) = self.in_place.as_deref() else {
            return;
        };
        for switch in self.topology.fabric().switches().indices() {
            let differing: Vec<_> = own.changed_lids(in_place, switch).collect();
            for lid in differing {
                own.set_port(switch, lid, in_place.port(switch, lid));
            }
        }
    }

    /// The options of an engine. Only `file` reads the texts, which cost a copy of the tables.
    fn options_of(&self, engine: &SharedEngine) -> Result<Cow<'_, RouteOptions>, RouteError> {
        let RouteTables { lfts, lid_matrix } = &self.tables;
        if *engine != engine::FILE || (lfts.is_none() && lid_matrix.is_none()) {
            return Ok(Cow::Borrowed(&self.options));
        }
        let fabric = self.topology.fabric();
        let bad = |key: &str, error: &TopologyError| RouteError::BadOption {
            engine: engine.name(),
            what: format!("{key}: {error}"),
        };
        let mut options = self.options.clone();
        if let Some(text) = lfts {
            let tables = format::lfts::read(text, fabric);
            let tables = tables.map_err(|error| bad("lfts_file", &error))?;
            options.lfts = Some(tables.routes);
        }
        if let Some(text) = lid_matrix {
            let matrix = format::lid_matrix::read(text, fabric);
            let (matrix, _) = matrix.map_err(|error| bad("lid_matrix_dump_file", &error))?;
            options.lid_matrix = Some(matrix);
        }
        Ok(Cow::Owned(options))
    }

    /// Verifies routes of this task's topology.
    pub(crate) fn verify(&self, routes: &Routes) -> VerifyReport {
        verify(self.topology.fabric(), self.topology.lids(), routes)
    }

    /// Verifies routes that may be a repair of those in force: by the path counts of these where it has them, so that
    /// only what the repair changed is followed. `lost` are the paths that the repair found to be lost. The counts of the new
    /// routes come with the report then.
    pub(crate) fn verify_repair(
        &self,
        routes: &Routes,
        lost: Option<&LostPaths>,
    ) -> (VerifyReport, Option<Arc<PathCounts>>) {
        let now = RoutesInUse {
            fabric: self.topology.fabric(),
            lids: self.topology.lids(),
            routes,
        };
        let installed = self.installed.as_ref();
        let updated = installed.and_then(|installed| {
            let counts = installed.counts()?;
            match lost {
                Some(lost) => counts.updated_after(installed.as_input(), now, lost),
                None => counts.updated(installed.as_input(), now),
            }
        });
        match updated {
            Some(counts) => (counts.report(), Some(Arc::new(counts))),
            None => (self.verify(routes), None),
        }
    }

    /// Returns true if verified routes may be installed by the rule of [`VerifyReport::verdict`]. Routes that miss a
    /// pair may be installed if no engine is left.
    pub(crate) fn verdict(&self, report: &VerifyReport, tried: usize) -> Verdict {
        report.verdict(Permission {
            deadlock: self.allow_deadlock,
            unreachable: tried >= self.engines.len(),
        })
    }

    /// Returns true if there are engines after the first `tried`.
    pub(crate) fn has_more(&self, tried: usize) -> bool {
        tried < self.engines.len()
    }

    /// Routes whose tables are shared with those that a repair makes of them, and with what is known of the switches.
    fn shared(&self, mut routes: Routes) -> Arc<Routes> {
        routes.share(self.options.threads);
        Arc::new(routes)
    }

    /// Repairs the routes in force; returns false if all routes are to be computed.
    fn repair(&self, result: &mut RoutingResult) -> bool {
        let Some(installed) = &self.installed else {
            return false;
        };
        let (fabric, lids) = (self.topology.fabric(), self.topology.lids());
        let before = installed.as_input();
        let grown = has_grown(before.fabric, fabric);
        if before.routes.vls() > self.options.vls() || (grown && !loses(before, fabric, lids)) {
            return false;
        }
        let counts = installed.counts().map(|counts| &**counts);
        match try_repair(before, counts, fabric, lids, &self.options) {
            Ok(repaired) => {
                result.repaired = Some((repaired.broken, repaired.moved));
                result.routes = Some(self.shared(repaired.routes));
                result.lost_paths = repaired.lost_paths.map(Arc::new);
                result.is_provisional = grown;
                true
            }
            Err(reason) => {
                // A fabric that has grown is routed anew in any case, so the reason is not reported.
                result.unrepairable = Some(reason).filter(|_| !grown);
                false
            }
        }
    }
}

/// Returns true if there is a port that the routes do not reach, or a cable between switches is gone.
fn loses(before: RoutesInUse<'_>, fabric: &Fabric, lids: &LidMap) -> bool {
    let place = |fabric: &Fabric, end: &Destination| {
        let switch = end.switch.map(|switch| fabric.switch_guid(switch));
        (end.guid, end.range, switch, end.exit)
    };
    let is_reached = |end: &Destination| {
        let old = before.lids.owner(end.range.base());
        old.is_some_and(|old| place(before.fabric, old) == place(fabric, end))
    };
    let is_new = lids.destinations().iter().any(|end| !is_reached(end));
    is_new || has_grown(fabric, before.fabric)
}

/// Number of data VLs that every link between switches has.
fn usable_vls(at: Situation<'_>) -> u8 {
    let mut least = at.config().max_op_vls.max(1);
    let switches = at.subnet().switches();
    let switches = switches.filter_map(|(id, _)| Some((id, at.subnet().node(id)?)));
    for (id, node) in switches {
        for (number, port) in node.ports() {
            // Few ports have less than the least so far, so the other end of most is not looked at.
            let vls = port.info().map_or(u8::MAX, |info| info.vl_cap().0.max(1));
            if vls >= least {
                continue;
            }
            let peer = port.peer().and_then(|peer| at.subnet().node(peer.node));
            let to_switch = peer.is_some_and(|peer| peer.is_switch());
            let port = PortId {
                node: id,
                port: number,
            };
            if to_switch || at.leads_out(port) {
                least = vls;
            }
        }
    }
    VlCap(least).count().unwrap_or(1)
}
