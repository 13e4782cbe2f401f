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
/// 130 after Ctrl-C.
#[derive(Debug, Parser)]
#[command(
    name = "ib",
    version,
    propagate_version = true,
    arg_required_else_help = false
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
    /// Print one JSON document on stdout (decode: one a line) instead of text for reading
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Bring a fabric up in the simulator and verify every route
    Up(Box<UpArgs>),
    /// Run the subnet manager on a port of this host, or of a simulator
    Sm(Box<SmCommand>),
    /// Serve a fabric to programs that are preloaded with ibsim's umad2sim
    Sim(SimArgs),
    /// Route a fabric offline and verify the result
    Route(Box<RouteCommand>),
    /// Verify routing tables: reachability, loops, deadlock, hops, balance
    Check(CheckArgs),
    /// Fail every link or switch in turn: who loses whom, what moves
    Whatif(Box<WhatifArgs>),
    /// Walk the fabric and print it in ibnetdiscover's format
    Discover(DiscoverArgs),
    /// Read one attribute of a node, or records of subnet administration
    Query(QueryArgs),
    /// Print a generated fabric in ibnetdiscover's format
    Generate(GenerateArgs),
    /// Print every header and field of packets or management datagrams
    Decode(DecodeArgs),
    /// Print the bytes of what `decode --json` printed
    Encode(EncodeArgs),
}
