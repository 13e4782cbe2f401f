//! The subnet manager: hands received datagrams to the part that waits for them, and the parts' requests to the
//! window.
//!
//! A sweep consists of four steps: observe, decide, reconcile, apply.
//!
//! ```text
//!            begin_sweep                all reads answered              routes verified
//!   Idle ───────────────────▶ Observing ───────────────▶ Planning ───────────────────┐
//!    ▲                            ▲     (LIDs: Applying)  ▲     │ next engine        │
//!    │                            │                       └─────┘                    ▼
//!    │ last stage is over         └──────────────────────────────── Settling ◀── Applying
//!    └────────────────────────────────────────────── Applying        a mark      │   ▲
//!                                                                                └───┘ next stage
//! ```
//!
//! *Observing* walks the whole subnet, the marked ports, or only SwitchInfo to detect changes. *Planning* waits
//! for [`Work`](crate::Work): routes, their verification, the order of their writes; in a large subnet also LIDs,
//! the entries that a failure broke, and the differences that a stage writes. *Applying* writes one stage
//! of changes. *Settling* waits until packets that were forwarded by earlier tables have left the fabric.
//! Restoring service has priority. On a large fabric, entries that a failure broke are first led round the
//! failure, before routes are planned. New ports become active with repaired routes. Only then are all routes
//! computed anew and working entries moved. Requests for a sweep that arrive meanwhile are noted in `Pending`. A
//! mark during Planning or Settling aborts these, because the fabric that they work for has changed.

mod accessors;
mod command;
mod invariants;
mod observe;
mod peers;
mod planning;
mod port_states;
mod replicas;
mod service;
mod sharing;
mod stages;
mod sweeps;

use alloc::{
    boxed::Box,
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    vec::Vec,
};
use core::time::Duration;

use ib_mad::{
    Attribute as _, Engine, InFlight, Input, Instant, Mad, MadMatch, Overflow, RequestOptions,
    TransactionWindow, WindowConfig,
};
use ib_routing::{LidPolicy, LowestFree};
use ib_smp::{SlToVlMappingTable, SlToVlModifier, SmInfo};
use ib_subnet::{PortAt, PortId, Read, Subnet, Walk};
use ib_wire::Guid;

pub use self::invariants::InvariantError;
use self::port_states::NotActivePorts;
use self::{
    peers::{PeerRequest, Polling},
    planning::Planning,
    sharing::Sharing,
};
use crate::{
    SmConfig,
    apply::{self, Apply},
    election::Election,
    event::{Event, MadCounts, Phase, Summary, SweepCause},
    plan::Plan,
    policy::{Situation, settled::Settled},
    reconcile::{
        Stage,
        tables::{Changed, TableUpdate},
    },
    replication::Replication,
    sa::SubnetAdministrator,
    shared::Shared,
    trap::{self, TrapFilter},
};

/// Number of consecutive sweeps that may end with errors before the manager waits for its timer.
const QUICK_RETRIES: u8 = 3;

/// Maximum number of requests to one device on the wire: switches buffer few SMPs.
const PER_DEVICE: u32 = 8;

/// Maximum number of queued answers. Beyond it requests are not answered, and their senders ask again.
const MAX_ANSWERS: usize = 1024;

/// Number of events for which an empty queue keeps memory. In a large subnet, LIDs are assigned to all ports at once, and
/// the events of that take megabytes.
const KEPT_EVENTS: usize = 1024;

/// Subnet size, in entries of all forwarding tables, from which a failure is led round before routes are
/// repaired.
const DETOURS_FROM: usize = 1 << 18;

/// Number of nodes up to which decisions about the whole subnet are made at once, within the call that needs them.
const SMALL_SUBNET: usize = 512;

/// True if a manager acts on its decisions or only reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conduct {
    /// Takes part in the election and writes its changes.
    #[default]
    Manage,
    /// Sends no Set of any kind and takes no part in the election, so it may run beside any manager. After each
    /// sweep it reports the changes that it would make as [`Event::ChangePlanned`].
    Observe,
}

