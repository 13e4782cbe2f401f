//! The command `ib`: subnet manager, simulator, router and packet decoder for InfiniBand.
//!
//! Exit status: 0 where the work is done and all checks hold, 1 where a check failed, 2 for bad usage
//! or bad input, 130 after Ctrl-C or SIGTERM, 141 where the reader of the output has gone.
#![forbid(unsafe_code)]
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "doc comments of arguments are help texts: their brackets mark what may be left out"
)]
#![allow(
    unreachable_pub,
    reason = "no other crate uses a binary: its modules say pub for items that other modules use"
)]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod args;
mod cluster_files;
mod commands;
mod control;
mod device;
mod engine_args;
mod error;
mod fabric_spec;
mod files;
mod interrupt;
mod log;
mod nearest;
mod observer;
mod output;
mod recording;
mod route_args;
mod sim_args;
mod sm_args;
mod source;

use std::process::ExitCode;

use crate::{args::Args, error::CliError, output::stderr};

fn main() -> ExitCode {
    if let Err(error) = interrupt::install() {
        stderr::warn(format_args!("Ctrl-C will not end cleanly: {error}"));
    }
    let args = match Args::of_process() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    match commands::run(args) {
        Ok(verdict) => verdict.exit_code(),
        Err(CliError::OutputClosed) => output_closed(),
        Err(error) => {
            stderr::error(error);
            ExitCode::from(2)
        }
    }
}

/// Ends the process without a word by SIGPIPE, as other programs of a pipeline end whose reader has gone. A shell reports
/// 141: neither that all checks hold nor that one failed, which a cut output cannot say.
fn output_closed() -> ExitCode {
    /// The status that a shell reports: 128 and the number of SIGPIPE.
    const ENDED_BY_SIGPIPE: u8 = 141;
    // The runtime ignores the signal, so that a write returns an error and open files are completed or removed first.
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
    ExitCode::from(ENDED_BY_SIGPIPE)
}

/// Help and version go to stdout as clap prints them; a mistake becomes one line.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return match error.print().map_err(CliError::from) {
            Ok(()) => ExitCode::SUCCESS,
            Err(CliError::OutputClosed) => output_closed(),
            Err(error) => {
                stderr::error(error);
                ExitCode::from(2)
            }
        };
    }
    // The messages of number parsers help only those who know them.
    let text = error.render().to_string();
    let text = text.replace("invalid digit found in string", "expected a number");
    let lines = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:"))
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    let lines: Vec<String> = lines
        .map(|line| match line.strip_prefix("tip: ") {
            Some(tip) => format!("({tip})"),
            None => line.to_owned(),
        })
        .collect();
    stderr::info(lines.join(" "));
    ExitCode::from(2)
}
