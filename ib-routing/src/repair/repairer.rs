//! The state of a repair: tables, loads, and the dependencies of the paths in place.

use alloc::vec::Vec;

use ib_wire::{Lid, PortNum, Sl};

use super::{
    RepairError, growth::Cleared, lanes::Lanes, reconnect::Waiting, remap::Remapped, rule::Rule,
};
use crate::{
    algo::{bfs, shortest_path_dag::hop_weights},
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
    options::RouteOptions,
    routes::{BlockReader, Routes, SlTable},
    verify::{
        path_counts::lengths::PathLengths,
        walk::{Block, LOOP, NO_CHANNEL, PortTable, Target, Walk},
    },
};

/// The state of a repair in progress.
#[derive(Clone)]
pub(crate) struct Repairer<'a> {
    pub(super) fabric: &'a Fabric,
    pub(super) lids: &'a LidMap,
    pub(super) options: &'a RouteOptions,
    pub(super) rule: &'a Rule,
    pub(crate) routes: Routes,
    /// Length of each channel; empty if every length is 1.
    weights: IdxVec<ChannelIdx, u32>,
    /// The number of links of the old paths, if they are known and every channel has the length 1.
    pub(super) lengths: Option<PathLengths>,
    /// LIDs of CAs at each switch.
    pub(crate) senders: IdxVec<SwitchIdx, u64>,
    pub(super) parts: IdxVec<SwitchIdx, u32>,
    /// CA-pair routes on each channel.
    pub(crate) load: IdxVec<ChannelIdx, u64>,
    /// Channels that no path may take, though the fabric has them.
    pub(crate) dead: Vec<ChannelIdx>,
    /// Service levels by switch and LID, if the routes have such levels.
    pub(super) sls: Vec<Sl>,
    /// Hops to the switches that were measured; needed only where paths may have become shorter.
    distances: Option<IdxVec<SwitchIdx, Option<IdxVec<SwitchIdx, u16>>>>,
    /// Every write to `routes` and `sls`, for [`Repairer::undo`]; `None` if writes are not recorded.
    journal: Option<Vec<Write>>,
    /// Memory for the paths towards one LID.
    pub(super) memory: Cleared,
    /// Memory for the switches that wait to join.
    pub(super) open: Waiting,
    /// Memory for the channels by which one switch can join, each with its load.
    pub(super) candidates: Vec<(u64, ChannelIdx)>,
}

/// A LID that some switches have lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CutOff {
    pub(crate) lid: Lid,
    /// The switches that have no path to it, in order.
    pub(crate) switches: Vec<SwitchIdx>,
}

impl CutOff {
    /// Returns true if two LIDs come after each other, in one block, the same switches have lost them, and they have ports of
    /// the same kind at one switch: then their paths are often the same.
    pub(crate) fn is_beside(&self, other: &Self, lids: &LidMap) -> bool {
        let place = |lid| {
            let owner = lids.owner(lid)?;
            Some((owner.switch, owner.is_switch()))
        };
        self.lid.0.checked_add(1) == Some(other.lid.0)
            && BlockReader::is_in_one_block(self.lid, other.lid)
            && self.switches == other.switches
            && place(self.lid) == place(other.lid)
    }
}

