//! The state of a repair: tables, loads, and the dependencies of the paths in place.

use alloc::{vec, vec::Vec};

use ib_wire::{Lid, PortNum, Sl};

use super::{BaseDependencies, RepairError, remap::Remapped, rule::Rule};
use crate::{
    algo::{
        bfs,
        channel_graph::{ChannelGraph, DependencyLayout},
        lanes::up_down_order,
        shortest_path_dag::{hop_weights, senders},
    },
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
    options::RouteOptions,
    routes::{Routes, SlTable},
    verify::walk::{Block, LOOP, NO_CHANNEL, PortTable, Target, Walk},
};

/// Virtual lanes that an SLtoVL table can name.
const LANES: usize = 16;

/// A repair while it runs.
pub(super) struct Repairer<'a> {
    pub(super) fabric: &'a Fabric,
    pub(super) lids: &'a LidMap,
    pub(super) options: &'a RouteOptions,
    pub(super) rule: &'a Rule,
    pub(super) routes: Routes,
    /// Length of each channel; empty where all are one.
    weights: IdxVec<ChannelIdx, u32>,
    /// CA ports at each switch.
    pub(super) senders: IdxVec<SwitchIdx, u64>,
    pub(super) parts: IdxVec<SwitchIdx, u32>,
    /// CA-pair routes on each channel.
    pub(super) load: IdxVec<ChannelIdx, u64>,
    /// Service levels by switch and LID, where the routes have such.
    pub(super) sls: Vec<Sl>,
    /// Hops to the switches that were measured; needed only where paths may have become shorter.
    distances: Option<IdxVec<SwitchIdx, Option<IdxVec<SwitchIdx, u16>>>>,
    /// Whether paths in place to switches can deadlock.
    pub(super) is_unsafe: bool,
}

/// The dependencies of each lane, where the routes shall not deadlock.
pub(super) struct Lanes<'g> {
    graphs: Vec<ChannelGraph<'g>>,
}

/// Reads the tree of one LID after the other out of the tables.
pub(super) struct Reader {
    pub(super) table: PortTable,
    pub(super) walk: Walk<1>,
    block: Block,
    /// First LID of the block that is loaded.
    loaded: Option<usize>,
}

impl Reader {
    pub(super) fn new(fabric: &Fabric) -> Self {
        Self {
            table: PortTable::new(fabric),
            walk: Walk::new(fabric),
            block: Block::new(fabric),
            loaded: None,
        }
    }

    /// Follows all entries of `lid`, which may be no port's any more.
    pub(super) fn follow(
        &mut self,
        repairer: &Repairer<'_>,
        owner: Option<&Destination>,
        lid: Lid,
    ) {
        let first = usize::from(lid.0) / Block::LIDS * Block::LIDS;
        if self.loaded != Some(first) {
            self.block.load(&self.table, &repairer.routes, first);
            self.loaded = Some(first);
        }
        // One LID has an order always.
        self.walk
            .follow(&self.table, &self.block, &[Target { lid, owner }]);
    }

    /// The channel that a switch sends by.
    pub(super) fn next(&self, switch: SwitchIdx) -> ChannelIdx {
        self.walk.next[switch][0]
    }

    /// Links from a switch to the destination's; [`LOOP`] or more where it is not reached.
    pub(super) fn hops(&self, switch: SwitchIdx) -> u32 {
        self.walk.hops[switch][0]
    }

    /// Marks the loaded block as stale: entries changed since the last LID was read.
    pub(super) fn forget(&mut self) {
        self.loaded = None;
    }
}

impl<'a> Repairer<'a> {
    /// Begins with the remapped routes.
    pub(super) fn new(
        remapped: &Remapped,
        fabric: &'a Fabric,
        lids: &'a LidMap,
        options: &'a RouteOptions,
        rule: &'a Rule,
    ) -> Self {
        let sls = match remapped.routes.sls() {
            SlTable::BySwitch(sls) => sls.clone(),
            _ => Vec::new(),
        };
        let may_be_shorter = remapped.grown && matches!(rule, Rule::Shortest);
        Self {
            fabric,
            lids,
            options,
            rule,
            routes: remapped.routes.clone(),
            weights: hop_weights(fabric, options),
            senders: senders(fabric, lids),
            parts: fabric.parts(),
            load: IdxVec::filled(fabric.channels().len(), 0),
            sls,
            distances: may_be_shorter.then(|| IdxVec::filled(fabric.num_switches(), None)),
            is_unsafe: false,
        }
    }

