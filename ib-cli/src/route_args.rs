//! The options of routing that several commands share, under OpenSM's names.

use std::path::PathBuf;

use clap::Args;
use ib_routing::{
    Fabric, LidMap, RouteError, RouteOptions, Routes, SharedEngine,
    engine::{self, chain, torus_2qos},
    format::{guid_list, lfts, lid_matrix},
};
use ib_wire::Lmc;

use crate::{
    engine_args::EngineArgs,
    error::CliError,
    files::{self, read_text},
    output::stderr,
};

fn engine_help() -> String {
    let others = engine::ALL
        .iter()
        .filter(|engine| **engine != &engine::AUTO);
    let names: Vec<&str> = others.map(|engine| engine.name()).collect();
    format!(
        "Routing engines in the order of preference: auto (the default: the best of the others that cannot deadlock), {}. If \
         an engine cannot route the fabric, a warning says so, and the next one is tried",
        names.join(", ")
    )
}

/// The options that say how to route.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Routing")]
pub struct RouteArgs {
    /// Routing engines in the order of preference; the help lists those that there are
    #[arg(long, value_name = "E[,E2...]", value_delimiter = ',', help = engine_help())]
    pub engine: Vec<SharedEngine>,
    /// LID mask control: 2^N LIDs for each CA port, 0 to 7 [default: 0, or what --config says]
    #[arg(long, value_name = "N", value_parser = lmc)]
    pub lmc: Option<Lmc>,
    /// GUIDs of the root switches (updn, dnup, ftree), one a line
    #[arg(long, value_name = "FILE")]
    pub roots: Option<PathBuf>,
    /// Fail if none of the engines can route the fabric, instead of falling back to minhop
    #[arg(long)]
    pub no_fallback: bool,
    /// Accept routes of a named engine even if they can deadlock
    #[arg(long)]
    pub allow_deadlock: bool,
    /// Forwarding tables that the engine `file` loads, in OpenSM's format
    #[arg(long, value_name = "FILE")]
    pub tables: Option<PathBuf>,
    /// Hops that the engine `file` routes by, in the format of OpenSM's opensm-lid-matrix.dump
    #[arg(long, value_name = "FILE")]
    pub lid_matrix_file: Option<PathBuf>,
    /// Configuration of torus-2QoS, in the format of OpenSM's torus-2QoS.conf
    #[arg(long, value_name = "FILE")]
    pub torus_config: Option<PathBuf>,
    /// Number of threads to route with; 0 means one for each processor. The routes do not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    #[command(flatten)]
    pub engines: EngineArgs,
}

fn lmc(text: &str) -> Result<Lmc, String> {
    let bits = text.parse::<u8>().ok();
    bits.and_then(|bits| Lmc::try_new(bits).ok())
        .ok_or_else(|| "expected 0 to 7".to_owned())
}

impl RouteArgs {
    /// The engines asked for; the default engine where none was.
    pub fn engines(&self) -> Vec<SharedEngine> {
        if self.engine.is_empty() {
            vec![SharedEngine::default()]
        } else {
            self.engine.clone()
        }
    }

    /// Puts what the command line says into the library's options; reads the files it names.
    pub fn apply(&self, options: &mut RouteOptions) -> Result<(), CliError> {
        options.threads = self.threads;
        if let Some(file) = &self.torus_config {
            // The engine reads the text again, with the fabric at hand; the file and the line are known here.
            let name = file.display().to_string();
            let text = read_text(&name)?;
            torus_2qos::check_config(&text).map_err(|error| files::at_line(&name, &error))?;
            options.torus_config = Some(text);
        }
        if let Some(file) = &self.roots {
            options.roots = files::read(file, guid_list::read)?;
        }
        self.engines.apply(options)
    }

    /// The library's options for a fabric that is at hand: its tables and hops are read too.
    pub fn options(&self, fabric: &Fabric) -> Result<RouteOptions, CliError> {
        let mut options = RouteOptions::default();
        self.apply(&mut options)?;
        if let Some(file) = &self.tables {
            let tables = files::read(file, |text| lfts::read(text, fabric))?;
            files::warn(file.display(), &tables.warnings);
            options.lfts = Some(tables.routes);
        }
        if let Some(file) = &self.lid_matrix_file {
            let (matrix, warnings) = files::read(file, |text| lid_matrix::read(text, fabric))?;
            files::warn(file.display(), &warnings);
            options.lid_matrix = Some(matrix);
        }
        Ok(options)
    }

    /// Routes with the first engine that can; says which could not.
    pub fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, CliError> {
        let chosen = chain::route(&self.engines(), self.no_fallback, fabric, lids, options)
            .map_err(|error| self.locate(&error))?;
        for (_, error) in &chosen.failed {
            warn_fallback(error);
        }
        Ok(chosen.routes)
    }
}

impl RouteArgs {
    /// The error with the file that it is about.
    fn locate(&self, error: &RouteError) -> CliError {
        match (error, &self.roots) {
            (RouteError::NoRoot { .. }, Some(file)) => CliError::at(file.display(), error),
            _ => CliError::input(error),
        }
    }
}

/// Says that an engine could not route the fabric. The error names the engine.
pub fn warn_fallback(error: &RouteError) {
    stderr::warn(format_args!("{error}; the next engine is tried"));
}
