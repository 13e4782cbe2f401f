//! The collector: reads a subnet into a [`Snapshot`].
//!
//! It sends only Gets, so it may run beside any subnet manager and without one. Subnet management uses directed routes.
//! Performance management needs LIDs, so the counters of a port without a LID are listed as missing. Many requests are
//! in flight, several to each agent. An agent that leaves a request unanswered gets no further ones, so silent devices
//! together cost the time-outs of only one request: early repetitions and one whole time-out.

mod agents;
mod plan;

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};

use ib_mad::{
    Call, CallError, ClassPortInfo, EarlyRepeat, Engine, InFlight, Input, Instant, Mad, MadAddress,
    Method, MgmtClass, PortCounters, PortCountersExtended, RequestOptions, TransactionWindow,
    WindowConfig, WindowCounters,
};
use ib_routing::{NodeIdx, PortRef, index::IdxVec};
use ib_smp::{
    LinearForwardingTable, MulticastForwardingTable, NodeInfo, PartitionKeyTable, PortInfo,
    SlToVlMappingTable, SmInfo, SmpDirected, VlArbitrationTable,
};
use ib_subnet::{Discovery, DiscoveryConfig, DiscoveryEvent, Subnet, WalkOptions};
use ib_wire::{Guid, MKey, PortNum, Sl};

use self::{
    agents::{Agent, AgentIdx, Agents},
    plan::{Get, What},
};
use crate::{
    counters::{CounterReadings, UnreadReason},
    snapshot::{Contents, DuplicateGuid, SilentDevice, Snapshot, SnapshotNode, SnapshotPort},
};

/// The parts of a subnet to read, and the limits of reading.
#[derive(Clone, Debug)]
pub struct CollectorConfig {
    /// Attributes to read in addition to nodes, ports and cables.
    pub contents: Contents,
    /// The SLtoVL tables to read of switches, if `contents` has [`Contents::QOS`].
    pub lanes: LaneTables,
    /// The M_Key that is sent with every request. It must match the key of protected ports for them to be read.
    pub m_key: MKey,
    /// The largest distance in hops at which nodes are read; `None` reads as far as directed routes reach.
    pub max_hops: Option<u8>,
    /// Leaves out PortInfo of a switch port whose cable has become known from the other end before. The port then has no
    /// PortInfo in the snapshot. Default `false`.
    pub one_end: bool,
    /// The ports whose counters are read, if `contents` has [`Contents::COUNTERS`].
    pub counters: CounterScope,
    /// Reads the counters of CAs and routers too. If `false`, only those of switches are read.
    pub counters_of_hosts: bool,
    /// Reads the ClassPortInfo of each agent for performance management. If `false`, only PortCounters is read.
    pub class_port_info: bool,
    /// Time-outs, retries, requests in flight, first transaction ID. `per_destination` limits the requests in flight to
    /// one agent.
    pub window: WindowConfig,
}

impl Default for CollectorConfig {
    fn default() -> Self {
        Self {
            contents: Contents::all(),
            lanes: LaneTables::All,
            m_key: MKey(0),
            max_hops: None,
            one_end: false,
            counters: CounterScope::All,
            counters_of_hosts: true,
            class_port_info: true,
            window: WindowConfig {
                in_flight: InFlight::Adaptive { min: 16, max: 256 },
                early_repeat: Some(EarlyRepeat::READING),
                per_destination: 8,
                ..WindowConfig::default()
            },
        }
    }
}

/// The SLtoVL tables of switches to read: a switch has one for each pair of an input and an output port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneTables {
    /// Those of all pairs of ports with a cable.
    All,
    /// Those of the pairs that packets pass by the forwarding tables, which are read before. Without
    /// [`Contents::FORWARDING`] the same as `All`.
    Routed,
}

/// The ports whose counters are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterScope {
    /// All ports.
    All,
    /// The ports of devices that have counted an error; those of other devices have no counters in the snapshot. One
    /// request tells it of a CA, and of a switch that can select all its ports at once.
    Errors,
}

