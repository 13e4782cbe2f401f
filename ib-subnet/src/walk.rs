//! The walk: determines the next read of a subnet and evaluates the answers (IBA vol. 1, 14.4.3 and 14.4.4).
//!
//! A [`Walk`] owns no datagram and no window. Its user requests the [next read](Walk::next_read), sends it, and
//! returns the answer, or reports that there was none. Reads are queued in the order in which they arise, so a
//! walk of everything is breadth-first and reaches each node by a shortest route, however many reads are in
//! flight. One NodeInfo confirms both ends of a cable: it names the far port.
//!
//! There are three scopes. [`Scope::Everything`] reads every node again. [`Scope::Ports`] reads only the switches
//! and ports that are marked as changed, and continues from there when it finds unknown nodes; unmarked parts are
//! assumed unchanged. [`Scope::Changes`] reads SwitchInfo of each switch, whose PortStateChange shows whether a
//! port changed since the bit was cleared, and marks the ports to read then. A port that changed after it was read
//! and before the bit was cleared shows in no bit: the first such walk after that reads the ports as well. An answer that contradicts the known
//! state makes a partial walk [inconsistent](WalkOutcome::inconsistent); a walk of everything has to follow.

mod answers;
mod changes;
mod node_info;
mod port_info;
mod tables;

use alloc::{
    collections::{BTreeSet, VecDeque},
    vec::Vec,
};

use ib_mad::{Attribute, AttributeId, Mad, MadStatus, Method};
use ib_routing::PagePool;
use ib_smp::{DrPath, NodeInfo, NodeType, PortInfo, PortInfoModifier, SmInfo, SwitchInfo};
use ib_wire::{Guid, MKey, PortNum};

use crate::{
    NodeId, PortAt, PortId, Read, ReadTarget, SmpRoute, Subnet, SubnetPort, SubnetSwitch,
    route::Reach,
};

/// Options of a walk.
#[derive(Clone, Debug)]
pub struct WalkOptions {
    /// M_Key for devices that are protected by one and have shown none; 0 by default.
    pub m_key: MKey,
    /// Maximum distance of a node, in hops, at which it is still read; `None`, the default: as far as directed
    /// routes reach (63).
    pub max_hops: Option<u8>,
    /// Boundary ports, by node GUID and number: their cables are not followed, and nothing beyond them is
    /// addressed. Empty by default.
    pub boundary: BTreeSet<(Guid, PortNum)>,
    /// True if to read the vendor's attribute that distinguishes FDR10 from QDR, on devices that may run FDR10;
    /// false by default.
    pub vendor_speeds: bool,
    /// True if to read the unknown parts of forwarding tables (up to their top) and of P_Key tables of end ports,
    /// as a manager needs; false by default.
    pub tables: bool,
    /// True if to read SMInfo of ports with a subnet manager; false by default.
    pub managers: bool,
    /// True if PortInfo of a switch port is not read if its cable is known from the other end already; its width and
    /// speed in the fabric are then those of the other end. Saves a sixth of the datagrams in a fat tree of 3,456 hosts,
    /// and less in small fabrics. For programs that only draw cables; false by default.
    pub one_end: bool,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self {
            m_key: MKey(0),
            max_hops: None,
            boundary: BTreeSet::new(),
            vendor_speeds: false,
            tables: false,
            managers: false,
            one_end: false,
        }
    }
}

/// The part of the subnet that a walk reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every node, beginning with the own one.
    Everything,
    /// Marked switches and ports, and new nodes that are found through them.
    Ports,
    /// Only the detection of changes: SwitchInfo of every switch, and ports whose neighbor did not answer.
    Changes,
}

