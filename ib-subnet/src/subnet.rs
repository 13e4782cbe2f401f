//! The nodes of a subnet, their cables, and the routes that reach them.
//!
//! A node is identified by its GUID and has a number, [`NodeId`], that stays the same as long as the subnet
//! remembers the node: a node that vanishes and comes back has its old number. Directed routes are derived from
//! the cables, breadth-first from the own node. When a cable is removed the routes are stale, and
//! [`Subnet::refresh_paths`] derives them again and returns the nodes that cannot be reached any more.

mod paths;

use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};
use core::fmt;

use ib_routing::{PagePool, SharedLft};
use ib_smp::{DrPath, NodeInfo};
use ib_wire::{Guid, Lid, PortNum, addr::LidRange};

use self::paths::Paths;
use crate::{
    MKeys, SmpRoute, SubnetNode, SubnetPort, SubnetSwitch,
    looks::Looks,
    route::{LidPart, Reach},
};

/// Maximum number of nodes that are gone and keep their numbers. Beyond it, the node that went first loses its
/// number.
const MAX_REMEMBERED: usize = 4096;

/// Number of a node in a [`Subnet`]; it stays the same from walk to walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// The number as an index: numbers are dense, from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A port of a node in a [`Subnet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId {
    /// Identifier of the node in its subnet.
    pub node: NodeId,
    /// Number of the port on the node: 0 is a switch's management port.
    pub port: PortNum,
}

impl PortId {
    /// Port 0 of a switch.
    #[must_use]
    pub const fn management(node: NodeId) -> Self {
        Self {
            node,
            port: PortNum::MANAGEMENT,
        }
    }
}

/// A port by the GUID of its node and its number, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortAt {
    /// GUID of the node.
    pub node_guid: Guid,
    /// Number of the port.
    pub port_num: PortNum,
}

impl fmt::Display for PortAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.node_guid, self.port_num)
    }
}

/// Result of [`Subnet::refresh_paths`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathChanges {
    /// Nodes whose directed routes have changed.
    pub moved: Vec<NodeId>,
    /// Nodes that are no longer connected to the own node.
    pub unreachable: Vec<NodeId>,
}

/// A subnet as its devices reported it.
#[derive(Clone, Debug, Default)]
pub struct Subnet {
    nodes: Vec<Option<SubnetNode>>,
    num_nodes: usize,
    /// The numbers of the switches, in order: most nodes are none.
    switches: Vec<NodeId>,
    by_guid: BTreeMap<Guid, NodeId>,
    by_port_guid: BTreeMap<Guid, PortId>,
    own: Option<PortId>,
    /// GUIDs of nodes that are gone, in the order in which they went.
    gone: VecDeque<Guid>,
    /// Number of the walk that began last.
    walk: u32,
    /// True if any node has lost its trust, which is rare.
    distrusts: bool,
    paths: Paths,
    /// Increases with every change of a node.
    version: u64,
    looks: Looks,
    /// M_Keys and cables that were kept from before.
    pub(crate) m_keys: MKeys,
}

impl Subnet {
    /// The port of the reader; known once the own node has answered.
    #[must_use]
    pub const fn own_port(&self) -> Option<PortId> {
        self.own
    }

    /// A number that increases whenever a node, a port or a table may have changed, so that what was derived from
    /// the subnet can be kept until then.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Number of times that a node was looked at.
    #[cfg(feature = "count")]
    #[doc(hidden)]
    #[must_use]
    pub fn looks(&self) -> usize {
        self.looks.count()
    }

    /// The node with this GUID.
    #[must_use]
    pub fn find(&self, node_guid: Guid) -> Option<NodeId> {
        let id = *self.by_guid.get(&node_guid)?;
        self.node(id).map(|_| id)
    }

    /// The end port with this GUID.
    #[must_use]
    pub fn find_port(&self, port_guid: Guid) -> Option<PortId> {
        self.by_port_guid.get(&port_guid).copied()
    }

