//! The performance manager: reads the counters of all ports at intervals and accumulates them.
//!
//! Counters of devices are narrow, stop at their highest value and can be cleared by any program. The manager therefore
//! keeps 64-bit totals of the growth between two readings, clears counters that have reached three quarters of their
//! range, and notices when another program has cleared them. It reports ports whose error counters grow and ports that
//! wait for credits. It sends only requests of performance management, so it works beside any subnet manager, whether
//! that is master or standby.

mod dump;
mod history;

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet, VecDeque},
    string::String,
    vec::Vec,
};
use core::{fmt, time::Duration};

use ib_mad::{Engine, InFlight, Input, Instant, Mad, MgmtClass, WindowConfig};
use ib_subnet::{PortAt, Subnet};

use self::history::Reading;
pub use self::history::{CounterSample, PortHistory};
use crate::{
    batch::Batch,
    collect::{Collector, CollectorConfig, CollectorEvent},
    counters::{CounterReadings, Thresholds, UnreadReason},
    snapshot::{Contents, Snapshot, SnapshotPort},
};

/// Configuration of a performance manager. The names in brackets are those of OpenSM's options.
#[derive(Clone, Debug)]
pub struct PerfManagerConfig {
    /// Time between the starts of two sweeps (`perfmgr_sweep_time_s`).
    pub sweep_interval: Duration,
    /// Reads only the ports of switches; the ports of CAs and routers are left out (`perfmgr_ignore_cas`).
    pub ignore_cas: bool,
    /// Forgets ports that have left the subnet. If `false`, their totals are kept (`perfmgr_rm_nodes`).
    pub remove_nodes: bool,
    /// Reports error counters that grow (`perfmgr_log_errors`).
    pub log_errors: bool,
    /// Largest growth of each error counter between two sweeps that is not reported; `None` reports any growth.
    pub thresholds: Option<Thresholds>,
    /// Reads the ClassPortInfo of each agent. If `false`, only PortCounters is read (`perfmgr_query_cpi`).
    pub class_port_info: bool,
    /// Ticks that a port may wait for credits between two sweeps without a report; `None` disables these reports
    /// (`perfmgr_xmit_wait_log`, `perfmgr_xmit_wait_threshold`).
    pub xmit_wait_threshold: Option<u64>,
    /// Number of readings that are kept for each port. One reading takes about 200 bytes.
    pub history: usize,
    /// Highest number of ports that are kept. Above it, ports that have left the subnet are forgotten.
    pub max_ports: usize,
    /// Time-outs, retries and requests in flight (`perfmgr_max_outstanding_queries`), and whether agents may redirect
    /// requests (`perfmgr_redir`).
    pub window: WindowConfig,
}

impl Default for PerfManagerConfig {
    /// OpenSM's defaults: a sweep every 180 s, at most 500 requests in flight, ports that have left the subnet are
    /// forgotten, growing error counters are reported, waiting for credits is not. The latest 16 readings of each port
    /// are kept.
    fn default() -> Self {
        Self {
            sweep_interval: Duration::from_secs(180),
            ignore_cas: false,
            remove_nodes: true,
            log_errors: true,
            thresholds: None,
            class_port_info: true,
            xmit_wait_threshold: None,
            history: 16,
            max_ports: 1 << 18,
            window: WindowConfig {
                in_flight: InFlight::Adaptive { min: 16, max: 500 },
                per_destination: 8,
                ..WindowConfig::default()
            },
        }
    }
}

/// An event that a performance manager reports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PerfManagerEvent {
    /// A sweep is due: the host calls [`PerfManager::begin`].
    SweepDue,
    /// A sweep has ended.
    SweepDone {
        /// Number of ports whose counters were read.
        ports: usize,
        /// Number of ports whose counters could not be read.
        unread: usize,
        /// Number of ports whose counters were cleared because they came close to their highest value.
        cleared: usize,
        /// Duration of the sweep.
        took: Duration,
    },
    /// Error counters of a port have grown.
    Errors {
        /// The port whose error counters have grown.
        port: PortAt,
        /// Name of the node.
        name: String,
        /// The counters by their names in the specification, each with its growth.
        counted: Vec<(&'static str, u64)>,
    },
    /// A port had packets to send but waited for credits.
    Congestion {
        /// The port that waited.
        port: PortAt,
        /// Name of the node.
        name: String,
        /// Time that the port waited since the last sweep, in ticks of its clock.
        waited: u64,
    },
    /// Another program has cleared counters of a port. Their growth between the last sweep and the clearing is lost.
    ClearedByOthers {
        /// The port whose counters were cleared.
        port: PortAt,
        /// Name of the node.
        name: String,
    },
    /// The counters of a port could not be read.
    Unread {
        /// The port whose counters could not be read.
        port: PortAt,
        /// Name of the node.
        name: String,
        /// The reason why they could not be read.
        reason: UnreadReason,
    },
}

