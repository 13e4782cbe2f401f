//! Datagrams that arrive unrequested: traps of devices, SMInfo of other managers.

use alloc::collections::BTreeSet;
use core::time::Duration;

use ib_mad::{
    Attribute as _, Instant, Mad, MadAddress, MadStatus, Method, MgmtClass, NoticeSm, TrapNumber,
};
use ib_smp::{DrDirection, PortInfo, SmControl, SmInfo, SmState, SmpDirected, SmpLidRouted};
use ib_subnet::PortId;
use ib_wire::{Gid, Guid, Lid, PortNum, Sl, table::padded};

use super::{MAX_ANSWERS, Mode, SubnetManager, later};
use crate::{
    apply::along,
    election::{ElectionAction, ElectionInput},
    event::{Event, SweepCause},
    replication::registration,
    trap::{self, TrapAction},
};

/// Shortest time between two polls of the master.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// A request to another manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerRequest {
    /// Poll: whether the manager on this port is alive.
    Poll(PortId),
    /// HANDOVER: the manager on this port is to become the master.
    HandOver(PortId),
    /// Get(PortInfo) of the own port: where the master's administrator is.
    FindAdministrator(PortId),
    /// Set(ServiceRecord) at the administrator with this LID: this standby takes replicas. The port is its own.
    Register(PortId, Lid, Sl),
}

impl PeerRequest {
    pub(super) const fn port(self) -> PortId {
        match self {
            Self::Poll(port)
            | Self::HandOver(port)
            | Self::FindAdministrator(port)
            | Self::Register(port, ..) => port,
        }
    }
}

/// The polling of the master while this manager is in STANDBY.
#[derive(Debug, Default)]
pub(super) struct Polling {
    /// The port of the polled manager; `None` if it is unknown.
    port: Option<PortId>,
    at: Option<Instant>,
    failed: u8,
    /// True if a HANDOVER arrived while this manager was still discovering. Its sender is not the master any more.
    offered: bool,
}

impl Polling {
    pub(super) const fn due(&self) -> Option<Instant> {
        self.at
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.at.is_some_and(|at| at <= now)
    }
}

impl SubnetManager {
    /// Notes the own port's GUID as soon as it is known: another manager that discovers at the same time waits
    /// for this manager's SMInfo. Requests that arrived earlier are answered now.
    pub(super) fn learn_own_guid(&mut self, now: Instant) {
        let own = self.subnet.own_port().and_then(|own| self.subnet.port(own));
        if let Some(guid) = own
            .map(|port| port.guid())
            .filter(|&guid| guid != Guid::NONE)
        {
            self.election.set_guid(guid);
            for request in core::mem::take(&mut self.early) {
                self.on_sm_info(now, &request);
            }
        }
    }

    /// Builds the datagram of a request to another manager.
    ///
    /// A HANDOVER states that its sender is the master: it remains so until the receiver answers.
    pub(super) fn peer_datagram(&self, request: PeerRequest) -> Option<Mad> {
        let port = request.port();
        let route = self.subnet.route(port)?;
        let m_key = self.subnet.m_key(port, self.config.m_key);
        let (method, modifier, data) = match request {
            PeerRequest::Poll(_) => (Method::GET, 0, [0; 64]),
            PeerRequest::FindAdministrator(_) => {
                let (get, port) = (Method::GET, port.port.0.into());
                return Some(along(&route, m_key, get, PortInfo::ID, port, &[0; 64]));
            }
            PeerRequest::HandOver(_) => {
                let mut own = self.election.current();
                own.set_sm_state(SmState::MASTER);
                (Method::SET, SmControl::HANDOVER.0, padded(own.as_bytes()))
            }
            PeerRequest::Register(_, lid, sl) => {
                let own = Gid::new(self.config.subnet_prefix, self.election.current().guid());
                let interval = self.config.sminfo_polling_timeout;
                return Some(registration::request(
                    MadAddress::gsi(lid, sl),
                    own,
                    interval,
                ));
            }
        };
        Some(along(&route, m_key, method, SmInfo::ID, modifier, &data))
    }

