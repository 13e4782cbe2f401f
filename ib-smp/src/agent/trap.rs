//! Traps: events that an agent reports to the subnet manager by itself (IBA vol. 1, 13.4.9 and 14.3.5).
//!
//! A trap goes LID routed to the master's LID and is repeated until TrapRepress comes with the same
//! transaction ID. Pitfall: a port that does not know the master's LID yet cannot send a trap, so a manager
//! looks at PortStateChange as well.

use core::{ops::Add, time::Duration};

use ib_mad::{
    Attribute, Instant, Mad, MadAddress, Method, MgmtClass, NoticeDetails128, NoticeDetails129,
    NoticeDetails144, NoticeDetails145, NoticeDetails256, NoticeDetails257, NoticeDetails259,
    NoticeSm, NoticeType, ProducerType, TransactionId, TrapNumber,
};
use ib_wire::{Gid, Guid, Lid, PKey, PortNum, QKey, Qpn, Sl};

use super::{Arrival, Sma};
use crate::{CapabilityMask, NodeType, PortInfo, SmpDirected, SmpLidRouted};

/// Traps that wait to be repressed, at most; a new one replaces the oldest.
const MOST_PENDING: usize = 8;

/// No trap is repeated sooner, whatever SubnetTimeOut says: 4.096 us would be a flood.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

/// Entries of a return path that trap 256 has room for.
const MOST_HOPS_TOLD: u8 = 30;

/// A trap that has not been repressed yet.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// The port that knows the master.
    port: PortNum,
    notice: NoticeSm,
    transaction_id: TransactionId,
    due: Instant,
    /// Number of times that it was sent.
    sent: u32,
}

/// A response or a trap to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmaTransmit {
    /// Port to send by; 0 on a switch, whose forwarding table selects the port.
    pub port: PortNum,
    /// The datagram, with the address of the asker or of the master.
    pub mad: Mad,
}

/// A packet that had a wrong P_Key or Q_Key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyViolation {
    /// LRH.SLID.
    pub slid: Lid,
    /// LRH.DLID.
    pub dlid: Lid,
    /// LRH.SL.
    pub sl: Sl,
    /// Queue pair that sent it.
    pub source_qp: Qpn,
    /// BTH.DestQP.
    pub dest_qp: Qpn,
    /// GIDs of source and destination, where there was a GRH.
    pub gids: Option<(Gid, Gid)>,
}

/// Trouble of a link that the port has noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkTrouble {
    /// More local physical errors than PortInfo.LocalPhyErrors: trap 129.
    LocalLinkIntegrity,
    /// More overruns of buffers than PortInfo.OverrunErrors: trap 130.
    ExcessiveBufferOverrun,
    /// No flow control packet for too long: trap 131.
    FlowControlUpdateWatchdog,
}

impl Sma {
    /// Packets with a P_Key that the port's table does not match: counts, and sends trap 257, or 259
    /// at an external port of a switch that can send it.
    pub fn p_key_violation(
        &mut self,
        now: Instant,
        port: PortNum,
        p_key: PKey,
        packet: &KeyViolation,
    ) {
        let Some(at) = self.port_mut(port) else {
            return;
        };
        let violations = at.info.p_key_violations().saturating_add(1);
        at.info.set_p_key_violations(violations);
        if self.switch.is_none() || port == PortNum::MANAGEMENT {
            let details = bad_key(p_key.0.into(), packet);
            return self.trap(now, port, TrapNumber::BAD_P_KEY, details.as_bytes());
        }
        let management = self.port(PortNum::MANAGEMENT).map(|port| &port.info);
        let able = CapabilityMask::IS_P_KEY_SWITCH_EXTERNAL_PORT_TRAP_SUPPORTED;
        if !management.is_some_and(|info| info.capability_mask().contains(able)) {
            return;
        }
        let mut details = NoticeDetails259::default();
        details
            .set_lidaddr1(packet.slid)
            .set_lidaddr2(packet.dlid)
            .set_p_key(p_key)
            .set_sl(packet.sl)
            .set_qp1(packet.source_qp)
            .set_qp2(packet.dest_qp)
            .set_swlidaddr(management.map_or(Lid::NONE, PortInfo::lid))
            .set_port_num(port);
        if let Some((source, destination)) = packet.gids {
            details.set_gidaddr1(source).set_gidaddr2(destination);
        }
        let number = TrapNumber::BAD_P_KEY_AT_SWITCH_PORT;
        self.trap(now, PortNum::MANAGEMENT, number, details.as_bytes());
    }

