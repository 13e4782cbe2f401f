//! The subnet management agent (SMA) of a device: a pure function of its state (IBA vol. 1, 14.2 and
//! 14.3).
//!
//! Every node has one. It answers Get and Set of the attributes, protects them by the M_Key, counts
//! violations and repeats traps until a manager represses them. [`Sma`] does that without I/O, as an
//! [`Engine`](ib_mad::Engine) or, where no datagram is to be copied, by [`Sma::respond`]; its host reports
//! what the agent cannot see: that a link came up or went down ([`Sma::link_up`], [`Sma::link_down`]), that
//! a data packet came ([`Sma::data_received`]), that a key was wrong. Actions that the device must take
//! come back as [`SmaEvent`]s. The hop-pointer rules are the business of [`Smi`](crate::Smi), which sits
//! between the agent and the links.

mod attributes;
mod device;
mod engine;
mod linear_table;
mod m_key;
mod notice;
mod port;
mod port_info;
mod router;
mod set_port_info;
mod switch;
mod trap;

use alloc::{boxed::Box, collections::VecDeque, sync::Arc, vec::Vec};

use ib_mad::{Attribute, AttributeId, Instant, MadStatus, Method, MgmtClass};
use ib_wire::{Lid, PortNum};

pub use engine::SmaInput;
pub use port::{LinkMode, SmaPort};
pub use router::RouterTables;
pub use set_port_info::{InvalidSet, PortKind, set_port_info, set_port_state};
pub use switch::SwitchTables;
pub use trap::{KeyViolation, LinkTrouble, SmaTransmit};

use self::{attributes::named_port, notice::NoticeQueue, set_port_info::after_link_down};
use crate::message::RETURNING;
use crate::{
    LinearForwardingTable, NodeDescription, NodeInfo, NodeType, PortPhysicalState, PortState,
    SmInfo, SmpLidRouted, SwitchInfo,
};

/// A device's subnet management agent: its state, and the answers that follow from it.
#[derive(Clone, Debug)]
pub struct Sma {
    node_info: NodeInfo,
    node_description: NodeDescription,
    /// On a switch from port 0 on, elsewhere from port 1 on.
    ports: Box<[SmaPort]>,
    switch: Option<Box<SwitchTables>>,
    router: Option<Box<RouterTables>>,
    has_mlnx_ext_port_info: bool,
    /// Extended speeds are reported only to a manager that announces support for them.
    hides_extended_speeds: bool,
    events: VecDeque<SmaEvent>,
    /// Responses to requests that came in through the [`Engine`](ib_mad::Engine).
    responses: VecDeque<SmaTransmit>,
    traps: VecDeque<trap::Pending>,
    notices: NoticeQueue,
    next_transaction: u64,
    /// Number of times that a trap is sent, at most.
    trap_attempts: Option<u32>,
}

/// Arrival of a request: its port and sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// External port of arrival; 0 if a manager on the switch itself asks.
    pub port: PortNum,
    /// LRH.SLID of the packet; permissive for a directed route.
    pub slid: Lid,
}

/// Disposition of an SMP by the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmpDisposition {
    /// The bytes are the response now: send them back.
    Respond,
    /// The SMP is for a subnet manager on this port: a response, a trap, SMInfo. Without a manager
    /// [`Sma::refuse`] answers it.
    ForManager,
    /// No response, and why.
    Drop(SmpDropReason),
}

/// Why an SMP gets no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SmpDropReason {
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

