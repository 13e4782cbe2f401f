//! Routes of small fabrics: each engine, the proof, repairs and failures.

use std::hint::black_box;

use ib_routing::{
    SharedEngine, engine,
    repair::repair,
    verify::{verify, verify_on},
    whatif::{self, Loss},
};
use ib_testkit::{
    fabrics::generated,
    routed::{Routed, one_thread},
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

fn routed(engine: &SharedEngine, spec: &str) -> Result<Routed, Error> {
    Ok(Routed::new(engine, generated(spec)).ok_or("the engine refuses the fabric")?)
}

/// Computes all routes.
fn route(engine: &'static SharedEngine, spec: &str) -> Result<Work, Error> {
    let routed = routed(engine, spec)?;
    let report = verify(&routed.fabric, &routed.lids, &routed.routes);
    ensure(report.unreachable == 0, "a pair of ports has no route")?;
    let options = one_thread();
    Ok(Box::new(move || {
        let fabric = black_box(&routed.fabric);
        black_box(engine.route(fabric, &routed.lids, &options)?);
        Ok(())
    }))
}

/// Proves that all ports reach each other, and that no deadlock can occur.
fn verify_routes() -> Result<Work, Error> {
    let routed = routed(&engine::UPDN, FAT_TREE)?;
    Ok(Box::new(move || {
        let (fabric, threads) = (black_box(&routed.fabric), one_thread().threads);
        let report = verify_on(threads, fabric, &routed.lids, &routed.routes);
        ensure(report.deadlock_free, "the routes can deadlock")
    }))
}

/// Repairs the routes after a cable between switches has failed.
fn repair_routes() -> Result<Work, Error> {
    let routed = routed(&engine::UPDN, FAT_TREE)?;
    let mut cables = whatif::links(&routed.fabric, false);
    let loss = cables.next().ok_or("no cable between switches")?;
    let broken = whatif::without(&routed.fabric, loss);
    drop(cables);
    let (left, options) = (routed.lids_on(&broken), one_thread());
    Ok(Box::new(move || {
        let repaired = repair(black_box(&routed).installed(), &broken, &left, &options, 0)?;
        ensure(
            repaired.recomputed.is_none(),
            "the routes were not repaired",
        )
    }))
}

/// Fails eight cables in turn.
fn fail_cables() -> Result<Work, Error> {
    let routed = routed(&engine::UPDN, FAT_TREE)?;
    let cables = || whatif::links(&routed.fabric, false);
    let step = cables().count().div_ceil(8).max(1);
    let losses: Vec<Loss> = cables().step_by(step).collect();
    ensure(losses.len() == 8, "another number of cables")?;
    let options = one_thread();
    Ok(Box::new(move || {
        let (fabric, lids) = (black_box(&routed.fabric), &routed.lids);
        let outcomes = whatif::fail_each(fabric, lids, &options, &routed.routes, &losses, &|| {});
        let all = outcomes.iter().all(|outcome| outcome.report.is_ok());
        ensure(all, "a failure has no report")
    }))
}
