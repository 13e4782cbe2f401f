//! The channel dependency graph of one virtual lane, kept acyclic while it grows.
//!
//! A packet that holds channel `a` and waits for channel `b` makes `b` a dependency of `a`; a lane
//! whose dependencies form no cycle cannot deadlock (Dally and Seitz, 1987). [`ChannelGraph::admit`]
//! takes a dependency or refuses it because it would close a cycle. The graph keeps a topological
//! order of its channels. A dependency that agrees with the order costs one comparison; for another one
//! the graph searches from both ends at once, only among channels that the order puts between them,
//! and moves the smaller side (Haeupler et al., "Incremental Cycle Detection, Topological Ordering,
//! and Strong Component Maintenance", 2012). A [`SearchOrder`] decides how fast it finds a cycle. What was refused once stays
//! refused until [`ChannelGraph::reconsider`]: only a caller that takes dependencies back has to ask again.

mod dependency_set;

use alloc::{sync::Arc, vec, vec::Vec};

pub use self::dependency_set::DependencySet;

use crate::{
    algo::parallel,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// The places of the dependencies of each channel in memory: one bit per channel that leaves the switch it enters.
///
/// One layout serves the graphs of all lanes of a fabric.
#[derive(Debug)]
pub struct DependencyLayout {
    ends: IdxVec<ChannelIdx, Ends>,
    words: usize,
}

/// The facts of a channel that the graph needs, close together in memory.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    /// First word of the bits "comes after this channel".
    after: u32,
    /// First word of the bits "comes before this channel".
    before: u32,
    /// First channel out of the switch that this channel enters.
    next: ChannelIdx,
    /// First channel out of the switch that this channel leaves.
    siblings: ChannelIdx,
    /// The other direction of the cable.
    reverse: ChannelIdx,
    /// Words in the row of `after`.
    after_words: u8,
    /// Words in the row of `before`.
    before_words: u8,
}

impl DependencyLayout {
    /// The layout for the channels of `fabric`.
    #[must_use]
    pub fn new(fabric: &Fabric) -> Self {
        let words = |switch: SwitchIdx| {
            let (start, end) = fabric.channel_range(switch);
            (end.0 - start.0).div_ceil(64)
        };
        let (mut after, mut before) = (0, 0);
        let ends = fabric.channels().iter().map(|channel| {
            let (after_words, before_words) = (words(channel.to), words(channel.from));
            let ends = Ends {
                after,
                before,
                next: fabric.channel_range(channel.to).0,
                siblings: fabric.channel_range(channel.from).0,
                reverse: channel.reverse,
                after_words: after_words as u8,
                before_words: before_words as u8,
            };
            after += after_words;
            before += before_words;
            ends
        });
        let ends = ends.collect();
        Self {
            ends,
            words: after.max(before) as usize,
        }
    }

    /// Word and mask of the dependency of `from` on `to`.
    #[inline]
    fn bit(&self, from: ChannelIdx, to: ChannelIdx) -> (usize, u64) {
        let ends = &self.ends[from];
        let bit = to.0.wrapping_sub(ends.next.0);
        ((ends.after + bit / 64) as usize, 1 << (bit % 64))
    }

    /// Word and mask of the same dependency among those that lead to `to`.
    #[inline]
    fn bit_before(&self, from: ChannelIdx, to: ChannelIdx) -> (usize, u64) {
        let (to, from) = (&self.ends[to], &self.ends[from]);
        let bit = from.reverse.0.wrapping_sub(to.siblings.0);
        ((to.before + bit / 64) as usize, 1 << (bit % 64))
    }
}

/// The channel from which each side of a search goes on.
///
/// This makes no difference to a dependency that is admitted, because one side is found completely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchOrder {
    /// The one found last: a long cycle, as on a fat tree of three levels, is found before all channels near both ends.
    #[default]
    DepthFirst,
    /// The one found first: a short cycle, as on a dense direct network, is found before any channel far from both ends.
    BreadthFirst,
}

