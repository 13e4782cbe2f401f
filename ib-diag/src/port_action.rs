//! Changes of a port: the values to write, a check that the change does not cut off this host, and a check that the
//! port accepted the change.

use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};
use core::{fmt, str::FromStr};

use ib_mad::{Attribute as _, Mad, MadAddress, Method};
use ib_routing::{LinkSpeed, LinkWidth, PortRef};
use ib_smp::{
    DrPath, LinkDownDefaultState, LinkSpeeds, LinkSpeedsExt, LinkWidths, PortInfo,
    PortInfoModifier, PortPhysicalState, PortState, SmpDirected, VlCap,
};
use ib_wire::{MKey, Mtu, PortNum};
use thiserror::Error;

use crate::snapshot::Snapshot;

/// A change that can be made to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortAction {
    /// Lets a disabled port look for a link again.
    Enable,
    /// Disables the port until it is enabled again.
    Disable,
    /// Disables and enables the port, so that the link is trained again.
    Reset,
    /// Brings the logical link down; the subnet manager brings it up again.
    Down,
    /// Moves the port from Initialize to Armed.
    Arm,
    /// Moves the port from Armed to Active.
    Active,
    /// Enables this speed and the slower ones; the setting takes effect when the link is trained again.
    Speed(LinkSpeed),
    /// Enables this width and the narrower ones; the setting takes effect when the link is trained again.
    Width(LinkWidth),
    /// Sets the number of data lanes in use: 1, 2, 4, 8 or 15.
    Vls(u8),
    /// Sets NeighborMTU.
    Mtu(Mtu),
}

/// The error for a text that names no action.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{found:?} is no action, expected enable, disable, reset, down, arm, active, speed=SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR, width=1x|2x|4x|8x|12x, vls=1|2|4|8|15 or mtu=256..4096"
)]
pub struct PortActionError {
    /// The text that was given.
    pub found: String,
}

impl FromStr for PortAction {
    type Err = PortActionError;

    fn from_str(text: &str) -> Result<Self, PortActionError> {
        let parsed = match text.split_once('=') {
            None => match text {
                "enable" => Some(Self::Enable),
                "disable" => Some(Self::Disable),
                "reset" => Some(Self::Reset),
                "down" => Some(Self::Down),
                "arm" => Some(Self::Arm),
                "active" => Some(Self::Active),
                _ => None,
            },
            Some(("speed", speed)) => {
                let speed = speed.to_ascii_uppercase();
                let speed = LinkSpeed::ALL.iter().find(|(_, name)| *name == speed);
                speed.map(|&(speed, _)| Self::Speed(speed))
            }
            Some(("width", width)) => {
                let lanes = width.trim_end_matches(['x', 'X']).parse().ok();
                lanes.and_then(LinkWidth::from_lanes).map(Self::Width)
            }
            Some(("vls", vls)) => {
                let vls = vls
                    .parse()
                    .ok()
                    .filter(|vls| matches!(vls, 1 | 2 | 4 | 8 | 15));
                vls.map(Self::Vls)
            }
            Some(("mtu", mtu)) => {
                let wanted: Option<u16> = mtu.parse().ok();
                let all = [
                    Mtu::MTU_256,
                    Mtu::MTU_512,
                    Mtu::MTU_1024,
                    Mtu::MTU_2048,
                    Mtu::MTU_4096,
                ];
                let found = all
                    .into_iter()
                    .find(|mtu| wanted.is_some() && mtu.bytes() == wanted);
                found.map(Self::Mtu)
            }
            Some(_) => None,
        };
        parsed.ok_or_else(|| PortActionError { found: text.into() })
    }
}

impl fmt::Display for PortAction {
    /// Prints the form that [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enable => f.write_str("enable"),
            Self::Disable => f.write_str("disable"),
            Self::Reset => f.write_str("reset"),
            Self::Down => f.write_str("down"),
            Self::Arm => f.write_str("arm"),
            Self::Active => f.write_str("active"),
            Self::Speed(speed) => write!(f, "speed={speed}"),
            Self::Width(width) => write!(f, "width={width}"),
            Self::Vls(vls) => write!(f, "vls={vls}"),
            Self::Mtu(mtu) => write!(f, "mtu={mtu}"),
        }
    }
}

