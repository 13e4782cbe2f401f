//! A snapshot: the state of the devices of a subnet at one time.
//!
//! Attributes are kept as they came from the wire. A value that was not read is `None` or absent, which is not the same
//! as zero. M_Keys, SM_Keys and Q_Keys are left out because people pass snapshots on. Nodes are in the order of their GUIDs, so
//! two snapshots of one subnet list them in the same order.

mod binary;
mod file;
mod view;

use alloc::{
    collections::BTreeMap,
    string::{String, ToString as _},
    vec::Vec,
};

use bitflags::bitflags;
use ib_mad::ClassPortInfo;
use ib_routing::{NodeIdx, NodeType, PortRef, index::IdxVec};
use ib_sa::McMemberRecord;
use ib_smp::{
    DrPath, LinearForwardingTable, MftModifier, MlnxExtPortInfo, MulticastForwardingTable,
    NodeDescription, NodeInfo, PartitionKeyTable, PortInfo, PortPhysicalState, PortState,
    SlToVlMappingTable, SmInfo, SwitchInfo, VlArbitrationHalf, VlArbitrationTable,
};
use ib_wire::{Guid, Lid, PKey, PortNum, QKey, addr::LidRange};

pub use self::file::SnapshotError;
#[cfg(any(test, feature = "arbitrary"))]
pub(crate) use self::file::VERSION;
use crate::counters::CounterReadings;

bitflags! {
    /// Contents of a snapshot in addition to nodes, ports and cables.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Contents: u16 {
        /// Linear and multicast forwarding tables.
        const FORWARDING = 1 << 0;
        /// SLtoVL mapping and VL arbitration tables.
        const QOS = 1 << 1;
        /// P_Key tables.
        const P_KEYS = 1 << 2;
        /// Performance counters.
        const COUNTERS = 1 << 3;
        /// SMInfo of the ports that run a subnet manager.
        const SM_INFO = 1 << 4;
    }
}

/// The attributes of the devices of a subnet at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Time at which the reading began, in milliseconds since 1970-01-01 00:00 UTC; 0 if unknown.
    pub taken_at: u64,
    /// The programs that took the snapshot: name and version of each.
    pub tools: Vec<(String, String)>,
    /// The attributes that were read in addition to nodes, ports and cables.
    pub contents: Contents,
    /// The port from which the subnet was read; `None` if not even the local node responded.
    pub own_port: Option<PortRef>,
    /// The nodes in the order of their GUIDs; each GUID occurs once.
    pub nodes: IdxVec<NodeIdx, SnapshotNode>,
    /// Devices that left requests unanswered.
    pub silent: Vec<SilentDevice>,
    /// Devices that claim the GUID of another device, or a new GUID with each answer.
    pub duplicates: Vec<DuplicateGuid>,
    /// The multicast groups that subnet administration knows, with their members if it shows them to the asker; `None` if
    /// it was not asked or did not answer. A collector does not ask it: see [`set_groups`](Self::set_groups).
    pub groups: Option<Vec<McMemberRecord>>,
}

/// A device that left requests unanswered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentDevice {
    /// The directed route of the unanswered requests.
    pub path: DrPath,
    /// Node GUID of the device; `None` if the device never responded.
    pub node_guid: Option<Guid>,
}

/// A device whose NodeInfo has the GUID of another device, or a different GUID with each answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateGuid {
    /// The GUID that the device claims.
    pub node_guid: Guid,
    /// The directed route to the device.
    pub path: DrPath,
    /// The port at the other end of the device's cable; `None` if it is unknown.
    pub behind: Option<PortRef>,
    /// The GUID in the first answer of a device that gave several GUIDs; `None` if it gave only one.
    pub before: Option<Guid>,
}

/// One node of a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotNode {
    /// The directed route over which the node was read.
    pub path: DrPath,
    /// NodeInfo of the node.
    pub info: NodeInfo,
    /// NodeDescription of the node; `None` if it was not read.
    pub description: Option<NodeDescription>,
    /// A name from a node name map that replaces the description. The snapshot file does not contain it.
    pub alias: Option<String>,
    /// SwitchInfo of a switch; `None` for other nodes, or if it was not read.
    pub switch_info: Option<SwitchInfo>,
    /// The blocks of the linear forwarding table of a switch, by block number.
    pub lft: BTreeMap<u16, LinearForwardingTable>,
    /// The blocks of the multicast forwarding table of a switch.
    pub mft: BTreeMap<MftModifier, MulticastForwardingTable>,
    /// The SLtoVL tables by (input port, output port); for a CA or router by (0, port).
    pub sl_to_vl: BTreeMap<(PortNum, PortNum), SlToVlMappingTable>,
    /// The ports by number; port 0 of a CA or router is unused.
    pub ports: Vec<SnapshotPort>,
}