    /// Repairs all LIDs, those of CAs first, then moves up to `rebalance` entries more. Returns the
    /// routes and how many moved for the balance.
    pub(super) fn run(
        mut self,
        base: Option<BaseDependencies>,
        rebalance: usize,
    ) -> Result<(Routes, u64), RepairError> {
        let layout = DependencyLayout::new(self.fabric);
        let order = up_down_order(self.fabric, &self.senders);
        let mut lanes = Lanes { graphs: Vec::new() };
        if base.is_some() {
            lanes.graphs = vec![ChannelGraph::new(&layout, &order); LANES];
        }
        let mut reader = Reader::new(self.fabric);
        for of_switches in [false, true] {
            let broken = self.read_trees(of_switches, base, &mut reader, &mut lanes)?;
            for (destination, lid) in broken {
                self.reconnect(destination, lid, &mut reader, &mut lanes)?;
            }
            reader.forget();
        }
        let moved = self.rebalance(rebalance, &mut reader, &mut lanes);
        let mut vls = self.routes.vls();
        let sls = if self.sls.is_empty() {
            self.routes.sls().clone()
        } else {
            SlTable::BySwitch(self.sls)
        };
        if let SlTable::BySwitch(sls) | SlTable::ByDestination(sls) = &sls {
            let highest = sls.iter().max().copied().unwrap_or_default();
            vls = vls.max(highest.bits() + 1);
        }
        let vl_map = self.routes.vl_map().clone();
        self.routes.set_lanes(sls, vl_map, vls);
        Ok((self.routes, moved))
    }

    /// Reads the trees towards the LIDs of CAs, or of switches: notes loads and dependencies, and
    /// returns the LIDs that some switch has lost, or has a longer path to than need be.
    fn read_trees(
        &mut self,
        of_switches: bool,
        base: Option<BaseDependencies>,
        reader: &mut Reader,
        lanes: &mut Lanes<'_>,
    ) -> Result<Vec<(&'a Destination, Lid)>, RepairError> {
        let mut broken = Vec::new();
        if !of_switches {
            self.read_unowned(base, reader, lanes)?;
        }
        let mut passing = IdxVec::filled(self.fabric.num_switches(), (0u64, 0u16));
        let lids = self.lids;
        let ends = lids.destinations().iter();
        for destination in ends.filter(|end| end.is_switch() == of_switches) {
            let Some(root) = destination.switch else {
                continue;
            };
            for lid in destination.range.iter() {
                reader.follow(self, Some(destination), lid);
                for (switch, passing) in passing.indices().zip(passing.iter_mut()) {
                    let senders = self.senders[switch];
                    let sends = of_switches || senders > 0;
                    let mask = if sends && !lanes.graphs.is_empty() {
                        self.lanes_of(switch, lid)
                    } else {
                        0
                    };
                    *passing = (senders, mask);
                }
                for &switch in &reader.walk.order {
                    let (channel, arrives) = (reader.next(switch), reader.hops(switch) < LOOP);
                    if channel == NO_CHANNEL || !(arrives || base == Some(BaseDependencies::Old)) {
                        continue;
                    }
                    let to = reader.table.to(channel);
                    let (flow, mask) = passing[switch];
                    if arrives && !of_switches {
                        self.load[channel] += flow;
                        passing[to].0 += flow;
                    }
                    passing[to].1 |= mask;
                    let next = reader.next(to);
                    let admitted = next == NO_CHANNEL || lanes.admit(mask, channel, next);
                    if !admitted && !of_switches {
                        return Err(RepairError::WasUnsafe);
                    }
                    self.is_unsafe |= !admitted;
                }
                if self.is_broken(root, reader) {
                    broken.push((destination, lid));
                }
                self.cut(root, lid);
            }
        }
        Ok(broken)
    }

    /// Removes the entries of switches that no cable joins with the owner of `lid`.
    fn cut(&mut self, root: SwitchIdx, lid: Lid) {
        for switch in self.fabric.switches().indices() {
            if self.parts[switch] != self.parts[root] {
                self.routes.set_port(switch, lid, PortNum::UNREACHABLE);
            }
        }
    }

    /// Adds the dependencies of packets to ports that are gone: their entries stay until they are dropped.
    fn read_unowned(
        &self,
        base: Option<BaseDependencies>,
        reader: &mut Reader,
        lanes: &mut Lanes<'_>,
    ) -> Result<(), RepairError> {
        if base.is_none() {
            return Ok(());
        }
        let all = (0..self.routes.row_len()).map(|lid| Lid(lid as u16));
        let gone = |lid: &Lid| {
            let owner = self.lids.owner(*lid);
            owner.is_none_or(|owner| owner.switch.is_none())
        };
        for lid in all.filter(gone) {
            let used = |switch| self.routes.port(switch, lid) != PortNum::UNREACHABLE;
            if !self.fabric.switches().indices().any(used) {
                continue;
            }
            reader.follow(self, None, lid);
            let mut masks: IdxVec<SwitchIdx, u16> = IdxVec::filled(self.fabric.num_switches(), 0);
            for &switch in &reader.walk.order {
                let channel = reader.next(switch);
                if channel == NO_CHANNEL {
                    continue;
                }
                if self.senders[switch] > 0 {
                    masks[switch] |= self.lanes_of(switch, lid);
                }
                let (mask, to) = (masks[switch], reader.table.to(channel));
                masks[to] |= mask;
                let next = reader.next(to);
                if next != NO_CHANNEL && !lanes.admit(mask, channel, next) {
                    return Err(RepairError::WasUnsafe);
                }
            }
        }
        Ok(())
    }

