//! Ports: addresses, limits and states (IBA vol. 1, 14.2.5.6 and 14.3.6).
//!
//! A port needs two Sets to come up. The first writes all its settings and takes it from Initialize to Armed, as
//! a device performs the state change last. The second makes it Active. Between the two, all ports of the subnet
//! are Armed and every table is written, so no port sends data into a port that would drop it. A port that is
//! configured as desired gets no Set.

use ib_smp::{
    CapabilityMask, LinkDownDefaultState, LinkSpeeds, LinkSpeedsExt, LinkSpeedsExt2, LinkWidths,
    MKeyProtect, MlnxExtPortInfo, NodeType, PortInfo, PortPhysicalState, PortState,
    VendorLinkSpeeds, VlCap,
};
use ib_subnet::PortId;
use ib_wire::{Lid, Mtu, PortNum, addr::LidRange};

use super::{Situation, partitions};
use crate::{SmConfig, config::PortKind, event::NotActive};

/// Limits that hold for both ends of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkLimits {
    mtu: Mtu,
    vls: VlCap,
    /// True if the other end is a CA or a router.
    leaf: bool,
}

impl LinkLimits {
    /// Number of data VLs that both ends have and that the configuration allows.
    pub(crate) const fn vls(self) -> VlCap {
        self.vls
    }
}

/// The desired PortInfo except for the state. `None` if PortInfo is unknown or the link is not up.
pub(crate) fn settings(at: Situation<'_>, port: PortId) -> Option<PortInfo> {
    let config = at.config();
    let node = at.subnet().node(port.node)?;
    let record = node.port(port.port)?;
    let mut info = *record.info()?;
    let is_management_port = node.is_switch() && port.port == PortNum::MANAGEMENT;
    let limits = link_limits(at, port);
    if !is_management_port && limits.is_none() && !at.is_own(port) {
        return None;
    }
    if is_management_port || !node.is_switch() {
        set_address(&mut info, config, record.lids()?, master_lid(at));
    }
    if let Some(limits) = limits {
        info.set_neighbor_mtu(limits.mtu)
            .set_operational_vls(limits.vls);
        config.forced_links.apply(&mut info);
        if config.qos.enabled
            && let Some(kind) = kind(at, port)
        {
            info.set_vl_high_limit(config.qos.high_limit(kind));
        }
        if node.is_switch() {
            set_queueing(&mut info, config, limits.leaf);
            partitions::set_enforcement(at, port, &mut info);
        }
    } else if config.qos.enabled && is_enhanced_port_0(at, port) {
        info.set_vl_high_limit(config.qos.high_limit(PortKind::SwitchPort0));
    }
    if limits.is_none() && info.neighbor_mtu() == Mtu(0) {
        // Without a link no limit sets the MTU, and a Set with an MTU of 0 is an error.
        info.set_neighbor_mtu(info.mtu_cap());
    }
    if !is_management_port {
        info.set_local_phy_errors(config.local_phy_errors_threshold)
            .set_overrun_errors(config.overrun_errors_threshold);
    }
    Some(info)
}

/// The desired vendor attribute: FDR10 enabled or disabled where the port supports it. `None` if it already has
/// the desired value or the manager does not set it.
pub(crate) fn vendor_speeds(at: Situation<'_>, port: PortId) -> Option<MlnxExtPortInfo> {
    /// The only field that a Set changes: link_speed_enabled.
    const CHANGE_SPEEDS: u8 = 1;
    let fdr10 = VendorLinkSpeeds::FDR10;
    let wanted = match at.config().fdr10 {
        1 => fdr10,
        2 => VendorLinkSpeeds::empty(),
        _ => return None,
    };
    let mut info = *at.subnet().port(port)?.vendor_speeds()?;
    let is_settled = info.link_speed_enabled() & fdr10 == wanted;
    if !info.link_speed_supported().contains(fdr10) || is_settled {
        return None;
    }
    info.set_state_change_enable(CHANGE_SPEEDS)
        .set_link_speed_enabled(wanted);
    Some(info)
}

/// The state that a port is to enter together with its settings: Armed from Initialize, if both ends of its link
/// are known. `None` if neither settings nor state change.
pub(crate) fn arming(at: Situation<'_>, port: PortId) -> Option<PortState> {
    let info = at.subnet().port(port)?.info()?;
    if info.port_state() == PortState::INITIALIZE && has_link(at, port) {
        // Other fields that the Set changes are compared when the Set is built.
        return Some(PortState::ARMED);
    }
    let target = settings(at, port)?;
    let state = match info.port_state() {
        PortState::INITIALIZE => PortState::ARMED,
        _ => PortState::NO_CHANGE,
    };
    let rejoin = info.port_state() == PortState::ACTIVE && needs_reregister(at, port);
    (target != *info || state != PortState::NO_CHANGE || rejoin).then_some(state)
}

