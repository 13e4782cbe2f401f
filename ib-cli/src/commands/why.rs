//! `ib why`: what limits the path between two ports.

use std::io::{self, Write};

use ib_diag::{Contents, CounterReadings, Path, PathEnd, PathPartitions, Snapshot};
use ib_routing::PortRef;
use ib_wire::{PKey, Sl};
use serde_json::{Map, Value, json};

use crate::{
    commands::trace::{end_text, path_to, service_level},
    error::{CliError, Verdict},
    output::{
        json,
        place::{self, LinkState},
    },
    source::{SourceArgs, find},
};

/// Explain the path from A to B hop by hop, and what limits it.
///
/// Only reads. Status 1 if the path does not arrive, or if packets pass in no partition.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct WhyArgs {
    /// Start of the packet: a node or NODE:PORT, where NODE is a name, GUID, LID, GID or directed route
    #[arg(value_name = "A")]
    start: String,
    /// Destination of the packet, in the same form
    #[arg(value_name = "B")]
    to: String,
    /// Service level of the packet, 0 to 15
    #[arg(long, value_name = "N", default_value = "0", value_parser = service_level)]
    sl: Sl,
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib why node01 node17
  ib why node01 node17 --sl 3 --from monday.ibsnap --json";

pub fn run(args: WhyArgs, as_json: bool) -> Result<Verdict, CliError> {
    let contents = Contents::FORWARDING | Contents::QOS | Contents::COUNTERS | Contents::P_KEYS;
    let snapshot = args.source.open()?.snapshot_of_routes(contents)?;
    let from = find(&snapshot, &args.start)?.port_of(&snapshot);
    let path = path_to(&snapshot, from, &args.to, args.sl)?;
    let partitions = snapshot.path_partitions(&path);
    let partitions = partitions.filter(|_| path.end == PathEnd::Arrived);
    let hops: Vec<Value> = path
        .hops
        .iter()
        .map(|hop| Value::Object(hop_document(&snapshot, &path, hop)))
        .collect();
    let mut limits = limits(&snapshot, &path);
    limits.extend(
        partitions
            .iter()
            .flat_map(|found| of_partitions(&snapshot, found)),
    );
    let is_shared = partitions
        .as_ref()
        .is_none_or(|found| !found.passing.is_empty());
    let mut out = io::stdout().lock();
    if as_json {
        let document = json!({
            "dlid": path.dlid.0,
            "sl": args.sl.bits(),
            "hops": hops,
            "arrived": path.end == PathEnd::Arrived,
            "end": end_text(&snapshot, &path),
            "p_keys": partitions.as_ref().map(|found| texts(&found.passing)),
            "limits": limits,
        });
        json::print(&mut out, &document)?;
    } else {
        print(&mut out, &hops, &end_text(&snapshot, &path), &path)?;
        if let Some(found) = partitions.filter(|found| !found.passing.is_empty()) {
            writeln!(
                out,
                "packets pass with P_Key {}",
                texts(&found.passing).join(", ")
            )?;
        }
        print_limits(&mut out, &limits)?;
    }
    Ok(Verdict::of(path.end == PathEnd::Arrived && is_shared))
}

fn texts(keys: &[PKey]) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

/// The partitions that both ends share and in which packets are dropped, or that there are none.
fn of_partitions(snapshot: &Snapshot, found: &PathPartitions) -> Vec<String> {
    if found.passing.is_empty() && found.dropped.is_empty() {
        let list = |keys: &[PKey]| match keys {
            [] => "none".to_owned(),
            keys => texts(keys).join(", "),
        };
        let (start, end) = (list(&found.at_start), list(&found.at_end));
        return vec![format!(
            "no packets pass: no P_Key of the sender ({start}) matches one of the receiver ({end})"
        )];
    }
    let dropped = found.dropped.iter().map(|(key, at)| {
        let place = place::text(snapshot, *at);
        format!("{place} drops packets with P_Key {key}: it enforces partitions and lacks this one")
    });
    dropped.collect()
}

/// One hop: the entry, what the outgoing link does, and the datagrams that say so.
fn hop_document(snapshot: &Snapshot, path: &Path, hop: &ib_diag::Hop) -> Map<String, Value> {
    let mut map = place::port(snapshot, hop.input);
    map.shift_remove("port");
    map.insert("input".to_owned(), json!(hop.input.port.0));
    map.insert("output".to_owned(), json!(hop.output.map(|port| port.0)));
    let Some(output) = hop.output else {
        return map;
    };
    let leaving = PortRef {
        port: output,
        ..hop.input
    };
    let node = snapshot.node(hop.input.node);
    let port = snapshot.port(leaving);
    let info = port.and_then(|port| port.info);
    let link = LinkState::of(snapshot, leaving);
    let is_switch = node.is_some_and(|node| node.is_switch());
    let entry = is_switch.then(|| {
        let (block, index) = ib_smp::LinearForwardingTable::block_of(path.dlid);
        format!("LinearForwardingTable block {block} entry {index}")
    });
    let counters: Map<String, Value> = port
        .into_iter()
        .flat_map(|port| {
            let values = port.counters.values(port.perf_class_port_info.as_ref());
            let shown = values.iter().filter(|(name, counter)| {
                let is_error = CounterReadings::counts_errors(name);
                counter.value > 0 && (is_error || *name == "port_xmit_wait")
            });
            shown.collect::<Vec<_>>()
        })
        .map(|(name, counter)| (name.to_owned(), json!(counter.value)))
        .collect();
    let members = [
        ("entry", json!(entry)),
        ("vl", json!(hop.vl.map(|vl| vl.bits()))),
        ("state", link.state),
        ("mtu", link.mtu),
        ("width", link.width),
        ("speed", link.speed),
        (
            "operational_vls",
            json!(info.and_then(|info| info.operational_vls().count())),
        ),
        ("counters", Value::Object(counters)),
        (
            "read_by",
            json!(node.map(|node| format!("directed route {}", node.path))),
        ),
    ];
    map.extend(members.map(|(key, value)| (key.to_owned(), value)));
    map
}

