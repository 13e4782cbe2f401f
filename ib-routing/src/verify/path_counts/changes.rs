//! The differences between two states of a fabric with its routes: channels, entries, and the paths that they affect.

use alloc::{borrow::Cow, vec::Vec};
use core::mem;

use ib_wire::{Lid, PortNum};

use super::{MANY_LOST, PathCounts, lane_of, lengths::PathLengths};
use crate::{
    fabric::{Channel, Fabric, lost::LostChannels},
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
    repair::{RoutesInUse, repairer::CutOff},
    routes::{BlockReader, SlTable},
};

/// The part of all entries, as its reciprocal, from which changes are verified in full.
const MANY: usize = 4;

/// The paths that a loss of cables took, as a repair has found them.
#[derive(Clone, Debug)]
pub struct LostPaths {
    /// The channels that the loss took.
    pub(super) gone: LostChannels,
    /// The switches that sent that way, in their order, for each LID of a port, in the order of LIDs.
    pub(super) cut_off: Vec<CutOff>,
}

impl LostPaths {
    /// The switches that sent that way, in their order, for each LID of a port, in the order of LIDs.
    pub(crate) fn cut_off(&self) -> &[CutOff] {
        &self.cut_off
    }

    /// Returns true if a switch sent to a LID that way.
    fn contains(&self, lid: Lid, switch: SwitchIdx) -> bool {
        let at = self
            .cut_off
            .binary_search_by_key(&lid, |cut_off| cut_off.lid);
        let cut_off = at.ok().and_then(|at| self.cut_off.get(at));
        cut_off.is_some_and(|cut_off| cut_off.switches.binary_search(&switch).is_ok())
    }
}

/// The channels of a fabric before a change, by the numbers that counts have after it.
pub(super) enum ChannelPlaces<'c> {
    /// Only channels were lost, so all numbers stay.
    Lost {
        /// The channels that were lost before the change.
        before: &'c LostChannels,
        /// All channels that are lost now.
        lost: LostChannels,
        gone: LostChannels,
    },
    /// The channels get the numbers of the new fabric.
    Renumbered {
        now: IdxVec<ChannelIdx, Option<ChannelIdx>>,
        gone: LostChannels,
    },
}

impl<'c> ChannelPlaces<'c> {
    /// The places of the channels of `old`, to which the counts belong, after it became `new`. The switches are the same.
    pub(super) fn new(counts: &'c PathCounts, old: &Fabric, new: &Fabric) -> Self {
        let before = &counts.lost;
        if let Some(gone) = LostChannels::between(old, new) {
            let lost = before.and(&gone);
            if lost.len() < MANY_LOST {
                return Self::Lost { before, lost, gone };
            }
        }
        let now = old.channels().iter().map(|was: &Channel| {
            let channel = new.channel_at(was.from, was.port)?;
            let now = new.channel(channel);
            (now.to == was.to && now.to_port == was.to_port).then_some(channel)
        });
        let now: IdxVec<ChannelIdx, Option<ChannelIdx>> = now.collect();
        let places = now.iter_enumerated();
        let gone = places.filter(|(_, now)| now.is_none()).map(|(was, _)| was);
        Self::Renumbered {
            gone: LostChannels::new(gone.collect()),
            now,
        }
    }

    /// The channels that the change takes, by the numbers of the old fabric.
    pub(super) const fn gone(&self) -> &LostChannels {
        match self {
            Self::Lost { gone, .. } | Self::Renumbered { gone, .. } => gone,
        }
    }

    /// The number of a channel of the old fabric; `None` if it has none.
    #[inline]
    pub(super) fn of_old(&self, channel: ChannelIdx) -> Option<ChannelIdx> {
        match self {
            Self::Lost { before, .. } => Some(before.before(channel)),
            Self::Renumbered { now, .. } => now.find(channel).copied().flatten(),
        }
    }
}

/// Returns true if switches, SLtoVL tables and the places of all LIDs are the same.
pub(super) fn has_same_places(old: RoutesInUse<'_>, new: RoutesInUse<'_>) -> bool {
    let guids = |fabric: &Fabric, switch| fabric.switch_guid(switch);
    let mut switches = old.fabric.switches().indices();
    old.fabric.num_switches() == new.fabric.num_switches()
        && switches.all(|switch| guids(old.fabric, switch) == guids(new.fabric, switch))
        && old.routes.vl_map() == new.routes.vl_map()
        && old.routes.row_len() == new.routes.row_len()
        && has_same_lids(old.lids, new.lids)
}

/// Returns true if each LID leaves the fabric by the same port of the same switch. The switches have the same numbers.
pub(crate) fn has_same_lids(old: &LidMap, new: &LidMap) -> bool {
    if core::ptr::eq(old, new) {
        return true;
    }
    let place = |end: &Destination| (end.type_, end.range, end.switch, end.exit);
    let (old, new) = (old.destinations(), new.destinations());
    let mut ends = old.iter().zip(new.iter());
    old.len() == new.len() && ends.all(|(old, new)| place(old) == place(new))
}

