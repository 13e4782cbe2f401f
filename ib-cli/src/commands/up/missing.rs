//! Nodes of the simulated fabric that the manager did not reach, and the reasons.
//!
//! The manager has only the nodes that it found. The command has the whole fabric, and compares the two.

use std::collections::{BTreeSet, VecDeque};

use ib_routing::{Fabric, NodeIdx, PortRef, index::IdxVec};
use ib_sm::SubnetManager;
use ib_smp::DrPath;

use crate::output::report::{NodeCounts, Report};

/// The reason why the manager has no LID for a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// No chain of working cables joins the node with the manager.
    NotConnected,
    /// The node is farther away than a directed route can reach.
    TooFar,
    /// The node is within reach, but it did not answer, or the manager left it out.
    NoAnswer,
}

impl Reason {
    const ALL: [Self; 3] = [Self::NotConnected, Self::TooFar, Self::NoAnswer];

    fn text(self) -> String {
        match self {
            Self::NotConnected => "no cable joins them to the manager's port".to_owned(),
            Self::TooFar => format!(
                "they are more than {} hops from the manager's port, and a directed route has no more",
                DrPath::MAX_HOPS
            ),
            Self::NoAnswer => "they gave no usable answer".to_owned(),
        }
    }
}

/// Compares the manager's subnet with the whole fabric. Adds the missing nodes to the report, the pairs that have no
/// route because of them, and a sentence for each reason.
pub fn add_missing(report: &mut Report, fabric: &Fabric, at: PortRef, sm: &SubnetManager) {
    let lids = sm.lids();
    let known: BTreeSet<_> = lids.destinations().iter().map(|port| port.guid).collect();
    let hops = hops(fabric, at);
    let mut by_reason = [NodeCounts::default(); Reason::ALL.len()];
    let (mut end_ports, mut ca_ports) = (Missing::default(), Missing::default());
    for (index, node) in fabric.nodes().iter_enumerated() {
        let is_switch = node.type_.is_switch();
        let mut is_missing = false;
        for (_, port) in node.end_ports() {
            if !is_switch && (port.peer.is_none() || port.disabled) {
                continue;
            }
            let missing = !known.contains(&port.guid);
            is_missing |= missing;
            end_ports.add(missing);
            if !is_switch {
                ca_ports.add(missing);
            }
        }
        if is_missing {
            let reason = match hops.find(index) {
                Some(Some(hops)) if *hops > u32::from(DrPath::MAX_HOPS) => Reason::TooFar,
                Some(Some(_)) => Reason::NoAnswer,
                _ => Reason::NotConnected,
            };
            if let Some(counts) = by_reason.get_mut(reason as usize) {
                counts.add(node.type_);
            }
        }
    }
    let mut all = NodeCounts::default();
    for (reason, counts) in Reason::ALL.into_iter().zip(by_reason) {
        all.switches += counts.switches;
        all.cas += counts.cas;
        all.routers += counts.routers;
        if counts != NodeCounts::default() {
            let nodes = counts.names().join(", ");
            report.fail(format!("{nodes} not reached: {}", reason.text()));
        }
    }
    report.missing = Some(all);
    report.routes.unreachable += end_ports.pairs();
    report.routes.pairs += ca_ports.pairs();
}

/// Numbers of ports with and without a LID.
#[derive(Clone, Copy, Debug, Default)]
struct Missing {
    all: u64,
    missing: u64,
}

impl Missing {
    fn add(&mut self, missing: bool) {
        self.all += 1;
        self.missing += u64::from(missing);
    }

    /// Ordered pairs of different ports of which at least one is missing.
    fn pairs(self) -> u64 {
        let pairs = |ports: u64| ports.saturating_mul(ports.saturating_sub(1));
        pairs(self.all) - pairs(self.all - self.missing)
    }
}

/// Hops of the shortest directed route from a port to every node; `None` if there is no route. This is a breadth-first
/// search in which only switches forward.
fn hops(fabric: &Fabric, at: PortRef) -> IdxVec<NodeIdx, Option<u32>> {
    let mut hops = IdxVec::filled(fabric.nodes().len(), None);
    hops[at.node] = Some(0);
    let mut queue = VecDeque::from([(at.node, 0)]);
    while let Some((index, distance)) = queue.pop_front() {
        let node = fabric.node(index);
        if index != at.node && !node.type_.is_switch() {
            continue;
        }
        for (number, port) in node.ports() {
            let leaves = node.type_.is_switch() || number == at.port;
            let Some(peer) = port.peer.filter(|_| leaves && !port.disabled) else {
                continue;
            };
            let disabled = fabric.port(peer).is_none_or(|port| port.disabled);
            if !disabled && hops[peer.node].is_none() {
                hops[peer.node] = Some(distance + 1);
                queue.push_back((peer.node, distance + 1));
            }
        }
    }
    hops
}
