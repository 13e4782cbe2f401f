//! Discovery without management: who is in the subnet, and how it is cabled (IBA vol. 1, 14.4.3).
//!
//! What `ibnetdiscover` does, as an engine of its own: it only reads, so it may run beside any subnet
//! manager, and it works before LIDs are assigned. Requests wait in one queue in the order in which
//! they came up, so the walk is breadth-first whatever the window. Devices that do not answer cost
//! their own time-out, together, and are listed.

use alloc::{
    collections::{BTreeSet, VecDeque},
    string::ToString,
    vec::Vec,
};

use ib_mad::{
    Attribute, Engine, InFlight, Input, Instant, Mad, Method, Received, RequestOptions,
    TransactionWindow, WindowConfig, WindowCounters,
};
use ib_routing::{
    Fabric, FabricBuilder, LinkSpeed, NewNode, NodeIdx, PortRef,
    index::{Idx, IdxVec},
};
use ib_smp::{
    CapabilityMask, DrPath, MlnxExtPortInfo, NodeDescription, NodeInfo, NodeType, PortInfo,
    PortPhysicalState, SmpDirected, SwitchInfo, VendorLinkSpeeds,
};
use ib_wire::{Guid, MKey, PortNum};

use crate::{request::directed, sweep};

/// How a discovery goes about it.
#[derive(Clone, Debug)]
pub struct DiscoveryConfig {
    /// Key to read ports with that guard themselves.
    pub m_key: MKey,
    /// Nodes further away are not asked; `None`: as far as directed routes reach.
    pub max_hops: Option<u8>,
    /// Asks ports of devices that may run FDR10 for the vendor's attribute that tells it from QDR.
    pub vendor_speeds: bool,
    /// Time-outs, repetitions, requests in flight, first transaction ID.
    pub window: WindowConfig,
}

impl Default for DiscoveryConfig {
    fn default() -> Self {
        Self {
            m_key: MKey(0),
            max_hops: None,
            vendor_speeds: true,
            window: WindowConfig {
                in_flight: InFlight::Adaptive { min: 4, max: 64 },
                per_destination: 8,
                ..WindowConfig::default()
            },
        }
    }
}

/// What a discovery reports while it walks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiscoveryEvent {
    /// A node was heard for the first time.
    NodeFound {
        /// Its GUID.
        node_guid: Guid,
        /// Hops from the own node.
        hops: u8,
    },
    /// A device left a request unanswered.
    Silent(SilentPort),
    /// Every answer is in, or given up.
    Done,
}

/// A place from which no answer came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentPort {
    /// The directed route that was asked along.
    pub path: DrPath,
    /// The known node there; `None` if the node itself never answered.
    pub node_guid: Option<Guid>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Discovered {
    /// The fabric.
    pub fabric: Fabric,
    /// The own port; `None` if not even the own node answered.
    pub from: Option<PortRef>,
    /// Who did not answer.
    pub silent: Vec<SilentPort>,
    /// Datagrams that it took.
    pub counters: WindowCounters,
}

impl Discovered {
    /// The nodes breadth-first from the own one, each one's ports by number. Unlike the order in which
    /// answers happened to come in, it depends on the cables alone.
    #[must_use]
    pub fn breadth_first(&self) -> Vec<NodeIdx> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        let mut queue: VecDeque<NodeIdx> = self.from.map(|from| from.node).into_iter().collect();
        seen.extend(&queue);
        while let Some(index) = queue.pop_front() {
            order.push(index);
            let node = self.fabric.node(index);
            for (number, port) in node.ports() {
                let here = PortRef {
                    node: index,
                    port: number,
                };
                // Adapters do not forward: only the own one's cable was followed.
                if let Some(peer) = port.peer
                    && (node.type_.is_switch() || self.from == Some(here))
                    && seen.insert(peer.node)
                {
                    queue.push_back(peer.node);
                }
            }
        }
        order
    }

    /// The nodes in the order in which `ibnetdiscover` lists them: switches, CAs, routers, of each kind
    /// the last one of [`breadth_first`](Self::breadth_first) first.
    #[must_use]
    pub fn listed(&self) -> Vec<NodeIdx> {
        use ib_routing::NodeType::{Ca, Router, Switch};
        let order = self.breadth_first();
        let of = |type_| {
            let nodes = order.iter().rev().copied();
            nodes.filter(move |&node| self.fabric.node(node).type_ == type_)
        };
        [Switch, Ca, Router].into_iter().flat_map(of).collect()
    }
}