/// The switches whose path to a LID of a port differs, for each such LID, in their order. `None` as for
/// [`changed_entries`], or if so many entries differ that a full verification takes less. `counts` and `entries` are
/// those of `old`. `lost` are the paths that a loss of cables took from `old`, if they are known: if nothing else has changed,
/// nothing is searched for.
pub(super) fn affected<'l>(
    old: RoutesInUse<'_>,
    new: RoutesInUse<'_>,
    entries: &BlockReader<'_>,
    gone: &LostChannels,
    lost: Option<&'l LostPaths>,
    counts: &PathCounts,
) -> Option<Cow<'l, [CutOff]>> {
    let changed = changed_entries(old, new, counts.lanes)?;
    let search = || {
        let mut changed = changed.clone();
        add_entries_over(old, gone, &mut changed);
        changed.sort_unstable();
        changed.dedup();
        let is_few = changed.len() <= old.fabric.num_switches() * old.routes.row_len() / MANY;
        is_few.then(|| {
            with_upstream(old, &changed, &counts.lengths, |channel, lid| {
                entries.port(channel.to, lid) == channel.to_port
            })
        })
    };
    let is_known = |lost: &&LostPaths| {
        let is_owned = |lid| old.lids.owner_index(lid).is_some();
        let mut changed = changed.iter().filter(|&&(lid, _)| is_owned(lid));
        lost.gone == *gone && changed.all(|&(lid, switch)| lost.contains(lid, switch))
    };
    if let Some(lost) = lost.filter(is_known) {
        debug_assert!(search().is_none_or(|found| in_order(found) == lost.cut_off));
        return Some(Cow::Borrowed(&lost.cut_off));
    }
    search().map(Cow::Owned)
}

/// The same, with the switches of each LID in their order.
fn in_order(mut paths: Vec<CutOff>) -> Vec<CutOff> {
    for CutOff { switches, .. } in &mut paths {
        switches.sort_unstable();
    }
    paths
}

/// The paths that pass one of these channels of the routes' fabric: each LID of a port with, in order, the switches that
/// send to it that way. `sends_back` says whether the switch at the end of a channel sends to a LID by the
/// other direction. `lengths` are those of the paths.
pub(crate) fn lost_paths(
    old: RoutesInUse<'_>,
    gone: &LostChannels,
    lengths: &PathLengths,
    sends_back: impl Fn(&Channel, Lid) -> bool,
) -> Vec<CutOff> {
    let mut over: Vec<(Lid, SwitchIdx)> = Vec::new();
    add_entries_over(old, gone, &mut over);
    over.sort_unstable();
    in_order(with_upstream(old, &over, lengths, sends_back))
}

/// Adds the switches upstream of those with these entries, which are in order. LIDs of no port are left out.
fn with_upstream(
    old: RoutesInUse<'_>,
    entries: &[(Lid, SwitchIdx)],
    lengths: &PathLengths,
    sends_back: impl Fn(&Channel, Lid) -> bool,
) -> Vec<CutOff> {
    let mut seen = IdxVec::filled(old.fabric.num_switches(), Lid(0));
    let groups = entries.chunk_by(|(one, _), (other, _)| one == other);
    let affected = groups.filter_map(|group| {
        let &(lid, _) = group.first()?;
        old.lids.owner_index(lid)?;
        let mut switches: Vec<SwitchIdx> = group.iter().map(|&(_, switch)| switch).collect();
        for &switch in &switches {
            seen[switch] = lid;
        }
        let known = lengths.of(lid);
        let mut at = 0;
        // Each switch comes after its next hop.
        while let Some(&switch) = switches.get(at) {
            at += 1;
            let mut add = |channel: &Channel| {
                if sends_back(channel, lid) && mem::replace(&mut seen[channel.to], lid) != lid {
                    switches.push(channel.to);
                }
            };
            let channels = old.fabric.channels_from(switch);
            let Some(known) = known else {
                channels.for_each(|(_, channel)| add(channel));
                continue;
            };
            // A switch that sends by this one is one link farther away.
            let wanted = known
                .get(switch.at())
                .map(|length| length.saturating_add(1));
            // A plain loop: few neighbors send by this switch.
            for (_, channel) in channels {
                if known.get(channel.to.at()).copied() == wanted {
                    add(channel);
                }
            }
        }
        Some(CutOff { lid, switches })
    });
    affected.collect()
}

/// Adds the entries that lead over channels of the routes' fabric.
fn add_entries_over(
    on: RoutesInUse<'_>,
    channels: &LostChannels,
    entries: &mut Vec<(Lid, SwitchIdx)>,
) {
    for channel in channels.iter() {
        let Channel { from, port, .. } = *on.fabric.channel(channel);
        let numbers = (0..).map_while(|number| on.routes.lft_block(from, number));
        let row = (0..).map(Lid).zip(numbers.flatten());
        let over = row.filter(|&(_, &entry)| PortNum(entry) == port);
        entries.extend(over.map(|(lid, _)| (lid, from)));
    }
}

/// The entries that differ. `None` if service levels differ otherwise than by entry, or use a lane from `lanes` on.
fn changed_entries(
    old: RoutesInUse<'_>,
    new: RoutesInUse<'_>,
    lanes: u8,
) -> Option<Vec<(Lid, SwitchIdx)>> {
    let mut changed = Vec::new();
    let len = old.routes.row_len();
    for switch in old.fabric.switches().indices() {
        let lids = old.routes.changed_lids(new.routes, switch);
        changed.extend(lids.map(|lid| (lid, switch)));
    }
    match (old.routes.sls(), new.routes.sls()) {
        (SlTable::BySwitch(old), SlTable::BySwitch(now)) => {
            let rows = old.chunks(len.max(1)).zip(now.chunks(len.max(1)));
            for ((was, is), switch) in rows.zip(new.fabric.switches().indices()) {
                let lids = was.iter().zip(is).enumerate();
                for (at, _) in lids.filter(|(_, (was, is))| was != is) {
                    let lid = Lid(at as u16);
                    if lane_of(new.routes, switch, lid) >= lanes {
                        return None;
                    }
                    changed.push((lid, switch));
                }
            }
        }
        (old, new) if old == new => {}
        _ => return None,
    }
    Some(changed)
}