    /// All nodes with their numbers, in the order of the numbers.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &SubnetNode)> {
        let numbered = (0..).map(NodeId).zip(&self.nodes);
        numbered.filter_map(|(id, node)| {
            self.looks.note();
            Some((id, node.as_ref()?))
        })
    }

    /// The nodes about which, or about whose ports, anything but the route and the forwarding tables may have changed since
    /// a [version](Self::version).
    pub fn changed_since(&self, version: u64) -> impl Iterator<Item = (NodeId, &SubnetNode)> {
        self.nodes()
            .filter(move |(_, node)| node.version() > version)
    }

    /// Returns true if no node has lost its trust, so that [`is_steady`](Self::is_steady) is true for all.
    #[must_use]
    pub const fn is_trusted(&self) -> bool {
        !self.distrusts
    }

    /// All switches with their numbers, in the order of the numbers.
    pub fn switches(&self) -> impl Iterator<Item = (NodeId, &SubnetSwitch)> {
        let numbers = self.switches.iter();
        numbers.filter_map(|&id| Some((id, self.switch(id)?)))
    }

    /// Number of nodes.
    #[must_use]
    pub const fn num_nodes(&self) -> usize {
        self.num_nodes
    }

    /// All ports with their nodes, in order.
    pub fn ports(&self) -> impl Iterator<Item = (PortId, &SubnetNode, &SubnetPort)> {
        self.nodes().flat_map(|(id, node)| {
            let ports = node.ports();
            ports.map(move |(port, record)| (PortId { node: id, port }, node, record))
        })
    }

    /// The node with this number.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&SubnetNode> {
        self.looks.note();
        self.nodes.get(id.index())?.as_ref()
    }

    /// The port with this identifier.
    #[must_use]
    pub fn port(&self, port: PortId) -> Option<&SubnetPort> {
        self.node(port.node)?.port(port.port)
    }

    /// SwitchInfo and tables of the switch with this number.
    #[must_use]
    pub fn switch(&self, id: NodeId) -> Option<&SubnetSwitch> {
        self.node(id)?.switch()
    }

    /// Returns true if a port has LIDs: a port of a CA or router, or port 0 of a switch.
    #[must_use]
    pub fn is_end_port(&self, port: PortId) -> bool {
        let node = self.node(port.node);
        node.is_some_and(|node| node.is_switch() == (port.port == PortNum::MANAGEMENT))
    }

    /// The route to a port's agent; a switch has one for all its ports. `None` if it begins with a LID-routed part and
    /// one of the LIDs is unknown.
    #[must_use]
    pub fn route(&self, port: PortId) -> Option<SmpRoute> {
        self.resolve(self.reach(port)?)
    }

    /// Permits routes to nodes more than 63 hops away that begin with a LID-routed part to this switch. Its LID and the
    /// forwarding tables that lead there and back must be in place. The permission ends when the switch restarts.
    pub fn continue_from(&mut self, switch: NodeId) {
        if let Some(switch) = self.switch_mut(switch) {
            switch.permit_start();
            self.paths.permit_starts();
        }
    }

    /// The ports whose link is up and behind which a device is unknown because no route leads further: at these,
    /// [`continue_from`](Self::continue_from) helps.
    pub fn ends_of_reach(&self) -> impl Iterator<Item = PortId> {
        let unknown = self.ports().filter(|(id, node, port)| {
            let is_external = node.is_switch() && id.port != PortNum::MANAGEMENT;
            // Few ports are up without a known cable, so few routes are looked at.
            let is_unknown = port.peer().is_none() && is_external && port.is_up();
            is_unknown && node.path().hop_count() == DrPath::MAX_HOPS
        });
        let ends = unknown.filter(|&(port, ..)| self.reach_behind(port).is_none());
        ends.map(|(port, ..)| port)
    }

    /// The stored route to a port's agent.
    pub(crate) fn reach(&self, port: PortId) -> Option<Reach> {
        let node = self.node(port.node)?;
        match node.switch() {
            Some(_) => Some(node.reach()),
            None => node.port(port.port)?.reach(),
        }
    }

    /// The stored route to the device at the other end of a port's cable; `None` if it is out of reach.
    pub(crate) fn reach_behind(&self, port: PortId) -> Option<Reach> {
        let here = self.reach(port)?;
        if let Some(path) = here.path.then(port.port) {
            return Some(Reach { path, ..here });
        }
        let may_start = self.switch(port.node)?.is_start();
        may_start.then_some(Reach {
            start: Some(port.node),
            path: DrPath::OWN_NODE.then(port.port)?,
        })
    }

    pub(crate) fn resolve(&self, reach: Reach) -> Option<SmpRoute> {
        let lid_part = match reach.start {
            Some(start) => Some(LidPart {
                own: self.lid_of(self.own?)?,
                switch: self.lid_of(PortId::management(start))?,
            }),
            None => None,
        };
        Some(SmpRoute::new(lid_part, reach.path))
    }

    fn lid_of(&self, port: PortId) -> Option<Lid> {
        let lid = self.port(port)?.info()?.lid();
        lid.is_unicast().then_some(lid)
    }

    /// The port by its node's GUID, for display.
    #[must_use]
    pub fn port_at(&self, port: PortId) -> PortAt {
        PortAt {
            node_guid: self
                .node(port.node)
                .map_or(Guid::NONE, |node| node.info().node_guid()),
            port_num: port.port,
        }
    }

    /// Returns true if both ends of a port's cable are known and up.
    #[must_use]
    pub fn is_link(&self, port: PortId) -> bool {
        let ends = || {
            let here = self.port(port)?;
            Some(here.is_up() && self.port(here.peer()?)?.is_up())
        };
        ends().unwrap_or(false)
    }

    /// Returns true if a node, and every node on the route to it, gives the same GUID whenever it is asked. Beyond a
    /// node that does not, the same nodes would be found again and again under new GUIDs.
    #[must_use]
    pub fn is_steady(&self, id: NodeId) -> bool {
        if !self.distrusts {
            return true;
        }
        let first = self.node(id);
        let route = core::iter::successors(first, |node| self.node(node.found_via()?.node));
        route.take(self.nodes.len()).all(SubnetNode::is_trusted)
    }

    /// Records the LIDs that an end port was assigned.
    pub fn assign_lids(&mut self, port: PortId, lids: Option<LidRange>) {
        // A port that keeps its LIDs does not count as changed.
        let differs = self.port(port).is_some_and(|port| port.lids() != lids);
        if differs && let Some(port) = self.port_mut(port) {
            port.set_lids(lids);
        }
    }

    /// Records whether the host on a port was asked to subscribe and join again, or need not be asked.
    pub fn set_reregistered(&mut self, port: PortId) {
        if let Some(port) = self.port_mut(port) {
            port.set_reregistered(true);
        }
    }

    /// Records that PortStateChange of a switch was cleared. The bit covers changes since its ports were read, too, so
    /// the next [walk for changes](crate::Walk::changes) compares the states of its ports.
    pub fn set_ports_unsure(&mut self, switch: NodeId) {
        if let Some(switch) = self.switch_mut(switch) {
            switch.set_ports_unsure(true);
        }
    }

    /// Records that the device at the other end of a port is unknown. While the port is up, each
    /// [walk for changes](crate::Walk::changes) asks whether it answers.
    pub(crate) fn expect_neighbor(&mut self, port: PortId) {
        if let Some(port) = self.port_mut(port) {
            port.set_neighbor_silent(port.is_up());
        }
    }

    pub(crate) fn clear_ports_unsure(&mut self) {
        for node in self.nodes.iter_mut().flatten() {
            if let Some(switch) = node.switch_mut() {
                switch.set_ports_unsure(false);
            }
        }
    }

    /// Makes all hosts count as not yet asked to subscribe and join again, for example after another manager was
    /// the master.
    pub fn forget_registrations(&mut self) {
        self.note_change();
        let ports = self.nodes.iter_mut().flatten();
        for port in ports.flat_map(SubnetNode::ports_mut) {
            port.set_reregistered(false);
        }
    }

    /// Records that a node left a request unanswered. Returns whether it is the first one since the last walk
    /// began: one time-out is evidence enough about a node.
    pub fn set_silent(&mut self, id: NodeId) -> bool {
        let node = self.node_mut(id);
        node.is_some_and(SubnetNode::note_silence)
    }

    /// Prepares a switch's linear table for the writes of a row of routes, if no block of it is known: blocks that are
    /// recorded as the row has them take no memory of their own.
    pub fn expect_lft(&mut self, id: NodeId, row: &SharedLft) {
        if let Some(switch) = self.forwarding_mut(id) {
            switch.lft_mut().expect(row);
        }
    }

    /// Reserves the memory of a switch's linear table of so many blocks, if no block of it is known. Once all blocks are
    /// recorded, routes can share it.
    pub(crate) fn reserve_lft(&mut self, id: NodeId, blocks: u16) {
        if let Some(switch) = self.forwarding_mut(id) {
            switch.lft_mut().reserve_row(blocks);
        }
    }

    /// Lets the page of a block of a switch's linear table share the memory of an equal page of a pool, if all of the page
    /// is known.
    pub(crate) fn merge_lft_page(&mut self, id: NodeId, block: u16, pool: &mut PagePool) {
        if let Some(switch) = self.forwarding_mut(id) {
            switch.lft_mut().merge_page(block, pool);
        }
    }

    /// Lets a switch's linear table share the memory of a row of routes, if all of it is known and equal to the row.
    /// Returns whether it does.
    pub fn share_lft(&mut self, id: NodeId, row: &SharedLft) -> bool {
        let switch = self.forwarding_mut(id);
        switch.is_some_and(|switch| switch.lft_mut().share(row))
    }

    /// Begins a walk: silent nodes are asked again. A walk of everything also trusts all GUIDs again.
    pub(crate) fn begin_walk(&mut self, everything: bool) -> u32 {
        self.walk = self.walk.wrapping_add(1);
        self.note_change();
        for node in self.nodes.iter_mut().flatten() {
            node.begin_walk(everything);
        }
        if everything {
            self.distrusts = false;
        }
        self.walk
    }

    pub(crate) fn set_own_port(&mut self, own: PortId) {
        if self.own.is_some_and(|before| before != own) {
            self.paths.lose_track();
        }
        self.own = Some(own);
    }

    /// Records the route by which a node answered.
    pub(crate) fn set_reach(&mut self, id: NodeId, reach: Reach, found_via: Option<PortId>) {
        let Some(node) = self.node_mut(id) else {
            return;
        };
        let before = node.found_via();
        if node.set_reach(reach, found_via) || before != found_via {
            self.paths.lose_track();
        }
    }

    /// Adds an unknown node, or replaces a known one that reports another type or number of ports under the same
    /// GUID.
    pub(crate) fn add(
        &mut self,
        info: NodeInfo,
        reach: Reach,
        found_via: Option<PortId>,
    ) -> NodeId {
        let guid = info.node_guid();
        let remembered = self.by_guid.get(&guid).copied();
        let id = remembered.unwrap_or_else(|| self.free_number());
        if remembered.is_some() {
            self.remove_at(id);
            self.gone.retain(|&gone| gone != guid);
        }
        self.by_guid.insert(guid, id);
        self.note_change();
        if let Some(slot) = self.nodes.get_mut(id.index()) {
            let mut node = SubnetNode::new(info, reach, found_via);
            node.set_version(self.version);
            if node.is_switch()
                && let Err(place) = self.switches.binary_search(&id)
            {
                self.switches.insert(place, id);
            }
            *slot = Some(node);
            self.num_nodes = self.num_nodes.saturating_add(1);
        }
        id
    }

    fn free_number(&mut self) -> NodeId {
        if self.gone.len() >= MAX_REMEMBERED
            && let Some(id) = self
                .gone
                .pop_front()
                .and_then(|guid| self.by_guid.remove(&guid))
        {
            return id;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(None);
        id
    }

    /// Forgets all facts about a node except its number.
    pub(crate) fn remove(&mut self, id: NodeId) {
        if let Some(guid) = self.node(id).map(|node| node.info().node_guid()) {
            self.remove_at(id);
            self.gone.push_back(guid);
        }
    }

    fn remove_at(&mut self, id: NodeId) {
        let Some(node) = self.nodes.get_mut(id.index()).and_then(Option::take) else {
            return;
        };
        self.note_change();
        self.num_nodes = self.num_nodes.saturating_sub(1);
        self.paths.forget(id);
        if self.own.is_some_and(|own| own.node == id) {
            self.paths.lose_track();
        }
        if let Ok(place) = self.switches.binary_search(&id) {
            self.switches.remove(place);
        }
        for (port, record) in node.ports() {
            let here = PortId { node: id, port };
            if self.by_port_guid.get(&record.guid()) == Some(&here) {
                self.by_port_guid.remove(&record.guid());
            }
            if let Some(peer) = record.peer()
                && let Some(there) = self.port_mut(peer)
                && there.peer() == Some(here)
            {
                there.disconnect();
                self.note_removed_cable(here, peer);
            }
        }
        self.paths.set_stale();
    }

    /// Connects two ports by a cable that the present walk has seen. Returns false, and changes nothing, if the
    /// same walk has seen another cable at one of them.
    pub(crate) fn link(&mut self, a: PortId, b: PortId) -> bool {
        let walk = self.walk;
        let mut stale = Vec::new();
        for (here, other) in [(a, b), (b, a)] {
            let Some(port) = self.port(here) else {
                return self.refuse_cable();
            };
            match port.peer() {
                Some(peer) if peer != other && port.is_cable_confirmed_in(walk) => {
                    return self.refuse_cable();
                }
                Some(peer) if peer != other => stale.push(here),
                _ => {}
            }
        }
        for port in stale {
            self.unlink(port);
        }
        for (port, other) in [(a, b), (b, a)] {
            if let Some(port) = self.port_mut(port) {
                port.connect(other, walk);
            }
        }
        for (port, other) in [(a, b), (b, a)] {
            self.note_cable(port, other);
        }
        true
    }

    /// Leaves out a cable. A node that answered over it alone has a route over no cable. Returns false.
    fn refuse_cable(&mut self) -> bool {
        self.paths.lose_track();
        false
    }

    /// Returns true if a cable that an earlier walk saw ends at one of the two ports but not at the other.
    pub(crate) fn has_older_cable(&self, a: PortId, b: PortId) -> bool {
        let other = |here, there| {
            let port: Option<&SubnetPort> = self.port(here);
            port.is_some_and(|port| port.peer().is_some_and(|peer| peer != there))
        };
        other(a, b) || other(b, a)
    }

    /// Removes the cable at a port, from both its ends.
    pub(crate) fn unlink(&mut self, port: PortId) {
        let peer = self.port_mut(port).and_then(SubnetPort::disconnect);
        let Some(peer) = peer else { return };
        for (from, to) in [(port, peer), (peer, port)] {
            self.note_removed_cable(from, to);
        }
        if let Some(there) = self.port_mut(peer)
            && there.peer() == Some(port)
        {
            there.disconnect();
        }
    }

    /// Registers the GUID of an end port.
    pub(crate) fn set_port_guid(&mut self, at: PortId, port_guid: Guid) {
        let Some(port) = self.port_mut(at) else {
            return;
        };
        let before = port.set_guid(port_guid);
        if before != port_guid && self.by_port_guid.get(&before) == Some(&at) {
            self.by_port_guid.remove(&before);
        }
        // If two ports have one GUID, the GUID names the port that was found first.
        self.by_port_guid.entry(port_guid).or_insert(at);
    }

    /// Records that a node's GUID cannot be trusted.
    pub(crate) fn distrust(&mut self, id: NodeId) {
        self.distrusts = true;
        if let Some(node) = self.node_mut(id) {
            node.distrust();
        }
    }

    const fn note_change(&mut self) {
        self.version = self.version.wrapping_add(1);
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> Option<&mut SubnetNode> {
        self.note_change();
        self.looks.note();
        let node = self.nodes.get_mut(id.index())?.as_mut()?;
        node.set_version(self.version);
        Some(node)
    }

    pub(crate) fn switch_mut(&mut self, id: NodeId) -> Option<&mut SubnetSwitch> {
        self.node_mut(id)?.switch_mut()
    }

    /// A switch whose forwarding tables are to change, and nothing else.
    pub(crate) fn forwarding_mut(&mut self, id: NodeId) -> Option<&mut SubnetSwitch> {
        self.note_change();
        self.looks.note();
        self.nodes.get_mut(id.index())?.as_mut()?.switch_mut()
    }

    /// A node whose route is to change, and nothing else. The caller notes the change.
    fn route_mut(&mut self, id: NodeId) -> Option<&mut SubnetNode> {
        self.looks.note();
        self.nodes.get_mut(id.index())?.as_mut()
    }

    pub(crate) fn port_mut(&mut self, port: PortId) -> Option<&mut SubnetPort> {
        self.node_mut(port.node)?.port_mut(port.port)
    }
}

#[cfg(test)]
mod tests;