/// Dependencies between channels, with a topological order as the proof that they form no cycle.
#[derive(Clone, Debug)]
pub struct ChannelGraph {
    layout: Arc<DependencyLayout>,
    after: Vec<u64>,
    before: Vec<u64>,
    /// Empty as long as nothing was refused.
    refused: Vec<u64>,
    order: IdxVec<ChannelIdx, OrderEntry>,
    seen: IdxVec<ChannelIdx, u32>,
    round: u32,
    search_order: SearchOrder,
    following: Found,
    leading: Found,
}

/// The channels that one side of a search has found.
#[derive(Clone, Debug, Default)]
struct Found {
    all: Vec<ChannelIdx>,
    /// Those whose neighbors are not examined yet, if the last one is always the next to be examined.
    open: Vec<ChannelIdx>,
    /// The number of those that are examined, if the first one is always the next.
    examined: usize,
}

impl Found {
    /// Begins a search at a channel.
    fn start(&mut self, channel: ChannelIdx) {
        self.all.clear();
        self.open.clear();
        self.examined = 0;
        self.push(channel);
    }

    /// The next channel whose neighbors are to be examined.
    #[inline]
    fn next(&mut self, order: SearchOrder) -> Option<ChannelIdx> {
        match order {
            SearchOrder::DepthFirst => self.open.pop(),
            SearchOrder::BreadthFirst => {
                let next = self.all.get(self.examined).copied();
                self.examined += 1;
                next
            }
        }
    }

    #[inline]
    fn push(&mut self, channel: ChannelIdx) {
        self.all.push(channel);
        self.open.push(channel);
    }
}

/// A channel's place in the topological order: a label to compare, and its neighbours.
#[derive(Clone, Copy, Debug)]
struct OrderEntry {
    label: u64,
    previous: ChannelIdx,
    next: ChannelIdx,
}

/// Room between neighbours at first.
const GAP: u64 = 1 << 40;

/// Room between neighbours, at least, where labels are assigned again: enough to halve it twenty times.
const ROOM: u64 = 1 << 20;

/// End of the order's list.
const NONE: ChannelIdx = ChannelIdx(u32::MAX);

impl ChannelGraph {
    /// A graph without dependencies. `order` lists every channel once; the fewer dependencies
    /// contradict it, the faster they are admitted.
    #[must_use]
    pub fn new(layout: &Arc<DependencyLayout>, order: &[ChannelIdx]) -> Self {
        let channels = layout.ends.len();
        let nowhere = OrderEntry {
            label: 0,
            previous: NONE,
            next: NONE,
        };
        let mut graph = Self {
            layout: Arc::clone(layout),
            after: vec![0; layout.words],
            before: vec![0; layout.words],
            refused: Vec::new(),
            order: IdxVec::filled(channels, nowhere),
            seen: IdxVec::filled(channels, 0),
            round: 0,
            search_order: SearchOrder::default(),
            following: Found::default(),
            leading: Found::default(),
        };
        let mut previous = NONE;
        for (at, &channel) in order.iter().enumerate() {
            graph.order[channel] = OrderEntry {
                label: (at as u64 + 1) * GAP,
                previous,
                next: NONE,
            };
            if let Some(place) = graph.order.find_mut(previous) {
                place.next = channel;
            }
            previous = channel;
        }
        graph
    }

    /// Lets searches for cycles go on in an order.
    #[must_use]
    pub fn with_search_order(mut self, order: SearchOrder) -> Self {
        self.search_order = order;
        self
    }

    /// Place of a channel in the topological order: a dependency leads to a higher place. The numbers
    /// change whenever a dependency is admitted.
    #[inline]
    #[must_use]
    pub fn place(&self, channel: ChannelIdx) -> u64 {
        self.order[channel].label
    }

