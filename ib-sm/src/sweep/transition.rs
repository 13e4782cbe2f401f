//! Tables of a fabric that carries traffic: written in an order in which no packet loops and, where
//! that can be had, no packets wait for each other in a circle.
//!
//! Switches are written one block at a time, so for a while some forward by the old table and some by
//! the new. [`transition::plan`] orders the blocks: the steps of one block go one after the other,
//! each when the one before is answered, as its order counts; blocks go side by side, as no LID is in
//! two. LIDs for which no order is safe are closed first: switches that change discard their packets
//! until every table is new. Where nothing was forwarded yet, any order will do.

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};
use core::time::Duration;

use ib_routing::{
    Routes, SwitchIdx,
    update::{self, Step as Write, transition},
};
use ib_smp::LinearForwardingTable;
use ib_wire::{Lid, PortNum};

use super::{Plan, Step, Sweep};
use crate::{SmConfig, event::Event, request::Request, subnet::NodeIdx};

/// Entries of all tables up to which deadlocks on the way are ruled out too: it takes longer than
/// to route.
const PROVEN: usize = 1 << 20;
/// Entries that change up to which they are put in order: beyond, packets would suffer longer from the
/// old routes than from a moment of disorder.
const ORDERED: u64 = 1 << 22;

/// SwitchInfo's lifetime code from which on packets are never discarded for their age.
const ENDLESS: u8 = 20;

/// Blocks of switches to write before the next ones may be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wave {
    /// Entries of closed LIDs are taken out of tables that are the old ones else.
    Close(Vec<(NodeIdx, u16)>),
    /// Blocks in their order. Between two such waves the packets sent before get away.
    Stage(Vec<(NodeIdx, u16)>),
}

/// How the tables get from what they were to what they shall be.
#[derive(Clone, Debug, Default)]
pub(super) struct Transition {
    waves: VecDeque<Wave>,
    /// The steps that wait for the one before them, by block.
    chains: BTreeMap<u16, VecDeque<NodeIdx>>,
    /// LIDs whose packets are discarded where their entry changes.
    closed: BTreeSet<Lid>,
    /// Whether the tables are old still but for the closed LIDs.
    closing: bool,
    /// Whether a stage was written.
    staged: bool,
    /// Whether all else that differs was queued.
    finished: bool,
}

impl Transition {
    /// Whether blocks are left to be queued.
    fn has_more(&self) -> bool {
        !self.finished
    }

    /// Whether packets sent by the tables as they are have to be gone before the next blocks are written.
    fn must_settle(&self) -> bool {
        let stage_after_stage = self.staged && matches!(self.waves.front(), Some(Wave::Stage(_)));
        stage_after_stage || !self.closed.is_empty()
    }

    /// What a block must hold now, where `wanted` is the new table and `known` the old one.
    fn content(&self, block: u16, wanted: [u8; 64], known: Option<[u8; 64]>) -> [u8; 64] {
        let mut content = match known {
            Some(known) if self.closing => known,
            _ => wanted,
        };
        let first = block.saturating_mul(LinearForwardingTable::ENTRIES);
        for (lid, port) in (first..).zip(&mut content) {
            if self.closed.contains(&Lid(lid)) {
                *port = PortNum::UNREACHABLE.0;
            }
        }
        content
    }
}

impl Sweep {
    /// Begins to write the tables.
    pub(super) fn start_tables(&mut self, config: &SmConfig) {
        self.transition = Transition::default();
        if let Some(old) = self.tables_in_use() {
            self.plan_transition(&old);
        }
        self.next_wave(config);
    }

    /// Goes on with the next blocks; false if there are none.
    pub(super) fn go_on_with_tables(&mut self, config: &SmConfig) -> bool {
        if !self.transition.has_more() {
            return false;
        }
        if self.transition.must_settle() {
            self.step = Step::Settle;
        } else {
            self.next_wave(config);
        }
        true
    }

    /// Queues the blocks that may be written now.
    pub(super) fn next_wave(&mut self, config: &SmConfig) {
        match self.transition.waves.pop_front() {
            Some(Wave::Close(writes)) => {
                self.transition.closing = true;
                let sets = writes.into_iter();
                self.queue
                    .extend(sets.map(|(node, block)| Request::SetLft(node, block)));
            }
            Some(Wave::Stage(writes)) => {
                self.transition.closing = false;
                self.transition.staged = true;
                for (node, block) in writes {
                    let chain = self.transition.chains.entry(block).or_default();
                    chain.push_back(node);
                }
                let blocks: Vec<u16> = self.transition.chains.keys().copied().collect();
                for block in blocks {
                    self.follow_chain(block);
                }
            }
            None => {
                self.transition.closing = false;
                self.transition.closed.clear();
                self.transition.finished = true;
                self.queue_lft_blocks(config);
            }
        }
    }

    /// Queues the step that has waited for one of its block to be done.
    pub(super) fn follow_chain(&mut self, block: u16) {
        if let Some(chain) = self.transition.chains.get_mut(&block) {
            if let Some(node) = chain.pop_front() {
                self.queue.push_back(Request::SetLft(node, block));
            }
            if chain.is_empty() {
                self.transition.chains.remove(&block);
            }
        }
    }