/// An event of a collector while it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CollectorEvent {
    /// The walk found a node.
    NodeFound {
        /// GUID of the node.
        node_guid: Guid,
    },
    /// The number of requests that have ended, and the number known so far; both grow.
    Progress {
        /// Number of requests that have ended.
        done: usize,
        /// Number of requests known so far.
        of: usize,
    },
    /// The snapshot is complete.
    Done,
}

/// Reads a subnet into a [`Snapshot`].
///
/// Drive it until [`CollectorEvent::Done`], then take the snapshot with [`finish`](Self::finish).
#[derive(Debug)]
pub struct Collector {
    config: CollectorConfig,
    phase: Phase,
    ahead: Ahead,
    window: TransactionWindow<(AgentIdx, Get)>,
    agents: Agents,
    /// The agents of the switches whose SLtoVL tables are read once the forwarding tables are known.
    lanes_later: BTreeMap<NodeIdx, AgentIdx>,
    /// True if NodeInfo is read from the devices that the walk could not place.
    asks_unknown: bool,
    /// The ports whose counters are read; `None` reads those of all ports.
    counted_ports: Option<BTreeSet<PortRef>>,
    /// Ports whose agent for performance management has been added.
    counted: BTreeSet<PortRef>,
    snapshot: Snapshot,
    /// Counts of the datagrams of the walk.
    walked: WindowCounters,
    done: usize,
    /// Number of requests that had ended at the last progress report.
    reported: usize,
    events: VecDeque<CollectorEvent>,
}

/// Reading ahead: from the devices that a walk has found, while it waits for others. It begins at most once in a walk.
#[derive(Debug)]
enum Ahead {
    /// Reading ahead has not begun. The value is the time of the walk's last answer; `None` before the first one.
    Waiting(Option<Instant>),
    /// Reading ahead is under way. The value is the nodes that the walk had found when it began.
    Reading(IdxVec<NodeIdx, SnapshotNode>),
    /// Reading ahead has ended, and does not begin again in this walk.
    Over,
}

#[derive(Debug)]
enum Phase {
    Walking(Box<Discovery>),
    Reading,
    Done,
}

impl Collector {
    /// A collector that begins with the local node.
    #[must_use]
    pub fn new(config: CollectorConfig) -> Self {
        let discovery = Discovery::new(DiscoveryConfig {
            walk: WalkOptions {
                m_key: config.m_key,
                max_hops: config.max_hops,
                one_end: config.one_end,
                ..DiscoveryConfig::default().walk
            },
            window: config.window,
        });
        Self {
            ahead: Ahead::Waiting(None),
            agents: Agents::new(config.window.per_destination.max(1)),
            lanes_later: BTreeMap::new(),
            asks_unknown: true,
            counted_ports: None,
            counted: BTreeSet::new(),
            phase: Phase::Walking(Box::new(discovery)),
            window: window_after(&config, 1),
            snapshot: Snapshot {
                contents: config.contents,
                ..Snapshot::default()
            },
            config,
            walked: WindowCounters::default(),
            done: 0,
            reported: 0,
            events: VecDeque::new(),
        }
    }

    /// A collector for a subnet that is already known. Nothing is walked: only the attributes that the configuration
    /// names are read.
    #[must_use]
    pub fn of_subnet(config: CollectorConfig, subnet: &Subnet) -> Self {
        let mut collector = Self::new(config);
        collector.phase = Phase::Reading;
        collector.asks_unknown = false;
        collector.read(subnet);
        collector
    }

    /// A collector for counters alone: those of these ports of a snapshot, or of all its ports if `ports` is `None`.
    /// Nothing is walked, and what the snapshot has of agents for performance management is not asked for again. The
    /// result is the snapshot with only the counters that were read here.
    #[must_use]
    pub fn of_counters(
        config: CollectorConfig,
        mut snapshot: Snapshot,
        ports: Option<BTreeSet<PortRef>>,
    ) -> Self {
        let mut collector = Self::new(CollectorConfig {
            contents: Contents::COUNTERS,
            ..config
        });
        let all: Vec<PortRef> = snapshot.ports().map(|(at, _, _)| at).collect();
        for &at in &all {
            if let Some(port) = snapshot.port_mut(at) {
                port.counters = CounterReadings::default();
            }
        }
        snapshot.contents |= Contents::COUNTERS;
        collector.snapshot = snapshot;
        collector.phase = Phase::Reading;
        collector.asks_unknown = false;
        collector.counted_ports = ports;
        for at in all {
            collector.add_agents_at(at);
        }
        collector
    }

