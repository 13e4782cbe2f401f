//! The channel dependency graph: which channel a packet may wait for while it holds another.
//!
//! A vertex is a channel on one lane; an edge leads from a channel into a switch to a channel out of
//! it. Only those pairs can be edges, so the graph is a bit for each: small, and quick to add to.
//! Routes cannot deadlock if it has no cycle (Dally and Seitz, "Deadlock-free message routing in
//! multiprocessor interconnection networks", 1987).

mod collector;

use alloc::{sync::Arc, vec, vec::Vec};
use core::ops::Range;

pub(crate) use self::collector::DependencyCollector;
use super::{overlay::Overlay, parallel};
use crate::{
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec},
};

/// A channel on one of its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex {
    /// The directed link.
    pub channel: ChannelIdx,
    /// Virtual lane on it.
    pub lane: u8,
}

/// A channel dependency graph.
#[derive(Clone, Debug)]
pub struct DependencyGraph {
    lanes: usize,
    /// Graphs that are clones of one share it.
    pairs: Arc<Pairs>,
    bits: Vec<u64>,
}

/// For each channel the channels that can follow it.
#[derive(Debug)]
struct Pairs {
    /// Per channel: the first of the channels that can follow it, and the end of their range.
    heads: IdxVec<ChannelIdx, (ChannelIdx, ChannelIdx)>,
    /// Per channel: what to add to the number of a channel that follows it to find the pair's number.
    /// It wraps.
    base: IdxVec<ChannelIdx, u32>,
}

impl Pairs {
    /// The pairs of a fabric, and their number.
    fn new(fabric: &Fabric) -> (Self, usize) {
        let to = fabric.channels().iter().map(|channel| channel.to);
        let heads: IdxVec<_, _> = to.map(|switch| fabric.channel_range(switch)).collect();
        let mut pairs = 0u32;
        let base = heads.iter().map(|&(first, end)| {
            let base = pairs.wrapping_sub(first.0);
            pairs += end.0 - first.0;
            base
        });
        let base = base.collect();
        (Self { heads, base }, pairs as usize)
    }

    /// The number of a pair.
    #[inline]
    fn number(&self, from: ChannelIdx, to: ChannelIdx) -> usize {
        self.base[from].wrapping_add(to.0) as usize
    }

    /// The number of the bit of an edge, where each channel has so many lanes.
    #[inline]
    fn bit(&self, lanes: usize, from: Vertex, to: Vertex) -> usize {
        debug_assert!(
            (self.heads[from.channel].0..self.heads[from.channel].1).contains(&to.channel),
            "channels that do not meet"
        );
        let pair = self.number(from.channel, to.channel);
        (pair * lanes + usize::from(from.lane)) * lanes + usize::from(to.lane)
    }
}

impl DependencyGraph {
    /// A graph without edges, for `lanes` lanes (0 counts as 1).
    #[must_use]
    pub fn new(fabric: &Fabric, lanes: u8) -> Self {
        let lanes = usize::from(lanes.max(1));
        let (pairs, size) = Pairs::new(fabric);
        Self {
            lanes,
            pairs: Arc::new(pairs),
            bits: vec![0; (size * lanes * lanes).div_ceil(64)],
        }
    }

    #[inline]
    fn bit(&self, from: Vertex, to: Vertex) -> usize {
        self.pairs.bit(self.lanes, from, to)
    }

    /// Adds an edge; says whether it is new. `to` must leave the switch that `from` leads to.
    #[inline]
    pub fn add(&mut self, from: Vertex, to: Vertex) -> bool {
        let bit = self.bit(from, to);
        let mask = 1 << (bit % 64);
        match self.bits.get_mut(bit / 64) {
            Some(word) => {
                // Most edges are there already, and lines of the cache that are only read need not go back.
                let new = *word & mask == 0;
                if new {
                    *word |= mask;
                }
                new
            }
            None => false,
        }
    }

    /// Takes an edge out.
    pub fn remove(&mut self, from: Vertex, to: Vertex) {
        let bit = self.bit(from, to);
        if let Some(word) = self.bits.get_mut(bit / 64) {
            *word &= !(1 << (bit % 64));
        }
    }

