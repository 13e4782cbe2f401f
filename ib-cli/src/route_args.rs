//! The options of routing that several commands share, under OpenSM's names.

use std::path::PathBuf;

use clap::Args;
use ib_routing::{Fabric, LidMap, RouteError, RouteOptions, Routes, RoutingEngine};
use ib_wire::Lmc;

use crate::{error::CliError, fabric_spec::read_text};

/// The options that say how to route.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Routing")]
pub struct RouteArgs {
    /// Routing engines in the order of preference: minhop, updn, dnup, ftree, dor, torus-2QoS, lash,
    /// sssp, dfsssp, nue, file. The next one is tried, loudly, where one cannot route the fabric
    #[arg(long, value_name = "E[,E2...]", value_delimiter = ',')]
    pub engine: Vec<RoutingEngine>,
    /// LID mask control: 2^N LIDs for each CA port, 0 to 7
    #[arg(long, value_name = "N", default_value = "0", value_parser = lmc)]
    pub lmc: Lmc,
    /// GUIDs of the root switches (updn, dnup, ftree), one a line
    #[arg(long, value_name = "FILE")]
    pub roots: Option<PathBuf>,
    /// Configuration of torus-2QoS
    #[arg(long, value_name = "FILE")]
    pub torus_config: Option<PathBuf>,
    /// Threads to route with; 0: as many as the machine has. The routes are the same
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

fn lmc(text: &str) -> Result<Lmc, String> {
    let bits = text.parse::<u8>().ok();
    bits.and_then(|bits| Lmc::try_new(bits).ok())
        .ok_or_else(|| "expected 0 to 7".to_owned())
}

impl RouteArgs {
    /// The engines asked for; the default engine where none was.
    pub fn engines(&self) -> Vec<RoutingEngine> {
        if self.engine.is_empty() {
            vec![RoutingEngine::default()]
        } else {
            self.engine.clone()
        }
    }

    /// Puts what the command line says into the library's options; reads the files it names.
    pub fn apply(&self, options: &mut RouteOptions) -> Result<(), CliError> {
        options.threads = self.threads;
        if let Some(file) = &self.torus_config {
            options.torus_config = Some(read_text(&file.display().to_string())?);
        }
        if let Some(file) = &self.roots {
            options.roots = guids(&file.display().to_string())?;
        }
        Ok(())
    }

    /// Routes with the first engine that can.
    pub fn route(&self, fabric: &Fabric, lids: &LidMap) -> Result<Routes, CliError> {
        let mut options = RouteOptions::default();
        self.apply(&mut options)?;
        let mut reason: Option<(RoutingEngine, RouteError)> = None;
        for engine in self.engines() {
            if let Some((engine, error)) = &reason {
                eprintln!("warning: {engine}: {error}; trying the next engine");
            }
            match engine.route(fabric, lids, &options) {
                Ok(routes) => return Ok(routes),
                Err(error) => reason = Some((engine, error)),
            }
        }
        Err(match reason {
            Some((engine, error)) => CliError::at(engine, error),
            None => CliError::Input("no routing engine, expected at least one".to_owned()),
        })
    }
}

/// The GUIDs of a file, one a line; `#` begins a comment.
fn guids(name: &str) -> Result<Vec<ib_wire::Guid>, CliError> {
    let text = read_text(name)?;
    let mut guids = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let guid = line.parse().map_err(|_| {
            CliError::at(
                format_args!("{name}:{}", index + 1),
                format_args!("`{line}` is no GUID, expected up to 16 hexadecimal digits"),
            )
        })?;
        guids.push(guid);
    }
    Ok(guids)
}
