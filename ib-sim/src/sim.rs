//! The simulated fabric as a state machine: time and packets in, packets and events out.

use std::collections::VecDeque;

use ib_mad::{Engine, Instant, Mad, MadAddress, MgmtClass};
use ib_routing::index::IdxVec;
use ib_routing::{Fabric, NodeIdx, PortRef};
use ib_smp::{PortInfo, SmaPort, SmpDirected};
use ib_wire::{Guid, Lid, PKey, PortNum, Qpn, Vl};

use crate::event::{Delivery, DropReason, Notification, SimError, SimStats};
use crate::fault::{Behaviour, FaultRates, FaultSource};
use crate::frame::{Frame, FrameIdx, FrameStore};
use crate::initial_state;
use crate::lft_pool::LftPool;
use crate::node::{PortEntry, PortIdx, SimNode, SimPort, has_lid};
use crate::options::SimOptions;
use crate::queue::EventQueue;
use crate::smp_watch::SmpWatch;
use crate::trace::Traces;

/// An event in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A packet arrives at this port from its link.
    Arrive { frame: FrameIdx, port: PortIdx },
    /// An agent answers the request that arrived at this port.
    Answer { frame: FrameIdx, port: PortIdx },
    /// The training of this port's link ends.
    Trained { port: PortIdx, training: u32 },
    /// A trap of a node is due, for the first time or again.
    Traps { node: NodeIdx },
    /// A node's sampling of counters starts or ends.
    Sample { node: NodeIdx, sampling: u32 },
}

/// A datagram that a host sends.
#[derive(Clone, Copy, Debug)]
pub struct SimInput<'a> {
    /// The port that sends.
    pub port: PortRef,
    /// The datagram, with its destination's address.
    pub mad: &'a Mad,
}

/// A fabric in software. Every node has its agents, every switch forwards by its own tables.
///
/// It is a state machine in virtual time: nothing happens between calls. [`share`](Self::share) it to
/// attach transports and a clock.
#[derive(Debug)]
pub struct Sim {
    pub(crate) options: SimOptions,
    pub(crate) now: Instant,
    pub(crate) nodes: IdxVec<NodeIdx, SimNode>,
    pub(crate) ports: IdxVec<PortIdx, PortEntry>,
    pub(crate) lft_pool: LftPool,
    pub(crate) frames: FrameStore,
    pub(crate) queue: EventQueue<Event>,
    pub(crate) outbox: VecDeque<(PortIdx, FrameIdx)>,
    pub(crate) events: VecDeque<Notification>,
    pub(crate) faults: FaultSource,
    /// True if any fault can happen: most fabrics have none, and a hop then draws nothing.
    pub(crate) faulty: bool,
    pub(crate) stats: SimStats,
    pub(crate) max_hops: u16,
    pub(crate) traces: Traces,
    /// Counts of subnet management packets; none before they are asked for.
    pub(crate) smp_watch: Option<Box<SmpWatch>>,
}

impl Sim {
    /// A fabric with the nodes and cables of `fabric`: all links trained, no LID assigned, no table written.
    #[must_use]
    pub fn new(fabric: &Fabric, options: SimOptions) -> Self {
        let (nodes, ports) = initial_state::nodes_and_ports(fabric, &options);
        // A path without a loop passes each switch at most once.
        let max_hops = u16::try_from(fabric.num_switches().saturating_add(2)).unwrap_or(u16::MAX);
        Self {
            now: Instant::ZERO,
            nodes,
            ports,
            lft_pool: LftPool::default(),
            frames: FrameStore::default(),
            queue: EventQueue::new(options.hop_latency, options.agent_latency),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            faults: FaultSource::new(options.faults.seed),
            faulty: !options.faults.rates.is_none(),
            stats: SimStats::default(),
            max_hops: max_hops.max(64),
            traces: Traces::default(),
            smp_watch: None,
            options,
        }
    }