    pub(super) fn on_unsolicited(&mut self, now: Instant, mad: &Mad) {
        let header = mad.header();
        let class = header.mgmt_class();
        if class == MgmtClass::SUBN_ADM {
            self.on_query(now, mad);
            return;
        }
        if class != MgmtClass::SUBN_LID && class != MgmtClass::SUBN_DIRECTED {
            return;
        }
        if header.attribute_id() == SmInfo::ID
            && matches!(header.method(), Method::GET | Method::SET)
        {
            self.on_sm_info(now, mad);
        } else if let Some(notice) = trap::notice(mad) {
            if self.state() != SmState::MASTER {
                return;
            }
            self.repress(mad, &notice);
            let action = self.traps.judge(now, &notice);
            match action {
                TrapAction::Ignore => return,
                TrapAction::ShutOff => return self.shut_off(&notice),
                TrapAction::Sweep | TrapAction::Report => {}
            }
            let from = mad.address.lid;
            self.events.push_back(Event::Trap { from, notice });
            self.forward(&notice);
            if action == TrapAction::Sweep && self.config.sweep_on_trap {
                self.mark_by_trap(&notice);
            }
        }
    }

    /// Answers a trap with TrapRepress, with the M_Key that its sender has shown. A trap about the M_Key of a
    /// TrapRepress is not answered: with a wrong key each answer would cause the next trap, without end.
    fn repress(&mut self, mad: &Mad, notice: &NoticeSm) {
        if trap::is_about_repress(notice) {
            return;
        }
        let port = self.view().port_with(notice.issuer_lid());
        let own = self.config.m_key;
        let m_key = port.map_or(own, |port| self.subnet.m_key(port, own));
        if let Some(answer) = trap::repress(mad, m_key) {
            self.answer(answer);
        }
    }

    /// Marks the ports that a trap concerns so that they are read: for a link state change, all ports of the
    /// switch. If the sender is unknown, or its system image GUID changed, everything is read.
    fn mark_by_trap(&mut self, notice: &NoticeSm) {
        let issuer = self.view().port_with(notice.issuer_lid());
        let names_part = matches!(
            TrapNumber(notice.trap_number()),
            TrapNumber::LINK_STATE_CHANGE | TrapNumber::CAPABILITY_MASK_CHANGE
        );
        match issuer.filter(|_| names_part) {
            Some(port) => self.mark(BTreeSet::from([port])),
            None => self.pending.everything = Some(SweepCause::Trap),
        }
    }

    /// Marks ports so that they are read as soon as the running sweep permits. A sweep that is planning or
    /// settling is aborted because the fabric that it works for has changed.
    fn mark(&mut self, ports: BTreeSet<PortId>) {
        self.pending.marked.extend(ports);
        let may_be_dropped = match &self.mode {
            Mode::Planning(planning) => planning.may_be_dropped(),
            Mode::Settling(_) => true,
            Mode::Idle | Mode::Observing(_) | Mode::Applying(_) => false,
        };
        if may_be_dropped && self.reads_parts() {
            self.mode = Mode::Idle;
        }
    }

    /// Disables the port that a trap reports over and over, if `babbling_port_policy` is set. For a CA the switch
    /// port at the other end of its cable is disabled, because the CA could not be reached any more to enable its
    /// own port.
    fn shut_off(&mut self, notice: &NoticeSm) {
        if !self.config.babbling_port_policy {
            return;
        }
        let view = self.view();
        let named = trap::babbler(notice).and_then(|(lid, port)| {
            let owner = view.port_with(lid)?;
            match view.subnet.node(owner.node)?.is_switch() {
                true => Some(PortId { port, ..owner }),
                false => view.subnet.port(owner)?.peer(),
            }
        });
        let named = named.filter(|port| port.port != PortNum::MANAGEMENT);
        if let Some(port) = named.filter(|&port| self.subnet.port(port).is_some()) {
            self.disable(port);
            let at = self.subnet.port_at(port);
            self.events.push_back(Event::PortShutOff { at });
        }
    }

