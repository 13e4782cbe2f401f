//! Linear forwarding tables of a subnet that carries traffic: the order of their writes.
//!
//! *Detours* come first on a large fabric, where new routes take long: entries that a failure broke are led over
//! the nearest neighbours that still reach the destination. *Healing* does the same by the new routes: entries
//! that do not arrive are written at once, nearest to the destination first, and every other entry stays as it
//! is. Both advance with the answers of the switches. They do not wait for the packet lifetime, because packets
//! cannot deadlock on a link that is down. *Moving* follows once every port is served: working entries that are
//! to lead elsewhere, for balance or over a link that came back, are written in the order that
//! [`transition::plan`] proves free of loops, with waiting where the proof requires it. LIDs for which no such
//! order of whole blocks exists are held back and moved one by one at the end, so no LID that has a path ever
//! loses it. *Remaining* blocks carry no traffic yet, so they may be written in any order.
//!
//! [`Changed`] records where entries may be broken.

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    vec::Vec,
};
use core::time::Duration;

use ib_routing::{
    PortRef, Routes, SwitchIdx,
    repair::{is_quick, lost_channels},
    update::{
        self,
        heal::{Changes, Healing, HealingProgress, detour, heal, heal_lost},
        transition,
    },
};
use ib_smp::LinearForwardingTable;
use ib_subnet::{KnownTable, NodeId, SubnetSwitch};
use ib_wire::{Guid, Lid, PortNum};

use super::{Step, Steps, sl_to_vl_ahead, steps::TableWrites};
use crate::{
    plan::{Detours, InstalledRoutes, Topology},
    policy::{Situation, lanes, routing, switches},
};

/// Number of entries of all tables up to which deadlocks during the move are excluded too. In larger subnets the
/// proof takes longer than routing.
const PROVEN: usize = 1 << 20;
/// Number of changing entries up to which their writes are ordered. Beyond it, computing the order takes so long
/// that the old routes lose more packets meanwhile than writes without an order.
const ORDERED: u64 = 1 << 22;
/// Code of SwitchInfo's lifetime from which packets are never discarded for their age.
const ENDLESS: u8 = 20;

/// A write of some entries of a block; the others stay as the switch holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryWrite {
    pub(crate) node: NodeId,
    pub(crate) block: u16,
    /// Bit n is set for entry n of the block.
    pub(crate) entries: u64,
    /// Number of the write in its healing.
    pub(crate) number: usize,
}

/// The plan that leads from the tables in use to the routes in force.
#[derive(Clone, Debug, Default)]
pub(crate) struct MovePlan {
    /// The stages in order; between two stages the manager waits until packets that were sent before have left
    /// the fabric.
    pub(crate) stages: VecDeque<Vec<update::BlockRef>>,
    /// LIDs that no stage moves. Each is listed with the switches whose entries change, nearest to the
    /// destination first.
    pub(crate) held_back: Vec<(Lid, Vec<SwitchIdx>)>,
    /// Number of entries that change.
    pub(crate) entries: u64,
    /// True if it is proven that packets cannot deadlock meanwhile.
    pub(crate) deadlock_free: bool,
}

/// The progress of writes to forwarding entries that are in use.
#[derive(Debug, Default)]
pub(crate) struct TableUpdate {
    nodes: BTreeMap<SwitchIdx, NodeId>,
    healing: Healing,
    progress: HealingProgress,
    plan: MovePlan,
    /// Writes that wait for the answer to the one before them, by block.
    chains: BTreeMap<u16, VecDeque<EntryWrite>>,
    /// Entries that [`MovePlan::stages`] leave unchanged, by block.
    held_back: BTreeMap<u16, u64>,
    moved: bool,
    /// The tables carried traffic when the changes began.
    is_live: bool,
    /// The content of the tables before the healing.
    old: Option<Routes>,
    /// Writes of SLtoVL tables for pairs of ports that the healing joins.
    lanes: VecDeque<Step>,
}

/// Switches at which entries may be broken, since the last sweep that ended well.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changed {
    /// Switches that lost cables to others.
    lost: BTreeSet<NodeId>,
    /// Switches with new cables, or with tables that are not known.
    other: BTreeSet<NodeId>,
}

