//! Channels of switches that have many next hops: the leaves and spines of fat trees.
//!
//! In a fat tree many switches have the same switches at the ends of their next hops: all leaves of a pod lead to its
//! spines. The weights of these are looked up once for all. Where cables are missing, some of these spines do not lead
//! nearer to some targets. So a fan has the channels that lead nearer to any of a batch of targets. The weights of switches
//! that are not nearer to the target at hand are higher than all others, so that none of them is chosen.

use alloc::vec::Vec;
use core::ops::Range;

use super::{Batch, ShortestPathDag};
use crate::{
    algo::{frontiers::BATCH, parallel},
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
};

/// Next hops that are many, at least.
pub(crate) const MANY: usize = 7;

/// The channels of one switch that are among [`MANY`] or more next hops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fan<'a> {
    channels: Channels<'a>,
    /// The switches at their ends, by port.
    pub(crate) ends: &'a [SwitchIdx],
    /// The place of these among the [ends of all fans](BatchFans::num_ends). Fans with the same ends have the same place if
    /// the same of them lead nearer to a target from all switches that are equally far from it.
    pub(crate) first_end: usize,
    /// Not all channels to switches nearer to a target are next hops.
    pub(crate) is_limited: bool,
}

/// The channels of a fan, by port.
#[derive(Clone, Copy, Debug)]
enum Channels<'a> {
    /// The first, and those that follow it.
    From(ChannelIdx),
    Listed(&'a [ChannelIdx]),
}

impl<'a> Fan<'a> {
    /// The channels, by port.
    #[inline(always)]
    pub(crate) fn channels(self) -> impl Iterator<Item = ChannelIdx> + use<'a> {
        (0..self.ends.len()).filter_map(move |number| self.channel(number))
    }

    #[inline(always)]
    fn channel(self, number: usize) -> Option<ChannelIdx> {
        match self.channels {
            Channels::From(first) => Some(ChannelIdx(first.0 + number as u32)),
            Channels::Listed(channels) => channels.get(number).copied(),
        }
    }

    /// The entries of the channels, if these are neighbours.
    #[inline(always)]
    #[must_use]
    pub(crate) fn neighbours<T>(self, of: &IdxVec<ChannelIdx, T>) -> Option<&[T]> {
        match self.channels {
            Channels::From(first) => {
                Some(of.range(first, ChannelIdx(first.0 + self.ends.len() as u32)))
            }
            Channels::Listed(_) => None,
        }
    }

    /// A channel, and the switch at its end.
    #[inline(always)]
    #[must_use]
    pub(crate) fn next_hop(self, number: usize) -> Option<(ChannelIdx, SwitchIdx)> {
        let end = *self.ends.get(number)?;
        Some((self.channel(number)?, end))
    }
}

/// The fans of all targets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fans {
    batches: Vec<BatchFans>,
}

impl Fans {
    pub(super) fn new(threads: usize, fabric: &Fabric, dag: &ShortestPathDag) -> Self {
        let batches = parallel::map(threads, dag.batches.len(), |number| {
            let batch = dag.batches.get(number);
            batch.map_or_else(BatchFans::default, |batch| BatchFans::new(fabric, batch))
        });
        Self { batches }
    }

    /// The fans of a target, and of others.
    #[must_use]
    pub(crate) fn towards(&self, target: SwitchIdx) -> &BatchFans {
        static NONE: BatchFans = BatchFans {
            entries: IdxVec::new(),
            channels: Vec::new(),
            ends: Vec::new(),
        };
        self.batches.get(target.at() / BATCH).unwrap_or(&NONE)
    }
}

/// The fans of a batch of targets.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchFans {
    entries: IdxVec<SwitchIdx, Entry>,
    /// Channels that are no neighbours.
    channels: Vec<ChannelIdx>,
    ends: Vec<SwitchIdx>,
}

/// The fan of a switch; without ends if it has none.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// The first channel.
    first: ChannelIdx,
    /// The place of the first among the [listed channels](BatchFans::channels), if they are no neighbours.
    listed: Option<u32>,
    first_end: u32,
    len: u32,
    /// As in [`Fan`].
    is_limited: bool,
}

impl BatchFans {
    fn new(fabric: &Fabric, batch: &Batch) -> Self {
        let mut fans = Self::default();
        let mut places = Places::default();
        for (switch, &many) in batch.many.iter_enumerated() {
            let of_any = |channel: ChannelIdx| batch.nearer[channel] & many != 0;
            let channels = fabric.channels_from(switch);
            let channels = channels.filter(|(channel, _)| many != 0 && of_any(*channel));
            let (first_end, listed) = (fans.ends.len(), fans.channels.len());
            for (channel, ends) in channels {
                fans.channels.push(channel);
                fans.ends.push(ends.to);
            }
            let len = fans.ends.len() - first_end;
            let channels = fans.channels.get(listed..).unwrap_or_default();
            let (first, last) = (channels.first().copied(), channels.last());
            let first = first.unwrap_or_default();
            let are_neighbours = last.is_none_or(|last| (last.0 - first.0) as usize + 1 == len);
            if are_neighbours {
                fans.channels.truncate(listed);
            }
            let limited = batch.limited.find(switch).copied().unwrap_or_default();
            let is_limited = limited & many != 0;
            let place = if is_limited {
                first_end
            } else {
                places.find_or_add(&fans.ends, first_end)
            };
            if place < first_end {
                fans.ends.truncate(first_end);
            }
            fans.entries.push(Entry {
                first,
                listed: (!are_neighbours).then_some(listed as u32),
                first_end: place as u32,
                len: len as u32,
                is_limited,
            });
        }
        fans
    }

    /// The number of ends of all fans, where fans with the same ends count once.
    #[must_use]
    pub(crate) fn num_ends(&self) -> usize {
        self.ends.len()
    }

    /// The fan of a switch; without channels if it has many next hops to none of these targets.
    #[inline(always)]
    #[must_use]
    pub(super) fn of(&self, switch: SwitchIdx) -> Fan<'_> {
        let entry = self.entries.find(switch).copied().unwrap_or_default();
        let (first_end, len) = (entry.first_end as usize, entry.len as usize);
        let ends = self.ends.get(first_end..first_end + len);
        let channels = match entry.listed {
            None => Channels::From(entry.first),
            Some(listed) => {
                let channels = self.channels.get(listed as usize..);
                Channels::Listed(channels.unwrap_or_default())
            }
        };
        Fan {
            channels,
            ends: ends.unwrap_or_default(),
            first_end,
            is_limited: entry.is_limited,
        }
    }
}

/// The places of lists of ends, by the first of these.
#[derive(Debug, Default)]
struct Places(IdxVec<SwitchIdx, Vec<Range<usize>>>);

impl Places {
    /// The place of the ends from `start` on, or of the same list before.
    fn find_or_add(&mut self, ends: &[SwitchIdx], start: usize) -> usize {
        let list = ends.get(start..).unwrap_or_default();
        let Some(&first) = list.first() else {
            return start;
        };
        while self.0.len() <= first.at() {
            self.0.push(Vec::new());
        }
        let places = &mut self.0[first];
        let is_same = |place: &&Range<usize>| ends.get((*place).clone()) == Some(list);
        if let Some(place) = places.iter().find(is_same) {
            return place.start;
        }
        places.push(start..ends.len());
        start
    }
}