    /// The time that the fabric has reached.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Number of packets that are in flight or wait for their host.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.frames.in_flight()
    }

    /// Counts over the whole run.
    #[must_use]
    pub fn stats(&self) -> SimStats {
        self.stats
    }

    /// All nodes, numbered as in the fabric that it was built from.
    #[must_use]
    pub fn nodes(&self) -> &IdxVec<NodeIdx, SimNode> {
        &self.nodes
    }

    /// One node.
    #[must_use]
    pub fn node(&self, node: NodeIdx) -> Option<&SimNode> {
        self.nodes.find(node)
    }

    /// One port.
    #[must_use]
    pub fn port(&self, port: PortRef) -> Option<SimPort<'_>> {
        self.look(self.port_idx(port)?)
    }

    /// The first node whose name in the fabric's file, or else whose description, is `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NodeIdx> {
        let by = |test: &dyn Fn(&SimNode) -> bool| {
            let mut nodes = self.nodes.iter_enumerated();
            nodes.find(|(_, node)| test(node)).map(|(index, _)| index)
        };
        by(&|node| node.name == name)
            .or_else(|| by(&|node| node.description().node_string().to_str() == Some(name)))
    }

    /// The node with this node GUID.
    #[must_use]
    pub fn find_guid(&self, guid: Guid) -> Option<NodeIdx> {
        let mut nodes = self.nodes.iter_enumerated();
        nodes
            .find(|(_, node)| node.guid() == guid)
            .map(|(index, _)| index)
    }

    /// The end port that holds this LID: port 0 of a switch, a port of a CA.
    #[must_use]
    pub fn find_lid(&self, lid: Lid) -> Option<PortRef> {
        self.nodes.indices().find_map(|node| {
            let mut ports = self.end_ports(node);
            ports.find(|port| port.has_lid(lid)).map(|port| port.at())
        })
    }

    /// Ports that can have LIDs and hosts: port 0 of a switch, all others of a CA.
    pub fn end_ports(&self, node: NodeIdx) -> impl Iterator<Item = SimPort<'_>> {
        let switch = self.nodes.find(node).is_some_and(SimNode::is_switch);
        self.ports_of(node)
            .filter(move |port| switch == (port.at().port == PortNum::MANAGEMENT))
    }

    /// All ports of a node, from port 0, which only a switch really has.
    pub fn ports_of(&self, node: NodeIdx) -> impl Iterator<Item = SimPort<'_>> {
        let node = self.nodes.find(node);
        let numbers = node.into_iter().flat_map(|node| {
            (0..=node.num_ports).filter_map(|number| node.port_idx(PortNum(number)))
        });
        numbers.filter_map(|index| self.look(index))
    }

    /// The other end of a port's cable.
    #[must_use]
    pub fn peer(&self, port: PortRef) -> Option<PortRef> {
        let peer = self.ports[self.port_idx(port)?].link.peer()?;
        Some(self.at(peer))
    }

    /// Attaches a host to a port; `sm` if a subnet manager runs there, which sets IsSM.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`], or [`SimError::NoHost`] for a port that has none.
    pub fn attach(&mut self, port: PortRef, sm: bool) -> Result<(), SimError> {
        let index = self.port_idx(port).ok_or(SimError::NoSuchPort { port })?;
        if self.end_port(index) != index {
            return Err(SimError::NoHost { port });
        }
        self.ports[index].hosted = true;
        if sm {
            self.set_is_sm(port, true)?;
        }
        Ok(())
    }

    /// Detaches the host of a port.
    pub fn detach(&mut self, port: PortRef) {
        if let Some(index) = self.port_idx(port) {
            self.ports[index].hosted = false;
        }
    }

    /// Sets or clears CapabilityMask.IsSM of a port; its agent sends trap 144 when that changed.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`].
    pub fn set_is_sm(&mut self, port: PortRef, is_sm: bool) -> Result<(), SimError> {
        let index = self.port_idx(port).ok_or(SimError::NoSuchPort { port })?;
        let Some(info) = self.info_mut(index) else {
            return Ok(());
        };
        let mut mask = info.capability_mask();
        mask.set(ib_smp::CapabilityMask::IS_SM, is_sm);
        let now = self.now;
        let number = self.ports[index].number;
        self.sma_of(port.node)?
            .set_capability_mask(now, number, mask);
        self.process_sma_events(port.node);
        Ok(())
    }

    /// Sets the behaviour of a node's agents.
    pub fn set_behaviour(&mut self, node: NodeIdx, behaviour: Behaviour) {
        if let Some(node) = self.nodes.find_mut(node) {
            node.behaviour = behaviour;
        }
    }

    /// Sets the chances of faults on every link.
    pub fn set_fault_rates(&mut self, rates: FaultRates) {
        self.faulty = !rates.is_none();
        self.options.faults.rates = rates;
    }

    /// Sends a datagram from the host of `port`, now.
    pub fn send(&mut self, port: PortRef, mad: &Mad) {
        self.send_datagram(port, mad, Frame::PAYLOAD);
    }

    /// Sends a datagram of which `length` bytes are in use.
    pub(crate) fn send_datagram(&mut self, port: PortRef, mad: &Mad, length: u16) {
        let Some(index) = self.port_idx(port) else {
            return;
        };
        let index = self.end_port(index);
        self.stats.sent = self.stats.sent.wrapping_add(1);
        let frame = self.frame_of(index, mad);
        self.frames[frame].length = length;
        if let Some(watch) = self.smp_watch.as_deref_mut()
            && self.frames[frame].is_smp()
        {
            watch.count_sent(index);
        }
        if mad.bytes[1] == MgmtClass::SUBN_DIRECTED.0 {
            self.start_directed(index, frame, mad.address.lid);
        } else {
            self.send_by_lid(index, frame);
        }
    }

    /// Handles all events that are due at `now`, in the order of time.
    pub fn advance(&mut self, now: Instant) {
        while let Some((at, event)) = self.queue.pop_due(now) {
            self.now = self.now.max(at);
            match event {
                Event::Arrive { frame, port } => self.arrive(port, frame),
                Event::Answer { frame, port } => self.answer(port, frame),
                Event::Trained { port, training } => self.trained(port, training),
                Event::Traps { node } => self.traps_due(node),
                Event::Sample { node, sampling } => self.sample(node, sampling),
            }
        }
        self.now = self.now.max(now);
    }

    pub(crate) fn port_idx(&self, port: PortRef) -> Option<PortIdx> {
        self.nodes.find(port.node)?.port_idx(port.port)
    }

    /// Node and number of the port of an index.
    pub(crate) fn at(&self, port: PortIdx) -> PortRef {
        let entry = &self.ports[port];
        PortRef {
            node: entry.node,
            port: entry.number,
        }
    }

    /// The agent's state of a port; none for port 0 of a CA.
    #[inline]
    pub(crate) fn agent_port(&self, port: PortIdx) -> Option<&SmaPort> {
        let entry = &self.ports[port];
        self.nodes[entry.node].sma.port(entry.number)
    }

    /// PortInfo, for fields that the device writes itself.
    pub(crate) fn info_mut(&mut self, port: PortIdx) -> Option<&mut PortInfo> {
        let entry = &self.ports[port];
        self.nodes[entry.node].sma.port_info_mut(entry.number)
    }

    /// Returns whether a LID is one of the port's.
    #[inline]
    pub(crate) fn has_lid(&self, port: PortIdx, lid: Lid) -> bool {
        self.agent_port(port)
            .is_some_and(|port| has_lid(port.info(), lid))
    }

    fn look(&self, port: PortIdx) -> Option<SimPort<'_>> {
        Some(SimPort {
            entry: &self.ports[port],
            sma: self.agent_port(port)?,
        })
    }

    /// The port whose LID, P_Keys and host `port` uses: port 0 of a switch, else the port itself.
    pub(crate) fn end_port(&self, port: PortIdx) -> PortIdx {
        let node = &self.nodes[self.ports[port].node];
        if node.is_switch {
            node.first_port
        } else {
            // Port 0 of a CA does not exist; a host that says 0 means the first port.
            port.max(PortIdx(node.first_port.0.saturating_add(1)))
        }
    }

    /// Hands a packet to the host of `port`.
    pub(crate) fn deliver(&mut self, port: PortIdx, frame: FrameIdx) {
        if let Some(data) = self.frames[frame].data.take() {
            self.stats.delivered = self.stats.delivered.wrapping_add(1);
            self.end_packet(port, *data, None);
            self.frames.release(frame);
            return;
        }
        if self.ports[port].hosted {
            self.stats.delivered = self.stats.delivered.wrapping_add(1);
            self.outbox.push_back((port, frame));
        } else {
            let reason = match self.nodes[self.ports[port].node].behaviour {
                Behaviour::Silent => DropReason::Silent,
                _ => DropReason::NoListener,
            };
            self.drop_frame(port, frame, reason);
        }
    }

    /// The datagram of a packet that has reached its host, and the end of the packet.
    #[inline]
    pub(crate) fn unpack(&mut self, frame: FrameIdx) -> Mad {
        self.frames.release(frame);
        mad_of(&self.frames[frame])
    }

    /// Drops a packet at `port` and counts it there.
    pub(crate) fn drop_frame(&mut self, port: PortIdx, frame: FrameIdx, reason: DropReason) {
        self.ports[port].counters.count_drop(reason);
        self.lose(port, frame, reason);
    }

    /// Drops a packet at `port`; no counter counts it.
    pub(crate) fn lose(&mut self, port: PortIdx, frame: FrameIdx, reason: DropReason) {
        self.stats.dropped = self.stats.dropped.wrapping_add(1);
        if let Some(data) = self.frames[frame].data.take() {
            self.end_packet(port, *data, Some(reason));
        } else if self.options.drop_events {
            let sent = &self.frames[frame];
            let event = Notification::Dropped {
                origin: self.at(PortIdx(sent.origin)),
                at: self.at(port),
                reason,
                mad: Box::new(mad_of(sent)),
            };
            self.events.push_back(event);
        }
        self.frames.release(frame);
    }

    /// Makes a packet of a datagram that starts at `port`.
    #[inline]
    pub(crate) fn frame_of(&mut self, port: PortIdx, mad: &Mad) -> FrameIdx {
        let address = &mad.address;
        let class = MgmtClass(mad.bytes[1]);
        let smp = matches!(class, MgmtClass::SUBN_LID | MgmtClass::SUBN_DIRECTED);
        let from = self.agent_port(port);
        let own = from.map_or(Lid::NONE, |from| from.info().lid()).0;
        let lmc = from.map_or(0, |from| from.info().lmc().path_bits());
        let path_bits = u16::from(address.path_bits) & lmc;
        // SMPs belong to no partition.
        let from = from.filter(|_| !smp);
        let p_key = from.map_or(PKey(0), |from| from.p_key(address.pkey_index));
        let index = self.frames.vacant();
        let frame = &mut self.frames[index];
        frame.bytes = mad.bytes;
        frame.source_lid = Lid(own | path_bits);
        frame.dest_lid = address.lid;
        frame.sl = address.sl;
        frame.smp = smp;
        frame.lane = Vl::ZERO;
        frame.source_qp = if smp { Qpn::SMI } else { Qpn::GSI };
        frame.dest_qp = if smp { Qpn::SMI } else { address.qpn };
        frame.q_key = address.qkey;
        frame.p_key = p_key;
        frame.grh = address.grh;
        frame.origin = port.0;
        frame.hops = 0;
        frame.doublings = 0;
        frame.words = match address.grh {
            None => Frame::WORDS,
            Some(_) => Frame::WORDS.saturating_add(Frame::GRH_WORDS),
        };
        frame.payload = Frame::PAYLOAD;
        frame.length = Frame::PAYLOAD;
        frame.data = None;
        index
    }

    /// Starts a directed-route SMP of the host: a request, or a manager's response to another manager.
    fn start_directed(&mut self, port: PortIdx, frame: FrameIdx, first_switch: Lid) {
        let smi = self.smi(port, frame);
        let Some(smp) = directed(&mut self.frames[frame].bytes) else {
            return;
        };
        let step = if smp.d() == ib_smp::DrDirection::OUTGOING {
            smi.start(smp, first_switch)
        } else {
            smi.respond(smp, first_switch)
        };
        self.follow(port, frame, step);
    }
}

