//! `ib health`: what is wrong in a subnet, where, and what to do.

use std::{
    io::{self, Write},
    path::PathBuf,
    thread,
    time::Duration,
};

use ib_diag::{
    CheckOptions, CheckReport, Contents, CounterScope, Finding, Severity, Snapshot, Thresholds,
    Value, check,
};
use ib_mad::SmKey;
use ib_routing::{
    LidMap,
    format::{ibnetdiscover, sls},
};
use ib_wire::Sl;
use serde_json::{Map, json};

use crate::{
    commands::query::sm_key,
    error::{CliError, Verdict},
    files,
    output::{count, json},
    source::{SourceArgs, ThresholdArgs, read_snapshot},
};

/// Check a subnet: identities, links, counters, managers, routes, lanes, groups, devices.
///
/// Only reads. Each finding has a severity, a place (node, GUID, port, the other end) and the action to take. Status 1
/// if a finding is an error.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct HealthArgs {
    /// Judge error counters by their growth in this many seconds, instead of by their totals. Counters are read twice,
    /// everything else once
    #[arg(long, value_name = "SECONDS", conflicts_with = "since")]
    interval: Option<f64>,
    /// Judge error counters by their growth since this snapshot, instead of by their totals
    #[arg(long, value_name = "SNAPSHOT")]
    since: Option<PathBuf>,
    #[command(flatten)]
    thresholds: ThresholdArgs,
    /// The intended topology, in ibnetdiscover's format: each difference is a finding
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Service level of every pair of CA ports, for the check of deadlock [default: 0 for all]
    #[arg(long, value_name = "FILE")]
    sls: Option<PathBuf>,
    /// SM_Key, decimal or 0x: with the right one subnet administration shows the members of multicast groups, and
    /// members that get no packets are found
    #[arg(long, value_name = "KEY", default_value = "0", value_parser = sm_key)]
    sm_key: SmKey,
    /// Also print notes: findings that need no action
    #[arg(long)]
    notes: bool,
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib health
  ib health --interval 10 --expect planned.net
  ib health --from monday.ibsnap --json";

pub fn run(args: HealthArgs, as_json: bool) -> Result<Verdict, CliError> {
    let mut options = CheckOptions {
        thresholds: args.thresholds.read(Thresholds::default())?,
        ..CheckOptions::default()
    };
    if let Some(file) = &args.expect {
        let topology = files::read(file, ibnetdiscover::read)?;
        files::warn(file.display(), &topology.warnings);
        options.expected = Some(args.source.names.read()?.renamed(topology.fabric));
    }
    let earlier = args.since.as_deref().map(read_snapshot).transpose()?;
    let source = args.source.open()?;
    // A snapshot is judged by what it holds.
    let contents = match source.is_live() {
        true => Contents::all(),
        false => Contents::empty(),
    };
    let mut snapshot = source.snapshot_of_routes(contents)?;
    if source.is_live() {
        source.add_groups(&mut snapshot, args.sm_key)?;
    }
    let mut earlier = earlier;
    if let Some(seconds) = args.interval {
        let seconds = Duration::try_from_secs_f64(seconds).map_err(|_| {
            CliError::input(format_args!(
                "--interval: {seconds} s, expected a time above 0"
            ))
        })?;
        thread::sleep(seconds);
        let live = source.live("--interval")?;
        let later = live.counters(snapshot.clone(), None, CounterScope::All)?;
        earlier = Some(std::mem::replace(&mut snapshot, later));
    }
    if let Some(file) = &args.sls {
        options.sls = Some(read_sls(file, &snapshot)?);
    }
    let report = check(&snapshot, earlier.as_ref(), &options);
    let mut out = io::stdout().lock();
    if as_json {
        json::print(&mut out, &document(&report))?;
    } else {
        print(&mut out, &report, &snapshot, args.notes)?;
    }
    Ok(Verdict::of(report.count(Severity::Error) == 0))
}

fn read_sls(file: &std::path::Path, snapshot: &Snapshot) -> Result<ib_routing::PairSls, CliError> {
    let fabric = snapshot.fabric();
    let lids = LidMap::of_fabric(&fabric);
    let mut routes = snapshot.routes(&fabric, &lids, Sl::ZERO);
    files::warned(file, |text| {
        let warnings = sls::read(text, &lids, &mut routes)?;
        Ok(((), warnings))
    })?;
    match routes.sls() {
        ib_routing::SlTable::ByPair(sls) => Ok(sls.clone()),
        _ => Err(CliError::at(
            file.display(),
            "no service levels, expected lines H and P",
        )),
    }
}

fn document(report: &CheckReport) -> serde_json::Value {
    let findings = report.findings.iter().map(|finding| {
        let value = |value: &Option<Value>| match value {
            Some(Value::Number(number)) => json!(number),
            Some(Value::Text(text)) => json!(text),
            None => serde_json::Value::Null,
        };
        json!({
            "check": finding.check.name(),
            "severity": finding.severity.name(),
            "node_guid": finding.place.node_guid.map(|guid| guid.to_string()),
            "port": finding.place.port.map(|port| port.0),
            "name": finding.place.name,
            "peer": finding.place.peer,
            "value": value(&finding.value),
            "limit": value(&finding.limit),
            "message": finding.message,
            "action": finding.action,
        })
    });
    let checked: Map<String, serde_json::Value> = report
        .checked
        .iter()
        .map(|(check, count)| (check.name().to_owned(), json!(count)))
        .collect();
    json!({ "findings": findings.collect::<Vec<_>>(), "checked": checked })
}

fn print(
    out: &mut impl Write,
    report: &CheckReport,
    snapshot: &Snapshot,
    notes: bool,
) -> io::Result<()> {
    let is_shown = |finding: &&Finding| notes || finding.severity > Severity::Info;
    for finding in report.findings.iter().filter(is_shown) {
        print_finding(out, finding)?;
        writeln!(out)?;
    }
    let not_judged: Vec<&str> = report
        .checked
        .iter()
        .filter(|(_, count)| **count == 0)
        .map(|(check, _)| check.name())
        .collect();
    if !not_judged.is_empty() {
        writeln!(out, "nothing to look at for: {}", not_judged.join(", "))?;
    }
    writeln!(
        out,
        "{}, {}: {}, {}, {}{}",
        count(snapshot.nodes.len(), "node", "nodes"),
        count(snapshot.cables().count(), "link", "links"),
        count(report.count(Severity::Error), "error", "errors"),
        count(report.count(Severity::Warning), "warning", "warnings"),
        count(report.count(Severity::Info), "note", "notes"),
        if notes || report.count(Severity::Info) == 0 {
            ""
        } else {
            " (--notes shows them)"
        }
    )
}

fn print_finding(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    writeln!(
        out,
        "{:<7}   {:<17}   {}",
        finding.severity, finding.check, finding.place
    )?;
    if let Some(peer) = &finding.place.peer {
        writeln!(out, "    other end: {peer}")?;
    }
    writeln!(out, "    {}", finding.message)?;
    writeln!(out, "    do: {}", finding.action)
}