    /// Returns true if `to` is a dependency of `from`, whose end it must leave.
    #[inline]
    #[must_use]
    pub fn contains(&self, from: ChannelIdx, to: ChannelIdx) -> bool {
        let (word, mask) = self.layout.bit(from, to);
        self.after.get(word).is_some_and(|word| word & mask != 0)
    }

    /// Returns true if `to` was refused as a dependency of `from` before.
    #[inline]
    #[must_use]
    pub fn refuses(&self, from: ChannelIdx, to: ChannelIdx) -> bool {
        let (word, mask) = self.layout.bit(from, to);
        self.refused.get(word).is_some_and(|word| word & mask != 0)
    }

    /// All channels into `into`, from the last place of the topological order to the first.
    pub fn list_backwards(&self, into: &mut Vec<ChannelIdx>) {
        into.clear();
        let mut last = NONE;
        let mut at = ChannelIdx(0);
        while let Some(place) = self.order.find(at) {
            (last, at) = (at, place.next);
        }
        while let Some(place) = self.order.find(last) {
            into.push(last);
            last = place.previous;
        }
    }

    /// Makes `to` a dependency of `from`, whose end it must leave; false if that closes a cycle.
    #[inline]
    pub fn admit(&mut self, from: ChannelIdx, to: ChannelIdx) -> bool {
        let (word, mask) = self.layout.bit(from, to);
        if self.after.get(word).is_some_and(|word| word & mask != 0) {
            return true;
        }
        if self.refused.get(word).is_some_and(|word| word & mask != 0) {
            return false;
        }
        let admitted = self.place(from) < self.place(to) || self.reorder(from, to);
        let bits = if admitted {
            &mut self.after
        } else {
            self.refused.resize(self.layout.words, 0);
            &mut self.refused
        };
        if let Some(word) = bits.get_mut(word) {
            *word |= mask;
        }
        if admitted {
            let (word, mask) = self.layout.bit_before(from, to);
            if let Some(word) = self.before.get_mut(word) {
                *word |= mask;
            }
        }
        admitted
    }

    /// Admits all dependencies of a set that close no cycle; returns true if none does.
    pub fn admit_all(&mut self, set: &DependencySet) -> bool {
        let mut all = true;
        for (from, to) in set.iter() {
            parallel::count(1);
            all &= self.admit(from, to);
        }
        all
    }

    /// Admits the dependencies of a set that agree with the topological order as it is; returns true if all do.
    pub fn admit_in_order(&mut self, set: &DependencySet) -> bool {
        let mut all = true;
        for (from, to) in set.iter() {
            parallel::count(1);
            all &= self.place(from) < self.place(to) && self.admit(from, to);
        }
        all
    }

    /// Takes the dependency of `from` on `to` back. The topological order stays valid.
    pub fn remove(&mut self, from: ChannelIdx, to: ChannelIdx) {
        let (word, mask) = self.layout.bit(from, to);
        if let Some(word) = self.after.get_mut(word) {
            *word &= !mask;
        }
        let (word, mask) = self.layout.bit_before(from, to);
        if let Some(word) = self.before.get_mut(word) {
            *word &= !mask;
        }
    }

    /// Forgets that `to` was refused as a dependency of `from`: after dependencies were taken back it may
    /// close no cycle any more.
    pub fn reconsider(&mut self, from: ChannelIdx, to: ChannelIdx) {
        let (word, mask) = self.layout.bit(from, to);
        if let Some(word) = self.refused.get_mut(word) {
            *word &= !mask;
        }
    }

    /// Takes all dependencies on a channel and of it back, and adds them to `removed`.
    pub fn detach(&mut self, channel: ChannelIdx, removed: &mut Vec<(ChannelIdx, ChannelIdx)>) {
        let first = removed.len();
        let ends = &self.layout.ends[channel];
        let after = bits(&self.after, ends.after, ends.after_words);
        removed.extend(after.map(|next| (channel, ChannelIdx(ends.next.0 + next))));
        let before = bits(&self.before, ends.before, ends.before_words);
        let previous =
            before.map(|before| self.layout.ends[ChannelIdx(ends.siblings.0 + before)].reverse);
        removed.extend(previous.map(|previous| (previous, channel)));
        for &(from, to) in removed.get(first..).unwrap_or_default() {
            self.remove(from, to);
        }
    }

