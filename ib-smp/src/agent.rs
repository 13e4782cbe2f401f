//! The subnet management agent (SMA) of a device: a pure function of its state (IBA vol. 1, 14.2 and
//! 14.3).
//!
//! Every node has one. It answers Get and Set of the attributes, guards them by the M_Key, counts
//! violations and has traps to send ([`Sma::poll_transmit`]) until a manager represses them. [`Sma`] does that without I/O; what it
//! cannot know is told to it: that a link came up or went down ([`Sma::link_up`],
//! [`Sma::link_down`]), that a data packet came ([`Sma::data_received`]), that a key was wrong. What the
//! device must do comes back as [`SmaEvent`]s. The hop-pointer rules are the business of
//! [`Smi`](crate::Smi), which sits between the agent and the links.

mod device;
mod port;
mod set_port_info;
mod switch;
mod trap;

use alloc::{boxed::Box, collections::VecDeque, vec::Vec};
use core::{ops::Add, time::Duration};

use ib_mad::{Attribute, AttributeId, Instant, MadStatus, Method, MgmtClass};
use ib_wire::{Lid, PortNum};

pub use port::{LinkMode, SmaPort};
pub use set_port_info::{BadSet, PortKind, set_port_info, set_port_state};
pub use switch::SwitchTables;
pub use trap::{KeyViolation, LinkTrouble, SmaTransmit};

use self::set_port_info::{after_link_down, opens};
use crate::{
    CapabilityMask, CapabilityMask2, GuidInfo, HierarchyInfo, LedInfo, LinearForwardingTable,
    MKeyProtect, MlnxExtPortInfo, MulticastForwardingTable, NodeDescription, NodeInfo, NodeType,
    PKeyModifier, PartitionKeyTable, PortInfo, PortInfoExtended, PortInfoModifier,
    PortPhysicalState, PortState, RandomForwardingTable, SlToVlMappingTable, SlToVlModifier,
    SmInfo, SmpLidRouted, SwitchInfo, VendorDiag, VlArbitrationModifier, VlArbitrationTable,
};

/// A device's subnet management agent: its state, and the answers that follow from it.
#[derive(Clone, Debug)]
pub struct Sma {
    node_info: NodeInfo,
    node_description: NodeDescription,
    /// On a switch from port 0 on, elsewhere from port 1 on.
    ports: Box<[SmaPort]>,
    switch: Option<Box<SwitchTables>>,
    has_mlnx_ext_port_info: bool,
    events: VecDeque<SmaEvent>,
    traps: VecDeque<trap::Pending>,
    next_transaction: u64,
    /// How often a trap is sent, at most.
    trap_attempts: Option<u32>,
}

/// How a request came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// External port of arrival; 0 if a manager on the switch itself asks.
    pub port: PortNum,
    /// LRH.SLID of the packet; permissive for a directed route.
    pub slid: Lid,
}

/// What becomes of an SMP that the agent was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The bytes are the response now: send them back.
    Respond,
    /// The SMP is for a subnet manager on this port: a response, a trap, SMInfo. Without a manager
    /// [`Sma::refuse`] answers it.
    ForManager,
    /// No response, and why.
    Drop(DropReason),
}

/// Why an SMP gets no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DropReason {
    /// The class is not that of an SMP.
    #[error("class {0} is not subnet management")]
    NotAnSmp(MgmtClass),
    /// The M_Key is wrong; the violation was counted.
    #[error("the M_Key is wrong")]
    BadMKey,
    /// TrapRepress has no response.
    #[error("TrapRepress has no response")]
    Repressed,
    /// The node has no such port.
    #[error("the node has no port {0}")]
    NoSuchPort(PortNum),
}

/// What an agent tells its device, or the host of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SmaEvent {
    /// A Set changed the logical state: Armed or Active.
    PortState {
        /// The port.
        port: PortNum,
        /// The new state.
        state: PortState,
    },
    /// A Set took the link down. With [`PortPhysicalState::POLLING`] the link trains again (tell the
    /// agents of both ends [`Sma::link_up`] when it is up); the other end sees its link go down.
    LinkDown {
        /// The port.
        port: PortNum,
        /// Sleep, Polling or Disabled.
        physical_state: PortPhysicalState,
    },
    /// A Set changed LID or LMC of the port.
    Lid {
        /// The port.
        port: PortNum,
    },
    /// The manager asks the host to subscribe and join again.
    ClientReregister {
        /// The port.
        port: PortNum,
    },
    /// The lease of the port's M_Key ran out: it no longer hides.
    LeaseExpired {
        /// The port.
        port: PortNum,
    },
}