    /// A packet with a Q_Key that its queue pair does not have: counts, and sends trap 258.
    pub fn q_key_violation(
        &mut self,
        now: Instant,
        port: PortNum,
        q_key: QKey,
        packet: &KeyViolation,
    ) {
        let Some(at) = self.port_mut(port) else {
            return;
        };
        let violations = at.info.q_key_violations().saturating_add(1);
        at.info.set_q_key_violations(violations);
        let details = bad_key(q_key.0, packet);
        self.trap(now, port, TrapNumber::BAD_Q_KEY, details.as_bytes());
    }

    /// The link of a port has trouble: sends trap 129, 130 or 131.
    pub fn link_trouble(&mut self, now: Instant, port: PortNum, trouble: LinkTrouble) {
        let Some(reporting_port) = self.guard(port) else {
            return;
        };
        let mut details = NoticeDetails129::default();
        details
            .set_lidaddr(
                self.port(reporting_port)
                    .map_or(Lid::NONE, |port| port.info.lid()),
            )
            .set_port_num(port);
        let number = match trouble {
            LinkTrouble::LocalLinkIntegrity => TrapNumber::LOCAL_LINK_INTEGRITY,
            LinkTrouble::ExcessiveBufferOverrun => TrapNumber::EXCESSIVE_BUFFER_OVERRUN,
            LinkTrouble::FlowControlUpdateWatchdog => TrapNumber::FLOW_CONTROL_UPDATE_WATCHDOG,
        };
        self.trap(now, reporting_port, number, details.as_bytes());
    }

    /// The host changed what a port can do (a subnet manager started on it): sends trap 144.
    pub fn set_capability_mask(&mut self, now: Instant, port: PortNum, mask: CapabilityMask) {
        let Some(at) = self.port_mut(port) else {
            return;
        };
        if at.info.capability_mask() == mask {
            return;
        }
        at.info.set_capability_mask(mask);
        let able = CapabilityMask::IS_CAPABILITY_MASK_NOTICE_SUPPORTED;
        if mask.contains(able) {
            let details = self.local_change(port);
            self.trap(
                now,
                port,
                TrapNumber::CAPABILITY_MASK_CHANGE,
                details.as_bytes(),
            );
        }
    }

    /// Changes the node's description: sends trap 144 where the agent supports it.
    pub fn change_node_description(&mut self, now: Instant, text: &str) {
        self.set_node_description(text);
        let first = self.ports.first().map(|port| port.info);
        let Some(info) = first else {
            return;
        };
        let able = CapabilityMask::IS_OTHER_LOCAL_CHANGES_NOTICE_SUPPORTED;
        if info.capability_mask().contains(able) {
            let port = info.local_port_num();
            let mut details = self.local_change(port);
            details
                .set_other_local_changes(true)
                .set_node_description_change(true);
            self.trap(
                now,
                port,
                TrapNumber::CAPABILITY_MASK_CHANGE,
                details.as_bytes(),
            );
        }
    }

    /// The host changed the system image GUID: sends trap 145.
    pub fn set_system_image_guid(&mut self, now: Instant, guid: Guid) {
        self.node_info.set_system_image_guid(guid);
        let first = self.ports.first().map(|port| port.info);
        let Some(info) = first else {
            return;
        };
        let mut details = NoticeDetails145::default();
        details.set_lidaddr(info.lid()).set_system_image_guid(guid);
        let number = TrapNumber::SYSTEM_IMAGE_GUID_CHANGE;
        self.trap(now, info.local_port_num(), number, details.as_bytes());
    }

