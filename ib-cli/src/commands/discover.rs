//! `ib discover`: walks the fabric and prints it as ibnetdiscover does.

use std::{
    io::{self, Write as _},
    ops::ControlFlow,
    path::PathBuf,
};

use clap::ValueEnum;
use ib_mad::MgmtClass;
use ib_routing::{
    Fabric, NodeIdx, NodeType, PortRef,
    chassis::{self, Chassis},
    format::{dot, ibnetdiscover, node_list, port_report, slurm},
};
use ib_smp::DrPath;
use ib_subnet::{Discovery, DiscoveryConfig, DiscoveryEvent, SilentPort};
use ib_transport::{MonotonicClock, drive};
use ib_wire::{Guid, MKey, PortNum};
use serde::Serialize;

use crate::{
    commands::query::m_key,
    device::{DeviceArgs, TimeoutArgs},
    error::{CliError, Verdict},
    files,
    output::{json, progress::Progress, stderr, topology},
    source::{NamesArgs, read_snapshot},
};

/// Walk the fabric by directed routes and print it in ibnetdiscover's format, or as JSON.
///
/// Only reads, so it may run beside any subnet manager. Status 1 if a node did not answer, or if two nodes have one GUID.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DiscoverArgs {
    /// List the nodes, one a line
    #[arg(short = 'l', long)]
    list: bool,
    /// List the CAs
    #[arg(short = 'H', long, visible_alias = "Hca_list")]
    hca_list: bool,
    /// List the switches
    #[arg(short = 'S', long, visible_alias = "Switch_list")]
    switch_list: bool,
    /// List the routers
    #[arg(short = 'R', long, visible_alias = "Router_list")]
    router_list: bool,
    /// List the ports with the other ends of their cables
    #[arg(short = 'p', long, conflicts_with_all = ["list", "hca_list", "switch_list", "router_list"])]
    ports: bool,
    /// Print the nodes of a chassis together
    #[arg(short = 'g', long)]
    grouping: bool,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Ibnetdiscover)]
    format: Format,
    /// Write the topology to this file too: --load-cache and --fabric read it
    #[arg(long, value_name = "FILE")]
    cache: Option<PathBuf>,
    /// Read a file of --cache, or what ibnetdiscover printed, instead of a device
    #[arg(long, value_name = "FILE", conflicts_with_all = ["device", "port", "max_hops", "from"])]
    load_cache: Option<PathBuf>,
    /// Read what `ib snapshot` wrote, instead of a device
    #[arg(long, value_name = "SNAPSHOT", conflicts_with_all = ["device", "port", "max_hops"])]
    from: Option<PathBuf>,
    #[command(flatten)]
    names: NamesArgs,
    /// Read no node that is more than this many hops away [default: as far as routes reach]
    #[arg(long, value_name = "N")]
    max_hops: Option<u8>,
    /// M_Key of the subnet's ports, decimal or 0x; 0 is none
    #[arg(long, value_name = "KEY", default_value = "0", value_parser = m_key)]
    m_key: MKey,
    #[command(flatten)]
    timeout: TimeoutArgs,
    #[command(flatten)]
    device: DeviceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib discover > fabric.net                   what --fabric takes
  ib discover --json --max-hops 2
  ib discover -S                             the switches, one a line
  ib discover --format slurm > topology.conf
  ib discover --device sim:NAME              of what `ib sim --socket NAME` or ibsim serves";

/// The forms in which a fabric is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// What ibnetdiscover prints
    Ibnetdiscover,
    /// What ibsim reads: the same
    Ibsim,
    /// Slurm's topology.conf for topology/tree
    Slurm,
    /// Slurm's topology.conf for topology/block
    SlurmBlock,
    /// A graph of Graphviz
    Dot,
    /// A JSON document, as by --json
    Json,
}

pub fn run(args: DiscoverArgs, as_json: bool) -> Result<Verdict, CliError> {
    let names = args.names.read()?;
    let mut found = match (&args.load_cache, &args.from) {
        (Some(file), _) => {
            let topology = files::read(file, ibnetdiscover::read)?;
            files::warn(file.display(), &topology.warnings);
            Found::of_file(topology.fabric)
        }
        (None, Some(file)) => {
            let snapshot = read_snapshot(file)?;
            let silent = snapshot.silent.iter().map(|silent| SilentPort {
                path: silent.path,
                node_guid: silent.node_guid,
            });
            let duplicates = snapshot.duplicates.iter();
            Found {
                from: snapshot.own_port,
                silent: silent.collect(),
                duplicate_guids: duplicates.map(|found| found.node_guid).collect(),
                ..Found::of_file(snapshot.fabric())
            }
        }
        (None, None) => args.walk()?,
    };
    found.fabric = names.renamed(found.fabric);
    if let Some(file) = &args.cache {
        files::write(file, &found.text())?;
    }
    let mut out = io::stdout().lock();
    if as_json || args.format == Format::Json {
        json::print(&mut out, &found.document())?;
    } else {
        out.write_all(args.text(&found).as_bytes())?;
    }
    for silent in &found.silent {
        let path = &silent.path;
        let behind = found.in_front_of(path).unwrap_or_default();
        match silent.node_guid {
            Some(guid) => stderr::warn(format_args!("no answer from {guid} (at {path}{behind})")),
            None => stderr::warn(format_args!("no answer from the node at {path}{behind}")),
        }
    }
    for guid in &found.duplicate_guids {
        stderr::warn(format_args!(
            "more than one node answers with GUID {guid}: only the first one is printed"
        ));
    }
    let is_whole = found.silent.is_empty() && found.duplicate_guids.is_empty();
    Ok(Verdict::of(is_whole))
}

