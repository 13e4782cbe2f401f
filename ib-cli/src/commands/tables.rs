//! `ib tables`: the tables that the devices hold.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use ib_diag::{Contents, Snapshot, SnapshotNode};
use ib_routing::NodeIdx;
use ib_smp::MulticastForwardingTable;
use serde_json::{Map, Value, json};

use crate::{
    error::{CliError, Verdict},
    files,
    output::json,
    source::{SourceArgs, find},
};

/// Print forwarding, SLtoVL, VL arbitration and P_Key tables, as `ib check` reads them.
///
/// Only reads. Without an option that chooses, the linear forwarding tables are printed, as in OpenSM's opensm-lfts.dump.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TablesArgs {
    /// Only this node [default: all]
    #[arg(value_name = "NODE")]
    of: Option<String>,
    /// Print linear forwarding tables, as OpenSM's opensm-lfts.dump
    #[arg(long)]
    lft: bool,
    /// Print multicast forwarding tables, as OpenSM's opensm.mcfdbs
    #[arg(long)]
    mft: bool,
    /// Print SLtoVL tables, as OpenSM's opensm-sl2vl.dump
    #[arg(long)]
    sl2vl: bool,
    /// Print VL arbitration and P_Key tables, a line each
    #[arg(long)]
    ports: bool,
    /// Write all these tables and the topology to this directory, in files with OpenSM's names
    #[arg(long, value_name = "DIR", conflicts_with_all = ["lft", "mft", "sl2vl", "ports", "of"])]
    dump_dir: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib tables 'leaf 3'
  ib tables --dump-dir t                     then: ib check --fabric t/fabric.net
                                             --lfts t/opensm-lfts.dump --sl2vl t/opensm-sl2vl.dump
  ib tables --mft --from monday.ibsnap";

pub fn run(args: TablesArgs, as_json: bool) -> Result<Verdict, CliError> {
    let contents = Contents::FORWARDING | Contents::QOS | Contents::P_KEYS;
    let mut snapshot = args.source.snapshot(contents)?;
    let wanted = args
        .of
        .as_deref()
        .map(|text| find(&snapshot, text))
        .transpose()?;
    let mut out = io::stdout().lock();
    if let Some(directory) = &args.dump_dir {
        dump(directory, &snapshot)?;
        return Ok(Verdict::of(snapshot.silent.is_empty()));
    }
    if as_json {
        let nodes = snapshot.nodes.iter_enumerated();
        let switches: Vec<Value> = nodes
            .filter(|(index, node)| match wanted {
                Some(wanted) => wanted.node == *index,
                None => node.is_switch(),
            })
            .map(|(index, node)| document(&snapshot, index, node))
            .collect();
        json::print(&mut out, &json!({ "switches": switches }))?;
        return Ok(Verdict::Holds);
    }
    if let Some(wanted) = wanted {
        keep_tables_of(&mut snapshot, wanted.node);
    }
    let has_choice = args.mft || args.sl2vl || args.ports;
    if args.lft || !has_choice {
        out.write_all(
            only(
                snapshot.lfts_text(),
                &snapshot,
                wanted.map(|wanted| wanted.node),
                "Unicast lids",
            )
            .as_bytes(),
        )?;
    }
    if args.mft {
        out.write_all(snapshot.mcfdbs_text().as_bytes())?;
    }
    if args.sl2vl {
        out.write_all(snapshot.sl2vl_text().as_bytes())?;
    }
    if args.ports {
        out.write_all(snapshot.port_tables_text().as_bytes())?;
    }
    Ok(Verdict::Holds)
}

/// The blocks of a text that begin with a line of this kind and name the node; all without a node.
fn only(text: String, snapshot: &Snapshot, node: Option<NodeIdx>, head: &str) -> String {
    let Some(guid) = node
        .and_then(|node| snapshot.node(node))
        .map(|node| node.guid().to_string())
    else {
        return text;
    };
    let mut is_shown = false;
    let lines = text.lines().filter(|line| {
        if line.starts_with(head) {
            is_shown = line.contains(&guid);
        }
        is_shown
    });
    lines.fold(String::new(), |text, line| text + line + "\n")
}