impl Engine for Sim {
    type Input<'a> = SimInput<'a>;
    type Transmit = Delivery;
    type Event = Notification;

    fn handle_input(&mut self, now: Instant, input: SimInput<'_>) {
        self.advance(now);
        self.send(input.port, input.mad);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Delivery> {
        let (port, index) = self.outbox.pop_front()?;
        let frame = &self.frames[index];
        Some(Delivery {
            port: self.at(port),
            dest_qp: frame.dest_qp,
            dest_lid: frame.dest_lid,
            length: frame.length,
            mad: self.unpack(index),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.queue.next_at()
    }

    fn poll_event(&mut self) -> Option<Notification> {
        self.events.pop_front()
    }
}

/// The directed-route view of a datagram.
pub(crate) fn directed(bytes: &mut [u8; Mad::LEN]) -> Option<&mut SmpDirected> {
    SmpDirected::parse_mut(bytes, 0).ok().map(|(smp, _)| smp)
}

/// The datagram of a frame as its receiver sees it: the address is the sender's.
#[inline]
fn mad_of(frame: &Frame) -> Mad {
    Mad {
        address: MadAddress {
            lid: frame.source_lid,
            qpn: frame.source_qp,
            qkey: frame.q_key,
            sl: frame.sl,
            path_bits: 0,
            pkey_index: 0,
            grh: frame.grh,
        },
        bytes: frame.bytes,
    }
}
