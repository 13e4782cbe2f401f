//! Links: both ends of each cable, the width and speed in use, and the best that both ends support.

use alloc::vec::Vec;

use ib_routing::{LinkSpeed, LinkWidth, PortRef};
use ib_smp::{PortInfo, PortPhysicalState, PortState};
use ib_subnet::active_speed;
use ib_wire::PortNum;

use crate::snapshot::Snapshot;

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEnd {
    /// The port at this end.
    pub port: PortRef,
    /// Logical state of the port; `None` if PortInfo was not read.
    pub state: Option<PortState>,
    /// Physical state of the port; `None` if PortInfo was not read.
    pub physical_state: Option<PortPhysicalState>,
    /// The widest width that the port supports; `None` if unknown.
    pub width: Option<LinkWidth>,
    /// The highest speed that the port supports; `None` if unknown.
    pub speed: Option<LinkSpeed>,
}

/// A link: a cable with two ends, or a port without a known other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkView {
    /// The end whose node has the lower GUID.
    pub a: LinkEnd,
    /// The other end; `None` if it is unknown.
    pub b: Option<LinkEnd>,
    /// Width in use; `None` if the link is down or the width is unknown.
    pub width: Option<LinkWidth>,
    /// Speed of a lane in use; `None` if the link is down or the speed is unknown.
    pub speed: Option<LinkSpeed>,
    /// The widest width that both ends support; `None` if unknown.
    pub best_width: Option<LinkWidth>,
    /// The highest speed that both ends support; `None` if unknown.
    pub best_speed: Option<LinkSpeed>,
    /// The widest width that both ends enable; `None` if unknown.
    pub enabled_width: Option<LinkWidth>,
    /// The highest speed that both ends enable; `None` if unknown.
    pub enabled_speed: Option<LinkSpeed>,
}

impl LinkView {
    /// Returns true if the link runs narrower than both ends support.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        self.width.is_some() && self.width < self.best_width
    }

    /// Returns true if the link runs slower than both ends support.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.speed.is_some() && self.speed < self.best_speed
    }

    /// Returns true if no link is up at the port.
    #[must_use]
    pub fn is_down(&self) -> bool {
        let is_up = |end: &LinkEnd| end.physical_state == Some(PortPhysicalState::LINK_UP);
        !is_up(&self.a)
    }
}

impl Snapshot {
    /// Every cable once, then every external port without a known other end.
    #[must_use]
    pub fn links(&self) -> Vec<LinkView> {
        let mut links: Vec<LinkView> = self.cables().map(|(a, b)| self.link(a, Some(b))).collect();
        let alone = self.ports().filter(|(at, node, port)| {
            port.peer.is_none() && !(node.is_switch() && at.port == PortNum::MANAGEMENT)
        });
        links.extend(
            alone
                .filter(|(_, _, port)| port.info.is_some())
                .map(|(at, _, _)| self.link(at, None)),
        );
        links
    }

    /// The link at a port, with the port as its first end.
    #[must_use]
    pub fn link_at(&self, port: PortRef) -> Option<LinkView> {
        let peer = self.port(port)?.peer;
        Some(self.link(port, peer))
    }

    fn link(&self, a: PortRef, b: Option<PortRef>) -> LinkView {
        let (near, far) = (self.end(a), b.map(|b| self.end(b)));
        let info = self.port(a).and_then(|port| port.info);
        let is_up = near.physical_state == Some(PortPhysicalState::LINK_UP);
        let info = info.filter(|_| is_up);
        let extended = self
            .node(a.node)
            .is_some_and(|node| node.has_extended_speeds(a.port));
        let mut speed = info.and_then(|info| active_speed(&info, extended));
        if speed.is_some() && self.port(a).is_some_and(|port| port.is_fdr10) {
            speed = Some(LinkSpeed::Fdr10);
        }
        let far_info = b.and_then(|b| self.port(b)?.info);
        let near_info = self.port(a).and_then(|port| port.info);
        let both = near_info.zip(far_info);
        let enabled = both.map(|(near, far)| (only_enabled(near), only_enabled(far)));
        LinkView {
            a: near,
            b: far,
            width: info.and_then(|info| info.width()),
            speed,
            best_width: both.and_then(|(near, far)| near.widest_supported(&far)),
            // No mask of supported speeds shows FDR10, so a link that runs at it supports it beside what the masks say.
            best_speed: both
                .and_then(|(near, far)| near.fastest_supported(&far))
                .max(speed),
            enabled_width: enabled.and_then(|(near, far)| near.widest_supported(&far)),
            enabled_speed: enabled.and_then(|(near, far)| near.fastest_supported(&far)),
        }
    }

    fn end(&self, port: PortRef) -> LinkEnd {
        let info = self.port(port).and_then(|port| port.info);
        LinkEnd {
            port,
            state: info.map(|info| info.port_state()),
            physical_state: info.map(|info| info.port_physical_state()),
            width: info.and_then(|info| info.widest_supported(&info)),
            speed: info.and_then(|info| info.fastest_supported(&info)),
        }
    }
}

/// PortInfo of a port that supports exactly the settings that it enables.
fn only_enabled(mut info: PortInfo) -> PortInfo {
    let widths = info.link_width_supported() & info.link_width_enabled();
    let speeds = info.link_speed_supported() & info.link_speed_enabled();
    let extended = info.link_speed_ext_supported() & info.link_speed_ext_enabled();
    let extended2 = info.link_speed_ext_supported2() & info.link_speed_ext_enabled2();
    info.set_link_width_supported(widths)
        .set_link_speed_supported(speeds)
        .set_link_speed_ext_supported(extended)
        .set_link_speed_ext_supported2(extended2);
    info
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use ib_routing::LinkSpeed;

    use crate::testing::brought_up;

    #[test]
    fn a_link_at_fdr10_could_not_be_slower() {
        let links = brought_up("real-fdr10-152").links();
        let at_fdr10: Vec<_> = links
            .iter()
            .filter(|link| link.speed == Some(LinkSpeed::Fdr10))
            .collect();
        assert!(at_fdr10.len() > 10, "{}", at_fdr10.len());
        for link in at_fdr10 {
            assert_eq!(link.best_speed, Some(LinkSpeed::Fdr10));
            assert!(!link.is_slow());
        }
    }
}