/// A subnet manager: give it the datagrams that the port receives, and send those that it returns.
///
/// It begins to discover the subnet at once. [`Event::SubnetUp`] reports that every port is configured; after
/// that it waits for changes. The manager reads no clock and sends no packet itself.
///
/// ```no_run
/// use std::ops::ControlFlow;
///
/// use ib_sm::{Event, SmConfig, SubnetManager};
/// use ib_transport::{Clock, MadTransport, TransportError, drive};
///
/// /// Brings up the subnet that `transport` reaches and returns its number of LIDs.
/// fn bring_up(
///     transport: &mut impl MadTransport<Error = TransportError>,
///     clock: &impl Clock,
/// ) -> Result<Option<usize>, TransportError> {
///     let mut sm = SubnetManager::new(SmConfig::default(), clock.now());
///     drive(&mut sm, transport, clock, |_, event| match event {
///         Event::SubnetUp(summary) => ControlFlow::Break(summary.fabric.lids),
///         _ => ControlFlow::Continue(()),
///     })
/// }
/// ```
///
/// On a large fabric, routing, verification and ordering the writes take longer than one call may. By default
/// they run in place, inside [`handle_timeout`](Engine::handle_timeout). A host with threads calls
/// [`hand_out_work`](Self::hand_out_work), takes the [`Work`](crate::Work) by [`poll_work`](Self::poll_work),
/// runs it and gives the result to [`handle_done`](Self::handle_done). Meanwhile queries are answered from the
/// routes in force, and other managers get their answers.
#[derive(Debug)]
pub struct SubnetManager {
    config: Shared<SmConfig>,
    conduct: Conduct,
    lid_policy: Arc<dyn LidPolicy>,
    window: TransactionWindow<Purpose>,
    subnet: Shared<Subnet>,
    plan: Shared<Plan>,
    mode: Mode,
    pending: Pending,
    /// The time at which the next sweep begins without another cause.
    next_sweep: Option<Instant>,
    history: History,
    sweep: SweepRecord,
    /// The last sweep that ended.
    summary: Summary,
    tables: TableUpdate,
    sharing: Sharing,
    changed: Changed,
    /// Subnet size, in entries of all forwarding tables, from which a failure is led round before routes are
    /// repaired.
    detours_from: usize,
    work: WorkSlot,
    election: Election,
    polling: Polling,
    /// Other managers, each with its port.
    others: Vec<(PortId, SmInfo)>,
    /// Requests outside any sweep.
    urgent: VecDeque<PeerRequest>,
    traps: TrapFilter,
    sa: SubnetAdministrator,
    replication: Replication,
    /// Requests for the SMInfo that arrived before the own port's GUID was known.
    early: VecDeque<Mad>,
    /// Answers that have not been sent yet.
    answers: VecDeque<Mad>,
    answers_sent: u64,
    events: VecDeque<Event>,
}

/// The state of the manager: one at a time, as in the module's diagram.
#[derive(Debug)]
enum Mode {
    /// Waits for a timer, a trap or a command.
    Idle,
    /// Reads the subnet.
    Observing(Box<Walk>),
    /// Waits for the result of work.
    Planning(Planning),
    /// Writes one stage of changes.
    Applying(Apply),
    /// Waits until this time for packets that were forwarded by earlier tables.
    Settling(Instant),
}

/// The purpose of a datagram in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// A read of a walk.
    Read(Read),
    /// A read or write of a stage.
    Apply(apply::StageRequest),
    /// A poll of another manager, or an order to it.
    Peer(PeerRequest),
}

/// Requests for a sweep that arrived while another one is running.
#[derive(Debug, Default)]
struct Pending {
    /// The whole subnet is to be read, for this reason.
    everything: Option<SweepCause>,
    /// These switches and ports are to be read.
    marked: BTreeSet<PortId>,
}

/// Results of earlier sweeps.
#[derive(Debug)]
struct History {
    /// True if the last sweep ended with every port configured.
    up: bool,
    /// True if a sweep has ever installed routes; until then queries are not answered.
    served: bool,
    /// True if a sweep has ended since the start.
    swept: bool,
    /// The registrations of hosts from before a restart are known: hosts that did not change need not register
    /// again.
    restored: bool,
    /// All routes are to be computed anew, including those that are still valid.
    reroute: bool,
    /// The routes in force were repaired after cables were added: all are to be computed anew once every port is
    /// served.
    provisional: bool,
    quick_retries_left: u8,
    /// The time before which changes of multicast groups are not written.
    groups_from: Instant,
    /// GUIDs of the end ports that had LIDs after the last sweep.
    ports: BTreeSet<Guid>,
    /// Ports that the last sweep did not make Active.
    not_active: NotActivePorts,
}