    /// Takes all edges from and to these channels out.
    pub(crate) fn detach(&mut self, channels: impl Iterator<Item = ChannelIdx>) {
        let gone: Vec<ChannelIdx> = channels.collect();
        let edges: Vec<_> = self.edges().collect();
        for (from, to) in edges {
            if gone.contains(&from.channel) || gone.contains(&to.channel) {
                self.remove(from, to);
            }
        }
    }

    /// Returns true if there is this edge.
    #[inline]
    #[must_use]
    pub fn contains(&self, from: Vertex, to: Vertex) -> bool {
        let bit = self.bit(from, to);
        self.bits
            .get(bit / 64)
            .is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// Adds all edges of a graph of the same fabric and lanes.
    pub fn merge(&mut self, other: &Self) {
        for (word, &more) in self.bits.iter_mut().zip(&other.bits) {
            *word |= more;
        }
    }

    /// Adds the edges of another fabric's graph with as many lanes; `channels` says which channel of this
    /// fabric each channel of the other is, if any.
    pub fn merge_renumbered(
        &mut self,
        other: &Self,
        channels: &IdxVec<ChannelIdx, Option<ChannelIdx>>,
    ) {
        for (from, to) in other.edges() {
            if let (Some(&Some(first)), Some(&Some(then))) =
                (channels.find(from.channel), channels.find(to.channel))
            {
                let renumbered = |channel, lane| Vertex { channel, lane };
                self.add(renumbered(first, from.lane), renumbered(then, to.lane));
            }
        }
    }

    /// All edges.
    pub fn edges(&self) -> impl Iterator<Item = (Vertex, Vertex)> + '_ {
        let lanes = self.lanes as u8;
        let vertices = self
            .pairs
            .heads
            .indices()
            .flat_map(move |channel| (0..lanes).map(move |lane| Vertex { channel, lane }));
        vertices.flat_map(|from| self.successors(from).map(move |to| (from, to)))
    }

    /// Number of edges.
    #[must_use]
    pub fn num_edges(&self) -> usize {
        self.bits
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Lanes of every channel.
    #[must_use]
    pub fn lanes(&self) -> u8 {
        self.lanes as u8
    }

    /// The targets of the edges out of a vertex.
    pub fn successors(&self, from: Vertex) -> impl Iterator<Item = Vertex> + '_ {
        let (first, end) = self.pairs.heads[from.channel];
        // With one lane the bits of all channels that follow are one range, else the lanes of each of them.
        let (step, len) = match self.lanes {
            1 => ((end.0 - first.0).max(1), (end.0 - first.0) as usize),
            lanes => (1, lanes),
        };
        let is_one = self.lanes == 1;
        (first.0..end.0)
            .step_by(step as usize)
            .flat_map(move |channel| {
                let to = Vertex {
                    channel: ChannelIdx(channel),
                    lane: 0,
                };
                let start = self.bit(from, to);
                self.set_bits(start..start + len).map(move |bit| {
                    let place = (bit - start) as u32;
                    match is_one {
                        true => Vertex {
                            channel: ChannelIdx(channel + place),
                            lane: 0,
                        },
                        false => Vertex {
                            lane: place as u8,
                            ..to
                        },
                    }
                })
            })
    }

    /// The numbers of the bits that are set in a range.
    #[inline]
    fn set_bits(&self, range: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        let mut at = range.start / 64;
        let word = |at: usize| self.bits.get(at).copied().unwrap_or(0);
        let mut left = word(at) & u64::MAX << (range.start % 64);
        core::iter::from_fn(move || {
            while left == 0 {
                at += 1;
                if at * 64 >= range.end {
                    return None;
                }
                left = word(at);
            }
            let bit = at * 64 + left.trailing_zeros() as usize;
            left &= left - 1;
            (bit < range.end).then_some(bit)
        })
    }

