//! What others say to the manager: traps of devices, SMInfo of other managers.

use core::time::Duration;

use ib_mad::{Attribute, Instant, Mad, MadStatus, Method, MgmtClass, NoticeSm};
use ib_smp::{DrDirection, SmControl, SmInfo, SmState, SmpDirected, SmpLidRouted};
use ib_wire::{Guid, PortNum};

use super::{MAX_ANSWERS, SubnetManager, later, service::view};
use crate::{
    election::{ElectionAction, ElectionInput},
    event::{Event, SweepCause},
    request::Request,
    subnet::PortRef,
    sweep::Step,
    trap::{self, TrapAction},
};

/// Shortest time between two polls of the master.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

impl SubnetManager {
    /// Decides, when a discovery is over, whether this manager configures what it found.
    pub(super) fn may_configure(&mut self, now: Instant) -> bool {
        if self.election.current().guid() == Guid::NONE {
            // Not even the own node answers.
            self.sweep.errors = self.sweep.errors.saturating_add(1);
            self.end_sweep(now);
            return false;
        }
        let others: alloc::vec::Vec<SmInfo> =
            self.sweep.others.iter().map(|&(_, info)| info).collect();
        self.elect(now, ElectionInput::Discovered(&others)) == ElectionAction::Configure
    }

    /// Notes the own port's GUID as soon as it is known: another manager that discovers at the same
    /// time waits for our SMInfo.
    pub(super) fn learn_own_guid(&mut self) {
        let own = self.sweep.subnet.port(self.sweep.own_port);
        if let Some(guid) = own.map(|port| port.guid).filter(|&guid| guid != Guid::NONE) {
            self.election.set_guid(guid);
        }
    }

    /// In a light sweep another manager told its state: a second master, or a higher one that
    /// stands by, calls for a heavy sweep, where the election is.
    pub(super) fn on_light_sm_info(&mut self, mad: &Mad) {
        let data = trap::smp_data(mad);
        if let Some(data) = data
            && let Ok((info, _)) = SmInfo::parse(&data, 0)
        {
            let higher = info.is_higher_than(&self.election.current());
            self.sweep.changed |= match info.sm_state() {
                SmState::MASTER => self.election.hears(info),
                SmState::STANDBY => higher && self.election.hears(info),
                _ => false,
            };
        }
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
            if let Some(answer) = trap::repress(mad, self.config.m_key) {
                self.answer(answer);
            }
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
                self.sweep_soon(now, SweepCause::Trap);
            }
        }
    }

    /// Disables the port that a trap complains of over and over, if the host wants that: of a CA the
    /// switch's port in front of it, as nobody could ask the CA to come back else.
    fn shut_off(&mut self, notice: &NoticeSm) {
        if !self.config.babbling_port_policy {
            return;
        }
        let view = view(&self.config, &self.sweep, &self.election);
        let named = trap::babbler(notice).and_then(|(lid, port)| {
            let owner = view.port_with(lid)?;
            match view.subnet.node(owner.node)?.is_switch() {
                true => Some(PortRef { port, ..owner }),
                false => view.subnet.port(owner)?.peer,
            }
        });
        let named = named.filter(|port| port.port != PortNum(0));
        if let Some(port) = named.filter(|&port| self.sweep.subnet.port(port).is_some()) {
            let at = self.sweep.subnet.port_at(port);
            self.sweep.queue.push_back(Request::DisablePort(port));
            self.events.push_back(Event::PortShutOff { at });
        }
    }

    /// Polls the manager that is stood by for.
    pub(super) fn poll(&mut self, now: Instant) {
        self.poll_at = Some(self.next_poll(now));
        match self.polled {
            Some(port) => self.sweep.queue.push_back(Request::PollSm(port)),
            // It came after the last discovery: nobody knows where it sits, so nobody can ask.
            None => self.on_poll_failed(now),
        }
    }

    /// When to poll again: without any pause there would be no end to it.
    fn next_poll(&self, now: Instant) -> Instant {
        later(now, self.config.sminfo_polling_timeout.max(SHORTEST_PAUSE))
    }

    pub(super) fn on_poll_answer(&mut self, now: Instant, mad: &Mad) {
        self.polls_failed = 0;
        let data = trap::smp_data(mad);
        if let Some(data) = data
            && let Ok((info, _)) = SmInfo::parse(&data, 0)
        {
            self.elect(now, ElectionInput::PollAnswered(info));
        }
    }

    pub(super) fn on_poll_failed(&mut self, now: Instant) {
        self.polls_failed = self.polls_failed.saturating_add(1);
        if self.polls_failed > self.config.polling_retry_number {
            self.elect(now, ElectionInput::PollFailed);
        }
    }

    /// Sweeps now, or after the sweep at work.
    fn sweep_soon(&mut self, now: Instant, cause: SweepCause) {
        self.again = Some(cause);
        if self.sweep.step == Step::Done {
            self.next_sweep = Some(now);
        }
    }

    /// Answers another manager, and does what it orders.
    fn on_sm_info(&mut self, now: Instant, mad: &Mad) {
        if self.election.current().guid() == Guid::NONE {
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
                self.elect(now, input);
            }
            return;
        }
        let own = self.election.sm_info();
        self.answer_sm_info(mad, &own, status);
    }

    fn answer_sm_info(&mut self, request: &Mad, own: &SmInfo, status: MadStatus) {
        let mut answer = *request;
        let mut data = [0; 64];
        for (to, &from) in data.iter_mut().zip(own.as_bytes()) {
            *to = from;
        }
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

    /// Tells the election what happened and does what it says.
    fn elect(&mut self, now: Instant, input: ElectionInput<'_>) -> ElectionAction {
        let from = self.state();
        let Ok(action) = self.election.handle(input) else {
            return ElectionAction::None;
        };
        let to = self.state();
        if from != to {
            self.events.push_back(Event::SmStateChanged { from, to });
        }
        if to != SmState::MASTER && from == SmState::MASTER {
            self.up = false;
            self.next_sweep = None;
            self.retire();
        } else if to == SmState::STANDBY && from != to {
            // What was kept from before a restart: hosts have told the master what holds now.
            self.forget_hosts();
        }
        match action {
            ElectionAction::None | ElectionAction::Configure => {}
            ElectionAction::Sweep => {
                self.stop_polling();
                self.sweep_soon(now, SweepCause::Election);
            }
            ElectionAction::StopPolling => self.stop_polling(),
            ElectionAction::Poll(guid) => self.stand_by(now, guid),
            ElectionAction::HandOver(guid) => {
                self.stand_by(now, guid);
                if let Some(port) = self.polled {
                    self.sweep.queue.push_back(Request::HandOver(port));
                }
            }
        }
        if to == SmState::MASTER {
            self.stop_polling();
        }
        action
    }

    fn stand_by(&mut self, now: Instant, master: Guid) {
        let others = self.sweep.others.iter();
        let heard = others
            .filter(|(_, info)| info.guid() == master)
            .map(|&(port, _)| port)
            .next();
        self.polled = heard.or_else(|| self.sweep.subnet.find_port(master));
        self.polls_failed = 0;
        self.poll_at = Some(self.next_poll(now));
        self.events.push_back(Event::StandingBy { master });
    }

    fn stop_polling(&mut self) {
        self.polled = None;
        self.poll_at = None;
        self.polls_failed = 0;
    }
}