/// The reason why a port is not changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PortChangeError {
    /// The port does not exist.
    #[error("there is no such port")]
    NoSuchPort,
    /// The requests of this host pass the port, so the change would cut this host off.
    #[error("{action} of {port} would cut off this host: the requests go through that link")]
    CutsOff {
        /// The change that was requested.
        action: String,
        /// The port, as text for a message.
        port: String,
    },
}

/// The change of one port.
#[derive(Clone, Debug)]
pub struct PortChange {
    path: DrPath,
    port: PortNum,
    actions: Vec<PortAction>,
}

impl Snapshot {
    /// Prepares a change of a port.
    ///
    /// # Errors
    /// Refuses a port that does not exist, and a change that would cut off the port from which the subnet was read.
    pub fn port_change(
        &self,
        at: PortRef,
        actions: &[PortAction],
    ) -> Result<PortChange, PortChangeError> {
        let node = self
            .node(at.node)
            .filter(|node| node.port(at.port).is_some());
        let node = node.ok_or(PortChangeError::NoSuchPort)?;
        let cuts = |action: &&PortAction| {
            matches!(
                action,
                PortAction::Disable | PortAction::Reset | PortAction::Down
            )
        };
        if let Some(action) = actions.iter().find(cuts)
            && self.is_on_route(at)
        {
            return Err(PortChangeError::CutsOff {
                action: action.to_string(),
                port: alloc::format!("{} port {}", node.name(), at.port),
            });
        }
        Ok(PortChange {
            path: node.path,
            port: at.port,
            actions: actions.into(),
        })
    }

    /// Returns true if the directed route to a port's node passes the port itself, or the port is the own port.
    fn is_on_route(&self, at: PortRef) -> bool {
        let Some(own) = self.own_port else {
            return false;
        };
        // Every route begins with the cable at the own port.
        if at == own || self.port(own).is_some_and(|port| port.peer == Some(at)) {
            return true;
        }
        let Some(node) = self.node(at.node) else {
            return false;
        };
        let mut arrival = own;
        for port in node.path.ports() {
            let leaving = PortRef { port, ..arrival };
            match self.port(leaving).and_then(|port| port.peer) {
                Some(peer) => arrival = peer,
                None => return false,
            }
        }
        arrival == at
    }
}

impl PortChange {
    /// A Get of the port's PortInfo.
    #[must_use]
    pub fn read_request(&self, m_key: MKey) -> Mad {
        self.smp(Method::GET, m_key, &PortInfo::default())
    }

    /// PortInfo of the port in a response; `None` if the response is of another kind.
    #[must_use]
    pub fn read(&self, mad: &Mad) -> Option<PortInfo> {
        let (smp, _) = SmpDirected::parse(&mad.bytes, 0).ok()?;
        let is_answer = smp.status().is_ok() && smp.attribute_id() == PortInfo::ID;
        let (info, _) = PortInfo::parse(smp.smp_data(), 0).ok()?;
        is_answer.then_some(*info)
    }

