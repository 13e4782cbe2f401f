//! `ib whatif`: fails every link or switch in turn, repairs the routes, and reports the effects.

use std::{
    io::{self, Write as _},
    sync::atomic::{AtomicUsize, Ordering},
};

use ib_routing::{
    Fabric, LidMap, LidOptions,
    whatif::{self, Loss, Outcome},
};
use serde::Serialize;

use crate::{
    error::{CliError, Verdict},
    fabric_spec::FabricArgs,
    output::{json, progress::Progress, stderr, table::Table},
    route_args::RouteArgs,
};

/// Simulate the loss of each link between switches: CAs cut off, entries that change, possible deadlocks.
///
/// After each loss the routes are repaired. `moved` counts the forwarding entries that the repair changes. With
/// `--in-full` the column `in full` counts the entries that change if all routes are computed anew.
///
/// Status 1 if a loss cuts a CA off, leaves a pair without a route, or makes the repaired routes able to deadlock.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct WhatifArgs {
    /// Simulate the loss of switches instead of links
    #[arg(long)]
    switches: bool,
    /// Also simulate the loss of links to CAs
    #[arg(long, conflicts_with = "switches")]
    hosts: bool,
    /// After each loss also compute all routes anew, and count the entries that change. This takes longer
    #[arg(long)]
    in_full: bool,
    #[command(flatten)]
    fabric: FabricArgs,
    #[command(flatten)]
    route: RouteArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib whatif --fabric fabric.net --engine updn
  ib whatif --fabric fat-tree:radix=24,levels=2 --switches";

/// One failure and its effects.
#[derive(Serialize)]
struct Failure {
    fails: String,
    cut_off: Vec<String>,
    moved: u64,
    /// Present with `--in-full` if the engine can route the remaining fabric.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_in_full: Option<u64>,
    recomputed: Option<String>,
    unreachable: u64,
    loops: u64,
    deadlock_free: bool,
    load_max: u64,
    error: Option<String>,
}

impl Failure {
    fn holds(&self) -> bool {
        self.cut_off.is_empty()
            && self.unreachable == 0
            && self.loops == 0
            && self.deadlock_free
            && self.error.is_none()
    }
}

pub fn run(args: WhatifArgs, as_json: bool) -> Result<Verdict, CliError> {
    let fabric = args.fabric.load()?;
    let options = LidOptions {
        lmc: args.route.lmc.unwrap_or_default(),
        ..LidOptions::default()
    };
    let lids = LidMap::assign(&fabric, &options)
        .map_err(|error| CliError::at(&args.fabric.fabric, error))?;
    let options = args.route.options(&fabric)?;
    let before = args.route.route(&fabric, &lids, &options)?;
    let losses: Vec<Loss> = if args.switches {
        whatif::switches(&fabric).collect()
    } else {
        whatif::links(&fabric, args.hosts).collect()
    };
    let progress = Progress::new("failures", losses.len());
    let finished = AtomicUsize::new(0);
    let done = || progress.set(finished.fetch_add(1, Ordering::Relaxed) + 1);
    let outcomes = whatif::fail_each(&fabric, &lids, &options, &before, &losses, &done);
    drop(progress);
    let mut failures: Vec<Failure> = outcomes
        .iter()
        .map(|outcome| describe(&fabric, outcome))
        .collect();
    if args.in_full {
        let progress = Progress::new("computed in full", losses.len());
        for (done, (failure, &loss)) in failures.iter_mut().zip(&losses).enumerate() {
            progress.set(done);
            // If the engine cannot route the remaining fabric, the report already has the reason.
            let moved = whatif::moved_in_full(&fabric, &lids, &options, &before, loss);
            failure.moved_in_full = moved.ok();
        }
    }
    let verdict = Verdict::of(failures.iter().all(Failure::holds));
    let mut out = io::stdout().lock();
    if as_json {
        json::print(&mut out, &failures)?;
        return Ok(verdict);
    }
    let mut head = vec!["fails", "cut off", "moved"];
    head.extend(args.in_full.then_some("in full"));
    head.extend(["unreachable", "load max", "deadlock"]);
    let mut table = Table::new(head);
    for failure in &failures {
        let mut row = vec![
            failure.fails.clone(),
            failure.cut_off.len().to_string(),
            failure.moved.to_string(),
        ];
        if args.in_full {
            let moved = failure.moved_in_full;
            row.push(moved.map_or_else(|| "-".to_owned(), |moved| moved.to_string()));
        }
        row.push(failure.unreachable.to_string());
        row.push(failure.load_max.to_string());
        row.push(match (&failure.error, failure.deadlock_free) {
            (Some(error), _) => error.clone(),
            (None, true) => "none".to_owned(),
            (None, false) => "cycle".to_owned(),
        });
        table.row(row);
    }
    table.print(&mut out)?;
    let anew = failures
        .iter()
        .filter(|failure| failure.recomputed.is_some());
    for failure in anew {
        let reason = failure.recomputed.as_deref().unwrap_or_default();
        stderr::warn(format_args!(
            "{}: all routes computed anew: {reason}",
            failure.fails
        ));
    }
    let bad = failures.iter().filter(|failure| !failure.holds()).count();
    writeln!(
        out,
        "\n{} failures, {bad} of them cut a node off or leave unsafe routes",
        failures.len()
    )?;
    Ok(verdict)
}

fn describe(fabric: &Fabric, outcome: &Outcome) -> Failure {
    let fails = match outcome.loss {
        Loss::Link(one, other) => {
            let [one, other] =
                [one, other].map(|end| format!("{}[{}]", fabric.node(end.node).name, end.port));
            format!("{one} - {other}")
        }
        Loss::Switch(switch) => fabric.switch(switch).name.clone(),
    };
    let cut_off = outcome.cut_off.iter().map(ToString::to_string).collect();
    let report = outcome.report.as_ref();
    Failure {
        fails,
        cut_off,
        moved: outcome.moved,
        moved_in_full: None,
        recomputed: outcome.recomputed.as_ref().map(ToString::to_string),
        unreachable: report.map_or(0, |report| report.unreachable),
        loops: report.map_or(0, |report| report.loops),
        deadlock_free: report.is_ok_and(|report| report.deadlock_free),
        load_max: report.map_or(0, |report| report.load_max),
        error: report.err().map(ToString::to_string),
    }
}