/// Drops the tables of all other nodes.
fn keep_tables_of(snapshot: &mut Snapshot, wanted: NodeIdx) {
    for (index, node) in (0..).zip(snapshot.nodes.iter_mut()) {
        if index != wanted.0 {
            node.mft.clear();
            node.sl_to_vl.clear();
            for port in &mut node.ports {
                port.p_keys.clear();
                port.vl_arbitration.clear();
            }
        }
    }
}

fn dump(directory: &std::path::Path, snapshot: &Snapshot) -> Result<(), CliError> {
    std::fs::create_dir_all(directory)
        .map_err(|error| CliError::file(directory.display(), "made a directory", &error))?;
    let fabric = snapshot.fabric();
    let texts = [
        (
            "fabric.net",
            ib_routing::format::ibnetdiscover::write(&fabric, snapshot.own_port),
        ),
        ("opensm-lfts.dump", snapshot.lfts_text()),
        ("opensm-sl2vl.dump", snapshot.sl2vl_text()),
        ("opensm.mcfdbs", snapshot.mcfdbs_text()),
        ("port-tables", snapshot.port_tables_text()),
    ];
    for (name, text) in texts {
        files::write(&directory.join(name), &text)?;
    }
    Ok(())
}

fn document(snapshot: &Snapshot, index: NodeIdx, node: &SnapshotNode) -> Value {
    let lft: Map<String, Value> = snapshot
        .lft_entries(index)
        .into_iter()
        .map(|(lid, port)| (lid.0.to_string(), json!(port.0)))
        .collect();
    let sl_to_vl: Map<String, Value> = node
        .sl_to_vl
        .iter()
        .map(|(&(input, output), table)| {
            let lanes: Vec<u8> = (0..16)
                .filter_map(|sl| table.sl_to_vl(sl).map(|lane| lane.bits()))
                .collect();
            (format!("{input},{output}"), json!(lanes))
        })
        .collect();
    let mut p_keys = Map::new();
    let mut vl_arbitration = Map::new();
    for (number, port) in node.ports() {
        let keys: Vec<u16> = port.p_keys().map(|key| key.0).collect();
        if !keys.is_empty() {
            p_keys.insert(number.0.to_string(), json!(keys));
        }
        let halves: Map<String, Value> = port
            .vl_arbitration
            .iter()
            .map(|(half, table)| {
                let entries: Vec<Value> = (0..32)
                    .filter_map(|entry| table.vl_weight_block(entry))
                    .map(|entry| json!({ "vl": entry.vl().bits(), "weight": entry.weight() }))
                    .collect();
                (half_name(*half).to_owned(), json!(entries))
            })
            .collect();
        if !halves.is_empty() {
            vl_arbitration.insert(number.0.to_string(), Value::Object(halves));
        }
    }
    json!({
        "node_guid": node.guid().to_string(),
        "name": node.name(),
        "lid": crate::output::place::lid(node),
        "lft": lft,
        "mft": mft(node),
        "sl_to_vl": sl_to_vl,
        "vl_arbitration": vl_arbitration,
        "p_keys": p_keys,
    })
}

const fn half_name(half: ib_smp::VlArbitrationHalf) -> &'static str {
    use ib_smp::VlArbitrationHalf;
    match half {
        VlArbitrationHalf::LowFirst => "low_first",
        VlArbitrationHalf::LowSecond => "low_second",
        VlArbitrationHalf::HighFirst => "high_first",
        VlArbitrationHalf::HighSecond => "high_second",
    }
}

/// The output ports of each group.
fn mft(node: &SnapshotNode) -> Map<String, Value> {
    let mut groups: std::collections::BTreeMap<u16, Vec<u16>> = std::collections::BTreeMap::new();
    for (modifier, block) in &node.mft {
        for entry in 0..MulticastForwardingTable::ENTRIES {
            let mask = block.port_mask_block(usize::from(entry)).unwrap_or(0);
            let mlid = 0xc000 | (modifier.block * MulticastForwardingTable::ENTRIES + entry);
            let first = u16::from(modifier.position) * 16;
            let ports = (0..16u16)
                .filter(|bit| mask >> bit & 1 == 1)
                .map(|bit| first + bit);
            if mask != 0 {
                groups.entry(mlid).or_default().extend(ports);
            }
        }
    }
    let groups = groups.into_iter().map(|(mlid, mut ports)| {
        ports.sort_unstable();
        (format!("{mlid:#06x}"), json!(ports))
    });
    groups.collect()
}
