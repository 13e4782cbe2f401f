//! A snapshot in the types of the routing crate: a fabric, its LIDs, its routes and multicast groups.

use alloc::{collections::BTreeMap, vec::Vec};

use ib_routing::{
    Fabric, FabricBuilder, LidMap, NewNode, PortPairs, PortRef, Routes, SlTable, VlMap, engine,
    mcast::{MulticastTree, PortSet},
};
use ib_smp::{LinearForwardingTable, MulticastForwardingTable};
use ib_subnet::active_speed;
use ib_wire::{Lid, PortNum, Sl};

use super::Snapshot;

impl Snapshot {
    /// Nodes, ports and cables. A node has the same index in the fabric as in the snapshot. A name from a node name map
    /// replaces the description.
    #[must_use]
    pub fn fabric(&self) -> Fabric {
        let mut builder = FabricBuilder::new();
        for node in self.nodes.iter() {
            let info = &node.info;
            // The GUIDs of a snapshot are unique, so no node is refused.
            let _ = builder.add_node(NewNode {
                type_: node.type_(),
                guid: node.guid(),
                num_ports: info.num_ports(),
                system_image_guid: info.system_image_guid(),
                vendor_id: info.vendor_id(),
                device_id: info.device_id(),
                description: node.alias.clone().unwrap_or_else(|| node.description()),
                enhanced_port_0: node.switch_info.is_some_and(|info| info.enhanced_port0()),
                ..NewNode::default()
            });
        }
        for (at, node, observed) in self.ports() {
            let Some(port) = builder.port_mut(at) else {
                continue;
            };
            port.guid = observed.guid;
            if node.is_switch() && at.port != PortNum::MANAGEMENT {
                port.guid = node.guid();
            }
            if let Some(info) = &observed.info {
                if !node.is_switch() || at.port == PortNum::MANAGEMENT {
                    (port.lid, port.lmc) = (info.lid(), info.lmc());
                }
                port.width = info.width();
                port.speed = active_speed(info, node.has_extended_speeds(at.port));
                if observed.is_fdr10 {
                    port.speed = Some(ib_routing::LinkSpeed::Fdr10);
                }
            }
        }
        for (a, b) in self.cables() {
            // A cable that contradicts another one is reported as a finding; it is left out of the fabric.
            let _ = builder.add_link(a, b);
        }
        builder.build()
    }

    /// The forwarding and SLtoVL tables installed in the switches. Every packet has service level `sl`.
    #[must_use]
    pub fn routes(&self, fabric: &Fabric, lids: &LidMap, sl: Sl) -> Routes {
        let mut routes = Routes::new(&engine::FILE, fabric, lids);
        for (switch, &index) in fabric.switches().iter_enumerated() {
            let Some(node) = self.node(index) else {
                continue;
            };
            let top = node
                .switch_info
                .map_or(Lid::NONE, |info| info.linear_fdb_top());
            for (&number, block) in &node.lft {
                let first = number.saturating_mul(LinearForwardingTable::ENTRIES);
                let mut entries = *block.as_bytes();
                for (entry, lid) in entries.iter_mut().zip((first..).map(Lid)) {
                    if lid > top {
                        *entry = PortNum::UNREACHABLE.0;
                    }
                }
                routes.set_lft_block(switch, number, &entries);
            }
        }
        let map = self.vl_map(fabric);
        let lanes = map.highest().bits().saturating_add(1).min(15);
        routes.set_lanes(SlTable::Uniform(sl), map, lanes);
        routes
    }

