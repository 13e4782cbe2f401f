//! The old tables in terms of the new fabric: entries whose cable still exists, matched by node GUID.

use alloc::{borrow::Cow, vec, vec::Vec};

use ib_wire::{Guid, Lid, PortNum, Sl};

use super::{RoutesInUse, repairer::CutOff};
use crate::{
    fabric::{Fabric, lost::LostChannels},
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
    routes::{Routes, SlTable, differing},
    verify::path_counts::has_same_lids,
    vl::VlMap,
};

/// The old routes in the numbers of the new fabric.
pub(crate) struct Remapped {
    /// Entries that still lead over the same cable, and the exits of all LIDs.
    pub(crate) routes: Routes,
    /// The index of each switch in the old fabric; `None` if the switch is new.
    pub(crate) was: IdxVec<SwitchIdx, Option<SwitchIdx>>,
    /// By channel of the old fabric: the channel that it is now, if its cable is the same.
    pub(crate) channels: IdxVec<ChannelIdx, Option<ChannelIdx>>,
    /// True if the fabric has cables between switches that it did not have before.
    pub(crate) grown: bool,
    /// A new switch among SLtoVL tables that differ by port: only the engine can make its tables.
    pub(crate) new_tables: Option<Guid>,
}

/// Translates the old routes into the numbers of the new fabric.
///
/// `is_complete` says that every entry of the old routes for a LID of a port arrives. Then the tables of switches that lost no
/// cable stay shared with the old routes, if these are [shared](Routes::share); after a loss of cables alone nothing
/// else is looked at.
pub(crate) fn remap(
    old: RoutesInUse<'_>,
    fabric: &Fabric,
    lids: &LidMap,
    is_complete: bool,
) -> Remapped {
    if is_complete
        && let Some(lost) = LostChannels::between(old.fabric, fabric)
        && old.lids.max_lid() == lids.max_lid()
        && has_same_lids(old.lids, lids)
    {
        return without(old, lids, &lost);
    }
    let was = old_switches(old.fabric, fabric);
    let (mut routes, unowned) = if is_complete && has_same_places(old, fabric, lids) {
        let routes = Routes::new_shared(old.routes.engine(), fabric, lids);
        let unowned = unowned(&routes, lids);
        (routes, Some(unowned))
    } else {
        (Routes::new(old.routes.engine(), fabric, lids), None)
    };
    let mut grown = false;
    let mut channels = IdxVec::filled(old.fabric.channels().len(), None);
    for (switch, &before) in was.iter_enumerated() {
        let alive = alive_ports(old.fabric, fabric, before, switch);
        let is_alive = |port: PortNum| alive.get(usize::from(port.0)) == Some(&true);
        grown |= is_new(fabric, switch, &alive);
        let Some(before) = before else { continue };
        let mut stays = [false; 256];
        for (port, stays) in (0..=u8::MAX).map(PortNum).zip(&mut stays) {
            *stays = is_alive(port);
            if let Some(channel) = old.fabric.channel_at(before, port).filter(|_| *stays) {
                channels[channel] = fabric.channel_at(switch, port);
            }
        }
        if let (Some(unowned), Some(shared)) = (&unowned, old.routes.shared_lft(before)) {
            let mut cables = old.fabric.channels_from(before);
            let keeps_all = cables.all(|(_, channel)| is_alive(channel.port));
            // Entries for LIDs of ports lead over these cables, or leave the fabric as before.
            let is_kept = |&lid: &Lid| {
                let port = old.routes.port(before, lid);
                port == PortNum::UNREACHABLE || is_alive(port)
            };
            if keeps_all && unowned.iter().all(is_kept) {
                routes.set_shared_lft(switch, shared);
                continue;
            }
        }
        let kept = |port| match stays.get(usize::from(port)) {
            Some(true) => port,
            _ => PortNum::UNREACHABLE.0,
        };
        for number in 0..=u16::MAX {
            let Some(block) = old.routes.lft_block(before, number) else {
                break;
            };
            routes.set_lft_block(switch, number, &block.map(kept));
        }
    }
    routes.set_exits(lids);
    let (vl_map, new_tables) = vl_map(old, fabric, &was);
    let sls = service_levels(old.routes, &routes, &was);
    routes.set_lanes(sls, vl_map, old.routes.vls());
    Remapped {
        routes,
        was,
        channels,
        grown,
        new_tables,
    }
}