    /// Polls the master while this manager is in STANDBY.
    pub(super) fn poll(&mut self, now: Instant) {
        self.polling.at = Some(self.next_poll(now));
        match self.polling.port {
            Some(port) => {
                let own = self.subnet.own_port().map(PeerRequest::FindAdministrator);
                self.urgent.push_back(PeerRequest::Poll(port));
                self.urgent.extend(own);
            }
            // The master appeared after the last discovery, so its port is unknown and it cannot be asked.
            None => self.on_poll_failed(now),
        }
    }

    /// The time of the next poll; a minimum pause keeps polls from following each other without end.
    fn next_poll(&self, now: Instant) -> Instant {
        later(now, self.config.sminfo_polling_timeout.max(SHORTEST_PAUSE))
    }

    pub(super) fn on_peer_answer(&mut self, now: Instant, request: PeerRequest, mad: &Mad) {
        if let PeerRequest::Register(..) = request {
            return;
        }
        // In a directed-route SMP the highest bit of the common header's status is the direction.
        let Ok((smp, _)) = SmpDirected::parse(&mad.bytes, 0) else {
            return;
        };
        let status = smp.status();
        if let PeerRequest::HandOver(_) = request {
            if !status.is_ok() {
                // The other manager refused the subnet, which would be left without a master.
                self.events.push_back(Event::HandoverRefused { status });
                self.elect(now, ElectionInput::PollFailed);
            }
            return;
        }
        if let PeerRequest::FindAdministrator(own) = request {
            if let Ok((info, _)) = PortInfo::parse(smp.smp_data(), 0)
                && self.state() == SmState::STANDBY
                && info.master_sm_lid().is_unicast()
            {
                let (lid, sl) = (info.master_sm_lid(), info.master_sm_sl());
                self.urgent.push_back(PeerRequest::Register(own, lid, sl));
            }
            return;
        }
        if !status.is_ok() {
            return self.on_poll_failed(now);
        }
        if let Ok((info, _)) = SmInfo::parse(smp.smp_data(), 0) {
            let info = *info;
            self.elect(now, ElectionInput::PollAnswered(&info));
            // A manager that stays in DISCOVERING is no master.
            if info.sm_state() == SmState::DISCOVERING {
                self.on_poll_failed(now);
            } else {
                self.polling.failed = 0;
            }
        }
    }

    pub(super) fn on_peer_failure(&mut self, now: Instant, request: PeerRequest) {
        match request {
            PeerRequest::Poll(_) => self.on_poll_failed(now),
            // The order may have been lost; the poll shows whether there is a master.
            PeerRequest::HandOver(_) => self.on_poll_failed(now),
            // The next poll registers again.
            PeerRequest::FindAdministrator(_) | PeerRequest::Register(..) => {}
        }
    }

    fn on_poll_failed(&mut self, now: Instant) {
        self.polling.failed = self.polling.failed.saturating_add(1);
        if self.polling.failed > self.config.polling_retry_number {
            self.elect(now, ElectionInput::PollFailed);
        }
    }