type Data = [u8; 64];

/// Value of a field or modifier that is not supported: 0x001C.
const INVALID: MadStatus = MadStatus::INVALID_FIELD_VALUE;
const UNSUPPORTED: MadStatus = MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE;
/// The receiver does not know this version of the header or the class.
const BAD_VERSION: MadStatus = MadStatus(0x0004);

impl Sma {
    /// The agent of a CA or a router whose ports, from 1 on, are `ports`.
    ///
    /// Transaction IDs of traps count from 1: [`with_transaction_ids`](Self::with_transaction_ids).
    /// `node_info.num_ports` is set to their number. Each port starts in the state that its PortInfo
    /// says: Down as a rule, until [`link_up`](Self::link_up).
    #[must_use]
    pub fn new(
        mut node_info: NodeInfo,
        node_description: NodeDescription,
        ports: impl IntoIterator<Item = SmaPort>,
    ) -> Self {
        let ports: Box<[SmaPort]> = ports.into_iter().collect();
        node_info.set_num_ports(u8::try_from(ports.len()).unwrap_or(u8::MAX));
        Self {
            node_info,
            node_description,
            ports,
            switch: None,
            has_mlnx_ext_port_info: false,
            events: VecDeque::new(),
            traps: VecDeque::new(),
            next_transaction: 0,
            trap_attempts: None,
        }
        .number_ports(1)
    }

    /// The agent of a switch: `management` is port 0, whose GUID is the node's, `external` are the
    /// ports from 1 on, which have no GUID.
    #[must_use]
    pub fn new_switch(
        mut node_info: NodeInfo,
        node_description: NodeDescription,
        switch_info: SwitchInfo,
        management: SmaPort,
        external: impl IntoIterator<Item = SmaPort>,
    ) -> Self {
        let ports: Vec<SmaPort> = core::iter::once(management).chain(external).collect();
        let num_ports = u8::try_from(ports.len().saturating_sub(1)).unwrap_or(u8::MAX);
        node_info
            .set_num_ports(num_ports)
            .set_node_type(NodeType::SWITCH);
        Self {
            node_info,
            node_description,
            ports: ports.into_boxed_slice(),
            switch: Some(Box::new(SwitchTables::new(switch_info, num_ports))),
            has_mlnx_ext_port_info: false,
            events: VecDeque::new(),
            traps: VecDeque::new(),
            next_transaction: 0,
            trap_attempts: None,
        }
        .number_ports(0)
    }

    /// The same agent, whose traps have transaction IDs above `last`: the device knows what it has
    /// sent before it was reset.
    #[must_use]
    pub fn with_transaction_ids(mut self, last: u64) -> Self {
        self.next_transaction = last;
        self
    }

    fn number_ports(mut self, first: u8) -> Self {
        for (number, port) in (first..=u8::MAX).zip(&mut self.ports) {
            port.info.set_local_port_num(PortNum(number));
        }
        self
    }

