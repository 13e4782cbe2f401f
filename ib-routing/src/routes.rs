//! Routes: the output port per (switch, LID) and the service level per (source, destination).

mod block_reader;
mod page;
mod page_writer;
mod pair_sls;
mod rows;
mod shared_lft;

use alloc::{borrow::Cow, vec, vec::Vec};
use core::ops::RangeInclusive;

use ib_wire::{Lid, PortNum, Sl};

use self::rows::Rows;
pub(crate) use self::{
    block_reader::BlockReader,
    page_writer::{Layout, PageWriter},
    rows::differing,
};
pub use self::{page::PagePool, pair_sls::PairSls, shared_lft::SharedLft};
use crate::{
    algo::parallel,
    engine::SharedEngine,
    fabric::Fabric,
    index::{Idx, IdxVec, SwitchIdx},
    lid::LidMap,
    vl::VlMap,
};

/// The service levels of a route set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlTable {
    /// One for all.
    Uniform(Sl),
    /// By destination LID, for every source.
    ByDestination(Vec<Sl>),
    /// By the sender's switch, then by destination LID: rows of [`Routes::row_len`].
    BySwitch(Vec<Sl>),
    /// By source LID and destination LID: as files and other managers have it.
    ByPair(PairSls),
}

/// The result of an engine: a linear forwarding table per switch, service levels, and the SLtoVL tables
/// that map them to lanes.
///
/// A row has an entry for every LID from 0 to the end of the last block of 64, as switches are programmed
/// in blocks; LIDs that no port has stay [`PortNum::UNREACHABLE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    engine: SharedEngine,
    max_lid: Lid,
    rows: Rows,
    /// The switch that each LID's owner is or is cabled to.
    switch_of: Vec<Option<SwitchIdx>>,
    sls: SlTable,
    vl_map: VlMap,
    vls: u8,
}

/// Entries of a table for all LIDs, in whole blocks of 64.
fn row_len(lids: &LidMap) -> usize {
    (usize::from(lids.max_lid().0) + 1).next_multiple_of(64)
}

impl Routes {
    /// Routes that reach no LID, all on SL 0. `engine` made them: an engine, or its name.
    #[must_use]
    pub fn new(engine: impl Into<SharedEngine>, fabric: &Fabric, lids: &LidMap) -> Self {
        Self::new_on(1, engine, fabric, lids)
    }

    /// As [`new`](Self::new), with tables that clones [share](Self::share). A switch's table takes memory when it is
    /// written or [replaced](Self::set_shared_lft).
    #[must_use]
    pub fn new_shared(engine: impl Into<SharedEngine>, fabric: &Fabric, lids: &LidMap) -> Self {
        let rows = Rows::unreachable(fabric.num_switches(), row_len(lids));
        Self::with_rows(engine.into(), lids, rows)
    }

    /// As [`new`](Self::new), on as many threads as `threads` says.
    pub(crate) fn new_on(
        threads: usize,
        engine: impl Into<SharedEngine>,
        fabric: &Fabric,
        lids: &LidMap,
    ) -> Self {
        let (switches, len) = (fabric.num_switches(), row_len(lids));
        let rows = Rows::new(threads, switches, len, PortNum::UNREACHABLE.0);
        Self::with_rows(engine.into(), lids, rows)
    }

    /// Routes with these tables, all on SL 0.
    fn with_rows(engine: SharedEngine, lids: &LidMap, rows: Rows) -> Self {
        parallel::count(lids.destinations().len());
        let mut switch_of = vec![None; rows.len()];
        for destination in lids.destinations().iter() {
            let range =
                usize::from(destination.range.base().0)..=usize::from(destination.range.last().0);
            switch_of
                .get_mut(range)
                .unwrap_or_default()
                .fill(destination.switch);
        }
        Self {
            engine,
            max_lid: lids.max_lid(),
            rows,
            switch_of,
            sls: SlTable::Uniform(Sl::ZERO),
            vl_map: VlMap::default(),
            vls: 1,
        }
    }

    /// The engine that made them.
    #[must_use]
    pub const fn engine(&self) -> &SharedEngine {
        &self.engine
    }

