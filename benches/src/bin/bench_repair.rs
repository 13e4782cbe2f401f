//! Times `repair` and its parts after a cable between switches fails: `bench_repair SPEC|FILE ENGINE [THREADS]
//! [REPETITIONS]`.

use std::{error::Error, time::Instant};

use ib_routing::{
    LidMap, LidOptions, RouteOptions, SharedEngine,
    repair::{RoutesInUse, repair},
    verify::verify_on,
    whatif,
};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, spec, engine, rest @ ..] = args.as_slice() else {
        return Err("bench_repair SPEC|FILE ENGINE [THREADS] [REPETITIONS]".into());
    };
    let number = |at: usize, default: usize| rest.get(at).map_or(Ok(default), |text| text.parse());
    let fabric = ib_benches::fabric(spec)?;
    let (threads, repetitions) = (number(0, 1)?, number(1, 5)?.max(1));
    let lids = LidMap::assign(&fabric, &LidOptions::default())?;
    let engine: SharedEngine = engine.parse()?;
    let options = RouteOptions {
        threads,
        ..RouteOptions::default()
    };
    let start = Instant::now();
    let routes = engine.route(&fabric, &lids, &options)?;
    let routed = start.elapsed();
    let start = Instant::now();
    let report = verify_on(threads, &fabric, &lids, &routes);
    let verified = start.elapsed();
    println!(
        "{spec} {engine}: {} LIDs, route {routed:.1?}, verify {verified:.1?}, deadlock-free {}, with switches {}",
        lids.num_lids(),
        report.deadlock_free,
        report.all_deadlock_free
    );
    let losses: Vec<_> = whatif::links(&fabric, false).collect();
    for at in 0..repetitions {
        let loss = losses[at * losses.len() / repetitions];
        let broken = whatif::without(&fabric, loss);
        let left = LidMap::of_ranges(
            &broken,
            lids.destinations()
                .iter()
                .map(|port| (port.end, port.range)),
        );
        let old = RoutesInUse {
            fabric: &fabric,
            lids: &lids,
            routes: &routes,
        };
        let start = Instant::now();
        let repaired = repair(old, &broken, &left, &options, 0)?;
        let time = start.elapsed();
        println!(
            "{loss:?}: {time:.2?}, {} broken, {} moved, recomputed {:?}",
            repaired.broken, repaired.moved, repaired.recomputed
        );
    }
    Ok(())
}
