//! Fails cables between switches in turn, STEP apart, and SAMPLE of them by recomputing too, or the cables of CAs, or
//! switches: `bench_whatif SPEC|FILE ENGINE [THREADS] [SAMPLE] [STEP] [cables|hosts|switches]`.

use std::{error::Error, time::Instant};

use ib_routing::{
    LidMap, LidOptions, RouteOptions, SharedEngine,
    whatif::{self, Loss},
};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, spec, engine, rest @ ..] = args.as_slice() else {
        return Err(
            "bench_whatif SPEC|FILE ENGINE [THREADS] [SAMPLE] [STEP] [cables|hosts|switches]"
                .into(),
        );
    };
    let number = |at: usize, default: usize| rest.get(at).map_or(Ok(default), |text| text.parse());
    let fabric = ib_benches::fabric(spec)?;
    let lids = LidMap::assign(&fabric, &LidOptions::default())?;
    let engine: SharedEngine = engine.parse()?;
    let options = RouteOptions {
        threads: number(0, 1)?,
        ..RouteOptions::default()
    };
    let before = engine.route(&fabric, &lids, &options)?;
    let kind = rest.get(3).map_or("cables", String::as_str);
    let losses = ib_benches::losses(&fabric, kind)
        .ok_or_else(|| format!("{kind}: expected cables, hosts or switches"))?;
    let losses: Vec<Loss> = losses.into_iter().step_by(number(2, 1)?.max(1)).collect();
    if losses.is_empty() {
        return Err(format!("{spec}: no {kind}").into());
    }
    let start = Instant::now();
    let outcomes = whatif::fail_each(&fabric, &lids, &options, &before, &losses, &|| {});
    let each = start.elapsed().as_secs_f64();
    let sample = number(1, 20)?.clamp(1, losses.len());
    let start = Instant::now();
    let mut equal = 0;
    for at in (0..sample).map(|at| at * losses.len() / sample) {
        let again = whatif::fail(&fabric, &lids, &options, &before, losses[at]);
        if again == outcomes[at] {
            equal += 1;
        } else {
            println!("{again:?}\n{:?}", outcomes[at]);
        }
    }
    let again = start.elapsed().as_secs_f64() / sample as f64 * losses.len() as f64;
    println!(
        "{spec} {engine}: {} failures of {kind} in {each:.1} s, recomputed {again:.0} s (of {sample}); {equal} of {sample} rows equal; {:.1}x",
        losses.len(),
        again / each,
    );
    Ok(())
}
