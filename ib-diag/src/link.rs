//! Links: both ends of each cable, the width and speed in use, and the best that both ends support.

use alloc::vec::Vec;

use ib_routing::{LinkSpeed, LinkWidth, PortRef};
use ib_smp::{PortInfo, PortPhysicalState, PortState, VendorLinkSpeeds};
use ib_subnet::active_speed;
use ib_wire::PortNum;

use crate::snapshot::{Snapshot, SnapshotPort};

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
        // No mask of PortInfo has FDR10, so it counts beside what the masks say.
        let fdr10 = |has: fn(&SnapshotPort) -> bool| {
            let does = |at| self.port(at).is_some_and(has);
            (does(a) && b.is_some_and(does)).then_some(LinkSpeed::Fdr10)
        };
        let enabled = both.map(|(near, far)| (only_enabled(near), only_enabled(far)));
        LinkView {
            a: near,
            b: far,
            width: info.and_then(|info| info.width()),
            speed,
            best_width: both.and_then(|(near, far)| near.widest_supported(&far)),
            best_speed: both
                .and_then(|(near, far)| near.fastest_supported(&far))
                .max(fdr10(SnapshotPort::supports_fdr10))
                .max(speed),
            enabled_width: enabled.and_then(|(near, far)| near.widest_supported(&far)),
            enabled_speed: enabled
                .and_then(|(near, far)| near.fastest_supported(&far))
                .max(fdr10(SnapshotPort::enables_fdr10)),
        }
    }

    fn end(&self, port: PortRef) -> LinkEnd {
        let found = self.port(port);
        let info = found.and_then(|port| port.info);
        let fdr10 = found.is_some_and(SnapshotPort::supports_fdr10);
        LinkEnd {
            port,
            state: info.map(|info| info.port_state()),
            physical_state: info.map(|info| info.port_physical_state()),
            width: info.and_then(|info| info.widest_supported(&info)),
            speed: info
                .and_then(|info| info.fastest_supported(&info))
                .max(fdr10.then_some(LinkSpeed::Fdr10)),
        }
    }
}

impl SnapshotPort {
    /// Returns true if the port supports FDR10 by the vendor's attribute.
    fn supports_fdr10(&self) -> bool {
        let speeds = self.vendor_speeds.map(|info| info.link_speed_supported());
        speeds.is_some_and(|speeds| speeds.contains(VendorLinkSpeeds::FDR10))
    }

    /// Returns true if the port supports FDR10 and may use it.
    fn enables_fdr10(&self) -> bool {
        let speeds = self.vendor_speeds.map(|info| info.link_speed_enabled());
        self.supports_fdr10()
            && speeds.is_some_and(|speeds| speeds.contains(VendorLinkSpeeds::FDR10))
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
    use ib_smp::VendorLinkSpeeds;

    use crate::{
        check::{Check, CheckOptions, Severity, check},
        snapshot::Snapshot,
        testing::brought_up,
    };

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

    /// iblinkinfo says of such a link "Could be FDR10 (Found link at QDR but expected speed is FDR10)".
    #[test]
    fn a_link_at_qdr_between_ends_with_fdr10_could_be_fdr10() {
        let mut snapshot = brought_up("real-fdr10-152");
        let link = snapshot.links().into_iter();
        let mut link = link.filter(|link| link.speed == Some(LinkSpeed::Fdr10));
        let link = link.next().unwrap();
        let (a, b) = (link.a.port, link.b.unwrap().port);
        let none = VendorLinkSpeeds::empty();
        let speed_of = |snapshot: &Snapshot| snapshot.link_at(a).unwrap();
        let finding = |snapshot: &Snapshot| {
            let report = check(snapshot, None, &CheckOptions::default());
            let mut findings = report.findings.into_iter();
            findings.find(|finding| finding.check == Check::LinkSpeed)
        };
        assert_eq!(finding(&snapshot), None);

        for at in [a, b] {
            let port = snapshot.port_mut(at).unwrap();
            port.is_fdr10 = false;
            port.vendor_speeds
                .as_mut()
                .unwrap()
                .set_link_speed_active(none);
        }
        let found = speed_of(&snapshot);
        assert_eq!(found.speed, Some(LinkSpeed::Qdr));
        assert_eq!(found.best_speed, Some(LinkSpeed::Fdr10));
        assert_eq!(found.enabled_speed, Some(LinkSpeed::Fdr10));
        assert_eq!(found.a.speed, Some(LinkSpeed::Fdr10));
        assert!(found.is_slow());
        assert_eq!(finding(&snapshot).unwrap().severity, Severity::Warning);
        // A snapshot file keeps it.
        let read = Snapshot::from_bytes(&snapshot.to_bytes()).unwrap();
        assert_eq!(speed_of(&read), found);

        let port = snapshot.port_mut(b).unwrap();
        let speeds = port.vendor_speeds.as_mut().unwrap();
        speeds.set_link_speed_enabled(none);
        let found = speed_of(&snapshot);
        assert_eq!(found.best_speed, Some(LinkSpeed::Fdr10));
        assert_eq!(found.enabled_speed, Some(LinkSpeed::Qdr));
        assert_eq!(finding(&snapshot).unwrap().severity, Severity::Info);

        let port = snapshot.port_mut(b).unwrap();
        let speeds = port.vendor_speeds.as_mut().unwrap();
        speeds.set_link_speed_supported(none);
        let found = speed_of(&snapshot);
        assert_eq!(found.best_speed, Some(LinkSpeed::Qdr));
        assert!(!found.is_slow());
    }
}