impl PerfManagerEvent {
    /// The name of the event in logs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SweepDue => "counters_due",
            Self::SweepDone { .. } => "counters_read",
            Self::Errors { .. } => "errors_counted",
            Self::Congestion { .. } => "waiting_for_credits",
            Self::ClearedByOthers { .. } => "cleared_by_others",
            Self::Unread { .. } => "counters_unread",
        }
    }

    /// Returns true if the event reports a fault in the subnet; other events describe ordinary work.
    #[must_use]
    pub const fn is_warning(&self) -> bool {
        !matches!(self, Self::SweepDue | Self::SweepDone { .. })
    }
}

impl fmt::Display for PerfManagerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SweepDue => f.write_str("the counters are due to be read"),
            Self::SweepDone {
                ports,
                unread,
                cleared,
                took,
            } => write!(
                f,
                "counters of {ports} ports read in {:.3} s, {unread} not read, {cleared} cleared",
                took.as_secs_f64()
            ),
            Self::Errors {
                port,
                name,
                counted,
            } => {
                write!(f, "{port} \"{name}\": errors counted:")?;
                counted
                    .iter()
                    .try_for_each(|(counter, count)| write!(f, " {counter} +{count}"))
            }
            Self::Congestion { port, name, waited } => {
                write!(
                    f,
                    "{port} \"{name}\": waited {waited} ticks for credits of the other end"
                )
            }
            Self::ClearedByOthers { port, name } => {
                write!(f, "{port} \"{name}\": another program cleared counters")
            }
            Self::Unread { port, name, reason } => {
                write!(f, "{port} \"{name}\": counters not read: {}", reason.text())
            }
        }
    }
}

/// Reads the counters of all ports at intervals and keeps 64-bit totals.
///
/// An [`Engine`]: drive it beside the subnet manager on the same port. When it reports
/// [`SweepDue`](PerfManagerEvent::SweepDue), call [`begin`](Self::begin) with the subnet manager's current view of the
/// subnet. Without a subnet it walks the fabric itself. Between two sweeps it sends nothing.
#[derive(Debug)]
pub struct PerfManager {
    config: PerfManagerConfig,
    state: State,
    /// Time at which the next sweep is due.
    next: Instant,
    sweep_started: Instant,
    ports: BTreeMap<PortAt, PortHistory>,
    events: VecDeque<PerfManagerEvent>,
    /// Number of sweeps. It is added to the first transaction ID of each sweep, so that no late answer matches a
    /// request of the next sweep.
    sweeps: u32,
}

#[derive(Debug)]
enum State {
    /// The next sweep is not due yet.
    Waiting,
    /// The host was asked to begin a sweep.
    Due,
    /// The counters are being read, after a walk of the subnet if `walks` is set.
    Reading {
        collector: Box<Collector>,
        walks: bool,
    },
    /// Counters that came close to their highest value are being cleared.
    Clearing {
        batch: Box<Batch>,
        /// The port of each request.
        ports: Vec<PortAt>,
        read: usize,
        unread: usize,
    },
}

