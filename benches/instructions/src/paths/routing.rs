//! Routes of small fabrics: each engine, the proof, repairs and failures.

use std::hint::black_box;

use ib_routing::{
    Fabric, LidMap, LidOptions, RouteOptions, Routes, SharedEngine, engine,
    generate::FabricSpec,
    repair::{Installed, repair},
    verify,
    whatif::{self, Loss},
};

use super::{Error, Path, Work, ensure};

/// 80 switches and 128 hosts.
pub(super) const FAT_TREE: &str = "fat-tree:radix=8,levels=3";
/// 36 switches and 72 hosts.
const DRAGONFLY: &str = "dragonfly:a=4,p=2,h=2";

pub(super) const PATHS: &[Path] = &[
    Path {
        name: "route-minhop",
        prepare: || route(&engine::MINHOP, FAT_TREE),
    },
    Path {
        name: "route-updn",
        prepare: || route(&engine::UPDN, FAT_TREE),
    },
    Path {
        name: "route-ftree",
        prepare: || route(&engine::FTREE, FAT_TREE),
    },
    Path {
        name: "route-dfsssp",
        prepare: || route(&engine::DFSSSP, DRAGONFLY),
    },
    Path {
        name: "route-nue",
        prepare: || route(&engine::NUE, DRAGONFLY),
    },
    Path {
        name: "verify",
        prepare: verify_routes,
    },
    Path {
        name: "repair",
        prepare: repair_routes,
    },
    Path {
        name: "whatif",
        prepare: fail_cables,
    },
];

/// A fabric with its routes.
struct Routed {
    fabric: Fabric,
    lids: LidMap,
    options: RouteOptions,
    routes: Routes,
}

impl Routed {
    fn new(engine: &SharedEngine, spec: &str) -> Result<Self, Error> {
        let fabric = spec.parse::<FabricSpec>()?.build()?;
        let lids = LidMap::assign(&fabric, &LidOptions::default())?;
        let options = RouteOptions {
            threads: 1,
            ..RouteOptions::default()
        };
        let routes = engine.route(&fabric, &lids, &options)?;
        Ok(Self {
            fabric,
            lids,
            options,
            routes,
        })
    }

    /// The cables between switches.
    fn cables(&self) -> impl Iterator<Item = Loss> {
        whatif::links(&self.fabric, false)
    }
}

/// Computes all routes.
fn route(engine: &'static SharedEngine, spec: &str) -> Result<Work, Error> {
    let routed = Routed::new(engine, spec)?;
    let report = verify(&routed.fabric, &routed.lids, &routed.routes);
    ensure(report.unreachable == 0, "a pair of ports has no route")?;
    Ok(Box::new(move || {
        let fabric = black_box(&routed.fabric);
        black_box(engine.route(fabric, &routed.lids, &routed.options)?);
        Ok(())
    }))
}

/// Proves that all ports reach each other, and that no deadlock can occur.
fn verify_routes() -> Result<Work, Error> {
    let routed = Routed::new(&engine::UPDN, FAT_TREE)?;
    Ok(Box::new(move || {
        let report = verify(black_box(&routed.fabric), &routed.lids, &routed.routes);
        ensure(report.deadlock_free, "the routes can deadlock")
    }))
}

/// Repairs the routes after a cable between switches has failed.
fn repair_routes() -> Result<Work, Error> {
    let routed = Routed::new(&engine::UPDN, FAT_TREE)?;
    let loss = routed.cables().next().ok_or("no cable between switches")?;
    let broken = whatif::without(&routed.fabric, loss);
    let ranges = routed.lids.destinations().iter();
    let left = LidMap::of_ranges(&broken, ranges.map(|port| (port.end, port.range)));
    Ok(Box::new(move || {
        let old = Installed {
            fabric: black_box(&routed.fabric),
            lids: &routed.lids,
            routes: &routed.routes,
        };
        let repaired = repair(old, &broken, &left, &routed.options, 0)?;
        ensure(
            repaired.recomputed.is_none(),
            "the routes were not repaired",
        )
    }))
}

/// Fails eight cables in turn.
fn fail_cables() -> Result<Work, Error> {
    let routed = Routed::new(&engine::UPDN, FAT_TREE)?;
    let cables = routed.cables().count();
    let losses: Vec<Loss> = routed.cables().step_by(cables.div_ceil(8).max(1)).collect();
    ensure(losses.len() == 8, "another number of cables")?;
    Ok(Box::new(move || {
        let (fabric, lids) = (black_box(&routed.fabric), &routed.lids);
        let (options, routes) = (&routed.options, &routed.routes);
        let outcomes = whatif::fail_each(fabric, lids, options, routes, &losses, &|| {});
        let all = outcomes.iter().all(|outcome| outcome.report.is_ok());
        ensure(all, "a failure has no report")
    }))
}
