//! LIDs: which end port owns which, and how the rest is handed out (IBA vol. 1, 4.1.3 and 14.4).
//!
//! An end port is port 0 of a switch or a cabled port of a CA or router. A port with LMC n owns 2^n
//! consecutive LIDs, aligned to their number. What is valid stays: a LID moves only if it is out of range,
//! misaligned or another port's ([`LidChanges`] lists these).

mod changes;
mod policy;

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use ib_wire::{Guid, Lid, Lmc, PortNum, addr::LidRange};

pub use self::{
    changes::{InvalidLid, LidChanges, LidConflict},
    policy::{LidPolicy, LowestFree},
};
use crate::{
    error::RouteError,
    fabric::{Fabric, NodeType, PortRef},
    index::{DestinationIdx, Idx, IdxVec, SwitchIdx},
};

/// An end port and where packets to its LIDs leave the switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The end port.
    pub end: PortRef,
    /// Its port GUID.
    pub guid: Guid,
    /// Kind of its node.
    pub type_: NodeType,
    /// The LIDs it owns.
    pub range: LidRange,
    /// The switch it is, or is cabled to; `None` for a CA whose cable ends at another CA.
    pub switch: Option<SwitchIdx>,
    /// The port of that switch packets leave by: 0 for the switch itself.
    pub exit: PortNum,
}

impl Destination {
    /// Returns true if this is a switch's own port 0.
    #[must_use]
    pub const fn is_switch(&self) -> bool {
        self.type_.is_switch()
    }
}

/// Options of the assignment of LIDs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LidOptions {
    /// LMC of CA and router ports.
    pub lmc: Lmc,
    /// LMC of switches with an enhanced port 0; a base port 0 has one LID.
    pub switch_lmc: Lmc,
    /// Lowest LID to hand out.
    pub first: Lid,
    /// Highest LID to hand out.
    pub last: Lid,
    /// Forget the LIDs that ports have.
    pub reassign: bool,
    /// Port GUID -> base LID that a port shall have, before what it has now.
    pub database: BTreeMap<Guid, Lid>,
    /// Port GUID of the manager's own port: where two ports have a LID, it keeps its own.
    pub manager: Option<Guid>,
}

impl Default for LidOptions {
    fn default() -> Self {
        Self {
            lmc: Lmc::ZERO,
            switch_lmc: Lmc::ZERO,
            first: Lid::UNICAST_MIN,
            last: Lid::UNICAST_MAX,
            reassign: false,
            database: BTreeMap::new(),
            manager: None,
        }
    }
}

impl LidOptions {
    /// The LMC of an end port: a base port 0 of a switch has one LID, whatever the others have.
    fn lmc_of(&self, fabric: &Fabric, end: PortRef) -> Lmc {
        let node = fabric.node(end.node);
        match (node.type_.is_switch(), node.enhanced_port_0) {
            (false, _) => self.lmc,
            (true, true) => self.switch_lmc,
            (true, false) => Lmc::ZERO,
        }
    }

    /// Says how many LIDs are needed, how many there are, and which LMC would do.
    fn exhausted(
        &self,
        fabric: &Fabric,
        ports: &[(PortRef, Guid)],
        without: Vec<Guid>,
    ) -> RouteError {
        let count = |options: &Self| -> usize {
            let lmcs = ports.iter().map(|&(end, _)| options.lmc_of(fabric, end));
            lmcs.map(|lmc| usize::from(lmc.lid_count())).sum()
        };
        let lower = (0..self.lmc.bits()).rev();
        let mut lower = lower.filter_map(|bits| Lmc::try_new(bits).ok());
        let fitting = lower.find(|&lmc| {
            let options = Self {
                lmc,
                ..self.clone()
            };
            LidMap::find_ranges(fabric, &options, ports).all(|(_, range)| range.is_some())
        });
        let range = self.first.0.max(1)..=self.last.0.min(Lid::UNICAST_MAX.0);
        RouteError::LidsExhausted {
            without,
            ports: ports.len(),
            needed: count(self),
            available: range.count(),
            fitting,
        }
    }