    /// Sends a trap of the device's own: what the methods above do not know, as the traps of a vendor or those of a
    /// manager on the device.
    pub fn raise(&mut self, now: Instant, port: PortNum, notice: &NoticeSm) {
        self.tell(now, port, *notice);
    }

    /// Limits how often a trap that is not repressed is sent; without a limit for ever, as the
    /// specification has it.
    pub const fn limit_traps(&mut self, attempts: u32) {
        self.trap_attempts = Some(attempts);
    }

    /// The time at which [`poll_transmit`](ib_mad::Engine::poll_transmit) has a trap next.
    #[inline]
    #[must_use]
    pub fn next_trap(&self) -> Option<Instant> {
        self.traps.iter().map(|trap| trap.due).min()
    }

    /// The next trap that is due; it is due again after SubnetTimeOut.
    pub(super) fn take_trap(&mut self, now: Instant) -> Option<SmaTransmit> {
        let trap = self.traps.iter().position(|trap| trap.due <= now)?;
        let trap = self.traps.get(trap)?.clone();
        let info = *self.port(trap.port)?.info();
        let code = u32::from(info.subnet_timeout());
        let subnet_timeout = Duration::from_nanos(4096u64.wrapping_shl(code));
        let again = now.add(subnet_timeout.max(SHORTEST_INTERVAL));
        let sent = trap.sent.saturating_add(1);
        let last = self.trap_attempts.is_some_and(|attempts| sent >= attempts);
        let this = |other: &Pending| other.transaction_id == trap.transaction_id;
        if last {
            self.traps.retain(|other| !this(other));
        } else if let Some(pending) = self.traps.iter_mut().find(|other| this(other)) {
            (pending.due, pending.sent) = (again, sent);
        }
        let mut smp = SmpLidRouted::new(Method::TRAP, NoticeSm::ID, 0);
        smp.set_transaction_id(trap.transaction_id)
            .set_smp_data(trap.notice.as_bytes());
        let mut mad = Mad::new(MadAddress {
            sl: info.master_sm_sl(),
            ..MadAddress::smi(info.master_sm_lid())
        });
        mad.bytes = *smp.as_bytes();
        let port = trap.port;
        Some(SmaTransmit { port, mad })
    }

    /// A port's state changed by itself: the switch notes it and sends trap 128.
    pub(super) fn port_state_changed(&mut self, now: Instant) {
        let Some(switch) = &mut self.switch else {
            return;
        };
        switch.info.set_port_state_change(true);
        let management = PortNum::MANAGEMENT;
        let mut details = NoticeDetails128::default();
        details.set_lidaddr(
            self.port(management)
                .map_or(Lid::NONE, |port| port.info.lid()),
        );
        self.trap(
            now,
            management,
            TrapNumber::LINK_STATE_CHANGE,
            details.as_bytes(),
        );
    }

    /// An SMP had a wrong M_Key: trap 256.
    pub(super) fn trap_bad_m_key(
        &mut self,
        now: Instant,
        guard: PortNum,
        arrival: Arrival,
        smp: &SmpLidRouted,
    ) {
        let mut details = NoticeDetails256::default();
        details
            .set_lidaddr(arrival.slid)
            .set_method(smp.method())
            .set_attribute_id(smp.attribute_id())
            .set_attribute_modifier(smp.attribute_modifier())
            .set_m_key(smp.m_key());
        if smp.mgmt_class() == MgmtClass::SUBN_DIRECTED {
            let smp = SmpDirected::from_bytes(*smp.as_bytes());
            // The count is that of the entries that follow, as the drivers and tools of Linux have it.
            let hops = smp.hop_count().min(MOST_HOPS_TOLD);
            details
                .set_dr_slid(smp.dr_slid())
                .set_dr_notice(true)
                .set_dr_path_truncated(smp.hop_count() > hops)
                .set_dr_hop_count(hops);
            let path = smp.return_path().iter().take(MOST_HOPS_TOLD.into());
            for (index, &port) in path.enumerate() {
                details.set_dr_notice_return_path(index, port);
            }
        }
        self.trap(now, guard, TrapNumber::BAD_M_KEY, details.as_bytes());
    }