    /// Says which engine made them.
    pub fn set_engine(&mut self, engine: impl Into<SharedEngine>) {
        self.engine = engine.into();
    }

    /// The highest LID in use.
    #[must_use]
    pub const fn max_lid(&self) -> Lid {
        self.max_lid
    }

    /// Entries per switch: a multiple of 64.
    #[must_use]
    pub const fn row_len(&self) -> usize {
        self.rows.len()
    }

    /// Number of switches.
    #[must_use]
    pub fn num_switches(&self) -> usize {
        self.rows.count()
    }

    /// The port by which `switch` sends packets to `lid`.
    #[inline]
    #[must_use]
    pub fn port(&self, switch: SwitchIdx, lid: Lid) -> PortNum {
        let port = self.rows.entry(switch.at(), usize::from(lid.0));
        port.map_or(PortNum::UNREACHABLE, PortNum)
    }

    /// Sets the port by which `switch` sends packets to `lid`.
    #[inline]
    pub fn set_port(&mut self, switch: SwitchIdx, lid: Lid, port: PortNum) {
        self.rows.set(switch.at(), usize::from(lid.0), port.0);
    }

    /// A switch's linear forwarding table, by LID. It is copied if tables are [shared](Self::share);
    /// [`port`](Self::port) and [`lft_block`](Self::lft_block) copy nothing.
    #[inline]
    #[must_use]
    pub fn lft(&self, switch: SwitchIdx) -> Cow<'_, [u8]> {
        self.rows.row(switch.at())
    }

    /// The entries of the LIDs from 64 times `block` on in a switch's linear forwarding table; `None` past its end.
    #[inline]
    #[must_use]
    pub fn lft_block(&self, switch: SwitchIdx, block: u16) -> Option<&[u8; 64]> {
        self.rows.block(switch.at(), block)
    }

    /// Writes the entries of the LIDs from 64 times `block` on in a switch's linear forwarding table. Returns false, and
    /// changes nothing, past its end.
    pub fn set_lft_block(&mut self, switch: SwitchIdx, block: u16, entries: &[u8; 64]) -> bool {
        self.rows.set_block(switch.at(), block, entries)
    }

    /// Makes all LIDs unreachable that a switch sends to by `port`.
    pub(crate) fn unset_port(&mut self, switch: SwitchIdx, port: PortNum) {
        let unreachable = PortNum::UNREACHABLE.0;
        self.rows.replace(switch.at(), port.0, unreachable);
    }

    /// All tables, one row of [`Routes::row_len`] after the other. Those that are [shared](Self::share) are copied.
    #[must_use]
    pub fn rows_mut(&mut self) -> &mut [u8] {
        self.rows.whole_mut(1)
    }

    /// A writer of the tables for groups of LIDs, one group after the other, on as many threads as `threads` says. `groups`
    /// has the ranges of LIDs of each group.
    pub(crate) fn writer<R: Iterator<Item = RangeInclusive<Lid>>>(
        &mut self,
        threads: usize,
        groups: impl Iterator<Item = R>,
    ) -> PageWriter<'_> {
        PageWriter::new(threads, &mut self.rows, groups)
    }

    /// Lets equal pages of 1,024 LIDs share their memory, in the tables of these routes and of their clones: a write
    /// copies the page that it changes, and routes after a repair share the other pages with those before it. It works on
    /// as many threads as `threads` says: 0 for all, as in [`RouteOptions`](crate::RouteOptions).
    pub fn share(&mut self, threads: usize) {
        self.rows.share(threads);
    }

    /// A switch's table that clones share; `None` before [`Routes::share`].
    #[must_use]
    pub fn shared_lft(&self, switch: SwitchIdx) -> Option<&SharedLft> {
        self.rows.shared(switch.at())
    }

    /// Replaces a switch's table by a shared one. Returns false, and changes nothing, if its length is not
    /// [`Routes::row_len`].
    pub fn set_shared_lft(&mut self, switch: SwitchIdx, lft: &SharedLft) -> bool {
        self.rows.set_shared(switch.at(), lft)
    }

    /// The LIDs, owned or not, to which a switch sends by different ports in two route sets of one fabric, in order.
    /// Pages that both tables share are not read.
    pub fn changed_lids<'a>(
        &'a self,
        other: &'a Self,
        switch: SwitchIdx,
    ) -> impl Iterator<Item = Lid> + 'a {
        let missing = PortNum::UNREACHABLE.0;
        let differing = self.rows.differing(&other.rows, switch.at(), missing);
        let differing = differing.into_iter();
        differing.filter_map(|lid| u16::try_from(lid).ok().map(Lid))
    }

    /// The service level of packets from `source` to `destination`.
    #[must_use]
    pub fn sl(&self, source: Lid, destination: Lid) -> Sl {
        match (&self.sls, self.switch_of.get(usize::from(source.0))) {
            (SlTable::ByPair(sls), _) => sls.sl(source, destination),
            (_, Some(&Some(switch))) => self.sl_from(switch, destination),
            (SlTable::ByDestination(_), _) => self.sl_from(SwitchIdx(0), destination),
            _ => Sl::ZERO,
        }
    }

    /// The service level of packets to `destination` from ports at (or of) `switch`; with
    /// [`SlTable::ByPair`], where ports of a switch may differ, ask [`Routes::sl`].
    #[inline]
    #[must_use]
    pub fn sl_from(&self, switch: SwitchIdx, destination: Lid) -> Sl {
        let at = usize::from(destination.0);
        match &self.sls {
            SlTable::Uniform(sl) => *sl,
            SlTable::ByDestination(sls) => sls.get(at).copied().unwrap_or_default(),
            SlTable::ByPair(_) => Sl::ZERO,
            SlTable::BySwitch(_) if at >= self.row_len() => Sl::ZERO,
            SlTable::BySwitch(sls) => sls
                .get(switch.at() * self.row_len() + at)
                .copied()
                .unwrap_or_default(),
        }
    }

    /// The service levels as they are stored.
    #[must_use]
    pub const fn sls(&self) -> &SlTable {
        &self.sls
    }

    /// Sets the service levels, the SLtoVL tables and the number of lanes they use.
    pub fn set_lanes(&mut self, sls: SlTable, vl_map: VlMap, vls: u8) {
        (self.sls, self.vl_map, self.vls) = (sls, vl_map, vls);
    }

    /// The SLtoVL tables.
    #[must_use]
    pub const fn vl_map(&self) -> &VlMap {
        &self.vl_map
    }

    /// Lanes for data that the routes need: at least 1.
    #[must_use]
    pub const fn vls(&self) -> u8 {
        self.vls
    }

    /// The switches and output ports that a packet to `destination` passes from `switch` on, until it
    /// leaves by port 0, a dead or unknown port or a port to a CA, or has passed every switch.
    pub fn path<'a>(
        &'a self,
        fabric: &'a Fabric,
        switch: SwitchIdx,
        destination: Lid,
    ) -> impl Iterator<Item = (SwitchIdx, PortNum)> + 'a {
        let mut here = Some(switch);
        core::iter::from_fn(move || {
            let switch = here?;
            let port = self.port(switch, destination);
            here = fabric
                .channel_at(switch, port)
                .map(|channel| fabric.channel(channel).to);
            Some((switch, port))
        })
        .take(fabric.num_switches() + 1)
    }

    /// Sets, at every switch, how the LIDs of its own end ports leave it: port 0 or the CA's port.
    pub fn set_exits(&mut self, lids: &LidMap) {
        parallel::count(lids.destinations().len());
        for destination in lids.destinations().iter() {
            if let Some(switch) = destination.switch {
                for lid in destination.range.iter() {
                    // A table that is right already stays shared.
                    if self.port(switch, lid) != destination.exit {
                        self.set_port(switch, lid, destination.exit);
                    }
                }
            }
        }
    }

    /// A table with an entry per switch.
    #[must_use]
    pub fn per_switch<T: Clone>(&self, value: T) -> IdxVec<SwitchIdx, T> {
        IdxVec::filled(self.num_switches(), value)
    }
}