    /// The Sets that make the change, to be sent one after the other. `before` is the result of [`read`](Self::read): a
    /// Set writes nearly every field, so the Sets start from the values that the port has.
    #[must_use]
    pub fn requests(&self, before: &PortInfo, m_key: MKey) -> Vec<Mad> {
        let mut base = *before;
        base.set_port_state(PortState::NO_CHANGE)
            .set_port_physical_state(PortPhysicalState::NO_CHANGE)
            .set_link_down_default_state(LinkDownDefaultState::NO_CHANGE)
            .set_link_width_enabled(LinkWidths::empty())
            .set_link_speed_enabled(LinkSpeeds::empty())
            .set_link_speed_ext_enabled(LinkSpeedsExt::empty())
            .set_operational_vls(VlCap(0))
            .set_client_reregister(false);
        let mut settings = base;
        let mut has_settings = false;
        let mut sets = Vec::new();
        for action in &self.actions {
            let mut set = base;
            match *action {
                PortAction::Speed(speed) => {
                    let (basic, extended) = speeds_up_to(before, speed);
                    settings
                        .set_link_speed_enabled(basic)
                        .set_link_speed_ext_enabled(extended);
                    has_settings = true;
                    continue;
                }
                PortAction::Width(width) => {
                    settings.set_link_width_enabled(widths_up_to(before, width));
                    has_settings = true;
                    continue;
                }
                PortAction::Vls(vls) => {
                    settings.set_operational_vls(vl_cap(vls));
                    has_settings = true;
                    continue;
                }
                PortAction::Mtu(mtu) => {
                    settings.set_neighbor_mtu(mtu);
                    has_settings = true;
                    continue;
                }
                PortAction::Enable => {
                    set.set_port_physical_state(PortPhysicalState::POLLING);
                }
                PortAction::Disable => {
                    set.set_port_physical_state(PortPhysicalState::DISABLED);
                }
                PortAction::Reset => {
                    set.set_port_physical_state(PortPhysicalState::DISABLED);
                    sets.push(set);
                    set.set_port_physical_state(PortPhysicalState::POLLING);
                }
                PortAction::Down => {
                    set.set_port_state(PortState::DOWN);
                }
                PortAction::Arm => {
                    set.set_port_state(PortState::ARMED);
                }
                PortAction::Active => {
                    set.set_port_state(PortState::ACTIVE);
                }
            }
            sets.push(set);
        }
        // Settings come first, so that a reset in the same change makes them take effect.
        if has_settings {
            sets.insert(0, settings);
        }
        sets.iter()
            .map(|set| self.smp(Method::SET, m_key, set))
            .collect()
    }

    /// Returns true if the port accepted the change. `before` is its state before the change, `now` its current state.
    #[must_use]
    pub fn is_taken(&self, before: &PortInfo, now: &PortInfo) -> bool {
        let disabled = PortPhysicalState::DISABLED;
        self.actions.iter().all(|action| match *action {
            PortAction::Enable | PortAction::Reset => now.port_physical_state() != disabled,
            PortAction::Disable => now.port_physical_state() == disabled,
            // The link comes up again at once, so the port no longer shows Down.
            PortAction::Down => true,
            PortAction::Arm => now.port_state() == PortState::ARMED,
            PortAction::Active => now.port_state() == PortState::ACTIVE,
            PortAction::Speed(speed) => {
                let (basic, extended) = speeds_up_to(before, speed);
                let extended = match extended == LinkSpeedsExt::DISABLED {
                    true => LinkSpeedsExt::empty(),
                    false => extended,
                };
                // "None" may read back as it was written, or as 0.
                let shown = now.link_speed_ext_enabled();
                let shown = if shown == LinkSpeedsExt::DISABLED {
                    LinkSpeedsExt::empty()
                } else {
                    shown
                };
                now.link_speed_enabled() == basic && shown == extended
            }
            PortAction::Width(width) => now.link_width_enabled() == widths_up_to(before, width),
            PortAction::Vls(vls) => now.operational_vls() == vl_cap(vls),
            PortAction::Mtu(mtu) => now.neighbor_mtu() == mtu,
        })
    }

    fn smp(&self, method: Method, m_key: MKey, info: &PortInfo) -> Mad {
        let modifier = PortInfoModifier {
            port: self.port,
            extended_speeds: false,
        };
        let mut smp = SmpDirected::new(method, PortInfo::ID, modifier.bits(), &self.path);
        smp.set_m_key(m_key).set_smp_data(info.as_bytes());
        Mad {
            address: MadAddress::DIRECTED,
            bytes: *smp.as_bytes(),
        }
    }
}

/// The speeds up to `speed` that the port supports. If none of them is an extended speed, the extended speeds of the
/// port are disabled.
fn speeds_up_to(info: &PortInfo, speed: LinkSpeed) -> (LinkSpeeds, LinkSpeedsExt) {
    let basic = [
        (LinkSpeed::Sdr, LinkSpeeds::SDR),
        (LinkSpeed::Ddr, LinkSpeeds::DDR),
        (LinkSpeed::Qdr, LinkSpeeds::QDR),
    ];
    let extended = [
        (LinkSpeed::Fdr, LinkSpeedsExt::FDR),
        (LinkSpeed::Edr, LinkSpeedsExt::EDR),
        (LinkSpeed::Hdr, LinkSpeedsExt::HDR),
        (LinkSpeed::Ndr, LinkSpeedsExt::NDR),
    ];
    let basic = basic.iter().filter(|(of, _)| *of <= speed);
    let basic = basic.fold(LinkSpeeds::empty(), |all, (_, flag)| all | *flag);
    let extended = extended.iter().filter(|(of, _)| *of <= speed);
    let extended = extended.fold(LinkSpeedsExt::empty(), |all, (_, flag)| all | *flag);
    let extended = extended & info.link_speed_ext_supported();
    let has_extended = !info.link_speed_ext_supported().is_empty();
    let extended = match extended.is_empty() && has_extended {
        true => LinkSpeedsExt::DISABLED,
        false => extended,
    };
    (basic & info.link_speed_supported(), extended)
}

