//! Ports counted by state, width and speed, and the ports that run below their capability.
//!
//! A pure function of the [`Subnet`]. A link that is narrower or slower than both its ends support often has a
//! bad cable. A disabled port stays disabled until it is enabled explicitly.

use alloc::{collections::BTreeMap, vec::Vec};

use ib_routing::{LinkSpeed, LinkWidth};
use ib_smp::{NodeType, PortInfo, PortPhysicalState, PortState};
use ib_wire::PortNum;

use crate::{PortAt, PortId, Subnet, link_speed::active_speed};

/// Counts of the ports of a subnet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortSummary {
    /// Number of nodes whose ports are counted.
    pub nodes: usize,
    /// Number of ports; port 0 of a switch is not counted.
    pub ports: usize,
    /// Number of ports in each state.
    pub states: BTreeMap<PortState, usize>,
    /// Number of ports with a link, by link width.
    pub widths: BTreeMap<LinkWidth, usize>,
    /// Number of ports with a link, by the speed of a lane.
    pub speeds: BTreeMap<LinkSpeed, usize>,
    /// Ports that are disabled.
    pub disabled: Vec<PortAt>,
    /// Ports whose link is narrower than both ends allow.
    pub narrow: Vec<PortAt>,
    /// Ports whose link is slower than both ends allow.
    pub slow: Vec<PortAt>,
    /// Ports whose link is up and whose neighbor does not answer.
    pub unanswered: Vec<PortAt>,
}

impl PortSummary {
    /// Counts the ports of nodes of one type, or of all.
    #[must_use]
    pub fn of(subnet: &Subnet, only: Option<NodeType>) -> Self {
        let mut summary = Self::default();
        for (index, node) in subnet.nodes() {
            if only.is_some_and(|only| only != node.info().node_type()) {
                continue;
            }
            summary.nodes = summary.nodes.saturating_add(1);
            for (port, record) in node.ports().filter(|&(port, _)| port != PortNum(0)) {
                let at = PortId { node: index, port };
                if let Some(info) = record.info() {
                    summary.add(subnet, at, info);
                }
            }
        }
        summary
    }

    fn add(&mut self, subnet: &Subnet, at: PortId, info: &PortInfo) {
        let name = subnet.port_at(at);
        self.ports = self.ports.saturating_add(1);
        count(&mut self.states, info.port_state());
        if info.port_physical_state() == PortPhysicalState::DISABLED {
            self.disabled.push(name);
        }
        let Some(record) = subnet.port(at).filter(|record| record.is_up()) else {
            return;
        };
        if record.is_neighbor_silent() {
            self.unanswered.push(name);
        }
        let (width, speed) = (info.width(), active_speed(info, true));
        if let Some(width) = width {
            count(&mut self.widths, width);
        }
        if let Some(speed) = speed {
            count(&mut self.speeds, speed);
        }
        let peer = record.peer().and_then(|peer| subnet.port(peer)?.info());
        let Some(peer) = peer else {
            return;
        };
        if width < info.widest_supported(peer) {
            self.narrow.push(name);
        }
        if speed < info.fastest_supported(peer) {
            self.slow.push(name);
        }
    }
}

fn count<K: Ord>(counts: &mut BTreeMap<K, usize>, key: K) {
    let count = counts.entry(key).or_default();
    *count = count.saturating_add(1);
}
