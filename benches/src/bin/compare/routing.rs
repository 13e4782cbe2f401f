//! Routing engines beside OpenSM's: the time of the engine alone, and the quality of what it made.
//!
//! Both sides route on one core, by turns, and the figures are processor time: a busy machine takes the
//! same share from neither. OpenSM's tables go through the same verification as ours, so that no time comes
//! without a quality. The gain of more cores is measured against ourselves.

use std::{env, time::Duration};

use ib_routing::{
    Fabric, LidMap, LidOptions, RouteOptions, SharedEngine,
    generate::{FabricSpec, remove_links},
    verify,
};

use crate::{
    cores,
    measure::{Sample, processor_time},
    opensm::{OpenSm, torus_config},
    quality::{Qualities, Quality},
    row::Row,
};

const SUBJECT: &str = "routing";
const UNIT: &str = "ms";

/// The fabrics, by the names that cases bear, each with the percentage of its cables between switches that are missing.
const FABRICS: [(&str, &str, f64); 6] = [
    (
        "ft324",
        "fat-tree:radix=36,levels=2,parallel=2,pods=18",
        0.0,
    ),
    ("ft3456", "fat-tree:radix=24,levels=3", 0.0),
    ("ft3456-damaged", "fat-tree:radix=24,levels=3", 3.0),
    // 47,824 LIDs: each of the 3920 switches has one too.
    ("ft43904", "fat-tree:radix=56,levels=3", 0.0),
    ("torus888", "torus:8x8x8,hosts=2", 0.0),
    ("dfly", "dragonfly:a=8,p=4,h=4", 0.0),
];

/// Engine and fabric of each case.
const CASES: [(&str, &str); 26] = [
    ("minhop", "ft324"),
    ("minhop", "ft3456"),
    ("minhop", "dfly"),
    ("minhop", "torus888"),
    ("updn", "ft324"),
    ("updn", "ft3456"),
    ("updn", "dfly"),
    ("dnup", "ft324"),
    ("dnup", "ft3456"),
    ("ftree", "ft324"),
    ("ftree", "ft3456"),
    ("dor", "torus888"),
    ("torus-2QoS", "torus888"),
    ("sssp", "ft3456"),
    // Loads of whole fabrics do not show how an engine balances what is left of one.
    ("minhop", "ft3456-damaged"),
    ("updn", "ft3456-damaged"),
    ("sssp", "ft3456-damaged"),
    ("dfsssp", "ft3456-damaged"),
    ("sssp", "dfly"),
    ("dfsssp", "dfly"),
    ("dfsssp", "torus888"),
    ("dfsssp", "ft3456"),
    ("lash", "dfly"),
    ("lash", "torus888"),
    ("nue", "dfly"),
    ("nue", "ft3456"),
];

/// Repetitions of ours by turns with a run of OpenSM: as many as last so long, and some at least.
const TURN: Duration = Duration::from_millis(50);
const REPETITIONS: usize = 5;

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    let only = env::var("COMPARE_CASE").unwrap_or_default();
    let mut rows = Vec::new();
    for (engine, fabric) in CASES {
        let case = format!("{engine}-{fabric}");
        if !case.contains(&only) {
            continue;
        }
        eprintln!("  {case}");
        rows.push(measure(engine, fabric, &case).unwrap_or_else(|error| {
            Row::without_peer(SUBJECT, case, format!("failed: {error}"), UNIT, None)
        }));
    }
    for (name, what, fabric) in cores::CASES {
        let case = format!("{name}-cores");
        if !case.contains(&only) {
            continue;
        }
        eprintln!("  {case}");
        let row =
            build(fabric).and_then(|fabric| cores::measure(SUBJECT, what, &fabric, case.clone()));
        rows.push(row.unwrap_or_else(|error| {
            Row::without_peer(SUBJECT, case, format!("failed: {error}"), UNIT, None)
        }));
    }
    rows
}

type Error = Box<dyn std::error::Error>;

/// The fabric of a name in [`FABRICS`].
fn build(name: &str) -> Result<Fabric, Error> {
    let found = FABRICS.iter().find(|(known, ..)| *known == name);
    let &(_, spec, missing) = found.ok_or("no fabric of this name")?;
    let whole = spec.parse::<FabricSpec>()?.build()?;
    Ok(remove_links(&whole, missing, 1))
}

fn measure(engine: &str, fabric: &str, case: &str) -> Result<Row, Error> {
    let fabric = build(fabric)?;
    let lids = LidMap::assign(&fabric, &LidOptions::default())?;
    let options = RouteOptions {
        threads: 1,
        torus_config: Some(torus_config(&fabric)),
        ..RouteOptions::default()
    };
    let engine: SharedEngine = engine.parse()?;
    let opensm = OpenSm::new(&fabric, case);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut routes = engine.route(&fabric, &lids, &options)?;
    let mut peer = Err(Error::from("it did not run"));
    for _ in 0..2 {
        peer = match &opensm {
            Ok(opensm) => opensm.run(&engine),
            Err(error) => Err(error.to_string().into()),
        };
        if let Ok(run) = &peer {
            theirs.extend_from_slice(&run.milliseconds);
        }
        let (begin, mut turn) = (processor_time(), 0);
        while turn < REPETITIONS || processor_time() - begin < TURN {
            let start = processor_time();
            let made = engine.route(&fabric, &lids, &options)?;
            ours.push((processor_time() - start).as_secs_f64() * 1e3);
            // Both clocks are stopped while the tables before are freed.
            routes = made;
            turn += 1;
        }
    }
    let report = verify(&fabric, &lids, &routes);
    let quality = Qualities {
        ours: Quality::of(&report, report.vls, true),
        peer: peer.as_ref().ok().map(|run| run.quality.clone()),
    };
    let ours = Sample::new(ours);
    let mut row = match peer {
        Ok(_) => Row::times(SUBJECT, case, "OpenSM", UNIT, &ours, &Sample::new(theirs)),
        Err(error) => {
            Row::without_peer(SUBJECT, case, format!("OpenSM: {error}"), UNIT, Some(&ours))
        }
    };
    row.quality = Some(quality);
    Ok(row)
}