    /// The range that begins at `base`, if it may be handed out; else why not.
    fn fit(&self, base: Lid, lmc: Lmc) -> Result<LidRange, InvalidLid> {
        if base < self.first || base > self.last {
            return Err(InvalidLid::OutOfRange);
        }
        let range = LidRange::try_new(base, lmc).map_err(|_| InvalidLid::Misaligned)?;
        if range.last() > self.last {
            return Err(InvalidLid::OutOfRange);
        }
        Ok(range)
    }
}

/// The owner of each LID of a fabric.
#[derive(Clone, Debug, Default)]
pub struct LidMap {
    destinations: IdxVec<DestinationIdx, Destination>,
    /// The owner's index plus one by LID; 0 for a LID without an owner.
    owner: Vec<u32>,
    /// The position of each switch's first destination in `at_switch`; one entry more than switches.
    first_at: IdxVec<SwitchIdx, u32>,
    at_switch: Vec<DestinationIdx>,
}

impl LidMap {
    /// Hands out LIDs: from the database, else what the port has, else the lowest that is free.
    /// Ports come in the order of their GUIDs, the manager's own first.
    ///
    /// # Errors
    /// [`RouteError::LidsExhausted`] if ports are left without a LID: it names all of them.
    pub fn assign(fabric: &Fabric, options: &LidOptions) -> Result<Self, RouteError> {
        let mut ports = end_ports(fabric);
        ports.sort_by_key(|&(end, guid)| {
            let others = Some(guid) != options.manager;
            (others, guid, fabric.node(end.node).guid, end.port)
        });
        let (mut ranges, mut without) = (Vec::new(), Vec::new());
        for ((end, guid), range) in Self::find_ranges(fabric, options, &ports) {
            match range {
                Some(range) => ranges.push((end, range)),
                None => without.push(guid),
            }
        }
        if !without.is_empty() {
            without.sort_unstable();
            return Err(options.exhausted(fabric, &ports, without));
        }
        Ok(Self::new(fabric, ranges))
    }

    /// Looks for the LIDs of each port, in this order.
    fn find_ranges(
        fabric: &Fabric,
        options: &LidOptions,
        ports: &[(PortRef, Guid)],
    ) -> impl Iterator<Item = ((PortRef, Guid), Option<LidRange>)> {
        let mut taken = alloc::vec![false; 0xc000];
        let mut ranges: Vec<Option<LidRange>> = alloc::vec![None; ports.len()];
        for from_database in [true, false] {
            for (range, &(end, guid)) in ranges.iter_mut().zip(ports) {
                let wish = if from_database {
                    options.database.get(&guid).copied()
                } else {
                    let port = fabric.port(end).filter(|_| !options.reassign);
                    port.map(|port| port.lid)
                };
                if let Some(wish) = wish.filter(|_| range.is_none()) {
                    *range = options
                        .fit(wish, options.lmc_of(fabric, end))
                        .ok()
                        .filter(|&wish| take(&mut taken, wish));
                }
            }
        }
        let mut next = [options.first.0.max(1); 8];
        let missing = ranges.iter_mut().zip(ports);
        for (range, &(end, _)) in missing.filter(|(range, _)| range.is_none()) {
            let lmc = options.lmc_of(fabric, end);
            let cursor = next.get_mut(usize::from(lmc.bits()));
            *range = cursor.and_then(|cursor| lowest_free(&mut taken, cursor, lmc, options.last));
        }
        ports.iter().copied().zip(ranges)
    }

    /// The LIDs that the ports of the fabric have. Ports without a valid LID of their own, and all but
    /// the first by GUID where several have one LID, own none.
    #[must_use]
    pub fn of_fabric(fabric: &Fabric) -> Self {
        Self::of_ranges(
            fabric,
            end_ports(fabric).into_iter().filter_map(|(end, _)| {
                let port = fabric.port(end)?;
                Some((end, LidRange::try_new(port.lid, port.lmc).ok()?))
            }),
        )
    }

