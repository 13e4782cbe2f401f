//! `ib up`: brings a whole subnet up in the simulator, with the real manager, and verifies every route.

mod changes;
mod clusters;
mod missing;

use std::{
    fmt, io,
    path::PathBuf,
    time::{Duration, Instant},
};

use ib_routing::{
    Fabric, NodeIdx, PortRef,
    format::{dot, svg},
};
use ib_sim::{SharedSim, Sim, SimOptions};
use ib_sm::SubnetManager;
use ib_transport::{Clock as _, MadTransport, RecordedMad, Tap, drive};
use ib_wire::{Guid, PortNum};

pub use self::changes::ChangeReport;
use self::changes::FabricChange;
use crate::{
    error::{CliError, Verdict},
    fabric_spec::FabricArgs,
    files,
    observer::ProgressObserver,
    output::{stderr, warning},
    recording::PcapFile,
    sim_args::SimulationArgs,
    sm_args::SmArgs,
};

/// Bring a fabric up in the simulator and verify every route.
///
/// Builds the fabric, runs the subnet manager over it in virtual time until every port is active, and
/// reports what it found. Status 1 if a port is not active, a pair has no route, or routes can
/// deadlock.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct UpArgs {
    /// Port that the manager uses: GUID of a node or port, name or description of a node [default: the first CA port
    /// with a link]
    #[arg(long = "sm", value_name = "GUID|NAME")]
    at: Option<String>,
    /// Run one manager for each logical cluster that these files configure, all on the same fabric, and verify the
    /// tables of all switches together. Each manager uses the first CA port of its cluster
    #[arg(
        long,
        value_name = "FILE[,FILE...]",
        value_delimiter = ',',
        conflicts_with = "at"
    )]
    clusters: Vec<PathBuf>,
    /// LIDs of the devices of all clusters by port GUID, in the format of OpenSM's guid2lid. Ports are assigned these
    /// LIDs, and managers answer path queries to other clusters with them
    #[arg(long, value_name = "FILE", requires = "clusters")]
    predefined_lids: Option<PathBuf>,
    /// Change the fabric once the subnet is up: `unlink=NODE:PORT`, `relink=NODE:PORT`, `off=NODE`, `on=NODE`, where
    /// NODE is a GUID or a name. The next change follows when the subnet is up again
    #[arg(long, value_name = "CHANGE[,CHANGE...]", value_delimiter = ',')]
    then: Vec<FabricChange>,
    /// Draw the fabric to this SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the fabric to this file in Graphviz's format
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    #[command(flatten)]
    simulation: SimulationArgs,
    #[command(flatten)]
    fabric: FabricArgs,
    #[command(flatten)]
    sm: SmArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib up                                      32 hosts on two levels of switches
  ib up --fabric fabric.net --engine ftree,updn
  ib up --fabric torus:8x8 --faults loss=0.01,seed=7 --pcap bring-up.pcapng
  ib up --fabric thesis --svg thesis.svg --dump-dir tables
  ib up --fabric mcsm --clusters mcsm.conf   three logical clusters, each under its own manager
  ib up --fabric torus:4x4 --then off=S-0020000000000100,on=S-0020000000000100";

