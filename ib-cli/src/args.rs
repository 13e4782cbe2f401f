//! What can be said on the command line: the commands, and the options that several of them share.

use clap::{Parser, Subcommand};

use crate::commands::{
    check::CheckArgs, decode::DecodeArgs, discover::DiscoverArgs, encode::EncodeArgs,
    generate::GenerateArgs, query::QueryArgs, route::RouteCommand, sim::SimArgs, sm::SmCommand,
    up::UpArgs, whatif::WhatifArgs,
};

/// InfiniBand: subnet manager, simulator, router, verifier, packet decoder.
///
/// Exit status: 0 done and all checks hold, 1 done and a check failed, 2 bad usage or bad input,
/// 130 after Ctrl-C. What is wrong stands in one line on stderr.
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
    /// Print one JSON document on stdout (decode: one a line) instead of text for reading
    #[arg(long, global = true)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Two to begin with:
  ib up                                      a fabric in the simulator, brought up and verified
  ib discover                                the fabric that this host is on";

#[derive(Debug, Subcommand)]
pub enum Command {
    Up(Box<UpArgs>),
    Sm(Box<SmCommand>),
    Sim(SimArgs),
    Route(Box<RouteCommand>),
    Check(CheckArgs),
    Whatif(Box<WhatifArgs>),
    Discover(DiscoverArgs),
    Query(QueryArgs),
    Generate(GenerateArgs),
    Decode(DecodeArgs),
    Encode(EncodeArgs),
}