    /// The LIDs that a caller knows: of ports that are no end ports, or whose LIDs an earlier one
    /// (by GUID) owns, nothing is kept.
    #[must_use]
    pub fn of_ranges(
        fabric: &Fabric,
        ranges: impl IntoIterator<Item = (PortRef, LidRange)>,
    ) -> Self {
        let mut ranges: Vec<_> = ranges.into_iter().collect();
        ranges.sort_by_key(|(end, _)| {
            let guid = fabric.port(*end).map(|port| port.guid);
            (
                guid,
                fabric.nodes().find(end.node).map(|node| node.guid),
                end.port,
            )
        });
        let mut taken = alloc::vec![false; 0xc000];
        ranges.retain(|&(end, range)| is_end_port(fabric, end) && take(&mut taken, range));
        Self::new(fabric, ranges)
    }

    /// The LIDs that a [`LidPolicy`] assigns: unlike [`LidMap::of_ranges`] it refuses what it would leave out.
    ///
    /// # Errors
    /// [`RouteError::BadLid`] for a port that is no end port of the fabric, a LID range that is not all
    /// unicast, or one that overlaps another.
    pub fn try_of_ranges(
        fabric: &Fabric,
        ranges: impl IntoIterator<Item = (PortRef, LidRange)>,
    ) -> Result<Self, RouteError> {
        let ranges: Vec<_> = ranges.into_iter().collect();
        let mut taken = alloc::vec![false; 0xc000];
        let mut ends = BTreeSet::new();
        for &(end, range) in &ranges {
            let bad = |what| RouteError::BadLid {
                port: fabric.port(end).map_or(Guid::NONE, |port| port.guid),
                lid: range.base(),
                what,
            };
            if !is_end_port(fabric, end) {
                return Err(bad("the port is no end port of the fabric"));
            }
            if !ends.insert(end) {
                return Err(bad("the port has other LIDs already"));
            }
            if range.base() == Lid::NONE || range.last() > Lid::UNICAST_MAX {
                return Err(bad("expected unicast LIDs, 0x0001 to 0xbfff"));
            }
            if !take(&mut taken, range) {
                return Err(bad("another port has one of these LIDs"));
            }
        }
        Ok(Self::new(fabric, ranges))
    }

    /// `ranges` do not overlap and belong to end ports.
    fn new(fabric: &Fabric, mut ranges: Vec<(PortRef, LidRange)>) -> Self {
        ranges.sort_by_key(|(_, range)| range.base());
        let destinations: IdxVec<DestinationIdx, Destination> = ranges
            .into_iter()
            .map(|(end, range)| {
                let node = fabric.node(end.node);
                let (switch, exit) = match fabric.switch_of(end.node) {
                    Some(switch) => (Some(switch), PortNum::MANAGEMENT),
                    None => fabric
                        .attachment(end)
                        .map_or((None, PortNum(0)), |(at, port)| (Some(at), port)),
                };
                let guid = node.port(end.port).map_or(Guid::NONE, |port| port.guid);
                Destination {
                    end,
                    guid,
                    type_: node.type_,
                    range,
                    switch,
                    exit,
                }
            })
            .collect();
        let max = destinations
            .iter()
            .last()
            .map_or(0, |last| last.range.last().0);
        let mut owner = alloc::vec![0; usize::from(max) + 1];
        for (index, destination) in destinations.iter_enumerated() {
            for lid in destination.range.iter() {
                if let Some(owner) = owner.get_mut(usize::from(lid.0)) {
                    *owner = index.0 + 1;
                }
            }
        }
        let mut lists: IdxVec<SwitchIdx, Vec<DestinationIdx>> =
            IdxVec::filled(fabric.num_switches(), Vec::new());
        for (index, destination) in destinations.iter_enumerated() {
            if let Some(switch) = destination.switch {
                lists[switch].push(index);
            }
        }
        let (mut first_at, mut at_switch) = (IdxVec::new(), Vec::new());
        for list in lists.iter() {
            first_at.push(at_switch.len() as u32);
            at_switch.extend_from_slice(list);
        }
        first_at.push(at_switch.len() as u32);
        Self {
            destinations,
            owner,
            first_at,
            at_switch,
        }
    }