/// The sweep that is running.
#[derive(Debug)]
struct SweepRecord {
    summary: Summary,
    /// The last ports that directed routes reach: the sweep may go on from there.
    out_of_reach: BTreeSet<PortAt>,
    detours: DetourState,
    /// The inputs of the configuration of all ports, from the first stage on that examines the ports.
    settled: Option<Settled>,
    phase: Phase,
    phase_started: Instant,
    mads_before: MadCounts,
}

impl SweepRecord {
    fn new(now: Instant, mads_before: MadCounts) -> Self {
        Self {
            summary: Summary {
                started: now,
                ..Summary::default()
            },
            out_of_reach: BTreeSet::new(),
            detours: DetourState::default(),
            settled: None,
            phase: Phase::Discover,
            phase_started: now,
            mads_before,
        }
    }
}

/// The detours of a sweep: entries that a failure broke, led over neighbours until there are routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DetourState {
    /// None so far: a repair takes less time.
    #[default]
    NotNeeded,
    /// They were written before the routes were repaired.
    Written,
    /// The routes in force cannot be repaired. Detours are written, then all routes are computed anew.
    Unrepairable,
}

/// Work that is handed out or ready to be handed out.
#[derive(Debug, Default)]
struct WorkSlot {
    /// True if the host takes work by `poll_work`.
    handed_out: bool,
    /// The version of the routes whose path counts were handed out last.
    counted: u64,
    /// Number of the latest work; a result with another number is outdated and ignored.
    number: u64,
}

impl SubnetManager {
    /// A manager that begins its first sweep at `now`.
    #[must_use]
    pub fn new(config: SmConfig, now: Instant) -> Self {
        let election = Election::new(
            Guid::NONE,
            config.sm_priority,
            config.sm_key,
            config.ignore_other_sm,
        )
        .inactive(config.sm_inactive);
        let mut manager = Self {
            sa: SubnetAdministrator::new(window_config(&config), config.rmpp),
            window: TransactionWindow::new(window_config(&config)),
            conduct: Conduct::Manage,
            lid_policy: Arc::new(LowestFree),
            subnet: Shared::default(),
            plan: Shared::default(),
            mode: Mode::Idle,
            pending: Pending::default(),
            next_sweep: None,
            history: History {
                up: false,
                served: false,
                swept: false,
                restored: false,
                reroute: false,
                provisional: false,
                quick_retries_left: QUICK_RETRIES,
                groups_from: now,
                ports: BTreeSet::new(),
                not_active: NotActivePorts::new(),
            },
            sweep: SweepRecord::new(now, MadCounts::default()),
            summary: Summary::default(),
            tables: TableUpdate::default(),
            sharing: Sharing::default(),
            changed: Changed::default(),
            detours_from: DETOURS_FROM,
            work: WorkSlot::default(),
            election,
            polling: Polling::default(),
            others: Vec::new(),
            urgent: VecDeque::new(),
            traps: TrapFilter::default(),
            replication: Replication::new(window_config(&config), config.first_transaction_id),
            early: VecDeque::new(),
            answers: VecDeque::new(),
            answers_sent: 0,
            events: VecDeque::new(),
            config: Shared::new(config),
        };
        manager.plan.set_remembered(manager.config.guid2lid.clone());
        let m_keys = core::mem::take(&mut manager.config.m_keys);
        if manager.config.m_key_lookup {
            manager.subnet.set_m_keys(m_keys);
        }
        let kept = core::mem::take(&mut manager.config.registrations);
        manager.history.restored = manager.sa.restore(now, &kept) && !kept.is_empty();
        manager.begin_sweep(now, SweepCause::Start);
        manager.run(now);
        manager
    }

    /// Sets whether the manager acts on its decisions; [`Conduct::Manage`] by default. Call it before the first
    /// datagram is sent.
    #[must_use]
    pub fn with_conduct(mut self, conduct: Conduct) -> Self {
        self.conduct = conduct;
        self
    }

    /// Sets the rule by which ports get their LIDs; [`LowestFree`] by default. Call it before the first datagram
    /// is sent.
    #[must_use]
    pub fn with_lid_policy(mut self, policy: Arc<dyn LidPolicy>) -> Self {
        self.lid_policy = policy;
        self
    }

    /// Sets the subnet size from which entries that a failure broke are led over neighbours before routes are
    /// repaired: the number of switches times the number of LIDs, 262,144 by default. In a smaller subnet the
    /// repair takes a few milliseconds, and writing detours first would write entries twice; they are written there if
    /// the repair fails, before all routes are computed anew. If a failure took cables between switches alone, and the
    /// host has counted the paths of the routes in force ([`Work`](crate::Work)), a repair takes as little time in a subnet
    /// of any size, so none are written before it; 0 has them written before every repair.
    #[must_use]
    pub fn with_detours_from(mut self, entries: usize) -> Self {
        self.detours_from = entries;
        self
    }