    /// Brings `from` before `to`; false if dependencies lead from `to` to `from` already.
    fn reorder(&mut self, from: ChannelIdx, to: ChannelIdx) -> bool {
        let (low, high) = (self.place(to), self.place(from));
        let (following, leading) = self.next_round();
        self.following.start(to);
        self.seen[to] = following;
        self.leading.start(from);
        self.seen[from] = leading;
        loop {
            let Some(channel) = self.following.next(self.search_order) else {
                self.move_following(from);
                return true;
            };
            if self.follow_on(channel, high, following, leading) {
                return false;
            }
            let Some(channel) = self.leading.next(self.search_order) else {
                self.move_leading(to);
                return true;
            };
            if self.lead_on(channel, low, following, leading) {
                return false;
            }
        }
    }

    /// Adds the dependencies of a channel to those that follow an edge's end, as far as they are below `high`. Returns
    /// true if one of them leads to the edge's start. Plain loops: most of the time of a repair is spent here.
    fn follow_on(&mut self, channel: ChannelIdx, high: u64, following: u32, leading: u32) -> bool {
        let ends = self.layout.ends[channel];
        for block in 0..u32::from(ends.after_words) {
            let word = self.after.get((ends.after + block) as usize);
            let mut word = word.copied().unwrap_or(0);
            while word != 0 {
                let next = ChannelIdx(ends.next.0 + block * 64 + word.trailing_zeros());
                word &= word - 1;
                parallel::count(1);
                let seen = &mut self.seen[next];
                if *seen == leading {
                    return true;
                }
                if *seen != following && self.order[next].label < high {
                    *seen = following;
                    self.following.push(next);
                }
            }
        }
        false
    }

    /// Adds the channels that a channel is a dependency of to those that lead to an edge's start, as far as they are above
    /// `low`. Returns true if the edge's end leads to one of them.
    fn lead_on(&mut self, channel: ChannelIdx, low: u64, following: u32, leading: u32) -> bool {
        let ends = self.layout.ends[channel];
        for block in 0..u32::from(ends.before_words) {
            let word = self.before.get((ends.before + block) as usize);
            let mut word = word.copied().unwrap_or(0);
            while word != 0 {
                let back = ChannelIdx(ends.siblings.0 + block * 64 + word.trailing_zeros());
                word &= word - 1;
                parallel::count(1);
                let previous = self.layout.ends[back].reverse;
                let seen = &mut self.seen[previous];
                if *seen == following {
                    return true;
                }
                if *seen != leading && self.order[previous].label > low {
                    *seen = leading;
                    self.leading.push(previous);
                }
            }
        }
        false
    }

    /// Moves the channels that lead to an edge's start right before `to`, in their order.
    fn move_leading(&mut self, to: ChannelIdx) {
        let mut moved = core::mem::take(&mut self.leading.all);
        moved.sort_unstable_by_key(|&channel| self.place(channel));
        moved.iter().for_each(|&channel| self.unlink(channel));
        self.link(self.order[to].previous, &moved, to);
        self.leading.all = moved;
    }

    /// Moves the channels that follow an edge's end to the places right after `from`, in their order.
    fn move_following(&mut self, from: ChannelIdx) {
        let mut moved = core::mem::take(&mut self.following.all);
        moved.sort_unstable_by_key(|&channel| self.place(channel));
        moved.iter().for_each(|&channel| self.unlink(channel));
        self.link(from, &moved, self.order[from].next);
        self.following.all = moved;
    }

    fn unlink(&mut self, channel: ChannelIdx) {
        let OrderEntry { previous, next, .. } = self.order[channel];
        if let Some(place) = self.order.find_mut(previous) {
            place.next = next;
        }
        if let Some(place) = self.order.find_mut(next) {
            place.previous = previous;
        }
    }

