//! Adds the paths from some switches to one LID to the path counts, or takes them away.

use alloc::sync::Arc;

use super::{
    PathCounts,
    joined_paths::{JoinedPaths, Sources},
    verdicts::Edges,
};
use crate::{
    fabric::Fabric,
    index::{ChannelIdx, SwitchIdx},
    lid::Destination,
    repair::{lanes::bits, repairer::CutOff},
    routes::BlockReader,
    verify::walk::NO_CHANNEL,
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

/// Follows the paths to a LID from the switches that are cut off, by the entries of forwarding tables; `None` if one does
/// not arrive. `number` gives the number of a channel, [`NO_CHANNEL`] if it has none.
pub(super) fn follow(
    paths: &mut JoinedPaths,
    (fabric, entries): (&Fabric, &BlockReader<'_>),
    (owner, cut_off): (&Destination, &CutOff),
    number: impl Fn(ChannelIdx) -> ChannelIdx,
) -> Option<()> {
    let lid = cut_off.lid;
    let next = |switch| {
        let channel = fabric.channel_at(switch, entries.port(switch, lid))?;
        Some((number(channel), fabric.channel(channel).to))
    };
    let arrives = |switch| owner.switch == Some(switch) && owner.exit == entries.port(switch, lid);
    paths.follow(&cut_off.switches, next, arrives)
}

impl PathCounts {
    /// Adds paths to a LID of a port, or takes them away. `lane` gives the lane of what a switch, or the CAs at it, sends.
    pub(crate) fn count_paths(
        &mut self,
        paths: &mut JoinedPaths,
        owner: &Destination,
        lane: impl Fn(SwitchIdx) -> u8,
        adds: bool,
        edges: &mut Edges,
    ) {
        let mut lanes = 0_u16;
        for (switch, length) in paths.lengths() {
            let lane = lane(switch);
            lanes |= 1 << lane;
            if self.senders[switch] > 0 && !owner.is_switch() {
                self.note_hops(length as usize, adds);
                if length > 0 {
                    self.note_lane(lane, adds);
                }
            }
        }
        let (senders, is_one) = (Arc::clone(&self.senders), lanes.is_power_of_two());
        for number in bits(lanes) {
            let number = number as u8;
            let sources = |switch| match is_one || lane(switch) == number {
                true => Sources::at_switch(senders[switch]),
                false => Sources::default(),
            };
            let mut change = Change {
                of_switch: owner.is_switch(),
                lane: number,
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