    /// An order in which every edge leads forward, or a cycle.
    ///
    /// # Errors
    /// The vertices of a cycle, each with an edge to the next and the last to the first.
    pub fn order(&self) -> Result<Vec<Vertex>, Vec<Vertex>> {
        let lanes = self.lanes;
        let number = |vertex: Vertex| vertex.channel.at() * lanes + usize::from(vertex.lane);
        let vertex = |number: usize| Vertex {
            channel: ChannelIdx::new(number / lanes),
            lane: (number % lanes) as u8,
        };
        let size = self.pairs.heads.len() * lanes;
        let mut waiting = vec![0u32; size];
        for from in (0..size).map(vertex) {
            parallel::count(1);
            self.successors(from).for_each(|to| {
                parallel::count(1);
                if let Some(count) = waiting.get_mut(number(to)) {
                    *count += 1;
                }
            });
        }
        let mut order: Vec<Vertex> = Vec::with_capacity(size);
        order.extend(
            waiting
                .iter()
                .enumerate()
                .filter(|(_, count)| **count == 0)
                .map(|(at, _)| vertex(at)),
        );
        let mut next = 0;
        while let Some(&from) = order.get(next) {
            next += 1;
            parallel::count(1);
            self.successors(from).for_each(|to| {
                parallel::count(1);
                if let Some(count) = waiting.get_mut(number(to)) {
                    *count -= 1;
                    if *count == 0 {
                        order.push(to);
                    }
                }
            });
        }
        if order.len() == size {
            Ok(order)
        } else {
            Err(self.cycle(&waiting))
        }
    }

    /// A cycle among the vertices that still wait for a predecessor. Each of them has one that waits
    /// too, so a walk backward comes round.
    fn cycle(&self, waiting: &[u32]) -> Vec<Vertex> {
        let lanes = self.lanes;
        let number = |vertex: Vertex| vertex.channel.at() * lanes + usize::from(vertex.lane);
        let stuck = |number: usize| waiting.get(number).is_some_and(|&count| count > 0);
        let mut predecessor: Vec<Option<Vertex>> = vec![None; waiting.len()];
        for at in (0..waiting.len()).filter(|&at| stuck(at)) {
            let from = Vertex {
                channel: ChannelIdx::new(at / lanes),
                lane: (at % lanes) as u8,
            };
            for to in self.successors(from) {
                if let Some(entry) = predecessor
                    .get_mut(number(to))
                    .filter(|entry| entry.is_none())
                {
                    *entry = Some(from);
                }
            }
        }
        let before = |vertex: Vertex| predecessor.get(number(vertex)).copied().flatten();
        let start = (0..waiting.len()).find(|&at| stuck(at));
        let Some(start) = start.and_then(|at| predecessor.get(at).copied().flatten()) else {
            return Vec::new();
        };
        let mut seen = vec![false; waiting.len()];
        let mut here = start;
        while let Some(mark) = seen.get_mut(number(here)).filter(|mark| !**mark) {
            *mark = true;
            match before(here) {
                Some(vertex) => here = vertex,
                None => return Vec::new(),
            }
        }
        let end = here;
        let mut cycle = vec![end];
        while let Some(vertex) = before(here).filter(|&vertex| vertex != end) {
            cycle.push(vertex);
            here = vertex;
        }
        cycle.reverse();
        cycle
    }
}

/// The state of a vertex in a search in depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visit {
    /// The search has not reached the vertex.
    None,
    /// The vertex is on the path from the start.
    OnPath,
    /// No cycle can be reached from the vertex.
    Ended,
}

/// The dependencies of paths that keep their lane, each with the number of packets' paths that use it.
///
/// Unlike a [`DependencyGraph`] it says, when a path is taken away, which dependencies no path uses any more. Clones
/// share the numbers until they are changed.
#[derive(Clone, Debug)]
pub(crate) struct DependencyCounts {
    lanes: usize,
    pairs: Arc<Pairs>,
    counts: Overlay,
    used: usize,
}

impl DependencyCounts {
    /// Counts without paths, for `lanes` lanes (0 counts as 1).
    pub(crate) fn new(fabric: &Fabric, lanes: u8) -> Self {
        let lanes = usize::from(lanes.max(1));
        let (pairs, size) = Pairs::new(fabric);
        Self {
            lanes,
            pairs: Arc::new(pairs),
            counts: Overlay::zeros(size * lanes),
            used: 0,
        }
    }

    /// Empty counts of the same fabric and lanes.
    pub(crate) fn empty(&self) -> Self {
        Self {
            lanes: self.lanes,
            pairs: Arc::clone(&self.pairs),
            counts: Overlay::zeros(self.counts.len()),
            used: 0,
        }
    }

    #[inline]
    fn at(&self, from: ChannelIdx, to: ChannelIdx, lane: u8) -> usize {
        self.pairs.number(from, to) * self.lanes + usize::from(lane)
    }

