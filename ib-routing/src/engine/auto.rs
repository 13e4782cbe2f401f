//! Automatic choice (`auto`): routes by several engines and keeps the best tables that cannot deadlock.
//!
//! Which engine suits a fabric is not known beforehand: min-hop deadlocks on rings, fat-tree routing
//! refuses what is no tree, layered engines run out of virtual lanes. But tables can be verified. So each
//! candidate routes, the verifier checks the result, and the lowest maximum load of a link wins among the
//! tables that reach the most LIDs, on a connected fabric all, without a deadlock between CAs. Of two with the same
//! number of virtual lanes the later one has to be better by more than three per cent, and so has the one with more
//! lanes of two that differ in it.
//!
//! Lanes are short where routes take more than half of [`RouteOptions::vls`]: then too few are left for a second
//! class of traffic. Such routes have to halve the load of others with fewer lanes.
//!
//! Needs nothing, promises what the verifier found: with one virtual lane Up*/Down* is left, which
//! never deadlocks. Only where no candidate qualifies, the first that routes at all is returned. Time:
//! the candidates' and a verification each; on fabrics of more than [`EXHAUSTIVE`] entries the first
//! engine that qualifies is taken.

use crate::{
    engine::{self, Guarantees, RoutingEngine, SharedEngine},
    error::RouteError,
    fabric::Fabric,
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
    verify::{VerifyReport, verify_on},
};

/// The engines that are tried, those without need of virtual lanes first, Up*/Down* as the last resort.
static CANDIDATES: [&SharedEngine; 6] = [
    &engine::MINHOP,
    &engine::FTREE,
    &engine::DFSSSP,
    &engine::LASH,
    &engine::UPDN,
    &engine::NUE,
];

/// Forwarding entries up to which all candidates are compared: below it the whole choice takes
/// a fraction of a second.
pub const EXHAUSTIVE: usize = 1 << 19;

/// Routes that were found, and how good they are.
struct Choice {
    routes: Routes,
    report: VerifyReport,
}

impl Choice {
    fn is_safe(&self) -> bool {
        self.report.loops == 0 && self.report.deadlock_free
    }

    /// Returns true if these routes are preferred to those of an earlier candidate. `vls` is the number of lanes that
    /// routes may use.
    fn is_better_than(&self, other: &Self, vls: u8) -> bool {
        // On a fabric in parts some pairs have no route.
        if self.report.unreachable != other.report.unreachable {
            return self.report.unreachable < other.report.unreachable;
        }
        if self.is_safe() != other.is_safe() {
            return self.is_safe();
        }
        if !self.is_safe() {
            return false;
        }
        // The one with more lanes has to be worth them.
        match self.routes.vls() < other.routes.vls() {
            true => !other.is_worth_its_lanes(self, vls),
            false => self.is_worth_its_lanes(other, vls),
        }
    }

    /// Returns true if the load is so much lower than that of others, which need no more lanes, that these are
    /// preferred.
    fn is_worth_its_lanes(&self, other: &Self, vls: u8) -> bool {
        let [own, best] = [self, other].map(|choice| choice.report.link_load.max);
        let lanes = self.routes.vls();
        let are_short = lanes > other.routes.vls() && lanes.saturating_mul(2) > vls;
        let (most, of) = if are_short { (1, 2) } else { (32, 33) };
        own.saturating_mul(of) < best.saturating_mul(most)
    }
}

/// The engine `auto`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Auto;

impl RoutingEngine for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn guarantees(&self, _: &RouteOptions) -> Guarantees {
        Guarantees {
            any_fabric: true,
            deadlock_free: true,
            ..Guarantees::NONE
        }
    }

    /// The routes of the engine that suits the fabric best; [`Routes::engine`] says which.
    ///
    /// # Errors
    /// That of the first candidate, if none can route the fabric at all.
    fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError> {
        route_verified(fabric, lids, options).map(|(routes, _)| routes)
    }

    fn route_and_report(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<(Routes, Option<VerifyReport>), RouteError> {
        route_verified(fabric, lids, options).map(|(routes, report)| (routes, Some(report)))
    }
}

/// As [`RoutingEngine::route`], with the verifier's report on the routes.
///
/// # Errors
/// As those of [`RoutingEngine::route`].
pub fn route_verified(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
) -> Result<(Routes, VerifyReport), RouteError> {
    let entries = fabric.num_switches().saturating_mul(lids.num_lids());
    let is_in_parts = fabric.parts().iter().any(|&part| part != 0);
    let mut best: Option<Choice> = None;
    let mut first_error = None;
    for engine in CANDIDATES {
        let routes = match engine.route(fabric, lids, options) {
            Ok(routes) => routes,
            Err(error) => {
                first_error.get_or_insert(error);
                continue;
            }
        };
        let report = verify_on(options.threads, fabric, lids, &routes);
        let choice = Choice { routes, report };
        let is_better = |best: &Choice| choice.is_better_than(best, options.vls());
        if best.as_ref().is_none_or(is_better) {
            let reaches_all = choice.report.unreachable == 0 || is_in_parts;
            let enough = choice.is_safe() && reaches_all && entries > EXHAUSTIVE;
            best = Some(choice);
            if enough {
                break;
            }
        }
    }
    match (best, first_error) {
        (Some(best), _) => Ok((best.routes, best.report)),
        (None, Some(error)) => Err(error),
        (None, None) => {
            let routes = Routes::new(&engine::AUTO, fabric, lids);
            let report = verify_on(options.threads, fabric, lids, &routes);
            Ok((routes, report))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        generate::{FabricSpec, remove_links},
        lid::LidOptions,
        verify,
    };

    #[test]
    fn the_lowest_load_wins_unless_lanes_are_short() {
        let spec = "jellyfish:switches=16,degree=6,hosts=6,seed=1";
        let fabric = spec.parse::<FabricSpec>().unwrap().build().unwrap();
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let judge = |engine: &SharedEngine, max_vls| {
            let options = RouteOptions {
                max_vls,
                ..RouteOptions::default()
            };
            let routes = engine.route(&fabric, &lids, &options).unwrap();
            let load = verify(&fabric, &lids, &routes).link_load.max;
            (load, routes.vls(), routes.engine().name())
        };
        let (low, lanes, name) = judge(&engine::DFSSSP, 8);
        let others = [&engine::NUE, &engine::UPDN].map(|engine| judge(engine, 1).0);
        assert!(
            lanes > 1 && others.iter().all(|load| low * 33 < load * 32),
            "{low} {others:?}"
        );
        assert_eq!(judge(&engine::AUTO, 8), (low, lanes, name));
        // Only the lanes of this engine are left: it would have to halve the load.
        let (load, few, _) = judge(&engine::AUTO, lanes);
        assert!(few < lanes && load < low * 2, "{load} on {few}");
    }

    #[test]
    fn a_fabric_in_parts_is_routed_without_deadlock_too() {
        let spec = "random:switches=12,links=16,hosts=2,seed=3";
        let whole = spec.parse::<FabricSpec>().unwrap().build().unwrap();
        let fabric = remove_links(&whole, 10.0, 7);
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let options = RouteOptions::default();
        let judge = |engine: &SharedEngine| {
            let routes = engine.route(&fabric, &lids, &options).unwrap();
            verify(&fabric, &lids, &routes)
        };
        let (shortest, best) = (judge(&engine::MINHOP), judge(&engine::AUTO));
        assert!(shortest.unreachable > 0 && !shortest.deadlock_free);
        assert_eq!(best.unreachable, shortest.unreachable);
        assert!(best.deadlock_free);
    }
}
