//! `ib discover`: walks the fabric and prints it as ibnetdiscover does.

use std::{
    io::{self, Write as _},
    ops::ControlFlow,
};

use ib_mad::MgmtClass;
use ib_routing::format::ibnetdiscover;
use ib_subnet::{Discovery, DiscoveryConfig, DiscoveryEvent, SilentPort};
use ib_transport::{MonotonicClock, drive};
use ib_wire::MKey;
use serde::Serialize;

use crate::{
    commands::query::m_key,
    device::{DeviceArgs, TimeoutArgs},
    error::{CliError, Verdict},
    output::{json, stderr, topology},
};

/// Walk the fabric by directed routes and print it in ibnetdiscover's format, or as JSON.
///
/// Only reads: it may run beside any subnet manager. Status 1 if a node did not answer, or if two nodes have one GUID.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DiscoverArgs {
    /// Ask no node that is further away than this many hops [default: as far as routes reach]
    #[arg(long, value_name = "N")]
    max_hops: Option<u8>,
    /// Key of the ports, where they guard themselves
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
  ib discover --device sim:NAME              of what `ib sim --socket NAME` or ibsim serves";

pub fn run(args: DiscoverArgs, as_json: bool) -> Result<Verdict, CliError> {
    let clock = MonotonicClock::start();
    let classes = [(MgmtClass::SUBN_DIRECTED, 1, &[][..])];
    let mut config = DiscoveryConfig {
        m_key: args.m_key,
        max_hops: args.max_hops,
        ..DiscoveryConfig::default()
    };
    args.timeout.apply(&mut config.window);
    let timeout = config.window.timeout;
    let mut port = args.device.open(&classes, false, timeout, clock)?;
    let mut discovery = Discovery::new(config);
    drive(&mut discovery, &mut port, &clock, |_, event| match event {
        DiscoveryEvent::Done => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .map_err(CliError::input)?;
    let found = discovery.finish();
    let mut out = io::stdout().lock();
    if as_json {
        let document = Document {
            topology: topology::Document::new(&found.fabric, found.listed()),
            silent: found.silent.iter().map(SilentNode::new).collect(),
            duplicate_guids: found
                .duplicate_guids
                .iter()
                .copied()
                .map(topology::guid)
                .collect(),
        };
        json::print(&mut out, &document)?;
    } else {
        let text = ibnetdiscover::write_nodes(&found.fabric, found.from, found.listed());
        out.write_all(text.as_bytes())?;
    }
    for silent in &found.silent {
        let path = &silent.path;
        match silent.node_guid {
            Some(guid) => stderr::warn(format_args!("no answer from {guid} (at {path})")),
            None => stderr::warn(format_args!("no answer from the node at {path}")),
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

/// The fabric, and what is not in it.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    topology: topology::Document,
    silent: Vec<SilentNode>,
    duplicate_guids: Vec<String>,
}

/// A node that did not answer, by the directed route to it.
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
