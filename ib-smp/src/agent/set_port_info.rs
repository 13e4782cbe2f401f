//! The values that a Set(PortInfo) may have, and their effects (IBA vol. 1, 14.2.5.6).
//!
//! All or nothing: a Set with one bad value changes nothing and is answered with status 0x001C. The
//! state changes last, after every other field.

use ib_wire::{Lid, Lmc};

use crate::{
    CapabilityMask, LinkDownDefaultState, LinkSpeeds, LinkSpeedsExt, LinkSpeedsExt2, LinkWidths,
    PortInfo, PortPhysicalState, PortState,
};

/// The kind of a port, which determines its fields of PortInfo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// Port of a CA or a router: addresses and a link.
    EndPort,
    /// External port of a switch: a link; addresses belong to port 0.
    SwitchExternal {
        /// SwitchInfo.InboundEnforcementCap.
        inbound_enforcement: bool,
        /// SwitchInfo.OutboundEnforcementCap.
        outbound_enforcement: bool,
        /// SwitchInfo.FilterRawInboundCap.
        filter_raw_inbound: bool,
        /// SwitchInfo.FilterRawOutboundCap.
        filter_raw_outbound: bool,
    },
    /// Port 0 of a switch: addresses; no link, so that its states cannot be set.
    SwitchManagement {
        /// True if it may have an LMC.
        enhanced: bool,
    },
}

impl PortKind {
    /// Returns true if the port has a LID of its own.
    #[must_use]
    pub const fn has_lid(self) -> bool {
        !matches!(self, Self::SwitchExternal { .. })
    }
}

/// A value in a Set that the specification forbids: status 0x001C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("PortInfo.{field} may not be set to {found:#x}")]
pub struct InvalidSet {
    /// The field's name in the specification's tables.
    pub field: &'static str,
    /// The value found.
    pub found: u64,
}

fn bad<T>(field: &'static str, found: impl Into<u64>) -> Result<T, InvalidSet> {
    Err(InvalidSet {
        field,
        found: found.into(),
    })
}

/// The PortInfo of a port after a Set with `wanted`; read-only fields stay.
///
/// `extended_speeds` is bit 31 of the modifier: without it the asker does not know the extended
/// speeds, and those that are enabled stay.
///
/// # Errors
/// The first [`InvalidSet`] in the field order of the specification's rules.
pub fn set_port_info(
    now: &PortInfo,
    wanted: &PortInfo,
    kind: PortKind,
    extended_speeds: bool,
) -> Result<PortInfo, InvalidSet> {
    let mut new = *now;
    if kind.has_lid() {
        set_addresses(&mut new, wanted, kind)?;
    }
    set_counters(&mut new, wanted);
    match kind {
        PortKind::SwitchManagement { .. } => {
            // Port 0 has no link: what a Set says of one has no meaning there.
            set_arbitration(&mut new, wanted)?;
        }
        PortKind::EndPort => {
            set_link(&mut new, wanted, extended_speeds)?;
            set_arbitration(&mut new, wanted)?;
            set_states(&mut new, wanted)?;
        }
        PortKind::SwitchExternal {
            inbound_enforcement,
            outbound_enforcement,
            filter_raw_inbound,
            filter_raw_outbound,
        } => {
            set_link(&mut new, wanted, extended_speeds)?;
            set_arbitration(&mut new, wanted)?;
            new.set_partition_enforcement_inbound(
                wanted.partition_enforcement_inbound() && inbound_enforcement,
            )
            .set_partition_enforcement_outbound(
                wanted.partition_enforcement_outbound() && outbound_enforcement,
            )
            .set_filter_raw_inbound(wanted.filter_raw_inbound() && filter_raw_inbound)
            .set_filter_raw_outbound(wanted.filter_raw_outbound() && filter_raw_outbound);
            set_states(&mut new, wanted)?;
        }
    }
    Ok(new)
}