impl Changed {
    /// Compares the present topology with that of the previous sweep.
    pub(crate) fn note(&mut self, at: Situation<'_>, before: &Topology) {
        let now = at.plan().topology();
        if let Some(lost) = lost_channels(before.fabric(), now.fabric()) {
            let switches = now.fabric().switches();
            let ends = lost.iter().filter_map(|&(switch, _)| {
                let node = *switches.find(switch)?;
                let port = PortNum::MANAGEMENT;
                Some(now.index().port_id(PortRef { node, port })?.node)
            });
            self.lost.extend(ends);
            let switches = at.subnet().switches();
            let empty = switches.filter(|(_, switch)| switch.lft().is_empty());
            self.other.extend(empty.map(|(node, _)| node));
            return;
        }
        for (node, switch) in at.subnet().switches() {
            if switch.lft().is_empty() {
                self.other.insert(node);
            } else if !cables(before, node).eq(cables(now, node)) {
                let was: BTreeSet<_> = cables(before, node).collect();
                let is_new = cables(now, node).any(|cable| !was.contains(&cable));
                let changed = match is_new {
                    true => &mut self.other,
                    false => &mut self.lost,
                };
                changed.insert(node);
            }
        }
    }

    /// Notes a switch that did not answer a write.
    pub(crate) fn note_unanswered(&mut self, node: NodeId) {
        self.other.insert(node);
    }

    /// The numbers of these switches in a topology: those that lost cables, and the others.
    fn places(&self, topology: &Topology) -> (Vec<SwitchIdx>, Vec<SwitchIdx>) {
        let [lost, other] = [&self.lost, &self.other].map(|nodes| {
            let nodes = nodes.iter();
            nodes
                .filter_map(|&node| topology.index().switch(node))
                .collect()
        });
        (lost, other)
    }
}

/// Returns true if a repair of the routes in force looks only at what lost cables have carried.
pub(crate) fn is_repaired_quickly(at: Situation<'_>) -> bool {
    let topology = at.plan().topology();
    at.plan().installed().is_some_and(|installed| {
        installed.counts().is_some()
            && is_quick(installed.as_input(), topology.fabric(), topology.lids())
    })
}

/// The cables from a switch to others, in the order of its ports: the port, and the other switch with its port.
fn cables(
    topology: &Topology,
    node: NodeId,
) -> impl Iterator<Item = (PortNum, Guid, PortNum)> + '_ {
    let fabric = topology.fabric();
    let channels = topology.index().switch(node).into_iter();
    let channels = channels.flat_map(|switch| fabric.channels_from(switch));
    channels.map(|(_, channel)| {
        let to = fabric.switch_guid(channel.to);
        (channel.port, to, channel.to_port)
    })
}

impl TableUpdate {
    /// The writes that lead entries that a change broke over the nearest neighbours until there are new routes,
    /// and their content. `None` if no entry is broken, or if all tables together have fewer entries than `from`.
    pub(crate) fn detour(
        at: Situation<'_>,
        changed: &Changed,
        from: usize,
    ) -> Option<(Self, Detours)> {
        let topology = at.plan().topology();
        let (fabric, lids) = (topology.fabric(), topology.lids());
        let entries = fabric.num_switches().saturating_mul(lids.num_lids());
        if entries < from || at.plan().installed().is_none() {
            return None;
        }
        let nodes = nodes(at, topology);
        let entries = |switch, lid| {
            let known = nodes
                .get(&switch)
                .and_then(|&node| at.subnet().switch(node));
            let (block, entry) = LinearForwardingTable::block_of(lid);
            let known = known.and_then(|switch| switch.lft().block(block));
            let port = known.and_then(|block| block.get(entry));
            port.map_or(PortNum::UNREACHABLE, |&port| PortNum(port))
        };
        let empty: Vec<SwitchIdx> = at
            .subnet()
            .switches()
            .filter(|(_, switch)| switch.lft().is_empty())
            .filter_map(|(node, _)| topology.index().switch(node))
            .collect();
        let (lost, other) = changed.places(topology);
        let changes = Changes {
            lost: &lost,
            other: &other,
        };
        let healing = detour(fabric, lids, &entries, changes, &empty);
        let mut detours = Detours::new();
        for entry in healing.entries() {
            if let Some(&node) = nodes.get(&entry.switch) {
                let (block, offset) = LinearForwardingTable::block_of(entry.lid);
                let offset = u8::try_from(offset).unwrap_or(0);
                let of_block = detours.entry((node, block)).or_default();
                of_block.push((offset, entry.port));
            }
        }
        let update = Self {
            nodes,
            progress: HealingProgress::new(&healing),
            lanes: lanes_of(at, topology, &healing),
            healing,
            ..Self::default()
        };
        (update.num_broken() > 0).then_some((update, detours))
    }