/// The old routes after the fabric has lost channels and nothing else.
fn without(old: RoutesInUse<'_>, lids: &LidMap, lost: &LostChannels) -> Remapped {
    let mut routes = old.routes.clone();
    // Entries for LIDs of no port may lead out of the fabric, and nothing is there for them.
    let unowned = unowned(&routes, lids);
    for switch in old.fabric.switches().indices() {
        for &lid in &unowned {
            let port = old.routes.port(switch, lid);
            if port != PortNum::UNREACHABLE && old.fabric.channel_at(switch, port).is_none() {
                routes.set_port(switch, lid, PortNum::UNREACHABLE);
            }
        }
    }
    for channel in lost.iter().map(|lost| old.fabric.channel(lost)) {
        routes.unset_port(channel.from, channel.port);
    }
    Remapped {
        routes,
        was: old.fabric.switches().indices().map(Some).collect(),
        channels: lost.numbers(old.fabric.channels().len()),
        grown: false,
        new_tables: None,
    }
}

/// Returns true if every LID leaves the fabric by the same port of the same switch as before, by tables of the same
/// length.
fn has_same_places(old: RoutesInUse<'_>, fabric: &Fabric, lids: &LidMap) -> bool {
    let place = |fabric: &Fabric, end: &Destination| {
        let switch = end.switch.map(|switch| fabric.switch_guid(switch));
        (end.range, switch, end.exit)
    };
    let (was, is) = (old.lids.destinations(), lids.destinations());
    let mut both = was.iter().zip(is.iter());
    was.len() == is.len()
        && old.lids.max_lid() == lids.max_lid()
        && both.all(|(was, is)| place(old.fabric, was) == place(fabric, is))
}

/// The LIDs in the tables that no port has, or only one without a cable to a switch.
fn unowned(routes: &Routes, lids: &LidMap) -> Vec<Lid> {
    let all = (0..=u16::MAX).map(Lid).take(routes.row_len());
    let is_unowned = |lid: &Lid| lids.owner(*lid).is_none_or(|end| end.switch.is_none());
    all.filter(is_unowned).collect()
}

/// Returns true if a fabric has a cable between switches that it had not.
pub(crate) fn has_grown(old: &Fabric, new: &Fabric) -> bool {
    if LostChannels::between(old, new).is_some() {
        return false;
    }
    let was = old_switches(old, new);
    let mut switches = was.iter_enumerated();
    switches.any(|(switch, &before)| is_new(new, switch, &alive_ports(old, new, before, switch)))
}

/// Returns true if a switch has a channel that is not among those that were there.
fn is_new(fabric: &Fabric, switch: SwitchIdx, alive: &[bool]) -> bool {
    let was = |port: PortNum| alive.get(usize::from(port.0)) == Some(&true);
    let mut channels = fabric.channels_from(switch);
    channels.any(|(_, channel)| !was(channel.port))
}

/// Number of entries that `new` changes, and the number of those that were broken.
pub(crate) fn count(
    old: RoutesInUse<'_>,
    fabric: &Fabric,
    lids: &LidMap,
    new: &Routes,
) -> (u64, u64) {
    let (mut moved, mut broken) = (0, 0);
    for (switch, &before) in old_switches(old.fabric, fabric).iter_enumerated() {
        let shared = before.and_then(|before| old.routes.shared_lft(before));
        if let (Some(was), Some(is)) = (shared, new.shared_lft(switch))
            && was.is_same(is)
        {
            continue;
        }
        let row = before.map_or(Cow::Borrowed(&[][..]), |before| old.routes.lft(before));
        let now = new.lft(switch);
        let places = differing(&row, &now, PortNum::UNREACHABLE.0);
        if places.is_empty() {
            continue;
        }
        let alive = alive_ports(old.fabric, fabric, before, switch);
        for place in places {
            let entry = |row: &[u8]| {
                row.get(place)
                    .map_or(PortNum::UNREACHABLE, |&port| PortNum(port))
            };
            let lid = u16::try_from(place).map_or(Lid::NONE, Lid);
            let Some(owner) = lids.owner(lid) else {
                continue;
            };
            moved += 1;
            let settled = owner.switch == Some(switch) || entry(&now) == PortNum::UNREACHABLE;
            broken += u64::from(settled || alive.get(usize::from(entry(&row).0)) != Some(&true));
        }
    }
    (moved, broken)
}

