//! A channel dependency graph to which several threads add at the same time.

use alloc::{sync::Arc, vec::Vec};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::{DependencyGraph, Pairs, Vertex};
use crate::fabric::Fabric;

/// A graph that only grows: which thread adds an edge makes no difference.
pub(crate) struct DependencyCollector {
    lanes: usize,
    pairs: Arc<Pairs>,
    /// The bits of a [`DependencyGraph`], in halves of its words: not all processors change 64 bits at once.
    bits: Vec<AtomicU32>,
    /// Several threads add.
    shared: bool,
}

impl DependencyCollector {
    /// `N` graphs without edges, for `lanes` lanes (0 counts as 1).
    pub(crate) fn several<const N: usize>(fabric: &Fabric, lanes: u8, shared: bool) -> [Self; N] {
        let lanes = usize::from(lanes.max(1));
        let (pairs, size) = Pairs::new(fabric);
        let (pairs, words) = (Arc::new(pairs), (size * lanes * lanes).div_ceil(64));
        core::array::from_fn(|_| Self {
            lanes,
            pairs: Arc::clone(&pairs),
            bits: (0..2 * words).map(|_| AtomicU32::new(0)).collect(),
            shared,
        })
    }

    /// Adds an edge. `to` must leave the switch that `from` leads to.
    #[inline]
    pub(crate) fn add(&self, from: Vertex, to: Vertex) {
        let bit = self.pairs.bit(self.lanes, from, to);
        let Some(half) = self.bits.get(bit / 32) else {
            return;
        };
        let (bits, mask) = (half.load(Relaxed), 1 << (bit % 32));
        // Most edges are there already, and lines of the cache that are only read stay with all processors.
        if bits & mask == 0 {
            if self.shared {
                half.fetch_or(mask, Relaxed);
            } else {
                half.store(bits | mask, Relaxed);
            }
        }
    }

    /// Lines of a cache that the graph fills.
    pub(crate) const fn lines(&self) -> usize {
        self.bits.len() / 16
    }

    /// The graph, when no thread adds any more.
    pub(crate) fn into_graph(self) -> DependencyGraph {
        let words = self.bits.chunks_exact(2).map(|halves| {
            let half = |at: usize| {
                halves
                    .get(at)
                    .map_or(0, |half| u64::from(half.load(Relaxed)))
            };
            half(0) | half(1) << 32
        });
        DependencyGraph {
            lanes: self.lanes,
            bits: words.collect(),
            pairs: self.pairs,
        }
    }
}