/// A finding of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WalkFinding {
    /// A node answered that was not in the subnet.
    NodeFound(NodeId),
    /// A device left a request unanswered, all repetitions included.
    Unresponsive {
        /// The device and the request.
        device: Unresponsive,
        /// The directed route of the request, without a LID-routed part before it.
        path: DrPath,
    },
    /// Two nodes answer with one GUID, or a cable was moved during the walk.
    DuplicateGuid {
        /// Node GUID that both nodes have.
        node_guid: Guid,
        /// The port through which the GUID was found the second time; `None`: the own node.
        behind: Option<PortAt>,
    },
    /// NodeInfo has an impossible value; the node is ignored.
    InvalidNodeInfo {
        /// The port through which it answered; `None`: the own node.
        behind: Option<PortAt>,
        /// The GUID in its NodeInfo.
        node_guid: Guid,
        /// Name of the field, as in the specification's tables.
        field: &'static str,
    },
    /// A node answered with another GUID when it was asked again. It is ignored, and nothing beyond it is read.
    GuidChanged {
        /// The directed route to the node.
        path: DrPath,
        /// The port through which it answered; `None`: the own node.
        behind: Option<PortAt>,
        /// The GUID in its first answer.
        before: Guid,
        /// The GUID in its last answer.
        now: Guid,
    },
    /// A device refused a read, or its answer cannot be read.
    Refused {
        /// The device; `None`: the own node.
        at: Option<PortAt>,
        /// Attribute that was read.
        attribute_id: AttributeId,
        /// The status of the response.
        status: MadStatus,
    },
    /// The node at the other end of this port's cable cannot be read: a directed route has 63 hops at most. After
    /// [`Subnet::continue_from`] for the port's switch it can.
    OutOfReach {
        /// The last port that is reached.
        at: PortAt,
    },
    /// Another subnet manager answered.
    Manager {
        /// The port of the other manager.
        port: PortId,
        /// SMInfo of the other manager.
        info: SmInfo,
    },
}

/// A device that did not answer a request of the manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unresponsive {
    /// The port that was asked; for an unknown node, the known port at the other end of its cable. `None`: the
    /// own node.
    pub at: Option<PortAt>,
    /// True if the request was for the unknown node at the other end of the cable at `at`.
    pub neighbor: bool,
    /// The attribute that was requested.
    pub attribute_id: AttributeId,
}

/// The result of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkOutcome {
    /// Nodes of the subnet that had no connection to the own node at some time during the walk.
    pub unreachable: BTreeSet<Guid>,
    /// Nodes of the subnet that are gone.
    pub vanished: Vec<Guid>,
    /// Nodes that were read, or whose cables changed.
    pub changed: BTreeSet<NodeId>,
    /// Switches and ports that a walk for changes marked.
    pub marked: BTreeSet<PortId>,
    /// True if answers contradict the known state, so that everything has to be read.
    pub inconsistent: bool,
}

/// A walk that is running.
#[derive(Debug)]
pub struct Walk {
    options: WalkOptions,
    scope: Scope,
    /// Number that [`Subnet::begin_walk`] returned.
    number: u32,
    queue: VecDeque<Read>,
    findings: VecDeque<WalkFinding>,
    outcome: WalkOutcome,
    /// The pages of the forwarding tables that were read: those of many switches are equal.
    pages: PagePool,
}

impl Walk {
    /// Begins a walk of everything.
    #[must_use]
    pub fn everything(subnet: &mut Subnet, options: WalkOptions) -> Self {
        let mut walk = Self::new(subnet, Scope::Everything, options);
        walk.ask(ReadTarget::OwnNode, NodeInfo::ID, 0);
        walk
    }

    /// Begins a walk over marked ports. For a port of a switch, all ports of the switch are read.
    #[must_use]
    pub fn ports(
        subnet: &mut Subnet,
        marked: impl IntoIterator<Item = PortId>,
        options: WalkOptions,
    ) -> Self {
        let mut walk = Self::new(subnet, Scope::Ports, options);
        for port in marked {
            match subnet.node(port.node) {
                Some(node) if node.is_switch() => walk.read_switch(subnet, port.node),
                Some(_) => walk.ask(ReadTarget::Port(port), PortInfo::ID, port.port.0.into()),
                None => walk.outcome.inconsistent = true,
            }
        }
        walk
    }