impl DiscoverArgs {
    fn walk(&self) -> Result<Found, CliError> {
        let clock = MonotonicClock::start();
        let classes = [(MgmtClass::SUBN_DIRECTED, 1, &[][..])];
        let mut config = DiscoveryConfig::default();
        config.walk.m_key = self.m_key;
        config.walk.max_hops = self.max_hops;
        config.walk.one_end = true;
        self.timeout.apply(&mut config.window);
        let timeout = config.window.timeout;
        let mut port = self.device.open(&classes, false, timeout)?;
        let mut discovery = Discovery::new(config);
        let progress = Progress::new("nodes found", 0);
        let mut nodes = 0;
        drive(&mut discovery, &mut port, &clock, |_, event| match event {
            DiscoveryEvent::Done => ControlFlow::Break(()),
            DiscoveryEvent::NodeFound { .. } => {
                nodes += 1;
                progress.set_of(nodes, nodes);
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        })
        .map_err(CliError::input)?;
        drop(progress);
        let found = discovery.finish();
        let order = found.listed();
        Ok(Found {
            fabric: found.fabric,
            order,
            from: found.from,
            silent: found.silent,
            duplicate_guids: found.duplicate_guids,
        })
    }

    /// The text in the requested format.
    fn text(&self, found: &Found) -> String {
        let wanted = [
            (self.hca_list, NodeType::CA),
            (self.switch_list, NodeType::SWITCH),
            (self.router_list, NodeType::ROUTER),
        ];
        let kinds: Vec<NodeType> = wanted
            .into_iter()
            .filter(|(is_wanted, _)| *is_wanted || self.list)
            .map(|(_, kind)| kind)
            .collect();
        let fabric = &found.fabric;
        match self.format {
            _ if !kinds.is_empty() => node_list::write(fabric, &found.order, &kinds),
            _ if self.ports => port_report::write(fabric, &found.order),
            Format::Slurm => slurm::tree(fabric),
            Format::SlurmBlock => slurm::block(fabric),
            Format::Dot => dot::write(fabric),
            _ if self.grouping => {
                let chassis = chassis::find(fabric);
                ibnetdiscover::write_grouped(fabric, found.from, &found.order, &chassis)
            }
            _ => found.text(),
        }
    }
}

/// The fabric that was discovered, or read from a file.
struct Found {
    fabric: Fabric,
    /// The nodes in the order in which they are printed.
    order: Vec<NodeIdx>,
    /// The port from which the walk began; `None` if it is unknown.
    from: Option<PortRef>,
    silent: Vec<SilentPort>,
    duplicate_guids: Vec<Guid>,
}

impl Found {
    fn of_file(fabric: Fabric) -> Self {
        let order = fabric.nodes().indices().collect();
        Self {
            fabric,
            order,
            from: None,
            silent: Vec::new(),
            duplicate_guids: Vec::new(),
        }
    }

    fn text(&self) -> String {
        ibnetdiscover::write_nodes(&self.fabric, self.from, self.order.iter().copied())
    }

    /// The last port on a directed route before its end, as a part of a sentence.
    fn in_front_of(&self, path: &DrPath) -> Option<String> {
        let mut node = self.from?.node;
        let ports: Vec<PortNum> = path.ports().collect();
        let (last, way) = ports.split_last()?;
        for &port in way {
            node = self.fabric.port(PortRef { node, port })?.peer?.node;
        }
        Some(format!(
            ", behind {}:{last}",
            self.fabric.node(node).description
        ))
    }

    fn document(&self) -> Document {
        let all = chassis::find(&self.fabric);
        let chassis = all
            .iter()
            .map(|one| ChassisDocument::new(&self.fabric, one));
        let duplicates = self.duplicate_guids.iter().copied();
        Document {
            topology: topology::Document::new(&self.fabric, self.order.iter().copied()),
            chassis: chassis.collect(),
            silent: self.silent.iter().map(SilentNode::new).collect(),
            duplicate_guids: duplicates.map(topology::guid).collect(),
        }
    }
}

/// The fabric, and the facts that a fabric does not contain.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    topology: topology::Document,
    chassis: Vec<ChassisDocument>,
    silent: Vec<SilentNode>,
    duplicate_guids: Vec<String>,
}

/// The nodes of one chassis.
#[derive(Serialize)]
struct ChassisDocument {
    guid: String,
    nodes: Vec<String>,
}

impl ChassisDocument {
    fn new(fabric: &Fabric, chassis: &Chassis) -> Self {
        let nodes = chassis.nodes.iter();
        Self {
            guid: topology::guid(chassis.guid),
            nodes: nodes
                .map(|&node| topology::guid(fabric.node(node).guid))
                .collect(),
        }
    }
}

/// A node that did not answer, identified by the directed route to it.
#[derive(Serialize)]
struct SilentNode {
    direct: String,
    node_guid: Option<String>,
}

impl SilentNode {
    fn new(silent: &SilentPort) -> Self {
        Self {
            direct: silent.path.to_string(),
            node_guid: silent.node_guid.map(topology::guid),
        }
    }
}
