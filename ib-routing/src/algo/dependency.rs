//! The channel dependency graph: which channel a packet may wait for while it holds another.
//!
//! A vertex is a channel on one lane; an edge leads from a channel into a switch to a channel out of
//! it. Only those pairs can be edges, so the graph is a bit for each: small, and quick to add to.
//! Routes cannot deadlock if it has no cycle (Dally and Seitz, "Deadlock-free message routing in
//! multiprocessor interconnection networks", 1987).

mod collector;
mod counters;
mod counts;

use alloc::{sync::Arc, vec, vec::Vec};
use core::ops::Range;

pub(crate) use self::{collector::DependencyCollector, counts::DependencyCounts};
use super::parallel;
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

    /// The number of a pair on a lane, where each channel has so many lanes.
    #[inline]
    fn place(&self, lanes: usize, from: ChannelIdx, to: ChannelIdx, lane: u8) -> usize {
        self.number(from, to) * lanes + usize::from(lane)
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
