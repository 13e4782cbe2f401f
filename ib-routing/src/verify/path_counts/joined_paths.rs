//! The paths from some switches to one LID: parts that several of them share are followed and counted once.

use alloc::vec::Vec;
use core::ops::{AddAssign, Range};

use crate::{
    index::{ChannelIdx, IdxVec, SwitchIdx},
    verify::walk::NO_CHANNEL,
};

/// The place of no switch.
const NOWHERE: SwitchIdx = SwitchIdx(u32::MAX);

/// Numbers of sources whose packets pass a channel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sources {
    /// LIDs of CAs.
    pub(crate) lids: u32,
    /// Switches with CAs.
    pub(crate) cas: u32,
    /// Switches.
    pub(crate) switches: u32,
}

impl Sources {
    /// A switch with so many LIDs of CAs.
    #[inline]
    pub(crate) fn at_switch(lids: u32) -> Self {
        Self {
            lids,
            cas: u32::from(lids > 0),
            switches: 1,
        }
    }

    /// So many times as much.
    #[inline]
    pub(crate) fn times(self, number: u32) -> Self {
        Self {
            lids: self.lids * number,
            cas: self.cas * number,
            switches: self.switches * number,
        }
    }
}

impl AddAssign for Sources {
    #[inline]
    fn add_assign(&mut self, more: Self) {
        self.lids += more.lids;
        self.cas += more.cas;
        self.switches += more.switches;
    }
}

/// The paths from some switches to one LID. Their memory serves one LID after the other.
#[derive(Clone, Debug)]
pub(crate) struct JoinedPaths {
    /// By switch; those of other rounds are not among the present ones.
    starts: IdxVec<SwitchIdx, Start>,
    round: u32,
    /// The switches where paths start, each before those that its path passes.
    order: Vec<SwitchIdx>,
    /// The channels of paths after the last switch where one starts.
    rest: Vec<ChannelIdx>,
}

/// The path from a switch.
#[derive(Clone, Copy, Debug)]
struct Start {
    round: u32,
    /// Number of links.
    length: u32,
    /// [`NO_CHANNEL`] at the destination, and for a channel without a number.
    first: ChannelIdx,
    /// The end of the first channel, if a path starts there too; else [`NOWHERE`].
    next: SwitchIdx,
    /// The place of the channels after the first one in [`JoinedPaths::rest`], if no path starts at its end.
    rest: (u32, u32),
    /// Number of switches with this one as `next` that are not in the order yet.
    waiting: u32,
    sources: Sources,
    lane: u8,
}

impl Start {
    fn new(round: u32) -> Self {
        Self {
            round,
            length: 0,
            first: NO_CHANNEL,
            next: NOWHERE,
            rest: (0, 0),
            waiting: 0,
            sources: Sources::default(),
            lane: 0,
        }
    }

    fn rest(&self) -> Range<usize> {
        let (start, end) = self.rest;
        start as usize..end as usize
    }
}

impl JoinedPaths {
    /// No path, in a fabric of so many switches.
    pub(crate) fn new(switches: usize) -> Self {
        Self {
            starts: IdxVec::filled(switches, Start::new(0)),
            round: 0,
            order: Vec::new(),
            rest: Vec::new(),
        }
    }

    /// Follows the paths from different switches to a LID; `None` if one does not arrive.
    ///
    /// `next` gives the channel by which a switch sends, [`NO_CHANNEL`] if that has no number, and the switch at its end;
    /// `None` if the switch sends to no other. `arrives` says whether it delivers to the LID's port then.
    pub(crate) fn follow(
        &mut self,
        switches: &[SwitchIdx],
        next: impl Fn(SwitchIdx) -> Option<(ChannelIdx, SwitchIdx)>,
        arrives: impl Fn(SwitchIdx) -> bool,
    ) -> Option<()> {
        self.begin(switches);
        for &switch in switches {
            let Some((first, to)) = next(switch) else {
                if arrives(switch) {
                    continue;
                }
                return None;
            };
            let end = &mut self.starts[to];
            if end.round == self.round {
                end.waiting += 1;
                let start = &mut self.starts[switch];
                (start.first, start.next) = (first, to);
            } else {
                let rest = self.follow_rest(to, &next, &arrives)?;
                let start = &mut self.starts[switch];
                (start.first, start.rest) = (first, rest);
                start.length = 1 + rest.1 - rest.0;
            }
        }
        self.sort(switches)
    }

