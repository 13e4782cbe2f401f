//! The log of `ib sm`: one structured line for each decision of the manager, to a file or to standard error.
//!
//! Lines are those of [`Event`], with their name and level; modules are parts of the manager (`sweep`, `routing`,
//! `election`, ...). Options of the command line win over those of OpenSM's option file (`log_file`, `log_max_size`,
//! `log_flags`, `force_log_flush`, `accum_log_file`, `log_prefix`, `node_name_map_name`).

mod file;
mod modules;
mod names;
mod spans;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use clap::Args;
use ib_diag::PerfManagerEvent;
use ib_sm::{CongestionEvent, Event, EventSeverity, HostOptions};
use tracing_subscriber::{
    Layer as _, Registry, filter::Targets, fmt, layer::SubscriberExt as _, reload,
    util::SubscriberInitExt as _,
};

pub use self::spans::Transactions;
use self::{
    file::{FileOptions, LogFile},
    names::NodeNames,
    spans::SweepSpans,
};
use crate::{error::CliError, output::stderr};

/// Options of the log.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Log")]
pub struct LogArgs {
    /// Log to this file [default: log_file of --config]. SIGUSR1 and SIGHUP open it again, as log rotation needs
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Level of the log: error, warn, info, debug or trace. A module may have a level of its own, as in
    /// `info,routing=debug`. Without --log-file the log goes to stderr. Modules: sweep, discovery, lids, routing,
    /// ports, multicast, election, traps, control, perf, congestion, and transaction, which logs each datagram at trace
    /// [default: by log_flags of --config]
    #[arg(long, value_name = "SPEC", env = "IB_LOG", hide_env_values = true)]
    log_level: Option<String>,
    /// Rename the log file to FILE.1 and start a new one when it has this many megabytes; 0 sets no limit [default:
    /// log_max_size of --config]
    #[arg(long, value_name = "MB")]
    log_max_size: Option<u32>,
    /// Log lines as JSON objects
    #[arg(long)]
    log_json: bool,
}

/// The log; clones share it.
#[derive(Clone, Default)]
pub struct Log(Option<Arc<Inner>>);

struct Inner {
    /// `None`: standard error.
    file: Option<LogFile>,
    filter: reload::Handle<Targets, Registry>,
    level: Mutex<String>,
    /// The level comes from `log_flags`, and the levels of modules that follow it.
    by_flags: Option<String>,
    names: NodeNames,
    sweep: Mutex<SweepSpans>,
}

impl Log {
    /// Opens the log that the command line or the option file asks for, if any does.
    ///
    /// A log file of the option file that cannot be opened is warned of, and the manager runs without: OpenSM's template
    /// names one.
    ///
    /// # Errors
    /// The file of the command line cannot be opened, a level is none, the map of names cannot be read.
    pub fn open(args: &LogArgs, host: &HostOptions) -> Result<Self, CliError> {
        let configured = host.log_file.as_ref().map(PathBuf::from);
        let is_configured = args.log_file.is_none();
        let path = args.log_file.clone().or(configured);
        if path.is_none() && args.log_level.is_none() {
            return Ok(Self::default());
        }
        let by_flags = match &args.log_level {
            Some(_) => None,
            None => Some(modules::levels(host.per_module_logging_file.as_deref())?),
        };
        let level = match (&args.log_level, &by_flags) {
            (Some(level), _) => level.clone(),
            (None, modules) => {
                let modules = modules.as_deref().unwrap_or_default();
                format!("{}{modules}", level_of(host.log_flags))
            }
        };
        let filter = parse(&level).map_err(|reason| CliError::at("--log-level", reason))?;
        let options = FileOptions {
            max_bytes: u64::from(args.log_max_size.unwrap_or(host.log_max_size)) << 20,
            flush: host.force_log_flush,
            append: host.accum_log_file,
            prefix: match (&host.log_prefix, args.log_json) {
                (Some(prefix), false) => format!("{prefix} "),
                _ => String::new(),
            },
        };
        let file = match path {
            None => None,
            Some(path) => match LogFile::open(path.clone(), options) {
                Ok(file) => Some(file),
                Err(error) if is_configured => {
                    let file = path.display();
                    stderr::warn(format_args!("log_file {file}: {error}; nothing is logged"));
                    return Ok(Self::default());
                }
                Err(error) => return Err(CliError::file(path.display(), "written", &error)),
            },
        };
        let names = NodeNames::open(host.node_name_map_name.as_deref())?;
        let (filter, handle) = reload::Layer::new(filter);
        let layer = fmt::layer().with_ansi(false);
        let layer = match (&file, args.log_json) {
            (Some(file), false) => layer.with_writer(file.clone()).boxed(),
            (Some(file), true) => layer.json().with_writer(file.clone()).boxed(),
            (None, false) => layer.with_writer(std::io::stderr).boxed(),
            (None, true) => layer.json().with_writer(std::io::stderr).boxed(),
        };
        let registry = tracing_subscriber::registry().with(layer.with_filter(filter));
        registry
            .try_init()
            .map_err(|error| CliError::at("the log", error))?;
        let level = Mutex::new(level);
        Ok(Self(Some(Arc::new(Inner {
            file,
            filter: handle,
            level,
            by_flags,
            names,
            sweep: Mutex::default(),
        }))))
    }