    /// Answers an SMP that its SMI delivered: `bytes` become the response where the verdict is
    /// [`Verdict::Respond`], with the D bit set for a directed route. The hop pointer stays: what
    /// follows is [`Smi::respond`](crate::Smi::respond).
    pub fn respond(&mut self, now: Instant, arrival: Arrival, bytes: &mut [u8; 256]) -> Verdict {
        let Ok((smp, _)) = SmpLidRouted::parse_mut(bytes, 0) else {
            return Verdict::ForManager;
        };
        let class = smp.mgmt_class();
        if !matches!(class, MgmtClass::SUBN_LID | MgmtClass::SUBN_DIRECTED) {
            return Verdict::Drop(DropReason::NotAnSmp(class));
        }
        let method = smp.method();
        if method.is_response() || method == Method::TRAP {
            return Verdict::ForManager;
        }
        if smp.base_version() != 1 || smp.class_version() != 1 {
            return finish(smp, BAD_VERSION);
        }
        if !matches!(method, Method::GET | Method::SET | Method::TRAP_REPRESS) {
            return finish(smp, MadStatus::UNSUPPORTED_METHOD);
        }
        let Some(guard) = self.guard(arrival.port) else {
            return Verdict::Drop(DropReason::NoSuchPort(arrival.port));
        };
        if !self.check_m_key(now, guard, arrival, smp) {
            return Verdict::Drop(DropReason::BadMKey);
        }
        let (id, modifier) = (smp.attribute_id(), smp.attribute_modifier());
        if method == Method::TRAP_REPRESS {
            self.repress(smp);
            return Verdict::Drop(DropReason::Repressed);
        }
        if id == SmInfo::ID {
            return Verdict::ForManager;
        }
        let request = Request {
            arrival,
            guard,
            id,
            modifier,
        };
        // Another port of the same CA has a key of its own.
        if id == PortInfo::ID
            && self.switch.is_none()
            && let Some(port) = PortInfoModifier::from_bits(modifier)
            && let Some(target) = self.target(request, port.port)
            && target != guard
            && !self.check_m_key(now, target, arrival, smp)
        {
            return Verdict::Drop(DropReason::BadMKey);
        }
        let mut data = *smp.smp_data();
        let status = if method == Method::GET {
            self.get(request, smp, &mut data)
        } else {
            self.set(request, smp, &mut data)
        };
        smp.set_smp_data(&data);
        finish(smp, status)
    }

    /// Answers a request that nobody here understands: SMInfo where no manager runs. `false` for
    /// what has no response.
    #[must_use]
    pub fn refuse(bytes: &mut [u8; 256]) -> bool {
        match SmpLidRouted::parse_mut(bytes, 0) {
            Ok((smp, _)) if matches!(smp.method(), Method::GET | Method::SET) => {
                finish(smp, UNSUPPORTED);
                true
            }
            _ => false,
        }
    }

    /// The link of a port trained in `mode`: the port goes to Initialize.
    pub fn link_up(&mut self, now: Instant, port: PortNum, mode: LinkMode) {
        let Some(at) = self.port_mut(port) else {
            return;
        };
        let changed = at.info.port_state() == PortState::DOWN;
        at.info
            .set_port_physical_state(PortPhysicalState::LINK_UP)
            .set_link_width_active(mode.width)
            .set_link_speed_active(mode.speed)
            .set_link_speed_ext_active(mode.speed_ext)
            .set_link_speed_ext_active2(mode.speed_ext2);
        if changed {
            at.info.set_port_state(PortState::INITIALIZE);
            self.port_state_changed(now);
        }
    }

    /// The link of a port went down, by itself or by its other end: the port goes to Down and, unless
    /// it is disabled, to its default physical state.
    pub fn link_down(&mut self, now: Instant, port: PortNum) {
        let Some(at) = self.port_mut(port) else {
            return;
        };
        let changed = at.info.port_state() != PortState::DOWN;
        at.info.set_port_state(PortState::DOWN);
        if at.info.port_physical_state() != PortPhysicalState::DISABLED {
            let physical = after_link_down(&at.info);
            at.info.set_port_physical_state(physical);
        }
        if changed {
            self.port_state_changed(now);
        }
    }

    /// A data packet came in on VL 0..=14: a port that is Armed becomes Active.
    pub fn data_received(&mut self, port: PortNum) {
        if let Some(at) = self.port_mut(port)
            && at.info.port_state() == PortState::ARMED
        {
            let state = PortState::ACTIVE;
            at.info.set_port_state(state);
            self.events.push_back(SmaEvent::PortState { port, state });
        }
    }