    /// Adds `count` paths to a dependency, and returns whether it is new. `to` must leave the switch that `from` leads
    /// to.
    #[inline]
    pub(crate) fn add(&mut self, from: ChannelIdx, to: ChannelIdx, lane: u8, count: u32) -> bool {
        if count == 0 {
            return false;
        }
        let at = self.at(from, to, lane);
        let Some(entry) = self.counts.get_mut(at) else {
            return false;
        };
        let is_new = *entry == 0;
        *entry += count;
        self.used += usize::from(is_new);
        is_new
    }

    /// Takes `count` paths away from a dependency, and returns whether no path uses it any more.
    pub(crate) fn remove(
        &mut self,
        from: ChannelIdx,
        to: ChannelIdx,
        lane: u8,
        count: u32,
    ) -> bool {
        if count == 0 {
            return false;
        }
        let at = self.at(from, to, lane);
        let Some(entry) = self.counts.get_mut(at).filter(|entry| **entry > 0) else {
            return false;
        };
        *entry = entry.saturating_sub(count);
        let is_unused = *entry == 0;
        self.used -= usize::from(is_unused);
        is_unused
    }

    /// Returns true if any path uses a dependency.
    pub(crate) fn contains(&self, from: ChannelIdx, to: ChannelIdx, lane: u8) -> bool {
        self.counts
            .get(self.at(from, to, lane))
            .is_some_and(|count| count > 0)
    }

    /// Number of dependencies in use.
    pub(crate) const fn num_used(&self) -> usize {
        self.used
    }

    /// Makes the numbers those that clones share from now on.
    pub(crate) fn merge(&mut self) {
        self.counts.merge();
    }

    /// As [`merge`](Self::merge), if so much was changed that a clone would copy a good part of the numbers.
    pub(crate) fn merge_many(&mut self) {
        self.counts.merge_many();
    }

    /// Undoes all changes since `before` was cloned, or was merged before that.
    pub(crate) fn revert_to(&mut self, before: &Self) {
        self.counts.revert();
        self.used = before.used;
    }

    /// Calls `each` for the dependencies in use: the channels, the lane, and the number of paths.
    pub(crate) fn for_each(&self, mut each: impl FnMut(ChannelIdx, ChannelIdx, u8, u32)) {
        let counts = self.counts.entries();
        for (from, &(first, end)) in self.pairs.heads.iter_enumerated() {
            let row = self.at(from, first, 0)..self.at(from, end, 0);
            let row = counts.get(row).unwrap_or_default();
            let used = row.iter().enumerate().filter(|(_, count)| **count > 0);
            for (at, &count) in used {
                let to = ChannelIdx(first.0 + (at / self.lanes) as u32);
                each(from, to, (at % self.lanes) as u8, count);
            }
        }
    }

    /// The dependencies in use of counts of one fabric and its lanes.
    pub(crate) fn graph(all: &[Self]) -> Option<DependencyGraph> {
        let first = all.first()?;
        let lanes = first.lanes;
        let mut graph = DependencyGraph {
            lanes,
            pairs: Arc::clone(&first.pairs),
            bits: vec![0; (first.counts.len() * lanes).div_ceil(64)],
        };
        for counts in all {
            counts.for_each(|from, to, lane, _| {
                let vertex = |channel| Vertex { channel, lane };
                graph.add(vertex(from), vertex(to));
            });
        }
        Some(graph)
    }

