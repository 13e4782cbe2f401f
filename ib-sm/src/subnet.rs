//! What the manager knows about the subnet: nodes, ports, links, tables.
//!
//! A heavy sweep builds a new database and takes over from the old one only what devices keep and
//! cannot be seen cheaper: the forwarding tables. This is the one file that indexes.

use alloc::{collections::BTreeMap, vec, vec::Vec};

use ib_routing::SwitchIdx;
use ib_smp::{
    DrPath, MftModifier, NodeDescription, NodeInfo, NodeType, PortInfo, PortState,
    SlToVlMappingTable, SwitchInfo,
};
use ib_wire::{Guid, PKey, PortNum, addr::LidRange};

use crate::event::PortAt;

/// Index of a node in a [`Subnet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeIdx(u32);

impl NodeIdx {
    /// The node that the manager sits on.
    pub const OWN: Self = Self(0);

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A port of a node in a [`Subnet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortRef {
    /// The node.
    pub node: NodeIdx,
    /// Its port.
    pub port: PortNum,
}

impl PortRef {
    /// Port 0 of a switch.
    #[must_use]
    pub const fn management(node: NodeIdx) -> Self {
        Self {
            node,
            port: PortNum(0),
        }
    }
}

/// The nodes of a subnet, in the order in which they were found; the manager's own comes first.
#[derive(Clone, Debug, Default)]
pub struct Subnet {
    nodes: Vec<Node>,
    by_guid: BTreeMap<Guid, NodeIdx>,
    by_port_guid: BTreeMap<Guid, PortRef>,
    /// Whether any node has lost its trust: nearly never.
    distrusts: bool,
}

/// One node.
#[derive(Clone, Debug)]
pub struct Node {
    /// NodeInfo, as the port heard first gave it.
    pub info: NodeInfo,
    /// NodeDescription; zeros until it is known.
    pub description: NodeDescription,
    /// Of a switch.
    pub switch: Option<Switch>,
    /// The shortest directed route to it.
    pub path: DrPath,
    /// The port behind which it was heard first; `None` for the own node.
    pub(crate) found_via: Option<PortRef>,
    /// How far its GUID can be trusted.
    pub(crate) trust: Trust,
    /// Its PortInfo has speeds that it shows only to who knows them.
    pub(crate) extended_speeds: bool,
    /// Whether it left a request unanswered in this sweep.
    pub silent: bool,
    ports: Vec<Port>,
}

/// How far a node's GUID can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Nothing speaks against it.
    #[default]
    Given,
    /// A cable behind it ends where another one does already: it is asked again.
    Checked,
    /// It said something else when it was asked again.
    Lost,
}

/// What only a switch has.
#[derive(Clone, Debug, Default)]
pub struct Switch {
    /// SwitchInfo, once it is known.
    pub info: Option<SwitchInfo>,
    /// The linear forwarding table as far as the switch is known to hold it.
    pub lft: KnownTable,
    /// The multicast forwarding table as far as the switch is known to hold it.
    pub(crate) mft: BTreeMap<MftModifier, [u8; 64]>,
    /// It was just started when it was first seen: what was not written since holds nothing.
    pub(crate) is_fresh: bool,
    /// SLtoVL tables by input and output port, as far as they were written.
    pub(crate) sl_to_vl: BTreeMap<(PortNum, PortNum), SlToVlMappingTable>,
    /// Its index in the fabric that is routed, if it takes part.
    pub routed: Option<SwitchIdx>,
}

/// A table of blocks in a device; blocks that were never read or written are not known.
#[derive(Clone, Debug, Default)]
pub struct KnownTable {
    blocks: Vec<Option<[u8; 64]>>,
}

/// One port.
#[derive(Clone, Debug, Default)]
pub struct Port {
    /// PortInfo, once it is known.
    pub info: Option<PortInfo>,
    /// GUID; zero for the external ports of a switch.
    pub guid: Guid,
    /// The other end of its link.
    pub peer: Option<PortRef>,
    /// Of a CA or router port: the directed route to it.
    pub path: Option<DrPath>,
    /// Whether the link is up and nobody answered behind it.
    pub neighbor_silent: bool,
    /// LIDs of an end port, once they are chosen.
    pub lids: Option<LidRange>,
    /// Whether the host was told to subscribe and join again by this manager.
    pub(crate) reregistered: bool,
    /// Of a CA or router port: its SLtoVL table, if it was written.
    pub(crate) sl_to_vl: Option<SlToVlMappingTable>,
    /// Its VL arbitration table, as far as it was written: low priority first, then high.
    pub(crate) vl_arbitration: KnownTable,
    /// Its P_Key table, as far as it was read or written.
    pub(crate) p_key_table: KnownTable,
}

impl Subnet {
    /// Adds a node that was heard over `path`. Returns what is known already under its GUID.
    pub(crate) fn add(&mut self, info: NodeInfo, path: DrPath) -> Result<NodeIdx, NodeIdx> {
        if let Some(&known) = self.by_guid.get(&info.node_guid()) {
            return Err(known);
        }
        let index = NodeIdx(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        let is_switch = info.node_type() == NodeType::SWITCH;
        self.nodes.push(Node {
            switch: is_switch.then(Switch::default),
            ports: vec![Port::default(); usize::from(info.num_ports()).saturating_add(1)],
            description: NodeDescription::default(),
            info,
            path,
            found_via: None,
            trust: Trust::Given,
            extended_speeds: false,
            silent: false,
        });
        self.by_guid.insert(info.node_guid(), index);
        Ok(index)
    }

    /// Joins two ports. Returns false, and changes nothing, if one has another peer already.
    pub(crate) fn link(&mut self, a: PortRef, b: PortRef) -> bool {
        let free = |port: PortRef, other| match self.port(port) {
            Some(port) => port.peer.is_none_or(|peer| peer == other),
            None => false,
        };
        if !free(a, b) || !free(b, a) {
            return false;
        }
        for (port, other) in [(a, b), (b, a)] {
            if let Some(port) = self.port_mut(port) {
                port.peer = Some(other);
            }
        }
        true
    }

    /// The node with this GUID.
    #[must_use]
    pub fn find(&self, node_guid: Guid) -> Option<NodeIdx> {
        self.by_guid.get(&node_guid).copied()
    }

    /// The end port with this GUID.
    #[must_use]
    pub fn find_port(&self, port_guid: Guid) -> Option<PortRef> {
        self.by_port_guid.get(&port_guid).copied()
    }

    /// Names an end port.
    pub(crate) fn set_port_guid(&mut self, at: PortRef, port_guid: Guid) {
        if let Some(port) = self.port_mut(at) {
            port.guid = port_guid;
            // Of two ports with one GUID the one that was found first is meant.
            self.by_port_guid.entry(port_guid).or_insert(at);
        }
    }

    /// All nodes with their indices.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeIdx, &Node)> {
        (0..).map(NodeIdx).zip(&self.nodes)
    }

    /// All switches with their indices.
    pub fn switches(&self) -> impl Iterator<Item = (NodeIdx, &Switch)> {
        let nodes = self.nodes();
        nodes.filter_map(|(index, node)| Some((index, node.switch.as_ref()?)))
    }

    /// One node.
    #[must_use]
    pub fn node(&self, index: NodeIdx) -> Option<&Node> {
        self.nodes.get(index.0 as usize)
    }

    pub(crate) fn node_mut(&mut self, index: NodeIdx) -> Option<&mut Node> {
        self.nodes.get_mut(index.0 as usize)
    }

    /// Whether a node, and every node on the way to it, says the same whenever it is asked. A node that does not has as
    /// many GUIDs as there are questions, and behind them everything is found again and again.
    pub(crate) fn is_steady(&self, index: NodeIdx) -> bool {
        if !self.distrusts {
            return true;
        }
        let first = self.node(index);
        let way = core::iter::successors(first, |node| self.node(node.found_via?.node));
        // A route has 63 hops.
        way.take(64).all(|node| node.trust != Trust::Lost)
    }

    /// Notes that a node's GUID is nothing to go by.
    pub(crate) fn distrust(&mut self, index: NodeIdx) {
        self.distrusts = true;
        if let Some(node) = self.node_mut(index) {
            node.trust = Trust::Lost;
        }
    }

    pub(crate) fn switch_mut(&mut self, index: NodeIdx) -> Option<&mut Switch> {
        self.node_mut(index)?.switch.as_mut()
    }

    /// One port.
    #[must_use]
    pub fn port(&self, port: PortRef) -> Option<&Port> {
        self.node(port.node)?.port(port.port)
    }

    pub(crate) fn port_mut(&mut self, port: PortRef) -> Option<&mut Port> {
        let node = self.node_mut(port.node)?;
        node.ports.get_mut(usize::from(port.port.0))
    }

    /// The directed route to a port's agent: a switch has one for all its ports.
    #[must_use]
    pub fn path(&self, port: PortRef) -> Option<DrPath> {
        let node = self.node(port.node)?;
        match node.switch {
            Some(_) => Some(node.path),
            None => node.port(port.port)?.path,
        }
    }

    /// The port by its node's GUID, for people.
    #[must_use]
    pub fn port_at(&self, port: PortRef) -> PortAt {
        PortAt {
            node_guid: self
                .node(port.node)
                .map_or(Guid::NONE, |node| node.info.node_guid()),
            port_num: port.port,
        }
    }
}

impl Node {
    /// A port by its number; 0 only of a switch.
    #[must_use]
    pub fn port(&self, port: PortNum) -> Option<&Port> {
        self.ports.get(usize::from(port.0))
    }

    /// All ports from 0; that of a CA is unused.
    pub fn ports(&self) -> impl Iterator<Item = (PortNum, &Port)> {
        (0..=u8::MAX).map(PortNum).zip(&self.ports)
    }

    /// Whether it is a switch.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.switch.is_some()
    }
}

impl Port {
    /// Notes what a port answered. ClientReregister reads back as it was written and says nothing.
    pub(crate) fn set_info(&mut self, mut info: PortInfo) {
        info.set_client_reregister(false);
        self.info = Some(info);
    }

    /// The keys of the partitions that it is in. A table that was never read holds the default key, as
    /// after a reset.
    pub fn p_keys(&self) -> impl Iterator<Item = PKey> + '_ {
        let blocks = self.p_key_table.blocks();
        let known = blocks.flat_map(|(_, bytes)| bytes.as_chunks().0);
        let known = known.map(|&key| PKey(u16::from_be_bytes(key)));
        let default = self.p_key_table.is_empty().then_some(PKey::DEFAULT_FULL);
        known.filter(|key| key.base() != 0).chain(default)
    }

    /// Whether the port is in the partition of a key, full or limited.
    #[must_use]
    pub fn has_p_key(&self, p_key: PKey) -> bool {
        self.p_keys().any(|own| own.base() == p_key.base())
    }

    /// The key by which packets pass between two ports: of the partition of `wanted`, if one is named;
    /// else of the first that there is. The member bit is that of this port.
    #[must_use]
    pub fn shared_p_key(&self, other: &Self, wanted: Option<PKey>) -> Option<PKey> {
        self.p_keys().find(|own| {
            wanted.is_none_or(|wanted| wanted.base() == own.base())
                && other.p_keys().any(|key| key.matches(*own))
        })
    }

    /// Logical state as it was last seen; Down if nothing is known.
    #[must_use]
    pub fn state(&self) -> PortState {
        self.info.map_or(PortState::DOWN, |info| info.port_state())
    }

    /// Whether the link is up: Initialize, Armed or Active.
    #[must_use]
    pub fn is_up(&self) -> bool {
        matches!(
            self.state(),
            PortState::INITIALIZE | PortState::ARMED | PortState::ACTIVE
        )
    }
}

impl KnownTable {
    /// The block as the device holds it, if that is known.
    #[must_use]
    pub fn block(&self, block: u16) -> Option<&[u8; 64]> {
        self.blocks.get(usize::from(block))?.as_ref()
    }

    /// Whether no block is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The blocks that are known, with their numbers.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u16, &[u8; 64])> {
        let numbered = (0..=u16::MAX).zip(&self.blocks);
        numbered.filter_map(|(block, bytes)| Some((block, bytes.as_ref()?)))
    }

    /// Makes room for the blocks up to `last`.
    pub(crate) fn reserve(&mut self, last: u16) {
        let missing = usize::from(last).saturating_add(1);
        let missing = missing.saturating_sub(self.blocks.len());
        self.blocks.reserve_exact(missing);
    }

    pub(crate) fn set(&mut self, block: u16, bytes: [u8; 64]) {
        let index = usize::from(block);
        if self.blocks.len() <= index {
            self.blocks.resize(index.saturating_add(1), None);
        }
        if let Some(known) = self.blocks.get_mut(index) {
            *known = Some(bytes);
        }
    }

    /// Forgets a block: a Set may or may not have arrived.
    pub(crate) fn forget(&mut self, block: u16) {
        if let Some(known) = self.blocks.get_mut(usize::from(block)) {
            *known = None;
        }
    }
}