    /// Returns true if lines go to standard error, beside those for a person.
    pub fn is_on_stderr(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| inner.file.is_none())
    }

    /// Logs an event of the manager.
    pub fn event(&self, event: &Event) {
        let Some(inner) = &self.0 else {
            return;
        };
        let mut spans = inner.sweep.lock().unwrap_or_else(PoisonError::into_inner);
        spans.within(event, || inner.line_of(event));
    }

    /// Logs an event of the performance manager.
    pub fn performance(&self, event: &PerfManagerEvent) {
        let Some(inner) = &self.0 else {
            return;
        };
        let text = inner.names.annotate(&event.to_string());
        match event.is_warning() {
            true => tracing::warn!(target: "perf", event = event.name(), "{text}"),
            false => tracing::info!(target: "perf", event = event.name(), "{text}"),
        }
    }

    /// Logs an event of the congestion control manager.
    pub fn congestion(&self, event: &CongestionEvent) {
        let Some(inner) = &self.0 else {
            return;
        };
        let text = inner.names.annotate(&event.to_string());
        match event.is_warning() {
            true => tracing::warn!(target: "congestion", event = event.name(), "{text}"),
            false => tracing::info!(target: "congestion", event = event.name(), "{text}"),
        }
    }

    /// Logs a decision of the host, or an order that it was given.
    pub fn decision(&self, text: &str) {
        if self.0.is_some() {
            tracing::info!(target: "control", "{text}");
        }
    }

    /// Logs what the host refused or could not do.
    pub fn warning(&self, text: &str) {
        if self.0.is_some() {
            tracing::warn!(target: "control", "{text}");
        }
    }

    /// Logs a command of the console.
    pub fn command(&self, line: &str) {
        if self.0.is_some() {
            let line = stderr::printable(line);
            tracing::debug!(target: "control", command = line.as_str(), "a command");
        }
    }

    /// Writes each line to the disk at once, or leaves the moment to the system.
    pub fn set_flush(&self, flush: bool) {
        if let Some(file) = self.0.as_ref().and_then(|inner| inner.file.as_ref()) {
            file.set_flush(flush);
        }
    }

    /// The level, as `--log-level` takes it.
    pub fn level(&self) -> String {
        let Some(inner) = &self.0 else {
            return "off: there is no --log-file, log_file or --log-level".to_owned();
        };
        let level = inner.level.lock();
        level.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Logs something else from now on.
    ///
    /// # Errors
    /// In words.
    pub fn set_level(&self, spec: &str) -> Result<(), String> {
        let Some(inner) = &self.0 else {
            return Err(self.level());
        };
        // OpenSM's flags are a number.
        let flags = ib_wire::addr::number(spec, 0xff).and_then(|flags| u8::try_from(flags).ok());
        let spec = match flags {
            Some(flags) => level_of(flags),
            None => spec,
        };
        let filter = parse(spec)?;
        inner
            .filter
            .reload(filter)
            .map_err(|error| error.to_string())?;
        *inner.level.lock().unwrap_or_else(PoisonError::into_inner) = spec.to_owned();
        Ok(())
    }

    /// Reads the files that a new configuration names for the log, as the next start does: a running manager refuses
    /// what that start would refuse.
    ///
    /// # Errors
    /// A file cannot be read, or a line of it is wrong.
    pub fn check(&self, host: &HostOptions) -> Result<(), CliError> {
        let Some(inner) = &self.0 else {
            return Ok(());
        };
        NodeNames::open(host.node_name_map_name.as_deref())?;
        if inner.by_flags.is_some() {
            modules::levels(host.per_module_logging_file.as_deref())?;
        }
        Ok(())
    }

    /// Takes over other `log_flags`, unless the command line says what to log.
    pub fn follow(&self, flags: u8) {
        let modules = self.0.as_ref().and_then(|inner| inner.by_flags.as_ref());
        if let Some(modules) = modules
            && let Err(reason) = self.set_level(&format!("{}{modules}", level_of(flags)))
        {
            stderr::warn(format_args!("log_flags: {reason}"));
        }
    }

    /// Opens the file again: it may have been renamed.
    pub fn reopen(&self) {
        let file = self.0.as_ref().and_then(|inner| inner.file.as_ref());
        if let Some(Err(error)) = file.map(LogFile::reopen) {
            stderr::warn(format_args!("the log file cannot be opened again: {error}"));
        }
    }
}