    fn situation(&self) -> Situation<'_> {
        Situation::new(&self.config, &self.subnet, &self.plan)
    }

    /// Fills the window and advances as far as possible without another answer.
    fn run(&mut self, now: Instant) {
        loop {
            self.fill_window();
            if !self.window.is_empty() || !self.urgent.is_empty() {
                return;
            }
            match &self.mode {
                Mode::Idle => {
                    if !self.begin_pending(now) && !self.begin_small_stage(now) {
                        return;
                    }
                }
                Mode::Observing(_) => self.end_walk(now),
                Mode::Applying(_) => self.end_stage(now),
                Mode::Planning(_) | Mode::Settling(_) => return,
            }
        }
    }

    /// Fills the window with as many requests as may be in flight, and a few more to choose from.
    fn fill_window(&mut self) {
        let is_reading = matches!(self.mode, Mode::Observing(_) | Mode::Applying(_));
        if !is_reading && self.urgent.is_empty() {
            // As between two answers of the administrator.
            return;
        }
        let limit = self.window.limit().max(self.config.max_wire_smps2.into());
        let enough = usize::try_from(limit.saturating_mul(2)).unwrap_or(usize::MAX);
        self.follow_broken_routes();
        while self.window.len() < enough {
            let Some((purpose, mad)) = self.next_request() else {
                break;
            };
            let device = match purpose {
                Purpose::Read(read) => read.target.port(),
                Purpose::Apply(request) => Some(request.block().port),
                Purpose::Peer(request) => Some(request.port()),
            };
            let options = RequestOptions {
                timeout: self.long_timeout(purpose),
                destination: device.map(|port| port.node.index() as u64),
                ..RequestOptions::default()
            };
            // The window's capacity is far above `enough`.
            let _ = self.window.request_with(&mad, options, purpose);
        }
        self.report_findings();
    }

    /// The time-out for a request that a device answers slowly; `None` for all others.
    fn long_timeout(&self, purpose: Purpose) -> Option<Duration> {
        let Purpose::Apply(request) = purpose else {
            return None;
        };
        let block = request.block();
        let is_long = block.attribute == SlToVlMappingTable::ID
            && matches!(
                SlToVlModifier::from_bits(block.modifier),
                Some(SlToVlModifier::AllInputs { .. } | SlToVlModifier::All)
            );
        let config = &self.config;
        is_long.then(|| {
            config
                .long_transaction_timeout
                .max(config.transaction_timeout)
        })
    }

    fn next_request(&mut self) -> Option<(Purpose, Mad)> {
        while let Some(request) = self.urgent.pop_front() {
            if let Some(mad) = self.peer_datagram(request) {
                return Some((Purpose::Peer(request), mad));
            }
        }
        let at = Situation::new(&self.config, &self.subnet, &self.plan);
        match &mut self.mode {
            Mode::Observing(walk) => {
                let (read, mad) = walk.next_read(&self.subnet)?;
                Some((Purpose::Read(read), mad))
            }
            Mode::Applying(apply) => {
                let (request, mad) = apply.next(at)?;
                Some((Purpose::Apply(request), mad))
            }
            Mode::Idle | Mode::Planning(_) | Mode::Settling(_) => None,
        }
    }

    fn on_failures(&mut self, now: Instant) {
        while let Some(failure) = self.window.poll_failure() {
            match failure.context {
                Purpose::Peer(request) => self.on_peer_failure(now, request),
                Purpose::Read(read) => {
                    if let Mode::Observing(walk) = &mut self.mode {
                        walk.handle_failure(&mut self.subnet, read);
                    }
                }
                Purpose::Apply(request) => self.on_apply_failure(request),
            }
        }
    }

    /// Returns true if a datagram comes from outside the manager's logical cluster.
    fn is_from_outside(&self, mad: &Mad) -> bool {
        let role = self.config.cluster.as_ref();
        role.is_some_and(|role| !role.is_from_inside(&self.subnet, mad))
    }

    /// The answer to a request whose data were `sent`.
    fn on_answer(&mut self, now: Instant, purpose: Purpose, sent: &[u8; 64], mad: &Mad) {
        match purpose {
            Purpose::Peer(request) => self.on_peer_answer(now, request, mad),
            Purpose::Read(read) => {
                if let Mode::Observing(walk) = &mut self.mode {
                    walk.handle_answer(&mut self.subnet, read, mad);
                }
                self.learn_own_guid(now);
            }
            Purpose::Apply(request) => self.on_apply_answer(request, sent, mad),
        }
    }
}