    /// Whether a step of a block was not done: what was to follow it must wait for another sweep.
    pub(super) fn is_stuck(&self, block: u16) -> bool {
        self.transition.chains.contains_key(&block)
    }

    /// How long the step at work waits before it computes: as long as a packet may live where packets
    /// have to be gone.
    pub(crate) fn pause(&self, config: &SmConfig) -> Duration {
        match self.step {
            Step::Settle => Duration::from_nanos(
                4096_u64.wrapping_shl(config.packet_life_time.min(ENDLESS).into()),
            ),
            _ => Duration::ZERO,
        }
    }

    /// A block of a switch's table as it should be now.
    pub(crate) fn lft_block(&self, node: NodeIdx, block: u16) -> Option<[u8; 64]> {
        let wanted = self.routed_block(node, block)?;
        if self.transition.closed.is_empty() {
            return Some(wanted);
        }
        let known = self.subnet.node(node)?.switch.as_ref()?.lft.block(block);
        Some(self.transition.content(block, wanted, known.copied()))
    }

    /// The routes that the switches forward by, if an entry that changes is in use.
    fn tables_in_use(&self) -> Option<Routes> {
        let routes = self.plan.routes.as_ref()?;
        let in_use = |node: NodeIdx, block: u16, known: &[u8; 64]| {
            self.routed_block(node, block).is_some_and(|wanted| {
                let entries = known.iter().zip(wanted);
                let mut leading = entries.filter(|(known, _)| **known != PortNum::UNREACHABLE.0);
                leading.any(|(known, wanted)| *known != wanted)
            })
        };
        let used = self.subnet.switches().any(|(node, switch)| {
            let mut blocks = switch.lft.blocks();
            blocks.any(|(block, known)| in_use(node, block, known))
        });
        if !used {
            return None;
        }
        let mut old = routes.clone();
        for (_, switch) in self.subnet.switches() {
            let Some(at) = switch.routed else {
                continue;
            };
            let row = old.lft_mut(at);
            row.fill(PortNum::UNREACHABLE.0);
            let blocks = row.as_chunks_mut().0.iter_mut().zip(0..=u16::MAX);
            for (entries, block) in blocks {
                if let Some(known) = switch.lft.block(block) {
                    *entries = *known;
                }
            }
        }
        Some(old)
    }

    /// Plans the way from the tables in use to the new ones.
    fn plan_transition(&mut self, old: &Routes) {
        let Plan { fabric, lids, .. } = &self.plan;
        let Some(new) = &self.plan.routes else {
            return;
        };
        let owned = || lids.destinations().iter().flat_map(|end| end.range.iter());
        let differs = |switch: SwitchIdx, lid: Lid| old.port(switch, lid) != new.port(switch, lid);
        let entries: u64 = fabric
            .switches()
            .indices()
            .map(|switch| owned().filter(|&lid| differs(switch, lid)).count() as u64)
            .sum();
        let (stages, closed, safe) = match entries {
            0 => return,
            _ if fabric.num_switches().saturating_mul(lids.num_lids()) <= PROVEN => {
                let plan = transition::plan(fabric, lids, old, new);
                let safe = matches!(
                    plan.safety,
                    transition::Safety::AnyOrder(_) | transition::Safety::Stages
                );
                (plan.stages, plan.drain.into_keys().collect(), safe)
            }
            _ if entries <= ORDERED => {
                let order = update::order(fabric, lids, old, new);
                let closed: BTreeSet<Lid> = order.drain.into_iter().collect();
                (Vec::from([order.steps]), closed, false)
            }
            _ => return,
        };
        let close = fabric.switches().indices().flat_map(|switch| {
            let changing = closed.iter().filter(move |&&lid| {
                differs(switch, lid) && old.port(switch, lid) != PortNum::UNREACHABLE
            });
            let blocks = changing.map(|&lid| LinearForwardingTable::block_of(lid).0);
            let blocks: BTreeSet<u16> = blocks.collect();
            blocks.into_iter().map(move |block| Write { switch, block })
        });
        let nodes = self.subnet.switches();
        let nodes = nodes.filter_map(|(node, switch)| Some((switch.routed?, node)));
        let nodes: BTreeMap<SwitchIdx, NodeIdx> = nodes.collect();
        let of_node = |write: Write| {
            let &node = nodes.get(&write.switch)?;
            self.holds_lft_block(node, write.block)
                .then_some((node, write.block))
        };
        let close: Vec<_> = close.filter_map(of_node).collect();
        let change = Event::TablesChange {
            entries,
            stages: stages.len(),
            closed: closed.len(),
            deadlock_free: safe,
        };
        let close = (!close.is_empty()).then_some(Wave::Close(close));
        let stages = stages.into_iter();
        let stages =
            stages.map(|stage| Wave::Stage(stage.into_iter().filter_map(of_node).collect()));
        self.transition.waves = close.into_iter().chain(stages).collect();
        self.transition.closed = closed;
        self.events.push_back(change);
    }
}