    /// Answers another manager's SMInfo request, and carries out its order.
    fn on_sm_info(&mut self, now: Instant, mad: &Mad) {
        if self.conduct == super::Conduct::Observe {
            return;
        }
        if self.election.current().guid() == Guid::NONE {
            // A manager that finds this one before it has read its own port would wait in vain for the answer.
            if self.early.len() < MAX_ANSWERS {
                self.early.push_back(*mad);
            }
            return;
        }
        let header = mad.header();
        let order = SmControl(header.attribute_modifier());
        let mut status = MadStatus::OK;
        let data = trap::smp_data(mad);
        if header.method() == Method::SET
            && let Some(data) = data
            && let Ok((sender, _)) = SmInfo::parse(&data, 0)
        {
            // The answer shows the state before the order.
            let before = self.election.sm_info();
            let mut judged = self.election.clone();
            let input = ElectionInput::Control { order, sender };
            if let Err(refusal) = judged.handle(input) {
                status = refusal.0;
            }
            self.answer_sm_info(mad, &before, status);
            if status.is_ok() {
                let discovers = self.state() == SmState::DISCOVERING;
                self.elect(now, input);
                self.polling.offered = discovers && order == SmControl::HANDOVER;
            }
            return;
        }
        let own = self.election.sm_info();
        self.answer_sm_info(mad, &own, status);
    }

    fn answer_sm_info(&mut self, request: &Mad, own: &SmInfo, status: MadStatus) {
        let mut answer = *request;
        let data = padded(own.as_bytes());
        match request.header().mgmt_class() {
            MgmtClass::SUBN_DIRECTED => {
                if let Ok((smp, _)) = SmpDirected::parse_mut(&mut answer.bytes, 0) {
                    smp.set_method(Method::GET_RESP)
                        .set_d(DrDirection::RETURNING)
                        .set_status(status)
                        .set_smp_data(&data);
                }
            }
            _ => {
                if let Ok((smp, _)) = SmpLidRouted::parse_mut(&mut answer.bytes, 0) {
                    smp.set_method(Method::GET_RESP)
                        .set_status(status)
                        .set_smp_data(&data);
                }
            }
        }
        self.answer(answer);
    }

    fn answer(&mut self, answer: Mad) {
        if self.answers.len() < MAX_ANSWERS {
            self.answers.push_back(answer);
        }
    }

    /// Gives the election an input and carries out its decision.
    pub(super) fn elect(&mut self, now: Instant, input: ElectionInput<'_>) -> ElectionAction {
        let from = self.state();
        let Ok(action) = self.election.handle(input) else {
            return ElectionAction::None;
        };
        let to = self.state();
        if from != to {
            self.events.push_back(Event::SmStateChanged { from, to });
        }
        if to != SmState::MASTER && from == SmState::MASTER {
            self.history.up = false;
            self.next_sweep = None;
            self.hand_over_registrations(now, action);
            self.retire();
        } else if to == SmState::STANDBY && from != to {
            // Hosts have registered with the master since, so the registrations from before a restart are
            // outdated.
            self.forget_hosts();
        }
        match action {
            ElectionAction::None | ElectionAction::Configure => {}
            ElectionAction::Sweep => {
                self.stop_polling();
                self.pending.everything = Some(SweepCause::Election);
            }
            ElectionAction::StopPolling => self.stop_polling(),
            ElectionAction::Poll(guid) => {
                let offered = self.polling.offered;
                self.stand_by(now, guid);
                if offered {
                    // The poll shows that the other manager is not the master any more, so this one takes over
                    // without waiting.
                    self.poll(now);
                }
            }
            ElectionAction::HandOver(guid) => {
                self.stand_by(now, guid);
                if let Some(port) = self.polling.port {
                    self.urgent.push_back(PeerRequest::HandOver(port));
                }
            }
        }
        if to == SmState::MASTER {
            self.stop_polling();
        }
        action
    }

    fn stand_by(&mut self, now: Instant, master: Guid) {
        self.replication.stand_by_for(now, master);
        let mut others = self.others.iter();
        let known = others.find(|(_, info)| info.guid() == master);
        let port = known.map(|&(port, _)| port);
        self.polling = Polling {
            port: port.or_else(|| self.subnet.find_port(master)),
            at: Some(self.next_poll(now)),
            failed: 0,
            offered: false,
        };
        self.events.push_back(Event::StandingBy { master });
    }

    fn stop_polling(&mut self) {
        self.polling = Polling::default();
    }
}
