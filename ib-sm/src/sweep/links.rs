//! Ports: addresses, limits and states, in as few Sets as may be (IBA vol. 1, 14.2.5.6 and 14.3.6).
//!
//! A port needs two Sets to come up: the first writes all its settings and takes it from Initialize
//! to Armed, as a state change is done last; the second makes it Active. Between the two all ports
//! of the subnet are Armed, so nothing sends data into a port that would drop it, and every table is
//! written before. A port that is as it should be gets none.

use alloc::vec::Vec;

use ib_smp::{
    CapabilityMask, LinkDownDefaultState, LinkSpeeds, LinkSpeedsExt, LinkSpeedsExt2, LinkWidths,
    MKeyProtect, PortInfo, PortPhysicalState, PortState, VlCap,
};
use ib_wire::{Lid, Mtu, PortNum, addr::LidRange};

use super::Sweep;
use crate::{SmConfig, request::Request, subnet::PortRef};

/// What the two ends of a link have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkLimits {
    mtu: Mtu,
    pub(super) vls: VlCap,
    /// Whether the other end is a CA or a router.
    leaf: bool,
}

impl Sweep {
    /// Queues the Sets of what is reached without a link: the own port, so that traps find the way,
    /// and ports 0 of switches.
    pub(super) fn set_management_ports(&mut self, config: &SmConfig) {
        let mut ports = Vec::new();
        for (node, record) in self.subnet.nodes() {
            if record.is_switch() {
                ports.push(PortRef::management(node));
            }
        }
        if !ports.contains(&self.own_port) {
            ports.push(self.own_port);
        }
        for port in ports {
            let changes = self.target(config, port).is_some_and(|target| {
                self.subnet
                    .port(port)
                    .is_some_and(|port| port.info != Some(target))
            });
            if changes {
                let request = Request::SetPortInfo(port, PortState::NO_CHANGE);
                self.queue.push_back(request);
            }
        }
    }

    /// Queues a Set for every port that is not as it should be, or is not armed.
    pub(super) fn configure_and_arm(&mut self, config: &SmConfig) {
        self.queue_port_sets(|sweep, port, info| {
            if info.port_state() == PortState::INITIALIZE && sweep.has_link(port) {
                // What else the Set changes is found out when it is built.
                return Some(PortState::ARMED);
            }
            let target = sweep.target(config, port)?;
            let state = match info.port_state() {
                PortState::INITIALIZE => PortState::ARMED,
                _ => PortState::NO_CHANGE,
            };
            let rejoin = info.port_state() == PortState::ACTIVE
                && sweep.wants_reregister(config, port, info);
            (target != *info || state != PortState::NO_CHANGE || rejoin).then_some(state)
        });
    }

    /// Queues a Set for every armed port whose other end is armed too.
    pub(super) fn activate(&mut self) {
        self.queue_port_sets(|sweep, port, info| {
            let peer = sweep.subnet.port(port)?.peer;
            let ready = match peer {
                Some(peer) => matches!(
                    sweep.subnet.port(peer)?.state(),
                    PortState::ARMED | PortState::ACTIVE
                ),
                None => port.port == PortNum(0),
            };
            (ready && info.port_state() == PortState::ARMED).then_some(PortState::ACTIVE)
        });
    }

    /// What a Set sends to bring `port` to its target and into `state`.
    pub(crate) fn port_set(
        &self,
        config: &SmConfig,
        port: PortRef,
        state: PortState,
    ) -> Option<PortInfo> {
        let info = self.subnet.port(port)?.info?;
        let mut set = self.target(config, port)?;
        set.set_port_state(state)
            .set_port_physical_state(PortPhysicalState::NO_CHANGE)
            .set_link_down_default_state(LinkDownDefaultState::NO_CHANGE);
        // What is enabled already stays so: not every value that is read there is legal to write.
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
        // The host joins its groups again; it needs an active port to do so.
        let becomes_usable = match state {
            PortState::ACTIVE => true,
            PortState::NO_CHANGE => info.port_state() == PortState::ACTIVE,
            _ => false,
        };
        if becomes_usable && self.wants_reregister(config, port, &info) {
            set.set_client_reregister(true);
        }
        Some(set)
    }

    /// Takes in the answer to a Set. Returns whether the port did what it was told.
    pub(super) fn on_port_set(&mut self, port: PortRef, state: PortState, info: PortInfo) -> bool {
        let done = state == PortState::NO_CHANGE
            || info.port_state() == state
            // A data packet may have made an armed port active meanwhile.
            || (state == PortState::ARMED && info.port_state() == PortState::ACTIVE);
        if let Some(record) = self.subnet.port_mut(port) {
            record.reregistered |= done && info.port_state() == PortState::ACTIVE;
            record.set_info(info);
        }
        done
    }