/// Walks a subnet along directed routes and reads what it consists of.
///
/// Drive it until [`DiscoveryEvent::Done`], then take the result by [`finish`](Self::finish).
#[derive(Debug)]
pub struct Discovery {
    config: DiscoveryConfig,
    window: TransactionWindow<Ask>,
    queue: VecDeque<Ask>,
    builder: FabricBuilder,
    /// By node: what the fabric does not keep.
    known: IdxVec<NodeIdx, Known>,
    from: Option<PortRef>,
    silent: Vec<SilentPort>,
    events: VecDeque<DiscoveryEvent>,
    done: bool,
}

/// What is asked, and of whom.
#[derive(Clone, Copy, Debug)]
enum Ask {
    /// Who is behind this port; `None`: the own node.
    NodeInfo(Option<PortRef>, DrPath),
    Description(NodeIdx, DrPath),
    SwitchInfo(NodeIdx, DrPath),
    PortInfo(PortRef, DrPath),
    VendorPortInfo(PortRef, DrPath),
}

impl Ask {
    const fn path(&self) -> &DrPath {
        match self {
            Self::NodeInfo(_, path)
            | Self::Description(_, path)
            | Self::SwitchInfo(_, path)
            | Self::PortInfo(_, path)
            | Self::VendorPortInfo(_, path) => path,
        }
    }

    /// The node that answers, if it is known.
    const fn node(&self) -> Option<NodeIdx> {
        match *self {
            Self::NodeInfo(..) => None,
            Self::Description(node, _) | Self::SwitchInfo(node, _) => Some(node),
            Self::PortInfo(port, _) | Self::VendorPortInfo(port, _) => Some(port.node),
        }
    }
}

/// What discovery keeps of a node beside the fabric.
#[derive(Clone, Debug)]
struct Known {
    info: NodeInfo,
    /// Port 0 of a switch says for all its ports whether extended speeds mean something.
    extended_speeds: bool,
    silent: bool,
}

impl Discovery {
    /// A discovery that begins with the own node.
    #[must_use]
    pub fn new(config: DiscoveryConfig) -> Self {
        Self {
            window: TransactionWindow::new(config.window),
            config,
            queue: VecDeque::from([Ask::NodeInfo(None, DrPath::OWN_NODE)]),
            builder: FabricBuilder::new(),
            known: IdxVec::new(),
            from: None,
            silent: Vec::new(),
            events: VecDeque::new(),
            done: false,
        }
    }

