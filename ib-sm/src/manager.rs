//! The subnet manager: what arrives goes to the sweep, what the sweep wants goes to the window.

mod command;
mod peers;
mod service;

use alloc::{
    boxed::Box,
    collections::{BTreeMap, VecDeque},
};
use core::time::Duration;

use ib_mad::{
    Engine, InFlight, Input, Instant, Mad, Received, RequestOptions, TransactionWindow,
    WindowConfig,
};
use ib_routing::{Fabric, LidMap, NodeType, Routes, VerifyReport, format::mcfdbs::Groups};
use ib_smp::SmState;
use ib_wire::{Guid, Lid};

use crate::{
    SmConfig,
    election::Election,
    event::{Event, FabricCounts, MadCounts, Phase, Summary, SweepCause},
    request::Request,
    sa::SubnetAdministrator,
    subnet::{PortRef, Subnet},
    sweep::{Step, Sweep},
    trap::TrapFilter,
};

/// Sweeps in a row that may end with errors before the manager waits for its timer.
const QUICK_RETRIES: u8 = 3;

/// How many requests to one device may be on the wire: switches buffer few SMPs.
const PER_DEVICE: u32 = 8;

/// Answers that may wait; beyond, requests are left unanswered, and their senders ask again.
const MAX_ANSWERS: usize = 1024;

/// A subnet manager: give it what the port receives, send what it says.
///
/// It starts to discover the subnet at once. [`Event::SubnetUp`] says that every port is
/// configured; then it waits for changes. Nothing in it reads a clock or sends a packet.
///
/// ```no_run
/// use std::ops::ControlFlow;
///
/// use ib_sm::{Event, SmConfig, SubnetManager};
/// use ib_transport::{Clock, MadTransport, TransportError, drive};
///
/// /// Brings the subnet behind `transport` up and says how many LIDs it has.
/// fn bring_up(
///     transport: &mut impl MadTransport,
///     clock: &impl Clock,
/// ) -> Result<Option<usize>, TransportError> {
///     let mut sm = SubnetManager::new(SmConfig::default(), clock.now());
///     drive(&mut sm, transport, clock, |_, event| match event {
///         Event::SubnetUp(summary) => ControlFlow::Break(summary.fabric.lids),
///         _ => ControlFlow::Continue(()),
///     })
/// }
/// ```
#[derive(Debug)]
pub struct SubnetManager {
    config: SmConfig,
    pub(crate) window: TransactionWindow<Request>,
    pub(crate) sweep: Sweep,
    events: VecDeque<Event>,
    pub(crate) election: Election,
    traps: TrapFilter,
    pub(crate) sa: SubnetAdministrator,
    /// Answers that wait to be sent.
    answers: VecDeque<Mad>,
    answers_sent: u64,
    /// The manager that is polled, and when next.
    polled: Option<PortRef>,
    poll_at: Option<Instant>,
    polls_failed: u8,
    /// Why another sweep follows the one at work.
    again: Option<SweepCause>,
    /// Set while a step that only computes waits for the next call.
    compute_at: Option<Instant>,
    next_sweep: Option<Instant>,
    quick_retries_left: u8,
    /// Of the sweep at work.
    pub(crate) summary: Summary,
    phase_started: Instant,
    mads_before: MadCounts,
    pub(crate) up: bool,
    /// Whether a sweep has ever ended well: what it found is told to those who ask.
    served: bool,
}