    /// PortInfo as it should be, but for the state. `None` if nothing is known of the port, or if
    /// its link is not up.
    fn target(&self, config: &SmConfig, port: PortRef) -> Option<PortInfo> {
        let node = self.subnet.node(port.node)?;
        let record = node.port(port.port)?;
        let mut info = record.info?;
        let is_management_port = node.is_switch() && port.port == PortNum(0);
        let limits = self.link_limits(config, port);
        if !is_management_port && limits.is_none() && port != self.own_port {
            return None;
        }
        if is_management_port || !node.is_switch() {
            address(&mut info, config, record.lids?, self.master_lid());
        }
        if let Some(limits) = limits {
            info.set_neighbor_mtu(limits.mtu)
                .set_operational_vls(limits.vls);
            config.forced_links.apply(&mut info);
            if config.qos.enabled
                && let Some(kind) = self.kind_of(port)
            {
                info.set_vl_high_limit(config.qos.high_limit(kind));
            }
            if node.is_switch() {
                queueing(&mut info, config, limits.leaf);
                self.set_enforcement(config, port, &mut info);
            }
        } else if info.neighbor_mtu() == Mtu(0) {
            // No link says otherwise, and a Set with 0 is an error.
            info.set_neighbor_mtu(info.mtu_cap());
        }
        if !is_management_port {
            info.set_local_phy_errors(config.local_phy_errors_threshold)
                .set_overrun_errors(config.overrun_errors_threshold);
        }
        Some(info)
    }

    /// The LID of the manager's own port.
    fn master_lid(&self) -> Lid {
        self.subnet
            .port(self.own_port)
            .and_then(|port| port.lids)
            .map_or(Lid::NONE, LidRange::base)
    }

    /// Whether PortInfo of both ends of the port's link is known.
    fn has_link(&self, port: PortRef) -> bool {
        let record = self.subnet.port(port).filter(|record| record.is_up());
        let peer = record.and_then(|record| self.subnet.port(record.peer?));
        peer.is_some_and(|peer| peer.info.is_some())
    }

    pub(super) fn link_limits(&self, config: &SmConfig, port: PortRef) -> Option<LinkLimits> {
        let record = self.subnet.port(port).filter(|record| record.is_up())?;
        let peer = record.peer?;
        let there = self.subnet.port(peer)?;
        let (here, there) = (record.info.as_ref()?, there.info.as_ref()?);
        let vls = here.vl_cap().min(there.vl_cap()).max(VlCap::VL0);
        Some(LinkLimits {
            mtu: here.mtu_cap().min(there.mtu_cap()),
            vls: vls.min(VlCap(config.max_op_vls.max(1))),
            leaf: !self.subnet.node(peer.node)?.is_switch(),
        })
    }

    /// Whether the host on this port has to subscribe and join again: it is new to this manager.
    fn wants_reregister(&self, config: &SmConfig, port: PortRef, info: &PortInfo) -> bool {
        let Some(node) = self.subnet.node(port.node) else {
            return false;
        };
        let is_end_port = !node.is_switch() || port.port == PortNum(0);
        let capable = info
            .capability_mask()
            .contains(CapabilityMask::IS_CLIENT_REREGISTRATION_SUPPORTED);
        is_end_port
            && capable
            && !config.no_clients_rereg
            && self
                .subnet
                .port(port)
                .is_some_and(|record| !record.reregistered)
    }

    fn queue_port_sets(&mut self, choose: impl Fn(&Self, PortRef, &PortInfo) -> Option<PortState>) {
        let mut sets = Vec::new();
        for (node, record) in self.subnet.nodes() {
            for (port, record) in record.ports() {
                let port = PortRef { node, port };
                if let Some(info) = &record.info
                    && let Some(state) = choose(self, port, info)
                {
                    sets.push(Request::SetPortInfo(port, state));
                }
            }
        }
        self.queue.extend(sets);
    }
}

/// What an end port answers to.
fn address(info: &mut PortInfo, config: &SmConfig, lids: LidRange, master: Lid) {
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

/// How long a switch port keeps packets that do not get away.
fn queueing(info: &mut PortInfo, config: &SmConfig, leaf: bool) {
    if leaf {
        info.set_hoq_life(config.leaf_head_of_queue_lifetime)
            .set_vl_stall_count(config.leaf_vl_stall_count);
    } else {
        info.set_hoq_life(config.head_of_queue_lifetime)
            .set_vl_stall_count(config.vl_stall_count);
    }
}
