//! `ib route`: routes a fabric offline, verifies the routes, and writes the tables.

use std::{io, time::Instant};

use ib_routing::{LidMap, LidOptions, verify};

use crate::{
    error::{CliError, Verdict},
    fabric_spec::FabricArgs,
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

    let report = Report::offline(&fabric, &lids, Some(routes.engine()), times, &verified);
    report.print(&mut io::stdout().lock(), json)?;
    Ok(report.verdict())
}