    fn is_broken(&mut self, root: SwitchIdx, reader: &Reader) -> bool {
        self.measure(root);
        let mut switches = self.fabric.switches().indices();
        switches.any(|switch| self.is_cut_off(root, switch, reader))
    }

    /// Whether a switch needs another path to a LID at `root`.
    pub(super) fn is_cut_off(&self, root: SwitchIdx, switch: SwitchIdx, reader: &Reader) -> bool {
        let hops = reader.hops(switch);
        self.parts[switch] == self.parts[root]
            && (hops >= LOOP
                || self.distances.as_ref().is_some_and(|distances| {
                    let least = distances[root].as_ref().map(|least| least[switch]);
                    least.is_some_and(|least| hops > u32::from(least))
                }))
    }

    /// Computes the distances to a switch, where they are needed.
    fn measure(&mut self, root: SwitchIdx) {
        if let Some(distances) = &mut self.distances {
            distances[root].get_or_insert_with(|| bfs::distances(self.fabric, root));
        }
    }

    /// Length of a channel.
    pub(super) fn weight(&self, channel: ChannelIdx) -> u32 {
        self.weights.find(channel).copied().unwrap_or(1)
    }

    /// The lanes of what ports at (or of) `switch` send to `lid`, a bit each.
    pub(super) fn lanes_of(&self, switch: SwitchIdx, lid: Lid) -> u16 {
        let bit = |sl| 1 << self.lane(sl);
        match self.routes.sls() {
            SlTable::ByPair(_) => {
                let from = self.lids.at_switch(switch).flat_map(|end| end.range.iter());
                from.fold(0, |mask, from| mask | bit(self.routes.sl(from, lid)))
            }
            SlTable::BySwitch(_) => bit(self
                .sl_entry(switch, lid)
                .map_or(Sl::ZERO, |at| self.sls.get(at).copied().unwrap_or_default())),
            _ => bit(self.routes.sl_from(switch, lid)),
        }
    }

    /// The lane of a service level.
    pub(super) fn lane(&self, sl: Sl) -> u8 {
        let table = self.routes.vl_map().injection();
        table.get(usize::from(sl.bits())).map_or(0, |vl| vl.bits())
    }

    /// Index of the service level of a switch and LID in `sls`.
    pub(super) fn sl_entry(&self, switch: SwitchIdx, lid: Lid) -> Option<usize> {
        let at = switch.0 as usize * self.routes.row_len() + usize::from(lid.0);
        (at < self.sls.len()).then_some(at)
    }

    /// Service levels that new paths may have: those that the engine gives.
    pub(super) fn new_sls(&self) -> impl Iterator<Item = Sl> + use<> {
        let first = self.routes.engine().guarantees(self.options).first_sl;
        (first..self.options.vls()).filter_map(|sl| Sl::try_new(sl).ok())
    }

    /// The channels from `channel` on to the end of the path to `lid`.
    pub(super) fn path_from(
        &self,
        channel: ChannelIdx,
        lid: Lid,
    ) -> impl Iterator<Item = ChannelIdx> + '_ {
        let path = self
            .routes
            .path(self.fabric, self.fabric.channel(channel).to, lid);
        let rest = path.map_while(|(switch, port)| self.fabric.channel_at(switch, port));
        core::iter::once(channel).chain(rest)
    }

    /// Adds the dependencies of the path that `channel` begins to each lane in `mask`; false if one of
    /// them would close a cycle.
    pub(super) fn admit_path(
        &self,
        lanes: &mut Lanes<'_>,
        mask: u16,
        channel: ChannelIdx,
        lid: Lid,
    ) -> bool {
        if lanes.graphs.is_empty() {
            return true;
        }
        let mut before = channel;
        self.path_from(channel, lid).skip(1).all(|next| {
            let from = core::mem::replace(&mut before, next);
            lanes.admit(mask, from, next)
        })
    }
}

impl Lanes<'_> {
    /// Whether nothing is promised about deadlock.
    pub(super) fn is_empty(&self) -> bool {
        self.graphs.is_empty()
    }

    /// Makes `to` a dependency of `from` on each lane in `mask`; false if that closes a cycle.
    pub(super) fn admit(&mut self, mask: u16, from: ChannelIdx, to: ChannelIdx) -> bool {
        let mut graphs = self.graphs.iter_mut().enumerate();
        graphs.all(|(lane, graph)| mask >> lane & 1 == 0 || graph.admit(from, to))
    }
}
