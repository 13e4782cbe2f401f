//! The differences between two states of a fabric with its routes: entries, and the paths that they affect.

use alloc::vec::Vec;
use core::mem;

use ib_wire::{Lid, PortNum};

use super::lane_of;
use crate::{
    fabric::{Channel, Fabric},
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::Destination,
    repair::RoutesInUse,
    routes::SlTable,
    verify::walk::add_upstream,
};

/// The part of all entries, as its reciprocal, from which changes are verified in full.
const MANY: usize = 4;

/// By channel of the old fabric: the channel that it is now, if its cable is the same. `None` if switches, LIDs or SLtoVL
/// tables are not the same.
pub(super) fn same_places(
    old: RoutesInUse<'_>,
    new: RoutesInUse<'_>,
) -> Option<IdxVec<ChannelIdx, Option<ChannelIdx>>> {
    let guids = |fabric: &Fabric, switch| fabric.switch_guid(switch);
    let mut switches = old.fabric.switches().indices();
    let is_same = old.fabric.num_switches() == new.fabric.num_switches()
        && switches.all(|switch| guids(old.fabric, switch) == guids(new.fabric, switch))
        && old.lids.destinations().len() == new.lids.destinations().len()
        && old.routes.vl_map() == new.routes.vl_map()
        && old.routes.row_len() == new.routes.row_len();
    let place = |end: &Destination| (end.type_, end.range, end.switch, end.exit);
    let mut ends = old
        .lids
        .destinations()
        .iter()
        .zip(new.lids.destinations().iter());
    if !is_same || !ends.all(|(old, new)| place(old) == place(new)) {
        return None;
    }
    let now = old.fabric.channels().iter().map(|was: &Channel| {
        let channel = new.fabric.channel_at(was.from, was.port)?;
        let now = new.fabric.channel(channel);
        (now.to == was.to && now.to_port == was.to_port).then_some(channel)
    });
    Some(now.collect())
}

/// The switches whose path to a LID of a port differs, for each such LID, in their order. `None` as for
/// [`changed_entries`], or if so many entries differ that a full verification takes less.
pub(super) fn affected<'a>(
    old: RoutesInUse<'a>,
    new: RoutesInUse<'_>,
    channels: &IdxVec<ChannelIdx, Option<ChannelIdx>>,
    lanes: u8,
) -> Option<Vec<(Lid, &'a Destination, Vec<SwitchIdx>)>> {
    let changed = changed_entries(old, new, channels, lanes)?;
    if changed.len() > old.fabric.num_switches() * old.routes.row_len() / MANY {
        return None;
    }
    let mut seen = IdxVec::filled(old.fabric.num_switches(), Lid(0));
    let groups = changed.chunk_by(|(one, _), (other, _)| one == other);
    let affected = groups.filter_map(|group| {
        let &(lid, _) = group.first()?;
        let owner = old.lids.owner(lid)?;
        let mut switches: Vec<SwitchIdx> = group.iter().map(|&(_, switch)| switch).collect();
        for &switch in &switches {
            seen[switch] = lid;
        }
        add_upstream(old.fabric, &mut switches, |channel| {
            let sends_back = old.routes.port(channel.to, lid) == channel.to_port;
            sends_back && mem::replace(&mut seen[channel.to], lid) != lid
        });
        Some((lid, owner, switches))
    });
    Some(affected.collect())
}

/// The entries that differ or lead over a cable that is gone, in the order of LIDs. `None` if service levels differ
/// otherwise than by entry, or use a lane from `lanes` on.
fn changed_entries(
    old: RoutesInUse<'_>,
    new: RoutesInUse<'_>,
    channels: &IdxVec<ChannelIdx, Option<ChannelIdx>>,
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
    for (channel, now) in channels.iter_enumerated() {
        if now.is_none() {
            let Channel { from, port, .. } = *old.fabric.channel(channel);
            let row = (0..).map(Lid).zip(old.routes.lft(from));
            let over = row.filter(|&(_, &entry)| PortNum(entry) == port);
            changed.extend(over.map(|(lid, _)| (lid, from)));
        }
    }
    changed.sort_unstable();
    changed.dedup();
    Some(changed)
}