/// The value of an entry before a write.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Write {
    /// The previous port of a forwarding table entry.
    Port(SwitchIdx, Lid, PortNum),
    /// The previous service level.
    Level(usize, Sl),
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

    /// Follows all entries of `lid`, which may no longer belong to a port.
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
        // The routes to a single LID always have an order.
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
    /// Begins with the remapped routes, and the load that they have.
    pub(crate) fn new(
        remapped: &Remapped,
        load: &IdxVec<ChannelIdx, u32>,
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
            lengths: None,
            senders: ca_lids(fabric, lids),
            parts: fabric.parts(),
            load: load.iter().copied().map(u64::from).collect(),
            dead: Vec::new(),
            sls,
            distances: may_be_shorter.then(|| IdxVec::filled(fabric.num_switches(), None)),
            journal: None,
            memory: Cleared::default(),
            open: Waiting::new(),
            candidates: Vec::new(),
        }
    }

    /// The same with the known lengths of the old paths, to be looked up instead of measured.
    pub(crate) fn with_lengths(self, lengths: &PathLengths) -> Self {
        let lengths = self.has_unit_lengths().then(|| lengths.clone());
        Self { lengths, ..self }
    }

    /// Repairs the LIDs `incomplete`, those of CAs first, then moves up to `rebalance` entries more. Returns
    /// the routes and how many moved for the balance.
    pub(super) fn run(
        mut self,
        mut lanes: Lanes,
        incomplete: &[Lid],
        rebalance: usize,
    ) -> Result<(Routes, u64), RepairError> {
        let mut reader = Reader::new(self.fabric);
        self.reconnect_all(&mut lanes, incomplete, &mut reader)?;
        let moved = self.rebalance(rebalance, &mut reader, &mut lanes);
        Ok((self.finish(), moved))
    }

    /// As [`run`](Self::run) without a rebalance, for routes whose broken paths are known: `cut_off` has each LID that
    /// some switches have lost, with these switches. Only these are looked at.
    pub(super) fn run_known(
        mut self,
        mut lanes: Lanes,
        cut_off: &[CutOff],
    ) -> Result<Routes, RepairError> {
        let is_whole = self.parts.iter().all(|&part| part == 0);
        let by_destination = matches!(self.routes.sls(), SlTable::ByDestination(_));
        let all_but_one = self.fabric.num_switches().saturating_sub(1);
        // A LID that no switch reaches gets a new lane.
        let needs_lane =
            by_destination && cut_off.iter().any(|cut| cut.switches.len() >= all_but_one);
        if self.distances.is_some() || !is_whole || needs_lane {
            let incomplete: Vec<Lid> = cut_off.iter().map(|cut| cut.lid).collect();
            return self.run(lanes, &incomplete, 0).map(|(routes, _)| routes);
        }
        let (fabric, lids) = (self.fabric, self.lids);
        // Nothing else is written while a LID is reconnected than the entries of the switches that are cut off.
        let before = self.routes.clone();
        let entries = BlockReader::new(&before);
        for of_switches in [false, true] {
            let runs = cut_off.chunk_by(|one, other| one.is_beside(other, lids));
            for run in runs {
                let mut is_done = false;
                for CutOff { lid, switches } in run {
                    let owner = lids.owner(*lid);
                    let Some(owner) = owner.filter(|owner| owner.is_switch() == of_switches) else {
                        break;
                    };
                    let in_place = |switch| {
                        let channel = fabric.channel_at(switch, entries.port(switch, *lid));
                        channel.unwrap_or(NO_CHANNEL)
                    };
                    self.reconnect_these(owner, *lid, switches, &in_place, &mut lanes)?;
                    if !core::mem::replace(&mut is_done, true)
                        && self.reconnect_alike(owner, run, &entries)
                    {
                        break;
                    }
                }
            }
        }
        Ok(self.finish())
    }

    fn reconnect_all(
        &mut self,
        lanes: &mut Lanes,
        incomplete: &[Lid],
        reader: &mut Reader,
    ) -> Result<(), RepairError> {
        let lids = self.lids;
        let all: Vec<Lid> = match self.distances {
            // Every path may have become longer than necessary.
            Some(_) => lids
                .destinations()
                .iter()
                .flat_map(|end| end.range.iter())
                .collect(),
            None => incomplete.to_vec(),
        };
        for of_switches in [false, true] {
            let owned = all.iter().filter_map(|&lid| Some((lids.owner(lid)?, lid)));
            let mut broken = Vec::new();
            for (destination, lid) in owned.filter(|(end, _)| end.is_switch() == of_switches) {
                let Some(root) = destination.switch else {
                    continue;
                };
                reader.follow(self, Some(destination), lid);
                if self.is_broken(root, reader) {
                    broken.push((destination, lid));
                }
                self.cut(root, lid);
            }
            for (destination, lid) in broken {
                self.reconnect(destination, lid, reader, lanes)?;
            }
            reader.forget();
        }
        Ok(())
    }

    /// The repaired routes.
    fn finish(mut self) -> Routes {
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
        self.routes
    }

    /// Removes the entries of switches that no cable joins with the owner of `lid`.
    fn cut(&mut self, root: SwitchIdx, lid: Lid) {
        for switch in self.fabric.switches().indices() {
            if self.parts[switch] != self.parts[root] {
                self.set_port(switch, lid, PortNum::UNREACHABLE);
            }
        }
    }

    fn is_broken(&mut self, root: SwitchIdx, reader: &Reader) -> bool {
        self.measure(root);
        let mut switches = self.fabric.switches().indices();
        switches.any(|switch| self.is_cut_off(root, switch, reader))
    }

    /// Returns true if a switch needs another path to a LID at `root`.
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
            distances[root].get_or_insert_with(|| bfs::distances(self.fabric, &[root]));
        }
    }

    /// Returns true if every channel has the length 1.
    pub(super) fn has_unit_lengths(&self) -> bool {
        self.weights.is_empty()
    }

    /// Length of a channel.
    pub(super) fn weight(&self, channel: ChannelIdx) -> u32 {
        self.weights.find(channel).copied().unwrap_or(1)
    }

    /// The lanes of packets that ports at (or of) `switch` send to `lid`, as a bit mask.
    pub(crate) fn lanes_of(&self, switch: SwitchIdx, lid: Lid) -> u16 {
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

    /// The lanes on which packets from `switch` to `lid` must not come to deadlock, a bit each.
    pub(super) fn protected_lanes(
        &self,
        lanes: &Lanes,
        switch: SwitchIdx,
        destination: &Destination,
        lid: Lid,
    ) -> u16 {
        if lanes.protects(self.senders[switch] > 0, destination) {
            self.lanes_of(switch, lid)
        } else {
            0
        }
    }

    /// Writes a forwarding entry.
    pub(crate) fn set_port(&mut self, switch: SwitchIdx, lid: Lid, port: PortNum) {
        if let Some(journal) = &mut self.journal {
            journal.push(Write::Port(switch, lid, self.routes.port(switch, lid)));
        }
        // A table that does not change stays shared.
        if self.routes.port(switch, lid) != port {
            self.routes.set_port(switch, lid, port);
        }
    }

    /// Writes a service level.
    pub(super) fn set_level(&mut self, at: usize, sl: Sl) {
        if let Some(entry) = self.sls.get_mut(at) {
            if let Some(journal) = &mut self.journal {
                journal.push(Write::Level(at, *entry));
            }
            *entry = sl;
        }
    }

    /// Records every write from now on, for [`Repairer::undo`].
    pub(crate) fn record(&mut self) {
        self.journal = Some(Vec::new());
    }

    /// The writes since [`Repairer::record`] or [`Repairer::undo`].
    pub(crate) fn journal(&self) -> &[Write] {
        self.journal.as_deref().unwrap_or_default()
    }

    /// Undoes the writes since [`Repairer::record`].
    pub(crate) fn undo(&mut self) {
        let Some(mut journal) = self.journal.take() else {
            return;
        };
        for write in journal.drain(..).rev() {
            match write {
                Write::Port(switch, lid, port) => self.routes.set_port(switch, lid, port),
                Write::Level(at, sl) => {
                    if let Some(entry) = self.sls.get_mut(at) {
                        *entry = sl;
                    }
                }
            }
        }
        self.journal = Some(journal);
    }
}

/// LIDs of CAs at each switch.
fn ca_lids(fabric: &Fabric, lids: &LidMap) -> IdxVec<SwitchIdx, u64> {
    let count = |switch| {
        let cas = lids.at_switch(switch).filter(|end| !end.is_switch());
        cas.map(|end| u64::from(end.range.lmc().lid_count())).sum()
    };
    fabric.switches().indices().map(count).collect()
}
