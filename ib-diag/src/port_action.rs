//! Changes of a port: the values to write, a check that the change does not cut off this host, and a check that the
//! port accepted the change.

mod vendor_speeds;

use alloc::{
    collections::{BTreeSet, VecDeque},
    string::{String, ToString as _},
    vec::Vec,
};
use core::{fmt, str::FromStr};

use ib_mad::{Attribute as _, Mad, MadAddress, Method};
use ib_routing::{LinkSpeed, LinkWidth, PortRef};
use ib_smp::{
    DrPath, LinkDownDefaultState, LinkSpeeds, LinkSpeedsExt, LinkSpeedsExt2, LinkWidths,
    MKeyProtect, PortInfo, PortInfoModifier, PortPhysicalState, PortState, SmpDirected, VlCap,
};
use ib_wire::{Lid, Lmc, MKey, Mtu, PortNum};
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
    /// Sets the base LID of an end port.
    Lid(Lid),
    /// Sets the LMC of an end port.
    Lmc(Lmc),
    /// Sets the LID at which an end port looks for the subnet manager.
    SmLid(Lid),
    /// Sets the M_Key of an end port; later requests need it.
    MKey(MKey),
    /// Sets the lease period of the M_Key of an end port, in seconds; 0 never ends.
    MKeyLease(u16),
    /// Sets the protection level of the M_Key of an end port, 0 to 3.
    MKeyProtect(u8),
}

/// The error for a text that names no action.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{found:?} is no action, expected enable, disable, reset, down, arm, active, speed=SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR, width=1x|2x|4x|8x|12x, vls=1|2|4|8|15, mtu=256..4096, lid=1..0xbfff, lmc=0..7, smlid=1..0xbfff, mkey=KEY, mkeylease=SECONDS or mkeyprot=0..3"
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
            Some((name, value)) => Self::of_number(name, value),
        };
        parsed.ok_or_else(|| PortActionError { found: text.into() })
    }
}

impl PortAction {
    /// The settings of an end port whose values are numbers, decimal or with the prefix 0x.
    fn of_number(name: &str, value: &str) -> Option<Self> {
        let value = ib_wire::addr::number(value, u64::MAX)?;
        let lid = || {
            let lid = u16::try_from(value).ok().map(Lid);
            lid.filter(|lid| lid.is_unicast())
        };
        let small = u8::try_from(value).ok();
        match name {
            "lid" => lid().map(Self::Lid),
            "smlid" => lid().map(Self::SmLid),
            "lmc" => small
                .and_then(|bits| Lmc::try_new(bits).ok())
                .map(Self::Lmc),
            "mkey" => Some(Self::MKey(MKey(value))),
            "mkeylease" => u16::try_from(value).ok().map(Self::MKeyLease),
            "mkeyprot" => small.filter(|level| *level <= 3).map(Self::MKeyProtect),
            _ => None,
        }
    }

