//! `ib sim`: serves a fabric to unmodified programs that are preloaded with ibsim's umad2sim.

mod program;

use std::{
    ffi::OsString,
    io::{self, BufReader},
    net::{IpAddr, Ipv4Addr},
    sync::atomic::AtomicBool,
};

use clap::{builder::NonEmptyStringValueParser, value_parser};
use ib_sim::{
    SupportedLinks,
    server::{Listen, Server, ServerOptions, serve},
};

use crate::{
    commands::refuse_json,
    error::{CliError, Verdict},
    fabric_spec::FabricArgs,
    output::stderr,
    sim_args::SimulationArgs,
};

/// Serve a fabric as ibsim does: to OpenSM, the diagnostics and `ib sm`.
///
/// Commands of ibsim's console are read from stdin; `Help` lists them. With a COMMAND the server uses a
/// private socket and starts the command with umad2sim preloaded. When the command ends, the server ends with its status.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SimArgs {
    /// Name of the sockets; clients set IBSIM_SOCKNAME to it [default: $IBSIM_SOCKNAME, else sim; with a COMMAND a
    /// private name]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    socket: Option<String>,
    /// Listen on UDP ports from this one on instead of Unix sockets, as `ibsim -r` does. Clients set IBSIM_SERVER_PORT
    /// to this number
    #[arg(long, value_name = "PORT", conflicts_with = "command")]
    udp: Option<u16>,
    /// Address that --udp listens on. Everyone who can reach it can use the fabric [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", requires = "udp")]
    listen: Option<IpAddr>,
    /// Entries of a switch's linear forwarding table [default: 30720; 49152 if the fabric has more end ports than that]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=0xc000))]
    lft_cap: Option<u16>,
    /// Entries of a switch's multicast forwarding table [default: 1024, or one for each end port if there are more]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=0x3fff))]
    mft_cap: Option<u16>,
    /// Node that COMMAND is attached to, by name or description [default: $SIM_HOST, else the first
    /// CA with a link]
    #[arg(long, value_name = "NODE", requires = "command")]
    host: Option<String>,
    /// Serve at once, without waiting for `Start` on the console [default]
    #[arg(short = 's', long, hide = true)]
    start: bool,
    #[command(flatten)]
    simulation: SimulationArgs,
    #[command(flatten)]
    fabric: FabricArgs,
    /// Program to run on the fabric, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  ib sim --fabric fabric.net -- opensm -o    OpenSM on a fabric that ends with it
  ib sim -- bash -c 'opensm -B; ibnetdiscover'
  ib sim --fabric fabric.net --socket lab    then, elsewhere, with IBSIM_SOCKNAME=lab:
  LD_PRELOAD=libumad2sim.so opensm           any program of libibumad
  ib discover --device sim:lab               or this one, without a preload
  ib sim --faults loss=0.01,seed=7 --latency 1us";

pub fn run(args: SimArgs, json: bool) -> Result<Verdict, CliError> {
    refuse_json("sim", json)?;
    if args.fabric.fabric == "-" && args.command.is_empty() {
        return Err(CliError::input(
            "--fabric -: stdin is the console, expected a file or a generator",
        ));
    }
    let fabric = args.fabric.load()?;
    let named = args.socket.clone();
    let socket = match args.command.is_empty() {
        true => named
            .or_else(|| variable("IBSIM_SOCKNAME"))
            .unwrap_or_else(|| "sim".to_owned()),
        false => named.unwrap_or_else(program::private_name),
    };
    let listen = match args.udp {
        Some(port) => {
            let address = args.listen.unwrap_or(Ipv4Addr::LOCALHOST.into());
            if !address.is_loopback() {
                stderr::warn(format_args!(
                    "--listen {address}: everybody who reaches UDP port {port} may use the fabric"
                ));
            }
            Listen::Udp { address, port }
        }
        None => Listen::Unix(socket.clone()),
    };
    let mut options = ServerOptions::new(listen).sized_for(&fabric);
    let sim = &mut options.sim;
    // What a link could do is a question that administrators ask.
    sim.supported_links = SupportedLinks::OfDevice;
    args.simulation.apply(sim);
    sim.linear_fdb_cap = args.lft_cap.unwrap_or(sim.linear_fdb_cap);
    sim.multicast_fdb_cap = args.mft_cap.unwrap_or(sim.multicast_fdb_cap);
    if args.command.is_empty() {
        let stop = AtomicBool::new(false);
        let console = Box::new(BufReader::new(io::stdin()));
        serve(&fabric, &options, Some(console), &mut io::stdout(), &stop)
            .map_err(CliError::input)?;
        return Ok(Verdict::Holds);
    }
    let host = match args.host.or_else(|| variable("SIM_HOST")) {
        Some(host) => host,
        None => program::first_host(&fabric)?,
    };
    let server = Server::bind(&fabric, &options).map_err(CliError::input)?;
    let status = program::run(&args.command, server, &socket, &host)?;
    // The program's status, which no verdict can say.
    std::process::exit(status)
}

/// A variable of the environment that is set and not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