impl SubnetManager {
    /// A manager that begins its first sweep at `now`.
    #[must_use]
    pub fn new(config: SmConfig, now: Instant) -> Self {
        let window = TransactionWindow::new(window_config(&config));
        let election = Election::new(
            Guid::NONE,
            config.sm_priority,
            config.sm_key,
            config.ignore_other_sm,
        )
        .aside(config.sm_inactive);
        let mut manager = Self {
            sa: SubnetAdministrator::new(window_config(&config), config.rmpp),
            config,
            window,
            sweep: Sweep::new(None),
            events: VecDeque::new(),
            election,
            traps: TrapFilter::default(),
            answers: VecDeque::new(),
            answers_sent: 0,
            polled: None,
            poll_at: None,
            polls_failed: 0,
            again: None,
            compute_at: None,
            next_sweep: None,
            quick_retries_left: QUICK_RETRIES,
            summary: Summary::default(),
            phase_started: now,
            mads_before: MadCounts::default(),
            up: false,
            served: false,
        };
        manager.sweep.plan.remembered = manager.config.guid2lid.clone();
        let kept = core::mem::take(&mut manager.config.registrations);
        manager.sweep.restored = manager.sa.restore(now, &kept) && !kept.is_empty();
        manager.begin_sweep(now, SweepCause::Start);
        manager.run(now);
        manager
    }

    /// Whether the last sweep ended with every port configured.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// The state in the election.
    #[must_use]
    pub fn state(&self) -> SmState {
        self.election.state()
    }

    /// The options.
    #[must_use]
    pub fn config(&self) -> &SmConfig {
        &self.config
    }

    /// What is known of the subnet; while a sweep is at work, what it has found so far.
    #[must_use]
    pub fn subnet(&self) -> &Subnet {
        &self.sweep.subnet
    }

    /// The fabric that the routes were computed for.
    #[must_use]
    pub fn fabric(&self) -> &Fabric {
        &self.sweep.plan.fabric
    }

    /// Who owns which LID.
    #[must_use]
    pub fn lids(&self) -> &LidMap {
        &self.sweep.plan.lids
    }

    /// Base LIDs by port GUID, those of ports that are gone included: what a host keeps beyond its own life and gives back
    /// as [`SmConfig::guid2lid`]. [`ib_routing::format::guid2lid`] reads and writes OpenSM's file.
    #[must_use]
    pub fn guid2lid(&self) -> &BTreeMap<Guid, Lid> {
        &self.sweep.plan.remembered
    }

    /// The routes that were installed.
    #[must_use]
    pub fn routes(&self) -> Option<&Routes> {
        self.sweep.plan.routes.as_ref()
    }

    /// The output ports of each multicast group's tree, by multicast LID and switch.
    #[must_use]
    pub fn multicast(&self) -> &Groups {
        &self.sweep.plan.trees
    }

    /// What the verification of the routes found.
    #[must_use]
    pub fn report(&self) -> Option<&VerifyReport> {
        self.sweep.plan.report.as_ref()
    }