    fn begin(&mut self, switches: &[SwitchIdx]) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.starts.fill(Start::new(0));
            self.round = 1;
        }
        self.rest.clear();
        for &switch in switches {
            self.starts[switch] = Start::new(self.round);
        }
    }

    /// Follows a path to its end, and returns the place of its channels.
    fn follow_rest(
        &mut self,
        from: SwitchIdx,
        next: &impl Fn(SwitchIdx) -> Option<(ChannelIdx, SwitchIdx)>,
        arrives: &impl Fn(SwitchIdx) -> bool,
    ) -> Option<(u32, u32)> {
        let (start, mut here) = (self.rest.len(), from);
        while let Some((channel, to)) = next(here) {
            if self.rest.len() - start >= self.starts.len() {
                return None;
            }
            self.rest.push(channel);
            here = to;
        }
        arrives(here).then_some((start as u32, self.rest.len() as u32))
    }

    /// Finds the order, and the lengths that follow from those of other paths; `None` if paths never end.
    fn sort(&mut self, switches: &[SwitchIdx]) -> Option<()> {
        let Self { starts, order, .. } = self;
        order.clear();
        let first = |switch: &SwitchIdx| starts[*switch].waiting == 0;
        order.extend(switches.iter().copied().filter(first));
        let mut at = 0;
        while let Some(&switch) = order.get(at) {
            at += 1;
            let to = starts[switch].next;
            if let Some(next) = starts.find_mut(to) {
                next.waiting -= 1;
                if next.waiting == 0 {
                    order.push(to);
                }
            }
        }
        for &switch in order.iter().rev() {
            if let Some(next) = starts.find(starts[switch].next) {
                starts[switch].length = next.length + 1;
            }
        }
        (order.len() == switches.len()).then_some(())
    }

    /// Notes the lane of each path, and returns a bit for each lane that one has.
    pub(crate) fn set_lanes(&mut self, lane: impl Fn(SwitchIdx) -> u8) -> u16 {
        let mut lanes = 0;
        for &switch in &self.order {
            let lane = lane(switch);
            self.starts[switch].lane = lane;
            lanes |= 1 << lane;
        }
        lanes
    }

    /// The lane of the path from a switch.
    #[inline]
    pub(crate) fn lane(&self, switch: SwitchIdx) -> u8 {
        self.starts[switch].lane
    }

    /// The switches where paths start, with the number of links.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = (SwitchIdx, u32)> + '_ {
        let switches = self.order.iter();
        switches.map(|&switch| (switch, self.starts[switch].length))
    }

    /// Returns true if the paths from the same switches to another place are as long as these.
    pub(crate) fn are_as_long_as(&self, others: &Self) -> bool {
        let mut lengths = self.lengths();
        lengths.all(|(switch, length)| others.starts[switch].length == length)
    }

    /// Calls `each` for every part of the paths: a channel, the one after it, and the sources whose packets pass both.
    /// Either channel can be [`NO_CHANNEL`]; after the last one there is none. `sources` gives what a switch sends by a path on
    /// a lane. Each channel of a path is the first one of one part.
    pub(crate) fn for_each_part(
        &mut self,
        sources: impl Fn(SwitchIdx, u8) -> Sources,
        mut each: impl FnMut(ChannelIdx, ChannelIdx, Sources),
    ) {
        let Self {
            starts,
            order,
            rest,
            ..
        } = self;
        for &switch in order.iter() {
            let start = &mut starts[switch];
            start.sources = sources(switch, start.lane);
        }
        for &switch in order.iter() {
            let start = starts[switch];
            if start.sources.switches == 0 {
                continue;
            }
            if let Some(next) = starts.find_mut(start.next) {
                next.sources += start.sources;
                each(start.first, next.first, start.sources);
                continue;
            }
            let mut channel = start.first;
            for &after in rest.get(start.rest()).unwrap_or_default() {
                each(channel, after, start.sources);
                channel = after;
            }
            each(channel, NO_CHANNEL, start.sources);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Idx as _;

    /// Switch 5 is the destination. Switches 0 and 1 send to 2, which sends to 3, 3 to 4 and 4 to 5; each channel has the
    /// number of its switch.
    fn next(switch: SwitchIdx) -> Option<(ChannelIdx, SwitchIdx)> {
        let to = [2, 2, 3, 4, 5].get(switch.at())?;
        Some((ChannelIdx(switch.0), SwitchIdx(*to)))
    }

    fn parts(paths: &mut JoinedPaths) -> Vec<(u32, u32, u32)> {
        let mut parts = Vec::new();
        let sources = |switch: SwitchIdx, _| Sources::at_switch(10 + switch.0);
        paths.for_each_part(sources, |channel, after, sources| {
            parts.push((channel.0, after.0, sources.lids));
        });
        parts.sort_unstable();
        parts
    }

    #[test]
    fn shared_parts_carry_what_all_sources_send() {
        let mut paths = JoinedPaths::new(6);
        let end = NO_CHANNEL.0;
        for _ in 0..2 {
            let from = [2, 0, 1].map(SwitchIdx);
            paths.follow(&from, next, |at| at.0 == 5).unwrap();
            let lengths: Vec<_> = paths.lengths().collect();
            assert_eq!(
                lengths,
                [(0, 4), (1, 4), (2, 3)].map(|(s, n)| (SwitchIdx(s), n))
            );
            assert_eq!(
                parts(&mut paths),
                [(0, 2, 10), (1, 2, 11), (2, 3, 33), (3, 4, 33), (4, end, 33)]
            );
            // The next LID has other switches.
            paths
                .follow(&[SwitchIdx(0), SwitchIdx(5)], next, |at| at.0 == 5)
                .unwrap();
            assert_eq!(
                parts(&mut paths),
                [
                    (0, 2, 10),
                    (2, 3, 10),
                    (3, 4, 10),
                    (4, end, 10),
                    (end, end, 15)
                ]
            );
        }
    }

    #[test]
    fn paths_that_do_not_arrive_are_none() {
        let mut paths = JoinedPaths::new(6);
        let round = |switch: SwitchIdx| Some((ChannelIdx(0), SwitchIdx((switch.0 + 1) % 3)));
        assert!(paths.follow(&[SwitchIdx(0)], next, |_| false).is_none());
        let all = [0, 1, 2].map(SwitchIdx);
        assert!(paths.follow(&all[..1], round, |_| true).is_none());
        assert!(paths.follow(&all, round, |_| true).is_none());
        assert!(paths.follow(&[], round, |_| true).is_some());
    }
}