impl Inner {
    /// Logs one line for an event of the manager.
    fn line_of(&self, event: &Event) {
        macro_rules! log {
            ($target:literal) => {{
                let (name, text) = (event.name(), || self.names.annotate(&event.to_string()));
                match event.severity() {
                    EventSeverity::Error => tracing::error!(target: $target, event = name, "{}", text()),
                    EventSeverity::Warning => tracing::warn!(target: $target, event = name, "{}", text()),
                    EventSeverity::Info => tracing::info!(target: $target, event = name, "{}", text()),
                    EventSeverity::Debug => tracing::debug!(target: $target, event = name, "{}", text()),
                }
            }};
        }
        match event {
            Event::NodeAppeared { .. }
            | Event::NodeVanished { .. }
            | Event::Unresponsive(_)
            | Event::DuplicateGuid { .. }
            | Event::InvalidNodeInfo { .. }
            | Event::GuidChanged { .. }
            | Event::Excluded { .. } => log!("discovery"),
            Event::LidAssigned { .. } | Event::NoPredefinedLid { .. } | Event::LidsExhausted(_) => {
                log!("lids")
            }
            Event::RoutingFallback { .. }
            | Event::RoutesRepaired { .. }
            | Event::RepairFailed(_)
            | Event::RoutesKept { .. }
            | Event::RoutesReplaced { .. }
            | Event::RoutesVerified { .. }
            | Event::TablesChange { .. }
            | Event::TableTooSmall { .. } => log!("routing"),
            Event::PKeyTableFull { .. }
            | Event::Refused { .. }
            | Event::PortShutOff { .. }
            | Event::PortNotActive { .. } => log!("ports"),
            Event::MulticastCutOff { .. } => log!("multicast"),
            Event::Trap { .. } => log!("traps"),
            Event::StandingBy { .. }
            | Event::SmStateChanged { .. }
            | Event::SmKeyMismatch { .. } => {
                log!("election")
            }
            _ => log!("sweep"),
        }
    }
}

/// The filter of a specification.
fn parse(spec: &str) -> Result<Targets, String> {
    spec.parse().map_err(|error| {
        format!("`{spec}`: {error}, expected a level, or MODULE=LEVEL with commas between")
    })
}

/// The level for OpenSM's `log_flags`.
const fn level_of(flags: u8) -> &'static str {
    match flags {
        8.. => "trace",
        4.. => "debug",
        2.. => "info",
        1 => "warn",
        0 => "off",
    }
}