    /// The engine whose routes were installed.
    #[must_use]
    pub fn engine(&self) -> Option<&'static str> {
        self.routes().map(|routes| routes.engine().name())
    }

    /// What the last sweep found and did; of one at work, what is known so far.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Datagrams since the start.
    #[must_use]
    pub fn mads(&self) -> MadCounts {
        let counters = self.window.counters();
        MadCounts {
            sent: counters.sent.saturating_add(self.answers_sent),
            received: counters.received,
            retried: counters.retried,
            timed_out: counters.failed,
        }
    }

    fn begin_sweep(&mut self, now: Instant, cause: SweepCause) {
        // What is on its way speaks of nodes by their places in the database that ends here.
        self.window.retain(|_| false);
        for (port, block) in self.sweep.take_unwritten_guids() {
            self.sa.guids.write_again(port, block);
        }
        if cause != SweepCause::Start {
            let before = core::mem::replace(&mut self.sweep, Sweep::new(None));
            self.sweep = Sweep::new(Some(before));
        }
        self.next_sweep = None;
        self.again = None;
        self.compute_at = None;
        self.summary = Summary {
            started: now,
            ..Summary::default()
        };
        self.mads_before = self.mads();
        self.phase_started = now;
        self.events
            .push_back(Event::SweepStarted { heavy: true, cause });
        self.events.push_back(Event::PhaseStarted(Phase::Discover));
    }

    /// Fills the window and moves the sweep on as far as it goes without an answer.
    fn run(&mut self, now: Instant) {
        loop {
            self.fill_window();
            self.events.append(&mut self.sweep.events);
            let waits = !self.window.is_empty()
                || !self.sweep.queue.is_empty()
                || self.compute_at.is_some();
            if waits {
                return;
            }
            if self.sweep.step == Step::Done && !self.regroups() {
                if self.writes_guids() {
                    continue;
                }
                return;
            }
            let phase = self.sweep.step.phase();
            if self.sweep.step == Step::Light {
                self.end_light_sweep(now);
                continue;
            }
            if self.sweep.step == Step::Discover && !self.may_configure(now) {
                self.sweep.step = Step::Done;
                continue;
            }
            if self.sweep.step == Step::RegroupTops {
                self.end_regroup(now);
                continue;
            }
            if self.sweep.advance(&self.config, &mut self.sa.groups) {
                self.events.append(&mut self.sweep.events);
                self.note_phase(now, phase);
            }
            if self.sweep.step.computes() {
                self.compute_at = Some(later(now, self.sweep.pause(&self.config)));
            }
            if self.sweep.step == Step::Done {
                self.end_sweep(now);
            }
        }
    }

    /// Gives the window as much as it can have in flight and a little to choose from.
    fn fill_window(&mut self) {
        let enough = usize::try_from(self.window.limit().saturating_mul(2)).unwrap_or(usize::MAX);
        let own = self.election.current();
        while self.window.len() < enough {
            let Some(request) = self.sweep.queue.pop_front() else {
                return;
            };
            let Some(mad) = self.sweep.build(&self.config, &own, request) else {
                continue;
            };
            let options = RequestOptions {
                destination: request.port().map(|port| port.node.index() as u64),
                ..RequestOptions::default()
            };
            // The window takes far more than `enough`.
            let _ = self.window.request_with(&mad, options, request);
        }
    }

    fn note_phase(&mut self, now: Instant, before: Phase) {
        let phase = self.sweep.step.phase();
        let ended = self.sweep.step == Step::Done;
        if phase != before || ended {
            self.summary
                .phases
                .add(before, now.since(self.phase_started));
            self.phase_started = now;
        }
        if phase != before && !ended {
            self.events.push_back(Event::PhaseStarted(phase));
        }
    }

    fn end_sweep(&mut self, now: Instant) {
        let plan = &self.sweep.plan;
        let fabric = &plan.fabric;
        self.summary.fabric = FabricCounts {
            switches: fabric.count(NodeType::SWITCH),
            cas: fabric.count(NodeType::CA),
            routers: fabric.count(NodeType::ROUTER),
            links: fabric.num_links(),
            lids: plan.lids.num_lids(),
        };
        self.summary.engine = plan.routes.as_ref().map(|routes| routes.engine().name());
        self.summary.ports = self.sweep.port_counts();
        self.summary.unresponsive = self.sweep.unresponsive.clone();
        self.summary.errors = self.sweep.errors;
        self.summary.mads = self.mads().since(self.mads_before);
        self.serve_what_was_found();
        let summary = Box::new(self.summary.clone());
        let failed = self.sweep.errors > 0;
        self.up = !failed;
        // One node that refuses must not leave all others without an administrator.
        self.served |= self.sweep.plan.routes.is_some();
        self.next_sweep = self.config.sweep_interval.map(|wait| later(now, wait));
        if failed {
            if let Some(left) = self.quick_retries_left.checked_sub(1) {
                self.quick_retries_left = left;
                self.next_sweep = Some(now);
            }
            self.events.push_back(Event::SweepFailed(summary));
        } else {
            self.quick_retries_left = QUICK_RETRIES;
            self.events.push_back(Event::SubnetUp(summary));
        }
        if self.again.is_some() {
            self.next_sweep = Some(now);
        }
    }

    fn begin_light_sweep(&mut self, now: Instant) {
        self.next_sweep = None;
        self.phase_started = now;
        self.events.push_back(Event::SweepStarted {
            heavy: false,
            cause: SweepCause::Timer,
        });
        self.sweep.start_light();
    }

    fn end_light_sweep(&mut self, now: Instant) {
        self.sweep.step = Step::Done;
        let changed = self.sweep.changed;
        self.events.push_back(Event::LightSweepDone { changed });
        match self.again {
            Some(cause) => self.begin_sweep(now, cause),
            None if changed => self.begin_sweep(now, SweepCause::Change),
            None => {
                self.next_sweep = self.config.sweep_interval.map(|wait| later(now, wait));
            }
        }
    }

    fn on_failures(&mut self, now: Instant) {
        while let Some(failure) = self.window.poll_failure() {
            match failure.context {
                Request::PollSm(_) | Request::HandOver(_) => self.on_poll_failed(now),
                request => self.sweep.on_failure(request),
            }
        }
    }
}

