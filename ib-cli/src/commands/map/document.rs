//! The data of the page, as one JSON document.

use std::collections::BTreeMap;

use ib_diag::{CheckReport, Finding, Snapshot, SnapshotNode};
use ib_routing::{
    ChannelIdx, Fabric, FabricLayout, LidMap, NodeIdx, PortRef, Routes, VerifyReport,
    layout::Labels,
};
use ib_sm::InstalledRoutes;
use serde::Serialize;

use crate::output::place;

/// A fabric with LIDs and routes; if the fabric is real, also with what was read from its devices.
pub struct Routed {
    pub fabric: Fabric,
    pub lids: LidMap,
    pub routes: Routes,
    pub verified: VerifyReport,
    pub observed: Option<(Snapshot, CheckReport)>,
}

impl Routed {
    /// The tables that a running manager has installed.
    pub fn of_manager(installed: &InstalledRoutes) -> Self {
        Self {
            fabric: installed.fabric().clone(),
            lids: installed.lids().clone(),
            routes: Routes::clone(installed.routes()),
            verified: installed.report().clone(),
            observed: None,
        }
    }
}

/// Number of characters of a name that fit into a box.
const LABEL: usize = 15;

/// Largest size of all forwarding tables together, in bytes. With more, browsers would open the page slowly.
const TABLES: usize = 16 << 20;

/// The data of the page.
#[derive(Serialize)]
pub struct Document {
    title: String,
    /// Time of the reading in milliseconds since 1970-01-01 00:00 UTC; 0 if nothing was read.
    taken_at: u64,
    shape: &'static str,
    width: u32,
    height: u32,
    hosts_are_named: bool,
    /// Width and height of the boxes of switches.
    switch_size: (u32, u32),
    host_size: (u32, u32),
    /// Whether error counters were read.
    has_counters: bool,
    nodes: Vec<NodeDocument>,
    links: Vec<LinkDocument>,
    findings: Vec<FindingDocument>,
    /// The forwarding table of each switch, by the index of the switch among the nodes: one byte per LID from 0, in
    /// hexadecimal. Empty if the tables would make the page too large.
    tables: BTreeMap<u32, String>,
}

#[derive(Serialize)]
struct NodeDocument {
    kind: &'static str,
    label: String,
    name: String,
    guid: String,
    /// The LIDs of each end port: base LID and number of LIDs.
    lids: Vec<(u16, u16)>,
    x: u32,
    y: u32,
    /// The index of the switch that the node is connected to; `None` if there is none.
    leaf: Option<u32>,
    ports: u8,
    /// Further facts about the node: name and value of each.
    facts: Vec<(&'static str, String)>,
}

#[derive(Serialize)]
struct LinkDocument {
    /// Node index and port number of both ends.
    a: (u32, u8),
    b: (u32, u8),
    /// The control point of the link's curve.
    bend: (u32, u32),
    width: Option<String>,
    speed: Option<String>,
    /// Data rate in megabits per second; 0 if unknown.
    mbps: u64,
    /// The highest data rate that both ends support, in megabits per second; 0 if unknown.
    best_mbps: u64,
    /// Number of routes between hosts from a to b, and from b to a; `None` for links of hosts.
    load: Option<(u64, u64)>,
    /// Sum of the error counters of both ends; `None` if they were not read.
    errors: Option<u64>,
}

#[derive(Serialize)]
struct FindingDocument {
    check: &'static str,
    severity: &'static str,
    node: Option<u32>,
    port: Option<u8>,
    place: String,
    message: String,
    action: &'static str,
}

impl Document {
    pub fn new(routed: &Routed, layout: &FabricLayout, title: String) -> Self {
        let fabric = &routed.fabric;
        let snapshot = routed.observed.as_ref().map(|(snapshot, _)| snapshot);
        let labels = Labels::new(fabric);
        let nodes = fabric.nodes().indices();
        let nodes = nodes.map(|node| NodeDocument::new(routed, layout, &labels, node));
        let mut parallel: BTreeMap<(NodeIdx, NodeIdx), u32> = BTreeMap::new();
        let links = fabric.links().map(|(one, other)| {
            let pair = (one.node.min(other.node), one.node.max(other.node));
            let nth = parallel.entry(pair).or_default();
            let bend = layout.bend(one.node, other.node, *nth);
            *nth += 1;
            LinkDocument::new(routed, one, other, (bend.x, bend.y))
        });
        let findings = routed
            .observed
            .iter()
            .flat_map(|(_, report)| &report.findings);
        Self {
            title,
            taken_at: snapshot.map_or(0, |snapshot| snapshot.taken_at),
            shape: layout.shape.name(),
            width: layout.width,
            height: layout.height,
            hosts_are_named: layout.hosts_are_named,
            switch_size: layout.size(true),
            host_size: layout.size(false),
            has_counters: snapshot
                .is_some_and(|snapshot| snapshot.contents.contains(ib_diag::Contents::COUNTERS)),
            nodes: nodes.collect(),
            links: links.collect(),
            findings: findings
                .map(|finding| FindingDocument::new(fabric, finding))
                .collect(),
            tables: tables(routed),
        }
    }
}

/// The forwarding tables, in hexadecimal.
fn tables(routed: &Routed) -> BTreeMap<u32, String> {
    let lids = usize::from(routed.lids.max_lid().0) + 1;
    let fabric = &routed.fabric;
    if lids.saturating_mul(fabric.num_switches()) > TABLES {
        return BTreeMap::new();
    }
    let rows = fabric.switches().iter_enumerated();
    let rows = rows.map(|(switch, node)| {
        let row = routed.routes.lft(switch);
        (node.0, const_hex::encode(row.get(..lids).unwrap_or(&row)))
    });
    rows.collect()
}

impl NodeDocument {
    fn new(routed: &Routed, layout: &FabricLayout, labels: &Labels, index: NodeIdx) -> Self {
        let node = routed.fabric.node(index);
        let place = layout.places.find(index).copied().unwrap_or_default();
        let leaf = layout.leaves.find(index).copied().flatten();
        let lids = node.end_ports().filter_map(|(port, _)| {
            let range = routed.lids.range_of(PortRef { node: index, port })?;
            Some((range.base().0, range.lmc().lid_count()))
        });
        let observed = routed.observed.as_ref();
        let observed = observed.and_then(|(snapshot, _)| snapshot.node(index));
        Self {
            kind: place::type_name(node.type_),
            label: labels.short(node, LABEL),
            name: match observed {
                Some(observed) => observed.name(),
                None => labels.name(node),
            },
            guid: node.guid.to_string(),
            lids: lids.collect(),
            x: place.x,
            y: place.y,
            leaf: leaf.map(|leaf| leaf.0),
            ports: node.num_ports(),
            facts: facts(node, observed),
        }
    }
}

fn facts(node: &ib_routing::Node, observed: Option<&SnapshotNode>) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if !node.description.is_empty() {
        facts.push(("description", node.description.clone()));
    }
    if node.system_image_guid.0 != 0 {
        facts.push(("system image", node.system_image_guid.to_string()));
    }
    if node.vendor_id != 0 {
        facts.push(("vendor", format!("{:#08x}", node.vendor_id)));
        facts.push(("device", node.device_id.to_string()));
    }
    let Some(observed) = observed else {
        return facts;
    };
    facts.push(("revision", format!("{:#x}", observed.info.revision())));
    facts.push(("directed route", observed.path.to_string()));
    let errors: u64 = observed.ports().filter_map(|(_, port)| errors(port)).sum();
    if observed.ports().any(|(_, port)| !port.counters.is_empty()) {
        facts.push(("errors counted", errors.to_string()));
    }
    let managers = observed
        .ports()
        .filter_map(|(_, port)| port.sm_info.as_ref());
    facts.extend(managers.map(|info| {
        let text = format!("{}, priority {}", info.sm_state(), info.priority());
        ("subnet manager", text)
    }));
    facts
}