/// The state of a port after a Set of `wanted`, whose present state is `now`.
///
/// Down is always possible; Armed follows Initialize and Active follows Armed. A step that changes
/// nothing is no error.
///
/// # Errors
/// [`InvalidSet`] for a step out of order and for a value that may not be set.
pub fn set_port_state(now: PortState, wanted: PortState) -> Result<PortState, InvalidSet> {
    match (wanted, now) {
        (PortState::NO_CHANGE, _) => Ok(now),
        (PortState::DOWN, _) => Ok(PortState::DOWN),
        (PortState::ARMED, PortState::INITIALIZE | PortState::ARMED) => Ok(PortState::ARMED),
        (PortState::ACTIVE, PortState::ARMED | PortState::ACTIVE) => Ok(PortState::ACTIVE),
        (PortState::ACTIVE, PortState::ACTIVE_DEFER) => Ok(now),
        _ => bad("port_state", wanted.bits()),
    }
}

/// Keys, LIDs and what else an end port has only once.
fn set_addresses(new: &mut PortInfo, wanted: &PortInfo, kind: PortKind) -> Result<(), InvalidSet> {
    let (lid, lmc) = (wanted.lid(), wanted.lmc());
    if !lid.is_unicast() || !Lid(lid.0 | lmc.path_bits()).is_unicast() {
        return bad("lid", lid.0);
    }
    if lmc != Lmc::ZERO && kind == (PortKind::SwitchManagement { enhanced: false }) {
        return bad("lmc", lmc.bits());
    }
    if lid.0 & lmc.path_bits() != 0 {
        return bad("lid", lid.0);
    }
    if !wanted.master_sm_lid().is_unicast() {
        return bad("master_sm_lid", wanted.master_sm_lid().0);
    }
    let mask = new.capability_mask();
    new.set_m_key(wanted.m_key())
        .set_gid_prefix(wanted.gid_prefix())
        .set_lid(lid)
        .set_lmc(lmc)
        .set_master_sm_lid(wanted.master_sm_lid())
        .set_master_sm_sl(wanted.master_sm_sl())
        .set_m_key_lease_period(wanted.m_key_lease_period())
        .set_m_key_protect_bits(wanted.m_key_protect_bits())
        .set_subnet_timeout(wanted.subnet_timeout());
    if mask.contains(CapabilityMask::IS_MULTICAST_P_KEY_TRAP_SUPPRESSION_SUPPORTED) {
        new.set_multicast_p_key_trap_suppression_enabled(
            wanted.multicast_p_key_trap_suppression_enabled(),
        );
    }
    if mask.contains(CapabilityMask::IS_REINIT_SUPPORTED) {
        new.set_init_type_reply(wanted.init_type_reply());
    }
    Ok(())
}

/// Violations: writing 0 resets, anything else leaves them.
fn set_counters(new: &mut PortInfo, wanted: &PortInfo) {
    if wanted.m_key_violations() == 0 {
        new.set_m_key_violations(0);
    }
    if wanted.p_key_violations() == 0 {
        new.set_p_key_violations(0);
    }
    if wanted.q_key_violations() == 0 {
        new.set_q_key_violations(0);
    }
}

/// Widths, speeds and MTU: 0 leaves the first two, the highest value is all that is supported.
fn set_link(
    new: &mut PortInfo,
    wanted: &PortInfo,
    extended_speeds: bool,
) -> Result<(), InvalidSet> {
    let width = wanted.link_width_enabled();
    if width == LinkWidths::SET_TO_SUPPORTED {
        new.set_link_width_enabled(new.link_width_supported());
    } else if !new.link_width_supported().contains(width) {
        return bad("link_width_enabled", width.bits());
    } else if !width.is_empty() {
        new.set_link_width_enabled(width);
    }
    let speed = wanted.link_speed_enabled();
    if speed == LinkSpeeds::SET_TO_SUPPORTED {
        new.set_link_speed_enabled(new.link_speed_supported());
    } else if !new.link_speed_supported().contains(speed) {
        return bad("link_speed_enabled", speed.bits());
    } else if !speed.is_empty() {
        new.set_link_speed_enabled(speed);
    }
    if extended_speeds {
        set_extended_speeds(new, wanted)?;
    }
    if !(1..=5).contains(&wanted.neighbor_mtu().bits()) {
        return bad("neighbor_mtu", wanted.neighbor_mtu().bits());
    }
    new.set_neighbor_mtu(wanted.neighbor_mtu())
        .set_hoq_life(wanted.hoq_life())
        .set_vl_stall_count(wanted.vl_stall_count())
        .set_local_phy_errors(wanted.local_phy_errors())
        .set_overrun_errors(wanted.overrun_errors());
    Ok(())
}

