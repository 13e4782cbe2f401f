//! `ib nodes`: the nodes of a subnet by kind.

use std::io;

use ib_diag::{Contents, SnapshotNode};
use ib_routing::NodeType;
use serde_json::{Value, json};

use crate::{
    error::{CliError, Verdict},
    output::{json, place, stderr, table::Table},
    source::SourceArgs,
};

/// List the nodes: name, GUID, LID, kind, ports, device and revision.
///
/// Only reads. Status 1 if a device does not respond.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct NodesArgs {
    /// List switches
    #[arg(long)]
    switches: bool,
    /// List channel adapters
    #[arg(long)]
    cas: bool,
    /// List routers
    #[arg(long)]
    routers: bool,
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib nodes
  ib nodes --switches --json
  ib nodes --from monday.ibsnap --node-name-map names";

pub fn run(args: NodesArgs, as_json: bool) -> Result<Verdict, CliError> {
    let snapshot = args.source.snapshot(Contents::empty())?;
    let all = !(args.switches || args.cas || args.routers);
    let is_chosen = |node: &SnapshotNode| {
        all || match node.type_() {
            NodeType::SWITCH => args.switches,
            NodeType::ROUTER => args.routers,
            _ => args.cas,
        }
    };
    let nodes = place::by_name(&snapshot);
    let nodes: Vec<&SnapshotNode> = nodes
        .into_iter()
        .map(|(_, node)| node)
        .filter(|node| is_chosen(node))
        .collect();
    let mut out = io::stdout().lock();
    if as_json {
        let nodes: Vec<Value> = nodes.iter().map(|node| document(node)).collect();
        json::print(&mut out, &json!({ "nodes": nodes }))?;
        return Ok(Verdict::of(snapshot.silent.is_empty()));
    }
    let mut table = Table::new([
        "name", "kind", "guid", "lid", "ports", "up", "device", "revision",
    ]);
    for node in nodes {
        table.row([
            node.name(),
            place::type_name(node.type_()).to_owned(),
            node.guid().to_string(),
            place::lid(node).to_string(),
            node.info.num_ports().to_string(),
            up(node).to_string(),
            node.info.device_id().to_string(),
            format!("{:#x}", node.info.revision()),
        ]);
    }
    table.print(&mut out)?;
    for silent in &snapshot.silent {
        stderr::warn(place::silent(&snapshot, silent));
    }
    Ok(Verdict::of(snapshot.silent.is_empty()))
}

/// Ports whose link is up.
fn up(node: &SnapshotNode) -> usize {
    let external = node.ports().filter(|(number, _)| number.0 > 0);
    external.filter(|(_, port)| port.is_link_up()).count()
}

fn document(node: &SnapshotNode) -> Value {
    let info = &node.info;
    json!({
        "node_guid": node.guid().to_string(),
        "name": node.name(),
        "node_string": node.description(),
        "type": place::type_name(node.type_()),
        "lid": place::lid(node),
        "num_ports": info.num_ports(),
        "ports_up": up(node),
        "system_image_guid": info.system_image_guid().to_string(),
        "vendor_id": info.vendor_id(),
        "device_id": info.device_id(),
        "revision": info.revision(),
        "direct": node.path.to_string(),
    })
}