    /// The writes that heal entries that a change broke, by the routes in force, and the content of the tables after
    /// them. `None` if the routes in force change no entry in use.
    pub(crate) fn healing(at: Situation<'_>, changed: &Changed) -> Option<Self> {
        let old = tables_in_use(at)?;
        let mut update = Self::heal(at, &old, changed);
        update.old = Some(old);
        Some(update)
    }

    /// The writes that heal entries that a change broke, by the routes in force. `old` is the content of the
    /// switches.
    fn heal(at: Situation<'_>, old: &Routes, changed: &Changed) -> Self {
        let Some(installed) = at.plan().installed() else {
            return Self::default();
        };
        let topology = installed.topology();
        let (lost, other) = changed.places(topology);
        let changes = Changes {
            lost: &lost,
            other: &other,
        };
        let new = installed.routes();
        let (fabric, lids) = (topology.fabric(), topology.lids());
        let all = || heal(fabric, lids, old, new, changes);
        // If the switches hold what they should, nothing but the lost paths is broken.
        let loss = installed.loss().filter(|loss| {
            let mut switches = fabric.switches().indices();
            let is_same = |switch| old.changed_lids(&loss.before, switch).next().is_none();
            changes.other.is_empty() && switches.all(is_same)
        });
        let healing = match loss {
            Some(loss) => heal_lost(fabric, lids, old, new, &loss.paths),
            None => all(),
        };
        debug_assert_eq!(healing, all());
        Self {
            nodes: nodes(at, topology),
            progress: HealingProgress::new(&healing),
            lanes: lanes_of(at, topology, &healing),
            healing,
            is_live: true,
            ..Self::default()
        }
    }

    /// Returns true if the tables carried traffic when the changes began.
    pub(crate) const fn is_live(&self) -> bool {
        self.is_live
    }

    /// Number of entries that were broken.
    pub(crate) fn num_broken(&self) -> usize {
        self.healing.entries().len()
    }

    /// Takes out the writes of SLtoVL tables that come before those of the healing.
    pub(crate) fn take_lanes(&mut self) -> VecDeque<Step> {
        core::mem::take(&mut self.lanes)
    }

    /// Takes out the content that was kept and the healing that followed, to plan the moves from there.
    pub(crate) fn take_old(&mut self) -> Option<(Routes, Healing)> {
        let old = self.old.take()?;
        Some((old, core::mem::take(&mut self.healing)))
    }

    /// The writes of the healing that wait for no other write.
    pub(crate) fn first_healing(&self) -> Vec<EntryWrite> {
        let numbers = self.progress.first();
        numbers
            .filter_map(|number| self.healing_write(number))
            .collect()
    }

    /// The writes of the healing that waited for this one, whose answer has arrived.
    pub(crate) fn healed(&mut self, number: usize) -> Vec<EntryWrite> {
        let numbers = self.progress.answered(number).into_iter();
        numbers
            .filter_map(|number| self.healing_write(number))
            .collect()
    }

    fn healing_write(&self, number: usize) -> Option<EntryWrite> {
        let step = self.healing.writes().get(number)?.step;
        let entries = self.healing.entries_of(number);
        Some(EntryWrite {
            node: *self.nodes.get(&step.switch)?,
            block: step.block,
            entries: entries.fold(0, |mask, entry| mask | bit(entry.lid)),
            number,
        })
    }

    /// Accepts the plan for working entries.
    pub(crate) fn set_plan(&mut self, plan: MovePlan) {
        for (lid, _) in &plan.held_back {
            let (block, _) = LinearForwardingTable::block_of(*lid);
            let mask = self.held_back.entry(block).or_default();
            *mask |= bit(*lid);
        }
        self.plan = plan;
    }

    /// Returns true if a stage is left.
    pub(crate) fn has_more(&self) -> bool {
        !self.plan.stages.is_empty() || !self.plan.held_back.is_empty()
    }