/// Returns true if a port is Armed and can become Active, because the other end is Armed too.
pub(crate) fn is_ready(at: Situation<'_>, port: PortId) -> bool {
    let Some(record) = at.subnet().port(port) else {
        return false;
    };
    let peer_is_ready = match record.peer() {
        Some(peer) => at
            .subnet()
            .port(peer)
            .is_some_and(|peer| is_armed(peer.state())),
        // A port beyond the boundary of a cluster cannot be asked.
        None => port.port == PortNum::MANAGEMENT || at.leads_out(port),
    };
    peer_is_ready && record.state() == PortState::ARMED
}

/// Why a port whose link is up is not Active.
pub(crate) fn why_not_active(at: Situation<'_>, port: PortId) -> NotActive {
    if !has_link(at, port) {
        return NotActive::OtherEndUnknown;
    }
    let record = at.subnet().port(port);
    let peer = record.and_then(|record| at.subnet().port(record.peer()?));
    match peer.map(|peer| peer.state()) {
        Some(state) if !is_armed(state) => NotActive::OtherEnd(state),
        _ => NotActive::NotSet,
    }
}

/// Returns true if a port in this state takes data packets, or will when its other end is made Active.
fn is_armed(state: PortState) -> bool {
    matches!(state, PortState::ARMED | PortState::ACTIVE)
}

/// The data of a Set that writes a port's settings and takes it into `state`.
pub(crate) fn set(at: Situation<'_>, port: PortId, state: PortState) -> Option<PortInfo> {
    let info = at.subnet().port(port)?.info()?;
    let mut set = settings(at, port)?;
    set.set_port_state(state)
        .set_port_physical_state(PortPhysicalState::NO_CHANGE)
        .set_link_down_default_state(LinkDownDefaultState::NO_CHANGE);
    // A value that is already enabled is left out: not every value that can be read there is legal to write.
    if set.link_width_enabled() == info.link_width_enabled() {
        set.set_link_width_enabled(LinkWidths::empty());
    }
    if set.link_speed_enabled() == info.link_speed_enabled() {
        set.set_link_speed_enabled(LinkSpeeds::empty());
    }
    if set.link_speed_ext_enabled() == info.link_speed_ext_enabled() {
        set.set_link_speed_ext_enabled(LinkSpeedsExt::empty());
    }
    set.set_link_speed_ext_enabled2(LinkSpeedsExt2::empty());
    if set.operational_vls() == info.operational_vls() {
        set.set_operational_vls(VlCap(0));
    }
    // The host subscribes and joins again, for which its port must be Active.
    let becomes_usable = match state {
        PortState::ACTIVE => true,
        PortState::NO_CHANGE => info.port_state() == PortState::ACTIVE,
        _ => false,
    };
    if becomes_usable && needs_reregister(at, port) {
        set.set_client_reregister(true);
    }
    Some(set)
}

/// The data of a Set that disables a port.
pub(crate) fn disable(at: Situation<'_>, port: PortId) -> Option<PortInfo> {
    let mut set = set(at, port, PortState::DOWN)?;
    set.set_port_physical_state(PortPhysicalState::DISABLED);
    Some(set)
}

/// Returns true if the answer to a Set with `state` shows that the port reached it.
pub(crate) fn has_reached(state: PortState, answer: &PortInfo) -> bool {
    state == PortState::NO_CHANGE
        || answer.port_state() == state
        // A data packet may have made an Armed port Active meanwhile.
        || (state == PortState::ARMED && answer.port_state() == PortState::ACTIVE)
}

/// Limits that hold for both ends of a port's link; `None` if the link is not up or an end is unknown.
///
/// For a link that leaves the cluster, only this end is known: the switch beyond is assumed to have the same
/// capabilities.
pub(crate) fn link_limits(at: Situation<'_>, port: PortId) -> Option<LinkLimits> {
    let record = at.subnet().port(port).filter(|record| record.is_up())?;
    let here = record.info()?;
    let (there, leaf) = match record.peer() {
        _ if at.leads_out(port) => (here, false),
        Some(peer) => {
            let is_switch = at.subnet().node(peer.node)?.is_switch();
            (at.subnet().port(peer)?.info()?, !is_switch)
        }
        None => return None,
    };
    let vls = here.vl_cap().min(there.vl_cap()).max(VlCap::VL0);
    Some(LinkLimits {
        mtu: here.mtu_cap().min(there.mtu_cap()),
        vls: vls.min(VlCap(at.config().max_op_vls.max(1))),
        leaf,
    })
}

