//! Multicast: a tree of switches for each group, and the blocks of the multicast forwarding tables that follow
//! from the trees (IBA vol. 1, 14.2.5.12 and 18.2.4.3.3).
//!
//! A tree that still fits its members and its cables stays as it is, so a sweep over an unchanged fabric writes
//! nothing; only groups that changed get a new one.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use ib_routing::{SwitchIdx, mcast::MulticastTrees};
use ib_smp::{CapabilityMask, MftModifier, MulticastForwardingTable, SwitchInfo};
use ib_subnet::{NodeId, PortId};
use ib_wire::{Gid, Guid, Lid, PortNum};

use super::{Situation, switches};
use crate::{
    plan::{Topology, TreePorts},
    sa::groups::{Group, Groups},
};

/// Ports in one position of a table.
const PORTS: u8 = MulticastForwardingTable::PORTS;
/// Multicast groups in one block of a table.
const BLOCK: u16 = MulticastForwardingTable::ENTRIES;

/// The groups whose trees are examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All groups: a cable of any tree may be gone.
    All,
    /// The groups whose members changed. All other trees are whole.
    Changed,
}

/// The multicast trees that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeChanges {
    /// The new trees by multicast LID; `None` if a LID has none any more.
    pub(crate) trees: BTreeMap<Lid, Option<TreePorts>>,
    /// Members, by group and port GUID, that no path through switches with multicast reaches.
    pub(crate) cut_off: Vec<(Gid, Guid)>,
}

/// Computes the trees of groups that changed or whose trees lost a cable; all other trees stay. `without` are the
/// switches that cannot forward multicast.
pub(crate) fn trees(
    at: Situation<'_>,
    groups: &Groups,
    scope: Scope,
    without: BTreeSet<SwitchIdx>,
) -> TreeChanges {
    let present = at.plan().trees();
    if at.config().disable_multicast {
        return TreeChanges {
            trees: present.keys().map(|&mlid| (mlid, None)).collect(),
            ..TreeChanges::default()
        };
    }
    let topology = at.plan().topology();
    let stands = |group: &Group| {
        let tree = present.get(&group.mlid());
        tree.is_some_and(|tree| is_whole(at, tree) && has_joints(topology, tree))
    };
    let (removed, due): (Vec<Lid>, Vec<&Group>) = match scope {
        Scope::Changed => (groups.abandoned().collect(), groups.changed().collect()),
        Scope::All => {
            let in_use: BTreeSet<Lid> = groups.iter().map(Group::mlid).collect();
            let unused = present.keys().filter(|mlid| !in_use.contains(mlid));
            let due = groups.iter();
            let due = due.filter(|group| groups.has_changed(group) || !stands(group));
            (unused.copied().collect(), due.collect())
        }
    };
    let mut planner = Planner::new(at, without);
    planner.result.trees = removed.into_iter().map(|mlid| (mlid, None)).collect();
    for group in due {
        planner.plan(groups, group);
    }
    planner.result
}

/// Makes the trees of groups, one after the other, so that they share the cables.
struct Planner<'a> {
    at: Situation<'a>,
    trees: MulticastTrees<'a>,
    /// The multicast LIDs that have been planned. Groups that share a LID share one tree.
    done: BTreeSet<Lid>,
    result: TreeChanges,
}

impl<'a> Planner<'a> {
    fn new(at: Situation<'a>, without: BTreeSet<SwitchIdx>) -> Self {
        let fabric = at.plan().topology().fabric();
        Self {
            at,
            trees: MulticastTrees::new(fabric, without),
            done: BTreeSet::new(),
            result: TreeChanges::default(),
        }
    }

    fn plan(&mut self, groups: &Groups, group: &Group) {
        let (mlid, mgid) = (group.mlid(), group.mgid());
        if !self.done.insert(mlid) {
            return;
        }
        let (at, topology) = (self.at, self.at.plan().topology());
        let fabric = topology.fabric();
        let place = |guid| topology.index().port(at.subnet().find_port(guid)?);
        let ports: BTreeSet<Guid> = groups.sharing(group).flat_map(Group::ports).collect();
        let mut members: Vec<_> = ports.into_iter().filter_map(place).collect();
        // A cluster between two others must forward groups that its own hosts did not join.
        let joints: Vec<_> = topology.joints().collect();
        if !members.is_empty() || joints.len() > 1 {
            members.extend(joints);
        }
        if members.is_empty() {
            self.result.trees.insert(mlid, None);
            return;
        }
        let tree = self.trees.tree(&members);
        let cut_off = tree.left_out.into_iter();
        let cut_off = cut_off.map(|port| fabric.port(port).map_or(Guid::NONE, |port| port.guid));
        self.result.cut_off.extend(cut_off.map(|guid| (mgid, guid)));
        let ports = tree.ports.into_iter();
        let by_guid = ports.map(|(switch, ports)| (fabric.switch_guid(switch), ports));
        self.result.trees.insert(mlid, Some(by_guid.collect()));
    }
}

/// The blocks of multicast tables that trees use, or in which a switch already holds entries.
pub(crate) fn blocks(at: Situation<'_>, node: NodeId) -> Vec<MftModifier> {
    let switch = at.subnet().switch(node);
    let held = switch.into_iter().flat_map(|switch| switch.mft().keys());
    let held = held.map(|held| held.block);
    let numbers: BTreeSet<u16> = at.plan().tree_blocks().chain(held).collect();
    positions(at, node, numbers)
}

