//! Multicast: a tree of switches per group, written into the multicast forwarding tables block by block
//! where they differ (IBA vol. 1, 14.2.5.12 and 18.2.4.3.3).
//!
//! The trees are `ib_routing`'s. One that still fits its members and its cables stays as it is, so that a
//! sweep over an unchanged fabric writes nothing; only groups that changed get a new one.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use ib_routing::mcast::{PortSet, Trees};
use ib_smp::{CapabilityMask, MftModifier, MulticastForwardingTable, SwitchInfo};
use ib_wire::{Guid, Lid, PortNum};

use super::{Step, Sweep};
use crate::{
    SmConfig,
    event::Event,
    request::Request,
    sa::groups::Groups,
    subnet::{NodeIdx, PortRef},
};

/// The ports of one group's tree by switch.
pub(crate) type TreePorts = BTreeMap<Guid, PortSet>;

/// Ports in one position of a table.
const PORTS: u8 = MulticastForwardingTable::PORTS;
/// Groups in one block of a table.
const BLOCK: u16 = MulticastForwardingTable::ENTRIES;

impl Sweep {
    /// Begins to write the trees of groups that hosts joined or left since the last sweep.
    pub(crate) fn start_regroup(&mut self, config: &SmConfig, groups: &mut Groups) {
        self.step = Step::Regroup;
        self.errors = 0;
        self.plan_trees(config, groups);
        self.queue_mft_blocks();
    }

    /// Computes the trees of groups that changed, and of those whose trees lost a cable.
    pub(super) fn plan_trees(&mut self, config: &SmConfig, groups: &mut Groups) {
        let mut trees = core::mem::take(&mut self.plan.trees);
        for mlid in &groups.abandoned {
            trees.remove(mlid);
        }
        if config.disable_multicast {
            trees.clear();
            groups.settle();
        }
        let mut planner = Trees::new(&self.plan.fabric, self.without_multicast());
        let mut events = Vec::new();
        for group in groups.iter() {
            let (mlid, mgid) = (group.parameters.mlid(), group.parameters.mgid());
            let members = group.ports().filter_map(|guid| self.place(guid));
            let members: Vec<_> = members.collect();
            let stands = trees.get(&mlid).is_some_and(|tree| self.holds(tree));
            if config.disable_multicast || (stands && !group.changed) {
                continue;
            }
            if members.is_empty() {
                trees.remove(&mlid);
                continue;
            }
            let tree = planner.tree(&members);
            for cut_off in tree.left_out {
                let port = self.plan.fabric.port(cut_off);
                events.push(Event::MulticastCutOff {
                    mgid,
                    port_guid: port.map_or(Guid::NONE, |port| port.guid),
                });
            }
            let ports = tree.ports.into_iter();
            let by_guid =
                ports.map(|(switch, ports)| (self.plan.fabric.switch_guid(switch), ports));
            trees.insert(mlid, by_guid.collect());
        }
        groups.settle();
        self.plan.trees = trees;
        self.report_small_multicast_tables();
        self.events.extend(events);
    }

    /// Queues the blocks that differ from what the switches hold.
    pub(super) fn queue_mft_blocks(&mut self) {
        let mut sets = Vec::new();
        for (node, record) in self.subnet.nodes() {
            let Some(switch) = record.switch.as_ref().filter(|switch| {
                switch.routed.is_some()
                    && switch.info.is_some_and(|info| info.multicast_fdb_cap() > 0)
            }) else {
                continue;
            };
            let mut blocks: BTreeSet<_> = self.plan.trees.keys().filter_map(block_of).collect();
            blocks.extend(switch.mft.keys().map(|at| at.block));
            for block in blocks {
                for position in 0..=record.info.num_ports() / PORTS {
                    let at = MftModifier { position, block };
                    if !self.holds_mft_block(node, at) {
                        continue;
                    }
                    let Some(wanted) = self.mft_block(node, at) else {
                        continue;
                    };
                    let same = match switch.mft.get(&at) {
                        Some(known) => *known == wanted,
                        // A switch that was just started holds nothing.
                        None => switch.is_fresh && wanted == [0; 64],
                    };
                    if !same {
                        sets.push(Request::SetMft(node, at));
                    }
                }
            }
        }
        self.queue.extend(sets);
    }