    /// Returns true if every request has been answered or given up.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    /// Number of datagrams sent so far, retries included.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.walked.sent.saturating_add(self.window.counters().sent)
    }

    /// The snapshot with everything read so far. The caller sets its time and tools.
    #[must_use]
    pub fn finish(self) -> Snapshot {
        self.snapshot
    }

    fn on_walk_event(&mut self, event: &DiscoveryEvent) -> bool {
        match *event {
            DiscoveryEvent::NodeFound { node_guid, .. } => {
                self.events
                    .push_back(CollectorEvent::NodeFound { node_guid });
            }
            DiscoveryEvent::GuidChanged { path, before, now } => {
                self.snapshot.duplicates.push(DuplicateGuid {
                    node_guid: now,
                    path,
                    behind: None,
                    before: Some(before),
                });
            }
            DiscoveryEvent::Done => return true,
            _ => {}
        }
        false
    }

    /// Ends the walk: copies the nodes to the snapshot and plans the requests to them.
    fn begin_reading(&mut self) {
        let phase = core::mem::replace(&mut self.phase, Phase::Reading);
        let Phase::Walking(discovery) = phase else {
            self.phase = phase;
            return;
        };
        let found = discovery.finish();
        self.walked = found.counters;
        let silent = found.silent.iter().map(|silent| SilentDevice {
            path: silent.path,
            node_guid: silent.node_guid,
        });
        if let Ahead::Reading(before) = core::mem::replace(&mut self.ahead, Ahead::Over) {
            let mut now = Snapshot::default();
            plan::lay_out(&mut now, &found.subnet);
            if now.nodes == before {
                self.end_reading_ahead(silent.collect());
                return;
            }
            self.discard();
        }
        self.snapshot.silent = silent.collect();
        self.read(&found.subnet);
    }

    /// Begins to read ahead at a time-out of the walk if all of its requests in flight have been repeated without an answer.
    fn on_walk_timeout(&mut self, now: Instant) {
        let Ahead::Waiting(Some(last_answer)) = self.ahead else {
            return;
        };
        let config = &self.config.window;
        let repeat = config
            .early_repeat
            .map_or(config.timeout, |early| early.min);
        if now.since(last_answer) < repeat.saturating_mul(2) {
            return;
        }
        let phase = core::mem::replace(&mut self.phase, Phase::Done);
        if let Phase::Walking(discovery) = &phase {
            let mut before = Snapshot::default();
            plan::lay_out(&mut before, discovery.subnet());
            self.ahead = Ahead::Reading(before.nodes);
            // A device at which the walk waits is not asked by the routes over other switches.
            let asks_unknown = core::mem::replace(&mut self.asks_unknown, false);
            self.read(discovery.subnet());
            self.asks_unknown = asks_unknown;
        }
        self.phase = phase;
    }

    /// Goes on with what was read ahead, because the walk has found no other device in the meantime.
    fn end_reading_ahead(&mut self, silent: Vec<SilentDevice>) {
        let later = core::mem::replace(&mut self.snapshot.silent, silent);
        for device in later {
            let is_known = |known: &SilentDevice| known.node_guid == device.node_guid;
            if !self.snapshot.silent.iter().any(is_known) {
                self.snapshot.silent.push(device);
            }
        }
        let ports: Vec<PortRef> = self.snapshot.ports().map(|(at, _, _)| at).collect();
        for port in ports {
            self.add_agents_at(port);
        }
    }

    /// Forgets what was read ahead, because the walk has found more since.
    fn discard(&mut self) {
        let sent = self.window.counters();
        self.walked.sent = self.walked.sent.saturating_add(sent.sent);
        self.window = window_after(&self.config, 2);
        self.agents = Agents::new(self.config.window.per_destination.max(1));
        self.lanes_later.clear();
        self.counted.clear();
        let duplicates = core::mem::take(&mut self.snapshot.duplicates);
        self.snapshot = Snapshot {
            contents: self.config.contents,
            duplicates,
            ..Snapshot::default()
        };
        (self.done, self.reported) = (0, 0);
    }

    /// Copies the nodes of a subnet to the snapshot and plans the requests to them.
    fn read(&mut self, subnet: &Subnet) {
        plan::lay_out(&mut self.snapshot, subnet);
        let contents = self.config.contents;
        let both = Contents::FORWARDING | Contents::QOS;
        let are_later = self.config.lanes == LaneTables::Routed && contents.contains(both);
        let lanes = match are_later {
            true => LaneTables::Routed,
            false => LaneTables::All,
        };
        for (agent, gets) in plan::gets_after_walk(&self.snapshot, subnet, contents, lanes) {
            let index = self.agents.add(agent, gets);
            if let (Agent::Smi(at, _), true) = (agent, are_later) {
                self.lanes_later.insert(at.node, index);
            }
        }
        let ports: Vec<PortRef> = self.snapshot.ports().map(|(at, _, _)| at).collect();
        for port in ports {
            self.add_agents_at(port);
        }
    }

    /// Sends as many requests as the agents and the window have room for, and detects the end.
    fn run(&mut self) {
        while let Some(failure) = self.window.poll_failure() {
            let (agent, get) = failure.context;
            self.on_failure(agent, get);
        }
        // A request that waits here instead of in the window takes a tenth of the memory.
        let room = usize::try_from(self.window.limit()).unwrap_or(usize::MAX);
        while self.window.len() < room {
            let Some((agent, get)) = self.agents.next() else {
                break;
            };
            let Some(mad) = self.request(agent, &get) else {
                self.end(agent);
                continue;
            };
            let options = RequestOptions {
                destination: Some(agent.as_key()),
                ..RequestOptions::default()
            };
            if self
                .window
                .request_with(&mad, options, (agent, get))
                .is_err()
            {
                self.agents.put_back(agent, get);
                break;
            }
        }
        let is_over = self.agents.is_empty() && self.window.is_empty();
        if is_over && !self.lanes_later.is_empty() {
            self.read_lanes();
            return self.run();
        }
        if is_over && matches!(self.phase, Phase::Reading) {
            self.phase = Phase::Done;
            self.events.push_back(CollectorEvent::Done);
        } else if self.done.saturating_sub(self.reported) >= 256 {
            self.reported = self.done;
            self.events.push_back(CollectorEvent::Progress {
                done: self.done,
                of: self.agents.known(),
            });
        }
    }

    /// Requests the SLtoVL tables of the pairs of ports that packets pass by the tables that were read.
    fn read_lanes(&mut self) {
        let agents = core::mem::take(&mut self.lanes_later);
        for (node, gets) in plan::lanes_of_routes(&self.snapshot) {
            if let Some(&agent) = agents.get(&node) {
                self.agents.extend(agent, gets);
            }
        }
    }

    /// Records that a request to an agent has ended.
    fn end(&mut self, agent: AgentIdx) {
        self.done = self.done.saturating_add(1);
        self.agents.ended(agent);
    }

    fn on_failure(&mut self, agent: AgentIdx, get: Get) {
        self.end(agent);
        // A subnet manager may hang although the agents of its device respond, so the device does not count as silent.
        if matches!(get.what, What::Behind | What::SmInfo) || self.agents.give_up(agent) {
            return;
        }
        if get.what.is_perf() {
            self.mark_unread(self.agents.port(agent), UnreadReason::NoAnswer);
        } else if let Some(node) = self.snapshot.node(get.port.node) {
            let silent = SilentDevice {
                path: node.path,
                node_guid: Some(node.guid()),
            };
            let is_known = |known: &SilentDevice| known.node_guid == silent.node_guid;
            if !self.snapshot.silent.iter().any(is_known) {
                self.snapshot.silent.push(silent);
            }
        }
    }

    /// Returns true if the counters of a port are read.
    fn counts(&self, port: PortRef) -> bool {
        let ports = self.counted_ports.as_ref();
        ports.is_none_or(|ports| ports.contains(&port))
    }

    /// Marks the counters of the agent at a port as missing.
    fn mark_unread(&mut self, at: PortRef, reason: UnreadReason) {
        for port in plan::ports_of(&self.snapshot, at) {
            if !self.counts(port) {
                continue;
            }
            if let Some(port) = self.snapshot.port_mut(port) {
                port.counters.unread.get_or_insert(reason);
            }
        }
    }

    /// The datagram of a request; `None` if the request cannot be addressed.
    fn request(&mut self, agent: AgentIdx, get: &Get) -> Option<Mad> {
        let node = self.snapshot.node(get.port.node)?;
        if get.what.is_perf() {
            let managing = node.managing_port(get.port.port);
            let lid = node.port(managing)?.lid();
            let address = MadAddress::gsi(lid, Sl::ZERO);
            return Some(perf_request(get, address));
        }
        let path = self.agents.path(agent)?;
        let (attribute, modifier) = get.what.attribute(get.port.port, node.is_switch());
        let mut smp = SmpDirected::new(Method::GET, attribute, modifier, &path);
        smp.set_m_key(self.config.m_key);
        Some(Mad {
            address: MadAddress::DIRECTED,
            bytes: *smp.as_bytes(),
        })
    }

    fn on_answer(&mut self, agent: AgentIdx, get: Get, mad: &Mad) {
        self.end(agent);
        if get.what.is_perf() {
            let mut follow_ups = self.on_perf(get, mad);
            follow_ups.retain(|get| self.is_wanted(get));
            self.agents.extend(agent, follow_ups);
        } else {
            self.on_smp(agent, get, mad);
        }
    }

    fn on_perf(&mut self, get: Get, mad: &Mad) -> Vec<Get> {
        let result = match get.what {
            What::PerfClassPortInfo => {
                let info = Call::<ClassPortInfo>::get(MgmtClass::PERF, 0).answer(mad);
                info.map(|info| {
                    for port in plan::ports_of(&self.snapshot, get.port) {
                        if let Some(port) = self.snapshot.port_mut(port) {
                            port.perf_class_port_info = Some(*info);
                        }
                    }
                    plan::first_counter_gets(&self.snapshot, get.port, info, self.config.counters)
                })
            }
            What::ErrorSum => {
                let answer = Call::<PortCounters>::get(MgmtClass::PERF, 0).answer(mad);
                answer.map(|counters| plan::gets_after_sum(&self.snapshot, get.port, counters))
            }
            What::PortCounters => {
                let answer = Call::<PortCounters>::get(MgmtClass::PERF, 0).answer(mad);
                answer.map(|counters| {
                    if let Some(port) = self.snapshot.port_mut(get.port) {
                        port.counters.classic = Some(*counters);
                    }
                    Vec::new()
                })
            }
            What::PortCountersExtended => {
                let answer = Call::<PortCountersExtended>::get(MgmtClass::PERF, 0).answer(mad);
                answer.map(|counters| {
                    if let Some(port) = self.snapshot.port_mut(get.port) {
                        port.counters.extended = Some(*counters);
                    }
                    Vec::new()
                })
            }
            _ => return Vec::new(),
        };
        match result {
            Ok(follow_ups) => follow_ups,
            // Agents that predate ClassPortInfo still have counters.
            Err(CallError::Refused { .. }) if get.what == What::PerfClassPortInfo => {
                plan::counter_gets(&self.snapshot, get.port, &ClassPortInfo::default())
            }
            Err(_) if matches!(get.what, What::PerfClassPortInfo | What::ErrorSum) => {
                self.mark_unread(get.port, UnreadReason::Refused);
                Vec::new()
            }
            Err(_) => {
                if let Some(port) = self.snapshot.port_mut(get.port) {
                    port.counters.unread = Some(UnreadReason::Refused);
                }
                Vec::new()
            }
        }
    }

    /// Returns true if a request is one for an agent, or one for the counters of a port that are to be read.
    fn is_wanted(&self, get: &Get) -> bool {
        let is_of_port = matches!(get.what, What::PortCounters | What::PortCountersExtended);
        !is_of_port || self.counts(get.port)
    }

    fn on_smp(&mut self, agent: AgentIdx, get: Get, mad: &Mad) {
        let Ok((smp, _)) = SmpDirected::parse(&mad.bytes, 0) else {
            return;
        };
        // A device that answers with an attribute that was not requested violates the protocol.
        let (asked, _) = get.what.attribute(get.port.port, false);
        if smp.status().is_ok() && smp.attribute_id() == asked {
            self.store(agent, get, smp.smp_data());
        }
    }

    /// Adds the agents that PortInfo of a port reveals: performance management at the port's LID, and the device at the
    /// other end of the cable that the walk could not place.
    fn add_agents_at(&mut self, at: PortRef) {
        let Some(node) = self.snapshot.node(at.node) else {
            return;
        };
        let unknown = plan::unknown_behind(&self.snapshot, at).filter(|_| self.asks_unknown);
        if let Some(path) = unknown {
            let what = What::Behind;
            self.agents
                .add(Agent::Smi(at, path), Vec::from([Get { port: at, what }]));
        }
        let is_end_port = node.managing_port(at.port) == at.port;
        let is_switch = node.is_switch();
        let port = node.port(at.port);
        let is_new = port.is_some_and(|port| port.counters.unread.is_none());
        let is_wanted = self.config.contents.contains(Contents::COUNTERS)
            && (is_switch || self.config.counters_of_hosts)
            && is_end_port
            && plan::ports_of(&self.snapshot, at).any(|port| self.counts(port));
        if !is_new || !is_wanted {
            return;
        }
        let has_lid = port.is_some_and(|port| port.lid().is_unicast());
        if has_lid && (is_switch || port.is_some_and(SnapshotPort::is_link_up)) {
            if self.counted.insert(at) {
                let first = |what| Vec::from([Get { port: at, what }]);
                let known = plan::known_class_port_info(&self.snapshot, at);
                let mut gets = match (known, self.config.class_port_info) {
                    _ if self.config.counters == CounterScope::Errors && !is_switch => {
                        first(What::ErrorSum)
                    }
                    (Some(info), _) => {
                        plan::first_counter_gets(&self.snapshot, at, &info, self.config.counters)
                    }
                    (None, true) => first(What::PerfClassPortInfo),
                    (None, false) => {
                        plan::counter_gets(&self.snapshot, at, &ClassPortInfo::default())
                    }
                };
                gets.retain(|get| self.is_wanted(get));
                self.agents.add(Agent::Perf(at), gets);
            }
        } else {
            self.mark_unread(at, UnreadReason::NoLid);
        }
    }

    /// Stores an attribute in the snapshot.
    fn store(&mut self, agent: AgentIdx, get: Get, data: &[u8; 64]) {
        /// The structure at the start of the data; every structure fits into 64 bytes.
        macro_rules! structure {
            ($type:ident) => {
                match $type::parse(data, 0) {
                    Ok((structure, _)) => *structure,
                    Err(_) => return,
                }
            };
        }
        if let What::Behind = get.what {
            let info = structure!(NodeInfo);
            // Beyond the last hop of a limited walk there are devices that are unknown but not duplicates.
            let is_known = self.snapshot.node_by_guid(info.node_guid()).is_some();
            if let Some(path) = self.agents.path(agent).filter(|_| is_known) {
                self.snapshot.duplicates.push(DuplicateGuid {
                    node_guid: info.node_guid(),
                    path,
                    behind: Some(get.port),
                    before: None,
                });
            }
            return;
        }
        let Some(node) = self.snapshot.nodes.find_mut(get.port.node) else {
            return;
        };
        match get.what {
            What::Lft(block) => {
                node.lft.insert(block, structure!(LinearForwardingTable));
            }
            What::Mft(modifier) => {
                node.mft
                    .insert(modifier, structure!(MulticastForwardingTable));
            }
            What::SlToVl { input } => {
                let table = structure!(SlToVlMappingTable);
                node.sl_to_vl.insert((input, get.port.port), table);
            }
            What::PortInfo { .. } | What::PKeys(_) | What::VlArbitration(_) | What::SmInfo => {
                let Some(port) = node.ports.get_mut(usize::from(get.port.port.0)) else {
                    return;
                };
                match get.what {
                    What::PortInfo { .. } => {
                        let mut info = structure!(PortInfo);
                        // The bit reads back as it was last written, so it is not a state of the port.
                        info.set_client_reregister(false);
                        plan::leave_out_key(&mut info);
                        port.info = Some(info);
                    }
                    What::PKeys(block) => {
                        port.p_keys.insert(block, structure!(PartitionKeyTable));
                    }
                    What::VlArbitration(half) => {
                        port.vl_arbitration
                            .insert(half, structure!(VlArbitrationTable));
                    }
                    _ => {
                        let mut info = structure!(SmInfo);
                        info.set_sm_key(ib_mad::SmKey(0));
                        port.sm_info = Some(info);
                    }
                }
            }
            What::Behind
            | What::PerfClassPortInfo
            | What::ErrorSum
            | What::PortCounters
            | What::PortCountersExtended => {}
        }
    }
}