fn set_extended_speeds(new: &mut PortInfo, wanted: &PortInfo) -> Result<(), InvalidSet> {
    let speed = wanted.link_speed_ext_enabled();
    if speed == LinkSpeedsExt::SET_TO_SUPPORTED {
        new.set_link_speed_ext_enabled(new.link_speed_ext_supported());
    } else if speed == LinkSpeedsExt::DISABLED {
        new.set_link_speed_ext_enabled(speed);
    } else if !new.link_speed_ext_supported().contains(speed) {
        return bad("link_speed_ext_enabled", speed.bits());
    } else if !speed.is_empty() {
        new.set_link_speed_ext_enabled(speed);
    }
    let speed = wanted.link_speed_ext_enabled2();
    if speed == LinkSpeedsExt2::SET_TO_SUPPORTED {
        new.set_link_speed_ext_enabled2(new.link_speed_ext_supported2());
    } else if !new.link_speed_ext_supported2().contains(speed) {
        return bad("link_speed_ext_enabled2", speed.bits());
    } else if !speed.is_empty() {
        new.set_link_speed_ext_enabled2(speed);
    }
    Ok(())
}

/// Data VLs and their arbitration.
fn set_arbitration(new: &mut PortInfo, wanted: &PortInfo) -> Result<(), InvalidSet> {
    let vls = wanted.operational_vls();
    if vls > new.vl_cap() {
        return bad("operational_vls", vls.bits());
    }
    if vls.bits() != 0 {
        new.set_operational_vls(vls);
    }
    new.set_vl_high_limit(wanted.vl_high_limit());
    Ok(())
}

fn set_states(new: &mut PortInfo, wanted: &PortInfo) -> Result<(), InvalidSet> {
    match wanted.link_down_default_state() {
        LinkDownDefaultState::NO_CHANGE => {}
        state @ (LinkDownDefaultState::SLEEP | LinkDownDefaultState::POLLING) => {
            new.set_link_down_default_state(state);
        }
        state => return bad("link_down_default_state", state.bits()),
    }
    let state = set_port_state(new.port_state(), wanted.port_state())?;
    let physical = wanted.port_physical_state();
    match physical {
        PortPhysicalState::NO_CHANGE => {
            if wanted.port_state() == PortState::DOWN && new.port_state() != PortState::DOWN {
                // The link goes down and trains again, if that is what it does by default.
                new.set_port_physical_state(after_link_down(new));
            }
            new.set_port_state(state);
        }
        PortPhysicalState::SLEEP | PortPhysicalState::POLLING | PortPhysicalState::DISABLED
            if matches!(wanted.port_state(), PortState::NO_CHANGE | PortState::DOWN) =>
        {
            new.set_port_physical_state(physical)
                .set_port_state(PortState::DOWN);
        }
        _ => return bad("port_physical_state", physical.bits()),
    }
    Ok(())
}

/// The physical state that a port falls into when its link goes down.
pub(super) fn after_link_down(port: &PortInfo) -> PortPhysicalState {
    match port.link_down_default_state() {
        LinkDownDefaultState::SLEEP => PortPhysicalState::SLEEP,
        _ => PortPhysicalState::POLLING,
    }
}