    /// The next thing that the device must do.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<SmaEvent> {
        self.events.pop_front()
    }

    /// NodeInfo, but for the two fields that depend on the port of arrival.
    #[inline]
    #[must_use]
    pub const fn node_info(&self) -> &NodeInfo {
        &self.node_info
    }

    /// The text that people know the node by.
    #[inline]
    #[must_use]
    pub const fn node_description(&self) -> &NodeDescription {
        &self.node_description
    }

    /// A switch's own state; `None` on other nodes.
    #[inline]
    #[must_use]
    pub fn switch(&self) -> Option<&SwitchTables> {
        self.switch.as_deref()
    }

    /// The ports: from port 0 on a switch, from port 1 on other nodes.
    #[inline]
    #[must_use]
    pub fn ports(&self) -> &[SmaPort] {
        &self.ports
    }

    /// What the SMI rules need to know of the node, for an SMP of this port.
    #[inline]
    #[must_use]
    pub fn smi(&self, arrival: PortNum) -> crate::Smi {
        let port = self.guard(arrival).unwrap_or(arrival);
        crate::Smi {
            node_type: self.node_info.node_type(),
            num_ports: self.node_info.num_ports(),
            port,
            lid: self.port(port).map_or(Lid::NONE, |port| port.info.lid()),
        }
    }

    /// The port whose M_Key guards a request: port 0 of a switch, else the port of arrival.
    #[inline]
    fn guard(&self, arrival: PortNum) -> Option<PortNum> {
        let port = match self.switch {
            Some(_) => PortNum::MANAGEMENT,
            None => arrival,
        };
        self.port(port).map(|_| port)
    }

    /// The port that a modifier names: 0 is the port of arrival on a CA.
    fn target(&self, request: Request, port: PortNum) -> Option<PortNum> {
        let port = match self.switch {
            None if port == PortNum(0) => request.arrival.port,
            _ => port,
        };
        self.port(port).map(|_| port)
    }

    /// Whether the SMP may pass; a Set that may not is a violation.
    fn check_m_key(
        &mut self,
        now: Instant,
        guard: PortNum,
        arrival: Arrival,
        smp: &SmpLidRouted,
    ) -> bool {
        self.expire_lease(now, guard);
        let Some(port) = self.port_mut(guard) else {
            return false;
        };
        if opens(&port.info, smp.m_key()) {
            port.lease_ends = None;
            return true;
        }
        let open = matches!(
            port.info.m_key_protect_bits(),
            MKeyProtect::GET_OPEN | MKeyProtect::GET_OPEN_KEY_HIDDEN
        );
        if open && smp.method() == Method::GET {
            return true;
        }
        let violations = port.info.m_key_violations().saturating_add(1);
        port.info.set_m_key_violations(violations);
        let lease = port.info.m_key_lease_period();
        if lease != 0 && port.lease_ends.is_none() {
            port.lease_ends = Some(now.add(Duration::from_secs(lease.into())));
        }
        self.trap_bad_m_key(now, guard, arrival, smp);
        false
    }

    /// Ends the protection of a port whose lease is over; the key stays.
    fn expire_lease(&mut self, now: Instant, port: PortNum) {
        if let Some(at) = self.port_mut(port)
            && at.lease_ends.is_some_and(|end| end <= now)
        {
            at.lease_ends = None;
            at.info.set_m_key_protect_bits(MKeyProtect::GET_OPEN);
            self.events.push_back(SmaEvent::LeaseExpired { port });
        }
    }

    fn get(&mut self, request: Request, smp: &SmpLidRouted, data: &mut Data) -> MadStatus {
        let modifier = request.modifier;
        match request.id {
            NodeInfo::ID => put(data, self.node_info_at(request).as_bytes()),
            NodeDescription::ID => put(data, self.node_description.as_bytes()),
            PortInfo::ID => self.get_port_info(request, smp, data),
            PartitionKeyTable::ID => {
                let block = self
                    .p_key_place(request)
                    .and_then(|(port, cap, block)| self.port(port)?.p_key_block(block, cap));
                put_some(data, block.as_ref().map(|block| &block.as_bytes()[..]))
            }
            GuidInfo::ID => {
                let block = self
                    .port(request.guard)
                    .and_then(|at| at.guid_block(modifier));
                put_some(data, block.as_ref().map(|block| &block.as_bytes()[..]))
            }
            SlToVlMappingTable::ID => {
                let table = match (&self.switch, SlToVlModifier::from_bits(modifier)) {
                    (Some(switch), Some(modifier)) => switch.sl_to_vl_block(modifier),
                    (None, Some(_)) => self.port(request.arrival.port).map(SmaPort::sl_to_vl),
                    (_, None) => None,
                };
                put_some(data, table.as_ref().map(|table| &table.as_bytes()[..]))
            }
            VlArbitrationTable::ID => {
                let table = self
                    .vl_arbitration_place(request)
                    .and_then(|(port, half)| Some(self.port(port)?.vl_arbitration(half)));
                put_some(data, table.as_ref().map(|table| &table.as_bytes()[..]))
            }
            VendorDiag::ID if modifier == 0 => put(data, VendorDiag::default().as_bytes()),
            VendorDiag::ID => INVALID,
            id => match self.optional(id, request) {
                Ok(Optional::Switch) => self.get_switch(id, modifier, data),
                Ok(Optional::Port(port)) => self.get_optional(id, port, data),
                Err(status) => status,
            },
        }
    }

    fn set(&mut self, request: Request, smp: &SmpLidRouted, data: &mut Data) -> MadStatus {
        let modifier = request.modifier;
        let done = match request.id {
            PortInfo::ID => return self.set_port_info(request, data),
            NodeDescription::ID if self.may_set_description(request.guard) => {
                self.node_description = NodeDescription::from_bytes(*data);
                Some(())
            }
            PartitionKeyTable::ID => {
                let table = PartitionKeyTable::from_bytes(*data);
                self.p_key_place(request).and_then(|(port, cap, block)| {
                    self.port_mut(port)?.set_p_key_block(block, cap, &table)
                })
            }
            GuidInfo::ID => {
                let table = GuidInfo::from_bytes(*data);
                self.port_mut(request.guard)
                    .and_then(|port| port.set_guid_block(modifier, &table))
            }
            SlToVlMappingTable::ID => {
                let table = front(data, SlToVlMappingTable::from_bytes);
                match (&mut self.switch, SlToVlModifier::from_bits(modifier)) {
                    (Some(switch), Some(modifier)) => switch.set_sl_to_vl(modifier, &table),
                    (None, Some(_)) => self
                        .port_mut(request.arrival.port)
                        .map(|port| port.set_sl_to_vl(&table)),
                    (_, None) => None,
                }
            }
            VlArbitrationTable::ID => {
                let table = VlArbitrationTable::from_bytes(*data);
                self.vl_arbitration_place(request).and_then(|(port, half)| {
                    self.port_mut(port)?.set_vl_arbitration(half, &table);
                    Some(())
                })
            }
            NodeDescription::ID | NodeInfo::ID | VendorDiag::ID => return UNSUPPORTED,
            id => match self.optional(id, request) {
                Ok(Optional::Switch) => self.set_switch(id, modifier, data),
                Ok(Optional::Port(port)) => self.set_optional(id, port, data),
                Err(status) => return status,
            },
        };
        match done {
            // The response shows the values after the Set.
            Some(()) => self.get(request, smp, data),
            None => INVALID,
        }
    }

    /// NodeInfo as it looks from the port of arrival.
    #[inline]
    fn node_info_at(&self, request: Request) -> NodeInfo {
        let mut info = self.node_info;
        if let Some(port) = self.port(request.guard) {
            info.set_port_guid(port.guid);
        }
        info.set_local_port_num(request.arrival.port);
        info
    }

    fn get_port_info(&self, request: Request, smp: &SmpLidRouted, data: &mut Data) -> MadStatus {
        let Some(modifier) = PortInfoModifier::from_bits(request.modifier) else {
            return INVALID;
        };
        let target = self.target(request, modifier.port);
        let Some(port) = target.and_then(|port| self.port(port)) else {
            return INVALID;
        };
        let mut info = port.info;
        info.set_local_port_num(request.arrival.port);
        let shown = port.info.m_key_protect_bits() == MKeyProtect::GET_OPEN;
        if !shown && !opens(&port.info, smp.m_key()) {
            info.set_m_key(ib_wire::MKey(0));
        }
        put(data, info.as_bytes())
    }

    fn set_port_info(&mut self, request: Request, data: &mut Data) -> MadStatus {
        let Some(modifier) = PortInfoModifier::from_bits(request.modifier) else {
            return INVALID;
        };
        let Some(target) = self.target(request, modifier.port) else {
            return INVALID;
        };
        let kind = self.kind(target);
        let Some(port) = self.port_mut(target) else {
            return INVALID;
        };
        let wanted = PortInfo::from_bytes(*data);
        let old = port.info;
        let Ok(new) = set_port_info(&old, &wanted, kind, modifier.extended_speeds) else {
            return INVALID;
        };
        port.info = new;
        if new.m_key_lease_period() != old.m_key_lease_period() {
            port.lease_ends = None;
        }
        self.tell_changes(target, &old, &new, &wanted);
        // The response is to the sender's old key or none: it knows the one that it has just set.
        let mut info = new;
        info.set_local_port_num(request.arrival.port)
            .set_client_reregister(wanted.client_reregister() && kind.has_lid());
        put(data, info.as_bytes())
    }

    fn tell_changes(&mut self, port: PortNum, old: &PortInfo, new: &PortInfo, wanted: &PortInfo) {
        if (old.lid(), old.lmc()) != (new.lid(), new.lmc()) {
            self.events.push_back(SmaEvent::Lid { port });
        }
        let (state, physical_state) = (new.port_state(), new.port_physical_state());
        if physical_state != old.port_physical_state() {
            self.events.push_back(SmaEvent::LinkDown {
                port,
                physical_state,
            });
        } else if state != old.port_state() {
            self.events.push_back(SmaEvent::PortState { port, state });
        }
        if wanted.client_reregister() && self.kind(port).has_lid() {
            self.events.push_back(SmaEvent::ClientReregister { port });
        }
    }

    fn kind(&self, port: PortNum) -> PortKind {
        match &self.switch {
            None => PortKind::EndPort,
            Some(switch) if port == PortNum::MANAGEMENT => PortKind::SwitchManagement {
                enhanced: switch.info.enhanced_port0(),
            },
            Some(switch) => PortKind::SwitchExternal {
                inbound_enforcement: switch.info.inbound_enforcement_cap(),
                outbound_enforcement: switch.info.outbound_enforcement_cap(),
                filter_raw_inbound: switch.info.filter_raw_inbound_cap(),
                filter_raw_outbound: switch.info.filter_raw_outbound_cap(),
            },
        }
    }

    /// Port, capacity and block of a P_Key request.
    fn p_key_place(&self, request: Request) -> Option<(PortNum, u16, u16)> {
        let modifier = PKeyModifier::from_bits(request.modifier)?;
        let port = self.target(request, modifier.port)?;
        let cap = match &self.switch {
            Some(switch) if port != PortNum::MANAGEMENT => switch.info.partition_enforcement_cap(),
            _ => self.node_info.partition_cap(),
        };
        Some((port, cap, modifier.block))
    }

    /// Port and half of a VL arbitration request.
    fn vl_arbitration_place(
        &self,
        request: Request,
    ) -> Option<(PortNum, crate::VlArbitrationHalf)> {
        let modifier = VlArbitrationModifier::from_bits(request.modifier)?;
        let port = self.target(request, modifier.port)?;
        let has_half = self.port(port)?.has_half(modifier.half);
        has_half.then_some((port, modifier.half))
    }

    fn may_set_description(&self, guard: PortNum) -> bool {
        self.port(guard).is_some_and(|port| {
            let mask = port.info.capability_mask2();
            mask.contains(CapabilityMask2::IS_SET_NODE_DESCRIPTION_SUPPORTED)
        })
    }

    /// Whether the node has an attribute that not every node has, and for which port.
    fn optional(&self, id: AttributeId, request: Request) -> Result<Optional, MadStatus> {
        let masks = self.port(request.guard).map(|port| &port.info);
        let mask = masks.map_or(CapabilityMask::empty(), PortInfo::capability_mask);
        let mask2 = masks.map_or(CapabilityMask2::empty(), PortInfo::capability_mask2);
        let exists = match id {
            SwitchInfo::ID | LinearForwardingTable::ID | MulticastForwardingTable::ID => {
                return self
                    .switch
                    .as_ref()
                    .map_or(Err(UNSUPPORTED), |_| Ok(Optional::Switch));
            }
            RandomForwardingTable::ID => {
                let switch = self.switch.as_ref();
                return match switch.is_some_and(|switch| switch.info.random_fdb_cap() > 0) {
                    true => Ok(Optional::Switch),
                    false => Err(UNSUPPORTED),
                };
            }
            LedInfo::ID => mask.contains(CapabilityMask::IS_LED_INFO_SUPPORTED),
            HierarchyInfo::ID => mask.contains(CapabilityMask::IS_HIERARCHY_INFO_SUPPORTED),
            PortInfoExtended::ID => {
                mask2.contains(CapabilityMask2::IS_PORT_INFO_EXTENDED_SUPPORTED)
            }
            MlnxExtPortInfo::ID => {
                let has = |port: &SmaPort| port.mlnx() != MlnxExtPortInfo::default();
                self.has_mlnx_ext_port_info || self.ports.iter().any(has)
            }
            _ => false,
        };
        if !exists {
            return Err(UNSUPPORTED);
        }
        let port = u8::try_from(request.modifier).map_err(|_| INVALID)?;
        self.target(request, PortNum(port))
            .map(Optional::Port)
            .ok_or(INVALID)
    }

    fn get_switch(&self, id: AttributeId, modifier: u32, data: &mut Data) -> MadStatus {
        let Some(switch) = &self.switch else {
            return UNSUPPORTED;
        };
        match id {
            LinearForwardingTable::ID => {
                let block = switch.linear_block(modifier);
                put_some(data, block.as_ref().map(|block| &block.as_bytes()[..]))
            }
            MulticastForwardingTable::ID => {
                let block = switch.multicast_block(modifier);
                put_some(data, block.as_ref().map(|block| &block.as_bytes()[..]))
            }
            RandomForwardingTable::ID => {
                let block = switch.random_block(modifier);
                put_some(data, block.as_ref().map(|block| &block.as_bytes()[..]))
            }
            _ => put(data, switch.info.as_bytes()),
        }
    }

    fn set_switch(&mut self, id: AttributeId, modifier: u32, data: &Data) -> Option<()> {
        let switch = self.switch.as_mut()?;
        match id {
            LinearForwardingTable::ID => {
                switch.set_linear_block(modifier, &LinearForwardingTable::from_bytes(*data))
            }
            MulticastForwardingTable::ID => {
                switch.set_multicast_block(modifier, &MulticastForwardingTable::from_bytes(*data))
            }
            RandomForwardingTable::ID => {
                switch.set_random_block(modifier, &RandomForwardingTable::from_bytes(*data))
            }
            _ => switch.set_info(&front(data, SwitchInfo::from_bytes)),
        }
    }

    fn get_optional(&self, id: AttributeId, port: PortNum, data: &mut Data) -> MadStatus {
        let Some(port) = self.port(port) else {
            return INVALID;
        };
        match id {
            LedInfo::ID => put(data, port.led().as_bytes()),
            PortInfoExtended::ID => put(data, port.extended().as_bytes()),
            MlnxExtPortInfo::ID => put(data, port.mlnx().as_bytes()),
            _ => put(data, port.hierarchy().as_bytes()),
        }
    }

    fn set_optional(&mut self, id: AttributeId, port: PortNum, data: &Data) -> Option<()> {
        let port = self.port_mut(port)?;
        match id {
            LedInfo::ID => port.set_led(&front(data, LedInfo::from_bytes)),
            PortInfoExtended::ID => port.set_extended(&PortInfoExtended::from_bytes(*data))?,
            MlnxExtPortInfo::ID => port.set_mlnx(&MlnxExtPortInfo::from_bytes(*data))?,
            _ => port.set_hierarchy(&HierarchyInfo::from_bytes(*data)),
        }
        Some(())
    }
}

