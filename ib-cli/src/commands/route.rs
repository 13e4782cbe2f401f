//! `ib route`: routes a fabric offline, verifies the routes, and writes the tables.

use std::{io, path::PathBuf, time::Instant};

use ib_routing::{
    LidMap, LidOptions,
    format::{lfts, sl2vl, sls},
    verify,
};

use crate::{
    error::{CliError, Verdict},
    fabric_spec::FabricArgs,
    files,
    output::report::{Report, Seconds, seconds},
    route_args::RouteArgs,
};

/// Route a fabric offline and verify the result.
#[derive(Debug, clap::Args)]
pub struct RouteCommand {
    #[command(flatten)]
    fabric: FabricArgs,
    #[command(flatten)]
    route: RouteArgs,
    /// Write the forwarding tables in the format of OpenSM's opensm-lfts.dump
    #[arg(long, value_name = "FILE")]
    lfts: Option<PathBuf>,
    /// Write the service level of every pair of CA ports
    #[arg(long, value_name = "FILE")]
    sls: Option<PathBuf>,
    /// Write the SLtoVL tables in the format of OpenSM's opensm-sl2vl.dump
    #[arg(long, value_name = "FILE")]
    sl2vl: Option<PathBuf>,
}

pub fn run(args: RouteCommand, json: bool) -> Result<Verdict, CliError> {
    let began = Instant::now();
    let fabric = args.fabric.load()?;
    let mut times = Seconds::default();

    let started = Instant::now();
    let options = LidOptions {
        lmc: args.route.lmc,
        ..LidOptions::default()
    };
    let lids = LidMap::assign(&fabric, &options)
        .map_err(|error| CliError::at(&args.fabric.fabric, error))?;
    times.lids = seconds(started.elapsed());

    let started = Instant::now();
    let routes = args.route.route(&fabric, &lids)?;
    times.route = seconds(started.elapsed());

    let started = Instant::now();
    let verified = verify(&fabric, &lids, &routes);
    times.verify = seconds(started.elapsed());
    times.total = seconds(began.elapsed());

    if let Some(file) = &args.lfts {
        files::write(file, &lfts::write(&fabric, &lids, &routes))?;
    }
    if let Some(file) = &args.sls {
        files::write(file, &sls::write(&lids, &routes))?;
    }
    if let Some(file) = &args.sl2vl {
        files::write(file, &sl2vl::write(&fabric, &lids, &routes))?;
    }
    let report = Report::offline(&fabric, &lids, Some(routes.engine()), times, &verified);
    report.print(&mut io::stdout().lock(), json)?;
    Ok(report.verdict())
}