    /// Queues a Set of SwitchInfo for each switch whose table ends elsewhere than the groups do.
    pub(super) fn set_multicast_tops(&mut self, config: &SmConfig) {
        self.queue_switch_sets(|sweep, node, info| {
            sweep.switch_target(config, node).as_ref() != Some(info)
        });
    }

    /// A block of a switch's multicast table as it should be.
    pub(crate) fn mft_block(&self, node: NodeIdx, at: MftModifier) -> Option<[u8; 64]> {
        let guid = self.subnet.node(node)?.info.node_guid();
        let first = Lid::MULTICAST_MIN
            .0
            .saturating_add(at.block.saturating_mul(BLOCK));
        let last = first.saturating_add(BLOCK.saturating_sub(1));
        let mut table = MulticastForwardingTable::default();
        for (mlid, tree) in self.plan.trees.range(Lid(first)..=Lid(last)) {
            if let Some(ports) = tree.get(&guid) {
                let entry = usize::from(mlid.0.saturating_sub(first));
                let _ = table.set_port_mask_block(entry, ports.position(at.position));
            }
        }
        table.as_bytes().first_chunk().copied()
    }

    /// Where a switch's multicast table shall end, if it can be told so: behind the last block in use.
    pub(super) fn multicast_top(&self, node: NodeIdx, info: &SwitchInfo) -> Option<Lid> {
        let port = self.subnet.port(PortRef::management(node))?.info?;
        let capable = port
            .capability_mask()
            .contains(CapabilityMask::IS_MULTICAST_FDB_TOP_SUPPORTED);
        let last = self.plan.trees.keys().next_back().and_then(block_of);
        match last {
            _ if !capable || info.multicast_fdb_cap() == 0 => None,
            // 0 says nothing: the whole table counts, and nothing stands in it.
            None if info.multicast_fdb_top() == Lid::NONE => None,
            None => Some(Lid(Lid::MULTICAST_MIN.0.saturating_sub(1))),
            Some(block) => {
                let entries = block.saturating_add(1).saturating_mul(BLOCK);
                let top = Lid::MULTICAST_MIN
                    .0
                    .saturating_add(entries.saturating_sub(1));
                let capacity = info.multicast_fdb_cap().saturating_sub(1);
                let most = Lid::MULTICAST_MIN.0.saturating_add(capacity);
                Some(Lid(top.min(most).min(Lid::MULTICAST_MAX.0)))
            }
        }
    }

    /// How many groups every switch with multicast has room for.
    pub(crate) fn multicast_capacity(&self) -> u16 {
        let switches = self
            .subnet
            .nodes()
            .filter_map(|(_, node)| node.switch.as_ref()?.info);
        let capacities = switches.map(|info| info.multicast_fdb_cap());
        capacities
            .filter(|&capacity| capacity > 0)
            .min()
            .unwrap_or(u16::MAX)
    }

    fn without_multicast(&self) -> BTreeSet<ib_routing::SwitchIdx> {
        let switches = self
            .subnet
            .nodes()
            .filter_map(|(_, node)| node.switch.as_ref());
        switches
            .filter(|switch| switch.info.is_none_or(|info| info.multicast_fdb_cap() == 0))
            .filter_map(|switch| switch.routed)
            .collect()
    }

    /// Whether every cable of a tree is still there.
    fn holds(&self, tree: &TreePorts) -> bool {
        tree.iter().all(|(&guid, ports)| {
            let Some(node) = self.subnet.find(guid) else {
                return false;
            };
            ports.iter().all(|port| {
                let at = PortRef { node, port };
                port == PortNum::MANAGEMENT
                    || self
                        .subnet
                        .port(at)
                        .is_some_and(|port| port.is_up() && port.peer.is_some())
            })
        })
    }

    /// The port with this GUID in the fabric that is routed.
    fn place(&self, port_guid: Guid) -> Option<ib_routing::PortRef> {
        let at = self.subnet.find_port(port_guid)?;
        let node = self.subnet.node(at.node)?.info.node_guid();
        Some(ib_routing::PortRef {
            node: self.plan.fabric.node_by_guid(node)?,
            port: at.port,
        })
    }
}

fn block_of(mlid: &Lid) -> Option<u16> {
    MulticastForwardingTable::block_of(*mlid).map(|(block, _)| block)
}