/// One port of a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SnapshotPort {
    /// GUID of the port; zero for an external port of a switch.
    pub guid: Guid,
    /// PortInfo of the port; `None` if it was not read.
    pub info: Option<PortInfo>,
    /// True if the link runs at FDR10, a vendor-specific speed that PortInfo shows as QDR.
    pub is_fdr10: bool,
    /// The vendor attribute with FDR10; `None` if it was not read. It is read of ports that PortInfo shows at QDR, whose device
    /// has it.
    pub vendor_speeds: Option<MlnxExtPortInfo>,
    /// The other end of the cable; `None` if it is unknown.
    pub peer: Option<PortRef>,
    /// The VL arbitration tables by half.
    pub vl_arbitration: BTreeMap<VlArbitrationHalf, VlArbitrationTable>,
    /// The blocks of the P_Key table by block number.
    pub p_keys: BTreeMap<u16, PartitionKeyTable>,
    /// SMInfo of the subnet manager on the port; `None` if there is no manager or SMInfo was not read.
    pub sm_info: Option<SmInfo>,
    /// ClassPortInfo of the agent for performance management; `None` if it was not read.
    pub perf_class_port_info: Option<ClassPortInfo>,
    /// The performance counters of the port.
    pub counters: CounterReadings,
}

impl Snapshot {
    /// The node with this index; `None` if the snapshot has no such node.
    #[must_use]
    pub fn node(&self, node: NodeIdx) -> Option<&SnapshotNode> {
        self.nodes.find(node)
    }

    /// The port at this place; `None` if the snapshot has no such port.
    #[must_use]
    pub fn port(&self, port: PortRef) -> Option<&SnapshotPort> {
        self.nodes.find(port.node)?.port(port.port)
    }

    /// The port at this place, for a change; `None` if the snapshot has no such port.
    #[must_use]
    pub fn port_mut(&mut self, port: PortRef) -> Option<&mut SnapshotPort> {
        let node = self.nodes.find_mut(port.node)?;
        node.ports.get_mut(usize::from(port.port.0))
    }

    /// The node with this GUID.
    #[must_use]
    pub fn node_by_guid(&self, guid: Guid) -> Option<NodeIdx> {
        let nodes = self.nodes.as_slice();
        let found = nodes.binary_search_by_key(&guid, SnapshotNode::guid);
        found.ok().map(ib_routing::index::Idx::new)
    }

    /// All ports of all nodes: from port 0 for a switch, from port 1 for other nodes.
    pub fn ports(&self) -> impl Iterator<Item = (PortRef, &SnapshotNode, &SnapshotPort)> {
        self.nodes.iter_enumerated().flat_map(|(index, node)| {
            let ports = node.ports();
            ports.map(move |(number, port)| {
                let at = PortRef {
                    node: index,
                    port: number,
                };
                (at, node, port)
            })
        })
    }

    /// Every cable once, starting with the end at the lower node index.
    pub fn cables(&self) -> impl Iterator<Item = (PortRef, PortRef)> + '_ {
        self.ports().filter_map(|(here, _, port)| {
            let peer = port.peer?;
            // A port that is its own peer has a loopback plug.
            (here <= peer).then_some((here, peer))
        })
    }

    /// The last port on a directed route before the device at its end; `None` if the route leaves what was read, or has no
    /// hop.
    #[must_use]
    pub fn in_front_of(&self, path: &DrPath) -> Option<PortRef> {
        let mut node = self.own_port?.node;
        let ports: Vec<PortNum> = path.ports().collect();
        let (&last, way) = ports.split_last()?;
        for &port in way {
            node = self.port(PortRef { node, port })?.peer?.node;
        }
        Some(PortRef { node, port: last })
    }

    /// Adds what subnet administration answered to a query for all its multicast groups, without the Q_Keys.
    pub fn set_groups(&mut self, mut records: Vec<McMemberRecord>) {
        for record in &mut records {
            record.set_q_key(QKey(0));
        }
        self.groups = Some(records);
    }

    /// The name of a node; empty if the index is not in this snapshot.
    #[must_use]
    pub fn name(&self, node: NodeIdx) -> String {
        self.node(node).map_or_else(String::new, SnapshotNode::name)
    }
}

impl SnapshotNode {
    /// A node of which only NodeInfo is known.
    #[must_use]
    pub fn new(info: NodeInfo, path: DrPath) -> Self {
        let count = usize::from(info.num_ports()).saturating_add(1);
        let mut ports = alloc::vec![SnapshotPort::default(); count];
        let own = match is_switch(&info) {
            true => PortNum::MANAGEMENT,
            false => info.local_port_num(),
        };
        if let Some(port) = ports.get_mut(usize::from(own.0)) {
            port.guid = info.port_guid();
        }
        Self {
            path,
            info,
            description: None,
            alias: None,
            switch_info: None,
            lft: BTreeMap::new(),
            mft: BTreeMap::new(),
            sl_to_vl: BTreeMap::new(),
            ports,
        }
    }