/// The sum of the error counters of a port; `None` if they were not read.
fn errors(port: &ib_diag::SnapshotPort) -> Option<u64> {
    if port.counters.is_empty() {
        return None;
    }
    let values = port.counters.values(port.perf_class_port_info.as_ref());
    Some(values.errors())
}

impl LinkDocument {
    fn new(routed: &Routed, a: PortRef, b: PortRef, bend: (u32, u32)) -> Self {
        let fabric = &routed.fabric;
        let snapshot = routed.observed.as_ref().map(|(snapshot, _)| snapshot);
        let seen = snapshot.and_then(|snapshot| snapshot.link_at(a));
        let port = fabric.port(a);
        let (width, speed) = match seen {
            Some(link) => (link.width, link.speed),
            None => (
                port.and_then(|port| port.width),
                port.and_then(|port| port.speed),
            ),
        };
        let rate = |width: Option<ib_routing::LinkWidth>, speed: Option<ib_routing::LinkSpeed>| {
            let rate = width
                .zip(speed)
                .map(|(width, speed)| u64::from(width.lanes()) * u64::from(speed.lane_mbps()));
            rate.unwrap_or(0)
        };
        let load = |channel: ChannelIdx| {
            let loads = &routed.verified.link_load.by_channel;
            loads.find(channel).copied().unwrap_or(0)
        };
        let channel = fabric
            .switch_of(a.node)
            .and_then(|switch| fabric.channel_at(switch, a.port));
        let counted = |end| snapshot.and_then(|snapshot| errors(snapshot.port(end)?));
        Self {
            a: (a.node.0, a.port.0),
            b: (b.node.0, b.port.0),
            bend,
            width: width.map(|width| width.to_string()),
            speed: speed.map(|speed| speed.to_string()),
            mbps: rate(width, speed),
            best_mbps: seen.map_or(0, |link| rate(link.best_width, link.best_speed)),
            load: channel.map(|channel| (load(channel), load(fabric.channel(channel).reverse))),
            errors: match (counted(a), counted(b)) {
                (None, None) => None,
                (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
            },
        }
    }
}

impl FindingDocument {
    fn new(fabric: &Fabric, finding: &Finding) -> Self {
        let guid = finding.place.node_guid;
        Self {
            check: finding.check.name(),
            severity: finding.severity.name(),
            node: guid
                .and_then(|guid| fabric.node_by_guid(guid))
                .map(|node| node.0),
            port: finding.place.port.map(|port| port.0),
            place: finding.place.to_string(),
            message: finding.message.clone(),
            action: finding.action,
        }
    }
}