    /// The SLtoVL tables. A table that was not read maps each service level to the lane with the same number; all CAs
    /// get the first table of any CA.
    #[must_use]
    pub fn vl_map(&self, fabric: &Fabric) -> VlMap {
        let identity = *VlMap::default().injection();
        let mut map = VlMap::per_port(fabric, identity);
        let mut injection = None;
        for (index, node) in self.nodes.iter_enumerated() {
            for (&(input, output), table) in &node.sl_to_vl {
                let mut lanes = identity;
                for (entry, lane) in lanes.iter_mut().enumerate() {
                    *lane = table.sl_to_vl(entry).unwrap_or(*lane);
                }
                match fabric.switch_of(index) {
                    Some(switch) => map.set(switch, input, output, lanes),
                    None => {
                        injection.get_or_insert(lanes);
                    }
                }
            }
        }
        map.set_injection(injection.unwrap_or(identity));
        map
    }

    /// The pairs of ports that packets pass by the forwarding tables, multicast packets included.
    #[must_use]
    pub fn port_pairs<'a>(&self, fabric: &'a Fabric) -> PortPairs<'a> {
        let blocks = self
            .nodes
            .iter()
            .filter_map(|node| node.lft.keys().next_back());
        let blocks = blocks
            .max()
            .map_or(0, |&last| usize::from(last).saturating_add(1));
        let mut pairs = PortPairs::new(fabric);
        pairs.add_routes(blocks, |switch, block| {
            let node = fabric.switches().find(switch);
            let node = node.and_then(|&node| self.node(node));
            let table = node.and_then(|node| node.lft.get(&block));
            [table.map(LinearForwardingTable::as_bytes), None]
        });
        for tree in self.multicast_trees(fabric).values() {
            pairs.add_tree(&tree.ports);
        }
        pairs
    }

    /// The multicast groups that at least one switch forwards: the output ports of each switch by multicast LID.
    #[must_use]
    pub fn multicast_trees(&self, fabric: &Fabric) -> BTreeMap<Lid, MulticastTree> {
        let mut trees: BTreeMap<Lid, MulticastTree> = BTreeMap::new();
        for (switch, &index) in fabric.switches().iter_enumerated() {
            let Some(node) = self.node(index) else {
                continue;
            };
            let first = PortNum::MANAGEMENT;
            for (modifier, block) in &node.mft {
                let entries = 0..MulticastForwardingTable::ENTRIES;
                let base = modifier
                    .block
                    .saturating_mul(MulticastForwardingTable::ENTRIES);
                for entry in entries {
                    let mask = block.port_mask_block(usize::from(entry)).unwrap_or(0);
                    let mlid = Lid(Lid::MULTICAST_MIN.0 | base.saturating_add(entry));
                    if mask == 0 || !mlid.is_multicast() {
                        continue;
                    }
                    let below = modifier
                        .position
                        .saturating_mul(MulticastForwardingTable::PORTS);
                    let below = first.0.saturating_add(below);
                    let bits = (0..16u8).filter(|bit| {
                        mask.checked_shr(u32::from(*bit))
                            .is_some_and(|mask| mask & 1 == 1)
                    });
                    let ports = trees
                        .entry(mlid)
                        .or_default()
                        .ports
                        .entry(switch)
                        .or_default();
                    for bit in bits {
                        ports.insert(PortNum(below.saturating_add(bit)));
                    }
                }
            }
        }
        trees
    }

    /// The end ports at which packets to a group leave the switches. By the tables, these are the members of the group.
    #[must_use]
    pub fn members(&self, fabric: &Fabric, tree: &MulticastTree) -> Vec<PortRef> {
        let mut members = Vec::new();
        for (&switch, ports) in &tree.ports {
            let Some(&node) = fabric.switches().find(switch) else {
                continue;
            };
            members.extend(self.members_at(fabric, node, ports));
        }
        members
    }

    fn members_at(
        &self,
        fabric: &Fabric,
        node: ib_routing::NodeIdx,
        ports: &PortSet,
    ) -> Vec<PortRef> {
        let ends = ports.iter().filter_map(|port| {
            let here = PortRef { node, port };
            if port == PortNum::MANAGEMENT {
                return Some(here);
            }
            let peer = self.port(here)?.peer?;
            fabric.switch_of(peer.node).is_none().then_some(peer)
        });
        ends.collect()
    }
}