    /// Returns true if packets that were forwarded by the present tables have to leave the fabric before the next stage
    /// is written.
    pub(crate) fn must_settle(&self) -> bool {
        self.moved && !self.plan.stages.is_empty()
    }

    /// The first writes of the next stage; each of the others follows an answer.
    pub(crate) fn next_stage(&mut self) -> Vec<EntryWrite> {
        self.moved = true;
        match self.plan.stages.pop_front() {
            Some(stage) => {
                for step in stage {
                    let held_back = self.held_back.get(&step.block).copied().unwrap_or(0);
                    self.push(step.switch, step.block, !held_back);
                }
            }
            None => {
                for (lid, switches) in core::mem::take(&mut self.plan.held_back) {
                    let (block, _) = LinearForwardingTable::block_of(lid);
                    for switch in switches {
                        self.push(switch, block, bit(lid));
                    }
                }
            }
        }
        let blocks: Vec<u16> = self.chains.keys().copied().collect();
        let first = blocks.into_iter().filter_map(|block| self.follow(block));
        first.collect()
    }

    fn push(&mut self, switch: SwitchIdx, block: u16, entries: u64) {
        if let Some(&node) = self.nodes.get(&switch) {
            let chain = self.chains.entry(block).or_default();
            chain.push_back(EntryWrite {
                node,
                block,
                entries,
                number: 0,
            });
        }
    }

    /// The next write of a block, after the one before it was answered.
    pub(crate) fn follow(&mut self, block: u16) -> Option<EntryWrite> {
        let chain = self.chains.get_mut(&block)?;
        let next = chain.pop_front();
        if chain.is_empty() {
            self.chains.remove(&block);
        }
        next
    }

    /// Ends a stage. Writes that still wait, because one before them failed, are dropped.
    pub(crate) fn drop_waiting(&mut self) {
        self.chains.clear();
    }
}

impl MovePlan {
    /// Plans the move from `old`, the content of the switches, to `new`.
    pub(crate) fn new(topology: &Topology, old: &Routes, new: &Routes) -> Self {
        let (fabric, lids) = (topology.fabric(), topology.lids());
        let differs = |switch: SwitchIdx, lid: Lid| old.port(switch, lid) != new.port(switch, lid);
        let entries = update::difference(fabric, lids, old, new).entries;
        let (stages, drain, deadlock_free) = match entries {
            0 => return Self::default(),
            _ if fabric.num_switches().saturating_mul(lids.num_lids()) <= PROVEN => {
                let plan = transition::plan(fabric, lids, old, new);
                let any_order = matches!(plan.safety, transition::Safety::AnyOrder(_));
                let in_stages = plan.safety == transition::Safety::Stages && plan.drain.is_empty();
                let drain: BTreeSet<Lid> = plan.drain.into_keys().collect();
                (plan.stages, drain, any_order || in_stages)
            }
            _ if entries <= ORDERED => {
                let order = update::order(fabric, lids, old, new);
                (
                    Vec::from([order.steps]),
                    order.drain.into_iter().collect(),
                    false,
                )
            }
            _ => return Self::default(),
        };
        let held_back = drain.into_iter().map(|lid| {
            let switches = fabric.switches().indices();
            let mut switches: Vec<_> = switches
                .filter(|&switch| differs(switch, lid))
                .map(|switch| (new.path(fabric, switch, lid).count(), switch))
                .collect();
            switches.sort_unstable();
            (
                lid,
                switches.into_iter().map(|(_, switch)| switch).collect(),
            )
        });
        Self {
            held_back: held_back.collect(),
            stages: stages.into(),
            entries,
            deadlock_free,
        }
    }
}

/// A task of [`Work`](crate::Work): determines the order in which working entries are moved.
#[derive(Clone, Debug)]
pub(crate) struct MoveTask {
    topology: Arc<Topology>,
    /// The content of the switches before the healing.
    old: Routes,
    healing: Healing,
    new: Arc<Routes>,
}

impl MoveTask {
    /// The task to plan the move from `old`, the content of the switches before a healing, to the routes in force.
    pub(crate) fn new(installed: &InstalledRoutes, old: Routes, healing: Healing) -> Self {
        Self {
            topology: Arc::clone(installed.topology()),
            new: Arc::clone(installed.routes()),
            old,
            healing,
        }
    }

