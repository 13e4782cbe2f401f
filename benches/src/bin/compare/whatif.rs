//! Every cable between switches failed in turn, beside the same with each failure repaired and verified in full.
//!
//! Both sides run on one core and the figures are processor time. The full side is measured on some failures, evenly
//! spread, and extrapolated to all; a failure whose two results differ ends the case without a ratio.

use std::env;

use ib_routing::{
    LidMap, LidOptions, RouteOptions, engine,
    generate::FabricSpec,
    whatif::{self, Loss},
};

use crate::{
    measure::{Sample, processor_time},
    row::Row,
};

const SUBJECT: &str = "whatif";
const UNIT: &str = "s";

/// The cases, with their fabrics.
const CASES: [(&str, &str); 2] = [
    ("links-dfly", "dragonfly:a=8,p=4,h=4"),
    ("links-ft3456", "fat-tree:radix=24,levels=3"),
];

/// Failures that are repaired and verified in full.
const SAMPLE: usize = 200;

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    let only = env::var("COMPARE_CASE").unwrap_or_default();
    let cases = CASES.iter().filter(|(case, _)| case.contains(&only));
    let rows = cases.map(|&(case, spec)| {
        eprintln!("  {case}");
        measure(case, spec).unwrap_or_else(|error| {
            Row::without_peer(SUBJECT, case, format!("failed: {error}"), UNIT, None)
        })
    });
    rows.collect()
}

fn measure(case: &str, spec: &str) -> Result<Row, Box<dyn std::error::Error>> {
    let fabric = spec.parse::<FabricSpec>()?.build()?;
    let lids = LidMap::assign(&fabric, &LidOptions::default())?;
    let options = RouteOptions {
        threads: 1,
        ..RouteOptions::default()
    };
    let before = engine::AUTO.route(&fabric, &lids, &options)?;
    let losses: Vec<Loss> = whatif::links(&fabric, false).collect();
    let start = processor_time();
    let outcomes = whatif::fail_each(&fabric, &lids, &options, &before, &losses, &|| {});
    let ours = Sample::new(vec![(processor_time() - start).as_secs_f64()]);
    let sample = SAMPLE.min(losses.len());
    let (mut in_full, mut differ) = (Vec::new(), 0);
    for at in (0..sample).map(|number| number * losses.len() / sample) {
        let start = processor_time();
        let again = whatif::fail(&fabric, &lids, &options, &before, losses[at]);
        in_full.push((processor_time() - start).as_secs_f64() * losses.len() as f64);
        differ += usize::from(outcomes.get(at) != Some(&again));
    }
    if differ > 0 {
        let peer = format!("{differ} of {sample} failures differ in full");
        return Ok(Row::without_peer(SUBJECT, case, peer, UNIT, Some(&ours)));
    }
    let mean = in_full.iter().sum::<f64>() / sample.max(1) as f64;
    let peer = format!(
        "{sample} of {} failures in full ({} routes), extrapolated",
        losses.len(),
        before.engine(),
    );
    let full = Sample::new(vec![mean]);
    Ok(Row::times(SUBJECT, case, peer, UNIT, &ours, &full))
}
