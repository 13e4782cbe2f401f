//! The gain of more cores where destinations or switches are independent: wall time of routing and of the
//! verification with all threads beside that with one, by turns.

use std::{
    thread::available_parallelism,
    time::{Duration, Instant},
};

use ib_routing::{Fabric, LidMap, LidOptions, RouteError, RouteOptions, engine, verify::verify_on};

use crate::{measure::Sample, opensm::torus_config, row::Row};

/// Engines whose switches or destinations choose independently, and the verifier, each with the fabric that
/// is measured.
pub(crate) const CASES: [(&str, &str); 7] = [
    ("minhop", "ft3456"),
    ("updn", "ft3456"),
    ("dnup", "ft3456"),
    ("ftree", "ft3456"),
    ("dor", "torus888"),
    ("torus-2QoS", "torus888"),
    (VERIFY, "ft3456"),
];

const VERIFY: &str = "verify";

/// Both sides by turns so often, and so long at least.
const TURNS: usize = 12;
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
    while with_all.len() < TURNS || start.elapsed() < LEAST {
        with_one.push(wall(&one)?);
        with_all.push(wall(&all)?);
    }
    let threads = available_parallelism().map_or(1, usize::from);
    let peer = format!("one thread beside {threads}, wall time");
    let (ours, theirs) = (Sample::new(with_all).least(), Sample::new(with_one).least());
    Ok(Row::times(subject, case, peer, "ms", &ours, &theirs))
}