    pub(crate) fn run(&self) -> MovePlan {
        let mut healed = self.old.clone();
        self.healing.apply(&mut healed);
        MovePlan::new(&self.topology, &healed, &self.new)
    }
}

/// The data of a write of entries: those entries as in the routes, all others as the switch holds them.
pub(crate) fn content(at: Situation<'_>, write: EntryWrite) -> Option<[u8; 64]> {
    let mut content = routed_block(at, write.node, write.block)?;
    let lft = at.subnet().switch(write.node)?.lft();
    if let Some(known) = lft.block(write.block) {
        for (entry, (new, &known)) in content.iter_mut().zip(known).enumerate() {
            if write.entries & (1_u64.wrapping_shl(u32::try_from(entry).unwrap_or(0))) == 0 {
                *new = known;
            }
        }
    }
    Some(content)
}

/// The data of a write of detours: those entries, all others as the switch holds them.
pub(crate) fn detoured(at: Situation<'_>, write: EntryWrite) -> Option<[u8; 64]> {
    let mut content = *at.subnet().switch(write.node)?.lft().block(write.block)?;
    for &(entry, port) in at.plan().detours(write.node, write.block) {
        if write.entries & 1_u64.wrapping_shl(entry.into()) != 0 {
            *content.get_mut(usize::from(entry))? = port.0;
        }
    }
    Some(content)
}

/// A block of a switch's table by the routes; `None` if the switch has no room for it or there are no routes.
pub(crate) fn routed_block(at: Situation<'_>, node: NodeId, block: u16) -> Option<[u8; 64]> {
    let routes = at.plan().routes()?;
    if !switches::has_room_for_lft_block(at, node, block) {
        return None;
    }
    routes.lft_block(at.plan().switch(node)?, block).copied()
}

/// The blocks that differ. The switches are taken in groups, as many as can be written at once.
pub(crate) fn remaining(at: Situation<'_>) -> Steps {
    let mut steps = Steps::default();
    let Some(last) = last_block(at) else {
        return steps;
    };
    let switches = at.subnet().switches();
    let switches = switches.filter(|&(node, switch)| !has_routed_table(at, node, switch));
    let switches: Vec<_> = switches.collect();
    for together in switches.chunks(at.config().max_wire_smps.max(1)) {
        let mut writes = TableWrites::default();
        for &(node, switch) in together {
            let differing = (0..=last).filter(|&block| {
                let wanted = routed_block(at, node, block);
                wanted.is_some() && wanted.as_ref() != switch.lft().block(block)
            });
            writes.push(node, differing);
        }
        steps.push_tables(writes);
    }
    steps
}

/// Returns true if a switch's table is known to be that of the routes in force without a comparison.
fn has_routed_table(at: Situation<'_>, node: NodeId, switch: &SubnetSwitch) -> bool {
    let row = at.plan().switch(node);
    let row = row.and_then(|place| at.plan().routes()?.shared_lft(place));
    row.is_some_and(|row| switch.lft().is_shared_with(row))
}

/// The last block that the routes in force use.
pub(crate) fn last_block(at: Situation<'_>) -> Option<u16> {
    let (last, _) = LinearForwardingTable::block_of(at.plan().routes()?.max_lid());
    Some(last)
}

/// The tables that the switches use, if the routes in force change an entry in use.
fn tables_in_use(at: Situation<'_>) -> Option<Routes> {
    let routes = at.plan().routes()?;
    let is_in_use = |node: NodeId, block: u16, known: &[u8; 64]| {
        routed_block(at, node, block).is_some_and(|wanted| {
            let mut entries = known.iter().zip(wanted);
            entries.any(|(&known, wanted)| known != PortNum::UNREACHABLE.0 && known != wanted)
        })
    };
    let differing = || {
        let switches = at.subnet().switches();
        switches.filter(|&(node, switch)| !has_routed_table(at, node, switch))
    };
    let used = differing().any(|(node, switch)| {
        let mut blocks = switch.lft().blocks();
        blocks.any(|(block, known)| is_in_use(node, block, known))
    });
    if !used {
        return None;
    }
    let mut old = routes.clone();
    for (node, switch) in differing() {
        if let Some(place) = at.plan().switch(node) {
            set_to_known(&mut old, place, switch.lft());
        }
    }
    Some(old)
}

