//! `ib whatif`: fails every link or switch in turn, repairs the routes, and says what would follow.

use std::io::{self, Write as _};

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

/// Fail every link between switches in turn: who loses whom, how many routes move, is the result
/// still free of deadlock.
///
/// Routes are repaired: `moved` counts the forwarding entries that have to change for that, `in full`
/// those that would change if all routes were computed anew.
///
/// Status 1 if a failure cuts a CA off, leaves a pair without a route, or lets routes deadlock.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct WhatifArgs {
    /// Fail switches instead of links
    #[arg(long)]
    switches: bool,
    /// Fail links to CAs too
    #[arg(long, conflicts_with = "switches")]
    hosts: bool,
    #[command(flatten)]
    fabric: FabricArgs,
    #[command(flatten)]
    route: RouteArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib whatif --fabric fabric.net --engine updn
  ib whatif --fabric fat-tree:radix=24,levels=2 --switches";

/// One failure and what follows from it.
#[derive(Serialize)]
struct Failure {
    fails: String,
    cut_off: Vec<String>,
    moved: u64,
    moved_in_full: u64,
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
    let mut failures = Vec::with_capacity(losses.len());
    for (done, &loss) in losses.iter().enumerate() {
        progress.set(done);
        let engine = before.engine();
        let outcome = whatif::fail(&fabric, &lids, engine, &options, &before, loss);
        failures.push(describe(&fabric, &outcome));
    }
    drop(progress);
    let verdict = Verdict::of(failures.iter().all(Failure::holds));
    let mut out = io::stdout().lock();
    if as_json {
        json::print(&mut out, &failures)?;
        return Ok(verdict);
    }
    let mut table = Table::new([
        "fails",
        "cut off",
        "moved",
        "in full",
        "unreachable",
        "load max",
        "deadlock",
    ]);
    for failure in &failures {
        table.row([
            failure.fails.clone(),
            failure.cut_off.len().to_string(),
            failure.moved.to_string(),
            failure.moved_in_full.to_string(),
            failure.unreachable.to_string(),
            failure.load_max.to_string(),
            match (&failure.error, failure.deadlock_free) {
                (Some(error), _) => error.clone(),
                (None, true) => "none".to_owned(),
                (None, false) => "cycle".to_owned(),
            },
        ]);
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
        moved_in_full: outcome.moved_in_full,
        recomputed: outcome.recomputed.as_ref().map(ToString::to_string),
        unreachable: report.map_or(0, |report| report.unreachable),
        loops: report.map_or(0, |report| report.loops),
        deadlock_free: report.is_ok_and(|report| report.deadlock_free),
        load_max: report.map_or(0, |report| report.link_load.max),
        error: report.err().map(ToString::to_string),
    }
}