    /// Begins a walk that only detects changes.
    #[must_use]
    pub fn changes(subnet: &mut Subnet, managers: &[PortId], options: WalkOptions) -> Self {
        let mut walk = Self::new(subnet, Scope::Changes, options);
        if let Some(own) = subnet.own_port() {
            walk.ask(ReadTarget::Port(own), PortInfo::ID, own.port.0.into());
        }
        for (node, _) in subnet.switches() {
            let target = ReadTarget::Port(PortId::management(node));
            walk.ask(target, SwitchInfo::ID, 0);
        }
        for (port, node, _) in subnet.ports() {
            let is_unsure = node.switch().is_some_and(SubnetSwitch::are_ports_unsure);
            if is_unsure {
                walk.ask(ReadTarget::Port(port), PortInfo::ID, port.port.0.into());
            }
        }
        subnet.clear_ports_unsure();
        for (port, _, record) in subnet.ports() {
            if record.is_up() && record.peer().is_none() && record.is_neighbor_silent() {
                walk.ask(ReadTarget::Behind(port), NodeInfo::ID, 0);
            }
        }
        // A type that no specification defines may be a passing fault of the device.
        for (id, node) in subnet.nodes() {
            if !is_defined(node.info().node_type()) {
                let here = PortId {
                    node: id,
                    port: node.info().local_port_num(),
                };
                walk.ask(ReadTarget::Port(here), NodeInfo::ID, 0);
            }
        }
        for &port in managers {
            walk.ask(ReadTarget::Port(port), SmInfo::ID, 0);
        }
        walk
    }

    fn new(subnet: &mut Subnet, scope: Scope, options: WalkOptions) -> Self {
        Self {
            number: subnet.begin_walk(scope == Scope::Everything),
            options,
            scope,
            queue: VecDeque::new(),
            findings: VecDeque::new(),
            outcome: WalkOutcome::default(),
            pages: PagePool::default(),
        }
    }

    /// The part of the subnet that this walk reads.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// Number of queued reads.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns true if no read is queued; others may be in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The next finding.
    pub fn poll_finding(&mut self) -> Option<WalkFinding> {
        self.findings.pop_front()
    }

    /// The next read, with its datagram. A read is skipped if its result has become known otherwise meanwhile, or
    /// if its device cannot be reached or trusted any more.
    pub fn next_read(&mut self, subnet: &Subnet) -> Option<(Read, Mad)> {
        while let Some(read) = self.queue.pop_front() {
            if let Some(mad) = self.build(subnet, read) {
                return Some((read, mad));
            }
            self.note_out_of_reach(subnet, read);
        }
        None
    }

    /// Reports a cable that leads further than directed routes reach.
    fn note_out_of_reach(&mut self, subnet: &Subnet, read: Read) {
        let ReadTarget::Behind(port) = read.target else {
            return;
        };
        let is_known = subnet.port(port).is_some_and(|port| port.peer().is_some());
        let is_last = subnet.reach(port).is_some() && subnet.reach_behind(port).is_none();
        if is_last && !is_known && self.options.max_hops.is_none() {
            let at = subnet.port_at(port);
            self.findings.push_back(WalkFinding::OutOfReach { at });
        }
    }

    /// Queues a read again: its datagram was sent along a route that has broken.
    pub fn read_again(&mut self, read: Read) {
        self.queue.push_front(read);
    }

    /// Derives the directed routes again if a cable was removed, or if one leads again to a node that was cut off. Reads in flight to the returned nodes were sent
    /// along a route that has changed: they have to be [read again](Self::read_again).
    pub fn refresh_paths(&mut self, subnet: &mut Subnet) -> Vec<NodeId> {
        let changes = subnet.refresh_paths();
        let guids = changes.unreachable.iter();
        let guids = guids.filter_map(|&id| Some(subnet.node(id)?.info().node_guid()));
        self.outcome.unreachable.extend(guids);
        let mut nodes = changes.moved;
        nodes.extend(changes.unreachable);
        nodes
    }

    /// Ends the walk after all its reads are answered or given up. Nodes that are gone leave the subnet.
    pub fn finish(mut self, subnet: &mut Subnet) -> WalkOutcome {
        if self.scope == Scope::Changes {
            return self.outcome;
        }
        self.refresh_paths(subnet);
        let mut gone: Vec<NodeId> = Vec::new();
        for (id, node) in subnet.nodes() {
            // A node that was cut off for a while and connected again by another cable is not gone.
            let missed = self.scope == Scope::Everything || subnet.is_cut_off(id);
            if missed && !node.is_read_in(self.number) {
                gone.push(id);
            }
        }
        for id in gone {
            let mut peers = Vec::new();
            if let Some(node) = subnet.node(id) {
                self.outcome.vanished.push(node.info().node_guid());
                peers.extend(node.ports().filter_map(|(_, port)| port.peer()));
                self.outcome
                    .changed
                    .extend(peers.iter().map(|peer| peer.node));
            }
            subnet.remove(id);
            // A device that could only not be reached for a while changes no port state when it can be reached again.
            for peer in peers {
                subnet.expect_neighbor(peer);
            }
        }
        self.refresh_paths(subnet);
        self.outcome
    }

