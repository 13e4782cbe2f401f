//! `ib sim`: serves a fabric to unmodified programs that are preloaded with ibsim's umad2sim.

use std::{
    io::{self, BufReader},
    net::{IpAddr, Ipv4Addr},
    sync::atomic::AtomicBool,
};

use clap::builder::NonEmptyStringValueParser;
use ib_sim::server::{Listen, ServerOptions, serve};

use crate::{
    commands::refuse_json,
    error::{CliError, Verdict},
    fabric_spec::FabricArgs,
};

/// Serve a fabric as ibsim does: to OpenSM, the diagnostics and `ib sm`.
///
/// Commands of ibsim's console are read from stdin; `Help` lists them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SimArgs {
    /// Name of the sockets: what clients have in IBSIM_SOCKNAME
    #[arg(
        long,
        value_name = "NAME",
        default_value = "sim",
        value_parser = NonEmptyStringValueParser::new(),
        env = "IBSIM_SOCKNAME",
        hide_env = true
    )]
    socket: String,
    /// Listen on UDP from this port on instead, as `ibsim -r`: what clients have in IBSIM_SERVER_PORT
    #[arg(long, value_name = "PORT")]
    udp: Option<u16>,
    /// Serve at once, without waiting for `Start` on the console [default]
    #[arg(short = 's', long, hide = true)]
    start: bool,
    #[command(flatten)]
    fabric: FabricArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib sim --fabric fabric.net --socket lab    then, elsewhere, with IBSIM_SOCKNAME=lab:
  LD_PRELOAD=libumad2sim.so opensm           any program of libibumad
  ib discover --device sim:lab               or this one, without a preload";

pub fn run(args: SimArgs, json: bool) -> Result<Verdict, CliError> {
    refuse_json("sim", json)?;
    if args.fabric.fabric == "-" {
        return Err(CliError::input(
            "--fabric -: stdin is the console, expected a file or a generator",
        ));
    }
    let fabric = args.fabric.load()?;
    let listen = match args.udp {
        Some(port) => Listen::Udp {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port,
        },
        None => Listen::Unix(args.socket),
    };
    let options = ServerOptions::new(listen);
    let stop = AtomicBool::new(false);
    let console = Box::new(BufReader::new(io::stdin()));
    serve(&fabric, &options, Some(console), &mut io::stdout(), &stop).map_err(CliError::input)?;
    Ok(Verdict::Holds)
}