/// The blocks of a switch's multicast table with these numbers: one for each 16 ports of the switch.
pub(crate) fn positions(
    at: Situation<'_>,
    node: NodeId,
    numbers: impl IntoIterator<Item = u16>,
) -> Vec<MftModifier> {
    let is_routed = at.plan().topology().index().switch(node).is_some();
    let record = at.subnet().node(node);
    let Some(record) = record.filter(|record| record.is_switch() && is_routed) else {
        return Vec::new();
    };
    let positions = 0..=record.info().num_ports() / PORTS;
    let blocks = numbers.into_iter().flat_map(|block| {
        let positions = positions.clone();
        positions.map(move |position| MftModifier { position, block })
    });
    blocks
        .filter(|&block| switches::has_room_for_mft_block(at, node, block))
        .collect()
}

/// The desired content of a block of a switch's multicast table.
pub(crate) fn block(at: Situation<'_>, node: NodeId, of: MftModifier) -> Option<[u8; 64]> {
    let guid = at.subnet().node(node)?.info().node_guid();
    let first = Lid::MULTICAST_MIN
        .0
        .saturating_add(of.block.saturating_mul(BLOCK));
    let last = first.saturating_add(BLOCK.saturating_sub(1));
    let mut table = MulticastForwardingTable::default();
    for (mlid, tree) in at.plan().trees().range(Lid(first)..=Lid(last)) {
        if let Some(ports) = tree.get(&guid) {
            let entry = usize::from(mlid.0.saturating_sub(first));
            let _ = table.set_port_mask_block(entry, ports.position(of.position));
        }
    }
    table.as_bytes().first_chunk().copied()
}

/// The desired MulticastFDBTop of a switch that has the field: the end of the last block in use.
pub(crate) fn top(at: Situation<'_>, node: NodeId, info: &SwitchInfo) -> Option<Lid> {
    let port = at.subnet().port(PortId::management(node))?.info()?;
    let capable = port
        .capability_mask()
        .contains(CapabilityMask::IS_MULTICAST_FDB_TOP_SUPPORTED);
    let last = at.plan().trees().keys().next_back();
    let last = last.and_then(|&mlid| block_of(mlid));
    needed_top(info, last).filter(|_| capable)
}

/// The top that covers the blocks up to `last`; `None` if the switch has no table or its top is right.
fn needed_top(info: &SwitchInfo, last: Option<u16>) -> Option<Lid> {
    match (last, info.multicast_fdb_cap()) {
        (_, 0) => None,
        // A top of 0 means that the whole table is valid; here the table is empty.
        (None, _) if info.multicast_fdb_top() == Lid::NONE => None,
        (None, _) => Some(Lid(Lid::MULTICAST_MIN.0.saturating_sub(1))),
        (Some(block), capacity) => {
            let entries = block.saturating_add(1).saturating_mul(BLOCK).min(capacity);
            let top = Lid::MULTICAST_MIN
                .0
                .saturating_add(entries.saturating_sub(1));
            Some(Lid(top.min(Lid::MULTICAST_MAX.0)))
        }
    }
}

/// Number of groups for which every switch with multicast has room.
pub(crate) fn capacity(at: Situation<'_>) -> u16 {
    let infos = at
        .subnet()
        .switches()
        .filter_map(|(_, switch)| switch.info());
    let capacities = infos.map(|info| info.multicast_fdb_cap());
    let some = capacities.filter(|&capacity| capacity > 0);
    some.min().unwrap_or(u16::MAX)
}

/// The switches that cannot forward multicast.
pub(crate) fn without_multicast(at: Situation<'_>) -> BTreeSet<SwitchIdx> {
    let switches = at.subnet().switches();
    let without = switches.filter(|(_, switch)| {
        switch
            .info()
            .is_none_or(|info| info.multicast_fdb_cap() == 0)
    });
    without
        .filter_map(|(node, _)| at.plan().topology().index().switch(node))
        .collect()
}

/// Returns true if every cable of a tree still exists.
fn is_whole(at: Situation<'_>, tree: &TreePorts) -> bool {
    tree.iter().all(|(&guid, ports)| {
        let Some(node) = at.subnet().find(guid) else {
            return false;
        };
        ports
            .iter()
            .all(|port| port == PortNum::MANAGEMENT || at.is_linked(PortId { node, port }))
    })
}

/// Returns true if a tree reaches the trees of all neighbouring clusters.
fn has_joints(topology: &Topology, tree: &TreePorts) -> bool {
    topology.joints().all(|joint| {
        let exit = topology.fabric().attachment(joint);
        exit.is_some_and(|(switch, port)| {
            let ports = tree.get(&topology.fabric().switch_guid(switch));
            ports.is_some_and(|ports| ports.contains(port))
        })
    })
}

/// The number of the block of a multicast table that holds a LID's entry.
pub(crate) fn block_of(mlid: Lid) -> Option<u16> {
    MulticastForwardingTable::block_of(mlid).map(|(block, _)| block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_top_is_the_end_of_the_last_block_in_use_within_the_table() {
        let top = |capacity: u16, top: u16, last| {
            let mut info = SwitchInfo::default();
            info.set_multicast_fdb_cap(capacity)
                .set_multicast_fdb_top(Lid(top));
            needed_top(&info, last)
        };
        assert_eq!(top(1024, 0, Some(0)), Some(Lid(0xc01f)));
        assert_eq!(top(1024, 0xc01f, Some(1)), Some(Lid(0xc03f)));
        assert_eq!(top(20, 0, Some(0)), Some(Lid(0xc013)));
        assert_eq!(top(0x3fff, 0, Some(511)), Some(Lid::MULTICAST_MAX));
        // A table without entries: 0 would make all of it valid.
        assert_eq!(top(1024, 0xc01f, None), Some(Lid(0xbfff)));
        assert_eq!(top(1024, 0, None), None);
        // A switch without a table.
        assert_eq!(top(0, 0, Some(0)), None);
        assert_eq!(top(0, 0xc01f, None), None);
    }
}