    fn ask(&mut self, target: ReadTarget, attribute: AttributeId, modifier: u32) {
        self.queue.push_back(Read {
            target,
            attribute,
            modifier,
        });
    }

    /// Removes the cable at a port.
    fn unlink(&mut self, subnet: &mut Subnet, port: PortId) {
        let peer = subnet.port(port).and_then(SubnetPort::peer);
        self.outcome.changed.insert(port.node);
        self.outcome.changed.extend(peer.map(|peer| peer.node));
        subnet.unlink(port);
    }

    /// Queues the reads of a switch: SwitchInfo and PortInfo of all ports.
    fn read_switch(&mut self, subnet: &mut Subnet, id: NodeId) {
        let Some(node) = subnet.node_mut(id) else {
            return;
        };
        node.note_read(self.number);
        if let Some(switch) = node.switch_mut() {
            switch.set_ports_unsure(false);
        }
        let num_ports = node.info().num_ports();
        self.ask(ReadTarget::Port(PortId::management(id)), SwitchInfo::ID, 0);
        for port in (0..=num_ports).map(PortNum) {
            let port = PortId { node: id, port };
            if let Some(record) = subnet.port_mut(port) {
                record.note_asked(self.number);
            }
            self.ask(ReadTarget::Port(port), PortInfo::ID, port.port.0.into());
        }
    }

    fn build(&self, subnet: &Subnet, read: Read) -> Option<Mad> {
        let route = self.route_of(subnet, read.target)?;
        let mut modifier = read.modifier;
        if let ReadTarget::Port(port) = read.target {
            let node = subnet.node(port.node)?;
            // One time-out is evidence enough about a node.
            let asks_again = read.attribute == NodeInfo::ID;
            if !asks_again && (node.is_silent() || !subnet.is_steady(port.node)) {
                return None;
            }
            if read.attribute == PortInfo::ID && self.is_known_from_other_end(subnet, port) {
                return None;
            }
            if read.attribute == PortInfo::ID {
                modifier = PortInfoModifier {
                    port: port.port,
                    extended_speeds: node.shows_all_speeds(),
                }
                .bits();
            }
        }
        let m_key = match read.target {
            ReadTarget::Port(port) => subnet.m_key(port, self.options.m_key),
            ReadTarget::Behind(port) => subnet.m_key_behind(port, self.options.m_key),
            ReadTarget::OwnNode => subnet.m_key_of_own_node(self.options.m_key),
        };
        let smp = route.request(Method::GET, read.attribute, modifier, m_key);
        Some(route.datagram(&smp))
    }

    /// Returns true if PortInfo of a port is left out, because the other end of its cable has given all that is needed.
    fn is_known_from_other_end(&self, subnet: &Subnet, port: PortId) -> bool {
        self.options.one_end
            && !subnet.is_end_port(port)
            && subnet.port(port).is_some_and(|record| {
                record.peer().is_some()
                    && record.is_cable_confirmed_in(self.number)
                    && record.info().is_none()
            })
    }

    /// The route of a read. `None` for an unknown device that has been identified meanwhile, and for a
    /// device beyond the boundary, beyond the maximum distance, or out of reach.
    fn route_of(&self, subnet: &Subnet, target: ReadTarget) -> Option<SmpRoute> {
        match target {
            ReadTarget::OwnNode => subnet.resolve(Reach::default()),
            ReadTarget::Port(port) => subnet.route(port),
            ReadTarget::Behind(port) => {
                let record = subnet.port(port)?;
                let is_known = record.peer().is_some() && record.is_cable_confirmed_in(self.number);
                let at = subnet.port_at(port);
                let is_outside = self.options.boundary.contains(&(at.node_guid, at.port_num));
                if is_known || is_outside || !subnet.is_steady(port.node) {
                    return None;
                }
                let hops = subnet.reach(port)?.path.hop_count();
                let is_too_far = self.options.max_hops.is_some_and(|max| hops >= max);
                if is_too_far {
                    None
                } else {
                    subnet.resolve(subnet.reach_behind(port)?)
                }
            }
        }
    }
}

fn is_defined(type_: NodeType) -> bool {
    matches!(type_, NodeType::CA | NodeType::SWITCH | NodeType::ROUTER)
}
