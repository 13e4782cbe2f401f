//! The commands, one file each: a thin layer over the libraries.

pub mod check;
pub mod completions;
pub mod conform;
pub mod ctl;
pub mod decode;
pub mod diff;
pub mod discover;
pub mod encode;
pub mod export;
pub mod generate;
pub mod health;
pub mod links;
pub mod man;
pub mod map;
pub mod nodes;
pub mod perf;
pub mod ping;
pub mod port;
pub mod ports;
pub mod query;
pub mod route;
pub mod send;
pub mod sim;
pub mod sm;
pub mod snapshot;
pub mod tables;
pub mod trace;
pub mod up;
pub mod whatif;
pub mod why;

use clap::{Args as _, Subcommand};

use crate::{
    args::{Args, taking_negatives},
    error::{CliError, Verdict},
};

/// Declares the subcommands: a row names a variant of [`Command`], and the module and type of its arguments. The module
/// has the name of the subcommand.
///
/// Each module has `pub fn run(args, json: bool) -> Result<Verdict, CliError>`. The help text of a command is the
/// documentation of its type.
macro_rules! commands {
    ($($variant:ident => $module:ident::$args:ident,)*) => {
        /// A subcommand and its arguments.
        #[derive(Debug, Subcommand)]
        pub enum Command {
            $($variant(Box<$module::$args>),)*
        }

        /// Adds the names of the subcommands; clap adds the arguments of one when it meets its name.
        pub fn deferred(root: clap::Command) -> clap::Command {
            root
                $(.subcommand(clap::Command::new(stringify!($module)).defer(|command| {
                    taking_negatives($module::$args::augment_args(command))
                })))*
        }

        /// Runs the command that the arguments name.
        ///
        /// # Errors
        /// Those of the command.
        pub fn run(args: Args) -> Result<Verdict, CliError> {
            match args.command {
                $(Command::$variant(command) => $module::run(*command, args.options.json),)*
            }
        }
    };
}

commands! {
    Up => up::UpArgs,
    Sm => sm::SmCommand,
    Ctl => ctl::CtlArgs,
    Sim => sim::SimArgs,
    Route => route::RouteCommand,
    Check => check::CheckArgs,
    Whatif => whatif::WhatifArgs,
    Discover => discover::DiscoverArgs,
    Health => health::HealthArgs,
    Perf => perf::PerfArgs,
    Links => links::LinksArgs,
    Nodes => nodes::NodesArgs,
    Ports => ports::PortsArgs,
    Tables => tables::TablesArgs,
    Trace => trace::TraceArgs,
    Why => why::WhyArgs,
    Port => port::PortArgs,
    Snapshot => snapshot::SnapshotArgs,
    Diff => diff::DiffArgs,
    Map => map::MapArgs,
    Conform => conform::ConformArgs,
    Ping => ping::PingArgs,
    Send => send::SendArgs,
    Export => export::ExportArgs,
    Query => query::QueryArgs,
    Generate => generate::GenerateArgs,
    Decode => decode::DecodeArgs,
    Encode => encode::EncodeArgs,
    Completions => completions::CompletionsArgs,
    Man => man::ManArgs,
}

/// Refuses `--json` for a command whose output is not a JSON document.
pub fn refuse_json(command: &str, json: bool) -> Result<(), CliError> {
    if json {
        return Err(CliError::input(format_args!(
            "--json: `ib {command}` prints no document, expected a command that does"
        )));
    }
    Ok(())
}
