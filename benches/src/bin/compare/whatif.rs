//! Every cable between switches, every host's cable or every switch failed in turn, beside the same with each failure
//! repaired and verified in full.
//!
//! Both sides run on one core and the figures are processor time. The full side is measured on some failures, evenly
//! spread, and extrapolated to all; a failure whose two results differ ends the case without a ratio.

use std::env;

use ib_routing::{LidMap, LidOptions, RouteOptions, SharedEngine, engine, whatif};

use crate::{
    measure::{Sample, processor_time},
    row::Row,
};

const SUBJECT: &str = "whatif";
const UNIT: &str = "s";

/// Failures of one kind on the routes of one engine.
struct Case {
    name: &'static str,
    spec: &'static str,
    engine: &'static SharedEngine,
    /// As for [`ib_benches::losses`].
    kind: &'static str,
}

const DRAGONFLY: &str = "dragonfly:a=8,p=4,h=4";
const FT3456: &str = "fat-tree:radix=24,levels=3";

const CASES: [Case; 5] = [
    Case::new("links-dfly", DRAGONFLY, &engine::AUTO, "cables"),
    Case::new("links-ft3456", FT3456, &engine::AUTO, "cables"),
    Case::new("links-ft3456-updn", FT3456, &engine::UPDN, "cables"),
    Case::new("hosts-ft3456", FT3456, &engine::AUTO, "hosts"),
    Case::new("switches-ft3456", FT3456, &engine::AUTO, "switches"),
];

impl Case {
    const fn new(
        name: &'static str,
        spec: &'static str,
        engine: &'static SharedEngine,
        kind: &'static str,
    ) -> Self {
        Self {
            name,
            spec,
            engine,
            kind,
        }
    }
}

/// Failures that are repaired and verified in full.
const SAMPLE: usize = 200;

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    let only = env::var("COMPARE_CASE").unwrap_or_default();
    let cases = CASES.iter().filter(|case| case.name.contains(&only));
    let rows = cases.map(|case| {
        eprintln!("  {}", case.name);
        measure(case).unwrap_or_else(|error| {
            Row::without_peer(SUBJECT, case.name, format!("failed: {error}"), UNIT, None)
        })
    });
    rows.collect()
}

fn measure(case: &Case) -> Result<Row, Box<dyn std::error::Error>> {
    let fabric = ib_benches::fabric(case.spec)?;
    let lids = LidMap::assign(&fabric, &LidOptions::default())?;
    let options = RouteOptions {
        threads: 1,
        ..RouteOptions::default()
    };
    let before = case.engine.route(&fabric, &lids, &options)?;
    let losses = ib_benches::losses(&fabric, case.kind).unwrap_or_default();
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
        return Ok(Row::without_peer(
            SUBJECT,
            case.name,
            peer,
            UNIT,
            Some(&ours),
        ));
    }
    let mean = in_full.iter().sum::<f64>() / sample.max(1) as f64;
    let peer = format!(
        "{sample} of {} failures in full ({} routes), extrapolated",
        losses.len(),
        before.engine(),
    );
    let full = Sample::new(vec![mean]);
    Ok(Row::times(SUBJECT, case.name, peer, UNIT, &ours, &full))
}
