//! Indices into the dense vectors of a fabric, and the vectors that they index.
//!
//! Every index is a newtype, so that a switch's index never reads a table of nodes. An [`IdxVec`]
//! is made with one entry per switch (node, channel, destination) of a fabric, and the indices of
//! that fabric are the only ones that exist: this file is the only place that indexes.

use alloc::{vec, vec::Vec};
use core::{
    fmt,
    marker::PhantomData,
    ops::{Index, IndexMut},
};

/// The index of an entry of a dense vector.
pub trait Idx: Copy + Ord {
    /// The index of entry `at`.
    fn new(at: usize) -> Self;
    /// The entry's place.
    fn at(self) -> usize;
}

macro_rules! indices {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl Idx for $name {
            #[inline(always)]
            fn new(at: usize) -> Self {
                Self(at as u32)
            }

            #[inline(always)]
            fn at(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    )*};
}

indices! {
    /// A node of a fabric, in the order in which nodes were added.
    NodeIdx;
    /// A switch of a fabric, in the order of node GUIDs: the file's order does not matter.
    SwitchIdx;
    /// One direction of a cable between two switches, ordered by switch and output port.
    ChannelIdx;
    /// An end port with LIDs, in the order of LIDs.
    DestinationIdx;
    /// A next hop of a shortest path, among all of all switches.
    NextHopIdx;
}

/// A vector with one entry per index of one kind.
#[derive(Clone, PartialEq, Eq)]
pub struct IdxVec<I, T> {
    entries: Vec<T>,
    kind: PhantomData<fn(I)>,
}

impl<I: Idx, T> IdxVec<I, T> {
    /// No entry.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: Vec::new(),
            kind: PhantomData,
        }
    }

    /// No entry, but memory for `capacity` of them.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Vec::with_capacity(capacity).into()
    }

    /// `len` copies of `value`.
    #[must_use]
    pub fn filled(len: usize, value: T) -> Self
    where
        T: Clone,
    {
        vec![value; len].into()
    }

    /// Replaces all entries.
    pub fn refill(&mut self, entries: impl IntoIterator<Item = T>) {
        self.entries.clear();
        self.entries.extend(entries);
    }

    /// Replaces all entries by copies.
    pub fn copy_from(&mut self, entries: &[T])
    where
        T: Copy,
    {
        self.entries.clear();
        self.entries.extend_from_slice(entries);
    }

    /// Adds an entry and returns its index.
    pub fn push(&mut self, value: T) -> I {
        let index = I::new(self.entries.len());
        self.entries.push(value);
        index
    }

    /// The index that the next entry gets.
    #[inline]
    #[must_use]
    pub fn end(&self) -> I {
        I::new(self.entries.len())
    }

    /// Gives back the memory that no entry uses.
    pub fn shrink_to_fit(&mut self) {
        self.entries.shrink_to_fit();
    }

    /// Removes all entries; their memory stays.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Adds `len` entries with their type's default.
    pub fn extend(&mut self, len: usize)
    where
        T: Clone + Default,
    {
        self.entries.resize(self.entries.len() + len, T::default());
    }

    /// Number of entries.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All indices in order.
    pub fn indices(
        &self,
    ) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone + use<I, T> {
        (0..self.entries.len()).map(I::new)
    }

    /// All entries in order.
    pub fn iter(&self) -> core::slice::Iter<'_, T> {
        self.entries.iter()
    }

    /// All entries in order, to change.
    pub fn iter_mut(&mut self) -> core::slice::IterMut<'_, T> {
        self.entries.iter_mut()
    }

    /// All entries with their indices.
    pub fn iter_enumerated(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.entries
            .iter()
            .enumerate()
            .map(|(at, entry)| (I::new(at), entry))
    }

    /// The entry, if the index came from a fabric of this size.
    #[inline]
    #[must_use]
    pub fn find(&self, index: I) -> Option<&T> {
        self.entries.get(index.at())
    }

    /// The entry to change, if the index came from a fabric of this size.
    #[inline]
    #[must_use]
    pub fn find_mut(&mut self, index: I) -> Option<&mut T> {
        self.entries.get_mut(index.at())
    }

    /// The entries as a slice.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.entries
    }

    /// The entries as a slice to change.
    #[inline]
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.entries
    }

    /// The entries from `start` on, up to but not including `end`; empty where there are none.
    #[inline]
    #[must_use]
    pub fn range(&self, start: I, end: I) -> &[T] {
        let range = self.entries.get(start.at()..end.at());
        range.unwrap_or_else(nothing)
    }

    /// As [`range`](Self::range), to change.
    #[inline]
    #[must_use]
    pub fn range_mut(&mut self, start: I, end: I) -> &mut [T] {
        let range = self.entries.get_mut(start.at()..end.at());
        range.unwrap_or_else(nothing)
    }

    /// Sets every entry to `value`.
    pub fn fill(&mut self, value: T)
    where
        T: Clone,
    {
        self.entries.fill(value);
    }
}

impl<I: Idx, T> IntoIterator for IdxVec<I, T> {
    type Item = T;
    type IntoIter = alloc::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

/// The entries where there are none. Nearly all ranges exist: a branch that is never taken costs less than a choice
/// between two slices.
#[cold]
#[inline(never)]
pub(crate) fn nothing<T: Default>() -> T {
    T::default()
}

impl<I: Idx, T> Default for IdxVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I, T> From<Vec<T>> for IdxVec<I, T> {
    fn from(entries: Vec<T>) -> Self {
        Self {
            entries,
            kind: PhantomData,
        }
    }
}

impl<I: Idx, T> FromIterator<T> for IdxVec<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(entries: A) -> Self {
        Vec::from_iter(entries).into()
    }
}

impl<I: Idx, T> Index<I> for IdxVec<I, T> {
    type Output = T;

    #[inline(always)]
    #[allow(
        clippy::indexing_slicing,
        reason = "indices of one kind belong to one fabric"
    )]
    fn index(&self, index: I) -> &T {
        &self.entries[index.at()]
    }
}

impl<I: Idx, T> IndexMut<I> for IdxVec<I, T> {
    #[inline(always)]
    #[allow(
        clippy::indexing_slicing,
        reason = "indices of one kind belong to one fabric"
    )]
    fn index_mut(&mut self, index: I) -> &mut T {
        &mut self.entries[index.at()]
    }
}

impl<I: Idx, T: fmt::Debug> fmt::Debug for IdxVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.fmt(f)
    }
}
