//! Sets of dependencies.

use alloc::{sync::Arc, vec, vec::Vec};

use super::{DependencyLayout, bits};
use crate::index::ChannelIdx;

/// A set of dependencies, whether they form cycles or not.
#[derive(Clone, Debug)]
pub struct DependencySet {
    layout: Arc<DependencyLayout>,
    after: Vec<u64>,
}

impl DependencySet {
    /// An empty set.
    #[must_use]
    pub fn new(layout: &Arc<DependencyLayout>) -> Self {
        Self {
            layout: Arc::clone(layout),
            after: vec![0; layout.words],
        }
    }

    /// Adds the dependency of `from` on `to`, which leaves the switch that `from` enters.
    #[inline]
    pub fn insert(&mut self, from: ChannelIdx, to: ChannelIdx) {
        let (word, mask) = self.layout.bit(from, to);
        if let Some(word) = self.after.get_mut(word) {
            *word |= mask;
        }
    }

    /// Adds all dependencies of another set of the same layout.
    pub fn extend(&mut self, other: &Self) {
        for (word, other) in self.after.iter_mut().zip(&other.after) {
            *word |= other;
        }
    }

    /// All dependencies, by the number of the channel that has them.
    pub fn iter(&self) -> impl Iterator<Item = (ChannelIdx, ChannelIdx)> {
        let channels = self.layout.ends.indices();
        channels.flat_map(|from| {
            let ends = &self.layout.ends[from];
            let after = bits(&self.after, ends.after, ends.after_words);
            after.map(move |next| (from, ChannelIdx(ends.next.0 + next)))
        })
    }
}