/// The widths up to `width` that the port supports.
fn widths_up_to(info: &PortInfo, width: LinkWidth) -> LinkWidths {
    let widths = [
        (LinkWidth::X1, LinkWidths::X1),
        (LinkWidth::X2, LinkWidths::X2),
        (LinkWidth::X4, LinkWidths::X4),
        (LinkWidth::X8, LinkWidths::X8),
        (LinkWidth::X12, LinkWidths::X12),
    ];
    let widths = widths.iter().filter(|(of, _)| *of <= width);
    widths.fold(LinkWidths::empty(), |all, (_, flag)| all | *flag) & info.link_width_supported()
}

const fn vl_cap(vls: u8) -> VlCap {
    match vls {
        1 => VlCap::VL0,
        2 => VlCap::VL0_1,
        4 => VlCap::VL0_3,
        8 => VlCap::VL0_7,
        _ => VlCap::VL0_14,
    }
}

#[cfg(test)]
mod tests {
    use std::{string::ToString as _, vec::Vec};

    use ib_mad::Mad;
    use ib_routing::PortRef;
    use ib_smp::{PortInfo, PortPhysicalState, SmpDirected};
    use ib_wire::MKey;

    use super::{PortAction, PortChangeError};
    use crate::testing::brought_up;

    #[test]
    fn every_action_reads_back_from_its_text() {
        for text in [
            "enable",
            "disable",
            "reset",
            "down",
            "arm",
            "active",
            "speed=EDR",
            "width=4x",
            "vls=8",
            "mtu=2048",
        ] {
            assert_eq!(text.parse::<PortAction>().unwrap().to_string(), text);
        }
        for text in [
            "", "speed", "speed=9", "width=3x", "vls=3", "mtu=100", "enable=1",
        ] {
            assert!(text.parse::<PortAction>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_link_that_the_requests_go_through_is_not_cut() {
        let snapshot = brought_up("gen-ring-5");
        let own = snapshot.own_port.unwrap();
        let leaf = snapshot.port(own).unwrap().peer.unwrap();
        let next = snapshot
            .node(leaf.node)
            .unwrap()
            .ports()
            .find_map(|(_, port)| {
                port.peer
                    .filter(|peer| snapshot.node(peer.node).unwrap().is_switch())
            })
            .unwrap();
        let on_route = [own, leaf, next];
        for at in on_route {
            let refused = snapshot.port_change(at, &[PortAction::Disable]);
            assert!(
                matches!(refused, Err(PortChangeError::CutsOff { .. })),
                "{at:?}"
            );
            // A change that cuts nothing off is allowed.
            assert!(
                snapshot
                    .port_change(at, &["width=4x".parse().unwrap()])
                    .is_ok()
            );
        }
        let free: Vec<PortRef> = snapshot
            .ports()
            .filter(|(_, node, port)| !node.is_switch() && port.is_link_up())
            .filter_map(|(at, _, port)| port.peer.filter(|_| at != own))
            .collect();
        for at in free {
            let change = snapshot.port_change(at, &[PortAction::Reset]).unwrap();
            let before = snapshot.port(at).unwrap().info.unwrap();
            let sets = change.requests(&before, MKey(0));
            let states: Vec<_> = sets.iter().map(state).collect();
            assert_eq!(
                states,
                [PortPhysicalState::DISABLED, PortPhysicalState::POLLING]
            );
        }
    }

    fn state(mad: &Mad) -> PortPhysicalState {
        let (smp, _) = SmpDirected::parse(&mad.bytes, 0).unwrap();
        let (info, _) = PortInfo::parse(smp.smp_data(), 0).unwrap();
        info.port_physical_state()
    }
}
