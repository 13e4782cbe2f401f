//! Checks of a snapshot: each finding gives the defect, its place, its extent and its remedy.
//!
//! Every check is a pure function of the snapshot, or of two snapshots for rates. A check uses only values that were
//! read: the report gives the number of things that each check examined, and 0 means that the check had nothing to
//! judge.

mod counters;
mod devices;
mod finding;
mod identity;
mod lanes;
mod links;
mod managers;
mod multicast;
mod routes;

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use ib_routing::{Fabric, LidMap, PairSls, PortRef, Routes, SlTable, mcast::MulticastTree};
use ib_wire::{Lid, Sl};

pub use self::finding::{Check, Finding, Location, Severity, Value};
use crate::{
    counters::Thresholds,
    snapshot::{Contents, Snapshot},
};

/// Settings and expectations of the checks.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions {
    /// Thresholds of error counters.
    pub thresholds: Thresholds,
    /// The expected topology; `None` to compare with none.
    pub expected: Option<Fabric>,
    /// The service level of each pair of LIDs. If `None`, all packets are assumed to have service level 0.
    pub sls: Option<PairSls>,
}

/// Result of the checks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckReport {
    /// The defects: the errors first, then by check and place.
    pub findings: Vec<Finding>,
    /// Number of things that each check examined.
    pub checked: BTreeMap<Check, usize>,
}

impl CheckReport {
    /// The findings with this severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        let of = |finding: &&Finding| finding.severity == severity;
        self.findings.iter().filter(of).count()
    }
}

/// Runs every check. With an `earlier` snapshot of the same subnet, error counters are judged by their growth since it,
/// and otherwise by their totals.
#[must_use]
pub fn check(
    snapshot: &Snapshot,
    earlier: Option<&Snapshot>,
    options: &CheckOptions,
) -> CheckReport {
    let mut checker = Checker::new(snapshot, options);
    identity::check(&mut checker);
    links::check(&mut checker);
    counters::check(&mut checker, earlier);
    if snapshot.contents.contains(Contents::SM_INFO) {
        managers::check(&mut checker);
    }
    if snapshot.contents.contains(Contents::FORWARDING) {
        routes::check(&mut checker);
        multicast::check(&mut checker);
    }
    if snapshot.contents.contains(Contents::QOS) {
        lanes::check(&mut checker);
    }
    devices::check(&mut checker);
    let mut report = checker.report;
    report
        .findings
        .sort_by_key(|finding| (core::cmp::Reverse(finding.severity), finding.check));
    report
}

/// Inputs that the checks share.
struct Checker<'a> {
    snapshot: &'a Snapshot,
    options: &'a CheckOptions,
    fabric: Fabric,
    lids: LidMap,
    routes: Routes,
    trees: BTreeMap<Lid, MulticastTree>,
    /// The service levels of the traffic, as a bit mask.
    levels: u16,
    report: CheckReport,
}

impl<'a> Checker<'a> {
    fn new(snapshot: &'a Snapshot, options: &'a CheckOptions) -> Self {
        let fabric = snapshot.fabric();
        let lids = LidMap::of_fabric(&fabric);
        let mut routes = snapshot.routes(&fabric, &lids, Sl::ZERO);
        if let Some(sls) = &options.sls {
            let (map, vls) = (routes.vl_map().clone(), routes.vls());
            routes.set_lanes(SlTable::ByPair(sls.clone()), map, vls);
        }
        let trees = snapshot.multicast_trees(&fabric);
        let levels = options.sls.as_ref().map_or(1, |sls| levels(sls, &lids));
        let checked = Check::ALL.iter().map(|&check| (check, 0)).collect();
        Self {
            snapshot,
            options,
            fabric,
            lids,
            routes,
            trees,
            levels,
            report: CheckReport {
                findings: Vec::new(),
                checked,
            },
        }
    }

    /// Records that a check examined `count` more things.
    fn looked_at(&mut self, check: Check, count: usize) {
        let counted = self.report.checked.entry(check).or_default();
        *counted = counted.saturating_add(count);
    }

    fn add(&mut self, finding: Finding) {
        self.report.findings.push(finding);
    }

    /// Returns true if traffic is known to use a service level.
    fn has_traffic(&self, sl: u8) -> bool {
        let bits = self.levels.checked_shr(u32::from(sl));
        bits.is_some_and(|bits| bits & 1 == 1)
    }

    /// The place of a port in a finding.
    fn place(&self, at: PortRef) -> Location {
        Location::of(self.snapshot, at)
    }

    /// The place of findings that concern no device: the own port.
    fn own_place(&self) -> Location {
        let own = self.snapshot.own_port;
        own.map_or_else(Location::default, |own| self.place(own))
    }

    /// A port as text.
    fn text(&self, at: PortRef) -> String {
        let guid = self.snapshot.node(at.node).map(|node| node.guid());
        let name = self.snapshot.name(at.node);
        format!("{name} ({}) port {}", guid.unwrap_or_default(), at.port)
    }
}

/// The service levels of all pairs, as a bit mask.
fn levels(sls: &PairSls, lids: &LidMap) -> u16 {
    let all = || lids.destinations().iter().map(|end| end.range.base());
    let pairs = all().flat_map(|from| all().map(move |to| sls.sl(from, to)));
    pairs.fold(0, |levels, sl| {
        levels | 1u16.checked_shl(u32::from(sl.bits())).unwrap_or(0)
    })
}

#[cfg(test)]
mod tests;
