//! Discovery without management: who is in the subnet, and how it is cabled (IBA vol. 1, 14.4.3).
//!
//! What `ibnetdiscover` does, as an engine of its own: it only reads, so it may run beside any subnet
//! manager, and it works before LIDs are assigned. Requests wait in one queue in the order in which
//! they came up, so the walk is breadth-first whatever the window. Devices that do not answer cost
//! their own time-out, together, and are listed.

mod discovered;
mod vendor;

use alloc::{collections::VecDeque, vec::Vec};

use ib_mad::{
    Attribute, Engine, InFlight, Input, Instant, Mad, Method, Received, RequestOptions,
    TransactionWindow, WindowConfig,
};
use ib_routing::{
    FabricBuilder, LinkSpeed, NewNode, NodeIdx, PortRef,
    index::{Idx, IdxVec},
};
use ib_smp::{
    CapabilityMask, DrPath, MlnxExtPortInfo, NodeDescription, NodeInfo, NodeType, PortInfo,
    PortInfoModifier, PortPhysicalState, SmpDirected, SwitchInfo, VendorLinkSpeeds,
};
use ib_wire::{Guid, MKey, PortNum};

pub use self::discovered::{Discovered, SilentPort};
use self::vendor::has_vendor_speeds;
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
#[non_exhaustive]
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
    /// A node gave another GUID when it was asked again: what is behind it is not asked for any more.
    GuidChanged {
        /// The directed route to it.
        path: DrPath,
        /// What it said first.
        before: Guid,
        /// What it says now.
        now: Guid,
    },
    /// Every answer is in, or given up.
    Done,
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
    /// Does this node still say who it is.
    NodeInfoAgain(NodeIdx, DrPath),
    Description(NodeIdx, DrPath),
    SwitchInfo(NodeIdx, DrPath),
    PortInfo(PortRef, DrPath),
    VendorPortInfo(PortRef, DrPath),
}

impl Ask {
    const fn path(&self) -> &DrPath {
        match self {
            Self::NodeInfo(_, path)
            | Self::NodeInfoAgain(_, path)
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
            Self::NodeInfoAgain(node, _)
            | Self::Description(node, _)
            | Self::SwitchInfo(node, _) => Some(node),
            Self::PortInfo(port, _) | Self::VendorPortInfo(port, _) => Some(port.node),
        }
    }
}

/// Whether a device is asked for all its speeds, by bit 31 of PortInfo's modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AllSpeeds {
    /// Nothing says that it knows the bit.
    Unasked,
    Asked,
    /// It said that it knows the speeds, and refused the bit.
    Refused,
}