    /// Node GUID.
    #[must_use]
    pub fn guid(&self) -> Guid {
        self.info.node_guid()
    }

    /// Returns true if it is a switch.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        is_switch(&self.info)
    }

    /// The kind of node. A node that is neither a switch nor a router counts as a CA.
    #[must_use]
    pub fn type_(&self) -> NodeType {
        ib_subnet::node_type(&self.info)
    }

    /// NodeDescription as text on one line; empty if it is unknown.
    #[must_use]
    pub fn description(&self) -> String {
        let text = self.description.as_ref();
        text.map_or_else(String::new, ib_subnet::description)
    }

    /// The name of the node for people: the name in the node name map, else the description, else the GUID.
    #[must_use]
    pub fn name(&self) -> String {
        if let Some(alias) = &self.alias {
            return alias.clone();
        }
        let description = self.description();
        match description.trim() {
            "" => self.guid().to_string(),
            _ => description,
        }
    }

    /// The port with this number.
    #[must_use]
    pub fn port(&self, port: PortNum) -> Option<&SnapshotPort> {
        self.ports.get(usize::from(port.0))
    }

    /// All ports of the node with their numbers: from port 0 for a switch, from port 1 for other nodes.
    pub fn ports(&self) -> impl Iterator<Item = (PortNum, &SnapshotPort)> {
        let skipped = usize::from(!self.is_switch());
        let numbered = (0..=u8::MAX).map(PortNum).zip(&self.ports);
        numbered.skip(skipped)
    }

    /// The ports that have LIDs of their own: port 0 of a switch, every port of another node.
    pub fn end_ports(&self) -> impl Iterator<Item = (PortNum, &SnapshotPort)> {
        let is_switch = self.is_switch();
        self.ports()
            .filter(move |(number, _)| !is_switch || *number == PortNum::MANAGEMENT)
    }

    /// The port that holds the LID of the agents responsible for a port: port 0 for a switch, else the port itself.
    #[must_use]
    pub fn managing_port(&self, port: PortNum) -> PortNum {
        match self.is_switch() {
            true => PortNum::MANAGEMENT,
            false => port,
        }
    }

    /// Returns true if the extended speeds in PortInfo of the node's port are valid: the agent announces that it
    /// supports them.
    #[must_use]
    pub fn has_extended_speeds(&self, port: PortNum) -> bool {
        let port = self.port(self.managing_port(port));
        let info = port.and_then(|port| port.info);
        info.is_some_and(|info| {
            let extended = ib_smp::CapabilityMask::IS_EXTENDED_SPEEDS_SUPPORTED;
            info.capability_mask().contains(extended)
        })
    }

    /// The output port of the linear forwarding table for a LID; `None` if the block was not read.
    /// LIDs above LinearFDBTop are not forwarded.
    #[must_use]
    pub fn lft_port(&self, lid: Lid) -> Option<PortNum> {
        let info = self.switch_info.as_ref()?;
        if lid > info.linear_fdb_top() {
            return Some(PortNum::UNREACHABLE);
        }
        let (block, entry) = LinearForwardingTable::block_of(lid);
        self.lft.get(&block)?.port_block(entry)
    }
}

impl SnapshotPort {
    /// Logical state; `None` if PortInfo was not read.
    #[must_use]
    pub fn state(&self) -> Option<PortState> {
        Some(self.info?.port_state())
    }

    /// Returns true if the physical link is up.
    #[must_use]
    pub fn is_link_up(&self) -> bool {
        self.info
            .is_some_and(|info| info.port_physical_state() == PortPhysicalState::LINK_UP)
    }

    /// The LIDs of an end port.
    #[must_use]
    pub fn lids(&self) -> Option<LidRange> {
        let info = self.info?;
        LidRange::try_new(info.lid(), info.lmc()).ok()
    }

    /// Base LID; [`Lid::NONE`] if the port has no LID or PortInfo was not read.
    #[must_use]
    pub fn lid(&self) -> Lid {
        self.lids().map_or(Lid::NONE, LidRange::base)
    }

    /// The P_Keys in the table, in the order of its entries; empty entries are left out.
    pub fn p_keys(&self) -> impl Iterator<Item = PKey> + '_ {
        let keys = self.p_keys.values().flat_map(|block| {
            let entries = usize::from(PartitionKeyTable::ENTRIES);
            (0..entries).filter_map(|entry| block.p_key_block(entry))
        });
        keys.filter(|key| key.base() != 0)
    }
}

fn is_switch(info: &NodeInfo) -> bool {
    info.node_type() == NodeType::SWITCH
}
