//! `ib route`: routes a fabric offline, verifies the routes, and writes the tables.

mod clusters;
mod update;

use std::{io, path::PathBuf, time::Instant};

use ib_routing::{
    Fabric, LidMap, LidOptions, Routes, cluster,
    format::{
        guid2lid,
        lfts::{self, Tables},
        mcfdbs::MulticastTables,
        sl2vl, sls,
    },
    verify,
};
use serde::Serialize;

use self::{
    clusters::ClusterReport,
    update::{FromArgs, UpdateReport},
};
use crate::{
    error::{CliError, Verdict},
    fabric_spec::FabricArgs,
    files,
    output::{
        json,
        report::{BAD_ROUTES, GOOD_ROUTES, Report, Seconds, seconds},
    },
    route_args::RouteArgs,
};

/// Route a fabric offline and verify the result.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RouteCommand {
    /// Configurations of logical clusters. Each cluster is routed with only what its configuration says of the others,
    /// by its own engine if it names one. Then the tables of all clusters together are verified
    #[arg(
        long,
        value_name = "FILE[,FILE2...]",
        value_delimiter = ',',
        conflicts_with_all = ["tables", "lid_matrix_file"]
    )]
    clusters: Vec<PathBuf>,
    /// LIDs of ports by GUID, in the format of OpenSM's file guid2lid
    #[arg(long, value_name = "FILE")]
    guid2lid: Option<PathBuf>,
    /// Write the forwarding tables in the format of OpenSM's opensm-lfts.dump
    #[arg(long, value_name = "FILE")]
    lfts: Option<PathBuf>,
    /// Write the service level of every pair of CA ports
    #[arg(long, value_name = "FILE")]
    sls: Option<PathBuf>,
    /// Write the SLtoVL tables in the format of OpenSM's opensm-sl2vl.dump
    #[arg(long, value_name = "FILE")]
    sl2vl: Option<PathBuf>,
    /// Write all tables to this directory in OpenSM's formats
    #[arg(long, value_name = "DIR")]
    dump_dir: Option<PathBuf>,
    #[command(flatten)]
    fabric: FabricArgs,
    #[command(flatten)]
    route: RouteArgs,
    #[command(flatten)]
    from: FromArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib route --fabric fabric.net --engine updn,lash,nue
  ib route --fabric fabric.net --engine dfsssp --lfts lfts --sls sls --sl2vl sl2vl
  ib route --fabric fabric.net --from lfts --repair --order order
                                             the fewest changes that repair the tables, in a safe order";

/// The report of the routes, with a line on each cluster and on the update from old tables.
#[derive(Serialize)]
struct WholeReport<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    clusters: &'a [ClusterReport],
    #[serde(skip_serializing_if = "Option::is_none")]
    update: Option<&'a UpdateReport>,
}

pub fn run(args: RouteCommand, json: bool) -> Result<Verdict, CliError> {
    let began = Instant::now();
    let files = [&args.lfts, &args.sls, &args.sl2vl].into_iter().flatten();
    if json && files.into_iter().any(|file| file.as_os_str() == "-") {
        let what = "stdout holds one JSON document, expected files for the tables";
        return Err(CliError::at("--json", what));
    }
    let fabric = args.fabric.load()?;
    let mut times = Seconds::default();
    let old = args.from.read(&fabric)?;
    let (lids, routes, engine, clusters) = args.work(&fabric, old.as_ref(), &mut times)?;

    let started = Instant::now();
    let verified = verify(&fabric, &lids, &routes);
    times.verify = seconds(started.elapsed());
    times.total = seconds(began.elapsed());

    args.write(&fabric, &lids, &routes)?;
    let update = match &old {
        Some(old) => Some(args.from.plan(&fabric, &lids, old, &routes)?),
        None => None,
    };
    let report = Report::offline(&fabric, &lids, engine, times, &verified);
    let mut out = io::stdout().lock();
    if json {
        let report = WholeReport {
            report: &report,
            clusters: &clusters,
            update: update.as_ref(),
        };
        json::print(&mut out, &report)?;
        return Ok(report.report.verdict());
    }
    if !clusters.is_empty() {
        clusters::print(&clusters, &mut out)?;
    }
    if let Some(update) = &update {
        update.print(&mut out)?;
    }
    report.print_text(&mut out)?;
    report.print_verdict(&mut out, GOOD_ROUTES, BAD_ROUTES)?;
    Ok(report.verdict())
}

/// LIDs and routes, the engine if there is one, and what is said of each cluster.
type RoutedFabric = (LidMap, Routes, Option<&'static str>, Vec<ClusterReport>);

impl RouteCommand {
    fn work(
        &self,
        fabric: &Fabric,
        old: Option<&Tables>,
        times: &mut Seconds,
    ) -> Result<RoutedFabric, CliError> {
        let started = Instant::now();
        let mut options = LidOptions {
            lmc: self.route.lmc.unwrap_or_default(),
            ..LidOptions::default()
        };
        if let Some(file) = &self.guid2lid {
            options.database = files::read(file, guid2lid::read)?;
        }
        if let Some(old) = old {
            let known = old.lids.destinations().iter();
            let known = known.map(|port| (port.guid, port.range.base()));
            options.database.extend(known);
        }
        if !self.clusters.is_empty() {
            let routed = clusters::route(&self.clusters, fabric, &self.route, &options)?;
            times.route = seconds(started.elapsed());
            let cluster::Union { lids, routes } = routed.union;
            return Ok((lids, routes, routed.engine, routed.reports));
        }
        let lids = LidMap::assign(fabric, &options)
            .map_err(|error| CliError::at(&self.fabric.fabric, error))?;
        times.lids = seconds(started.elapsed());

        let started = Instant::now();
        let routes = match old {
            Some(old) if self.from.repair => self.from.repaired(fabric, &lids, old, &self.route)?,
            _ => {
                let options = self.route.options(fabric)?;
                self.route.route(fabric, &lids, &options)?
            }
        };
        times.route = seconds(started.elapsed());
        let engine = Some(routes.engine().name());
        Ok((lids, routes, engine, Vec::new()))
    }

    /// Writes the files that were asked for.
    fn write(&self, fabric: &Fabric, lids: &LidMap, routes: &Routes) -> Result<(), CliError> {
        if let Some(file) = &self.lfts {
            files::write(file, &lfts::write(fabric, lids, routes))?;
        }
        if let Some(file) = &self.sls {
            files::write(file, &sls::write(lids, routes))?;
        }
        if let Some(file) = &self.sl2vl {
            files::write(file, &sl2vl::write(fabric, lids, routes))?;
        }
        if let Some(directory) = &self.dump_dir {
            files::dump(directory, fabric, lids, routes, &MulticastTables::new())?;
        }
        Ok(())
    }
}