/// The window of the requests that follow `walks` walks or readings. A late answer to one of them must not match a request of
/// this one.
fn window_after(config: &CollectorConfig, walks: u32) -> TransactionWindow<(AgentIdx, Get)> {
    let first = config.window.first_transaction_id;
    let distance = walks.wrapping_mul(1 << 30);
    TransactionWindow::new(WindowConfig {
        first_transaction_id: first.with_low(first.low().wrapping_add(distance)),
        ..config.window
    })
}

/// A Get of performance management.
fn perf_request(get: &Get, address: MadAddress) -> Mad {
    match get.what {
        What::PortCounters => {
            let mut select = PortCounters::default();
            select.set_port_select(get.port.port.0);
            Call::<PortCounters>::get(MgmtClass::PERF, 0).request_with(address, &select)
        }
        What::ErrorSum => {
            let mut select = PortCounters::default();
            select.set_port_select(match get.port.port {
                // A switch is asked at port 0.
                PortNum::MANAGEMENT => plan::ALL_PORTS,
                port => port.0,
            });
            Call::<PortCounters>::get(MgmtClass::PERF, 0).request_with(address, &select)
        }
        What::PortCountersExtended => {
            let mut select = PortCountersExtended::default();
            select.set_port_select(get.port.port.0);
            Call::<PortCountersExtended>::get(MgmtClass::PERF, 0).request_with(address, &select)
        }
        _ => Call::<ClassPortInfo>::get(MgmtClass::PERF, 0).request(address),
    }
}

