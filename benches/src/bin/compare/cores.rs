//! The gain of more cores: wall time of routing and of the verification with all threads beside that with one, by turns.

use std::{
    thread::available_parallelism,
    time::{Duration, Instant},
};

use ib_routing::{Fabric, LidMap, LidOptions, RouteError, RouteOptions, engine, verify::verify_on};

use crate::{measure::Sample, opensm::torus_config, row::Row};

/// A case: its name without the ending `-cores`, what is measured, and on which fabric.
type Case = (&'static str, &'static str, &'static str);

/// Engines and the verifier, each with the fabric that is measured.
pub(crate) const CASES: [Case; 17] = [
    ("minhop-ft3456", "minhop", "ft3456"),
    ("updn-ft3456", "updn", "ft3456"),
    ("dnup-ft3456", "dnup", "ft3456"),
    ("ftree-ft3456", "ftree", "ft3456"),
    ("sssp-ft3456", "sssp", "ft3456"),
    ("dfsssp-ft3456", "dfsssp", "ft3456"),
    ("lash-ft3456", "lash", "ft3456"),
    ("nue-ft3456", "nue", "ft3456"),
    ("dor-torus888", "dor", "torus888"),
    ("torus-2QoS-torus888", "torus-2QoS", "torus888"),
    ("verify-ft3456", VERIFY, "ft3456"),
    ("route-47824", "minhop", "ft43904"),
    ("sssp-47824", "sssp", "ft43904"),
    ("dfsssp-47824", "dfsssp", "ft43904"),
    ("lash-47824", "lash", "ft43904"),
    ("nue-47824", "nue", "ft43904"),
    ("verify-47824", VERIFY, "ft43904"),
];

const VERIFY: &str = "verify";

/// Both sides by turns so often, or so long if that is sooner, but a few times at least.
const TURNS: usize = 12;
const FEW_TURNS: usize = 5;
const LONG: Duration = Duration::from_secs(10);
/// Both sides by turns so long at least.
const LEAST: Duration = Duration::from_secs(1);

/// Measures one case: the ratio is how many times faster all threads are.
pub(crate) fn measure(
    subject: &'static str,
    what: &str,
    fabric: &Fabric,
    case: String,
) -> Result<Row, Box<dyn std::error::Error>> {
    let lids = LidMap::assign(fabric, &LidOptions::default())?;
    let torus_config = Some(torus_config(fabric));
    let options = |threads| RouteOptions {
        threads,
        torus_config: torus_config.clone(),
        ..RouteOptions::default()
    };
    let (one, all) = (options(1), options(0));
    let verified = what == VERIFY;
    let engine = if verified {
        engine::MINHOP.clone()
    } else {
        what.parse()?
    };
    let routes = engine.route(fabric, &lids, &one)?;
    let wall = |options: &RouteOptions| -> Result<f64, RouteError> {
        let start = Instant::now();
        if verified {
            std::hint::black_box(verify_on(options.threads, fabric, &lids, &routes));
        } else {
            std::hint::black_box(engine.route(fabric, &lids, options)?);
        }
        Ok(start.elapsed().as_secs_f64() * 1e3)
    };
    let (mut with_one, mut with_all) = (Vec::new(), Vec::new());
    let start = Instant::now();
    let is_enough = |turns: usize, time: Duration| {
        time >= LEAST && (turns >= TURNS || turns >= FEW_TURNS && time >= LONG)
    };
    while !is_enough(with_all.len(), start.elapsed()) {
        with_one.push(wall(&one)?);
        with_all.push(wall(&all)?);
    }
    let threads = available_parallelism().map_or(1, usize::from);
    let peer = format!("one thread beside {threads}, wall time");
    let (ours, theirs) = (Sample::new(with_all).least(), Sample::new(with_one).least());
    Ok(Row::times(subject, case, peer, "ms", &ours, &theirs))
}