pub fn run(args: UpArgs, json: bool) -> Result<Verdict, CliError> {
    let began = Instant::now();
    let fabric = args.fabric.load()?;
    let config = args.sm.config()?;
    if !args.clusters.is_empty() {
        return clusters::run(&args, &fabric, &config, json);
    }
    let at = place(&fabric, args.at.as_deref())?;
    let places = changes::places(&fabric, &args.then)?;

    let mut options = SimOptions::default();
    args.simulation.apply(&mut options);
    let sim = Sim::new(&fabric, options).share();
    let mut transport = sim
        .attach(at)
        .map_err(|error| CliError::at("--sm", error))?;
    let mut sm = SubnetManager::new(config, sim.now());
    let mut observer = ProgressObserver::new();
    let then = || args.then.iter().zip(places.iter().copied());
    let reports = match args.sm.pcap.as_deref() {
        // Without a recording, the datagrams need not be copied.
        None => bring_up(&mut sm, &mut transport, &sim, &mut observer, then()),
        Some(file) => {
            let mut recording = PcapFile::create(Some(file), Duration::ZERO)?;
            let mut tap = Tap::new(transport, |record: &RecordedMad| {
                recording.write(record);
            });
            let reports = bring_up(&mut sm, &mut tap, &sim, &mut observer, then());
            recording.finish()?;
            reports
        }
    }?;
    if let Some(overridden) = warning::of_overridden(&sm) {
        stderr::warn(overridden);
    }

    let elapsed = began.elapsed();
    let mut report = observer.report(&sm, elapsed);
    match args.then.is_empty() {
        true => missing::add_missing(&mut report, &fabric, at, &sm),
        false => {
            let remaining = changes::remaining(&fabric, &sim);
            missing::add_missing(&mut report, &remaining, at, &sm);
            report.changes = Some(reports);
        }
    }
    if let (Some(directory), Some(routes)) = (&args.sm.dump_dir, sm.routes()) {
        files::dump(directory, sm.fabric(), sm.lids(), routes, sm.multicast())?;
    }
    if let Some(file) = &args.svg {
        let load = sm
            .report()
            .map(|report| report.link_load.by_channel.as_slice());
        files::write(file, &svg::write(sm.fabric(), load.unwrap_or_default()))?;
    }
    if let Some(file) = &args.dot {
        files::write(file, &dot::write(sm.fabric()))?;
    }
    let mut out = io::stdout().lock();
    if json {
        report.print_json(&mut out)?;
    } else {
        report.print_text(&mut out)?;
        let virtual_time = sim.now().since(ib_mad::Instant::ZERO);
        let times = format!(
            "in {:.3} ms of virtual time, {:.3} ms on the clock",
            virtual_time.as_secs_f64() * 1e3,
            elapsed.as_secs_f64() * 1e3
        );
        let (good, bad) = (
            format!("subnet up {times}"),
            format!("subnet NOT up {times}"),
        );
        report.print_verdict(&mut out, &good, &bad)?;
    }
    // The process is about to end, so the memory of the fabric need not be freed node by node.
    std::mem::forget((sm, sim));
    Ok(report.verdict())
}

/// Lets the manager bring the subnet up, then makes the changes. Returns the cost of each change.
fn bring_up<'a>(
    sm: &mut SubnetManager,
    transport: &mut impl MadTransport,
    sim: &SharedSim,
    observer: &mut ProgressObserver,
    changes: impl Iterator<Item = (&'a FabricChange, PortRef)>,
) -> Result<Vec<ChangeReport>, CliError> {
    drive(sm, transport, sim, |_, event| observer.event(&event))
        .map_err(|error| CliError::at("the simulator", error))?;
    let run = |(change, at)| changes::run(change, at, sim, sm, transport, observer);
    changes.map(run).collect()
}

/// The port of the manager.
fn place(fabric: &Fabric, at: Option<&str>) -> Result<PortRef, CliError> {
    match at {
        Some(text) => {
            let port = by_guid(fabric, text).or_else(|| by_name(fabric, text));
            port.ok_or_else(|| CliError::at("--sm", Unknown(text)))
        }
        None => fabric
            .first_host()
            .or_else(|| first_end_port(fabric, fabric.nodes().indices().next()?))
            .ok_or_else(|| {
                CliError::Input("the fabric has no port for a manager, expected a CA".to_owned())
            }),
    }
}

struct Unknown<'a>(&'a str);

impl fmt::Display for Unknown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no node `{}`, expected a GUID, a node's name or its description",
            self.0
        )
    }
}

/// The port of a node that a manager can use: the first end port with a link, port 0 of a switch, else the first.
fn first_end_port(fabric: &Fabric, index: NodeIdx) -> Option<PortRef> {
    let node = fabric.node(index);
    if node.type_.is_switch() {
        return Some(PortRef {
            node: index,
            port: PortNum::MANAGEMENT,
        });
    }
    let linked = node.end_ports().find(|(_, port)| port.peer.is_some());
    let (port, _) = linked.or_else(|| node.end_ports().next())?;
    Some(PortRef { node: index, port })
}

fn by_guid(fabric: &Fabric, text: &str) -> Option<PortRef> {
    let guid: Guid = text.parse().ok()?;
    match fabric.node_by_guid(guid) {
        Some(node) => first_end_port(fabric, node),
        None => fabric.port_by_guid(guid),
    }
}

fn by_name(fabric: &Fabric, text: &str) -> Option<PortRef> {
    let is_it = |node: &ib_routing::Node| node.name == text || node.description == text;
    let mut nodes = fabric.nodes().iter_enumerated();
    let (index, _) = nodes.find(|(_, node)| is_it(node))?;
    first_end_port(fabric, index)
}