    /// All end ports with LIDs, by LID.
    #[must_use]
    pub fn destinations(&self) -> &IdxVec<DestinationIdx, Destination> {
        &self.destinations
    }

    /// The end ports that a switch is (port 0) or has cabled to it, by LID.
    pub fn at_switch(
        &self,
        switch: SwitchIdx,
    ) -> impl DoubleEndedIterator<Item = &Destination> + ExactSizeIterator {
        // A map without LIDs, or of another fabric, has nothing at the switch.
        let first = self.first_at.find(switch);
        let range = first.zip(self.first_at.find(SwitchIdx(switch.0 + 1)));
        let range = range.map_or(0..0, |(&first, &end)| first as usize..end as usize);
        let list = self.at_switch.get(range).unwrap_or_default();
        list.iter()
            .map(|&destination| &self.destinations[destination])
    }

    /// Port 0 of `switch` with its LIDs; `None` if it has none.
    #[must_use]
    pub fn switch_port(&self, switch: SwitchIdx) -> Option<&Destination> {
        self.at_switch(switch).find(|port| port.is_switch())
    }

    /// The owner of a LID; `None` if no port has it.
    #[must_use]
    pub fn owner(&self, lid: Lid) -> Option<&Destination> {
        self.destinations.find(self.owner_index(lid)?)
    }

    /// Number of the end port that owns a LID.
    #[must_use]
    pub fn owner_index(&self, lid: Lid) -> Option<DestinationIdx> {
        let owner = *self.owner.get(usize::from(lid.0))?;
        owner
            .checked_sub(1)
            .map(|at| DestinationIdx::new(at as usize))
    }

    /// The LIDs of an end port.
    #[must_use]
    pub fn range_of(&self, end: PortRef) -> Option<LidRange> {
        self.destinations
            .iter()
            .find(|destination| destination.end == end)
            .map(|found| found.range)
    }

    /// The highest LID that a port owns, or [`Lid::NONE`].
    #[must_use]
    pub fn max_lid(&self) -> Lid {
        self.destinations
            .iter()
            .last()
            .map_or(Lid::NONE, |last| last.range.last())
    }

    /// Number of LIDs that ports own.
    #[must_use]
    pub fn num_lids(&self) -> usize {
        self.destinations
            .iter()
            .map(|destination| usize::from(destination.range.lmc().lid_count()))
            .sum()
    }
}

/// Port 0 of every switch and the cabled ports of all other nodes.
fn end_ports(fabric: &Fabric) -> Vec<(PortRef, Guid)> {
    let mut ports = Vec::new();
    for (node, entry) in fabric.nodes().iter_enumerated() {
        for (port, end) in entry.end_ports() {
            if entry.type_.is_switch() || (end.peer.is_some() && !end.disabled) {
                ports.push((PortRef { node, port }, end.guid));
            }
        }
    }
    ports
}

/// Returns true if a port can have LIDs.
fn is_end_port(fabric: &Fabric, end: PortRef) -> bool {
    fabric.nodes().find(end.node).is_some_and(|node| {
        node.port(end.port).is_some() && node.type_.is_switch() == (end.port.0 == 0)
    })
}

/// Marks the LIDs if all of them are free.
fn take(taken: &mut [bool], range: LidRange) -> bool {
    let (base, last) = (usize::from(range.base().0), usize::from(range.last().0));
    match taken.get_mut(base..=last) {
        Some(lids) if !lids.contains(&true) => {
            lids.fill(true);
            true
        }
        _ => false,
    }
}

/// Takes the lowest free aligned range from `cursor` on, which moves past it.
fn lowest_free(taken: &mut [bool], cursor: &mut u16, lmc: Lmc, last: Lid) -> Option<LidRange> {
    loop {
        let base = cursor.checked_add(lmc.path_bits())? & !lmc.path_bits();
        let range = LidRange::try_new(Lid(base), lmc)
            .ok()
            .filter(|range| range.last() <= last)?;
        *cursor = base.checked_add(lmc.lid_count())?;
        if take(taken, range) {
            return Some(range);
        }
    }
}

#[cfg(test)]
mod tests;
