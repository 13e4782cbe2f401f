//! Routes and verifies a generated fabric: `bench_route SPEC|FILE ENGINE [LMC] [THREADS] [REPETITIONS]`.

use std::{error::Error, time::Instant};

use ib_routing::{LidMap, LidOptions, RouteOptions, SharedEngine, verify::verify_on};
use ib_wire::Lmc;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, spec, engine, rest @ ..] = args.as_slice() else {
        return Err("bench_route SPEC|FILE ENGINE [LMC] [THREADS] [REPETITIONS]".into());
    };
    let number = |at: usize, default: usize| rest.get(at).map_or(Ok(default), |text| text.parse());
    let fabric = ib_benches::fabric(spec)?;
    let lmc = Lmc::try_new(number(0, 0)? as u8)?;
    let threads = number(1, 1)?;
    let lids = LidMap::assign(
        &fabric,
        &LidOptions {
            lmc,
            ..LidOptions::default()
        },
    )?;
    let engine: SharedEngine = engine.parse()?;
    let options = RouteOptions {
        threads,
        ..RouteOptions::default()
    };
    let mut times = Vec::new();
    let mut routes = engine.route(&fabric, &lids, &options)?;
    for _ in 0..number(2, 5)?.max(1) {
        let start = Instant::now();
        routes = engine.route(&fabric, &lids, &options)?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
    let start = Instant::now();
    let report = verify_on(threads, &fabric, &lids, &routes);
    let verify = start.elapsed().as_secs_f64();
    let entries = fabric.num_switches() * lids.num_lids();
    println!(
        "{spec} {engine}: route {:.3} ms ({:.2} ns/entry), verify {:.1} ms; pairs {} unreachable {} loops {} vls {} deadlock-free {} {} {} hops {} {:.4} load max {} mean {:.1} stdev {:.2}",
        median * 1e3,
        median * 1e9 / entries as f64,
        verify * 1e3,
        report.pairs,
        report.unreachable,
        report.loops,
        report.vls,
        report.deadlock_free,
        report.ca_switch_deadlock_free,
        report.all_deadlock_free,
        report.max_hops,
        report.mean_hops,
        report.link_load.max,
        report.link_load.mean,
        report.link_load.stdev,
    );
    Ok(())
}