    /// Whether every answer is in, or given up.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.done
    }

    /// The result so far.
    #[must_use]
    pub fn finish(self) -> Discovered {
        Discovered {
            fabric: self.builder.build(),
            from: self.from,
            silent: self.silent,
            counters: self.window.counters(),
        }
    }

    fn known(&self, node: NodeIdx) -> Option<&Known> {
        self.known.find(node)
    }

    fn on_answer(&mut self, ask: Ask, mad: &Mad) {
        let Ok((smp, _)) = SmpDirected::parse(&mad.bytes, 0) else {
            return;
        };
        let refused = !smp.status().is_ok();
        let data = smp.smp_data();
        match ask {
            Ask::VendorPortInfo(port, path) => {
                if let Ok((info, _)) = MlnxExtPortInfo::parse(data, 0)
                    && !refused
                    && info.link_speed_active().contains(VendorLinkSpeeds::FDR10)
                    && let Some(port) = self.builder.port_mut(port)
                {
                    port.speed = Some(LinkSpeed::Fdr10);
                }
                self.go_on(port, path);
            }
            _ if refused => self.gave_up(&ask),
            Ask::NodeInfo(from, path) => {
                if let Ok((info, _)) = NodeInfo::parse(data, 0) {
                    self.on_node_info(from, path, info);
                }
            }
            Ask::Description(node, _) => {
                if let Ok((description, _)) = NodeDescription::parse(data, 0)
                    && let Some(node) = self.builder.node_mut(node)
                {
                    node.description = description.node_string().to_string();
                }
            }
            Ask::SwitchInfo(node, _) => {
                if let Ok((info, _)) = SwitchInfo::parse(data, 0)
                    && let Some(node) = self.builder.node_mut(node)
                {
                    node.enhanced_port_0 = info.enhanced_port0();
                }
            }
            Ask::PortInfo(port, path) => {
                if let Ok((info, _)) = PortInfo::parse(data, 0) {
                    self.on_port_info(port, path, info);
                }
            }
        }
    }

    fn on_node_info(&mut self, from: Option<PortRef>, path: DrPath, info: &NodeInfo) {
        let is_switch = info.node_type() == NodeType::SWITCH;
        let known = self.builder.node_by_guid(info.node_guid());
        let node = match known {
            Some(node) => node,
            None => {
                let Ok(node) = self.builder.add_node(NewNode {
                    type_: sweep::node_type(info),
                    guid: info.node_guid(),
                    num_ports: info.num_ports(),
                    system_image_guid: info.system_image_guid(),
                    vendor_id: info.vendor_id(),
                    device_id: info.device_id(),
                    ..NewNode::default()
                }) else {
                    return;
                };
                self.known.push(Known {
                    info: *info,
                    extended_speeds: false,
                    silent: false,
                });
                self.events.push_back(DiscoveryEvent::NodeFound {
                    node_guid: info.node_guid(),
                    hops: path.hop_count(),
                });
                self.queue.push_back(Ask::Description(node, path));
                if is_switch {
                    let port = PortNum::MANAGEMENT;
                    self.queue.push_back(Ask::SwitchInfo(node, path));
                    self.queue
                        .push_back(Ask::PortInfo(PortRef { node, port }, path));
                }
                node
            }
        };
        let here = PortRef {
            node,
            port: info.local_port_num(),
        };
        if let Some(port) = self.builder.port_mut(here)
            && !is_switch
        {
            port.guid = info.port_guid();
        }
        match from {
            None => self.from = Some(here),
            // A cable is met at both ends; the second time changes nothing.
            Some(from) => drop(self.builder.add_link(from, here)),
        }
        if !is_switch {
            self.queue.push_back(Ask::PortInfo(here, path));
        } else if known.is_none()
            && let Some(port) = self.builder.port_mut(PortRef {
                node,
                port: PortNum::MANAGEMENT,
            })
        {
            port.guid = info.port_guid();
        }
    }

    fn on_port_info(&mut self, here: PortRef, path: DrPath, info: &PortInfo) {
        let Some(known) = self.known.find_mut(here.node) else {
            return;
        };
        let is_switch = known.info.node_type() == NodeType::SWITCH;
        let num_ports = known.info.num_ports();
        let is_end_port = !is_switch || here.port == PortNum::MANAGEMENT;
        if is_end_port {
            let capabilities = info.capability_mask();
            known.extended_speeds =
                capabilities.contains(CapabilityMask::IS_EXTENDED_SPEEDS_SUPPORTED);
        }
        let extended_speeds = known.extended_speeds;
        let may_be_fdr10 = self.config.vendor_speeds && has_vendor_speeds(&known.info);
        if is_switch && is_end_port {
            for port in (1..=num_ports).map(PortNum) {
                self.queue
                    .push_back(Ask::PortInfo(PortRef { port, ..here }, path));
            }
        }
        let speed = sweep::speed(info, extended_speeds);
        if let Some(port) = self.builder.port_mut(here) {
            if is_end_port {
                (port.lid, port.lmc) = (info.lid(), info.lmc());
            }
            (port.width, port.speed) = (sweep::width(info), speed);
        }
        if info.port_physical_state() != PortPhysicalState::LINK_UP {
            return;
        }
        if may_be_fdr10 && speed == Some(LinkSpeed::Qdr) {
            self.queue.push_back(Ask::VendorPortInfo(here, path));
        } else {
            self.go_on(here, path);
        }
    }

    /// Asks who is behind a port whose link is up. Adapters do not forward: only the own one's cable is
    /// followed, and only from inside.
    fn go_on(&mut self, here: PortRef, path: DrPath) {
        let is_switch = self
            .known(here.node)
            .is_some_and(|known| known.info.node_type() == NodeType::SWITCH);
        let leads_on = if is_switch {
            here.port != PortNum::MANAGEMENT
        } else {
            self.from == Some(here) && path.hop_count() == 0
        };
        let too_far = self
            .config
            .max_hops
            .is_some_and(|max| path.hop_count() >= max);
        if leads_on
            && !too_far
            && let Some(next) = path.then(here.port)
        {
            self.queue.push_back(Ask::NodeInfo(Some(here), next));
        }
    }

    fn gave_up(&mut self, ask: &Ask) {
        let mut node_guid = None;
        if let Some(node) = ask.node()
            && let Some(known) = self.known.find_mut(node)
        {
            // One entry a node, however much it left unanswered.
            if core::mem::replace(&mut known.silent, true) {
                return;
            }
            node_guid = Some(known.info.node_guid());
        }
        let silent = SilentPort {
            path: *ask.path(),
            node_guid,
        };
        self.silent.push(silent.clone());
        self.events.push_back(DiscoveryEvent::Silent(silent));
    }

    /// Moves what waits into the window, and notices the end.
    fn run(&mut self) {
        while let Some(failure) = self.window.poll_failure() {
            match failure.context {
                // Devices that do not know the vendor's attribute need not answer.
                Ask::VendorPortInfo(port, path) => self.go_on(port, path),
                ask => self.gave_up(&ask),
            }
        }
        while self.window.room() > 0 {
            let Some(ask) = self.queue.pop_front() else {
                break;
            };
            let (attribute, modifier) = match ask {
                Ask::NodeInfo(..) => (NodeInfo::ID, 0),
                Ask::Description(..) => (NodeDescription::ID, 0),
                Ask::SwitchInfo(..) => (SwitchInfo::ID, 0),
                Ask::PortInfo(port, _) => (PortInfo::ID, port.port.0.into()),
                Ask::VendorPortInfo(port, _) => (MlnxExtPortInfo::ID, port.port.0.into()),
            };
            let m_key = self.config.m_key;
            let mad = directed(ask.path(), m_key, Method::GET, attribute, modifier, &[]);
            let options = RequestOptions {
                destination: ask.node().map(|node| node.at() as u64),
                ..RequestOptions::default()
            };
            // There is room.
            let _ = self.window.request_with(&mad, options, ask);
        }
        if self.window.is_empty() && self.queue.is_empty() && !self.done {
            self.done = true;
            self.events.push_back(DiscoveryEvent::Done);
        }
    }
}

