//! Next hops of switches that have many: the leaves and spines of fat trees.
//!
//! In a fat tree many switches have the same switches at the ends of their next hops: all leaves of a pod lead to its
//! spines. The weights of these are looked up once for all.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use super::{BATCH, NextHop};
use crate::index::{ChannelIdx, Idx, IdxVec, NextHopIdx, SwitchIdx};

/// Next hops that are many, at least.
pub(crate) const MANY: usize = 7;

/// The next hops of one switch, [`MANY`] or more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fan<'a> {
    /// All of them, by port.
    pub(crate) next_hops: &'a [NextHop],
    /// The first channel, if the others are those that follow it.
    channels: Option<ChannelIdx>,
    /// The switches at their ends.
    pub(crate) ends: &'a [SwitchIdx],
    /// The place of these among the [ends of all fans](BatchFans::num_ends): fans with the same ends have the same.
    pub(crate) first_end: usize,
}

impl Fan<'_> {
    /// The entries of the channels, if these are neighbours.
    #[inline(always)]
    #[must_use]
    pub(crate) fn neighbours<T>(self, of: &IdxVec<ChannelIdx, T>) -> Option<&[T]> {
        let first = self.channels?;
        Some(of.range(first, ChannelIdx(first.0 + self.ends.len() as u32)))
    }

    /// The channel of a next hop, and the switch at its end.
    #[inline(always)]
    #[must_use]
    pub(crate) fn next_hop(self, number: usize) -> Option<(ChannelIdx, SwitchIdx)> {
        let end = *self.ends.get(number)?;
        let channel = match self.channels {
            Some(first) => ChannelIdx(first.0 + number as u32),
            None => self.next_hops.get(number)?.channel,
        };
        Some((channel, end))
    }
}

/// The fans of all targets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fans {
    batches: Vec<BatchFans>,
}

impl FromIterator<BatchFans> for Fans {
    fn from_iter<A: IntoIterator<Item = BatchFans>>(batches: A) -> Self {
        Self {
            batches: batches.into_iter().collect(),
        }
    }
}

impl Fans {
    /// The fans of a target, and of others.
    #[must_use]
    pub(crate) fn towards(&self, target: SwitchIdx) -> &BatchFans {
        static NONE: BatchFans = BatchFans {
            entries: Vec::new(),
            ends: Vec::new(),
        };
        self.batches.get(target.at() / BATCH).unwrap_or(&NONE)
    }
}

/// The fans of a batch of targets.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchFans {
    /// For each [`MANY`] next hops the fan whose list begins among them: no more than one does.
    entries: Vec<Entry>,
    ends: Vec<SwitchIdx>,
}

/// The channels and ends of a fan.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    channels: Option<ChannelIdx>,
    first_end: u32,
}

impl BatchFans {
    pub(super) fn new(
        next_hops: &IdxVec<NextHopIdx, NextHop>,
        lists: &[(NextHopIdx, NextHopIdx)],
    ) -> Self {
        let mut fans = Self {
            entries: vec![Entry::default(); next_hops.len().div_ceil(MANY)],
            ends: Vec::new(),
        };
        // The last ends that begin with each switch. Others may be the same, but there are few kinds in fat trees.
        let mut latest: Vec<Range<usize>> = Vec::new();
        for &(first, end) in lists {
            let list = next_hops.range(first, end);
            let entry = Entry {
                channels: follow_each_other(list),
                first_end: fans.find_or_add_ends(list, &mut latest),
            };
            if let Some(place) = fans.entries.get_mut(first.at() / MANY) {
                *place = entry;
            }
        }
        fans
    }

    /// The place of the ends of next hops.
    fn find_or_add_ends(&mut self, list: &[NextHop], latest: &mut Vec<Range<usize>>) -> u32 {
        let ends = list.iter().map(|hop| hop.to());
        let first = ends.clone().next().unwrap_or_default().at();
        if latest.len() <= first {
            latest.resize(first + 1, 0..0);
        }
        let Some(latest) = latest.get_mut(first) else {
            return 0;
        };
        let old = self.ends.get(latest.clone()).unwrap_or_default();
        // Ends that begin like others are looked up by themselves.
        if !old.iter().copied().eq(ends.clone()) {
            *latest = self.ends.len()..self.ends.len() + list.len();
            self.ends.extend(ends);
        }
        latest.start as u32
    }

    /// The number of ends of all fans, where fans with the same ends count once.
    #[must_use]
    pub(crate) fn num_ends(&self) -> usize {
        self.ends.len()
    }

    /// The fan whose list begins at `first`, if the next hops are [`MANY`].
    #[inline(always)]
    pub(super) fn fan<'a>(
        &'a self,
        first: NextHopIdx,
        next_hops: &'a [NextHop],
    ) -> Option<Fan<'a>> {
        if next_hops.len() < MANY {
            return None;
        }
        let entry = self.entries.get(first.at() / MANY)?;
        let first_end = entry.first_end as usize;
        Some(Fan {
            next_hops,
            channels: entry.channels,
            ends: self.ends.get(first_end..first_end + next_hops.len())?,
            first_end,
        })
    }
}

/// The first channel of next hops, if the others are those that follow it.
fn follow_each_other(next_hops: &[NextHop]) -> Option<ChannelIdx> {
    let first = next_hops.first()?.channel;
    let mut numbered = (first.0..).zip(next_hops);
    let follow = numbered.all(|(number, hop)| hop.channel.0 == number);
    follow.then_some(first)
}