impl Engine for SubnetManager {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = Event;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        match input {
            Input::Mad(mad) if self.is_from_outside(mad) => {}
            Input::Mad(mad) if Replication::is_ours(mad) => {
                let (own, master) = self.replication_parties();
                self.replication.handle_mad(now, own, master, mad);
            }
            // The window would count the datagrams of a transfer as stale.
            Input::Mad(mad) if self.sa.handle_transfer(now, mad) => self.on_messages(now),
            Input::Mad(mad) => {
                let header = mad.header();
                let id = header.transaction_id();
                let request = self.window.datagram(header.mgmt_class(), id);
                let sent = request.and_then(trap::smp_data).unwrap_or([0; 64]);
                match self.window.handle_mad(now, mad) {
                    MadMatch::Answer(answer) => self.on_answer(now, answer.context, &sent, mad),
                    MadMatch::Unsolicited => self.on_unsolicited(now, mad),
                    MadMatch::Pending | MadMatch::Stale => {}
                }
            }
            Input::SendFailed(mad) | Input::Returned(mad) if Replication::is_ours(mad) => {
                self.replication.handle_send_failed(now, mad);
            }
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
        self.replicate(now);
        self.on_failures(now);
        self.run_work_in_place(now);
        if let Mode::Settling(until) = self.mode
            && until <= now
        {
            self.write_next_stage_of_entries(now);
        }
        if self.polling.is_due(now) {
            self.poll(now);
        }
        if matches!(self.mode, Mode::Idle) {
            self.share_next_tables();
        }
        if matches!(self.mode, Mode::Idle) && self.next_sweep.is_some_and(|at| at <= now) {
            self.begin_timed_sweep(now);
        }
        self.run(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        if let Some(request) = self.window.poll_transmit(now) {
            return Some(request);
        }
        let answer = self.answers.pop_front();
        let answer = answer.or_else(|| self.poll_administrator(now));
        self.note_registrations(now);
        let answer = answer.or_else(|| self.replication.poll_transmit(now));
        if answer.is_some() {
            self.answers_sent = self.answers_sent.saturating_add(1);
        } else if matches!(self.mode, Mode::Idle) {
            // A change to a group that was granted while answering is written at once.
            self.run(now);
            return self.window.poll_transmit(now);
        }
        answer
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let of_mode = match &self.mode {
            Mode::Idle => {
                Instant::earliest([self.next_sweep, self.sharing.due(), self.groups_due()])
            }
            Mode::Planning(planning) => planning.due().filter(|_| !self.work.handed_out),
            Mode::Settling(until) => Some(*until),
            Mode::Observing(_) | Mode::Applying(_) => None,
        };
        let timers = [
            self.window.poll_timeout(),
            of_mode,
            self.polling.due(),
            self.sa.poll_timeout(),
            self.replication.poll_timeout(),
        ];
        Instant::earliest(timers)
    }

    fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front();
        if self.events.is_empty() && self.events.capacity() > KEPT_EVENTS {
            self.events = VecDeque::new();
        }
        event
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
        overflow: Some(Overflow {
            after: config.max_smps_timeout,
            max: config.max_wire_smps2.into(),
        }),
        per_destination: PER_DEVICE,
        first_transaction_id: config.first_transaction_id,
        ..WindowConfig::default()
    }
}

/// The stage after another one in a sweep; `None` after the last.
const fn next_stage(stage: Stage) -> Option<Stage> {
    Some(match stage {
        Stage::RaiseTops => Stage::Heal,
        Stage::Heal | Stage::Tables => Stage::Lanes,
        Stage::Lanes => Stage::Multicast,
        Stage::Multicast => Stage::Partitions,
        Stage::Partitions => Stage::Arm,
        Stage::Arm => Stage::Activate,
        Stage::Activate => Stage::LowerTops,
        Stage::Move => Stage::Tables,
        Stage::GroupLanes => Stage::Groups,
        Stage::Groups => Stage::GroupTops,
        Stage::LanesAhead
        | Stage::Detour
        | Stage::Addresses
        | Stage::LowerTops
        | Stage::GroupTops
        | Stage::AliasGuids
        | Stage::LaneTables => return None,
    })
}