    /// A cycle of dependencies in use that can be reached from `start`, without the channels that `is_gone` names:
    /// `None` if there is none. Counts are of one fabric and its lanes. The search visits only channels that can be
    /// reached from `start`, and stops at the first cycle.
    pub(crate) fn cycle_near(
        all: &[Self],
        start: &[Vertex],
        is_gone: impl Fn(ChannelIdx) -> bool,
    ) -> Option<Vec<Vertex>> {
        let first = all.first()?;
        let next_after = |from: Vertex, next: ChannelIdx| {
            let (_, end) = first.pairs.heads[from.channel];
            let mut channels = (next.0..end.0).map(ChannelIdx);
            channels.find(|&to| {
                !is_gone(to)
                    && all
                        .iter()
                        .any(|users| users.contains(from.channel, to, from.lane))
            })
        };
        let number = |vertex: Vertex| vertex.channel.at() * first.lanes + usize::from(vertex.lane);
        let mut visits = vec![Visit::None; first.pairs.heads.len() * first.lanes];
        // The vertices on the path, each with the next channel that is to be tried.
        let mut path: Vec<(Vertex, ChannelIdx)> = Vec::new();
        for &start in start.iter().filter(|start| !is_gone(start.channel)) {
            if visits.get(number(start)) != Some(&Visit::None) {
                continue;
            }
            path.push((start, first.pairs.heads[start.channel].0));
            while let Some((here, next)) = path.last_mut() {
                let here = *here;
                let Some(channel) = next_after(here, *next) else {
                    if let Some(visit) = visits.get_mut(number(here)) {
                        *visit = Visit::Ended;
                    }
                    path.pop();
                    continue;
                };
                *next = ChannelIdx(channel.0 + 1);
                if let Some(visit) = visits.get_mut(number(here)) {
                    *visit = Visit::OnPath;
                }
                let to = Vertex { channel, ..here };
                match visits.get(number(to)) {
                    Some(Visit::None) => path.push((to, first.pairs.heads[channel].0)),
                    Some(Visit::OnPath) => {
                        let vertices = path.iter().map(|&(vertex, _)| vertex);
                        return Some(vertices.skip_while(|&vertex| vertex != to).collect());
                    }
                    Some(Visit::Ended) | None => {}
                }
            }
        }
        None
    }

    /// The counts by the channels of another fabric with the same switches, whose counts are `into` and empty:
    /// `channels` says which channel of it each one is, if any.
    pub(crate) fn renumber(
        &self,
        channels: &IdxVec<ChannelIdx, Option<ChannelIdx>>,
        into: &mut Self,
    ) {
        self.for_each(|from, to, lane, count| {
            let now = |channel| channels.find(channel).copied().flatten();
            if let (Some(from), Some(to)) = (now(from), now(to)) {
                into.add(from, to, lane, count);
            }
        });
        into.merge();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::FabricSpec;

    /// The channels round a ring of switches, in one direction.
    fn round(fabric: &Fabric) -> Vec<ChannelIdx> {
        let mut round = vec![ChannelIdx(0)];
        while round.len() < fabric.num_switches() {
            let last = *fabric.channel(*round.last().unwrap());
            let mut next = fabric.channels_from(last.to);
            let next = next.find(|(index, _)| *index != last.reverse).unwrap();
            round.push(next.0);
        }
        round
    }

    #[test]
    fn a_cycle_is_found_from_any_of_its_vertices_and_from_what_leads_to_it() {
        let spec: FabricSpec = "ring:switches=5,hosts=1".parse().unwrap();
        let fabric = spec.build().unwrap();
        let round = round(&fabric);
        let lane = 1;
        let vertex = |channel: ChannelIdx| Vertex { channel, lane };
        // Half of the dependencies are of one kind of traffic, and half of another.
        let none = DependencyCounts::new(&fabric, 2);
        let mut kinds = [none.empty(), none];
        for at in 0..5 {
            kinds[at % 2].add(round[at], round[(at + 1) % 5], lane, 1);
        }
        let cycle = |kinds: &[DependencyCounts], start| {
            DependencyCounts::cycle_near(kinds, &[vertex(start)], |_| false)
        };
        for &start in &round {
            let mut found = cycle(&kinds, start).unwrap();
            found.sort_unstable();
            let mut all: Vec<_> = round.iter().copied().map(vertex).collect();
            all.sort_unstable();
            assert_eq!(found, all);
        }
        // Neither kind of traffic alone forms it, nor do both without one of the channels, nor on another lane.
        assert_eq!(cycle(&kinds[..1], round[0]), None);
        assert_eq!(cycle(&kinds[1..], round[0]), None);
        let start = [vertex(round[0])];
        let without = DependencyCounts::cycle_near(&kinds, &start, |channel| channel == round[3]);
        assert_eq!(without, None);
        let lane = 0;
        let channel = round[0];
        let elsewhere = [Vertex { channel, lane }];
        let other = DependencyCounts::cycle_near(&kinds, &elsewhere, |_| false);
        assert_eq!(other, None);
        // What is passed on the way to a cycle is no part of it: nothing leads back to the start.
        let back = fabric.channel(round[0]).reverse;
        kinds[0].add(back, round[0], 1, 1);
        let found = cycle(&kinds, back).unwrap();
        assert_eq!(found.len(), 5);
        assert!(!found.contains(&vertex(back)));
    }
}