/// An event for the agent's device, or its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SmaEvent {
    /// A Set changed the logical state: Armed or Active.
    PortState {
        /// Port whose state changed.
        port: PortNum,
        /// The new state.
        state: PortState,
    },
    /// A Set took the link down. With [`PortPhysicalState::POLLING`] the link trains again (call
    /// [`Sma::link_up`] on the agents of both ends when it is up); the other end sees its link go down.
    LinkDown {
        /// Port whose link the device takes down.
        port: PortNum,
        /// Sleep, Polling or Disabled.
        physical_state: PortPhysicalState,
    },
    /// A Set changed LID or LMC of the port.
    Lid {
        /// Port whose LID changed.
        port: PortNum,
    },
    /// The manager asks the host to subscribe and join again.
    ClientReregister {
        /// Port whose clients must register again.
        port: PortNum,
    },
    /// The lease of the port's M_Key ran out: it no longer hides.
    LeaseExpired {
        /// Port whose M_Key lease expired.
        port: PortNum,
    },
}

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
        Self::with_ports(node_info, node_description, ports, None)
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
        let tables = Box::new(SwitchTables::new(switch_info, num_ports));
        Self::with_ports(
            node_info,
            node_description,
            ports.into_boxed_slice(),
            Some(tables),
        )
    }

    /// The same agent, whose traps have transaction IDs above `last`: the device knows what it has
    /// sent before it was reset.
    #[must_use]
    pub fn with_transaction_ids(mut self, last: u64) -> Self {
        self.next_transaction = last;
        self
    }

    fn with_ports(
        node_info: NodeInfo,
        node_description: NodeDescription,
        mut ports: Box<[SmaPort]>,
        switch: Option<Box<SwitchTables>>,
    ) -> Self {
        let first = u8::from(switch.is_none());
        for (number, port) in (first..=u8::MAX).zip(&mut ports) {
            port.info.set_local_port_num(PortNum(number));
        }
        Self {
            node_info,
            node_description,
            ports,
            switch,
            router: None,
            has_mlnx_ext_port_info: false,
            hides_extended_speeds: false,
            events: VecDeque::new(),
            responses: VecDeque::new(),
            traps: VecDeque::new(),
            notices: NoticeQueue::default(),
            next_transaction: 0,
            trap_attempts: None,
        }
    }

    /// Answers an SMP that its SMI delivered: `bytes` become the response where the verdict is
    /// [`SmpDisposition::Respond`], with the D bit set for a directed route. The hop pointer stays: what
    /// follows is [`Smi::respond`](crate::Smi::respond).
    pub fn respond(
        &mut self,
        now: Instant,
        arrival: Arrival,
        bytes: &mut [u8; 256],
    ) -> SmpDisposition {
        let Ok((smp, _)) = SmpLidRouted::parse_mut(bytes, 0) else {
            return SmpDisposition::ForManager;
        };
        let class = smp.mgmt_class();
        if !matches!(class, MgmtClass::SUBN_LID | MgmtClass::SUBN_DIRECTED) {
            return SmpDisposition::Drop(SmpDropReason::NotAnSmp(class));
        }
        let method = smp.method();
        if method.is_response() || method == Method::TRAP {
            return SmpDisposition::ForManager;
        }
        if smp.base_version() != 1 || smp.class_version() != 1 {
            return finish(smp, BAD_VERSION);
        }
        if !matches!(method, Method::GET | Method::SET | Method::TRAP_REPRESS) {
            return finish(smp, MadStatus::UNSUPPORTED_METHOD);
        }
        let Some(guard) = self.guard(arrival.port) else {
            return SmpDisposition::Drop(SmpDropReason::NoSuchPort(arrival.port));
        };
        if !self.check_m_key(now, guard, arrival, smp) {
            return SmpDisposition::Drop(SmpDropReason::BadMKey);
        }
        let (id, modifier) = (smp.attribute_id(), smp.attribute_modifier());
        if method == Method::TRAP_REPRESS {
            self.repress(smp);
            return SmpDisposition::Drop(SmpDropReason::Repressed);
        }
        if id == SmInfo::ID {
            return SmpDisposition::ForManager;
        }
        let request = CheckedRequest {
            arrival,
            guard,
            id,
            modifier,
        };
        // Another port of the same CA has a key of its own.
        if self.switch.is_none()
            && let Some(port) = named_port(id, modifier)
            && let Some(target) = self.target(request, port)
            && target != guard
            && !self.check_m_key(now, target, arrival, smp)
        {
            return SmpDisposition::Drop(SmpDropReason::BadMKey);
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

    /// Lets agents in one process keep equal blocks of their linear forwarding tables in the same memory.
    ///
    /// `share` gets the block of this number and returns the one that is kept instead, which another agent may hold too.
    /// A block of other content is not accepted. Nothing happens for a block that drops everything, which takes no memory.
    pub fn share_lft_block(
        &mut self,
        number: u32,
        share: impl FnOnce(&Arc<LinearForwardingTable>) -> Arc<LinearForwardingTable>,
    ) {
        if let Some(switch) = &mut self.switch {
            switch.share_linear_block(number, share);
        }
    }

    /// Returns true if an SMP is for a subnet manager: a response, a trap or SMInfo.
    #[must_use]
    pub fn is_for_manager(bytes: &[u8; 256]) -> bool {
        SmpLidRouted::parse(bytes, 0).is_ok_and(|(smp, _)| {
            smp.method().is_response()
                || smp.method() == Method::TRAP
                || smp.attribute_id() == SmInfo::ID && smp.method() != Method::TRAP_REPRESS
        })
    }

    /// Turns a request that no agent here supports into a refusal: SMInfo where no manager runs. `false` if
    /// the request has no response.
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
            .set_width(mode.width)
            .set_speed(mode.speed);
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

    /// The node's facts for the SMI rules, for an SMP of this port.
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
}

/// A Get or Set that passed the guard.
#[derive(Clone, Copy)]
struct CheckedRequest {
    arrival: Arrival,
    guard: PortNum,
    id: AttributeId,
    modifier: u32,
}

/// Writes method and status of a response, and the D bit of a directed route.
fn finish(smp: &mut SmpLidRouted, status: MadStatus) -> SmpDisposition {
    let d = if smp.mgmt_class() == MgmtClass::SUBN_DIRECTED {
        RETURNING
    } else {
        0
    };
    smp.set_method(Method::GET_RESP)
        .set_status(MadStatus(status.0 | d));
    SmpDisposition::Respond
}

#[cfg(test)]
mod tests;