    /// A manager has seen the trap.
    pub(super) fn repress(&mut self, smp: &SmpLidRouted) {
        let (notice, _) = match NoticeSm::parse(smp.smp_data(), 0) {
            Ok(parsed) => parsed,
            Err(_) => return,
        };
        self.traps.retain(|trap| {
            trap.transaction_id.low() != smp.transaction_id().low()
                || trap.notice.trap_number() != notice.trap_number()
        });
    }

    fn local_change(&self, port: PortNum) -> NoticeDetails144 {
        let mut details = NoticeDetails144::default();
        if let Some(port) = self.port(port) {
            details
                .set_lidaddr(port.info.lid())
                .set_capability_mask(port.info.capability_mask().bits())
                .set_capability_mask2(port.info.capability_mask2().bits());
        }
        details
    }

    /// Queues an event: as a notice where managers may ask for it, as a trap where the port can send it and
    /// knows the master's LID.
    fn trap(&mut self, now: Instant, port: PortNum, number: TrapNumber, details: &[u8; 54]) {
        let Some(info) = self.port(port).map(|port| port.info) else {
            return;
        };
        let producer = match self.node_info.node_type() {
            NodeType::SWITCH => ProducerType::SWITCH,
            NodeType::ROUTER => ProducerType::ROUTER,
            _ => ProducerType::CA,
        };
        let kind = match number.bits() {
            128..=131 => NoticeType::URGENT,
            256..=259 => NoticeType::SECURITY,
            _ => NoticeType::INFORMATIONAL,
        };
        let mut notice = NoticeSm::default();
        notice
            .set_is_generic(true)
            .set_type(kind)
            .set_producer_type(producer.bits())
            .set_trap_number(number.bits())
            .set_issuer_lid(info.lid())
            .set_data_details(details);
        self.tell(now, port, notice);
    }

    fn tell(&mut self, now: Instant, port: PortNum, notice: NoticeSm) {
        if self.keeps_notices(port) {
            self.notices.push(notice);
        }
        if self
            .port(port)
            .is_some_and(|port| Self::can_tell(&port.info))
        {
            self.queue_trap(now, port, notice);
        }
    }

    /// Returns true if a port can send traps and knows to whom.
    fn can_tell(info: &PortInfo) -> bool {
        let able = info
            .capability_mask()
            .contains(CapabilityMask::IS_TRAP_SUPPORTED);
        able && info.master_sm_lid().is_unicast() && info.lid().is_unicast()
    }

    /// Queues a trap unless the same waits already.
    fn queue_trap(&mut self, now: Instant, port: PortNum, notice: NoticeSm) {
        let waits = |trap: &Pending| trap.notice == notice && trap.port == port;
        if self.traps.iter().any(waits) {
            return;
        }
        if self.traps.len() >= MOST_PENDING {
            self.traps.pop_front();
        }
        self.next_transaction = self.next_transaction.wrapping_add(1);
        self.traps.push_back(Pending {
            port,
            notice,
            transaction_id: TransactionId(self.next_transaction),
            due: now,
            sent: 0,
        });
    }
}

fn bad_key(key: u32, packet: &KeyViolation) -> NoticeDetails257 {
    let mut details = NoticeDetails257::default();
    details
        .set_lidaddr1(packet.slid)
        .set_lidaddr2(packet.dlid)
        .set_key(key)
        .set_sl(packet.sl)
        .set_qp1(packet.source_qp)
        .set_qp2(packet.dest_qp);
    if let Some((source, destination)) = packet.gids {
        details.set_gidaddr1(source).set_gidaddr2(destination);
    }
    details
}