/// A Get or Set that passed the guard.
#[derive(Clone, Copy)]
struct Request {
    arrival: Arrival,
    guard: PortNum,
    id: AttributeId,
    modifier: u32,
}

/// An attribute that not every node has.
enum Optional {
    Switch,
    Port(PortNum),
}

/// Writes method and status of a response, and the D bit of a directed route.
fn finish(smp: &mut SmpLidRouted, status: MadStatus) -> Verdict {
    let d = if smp.mgmt_class() == MgmtClass::SUBN_DIRECTED {
        0x8000
    } else {
        0
    };
    smp.set_method(Method::GET_RESP)
        .set_status(MadStatus(status.0 | d));
    Verdict::Respond
}

/// Makes an attribute the data of a response; what is behind it is zero.
#[inline]
fn put(data: &mut Data, attribute: &[u8]) -> MadStatus {
    *data = [0; 64];
    for (to, &from) in data.iter_mut().zip(attribute) {
        *to = from;
    }
    MadStatus::OK
}

fn put_some(data: &mut Data, attribute: Option<&[u8]>) -> MadStatus {
    match attribute {
        Some(attribute) => put(data, attribute),
        None => INVALID,
    }
}

/// The attribute at the front of the data of a request.
fn front<const N: usize, T>(data: &Data, open: impl Fn([u8; N]) -> T) -> T {
    open(*data.first_chunk().unwrap_or(&[0; N]))
}

#[cfg(test)]
mod tests;
