//! The command line: a subcommand, and the options that all of them have.

use clap::Parser;

use crate::commands::Command;

/// InfiniBand: subnet manager, simulator, router, verifier, packet decoder.
///
/// Exit status: 0 done and all checks hold, 1 done and a check failed, 2 bad usage or bad input, 130 after Ctrl-C, 141
/// if the reader of the output, such as `head`, has ended. An error is one line on stderr.
#[derive(Debug, Parser)]
#[command(
    name = "ib",
    version,
    propagate_version = true,
    arg_required_else_help = false,
    after_help = EXAMPLES
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
    /// Print one JSON document on stdout instead of text for people; `decode` prints one document a line
    #[arg(long, global = true)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Two commands to begin with:
  ib up                                      a fabric in the simulator, brought up and verified
  ib discover                                the fabric that this host is on";