impl Engine for Discovery {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = DiscoveryEvent;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        match input {
            Input::Mad(mad) => match self.window.handle_mad(now, mad) {
                Received::Answer(answer) => self.on_answer(answer.context, mad),
                Received::Unsolicited | Received::Pending | Received::Stale => {}
            },
            Input::SendFailed(mad) => self.window.handle_send_failed(mad),
        }
        self.run();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.window.handle_timeout(now);
        self.run();
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        self.run();
        self.window.poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.window.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<DiscoveryEvent> {
        self.events.pop_front()
    }
}

/// Whether the device may run FDR10: Mellanox ConnectX-3 to ConnectX-7 and SwitchX to Quantum-2, and
/// Bull's of the same chips. Source: device numbers in rdma-core, `libibnetdisc`.
fn has_vendor_speeds(info: &NodeInfo) -> bool {
    const BULL: u32 = 0x119f;
    match info.device_id() {
        0xc738..=0xc73b | 0xc839 | 0xcb20 | 0xcf08 | 0xcf09 | 0xd2f0 => true,
        0x1003..=0x101b | 0xa2d2 => true,
        0x1b02 | 0x1b50 | 0x1ba0 | 0x1bd0..=0x1bd5 | 0x1bf0 => info.vendor_id() == BULL,
        0x1b33
        | 0x1b73
        | 0x1b40
        | 0x1b41
        | 0x1b60
        | 0x1b61
        | 0x1b83
        | 0x1b93
        | 0x1b94
        | 0x1bb4
        | 0x1bb5
        | 0x1bc4..=0x1bc6 => info.vendor_id() == BULL,
        _ => false,
    }
}