/// As [`count`], after a loss of cables alone: `cut_off` has every entry for a LID that a switch reached.
pub(crate) fn count_cut_off(
    old: RoutesInUse<'_>,
    fabric: &Fabric,
    lids: &LidMap,
    new: &Routes,
    cut_off: &[CutOff],
) -> (u64, u64) {
    let (mut moved, mut broken) = (0, 0);
    let mut compare = |switch: SwitchIdx, lid: Lid, owner: &Destination| {
        let (was, is) = (old.routes.port(switch, lid), new.port(switch, lid));
        if was == is {
            return;
        }
        moved += 1;
        let settled = owner.switch == Some(switch) || is == PortNum::UNREACHABLE;
        broken += u64::from(settled || fabric.channel_at(switch, was).is_none());
    };
    for CutOff { lid, switches } in cut_off {
        if let Some(owner) = lids.owner(*lid) {
            for &switch in switches {
                compare(switch, *lid, owner);
            }
        }
    }
    // Ports without a cable keep no entry.
    let unjoined = lids.destinations().iter();
    for owner in unjoined.filter(|owner| owner.switch.is_none()) {
        for lid in owner.range.iter() {
            for switch in fabric.switches().indices() {
                compare(switch, lid, owner);
            }
        }
    }
    (moved, broken)
}

fn old_switches(old: &Fabric, new: &Fabric) -> IdxVec<SwitchIdx, Option<SwitchIdx>> {
    let was = |switch| old.switch_by_guid(new.switch_guid(switch));
    new.switches().indices().map(was).collect()
}

/// The ports of a switch that still have the same cable to another switch.
fn alive_ports(
    old: &Fabric,
    new: &Fabric,
    before: Option<SwitchIdx>,
    switch: SwitchIdx,
) -> Vec<bool> {
    let mut alive = vec![false; 256];
    let Some(before) = before else { return alive };
    let far_end = |fabric: &Fabric, switch, port| -> Option<(Guid, PortNum)> {
        let channel = fabric.channel(fabric.channel_at(switch, port)?);
        Some((fabric.switch_guid(channel.to), channel.to_port))
    };
    for (_, channel) in new.channels_from(switch) {
        let there = far_end(new, switch, channel.port);
        if let Some(alive) = alive.get_mut(usize::from(channel.port.0)) {
            *alive = there == far_end(old, before, channel.port);
        }
    }
    alive
}

/// The old service levels, in rows of the new length; zero for what is new.
fn service_levels(
    old: &Routes,
    new: &Routes,
    was: &IdxVec<SwitchIdx, Option<SwitchIdx>>,
) -> SlTable {
    let (before, len) = (old.row_len(), new.row_len());
    let put = |to: &mut Vec<Sl>, row: &[Sl]| {
        let start = to.len();
        to.extend(row.iter().take(len));
        to.resize(start + len, Sl::ZERO);
    };
    let row = |sls: &[Sl], at: usize| -> Vec<Sl> {
        let row = sls.get(at * before..(at + 1) * before);
        row.unwrap_or_default().to_vec()
    };
    let mut all = Vec::new();
    match old.sls() {
        SlTable::Uniform(sl) => SlTable::Uniform(*sl),
        SlTable::ByDestination(sls) => {
            put(&mut all, sls);
            SlTable::ByDestination(all)
        }
        SlTable::BySwitch(sls) => {
            for &before in was.iter() {
                let row = before.map(|before| row(sls, before.0 as usize));
                put(&mut all, &row.unwrap_or_default());
            }
            SlTable::BySwitch(all)
        }
        SlTable::ByPair(sls) => SlTable::ByPair(sls.clone()),
    }
}

/// The old SLtoVL tables, by the new numbers of the switches; and a switch without, if tables differ.
fn vl_map(
    old: RoutesInUse<'_>,
    fabric: &Fabric,
    was: &IdxVec<SwitchIdx, Option<SwitchIdx>>,
) -> (VlMap, Option<Guid>) {
    let map = old.routes.vl_map();
    if map.is_uniform() {
        return (map.clone(), None);
    }
    let mut new = VlMap::per_port(fabric, *map.injection());
    let mut without = None;
    for (switch, &before) in was.iter_enumerated() {
        let Some(before) = before else {
            without = Some(fabric.switch_guid(switch));
            continue;
        };
        let last = fabric.switch(switch).num_ports();
        for input in (0..=last).map(PortNum) {
            for output in (0..=last).map(PortNum) {
                new.set(switch, input, output, *map.table(before, input, output));
            }
        }
    }
    (new, without)
}