impl Engine for SubnetManager {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = Event;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        match input {
            // To the window these would be answers to nothing.
            Input::Mad(mad) if self.sa.handle_transfer(now, mad) => self.on_messages(now),
            Input::Mad(mad) => match self.window.handle_mad(now, mad) {
                Received::Answer(answer) => match answer.context {
                    Request::PollSm(_) => self.on_poll_answer(now, mad),
                    Request::LightSmInfo(_) => self.on_light_sm_info(mad),
                    request => {
                        self.sweep.on_answer(request, mad);
                        self.learn_own_guid();
                    }
                },
                Received::Unsolicited => self.on_unsolicited(now, mad),
                Received::Pending | Received::Stale => {}
            },
            Input::SendFailed(mad) => {
                self.window.handle_send_failed(mad);
                self.sa.handle_send_failed(mad);
            }
            Input::Returned(mad) => {
                self.window.handle_returned(mad);
                self.sa.handle_send_failed(mad);
            }
        }
        self.on_failures(now);
        self.run(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.window.handle_timeout(now);
        self.sa.handle_timeout(now);
        self.on_failures(now);
        if self.compute_at.take_if(|at| *at <= now).is_some() {
            let phase = self.sweep.step.phase();
            self.sweep.compute(&self.config);
            self.events.append(&mut self.sweep.events);
            self.note_phase(now, phase);
            if self.sweep.step.computes() {
                self.compute_at = Some(later(now, self.sweep.pause(&self.config)));
            }
        }
        if self.poll_at.is_some_and(|at| at <= now) {
            self.poll(now);
        }
        if self.sweep.step == Step::Done && self.next_sweep.is_some_and(|at| at <= now) {
            match self.again {
                Some(cause) => self.begin_sweep(now, cause),
                None if self.up && self.config.force_heavy_sweep => {
                    self.begin_sweep(now, SweepCause::Timer);
                }
                None if self.up => self.begin_light_sweep(now),
                None => self.begin_sweep(now, SweepCause::Retry),
            }
        }
        self.run(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        let request = self.window.poll_transmit(now);
        request.or_else(|| {
            let answer = self.answers.pop_front();
            let answer = answer.or_else(|| self.poll_administrator(now))?;
            self.answers_sent = self.answers_sent.saturating_add(1);
            Some(answer)
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let next_sweep = self.next_sweep.filter(|_| self.sweep.step == Step::Done);
        let timers = [
            self.window.poll_timeout(),
            self.compute_at,
            next_sweep,
            self.poll_at,
            self.sa.poll_timeout(),
        ];
        timers.into_iter().flatten().min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

/// The moment `wait` after `now`.
#[allow(
    clippy::arithmetic_side_effects,
    reason = "the sum of an Instant and a Duration stays at the end of time"
)]
fn later(now: Instant, wait: Duration) -> Instant {
    now + wait
}

fn window_config(config: &SmConfig) -> WindowConfig {
    let max = u32::try_from(config.max_wire_smps)
        .unwrap_or(u32::MAX)
        .max(1);
    WindowConfig {
        timeout: config.transaction_timeout,
        retries: config.transaction_retries.into(),
        in_flight: InFlight::Adaptive {
            min: max.min(4),
            max,
        },
        per_destination: PER_DEVICE,
        first_transaction_id: config.first_transaction_id,
        ..WindowConfig::default()
    }
}
