//! Adds the paths from some switches to one LID to the path counts, or takes them away.

use alloc::sync::Arc;
use core::cell::Cell;

use super::{
    PathCounts,
    joined_paths::{JoinedPaths, Sources},
    verdicts::Edges,
};
use crate::{
    fabric::Fabric,
    index::{ChannelIdx, SwitchIdx},
    lid::{Destination, LidMap},
    repair::repairer::CutOff,
    routes::BlockReader,
    verify::walk::NO_CHANNEL,
    vl::lanes_in,
};

/// A change of the counts by the paths to one LID.
struct Change<'e> {
    /// True if the LID is a switch's.
    of_switch: bool,
    lane: u8,
    /// True if the paths are added.
    adds: bool,
    edges: &'e mut Edges,
}

/// Calls `each` for LIDs that come after each other, of ports at one switch, with the same switches: their paths are often
/// the same. If `each` returns false, because they differ, it is called again for each of these LIDs. If `is_joined` is false,
/// it is called for one LID at a time. Ends if `each` returns `None`.
pub(super) fn for_each_run(
    lids: &LidMap,
    cut_off: &[CutOff],
    is_joined: bool,
    mut each: impl FnMut(&[CutOff]) -> Option<bool>,
) -> Option<()> {
    let runs = cut_off.chunk_by(|one, other| is_joined && one.is_beside(other, lids));
    for run in runs {
        if !each(run)? {
            for one in run.chunks(1) {
                each(one)?;
            }
        }
    }
    Some(())
}

/// Follows the paths to the LIDs of a run, from the switches that are cut off, by the entries of forwarding tables. Returns
/// false if the paths to these LIDs differ, and `None` if one does not arrive. `number` gives the number of a channel,
/// [`NO_CHANNEL`] if it has none.
pub(super) fn follow(
    paths: &mut JoinedPaths,
    (fabric, entries): (&Fabric, &BlockReader<'_>),
    (lids, run): (&LidMap, &[CutOff]),
    number: impl Fn(ChannelIdx) -> ChannelIdx,
) -> Option<bool> {
    let CutOff { lid, switches } = run.first()?;
    let last = lids.owner(*lid)?.switch;
    let differ = Cell::new(false);
    let next = |switch| {
        if last == Some(switch) {
            return None;
        }
        if run.len() > 1 && !entries.is_one_port(switch, *lid, run.len()) {
            differ.set(true);
            return None;
        }
        let channel = fabric.channel_at(switch, entries.port(switch, *lid))?;
        Some((number(channel), fabric.channel(channel).to))
    };
    let delivers = |switch, lid| {
        let exit = lids.owner(lid).map(|owner| owner.exit);
        exit == Some(entries.port(switch, lid))
    };
    let arrives = |switch| {
        let mut lids = run.iter().map(|cut_off| cut_off.lid);
        last == Some(switch) && lids.all(|lid| delivers(switch, lid))
    };
    let arrived = paths.follow(switches, next, arrives);
    match differ.get() {
        true => Some(false),
        false => arrived.map(|()| true),
    }
}

impl PathCounts {
    /// Adds paths to so many LIDs of ports, one of which `owner` has, or takes them away. `lane` gives the lane of what a
    /// switch, or the CAs at it, sends.
    pub(crate) fn count_paths(
        &mut self,
        paths: &mut JoinedPaths,
        (owner, number): (&Destination, usize),
        lane: impl Fn(SwitchIdx) -> u8,
        adds: bool,
        edges: &mut Edges,
    ) {
        let number = number as u32;
        let lanes = paths.set_lanes(lane);
        for (switch, length) in paths.lengths() {
            if self.senders[switch] > 0 && !owner.is_switch() {
                self.note_hops(length as usize, number, adds);
                if length > 0 {
                    self.note_lane(paths.lane(switch), number, adds);
                }
            }
        }
        let senders = Arc::clone(&self.senders);
        for of_lane in lanes_in(lanes) {
            let sources = |switch, lane| match lane == of_lane {
                true => Sources::at_switch(senders[switch]).times(number),
                false => Sources::default(),
            };
            let mut change = Change {
                of_switch: owner.is_switch(),
                lane: of_lane,
                adds,
                edges,
            };
            paths.for_each_part(sources, |channel, after, sources| {
                self.count_part(channel, after, sources, &mut change);
            });
        }
    }

    /// Adds what passes a channel and the one after it, or takes it away. Either can be [`NO_CHANNEL`].
    fn count_part(
        &mut self,
        channel: ChannelIdx,
        after: ChannelIdx,
        sources: Sources,
        change: &mut Change<'_>,
    ) {
        if channel == NO_CHANNEL {
            return;
        }
        let &mut Change {
            of_switch,
            lane,
            adds,
            ref mut edges,
        } = change;
        if !of_switch {
            let load = &mut self.load[channel];
            *load = match adds {
                true => *load + sources.lids,
                false => *load - sources.lids,
            };
        }
        if after == NO_CHANNEL {
            return;
        }
        let changed = match adds {
            true => &mut edges.added,
            false => &mut edges.removed,
        };
        let kinds = self.users.iter_mut().zip(changed);
        let kinds = kinds.skip(usize::from(of_switch));
        for ((users, changed), count) in kinds.zip([sources.cas, sources.switches]) {
            let changes = match adds {
                true => users.add(channel, after, lane, count),
                false => users.remove(channel, after, lane, count),
            };
            if changes {
                changed.push((channel, after, lane));
            }
        }
    }
}
