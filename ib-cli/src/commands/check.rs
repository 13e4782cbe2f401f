//! `ib check`: verifies anyone's tables on a fabric.

mod proof;
mod traffic;

use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Instant,
};

use ib_diag::Snapshot;
use ib_routing::{
    Fabric, LidMap, PortRef, VerifyReport, VlMap,
    format::{lfts, sl2vl, sls},
    verify,
    verify::RouteEnd,
};

use serde::Serialize;

use self::{proof::Proof, traffic::Traffic};
use crate::{
    error::{CliError, Verdict},
    fabric_spec::FabricArgs,
    files,
    output::{
        count, json,
        report::{BAD_ROUTES, GOOD_ROUTES, Report, Seconds, seconds},
    },
    source::snapshot_in,
};

/// Virtual lanes for data that an SLtoVL table can name.
const DATA_VLS: u8 = 15;

/// Verify routing tables: reachability of all LID pairs, loops, deadlock, hops, balance.
///
/// Status 1 if a pair has no route, a route loops, or traffic between CAs can deadlock.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// Forwarding tables: OpenSM's opensm-lfts.dump, the output of ibroute or dump_fts, or a snapshot
    #[arg(long, value_name = "FILE", required = true)]
    lfts: PathBuf,
    /// Service level of every pair of CA ports [default: 0 for all]
    #[arg(long, value_name = "FILE")]
    sls: Option<PathBuf>,
    /// SLtoVL tables: OpenSM's opensm-sl2vl.dump, or a snapshot [default: VL = SL]
    #[arg(long, value_name = "FILE")]
    sl2vl: Option<PathBuf>,
    /// Also report how many packets share a link in shift, all-to-all and random permutation traffic, and how many links
    /// the paths to the LIDs of one port share
    #[arg(long)]
    traffic: bool,
    /// Write the proof of freedom from deadlock to this file: an order of the channels, which was checked by code that
    /// shares nothing with the verifier
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    #[command(flatten)]
    fabric: FabricArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib check --fabric fabric.net --lfts opensm-lfts.dump
  ib check --fabric fabric.net --lfts lfts --sls sls --sl2vl sl2vl --json
  ib check --fabric fabric.net --lfts lfts --traffic --certificate order
  ib check --fabric taken --lfts taken --sl2vl taken     what `ib snapshot taken` read";

/// The report, and what was asked for besides.
#[derive(Serialize)]
struct Checked {
    #[serde(flatten)]
    report: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    traffic: Option<Traffic>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<Proof>,
}

pub fn run(args: CheckArgs, json: bool) -> Result<Verdict, CliError> {
    let began = Instant::now();
    let fabric = args.fabric.load()?;
    let tables = files::parse(
        &args.lfts,
        &text_of(&args.lfts, Snapshot::lfts_text)?,
        |text| lfts::read(text, &fabric),
    )?;
    files::warn(args.lfts.display(), &tables.warnings);
    if tables.lids.destinations().is_empty() {
        let what = "no LID of a port of this fabric, expected tables that name the owners of LIDs, or a fabric file \
                    with LIDs";
        return Err(CliError::at(args.lfts.display(), what));
    }
    let mut routes = tables.routes;
    if let Some(file) = &args.sls {
        files::warned(file, |text| {
            let warnings = sls::read(text, &tables.lids, &mut routes)?;
            Ok(((), warnings))
        })?;
    }
    let lanes = match &args.sl2vl {
        Some(file) => {
            let text = text_of(file, Snapshot::sl2vl_text)?;
            let (lanes, warnings) = files::parse(file, &text, |text| sl2vl::read(text, &fabric))?;
            files::warn(file.display(), &warnings);
            lanes
        }
        None => VlMap::identity(DATA_VLS),
    };
    routes.set_lanes(routes.sls().clone(), lanes, DATA_VLS);

    let started = Instant::now();
    let verified = verify(&fabric, &tables.lids, &routes);
    let times = Seconds {
        verify: seconds(started.elapsed()),
        total: seconds(began.elapsed()),
        ..Seconds::default()
    };
    let lids = &tables.lids;
    let proof = args.certificate.as_deref();
    let mut report = Report::offline(&fabric, lids, None, times, &verified);
    let certificate = proof
        .map(|file| Proof::new(&fabric, lids, &routes, &verified, file))
        .transpose()?;
    add_ports_without_lid(&mut report, &fabric, lids);
    if let Some(error) = certificate.as_ref().and_then(Proof::error) {
        report.fail(error);
    }
    let checked = Checked {
        report,
        traffic: args.traffic.then(|| Traffic::new(&fabric, lids, &routes)),
        certificate,
    };
    let mut out = io::stdout().lock();
    if json {
        json::print(&mut out, &checked)?;
    } else {
        checked.print(&mut out)?;
        print_failures(&mut out, &fabric, &verified)?;
        let report = &checked.report;
        report.print_verdict(&mut out, GOOD_ROUTES, BAD_ROUTES)?;
    }
    Ok(checked.report.verdict())
}

