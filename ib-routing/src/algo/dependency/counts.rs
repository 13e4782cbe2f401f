//! The dependencies of paths, with the number of paths that use each.

use alloc::{sync::Arc, vec, vec::Vec};

use super::{
    DependencyGraph, Pairs, Vertex,
    counters::{AllCounters, Counters},
};
use crate::{
    algo::overlay::PAGE,
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec},
};

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
    counts: Counters,
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
            counts: Counters::zeros(size * lanes),
            used: 0,
        }
    }

    /// Empty counts of the same fabric and lanes.
    pub(crate) fn empty(&self) -> Self {
        Self {
            lanes: self.lanes,
            pairs: Arc::clone(&self.pairs),
            counts: Counters::zeros(self.counts.len()),
            used: 0,
        }
    }

    #[inline]
    fn at(&self, from: ChannelIdx, to: ChannelIdx, lane: u8) -> usize {
        self.pairs.place(self.lanes, from, to, lane)
    }

    /// Adds `count` paths to a dependency, and returns whether it is new. `to` must leave the switch that `from` leads
    /// to.
    #[inline]
    pub(crate) fn add(&mut self, from: ChannelIdx, to: ChannelIdx, lane: u8, count: u32) -> bool {
        if count == 0 {
            return false;
        }
        let at = self.at(from, to, lane);
        let is_new = self.counts.add(at, count);
        self.used += usize::from(is_new);
        is_new
    }

    /// All counts, to add to most of them.
    pub(crate) fn all(&mut self) -> AllCounts<'_> {
        AllCounts {
            lanes: self.lanes,
            pairs: &self.pairs,
            counts: self.counts.all(),
            used: &mut self.used,
        }
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
        let is_unused = self.counts.remove(at, count);
        self.used -= usize::from(is_unused);
        is_unused
    }

    /// Returns true if any path uses a dependency.
    pub(crate) fn contains(&self, from: ChannelIdx, to: ChannelIdx, lane: u8) -> bool {
        self.counts.is_used(self.at(from, to, lane))
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
        let counts = self.counts.numbers();
        for (from, &(first, end)) in self.pairs.heads.iter_enumerated() {
            let row = self.at(from, first, 0)..self.at(from, end, 0);
            for (at, count) in counts.used(row) {
                let to = ChannelIdx(first.0 + (at / self.lanes) as u32);
                each(from, to, (at % self.lanes) as u8, count);
            }
        }
    }

    /// Calls `each` for the dependencies that paths of these counts use and no path of `others`, counts of the same fabric
    /// and its lanes.
    pub(crate) fn for_each_only(
        &self,
        others: &[Self],
        mut each: impl FnMut(ChannelIdx, ChannelIdx, u8),
    ) {
        let mut rows = self
            .pairs
            .heads
            .iter_enumerated()
            .map(|(from, &(first, end))| {
                let row = self.at(from, first, 0)..self.at(from, end, 0);
                (from, first, row)
            });
        let mut row = rows.next();
        for start in (0..self.counts.len()).step_by(PAGE) {
            // Plain loops over whole pages: most have no such dependency, and there are millions of pairs.
            let mut used = [0; PAGE];
            for users in others {
                users.counts.add_bits(start, &mut used);
            }
            let mut own = [0; PAGE];
            self.counts.add_bits(start, &mut own);
            let both = || own.iter().zip(&used);
            let only = |(&own, &used)| if used == 0 { own } else { 0 };
            if both().fold(0, |any, pair| any | only(pair)) == 0 {
                continue;
            }
            for (at, _) in (start..).zip(both()).filter(|&(_, pair)| only(pair) > 0) {
                // Rows follow each other in the order of their channels.
                while row.as_ref().is_some_and(|(_, _, row)| row.end <= at) {
                    row = rows.next();
                }
                let Some((from, first, row)) = &row else {
                    return;
                };
                let place = at - row.start;
                let to = ChannelIdx(first.0 + (place / self.lanes) as u32);
                each(*from, to, (place % self.lanes) as u8);
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
        let mut all = into.all();
        self.for_each(|from, to, lane, count| {
            let now = |channel| channels.find(channel).copied().flatten();
            if let (Some(from), Some(to)) = (now(from), now(to)) {
                all.add(all.at(from, to, lane), count);
            }
        });
        into.merge();
    }
}

/// All counts of dependencies, to add to.
pub(crate) struct AllCounts<'a> {
    lanes: usize,
    pairs: &'a Pairs,
    counts: AllCounters<'a>,
    used: &'a mut usize,
}

impl AllCounts<'_> {
    /// The place of a dependency among the counts, which is the same for all counts of a fabric and its lanes. `to` must
    /// leave the switch that `from` leads to.
    #[inline]
    pub(crate) fn at(&self, from: ChannelIdx, to: ChannelIdx, lane: u8) -> usize {
        self.pairs.place(self.lanes, from, to, lane)
    }

    /// Adds `count` paths to the dependency at a place.
    #[inline]
    pub(crate) fn add(&mut self, at: usize, count: u32) {
        if count > 0 {
            *self.used += usize::from(self.counts.add(at, count));
        }
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

    #[test]
    fn dependencies_of_one_kind_alone_are_those_that_no_other_kind_uses() {
        let spec: FabricSpec = "torus:4x4,hosts=1".parse().unwrap();
        let fabric = spec.build().unwrap();
        let none = DependencyCounts::new(&fabric, 2);
        let mut kinds = [none.empty(), none.empty(), none];
        let pairs = fabric.channels().indices().flat_map(|from| {
            let next = fabric.channels_from(fabric.channel(from).to);
            next.flat_map(move |(to, _)| [(from, to, 0), (from, to, 1)])
        });
        let pairs: Vec<_> = pairs.collect();
        for (at, &(from, to, lane)) in pairs.iter().enumerate() {
            for (kind, users) in kinds.iter_mut().enumerate() {
                users.add(from, to, lane, u32::from(at % (kind + 3) == 0));
            }
        }
        // Some are written beside the original.
        kinds.iter_mut().for_each(DependencyCounts::merge);
        for (at, &(from, to, lane)) in pairs.iter().enumerate().skip(100).step_by(7) {
            for users in kinds.iter_mut().take(1 + at % 3) {
                users.add(from, to, lane, 1);
            }
        }
        let (last, others) = kinds.split_last().unwrap();
        let mut found = Vec::new();
        last.for_each_only(others, |from, to, lane| found.push((from, to, lane)));
        let is_only = |&&(from, to, lane): &&(ChannelIdx, ChannelIdx, u8)| {
            last.contains(from, to, lane)
                && others.iter().all(|users| !users.contains(from, to, lane))
        };
        let wanted: Vec<_> = pairs.iter().filter(is_only).copied().collect();
        assert!(found.len() > 20);
        assert_eq!(found, wanted);
    }
}