/// The limits of the path: its slowest link, its smallest MTU, errors and waits on it.
fn limits(snapshot: &Snapshot, path: &Path) -> Vec<String> {
    let mut limits = Vec::new();
    if path.end != PathEnd::Arrived {
        limits.push(end_text(snapshot, path));
    }
    let leaving: Vec<PortRef> = path
        .hops
        .iter()
        .filter_map(|hop| {
            Some(PortRef {
                port: hop.output?,
                ..hop.input
            })
        })
        .collect();
    let rate = |at: PortRef| {
        let link = snapshot.link_at(at)?;
        Some(u64::from(link.width?.lanes()) * u64::from(link.speed?.lane_mbps()))
    };
    let rates: Vec<(u64, PortRef)> = leaving
        .iter()
        .filter_map(|&at| Some((rate(at)?, at)))
        .collect();
    let most = rates.iter().map(|(rate, _)| *rate).max();
    if let Some((least, at)) = rates.iter().min_by_key(|(rate, _)| *rate)
        && Some(*least) < most
    {
        let text = place::text(snapshot, *at);
        limits.push(format!(
            "the link at {text} carries {} Gbit/s, the fastest {}",
            least / 1000,
            most.unwrap_or(0) / 1000
        ));
    }
    let mtu = |at: PortRef| Some(snapshot.port(at)?.info?.neighbor_mtu());
    let mtus: Vec<_> = leaving
        .iter()
        .filter_map(|&at| Some((mtu(at)?, at)))
        .collect();
    if let (Some((least, at)), Some(most)) = (
        mtus.iter().min_by_key(|(mtu, _)| *mtu),
        mtus.iter().map(|(mtu, _)| *mtu).max(),
    ) && *least < most
    {
        limits.push(format!(
            "the MTU at {} is {least}, elsewhere {most}",
            place::text(snapshot, *at)
        ));
    }
    for &at in &leaving {
        let Some(port) = snapshot.port(at) else {
            continue;
        };
        let state = port
            .state()
            .filter(|state| *state != ib_smp::PortState::ACTIVE);
        if let Some(state) = state {
            limits.push(format!("the port {} is {state}", place::text(snapshot, at)));
        }
        let values = port.counters.values(port.perf_class_port_info.as_ref());
        let waits = values
            .get("port_xmit_wait")
            .map_or(0, |counter| counter.value);
        let discards = values
            .get("port_xmit_discards")
            .map_or(0, |counter| counter.value);
        if discards > 0 {
            limits.push(format!(
                "{} discarded {discards} packets since its counters were cleared",
                place::text(snapshot, at)
            ));
        }
        if waits > 0 {
            limits.push(format!(
                "{} waited {waits} ticks for credits since its counters were cleared",
                place::text(snapshot, at)
            ));
        }
    }
    limits
}

fn print(out: &mut impl Write, hops: &[Value], end: &str, path: &Path) -> io::Result<()> {
    let text = |hop: &Value, key: &str| match &hop[key] {
        Value::Null => "?".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    for (number, hop) in hops.iter().enumerate() {
        writeln!(
            out,
            "{number}  {} ({}) in {}",
            text(hop, "name"),
            text(hop, "node_guid"),
            text(hop, "input")
        )?;
        if hop["output"].is_null() {
            continue;
        }
        if !hop["entry"].is_null() {
            writeln!(
                out,
                "   {} says port {}",
                text(hop, "entry"),
                text(hop, "output")
            )?;
        }
        writeln!(
            out,
            "   out {}: {}, {} {}, MTU {}, VL {} of {}",
            text(hop, "output"),
            text(hop, "state"),
            text(hop, "width"),
            text(hop, "speed"),
            text(hop, "mtu"),
            text(hop, "vl"),
            text(hop, "operational_vls")
        )?;
        if let Some(counters) = hop["counters"]
            .as_object()
            .filter(|counters| !counters.is_empty())
        {
            let counters: Vec<String> = counters
                .iter()
                .map(|(name, value)| format!("{name} {value}"))
                .collect();
            writeln!(out, "   {}", counters.join(", "))?;
        }
    }
    writeln!(out, "LID {}, SL {}: {end}", path.dlid, path.sl)
}

fn print_limits(out: &mut impl Write, limits: &[String]) -> io::Result<()> {
    match limits {
        [] => writeln!(out, "nothing limits the path"),
        limits => limits
            .iter()
            .try_for_each(|limit| writeln!(out, "limit: {limit}")),
    }
}
