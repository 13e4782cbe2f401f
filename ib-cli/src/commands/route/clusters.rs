//! Logical clusters on the command line: their files, their routes, and a line of the report for each.

use std::{io, path::PathBuf};

use ib_routing::{
    Fabric, LidOptions, RouteOptions,
    cluster::{ClusterRoutes, ClusterView, Union},
};
use serde::Serialize;

use crate::{
    cluster_files::ClusterFiles,
    error::CliError,
    output::table::Table,
    route_args::{RouteArgs, warn_fallback},
};

/// The report of one cluster.
#[derive(Debug, Serialize)]
pub struct ClusterReport {
    name: String,
    engine: String,
    switches: usize,
    lids: usize,
    first_lid: u16,
    last_lid: u16,
    transit: Vec<TransitReport>,
}

/// The number of LIDs of other clusters whose packets leave by a port.
#[derive(Debug, Serialize)]
struct TransitReport {
    switch: String,
    port: u8,
    lids: usize,
}

/// The routes of all clusters as one, and what is said of each.
pub struct Routed {
    pub union: Union,
    /// The engine, if all have the same.
    pub engine: Option<&'static str>,
    pub reports: Vec<ClusterReport>,
}

/// Reads the configurations, checks them against each other, and routes every cluster by itself.
pub fn route(
    names: &[PathBuf],
    fabric: &Fabric,
    args: &RouteArgs,
    lids: &LidOptions,
) -> Result<Routed, CliError> {
    let files = ClusterFiles::read(names)?.without_declarations()?;
    let clusters = files.validate(fabric)?;
    let mut options = RouteOptions::default();
    args.apply(&mut options)?;
    let parts = clusters
        .route(&args.engines(), args.no_fallback, lids, &options)
        .map_err(|(name, error)| CliError::at(format_args!("cluster {name}"), error))?;
    for (_, error) in parts.iter().flat_map(|part| &part.failed) {
        warn_fallback(error);
    }
    let first = parts.first().map(|part| part.routes.engine().name());
    let same = |part: &ClusterRoutes| Some(part.routes.engine().name()) == first;
    let views = clusters.views().iter();
    Ok(Routed {
        union: Union::join(fabric, &clusters, &parts),
        engine: first.filter(|_| parts.iter().all(same)),
        reports: views
            .zip(&parts)
            .map(|(view, part)| ClusterReport::new(view, part))
            .collect(),
    })
}

impl ClusterReport {
    fn new(view: &ClusterView, part: &ClusterRoutes) -> Self {
        let config = view.config();
        let transit = part.transit.iter().map(|&(place, lids)| TransitReport {
            switch: place.switch.to_string(),
            port: place.port.0,
            lids,
        });
        Self {
            name: config.name.clone(),
            engine: part.routes.engine().to_string(),
            switches: view.own().num_switches(),
            lids: part.lids.num_lids(),
            first_lid: config.first.0,
            last_lid: config.last.0,
            transit: transit.collect(),
        }
    }
}

/// Prints a line per cluster.
pub fn print(reports: &[ClusterReport], out: &mut impl io::Write) -> io::Result<()> {
    let mut table = Table::new([
        "cluster",
        "engine",
        "switches",
        "LIDs",
        "from",
        "to",
        "transit ports",
        "LIDs least",
        "most",
    ]);
    for report in reports {
        let lids = || report.transit.iter().map(|transit| transit.lids);
        table.row([
            report.name.clone(),
            report.engine.clone(),
            report.switches.to_string(),
            report.lids.to_string(),
            report.first_lid.to_string(),
            report.last_lid.to_string(),
            report.transit.len().to_string(),
            lids().min().unwrap_or(0).to_string(),
            lids().max().unwrap_or(0).to_string(),
        ]);
    }
    table.print(out)?;
    writeln!(out)
}
