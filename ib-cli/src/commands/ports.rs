//! `ib ports`: the ports of this host.

use std::io;

use ib_diag::{Contents, Snapshot};
use ib_routing::PortRef;
use ib_wire::{Gid, GidPrefix};
use serde_json::{Value, json};

use crate::{
    error::{CliError, Verdict},
    output::{
        json,
        place::{self, LinkState, shown},
        table::Table,
    },
    source::SourceArgs,
};

/// Show the ports of this host: state, LID, rate, GUID, GID, subnet manager.
///
/// Only reads. Status 1 if no port is Active.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PortsArgs {
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib ports
  ib ports --device mlx5_1 --json";

pub fn run(args: PortsArgs, as_json: bool) -> Result<Verdict, CliError> {
    let snapshot = args.source.near_snapshot(Contents::empty())?;
    let own = snapshot.own_port.ok_or_else(|| {
        CliError::input("the snapshot does not say from which port it was taken, expected one that was taken from a device")
    })?;
    let node = snapshot.node(own.node);
    let ports: Vec<PortRef> = node
        .into_iter()
        .flat_map(|node| node.ports())
        .map(|(number, _)| PortRef {
            port: number,
            ..own
        })
        .collect();
    let documents: Vec<Value> = ports.iter().map(|&at| document(&snapshot, at)).collect();
    let is_active = documents.iter().any(|port| port["state"] == "Active");
    let mut out = io::stdout().lock();
    if as_json {
        json::print(&mut out, &json!({ "ports": documents }))?;
        return Ok(Verdict::of(is_active));
    }
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut table = Table::new([
        "node",
        "port",
        "state",
        "physical",
        "width",
        "speed",
        "LID",
        "SM LID",
        "port GUID",
    ]);
    for port in &documents {
        let get = |key: &str| text(port.get(key).unwrap_or(&Value::Null));
        table.row([
            get("name"),
            get("port"),
            get("state"),
            get("physical_state"),
            get("width"),
            get("speed"),
            get("lid"),
            get("sm_lid"),
            get("port_guid"),
        ]);
    }
    table.print(&mut out)?;
    Ok(Verdict::of(is_active))
}

fn document(snapshot: &Snapshot, at: PortRef) -> Value {
    let mut map = place::port(snapshot, at);
    let node = snapshot.node(at.node);
    let port = snapshot.port(at);
    let info = port.and_then(|port| port.info);
    let link = LinkState::of(snapshot, at);
    // An external port of a switch has no GUID, and its PortInfo holds nothing of a manager.
    let is_end_port = node.is_some_and(|node| node.managing_port(at.port) == at.port);
    let of_end_port = info.filter(|_| is_end_port);
    let guid = port.map(|port| port.guid).filter(|guid| guid.0 != 0);
    let prefix = info.map_or(GidPrefix(0), |info| info.gid_prefix());
    let members = [
        ("port_guid", shown(guid)),
        ("gid", shown(guid.map(|guid| Gid::new(prefix, guid)))),
        ("state", link.state),
        ("physical_state", link.physical_state),
        ("width", link.width),
        ("speed", link.speed),
        ("lmc", json!(of_end_port.map(|info| info.lmc().bits()))),
        (
            "sm_lid",
            json!(of_end_port.map(|info| info.master_sm_lid().0)),
        ),
        (
            "sm_sl",
            json!(of_end_port.map(|info| info.master_sm_sl().bits())),
        ),
        ("mtu", link.mtu),
        (
            "capability_mask",
            json!(info.map(|info| info.capability_mask().bits())),
        ),
        (
            "system_image_guid",
            shown(node.map(|node| node.info.system_image_guid())),
        ),
        ("device_id", json!(node.map(|node| node.info.device_id()))),
    ];
    map.extend(members.map(|(key, value)| (key.to_owned(), value)));
    Value::Object(map)
}