/// What discovery keeps of a node beside the fabric.
#[derive(Clone, Debug)]
struct Known {
    info: NodeInfo,
    /// The node in front of it, and the route over which it was heard first.
    in_front: Option<NodeIdx>,
    path: DrPath,
    /// Whether it was asked once more who it is.
    asked_again: bool,
    /// Whether it said something else then.
    unsteady: bool,
    /// Port 0 of a switch says for all its ports whether extended speeds mean something.
    extended_speeds: bool,
    /// It shows all its speeds only to who says that it knows them.
    all_speeds: AllSpeeds,
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
            Ask::PortInfo(port, path) if refused && is_extended(smp) => {
                if let Some(known) = self.known.find_mut(port.node) {
                    known.all_speeds = AllSpeeds::Refused;
                }
                self.queue.push_back(Ask::PortInfo(port, path));
            }
            _ if refused => self.gave_up(&ask),
            Ask::NodeInfo(from, path) => {
                if let Ok((info, _)) = NodeInfo::parse(data, 0) {
                    self.on_node_info(from, path, info);
                }
            }
            Ask::NodeInfoAgain(node, path) => {
                if let Ok((info, _)) = NodeInfo::parse(data, 0) {
                    self.on_node_info_again(node, path, info);
                }
            }
            Ask::Description(node, _) => {
                if let Ok((text, _)) = NodeDescription::parse(data, 0)
                    && let Some(node) = self.builder.node_mut(node)
                {
                    node.description = sweep::description(text);
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
                    self.on_port_info(port, path, info, is_extended(smp));
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
                    in_front: from.map(|from| from.node),
                    path,
                    asked_again: false,
                    unsteady: false,
                    extended_speeds: false,
                    all_speeds: AllSpeeds::Unasked,
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
            // A cable is met at both ends; the second time changes nothing. One that ends where another one does
            // already comes from a second node of that GUID, or from a node that was met before under another.
            Some(from) if self.builder.add_link(from, here).is_err() => self.ask_again(from.node),
            Some(_) => {}
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

    /// Asks a node once more who it is.
    fn ask_again(&mut self, node: NodeIdx) {
        if let Some(known) = self.known.find_mut(node)
            && !core::mem::replace(&mut known.asked_again, true)
        {
            self.queue.push_front(Ask::NodeInfoAgain(node, known.path));
        }
    }

    fn on_node_info_again(&mut self, node: NodeIdx, path: DrPath, info: &NodeInfo) {
        let Some(known) = self.known.find_mut(node) else {
            return;
        };
        let (before, now) = (known.info.node_guid(), info.node_guid());
        if now != before {
            known.unsteady = true;
            let event = DiscoveryEvent::GuidChanged { path, before, now };
            self.events.push_back(event);
        }
    }

    /// Whether a node, and every node on the way to it, says the same whenever it is asked. Behind one that does not the
    /// same nodes are found again and again, under as many GUIDs as there are questions.
    fn is_steady(&self, node: NodeIdx) -> bool {
        let first = self.known(node);
        let way = core::iter::successors(first, |known| self.known(known.in_front?));
        // A route has 63 hops.
        way.take(64).all(|known| !known.unsteady)
    }

    fn on_port_info(&mut self, here: PortRef, path: DrPath, info: &PortInfo, extended: bool) {
        let Some(known) = self.known.find_mut(here.node) else {
            return;
        };
        let is_switch = known.info.node_type() == NodeType::SWITCH;
        let num_ports = known.info.num_ports();
        let is_end_port = !is_switch || here.port == PortNum::MANAGEMENT;
        if !extended
            && sweep::knows_extended_speeds(info, is_end_port)
            && known.all_speeds == AllSpeeds::Unasked
        {
            known.all_speeds = AllSpeeds::Asked;
            // The other ports of a switch are asked for after its port 0, and with the bit at once.
            self.queue.push_back(Ask::PortInfo(here, path));
            return;
        }
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

    /// The modifier of PortInfo: bit 31 is an error to devices that know no speed beyond HDR.
    fn port_info_modifier(&self, port: PortRef) -> u32 {
        PortInfoModifier {
            port: port.port,
            extended_speeds: self
                .known(port.node)
                .is_some_and(|known| known.all_speeds == AllSpeeds::Asked),
        }
        .bits()
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
            let of = match ask {
                Ask::NodeInfo(Some(from), _) => Some(from.node),
                _ => ask.node(),
            };
            if of.is_some_and(|node| !self.is_steady(node)) {
                continue;
            }
            let (attribute, modifier) = match ask {
                Ask::NodeInfo(..) | Ask::NodeInfoAgain(..) => (NodeInfo::ID, 0),
                Ask::Description(..) => (NodeDescription::ID, 0),
                Ask::SwitchInfo(..) => (SwitchInfo::ID, 0),
                Ask::PortInfo(port, _) => (PortInfo::ID, self.port_info_modifier(port)),
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

/// Whether PortInfo was asked for with all speeds.
fn is_extended(smp: &SmpDirected) -> bool {
    let modifier = PortInfoModifier::from_bits(smp.attribute_modifier());
    modifier.is_some_and(|modifier| modifier.extended_speeds)
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
            Input::Returned(mad) => self.window.handle_returned(mad),
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
