//! Ports counted by what they are like, and those that could do better: what an operator looks at first.
//!
//! A pure function of the [`Subnet`]. A link that runs narrower or slower than both its ends can do has a bad
//! cable more often than not; a port that was disabled by hand stays so until somebody remembers it.

use alloc::{collections::BTreeMap, vec::Vec};

use ib_routing::{LinkSpeed, LinkWidth};
use ib_smp::{
    LinkSpeeds, LinkSpeedsExt, LinkSpeedsExt2, LinkWidths, NodeType, PortInfo, PortPhysicalState,
    PortState,
};
use ib_wire::PortNum;

use crate::{
    event::PortAt,
    subnet::{PortRef, Subnet},
    sweep::{speed, width},
};

/// What the ports of a subnet are like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortTally {
    /// Nodes whose ports were counted.
    pub nodes: usize,
    /// Ports; those that a switch has for itself (port 0) are left out.
    pub ports: usize,
    /// Ports by their states.
    pub states: BTreeMap<PortState, usize>,
    /// Ports with a link by its width.
    pub widths: BTreeMap<LinkWidth, usize>,
    /// Ports with a link by the speed of a lane.
    pub speeds: BTreeMap<LinkSpeed, usize>,
    /// Ports that somebody disabled.
    pub disabled: Vec<PortAt>,
    /// Ports whose link is narrower than both ends allow.
    pub narrow: Vec<PortAt>,
    /// Ports whose link is slower than both ends allow.
    pub slow: Vec<PortAt>,
    /// Ports with a link behind which nobody answers.
    pub unanswered: Vec<PortAt>,
}

impl PortTally {
    /// Counts the ports of nodes of one type, or of all.
    #[must_use]
    pub fn of(subnet: &Subnet, only: Option<NodeType>) -> Self {
        let mut tally = Self::default();
        for (index, node) in subnet.nodes() {
            if only.is_some_and(|only| only != node.info.node_type()) {
                continue;
            }
            tally.nodes = tally.nodes.saturating_add(1);
            for (port, record) in node.ports().filter(|&(port, _)| port != PortNum(0)) {
                let at = PortRef { node: index, port };
                if let Some(info) = &record.info {
                    tally.add(subnet, at, info);
                }
            }
        }
        tally
    }

    fn add(&mut self, subnet: &Subnet, at: PortRef, info: &PortInfo) {
        let name = subnet.port_at(at);
        self.ports = self.ports.saturating_add(1);
        count(&mut self.states, info.port_state());
        if info.port_physical_state() == PortPhysicalState::DISABLED {
            self.disabled.push(name);
        }
        let Some(record) = subnet.port(at).filter(|record| record.is_up()) else {
            return;
        };
        if record.neighbor_silent {
            self.unanswered.push(name);
        }
        let (width, speed) = (width(info), speed(info, true));
        if let Some(width) = width {
            count(&mut self.widths, width);
        }
        if let Some(speed) = speed {
            count(&mut self.speeds, speed);
        }
        let peer = record.peer.and_then(|peer| subnet.port(peer)?.info);
        let Some(peer) = peer else {
            return;
        };
        if width < widest(info.link_width_supported() & peer.link_width_supported()) {
            self.narrow.push(name);
        }
        if speed < fastest(info, &peer) {
            self.slow.push(name);
        }
    }
}

fn count<K: Ord>(counts: &mut BTreeMap<K, usize>, key: K) {
    let count = counts.entry(key).or_default();
    *count = count.saturating_add(1);
}

fn widest(widths: LinkWidths) -> Option<LinkWidth> {
    let lanes = [
        (LinkWidths::X12, 12),
        (LinkWidths::X8, 8),
        (LinkWidths::X4, 4),
        (LinkWidths::X2, 2),
        (LinkWidths::X1, 1),
    ];
    let best = lanes.iter().find(|(flag, _)| widths.contains(*flag))?;
    LinkWidth::from_lanes(best.1)
}

/// The highest speed that both ends can do.
fn fastest(here: &PortInfo, there: &PortInfo) -> Option<LinkSpeed> {
    let both2 = here.link_speed_ext_supported2() & there.link_speed_ext_supported2();
    if both2.contains(LinkSpeedsExt2::XDR) {
        return Some(LinkSpeed::Xdr);
    }
    let both = here.link_speed_ext_supported() & there.link_speed_ext_supported();
    let extended = [
        (LinkSpeedsExt::NDR, LinkSpeed::Ndr),
        (LinkSpeedsExt::HDR, LinkSpeed::Hdr),
        (LinkSpeedsExt::EDR, LinkSpeed::Edr),
        (LinkSpeedsExt::FDR, LinkSpeed::Fdr),
    ];
    let extended = extended.iter().find(|(flag, _)| both.contains(*flag));
    if let Some(&(_, speed)) = extended {
        return Some(speed);
    }
    let both = here.link_speed_supported() & there.link_speed_supported();
    let basic = [
        (LinkSpeeds::QDR, LinkSpeed::Qdr),
        (LinkSpeeds::DDR, LinkSpeed::Ddr),
        (LinkSpeeds::SDR, LinkSpeed::Sdr),
    ];
    let basic = basic.iter().find(|(flag, _)| both.contains(*flag));
    basic.map(|&(_, speed)| speed)
}