    /// Returns true if only an end port has the setting: a port of a CA or router, or port 0 of a switch.
    const fn is_of_end_port(self) -> bool {
        matches!(
            self,
            Self::Lid(_)
                | Self::Lmc(_)
                | Self::SmLid(_)
                | Self::MKey(_)
                | Self::MKeyLease(_)
                | Self::MKeyProtect(_)
        )
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
            Self::Lid(lid) => write!(f, "lid={lid}"),
            Self::Lmc(lmc) => write!(f, "lmc={}", lmc.bits()),
            Self::SmLid(lid) => write!(f, "smlid={lid}"),
            Self::MKey(key) => write!(f, "mkey={:#x}", key.0),
            Self::MKeyLease(seconds) => write!(f, "mkeylease={seconds}"),
            Self::MKeyProtect(level) => write!(f, "mkeyprot={level}"),
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
    /// The setting is one of end ports, and the port is an external port of a switch.
    #[error("{action}: an external port of a switch has no such setting, expected port 0")]
    NotEndPort {
        /// The change that was requested.
        action: String,
    },
    /// The requests of this host pass the port, so the change would cut this host off.
    #[error("{action} of {port} would cut off this host: the requests go through that link")]
    CutsOff {
        /// The change that was requested.
        action: String,
        /// The port, as text for a message.
        port: String,
    },
    /// Requests reach the node over the link of the port alone, so the change could not be undone.
    #[error(
        "{action} of {port} cuts it off, so it could not be undone: no requests reach it but over that link; expected its other end, {other_end}"
    )]
    NoOtherRoute {
        /// The change that was requested.
        action: String,
        /// The port, as text for a message.
        port: String,
        /// The port at the other end of the cable, as text for a message.
        other_end: String,
    },
    /// FDR10 was requested of a port whose device lacks the vendor attribute that enables it, or says that the port does not
    /// support it.
    #[error("speed=FDR10: the port does not support FDR10")]
    NoFdr10,
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
    /// If the change takes the link down that the directed route to the node passes, the requests take a route around it.
    ///
    /// # Errors
    /// Refuses a port that does not exist, and a change that would cut off the port from which the subnet was read: there is
    /// no route to the node but over the link.
    pub fn port_change(
        &self,
        at: PortRef,
        actions: &[PortAction],
    ) -> Result<PortChange, PortChangeError> {
        let node = self
            .node(at.node)
            .filter(|node| node.port(at.port).is_some());
        let node = node.ok_or(PortChangeError::NoSuchPort)?;
        let is_end_port = node.managing_port(at.port) == at.port;
        if let Some(action) = actions.iter().find(|action| action.is_of_end_port())
            && !is_end_port
        {
            let action = action.to_string();
            return Err(PortChangeError::NotEndPort { action });
        }
        let cuts = |action: &&PortAction| {
            matches!(
                action,
                PortAction::Disable | PortAction::Reset | PortAction::Down
            )
        };
        let mut path = node.path;
        if let Some(action) = actions.iter().find(cuts)
            && self.is_on_route(at)
        {
            path = self
                .route_around(at)
                .ok_or_else(|| self.refusal(at, *action))?;
        }
        Ok(PortChange {
            path,
            port: at.port,
            actions: actions.into(),
        })
    }

    /// Returns true if the directed route to a port's node passes the port itself, or the port is the own port.
    fn is_on_route(&self, at: PortRef) -> bool {
        let Some(own) = self.own_port else {
            return false;
        };
        if self.is_own_cable(at) {
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

impl Snapshot {
    /// The reason why a change is refused that takes down the only link to a port.
    fn refusal(&self, at: PortRef, action: PortAction) -> PortChangeError {
        let text = |at: PortRef| alloc::format!("{} port {}", self.name(at.node), at.port);
        let (action, port) = (action.to_string(), text(at));
        match self.port(at).and_then(|port| port.peer) {
            Some(peer) if !self.is_own_cable(at) => PortChangeError::NoOtherRoute {
                action,
                port,
                other_end: text(peer),
            },
            _ => PortChangeError::CutsOff { action, port },
        }
    }

    /// Returns true if the cable of a port is that of the own port, where every route begins.
    fn is_own_cable(&self, at: PortRef) -> bool {
        let own = self.own_port;
        own == Some(at)
            || own.is_some_and(|own| self.port(own).and_then(|port| port.peer) == Some(at))
    }

    /// The shortest directed route to the node of a port that does not pass the link of the port; `None` if there is none.
    fn route_around(&self, at: PortRef) -> Option<DrPath> {
        let own = self.own_port.filter(|_| !self.is_own_cable(at))?;
        let peer = self.port(at)?.peer;
        let mut seen = BTreeSet::from([own.node]);
        let mut open = VecDeque::from([(own.node, DrPath::OWN_NODE)]);
        while let Some((here, path)) = open.pop_front() {
            if here == at.node {
                return Some(path);
            }
            let node = self.node(here)?;
            for (number, port) in node.ports() {
                let leaving = PortRef {
                    node: here,
                    port: number,
                };
                // A CA forwards nothing: its requests leave by the own port, and others end there.
                let is_passed = node.is_switch() || leaving == own;
                if !is_passed || leaving == at || Some(leaving) == peer || !port.is_link_up() {
                    continue;
                }
                let next = port
                    .peer
                    .and_then(|peer| Some((peer.node, path.then(number)?)));
                if let Some((next, path)) = next
                    && seen.insert(next)
                {
                    open.push_back((next, path));
                }
            }
        }
        None
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
            .set_link_speed_ext_enabled2(LinkSpeedsExt2::empty())
            .set_operational_vls(VlCap(0))
            .set_client_reregister(false);
        let mut settings = base;
        let mut has_settings = false;
        let mut sets = Vec::new();
        for action in &self.actions {
            let mut set = base;
            match *action {
                action if set_field(&mut settings, before, action) => {
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
                _ => {}
            }
            sets.push(set);
        }
        // Settings come first, so that a reset in the same change makes them take effect. A new M_Key guards what follows.
        let later = self.m_key_after(m_key);
        let settings = has_settings.then(|| self.smp(Method::SET, m_key, &settings));
        let others = sets.iter_mut().map(|set| {
            if has_settings {
                keep_settings(set, &self.actions);
            }
            self.smp(Method::SET, later, set)
        });
        settings.into_iter().chain(others).collect()
    }

    /// The M_Key of requests after the change: the new one if the change sets one, else that of before.
    #[must_use]
    pub fn m_key_after(&self, before: MKey) -> MKey {
        let mut keys = self.actions.iter().filter_map(|action| match action {
            PortAction::MKey(key) => Some(*key),
            _ => None,
        });
        keys.next_back().unwrap_or(before)
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
                let wanted = EnabledSpeeds::up_to(before, speed);
                wanted.shown() == EnabledSpeeds::of(now).shown()
            }
            PortAction::Width(width) => now.link_width_enabled() == widths_up_to(before, width),
            PortAction::Vls(vls) => now.operational_vls() == vl_cap(vls),
            PortAction::Mtu(mtu) => now.neighbor_mtu() == mtu,
            PortAction::Lid(lid) => now.lid() == lid,
            PortAction::Lmc(lmc) => now.lmc() == lmc,
            PortAction::SmLid(lid) => now.master_sm_lid() == lid,
            PortAction::MKey(key) => now.m_key() == key,
            PortAction::MKeyLease(seconds) => now.m_key_lease_period() == seconds,
            PortAction::MKeyProtect(level) => now.m_key_protect_bits() == MKeyProtect(level),
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

/// Writes the value of a setting. Returns false for an action that is no setting.
fn set_field(settings: &mut PortInfo, before: &PortInfo, action: PortAction) -> bool {
    match action {
        PortAction::Speed(speed) => EnabledSpeeds::up_to(before, speed).write(settings),
        PortAction::Width(width) => settings.set_link_width_enabled(widths_up_to(before, width)),
        PortAction::Vls(vls) => settings.set_operational_vls(vl_cap(vls)),
        PortAction::Mtu(mtu) => settings.set_neighbor_mtu(mtu),
        _ => return set_end_port_field(settings, action),
    };
    true
}

/// Writes the value of a setting that only end ports have.
fn set_end_port_field(settings: &mut PortInfo, action: PortAction) -> bool {
    match action {
        PortAction::Lid(lid) => settings.set_lid(lid),
        PortAction::Lmc(lmc) => settings.set_lmc(lmc),
        PortAction::SmLid(lid) => settings.set_master_sm_lid(lid),
        PortAction::MKey(key) => settings.set_m_key(key),
        PortAction::MKeyLease(seconds) => settings.set_m_key_lease_period(seconds),
        PortAction::MKeyProtect(level) => settings.set_m_key_protect_bits(MKeyProtect(level)),
        _ => return false,
    };
    true
}

/// Writes those settings into a Set that follows them which a Set cannot leave as they are.
fn keep_settings(set: &mut PortInfo, actions: &[PortAction]) {
    for &action in actions {
        match action {
            PortAction::Mtu(mtu) => {
                set.set_neighbor_mtu(mtu);
            }
            action => {
                set_end_port_field(set, action);
            }
        }
    }
}

/// The enabled speeds of a port in the three fields of PortInfo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EnabledSpeeds {
    basic: LinkSpeeds,
    extended: LinkSpeedsExt,
    extended2: LinkSpeedsExt2,
}

impl EnabledSpeeds {
    /// Those of a port.
    fn of(info: &PortInfo) -> Self {
        Self {
            basic: info.link_speed_enabled(),
            extended: info.link_speed_ext_enabled(),
            extended2: info.link_speed_ext_enabled2(),
        }
    }

    /// The speeds up to `speed` that the port supports. If none of them is an extended speed, the extended speeds of the
    /// port are disabled.
    fn up_to(info: &PortInfo, speed: LinkSpeed) -> Self {
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
        let extended2 = match speed >= LinkSpeed::Xdr {
            true => LinkSpeedsExt2::XDR,
            false => LinkSpeedsExt2::empty(),
        };
        Self {
            basic: basic & info.link_speed_supported(),
            extended,
            extended2: extended2 & info.link_speed_ext_supported2(),
        }
    }

    /// Writes the fields.
    fn write(self, info: &mut PortInfo) -> &mut PortInfo {
        info.set_link_speed_enabled(self.basic)
            .set_link_speed_ext_enabled(self.extended)
            .set_link_speed_ext_enabled2(self.extended2)
    }

    /// The same with one form of "no extended speed", which may read back as it was written, or as 0.
    fn shown(self) -> Self {
        let is_none = self.extended == LinkSpeedsExt::DISABLED;
        Self {
            extended: if is_none {
                LinkSpeedsExt::empty()
            } else {
                self.extended
            },
            ..self
        }
    }
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
    use ib_routing::{LinkSpeed, PortRef};
    use ib_smp::{
        LinkSpeeds, LinkSpeedsExt, LinkSpeedsExt2, PortInfo, PortPhysicalState, SmpDirected,
    };
    use ib_wire::{Lid, MKey, Mtu};

    use super::{EnabledSpeeds, PortAction, PortChangeError};
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
            "lid=17",
            "lmc=2",
            "smlid=1",
            "mkey=0x1234",
            "mkeylease=60",
            "mkeyprot=2",
        ] {
            assert_eq!(text.parse::<PortAction>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "speed",
            "speed=9",
            "width=3x",
            "vls=3",
            "mtu=100",
            "enable=1",
            "lid=0",
            "lid=0xc000",
            "lmc=8",
            "mkeyprot=4",
            "mkey=x",
            "query=1",
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
        for at in [own, leaf] {
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
        // The other way around the ring leads to the switch too, and the requests take it.
        let around = snapshot.port_change(next, &[PortAction::Disable]).unwrap();
        assert!(
            around.path.ports().count() > snapshot.node(next.node).unwrap().path.ports().count()
        );
        assert_ne!(snapshot.port_by_path(&around.path), None);
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

    #[test]
    fn the_only_link_to_a_switch_is_not_cut() {
        let snapshot = brought_up("gen-line-2");
        let trunk = snapshot.ports().find(|(_, node, port)| {
            let peer = port.peer.and_then(|peer| snapshot.node(peer.node));
            node.is_switch() && peer.is_some_and(|peer| peer.is_switch())
        });
        let here = trunk.unwrap().0;
        for at in [here, snapshot.port(here).unwrap().peer.unwrap()] {
            let refused = snapshot.port_change(at, &[PortAction::Down]);
            let far = at.node
                != snapshot
                    .port(snapshot.own_port.unwrap())
                    .unwrap()
                    .peer
                    .unwrap()
                    .node;
            let is_refused = matches!(refused, Err(PortChangeError::NoOtherRoute { .. }));
            assert_eq!(is_refused, far, "{at:?}: {refused:?}");
        }
    }

    #[test]
    fn settings_of_end_ports_are_written_and_kept_by_what_follows() {
        let snapshot = brought_up("gen-line-2");
        let mut hosts = snapshot.ports().filter(|(at, node, port)| {
            !node.is_switch() && port.is_link_up() && Some(*at) != snapshot.own_port
        });
        let (host, _, port) = hosts.next().unwrap();
        let before = port.info.unwrap();
        let actions = ["lid=77", "mkey=0x5", "smlid=9", "mtu=256", "arm", "active"];
        let actions: Vec<PortAction> = actions.map(|text| text.parse().unwrap()).into();
        let change = snapshot.port_change(host, &actions).unwrap();
        let sets = change.requests(&before, MKey(0));
        assert_eq!(sets.len(), 3);
        for (number, mad) in sets.iter().enumerate() {
            let (smp, _) = SmpDirected::parse(&mad.bytes, 0).unwrap();
            let (info, _) = PortInfo::parse(smp.smp_data(), 0).unwrap();
            // The port has the new key once the first Set is done.
            assert_eq!(smp.m_key(), MKey(if number == 0 { 0 } else { 5 }));
            assert_eq!((info.lid(), info.m_key()), (Lid(77), MKey(5)));
            assert_eq!(
                (info.master_sm_lid(), info.neighbor_mtu()),
                (Lid(9), Mtu::MTU_256)
            );
            assert_eq!(info.lmc(), before.lmc());
        }
        let leaf = port.peer.unwrap();
        let refused = snapshot.port_change(leaf, &["lid=77".parse().unwrap()]);
        assert!(matches!(refused, Err(PortChangeError::NotEndPort { .. })));
    }

    #[test]
    fn the_fastest_speed_is_in_a_field_of_its_own() {
        let mut info = PortInfo::default();
        info.set_link_speed_supported(LinkSpeeds::SDR | LinkSpeeds::QDR)
            .set_link_speed_ext_supported(LinkSpeedsExt::HDR | LinkSpeedsExt::NDR)
            .set_link_speed_ext_supported2(LinkSpeedsExt2::XDR);
        let up_to = |speed| EnabledSpeeds::up_to(&info, speed);
        assert_eq!(up_to(LinkSpeed::Xdr).extended2, LinkSpeedsExt2::XDR);
        assert_eq!(up_to(LinkSpeed::Ndr).extended2, LinkSpeedsExt2::empty());
        assert_eq!(
            up_to(LinkSpeed::Ndr).extended,
            info.link_speed_ext_supported()
        );
        assert_eq!(up_to(LinkSpeed::Qdr).extended, LinkSpeedsExt::DISABLED);
    }

    fn state(mad: &Mad) -> PortPhysicalState {
        let (smp, _) = SmpDirected::parse(&mad.bytes, 0).unwrap();
        let (info, _) = PortInfo::parse(smp.smp_data(), 0).unwrap();
        info.port_physical_state()
    }
}