/// The text of a file of tables; of a snapshot, that of its tables.
fn text_of(file: &Path, of_snapshot: fn(&Snapshot) -> String) -> Result<String, CliError> {
    let name = file.display().to_string();
    let bytes = files::read_bytes(&name)?;
    match snapshot_in(&name, &bytes)? {
        Some(snapshot) => Ok(of_snapshot(&snapshot)),
        None => files::text_of(&name, &bytes),
    }
}

/// Ports without a LID that a report names.
const NAMED_PORTS: usize = 3;

/// Adds to the report the CA ports that the tables have no LID for. The verifier does not count them: nothing can
/// be sent to such a port, from any port or switch.
pub(super) fn add_ports_without_lid(report: &mut Report, fabric: &Fabric, lids: &LidMap) {
    let known = lids.destinations().iter();
    let known: BTreeSet<PortRef> = known.map(|destination| destination.end).collect();
    let mut missing = Vec::new();
    for (node, entry) in fabric.nodes().iter_enumerated() {
        if entry.type_.is_switch() {
            continue;
        }
        for (port, end) in entry.end_ports() {
            let is_used = end.peer.is_some() && !end.disabled;
            if is_used && !known.contains(&PortRef { node, port }) {
                missing.push(format!("{} ({})", end.guid, entry.name));
            }
        }
    }
    let Some(others) = (missing.len() as u64).checked_sub(1) else {
        return;
    };
    let number = others + 1;
    let ca_lids = lids.destinations().iter().filter(|port| !port.is_switch());
    let ca_lids: u64 = ca_lids
        .map(|port| u64::from(port.range.lmc().lid_count()))
        .sum();
    let routes = &mut report.routes;
    routes.pairs += number * (ca_lids + others) + ca_lids * number;
    routes.unreachable += number * (known.len() as u64 + others);
    let mut names = missing;
    let more = names.len().saturating_sub(NAMED_PORTS);
    names.truncate(NAMED_PORTS);
    let mut error = format!(
        "{} no LID in the tables: {}",
        count(number, "port of a CA has", "ports of CAs have"),
        names.join(", ")
    );
    if more > 0 {
        error += &format!(" and {more} more");
    }
    report.fail(error);
}

impl Checked {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.report.print_text(out)?;
        if let Some(traffic) = &self.traffic {
            traffic.print(out)?;
        }
        if let Some(certificate) = &self.certificate {
            certificate.print(out)?;
        }
        Ok(())
    }
}

/// The first routes that do not arrive.
fn print_failures(
    out: &mut impl Write,
    fabric: &Fabric,
    verified: &VerifyReport,
) -> io::Result<()> {
    if verified.failures.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    for failure in &verified.failures {
        writeln!(
            out,
            "{} -> LID {}: {} at {}",
            fabric.switch_guid(failure.switch),
            failure.lid,
            match failure.end {
                RouteEnd::Dead => "ends",
                RouteEnd::Loop => "loops",
                RouteEnd::Dropped => "is mapped to VL15 and dropped",
            },
            fabric.switch_guid(failure.at)
        )?;
    }
    Ok(())
}