impl Engine for Collector {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = CollectorEvent;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        if let Phase::Walking(discovery) = &mut self.phase {
            discovery.handle_input(now, input);
            match &mut self.ahead {
                Ahead::Waiting(last_answer) => {
                    if matches!(input, Input::Mad(_)) {
                        *last_answer = Some(now);
                    }
                    return;
                }
                Ahead::Over => return,
                Ahead::Reading(_) => {}
            }
        }
        if let Some(((agent, get), mad)) = self.window.handle_answer(now, input) {
            self.on_answer(agent, get, mad);
        }
        self.run();
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Phase::Walking(discovery) = &mut self.phase {
            discovery.handle_timeout(now);
            self.on_walk_timeout(now);
            if !matches!(self.ahead, Ahead::Reading(_)) {
                return;
            }
        }
        self.window.handle_timeout(now);
        self.run();
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        if let Phase::Walking(discovery) = &mut self.phase {
            if let Some(mad) = discovery.poll_transmit(now) {
                return Some(mad);
            }
            let mut is_done = false;
            let mut events = Vec::new();
            while let Some(event) = discovery.poll_event() {
                events.push(event);
            }
            for event in events {
                is_done |= self.on_walk_event(&event);
            }
            if is_done {
                self.begin_reading();
            } else if !matches!(self.ahead, Ahead::Reading(_)) {
                return None;
            }
        }
        self.run();
        self.window.poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Walking(discovery) => {
                let is_ahead = matches!(self.ahead, Ahead::Reading(_));
                let reading = self.window.poll_timeout().filter(|_| is_ahead);
                [discovery.poll_timeout(), reading]
                    .into_iter()
                    .flatten()
                    .min()
            }
            Phase::Reading => self.window.poll_timeout(),
            Phase::Done => None,
        }
    }

    fn poll_event(&mut self) -> Option<CollectorEvent> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests;