impl PerfManager {
    /// A performance manager whose first sweep is due at once.
    #[must_use]
    pub fn new(config: PerfManagerConfig, now: Instant) -> Self {
        Self {
            config,
            state: State::Waiting,
            next: now,
            sweep_started: now,
            ports: BTreeMap::new(),
            events: VecDeque::new(),
            sweeps: 0,
        }
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &PerfManagerConfig {
        &self.config
    }

    /// Changes the configuration. A sweep in progress ends with the old one.
    pub fn reconfigure(&mut self, now: Instant, config: PerfManagerConfig) {
        if config.sweep_interval != self.config.sweep_interval {
            self.next = now.saturating_add(config.sweep_interval);
        }
        self.config = config;
    }

    /// Makes the next sweep due at once. Nothing happens if a sweep is in progress.
    pub fn sweep_now(&mut self, now: Instant) {
        self.next = self.next.min(now);
    }

    /// Returns true if a sweep is due, so that the host may call [`begin`](Self::begin).
    #[must_use]
    pub const fn is_due(&self) -> bool {
        matches!(self.state, State::Due)
    }

    /// Begins a sweep over the ports of `subnet`, or over those that a walk from the own port finds. Nothing happens if
    /// a sweep is in progress.
    pub fn begin(&mut self, now: Instant, subnet: Option<&Subnet>) {
        if !matches!(self.state, State::Waiting | State::Due) {
            return;
        }
        self.sweep_started = now;
        self.next = now.saturating_add(self.config.sweep_interval);
        let config = CollectorConfig {
            contents: Contents::COUNTERS,
            counters_of_hosts: !self.config.ignore_cas,
            class_port_info: self.config.class_port_info,
            window: self.next_window(),
            ..CollectorConfig::default()
        };
        let collector = match subnet {
            Some(subnet) => Collector::of_subnet(config, subnet),
            None => Collector::new(config),
        };
        self.state = State::Reading {
            collector: Box::new(collector),
            walks: subnet.is_none(),
        };
    }

    /// Returns true if a datagram from the port may belong to this engine. Responses of performance management may;
    /// responses of subnet management may while the subnet is walked, and may then also belong to the subnet manager.
    #[must_use]
    pub fn expects(&self, mad: &Mad) -> bool {
        let header = mad.header();
        let walks = matches!(self.state, State::Reading { walks: true, .. });
        header.method().is_response()
            && match header.mgmt_class() {
                MgmtClass::PERF => true,
                MgmtClass::SUBN_DIRECTED => walks,
                _ => false,
            }
    }

    /// All ports with their totals, in the order of the GUIDs of their nodes.
    pub fn ports(&self) -> impl Iterator<Item = (PortAt, &PortHistory)> {
        self.ports.iter().map(|(at, port)| (*at, port))
    }

    /// The totals of one port; `None` if the port is not known.
    #[must_use]
    pub fn port(&self, at: PortAt) -> Option<&PortHistory> {
        self.ports.get(&at)
    }

    /// Sets all totals to 0 and forgets the readings. The counters of the devices do not change.
    pub fn clear_totals(&mut self, now: Instant) {
        for port in self.ports.values_mut() {
            port.clear(now);
        }
    }

    /// Forgets the totals of ports that were not in the subnet at the last sweep. Returns how many ports these were.
    pub fn forget_inactive(&mut self) -> usize {
        let before = self.ports.len();
        self.ports.retain(|_, port| port.is_active());
        before.saturating_sub(self.ports.len())
    }

    fn next_window(&mut self) -> WindowConfig {
        self.sweeps = self.sweeps.wrapping_add(1);
        let first = self.config.window.first_transaction_id;
        let low = first.low().wrapping_add(self.sweeps.wrapping_shl(22));
        WindowConfig {
            first_transaction_id: first.with_low(low),
            ..self.config.window
        }
    }

    /// Adds a reading of all ports to the totals, and clears counters that have reached three quarters of their range.
    fn on_read(&mut self, now: Instant, snapshot: &Snapshot) {
        let mut requests = Vec::new();
        let mut cleared = Vec::new();
        let mut seen = BTreeSet::new();
        let (mut read, mut unread) = (0usize, 0usize);
        for (at, node, port) in snapshot.ports() {
            let key = PortAt {
                node_guid: node.guid(),
                port_num: at.port,
            };
            if port.counters.is_empty() {
                if let Some(reason) = port.counters.unread {
                    seen.insert(key);
                    // A port without a LID is not in use.
                    if reason != UnreadReason::NoLid {
                        unread = unread.saturating_add(1);
                        let name = node.name();
                        self.events.push_back(PerfManagerEvent::Unread {
                            port: key,
                            name,
                            reason,
                        });
                    }
                }
                continue;
            }
            seen.insert(key);
            read = read.saturating_add(1);
            let history = self.ports.entry(key).or_default();
            let reading = history.add(now, port, node.name(), self.config.history);
            self.report(key, node.name(), &reading);
            let reset = snapshot.narrow_reset_request(at);
            if let Some(reset) = reset.filter(|_| is_nearly_full(port)) {
                requests.push(reset);
                cleared.push(key);
            }
        }
        self.forget_absent(&seen);
        self.state = State::Clearing {
            batch: Box::new(Batch::new(self.next_window(), requests)),
            ports: cleared,
            read,
            unread,
        };
    }

    /// Reports growing error counters, clearing by another program and waiting for credits.
    fn report(&mut self, port: PortAt, name: String, reading: &Reading) {
        if reading.was_cleared {
            self.events.push_back(PerfManagerEvent::ClearedByOthers {
                port,
                name: name.clone(),
            });
        }
        let limit = |counter: &str| match &self.config.thresholds {
            Some(thresholds) => thresholds.limit(counter).unwrap_or(u64::MAX),
            None => 0,
        };
        if self.config.log_errors {
            let errors = reading.counted.iter().copied();
            let counted: Vec<_> = errors
                .filter(|(counter, count)| {
                    CounterReadings::counts_errors(counter) && *count > limit(counter)
                })
                .collect();
            if !counted.is_empty() {
                self.events.push_back(PerfManagerEvent::Errors {
                    port,
                    name: name.clone(),
                    counted,
                });
            }
        }
        let waited = reading
            .counted
            .iter()
            .find(|(counter, _)| *counter == "port_xmit_wait");
        if let (Some(threshold), Some(&(_, waited))) = (self.config.xmit_wait_threshold, waited)
            && waited > threshold
        {
            self.events
                .push_back(PerfManagerEvent::Congestion { port, name, waited });
        }
    }

    /// Marks ports that a sweep did not find as gone, or forgets them.
    fn forget_absent(&mut self, seen: &BTreeSet<PortAt>) {
        let is_crowded = self.ports.len() > self.config.max_ports;
        if self.config.remove_nodes || is_crowded {
            self.ports.retain(|at, _| seen.contains(at));
        } else {
            for (at, port) in &mut self.ports {
                port.set_active(seen.contains(at));
            }
        }
    }

    /// Starts the next phase when the collector or the batch has ended.
    fn advance(&mut self, now: Instant) {
        loop {
            match &mut self.state {
                State::Waiting | State::Due => return,
                State::Reading { collector, .. } => {
                    while let Some(event) = collector.poll_event() {
                        // The code below checks whether the collector is done.
                        let _: CollectorEvent = event;
                    }
                    if !collector.is_done() {
                        return;
                    }
                    if let State::Reading { collector, .. } =
                        core::mem::replace(&mut self.state, State::Waiting)
                    {
                        self.on_read(now, &collector.finish());
                    }
                }
                State::Clearing { batch, .. } => {
                    if batch.poll_event().is_none() {
                        return;
                    }
                    self.on_cleared(now);
                }
            }
        }
    }

    /// Records the counters whose agents confirmed that they were cleared.
    fn on_cleared(&mut self, now: Instant) {
        let State::Clearing {
            batch,
            ports,
            read,
            unread,
        } = core::mem::replace(&mut self.state, State::Waiting)
        else {
            return;
        };
        let mut cleared = BTreeSet::new();
        for (port, outcome) in ports.into_iter().zip(batch.finish()) {
            let is_cleared = outcome.is_ok_and(|mad| mad.header().status().is_ok());
            if let Some(history) = self.ports.get_mut(&port).filter(|_| is_cleared) {
                history.was_cleared(now);
                cleared.insert(port);
            }
        }
        self.events.push_back(PerfManagerEvent::SweepDone {
            ports: read,
            unread,
            cleared: cleared.len(),
            took: now.since(self.sweep_started),
        });
    }
}

/// Returns true if a counter of the port has reached three quarters of its range.
fn is_nearly_full(port: &SnapshotPort) -> bool {
    let values = port.counters.values(port.perf_class_port_info.as_ref());
    values.iter().any(|(_, counter)| counter.is_nearly_full())
}

impl Engine for PerfManager {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = PerfManagerEvent;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        match &mut self.state {
            State::Waiting | State::Due => {}
            State::Reading { collector, .. } => collector.handle_input(now, input),
            State::Clearing { batch, .. } => batch.handle_input(now, input),
        }
        self.advance(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        match &mut self.state {
            State::Waiting if now >= self.next => {
                self.state = State::Due;
                self.events.push_back(PerfManagerEvent::SweepDue);
            }
            State::Waiting | State::Due => {}
            State::Reading { collector, .. } => collector.handle_timeout(now),
            State::Clearing { batch, .. } => batch.handle_timeout(now),
        }
        self.advance(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        loop {
            let mad = match &mut self.state {
                State::Waiting | State::Due => return None,
                State::Reading { collector, .. } => collector.poll_transmit(now),
                State::Clearing { batch, .. } => batch.poll_transmit(now),
            };
            if mad.is_some() {
                return mad;
            }
            let before = core::mem::discriminant(&self.state);
            self.advance(now);
            if core::mem::discriminant(&self.state) == before {
                return None;
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timer = match &self.state {
            State::Waiting => return Some(self.next),
            State::Due => return None,
            State::Reading { collector, .. } => collector.poll_timeout(),
            State::Clearing { batch, .. } => batch.poll_timeout(),
        };
        // Without a request in flight the engine is due at once: it has something to send, or the end to detect.
        timer.or(Some(self.sweep_started))
    }

    fn poll_event(&mut self) -> Option<PerfManagerEvent> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests;
