//! `ib check`: verifies anyone's tables on a fabric.

mod proof;
mod traffic;

use std::{
    io::{self, Write},
    path::PathBuf,
    time::Instant,
};

use ib_routing::{
    Fabric, VerifyReport, VlMap,
    format::{lfts, sl2vl, sls},
    verify,
    verify::End,
};

use serde::Serialize;

use self::{proof::Proof, traffic::Traffic};
use crate::{
    error::{CliError, Verdict},
    fabric_spec::FabricArgs,
    files,
    output::{
        json,
        report::{Report, Seconds, seconds},
    },
};

/// Virtual lanes for data that an SLtoVL table can name.
const DATA_VLS: u8 = 15;

/// Verify routing tables: reachability of all LID pairs, loops, deadlock, hops, balance.
///
/// Status 1 if a pair has no route, a route loops, or traffic between CAs can deadlock.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// Forwarding tables: OpenSM's opensm-lfts.dump, or the output of ibroute or dump_fts
    #[arg(long, value_name = "FILE", required = true)]
    lfts: PathBuf,
    /// Service level of every pair of CA ports [default: 0 for all]
    #[arg(long, value_name = "FILE")]
    sls: Option<PathBuf>,
    /// SLtoVL tables: OpenSM's opensm-sl2vl.dump [default: VL = SL]
    #[arg(long, value_name = "FILE")]
    sl2vl: Option<PathBuf>,
    /// Also count how packets meet on links in shifts, all to all and random permutations, and what the
    /// paths to the LIDs of one port have in common
    #[arg(long)]
    traffic: bool,
    /// Write the proof that nothing deadlocks, an order of the channels, and check it independently
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    #[command(flatten)]
    fabric: FabricArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib check --fabric fabric.net --lfts opensm-lfts.dump
  ib check --fabric fabric.net --lfts lfts --sls sls --sl2vl sl2vl --json
  ib check --fabric fabric.net --lfts lfts --traffic --certificate order";

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
    let tables = files::read(&args.lfts, |text| lfts::read(text, &fabric))?;
    files::warn(args.lfts.display(), &tables.warnings);
    let mut routes = tables.routes;
    if let Some(file) = &args.sls {
        files::warned(file, |text| {
            let warnings = sls::read(text, &tables.lids, &mut routes)?;
            Ok(((), warnings))
        })?;
    }
    let lanes = match &args.sl2vl {
        Some(file) => files::warned(file, |text| sl2vl::read(text, &fabric))?,
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
    let checked = Checked {
        report: Report::offline(&fabric, lids, None, times, &verified),
        traffic: args.traffic.then(|| Traffic::new(&fabric, lids, &routes)),
        certificate: proof
            .map(|file| Proof::new(&fabric, lids, &routes, &verified, file))
            .transpose()?,
    };
    let mut out = io::stdout().lock();
    if json {
        json::print(&mut out, &checked)?;
    } else {
        checked.print(&mut out)?;
        print_failures(&mut out, &fabric, &verified)?;
    }
    Ok(checked.verdict())
}

impl Checked {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.report.print(out, false)?;
        if let Some(traffic) = &self.traffic {
            traffic.print(out)?;
        }
        if let Some(certificate) = &self.certificate {
            certificate.print(out)?;
        }
        Ok(())
    }

    fn verdict(&self) -> Verdict {
        let proved = self.certificate.as_ref().is_none_or(Proof::holds);
        match self.report.verdict() {
            Verdict::Holds => Verdict::of(proved),
            Verdict::Fails => Verdict::Fails,
        }
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
                End::Dead => "ends",
                End::Loop => "loops",
                End::Dropped => "is mapped to VL15 and dropped",
            },
            fabric.switch_guid(failure.at)
        )?;
    }
    Ok(())
}