/// Returns true if a link between switches runs slower or narrower than both ends have enabled.
pub(crate) fn is_throttled(at: Situation<'_>, port: PortId) -> bool {
    let subnet = at.subnet();
    let ends = || {
        let peer = subnet.port(port)?.peer()?;
        let switches = subnet.switch(port.node).is_some() && subnet.switch(peer.node).is_some();
        let infos = (subnet.port(port)?.info()?, subnet.port(peer)?.info()?);
        switches.then_some(infos)
    };
    let Some((here, there)) = ends() else {
        return false;
    };
    let (width, speed) = (here.widest_enabled(there), here.fastest_enabled(there));
    [here, there].iter().any(|end| {
        let slower = end.speed().zip(speed).is_some_and(|(now, best)| now < best);
        slower || end.width().zip(width).is_some_and(|(now, best)| now < best)
    })
}

/// The type of a port by which quality of service is configured.
pub(crate) fn kind(at: Situation<'_>, port: PortId) -> Option<PortKind> {
    let node = at.subnet().node(port.node)?;
    Some(match node.info().node_type() {
        NodeType::SWITCH if port.port == PortNum::MANAGEMENT => PortKind::SwitchPort0,
        NodeType::SWITCH => PortKind::SwitchExternal,
        NodeType::ROUTER => PortKind::Router,
        _ => PortKind::Ca,
    })
}

/// Returns true if a port is the enhanced port 0 of a switch, which has lanes like a CA port.
pub(crate) fn is_enhanced_port_0(at: Situation<'_>, port: PortId) -> bool {
    let switch = at.subnet().switch(port.node);
    let info = switch.and_then(|switch| switch.info());
    port.port == PortNum::MANAGEMENT && info.is_some_and(|info| info.enhanced_port0())
}

/// The LID of the manager's own port.
pub(crate) fn master_lid(at: Situation<'_>) -> Lid {
    let own = at.subnet().own_port().and_then(|own| at.subnet().port(own));
    own.and_then(|own| own.lids())
        .map_or(Lid::NONE, LidRange::base)
}

/// Returns true if PortInfo of both ends of the port's link is known; beyond a cluster's boundary, this end is enough.
fn has_link(at: Situation<'_>, port: PortId) -> bool {
    let record = at.subnet().port(port).filter(|record| record.is_up());
    let peer = record.and_then(|record| at.subnet().port(record.peer()?));
    let is_known = peer.is_some_and(|peer| peer.info().is_some());
    is_known || (record.is_some() && at.leads_out(port))
}

/// Returns true if the host on a port has to subscribe and join again, because this manager does not know its
/// registrations with another one.
fn needs_reregister(at: Situation<'_>, port: PortId) -> bool {
    let Some(record) = at.subnet().port(port) else {
        return false;
    };
    let is_capable = record.info().is_some_and(|info| {
        info.capability_mask()
            .contains(CapabilityMask::IS_CLIENT_REREGISTRATION_SUPPORTED)
    });
    at.subnet().is_end_port(port)
        && is_capable
        && !at.config().no_clients_rereg
        && !record.is_reregistered()
}

/// Sets the addresses of an end port, its M_Key, and the parameters by which it reaches the manager.
fn set_address(info: &mut PortInfo, config: &SmConfig, lids: LidRange, master: Lid) {
    info.set_m_key(config.m_key)
        .set_m_key_protect_bits(MKeyProtect(config.m_key_protect_bits))
        .set_m_key_lease_period(config.m_key_lease_period)
        .set_gid_prefix(config.subnet_prefix)
        .set_lid(lids.base())
        .set_lmc(lids.lmc())
        .set_master_sm_lid(master)
        .set_master_sm_sl(config.sm_sl)
        .set_subnet_timeout(config.subnet_timeout);
}

/// Sets how long a switch port keeps packets that it cannot send.
fn set_queueing(info: &mut PortInfo, config: &SmConfig, leaf: bool) {
    if leaf {
        info.set_hoq_life(config.leaf_head_of_queue_lifetime)
            .set_vl_stall_count(config.leaf_vl_stall_count);
    } else {
        info.set_hoq_life(config.head_of_queue_lifetime)
            .set_vl_stall_count(config.vl_stall_count);
    }
}
