//! The options of the subnet manager that `up` and `sm` share.

use std::path::{Path, PathBuf};

use clap::Args;
use ib_sm::{
    ConfigError, OptionFiles, Partitions, PrefixRoutes, QosPolicy, RouteTables, SmConfig,
    UnknownOption,
};

use crate::{
    error::CliError,
    files::{self, read_text},
    output::stderr,
    route_args::RouteArgs,
};

/// The file of partitions in OpenSM's template.
const PARTITIONS: &str = "/etc/opensm/partitions.conf";
/// The template's torus.
const TORUS: &str = "/etc/opensm/torus-2QoS.conf";
/// The template's QoS policy.
const QOS_POLICY: &str = "/etc/opensm/qos-policy.conf";
/// The template's routers; most subnets have none.
const PREFIX_ROUTES: &str = "/etc/opensm/prefix-routes.conf";

/// The options of a subnet manager.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Manager")]
pub struct SmArgs {
    /// Options of the manager in OpenSM's format (opensm.conf). Options of the command line take precedence
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set one option of the manager, such as sm_priority=5. It takes precedence over the file. --print-config of `ib
    /// sm` lists all options
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub options: Vec<(String, String)>,
    /// Partitions in OpenSM's format (partitions.conf) [default: the file that --config names, if there
    /// is one; else every port is a full member of the default partition]
    #[arg(long, value_name = "FILE")]
    pub partitions: Option<PathBuf>,
    /// Write the tables to this directory in OpenSM's formats
    #[arg(long, value_name = "DIR")]
    pub dump_dir: Option<PathBuf>,
    /// Write every management datagram as a whole packet to this pcapng file
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    #[command(flatten)]
    pub route: RouteArgs,
}

impl SmArgs {
    /// The routing options, with the files that the configuration names where the command line names none.
    fn route_files(&self, named: &OptionFiles) -> RouteArgs {
        let mut route = self.route.clone();
        let RouteArgs {
            roots,
            torus_config,
            engines,
            ..
        } = &mut route;
        let torus = named.torus_config.as_ref();
        let torus = torus.filter(|file| *file != TORUS || Path::new(file.as_str()).exists());
        for (given, named) in [
            (roots, named.root_guid_file.as_ref()),
            (torus_config, torus),
            (&mut engines.cn_guid_file, named.cn_guid_file.as_ref()),
            (&mut engines.io_guid_file, named.io_guid_file.as_ref()),
            (&mut engines.ids_guid_file, named.ids_guid_file.as_ref()),
            (
                &mut engines.guid_routing_order_file,
                named.guid_routing_order_file.as_ref(),
            ),
            (
                &mut engines.hop_weights_file,
                named.hop_weights_file.as_ref(),
            ),
            (
                &mut engines.port_search_ordering_file,
                named.port_search_ordering_file.as_ref(),
            ),
            (
                &mut engines.ignore_guids,
                named.port_prof_ignore_file.as_ref(),
            ),
        ] {
            if given.is_none() {
                *given = named.map(PathBuf::from);
            }
        }
        route
    }

    /// The manager's configuration: the file's, then what the command line says.
    pub fn config(&self) -> Result<SmConfig, CliError> {
        let mut config = match &self.config {
            Some(file) => read_config(file)?,
            None => SmConfig::default(),
        };
        for (key, value) in &self.options {
            let source = format!("--set {key}");
            if SmConfig::option(key).is_none() {
                return Err(CliError::at(
                    source,
                    "not known, expected a key of OpenSM's options",
                ));
            }
            apply(&mut config, &source, &format!("{key} {value}"))?;
        }
        if !self.route.engine.is_empty() {
            config.routing_engines = self.route.engines();
            config.allow_deadlock = false;
        }
        config.no_fallback |= self.route.no_fallback;
        config.allow_deadlock |= self.route.allow_deadlock;
        config.lmc = self.route.lmc.unwrap_or(config.lmc);
        self.route_files(&config.files)
            .apply(&mut config.route_options)?;
        let text = |given: Option<&PathBuf>, named: Option<&String>| {
            let file = given.cloned().or_else(|| named.map(PathBuf::from));
            let text = file.map(|file| read_text(&file.display().to_string()));
            text.transpose()
        };
        let named = &config.files;
        config.route_tables = RouteTables {
            lfts: text(self.route.tables.as_ref(), named.lfts_file.as_ref())?,
            lid_matrix: text(
                self.route.lid_matrix_file.as_ref(),
                named.lid_matrix_dump_file.as_ref(),
            )?,
        };
        let named = config.partition_config_file.as_deref().map(Path::new);
        let named = named.filter(|file| *file != Path::new(PARTITIONS) || file.exists());
        if let Some(file) = self.partitions.as_deref().or(named) {
            config.partitions = files::read_list(file, Partitions::parse)?;
        }
        let routes = config.files.prefix_routes_file.as_deref().map(Path::new);
        if let Some(file) = routes.filter(|file| *file != Path::new(PREFIX_ROUTES) || file.exists())
        {
            config.prefix_routes = files::read_list(file, PrefixRoutes::parse)?;
        }
        if let Some(file) = config
            .qos_policy_file
            .as_deref()
            .filter(|_| config.qos.enabled)
        {
            let file = Path::new(file);
            if file != Path::new(QOS_POLICY) || file.exists() {
                config.qos_policy = files::read_list(file, QosPolicy::parse)?;
            } else {
                stderr::warn(format_args!(
                    "{}: there is no such file, so none is used",
                    file.display()
                ));
            }
        }
        Ok(config)
    }
}

/// The two parts of KEY=VALUE.
fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

fn read_config(file: &Path) -> Result<SmConfig, CliError> {
    let name = file.display().to_string();
    let mut config = SmConfig::default();
    let unknown = apply(&mut config, &name, &read_text(&name)?)?;
    for option in unknown {
        let (line, key) = (option.line, option.key);
        stderr::warn(format_args!("{name}:{line}: option `{key}` is not known"));
    }
    Ok(config)
}

/// Reads lines of an option file; an error names `source` and the line.
fn apply(config: &mut SmConfig, source: &str, text: &str) -> Result<Vec<UnknownOption>, CliError> {
    let refused =
        |error: ConfigError| CliError::at(format_args!("{source}:{}", error.line), error.problem);
    config.apply(text).map_err(refused)
}