/// The tables that a previous manager left in the switches, as routes; `None` if there are none.
pub(crate) fn left_in_place(at: Situation<'_>) -> Option<Routes> {
    let is_used = |known: &[u8; 64]| known.iter().any(|&port| port != PortNum::UNREACHABLE.0);
    let mut switches = at.subnet().switches();
    if !switches.any(|(_, switch)| switch.lft().blocks().any(|(_, known)| is_used(known))) {
        return None;
    }
    let topology = at.plan().topology();
    let mut routes = Routes::new_shared(routing::KEPT, topology.fabric(), topology.lids());
    for (node, switch) in at.subnet().switches() {
        if let Some(place) = topology.index().switch(node) {
            set_to_known(&mut routes, place, switch.lft());
        }
    }
    Some(routes)
}

/// Sets a switch's table to what the switch is known to hold; unknown entries reach nothing.
fn set_to_known(routes: &mut Routes, place: SwitchIdx, known: &KnownTable) {
    let shared = known.shared_row();
    if shared.is_some_and(|row| routes.set_shared_lft(place, row)) {
        return;
    }
    let blocks = u16::try_from(routes.row_len() / 64).unwrap_or(u16::MAX);
    for number in 0..blocks {
        let known = known.block(number).unwrap_or(&[PortNum::UNREACHABLE.0; 64]);
        routes.set_lft_block(place, number, known);
    }
}

/// Maximum lifetime of packets that were forwarded by the present tables.
pub(crate) fn packet_lifetime(at: Situation<'_>) -> Duration {
    let code = at.config().packet_life_time.min(ENDLESS);
    Duration::from_nanos(4096_u64.wrapping_shl(code.into()))
}

/// The writes of SLtoVL tables for pairs of ports that a healing joins.
fn lanes_of(at: Situation<'_>, topology: &Topology, healing: &Healing) -> VecDeque<Step> {
    if !lanes::are_managed(at) || healing.entries().is_empty() {
        return VecDeque::new();
    }
    let pairs = lanes::joined_by_healing(at, topology, healing);
    let switches = at.subnet().switches().map(|(node, _)| node);
    sl_to_vl_ahead(at, &pairs, switches)
}

/// The switches of a topology.
pub(crate) fn nodes(at: Situation<'_>, topology: &Topology) -> BTreeMap<SwitchIdx, NodeId> {
    let switches = at.subnet().switches();
    let placed = switches.filter_map(|(node, _)| Some((topology.index().switch(node)?, node)));
    placed.collect()
}

/// The bit of a LID's entry in its block.
fn bit(lid: Lid) -> u64 {
    let (_, entry) = LinearForwardingTable::block_of(lid);
    1_u64.wrapping_shl(u32::try_from(entry).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_leave_the_entries_of_all_lids_that_are_held_back_as_they_are() {
        let mut update = TableUpdate::default();
        let held_back = [3, 5, 64].map(|lid| (Lid(lid), Vec::new()));
        update.set_plan(MovePlan {
            held_back: held_back.into(),
            ..MovePlan::default()
        });
        let masks = BTreeMap::from([(0, 1 << 3 | 1 << 5), (1, 1)]);
        assert_eq!(update.held_back, masks);
    }

    #[test]
    fn packets_leave_the_fabric_between_two_stages_and_not_before_or_after() {
        let stage = Vec::from([update::BlockRef {
            switch: SwitchIdx::default(),
            block: 0,
        }]);
        let mut update = TableUpdate::default();
        update.set_plan(MovePlan {
            stages: [stage.clone(), stage].into(),
            held_back: Vec::from([(Lid(3), Vec::from([SwitchIdx::default()]))]),
            ..MovePlan::default()
        });
        assert!(update.has_more());
        assert!(!update.must_settle(), "nothing has moved yet");
        let _ = update.next_stage();
        assert!(update.has_more());
        assert!(update.must_settle());
        let _ = update.next_stage();
        assert!(update.has_more(), "a LID is held back");
        assert!(!update.must_settle(), "it moves by itself");
        let _ = update.next_stage();
        assert!(!update.has_more());
        assert!(!update.must_settle());
        assert!(!TableUpdate::default().has_more());
    }
}
