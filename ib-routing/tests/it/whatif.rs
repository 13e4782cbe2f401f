//! The effects of many failures, each equal to the result of recomputing it.

use std::fs;

use ib_routing::{
    Fabric, LidMap, LidOptions, RouteOptions, SharedEngine, engine,
    format::ibnetdiscover,
    whatif::{self, Loss, Outcome},
};
use ib_testkit::{fabrics::generated, routed::one_thread};
use ib_wire::Lmc;

fn fixture(name: &str) -> Fabric {
    let path = format!("{}/testdata/fabrics/{name}.net", env!("CARGO_MANIFEST_DIR"));
    ibnetdiscover::read(&fs::read_to_string(path).unwrap())
        .unwrap()
        .fabric
}

fn assign(fabric: &Fabric, lmc: u8) -> LidMap {
    let options = LidOptions {
        lmc: Lmc::try_new(lmc).unwrap(),
        ..LidOptions::default()
    };
    LidMap::assign(fabric, &options).unwrap()
}

/// Distance between two failures that are tried.
const STEP: usize = 7;

/// Failures of a fabric, and every one recomputed. Returns how many were tried; `None` where the engine does
/// not route the fabric.
fn equals_recomputing(
    name: &str,
    fabric: &Fabric,
    lmc: u8,
    engine: &SharedEngine,
) -> Option<usize> {
    let lids = assign(fabric, lmc);
    let options = one_thread();
    let before = engine.route(fabric, &lids, &options).ok()?;
    let all: Vec<Loss> = whatif::links(fabric, true)
        .chain(whatif::switches(fabric))
        .collect();
    // Cables between switches and to CAs, and switches: a prime number apart, so that all kinds are there.
    let losses: Vec<Loss> = all.iter().copied().step_by(STEP).collect();
    let count = std::sync::atomic::AtomicUsize::new(0);
    let done = || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    let outcomes = whatif::fail_each(fabric, &lids, &options, &before, &losses, &done);
    assert_eq!(outcomes.len(), losses.len());
    assert_eq!(count.into_inner(), losses.len());
    for (outcome, &loss) in outcomes.iter().zip(&losses) {
        let recomputed: Outcome = whatif::fail(fabric, &lids, &options, &before, loss);
        assert_eq!(*outcome, recomputed, "{engine} {name} LMC {lmc}");
    }
    Some(losses.len())
}

fn on_fabrics(engine: &SharedEngine, fabrics: &[&str]) {
    let tried = fabrics
        .iter()
        .filter_map(|name| equals_recomputing(name, &fixture(name), 0, engine));
    assert!(tried.sum::<usize>() > 10, "{engine}: too few failures");
}

const FABRICS: [&str; 5] = [
    "gen-karyn-4-3",
    "gen-dragonfly-4-2-2",
    "gen-torus-5x5",
    "gen-mesh-6x4",
    "gen-irregular-20",
];

macro_rules! engines {
    ($($test:ident: $engine:ident;)*) => {$(
        #[test]
        fn $test() {
            on_fabrics(&engine::$engine, &FABRICS);
        }
    )*};
}

engines! {
    minhop_rows_are_those_of_recomputing: MINHOP;
    updn_rows_are_those_of_recomputing: UPDN;
    dnup_rows_are_those_of_recomputing: DNUP;
    ftree_rows_are_those_of_recomputing: FTREE;
    dor_rows_are_those_of_recomputing: DOR;
    lash_rows_are_those_of_recomputing: LASH;
    sssp_rows_are_those_of_recomputing: SSSP;
    dfsssp_rows_are_those_of_recomputing: DFSSSP;
    nue_rows_are_those_of_recomputing: NUE;
}

#[test]
fn rows_with_several_lids_a_port_are_those_of_recomputing() {
    for engine in [&engine::MINHOP, &engine::FTREE, &engine::DFSSSP] {
        let fabric = fixture("gen-karyn-4-3");
        assert!(equals_recomputing("gen-karyn-4-3", &fabric, 2, engine).is_some());
    }
}

#[test]
fn the_rows_do_not_depend_on_threads() {
    let fabric = generated("fat-tree:radix=6,levels=3");
    let lids = assign(&fabric, 0);
    let losses: Vec<Loss> = whatif::links(&fabric, false).collect();
    let rows = |threads| {
        let options = RouteOptions {
            threads,
            ..RouteOptions::default()
        };
        let before = engine::MINHOP.route(&fabric, &lids, &options).unwrap();
        whatif::fail_each(&fabric, &lids, &options, &before, &losses, &|| {})
    };
    assert_eq!(rows(1), rows(3));
}