    /// Puts `moved` between two neighbours, either of which may be the list's end.
    fn link(&mut self, previous: ChannelIdx, moved: &[ChannelIdx], next: ChannelIdx) {
        let low = self.order.find(previous).map_or(0, |place| place.label);
        let high = self
            .order
            .find(next)
            .map_or(low + GAP * (moved.len() as u64 + 1), |place| place.label);
        let step = (high - low) / (moved.len() as u64 + 1);
        let (mut before, mut label) = (previous, low);
        for &channel in moved {
            label += step;
            self.order[channel] = OrderEntry {
                label,
                previous: before,
                next,
            };
            if let Some(place) = self.order.find_mut(before) {
                place.next = channel;
            }
            before = channel;
        }
        if let Some(place) = self.order.find_mut(next) {
            place.previous = before;
        }
        if label > u64::MAX / 2 {
            self.assign_labels(before);
        } else if step == 0 {
            self.assign_labels_around(moved);
        }
    }

    /// Assigns labels again to neighbours in the order, and to as many around them as have [`ROOM`] together.
    fn assign_labels_around(&mut self, channels: &[ChannelIdx]) {
        let (Some(&first), Some(&last)) = (channels.first(), channels.last()) else {
            return;
        };
        let (mut first, mut last, mut count) = (first, last, channels.len() as u64);
        loop {
            let (before, after) = (self.order[first].previous, self.order[last].next);
            let low = self.order.find(before).map_or(0, |place| place.label);
            let high = self.order.find(after).map(|place| place.label);
            let high = high.unwrap_or(low + GAP * (count + 1));
            let step = (high - low) / (count + 1);
            if step >= ROOM || (before, after) == (NONE, NONE) {
                return self.assign_labels_from(first, count, low, step);
            }
            // To double the range each time makes the way to its ends no longer than the range itself.
            let more = count;
            for _ in 0..more {
                let (before, after) = (self.order[first].previous, self.order[last].next);
                for (end, neighbour) in [(&mut first, before), (&mut last, after)] {
                    if neighbour != NONE {
                        *end = neighbour;
                        count += 1;
                    }
                }
            }
        }
    }

    /// Assigns all labels again, with gaps; `channel` is any channel.
    fn assign_labels(&mut self, mut channel: ChannelIdx) {
        while let Some(place) = self.order.find(self.order[channel].previous) {
            channel = if place.next == channel {
                self.order[channel].previous
            } else {
                break;
            };
        }
        self.assign_labels_from(channel, u64::MAX, 0, GAP);
    }

    /// Assigns labels to a channel and those after it, `count` at most: the first one is a `step` above `low`.
    fn assign_labels_from(&mut self, mut channel: ChannelIdx, count: u64, low: u64, step: u64) {
        let mut label = low;
        for _ in 0..count {
            let Some(place) = self.order.find_mut(channel) else {
                return;
            };
            label += step;
            place.label = label;
            channel = place.next;
        }
    }

    /// Marks for the two sides of a search that no channel has yet.
    fn next_round(&mut self) -> (u32, u32) {
        if self.round >= u32::MAX - 2 {
            self.seen.fill(0);
            self.round = 0;
        }
        self.round += 2;
        (self.round - 1, self.round)
    }
}

/// The numbers of the bits that are set in a row of `all`.
#[inline]
fn bits(all: &[u64], start: u32, words: u8) -> impl Iterator<Item = u32> {
    let row = all
        .get(start as usize..start as usize + usize::from(words))
        .unwrap_or_default();
    row.iter().enumerate().flat_map(|(block, &word)| {
        let mut left = word;
        core::iter::from_fn(move || {
            let bit = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (bit < 64).then_some(block as u32 * 64 + bit)
        })
    })
}

#[cfg(test)]
mod tests;
