//! An array that is changed beside a shared original.
//!
//! A clone shares the original and copies only the pages that were written, so a change of a few entries of a large array
//! costs as much as these entries, and is undone by forgetting the pages.

use alloc::{borrow::Cow, sync::Arc, vec, vec::Vec};

/// Entries of a page: the part that the first write to one of them copies.
pub(crate) const PAGE: usize = 64;

/// The part of all pages, as its reciprocal, from which on written pages are merged into an array of their own.
const MANY: usize = 2;

/// The place of a page that was not written.
const NOT_WRITTEN: u32 = u32::MAX;

/// An array of numbers of 16 bits with changes beside it.
#[derive(Clone, Debug)]
pub(crate) struct Overlay {
    original: Arc<Vec<u16>>,
    /// By page: its place among the written ones, or [`NOT_WRITTEN`].
    places: Vec<u32>,
    /// The written pages, one after the other.
    written: Vec<u16>,
    /// The numbers of the written pages, in the order of their places.
    numbers: Vec<u32>,
}

impl Overlay {
    /// `len` zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        Self {
            original: Arc::new(vec![0; len]),
            places: vec![NOT_WRITTEN; len.div_ceil(PAGE)],
            written: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.original.len()
    }

    /// An entry; `None` past the end.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<u16> {
        match self.places.get(at / PAGE) {
            None | Some(&NOT_WRITTEN) => self.original.get(at).copied(),
            Some(&place) => {
                let at = place as usize * PAGE + at % PAGE;
                self.written.get(at).copied()
            }
        }
    }

    /// The entries from a multiple of [`PAGE`] on: a page of them, or fewer at the end.
    #[inline]
    pub(crate) fn page(&self, start: usize) -> &[u16] {
        let (all, start) = match self.places.get(start / PAGE) {
            None | Some(&NOT_WRITTEN) => (self.original.as_slice(), start),
            Some(&place) => (self.written.as_slice(), place as usize * PAGE),
        };
        all.get(start..all.len().min(start + PAGE))
            .unwrap_or_default()
    }

    /// An entry to write; `None` past the end.
    #[inline]
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut u16> {
        if at >= self.original.len() {
            return None;
        }
        let place = *self.places.get(at / PAGE)?;
        let place = match place {
            NOT_WRITTEN => self.copy_page(at / PAGE)?,
            place => place,
        };
        self.written.get_mut(place as usize * PAGE + at % PAGE)
    }

    /// Copies a page of the original, and returns its place.
    fn copy_page(&mut self, number: usize) -> Option<u32> {
        let place = self.numbers.len() as u32;
        let end = self.original.len().min((number + 1) * PAGE);
        let page = self.original.get(number * PAGE..end)?;
        self.written.extend_from_slice(page);
        self.written.resize((place as usize + 1) * PAGE, 0);
        self.numbers.push(number as u32);
        *self.places.get_mut(number)? = place;
        Some(place)
    }

    /// Forgets all writes.
    pub(crate) fn revert(&mut self) {
        for &number in &self.numbers {
            if let Some(place) = self.places.get_mut(number as usize) {
                *place = NOT_WRITTEN;
            }
        }
        self.numbers.clear();
        self.written.clear();
    }

    /// All entries.
    pub(crate) fn entries(&self) -> Cow<'_, [u16]> {
        if self.numbers.is_empty() {
            return Cow::Borrowed(&self.original);
        }
        let mut all = self.original.to_vec();
        let pages = self.written.chunks(PAGE).zip(&self.numbers);
        for (page, &number) in pages {
            let to = all.get_mut(number as usize * PAGE..).unwrap_or_default();
            for (to, &from) in to.iter_mut().zip(page) {
                *to = from;
            }
        }
        Cow::Owned(all)
    }

    /// All entries, to write without a copy of their pages: for those who write most of them. Clones do not share the
    /// array any more.
    pub(crate) fn all_mut(&mut self) -> &mut [u16] {
        self.merge();
        Arc::<Vec<u16>>::make_mut(&mut self.original)
    }

    /// Makes an original of all entries as they are.
    pub(crate) fn merge(&mut self) {
        if let Cow::Owned(all) = self.entries() {
            self.original = Arc::new(all);
            self.revert();
        }
    }

    /// Merges the writes if there are so many that every clone would copy a good part of the array.
    pub(crate) fn merge_many(&mut self) {
        if self.numbers.len() > self.places.len() / MANY {
            self.merge();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_seen_by_one_clone_alone_and_can_be_reverted() {
        let mut first = Overlay::zeros(200);
        *first.get_mut(70).unwrap() = 7;
        first.merge();
        let mut other = first.clone();
        *other.get_mut(71).unwrap() = 8;
        *other.get_mut(199).unwrap() = 9;
        assert!(first.get(71) == Some(0) && first.get(199) == Some(0));
        assert_eq!(
            [70, 71, 72, 199].map(|at| other.get(at).unwrap()),
            [7, 8, 0, 9]
        );
        assert_eq!(other.entries().len(), 200);
        assert_eq!(other.entries()[71], 8);
        other.revert();
        assert_eq!([70, 71, 199].map(|at| other.get(at).unwrap()), [7, 0, 0]);
        assert_eq!(other.entries(), first.entries());
    }

    #[test]
    fn a_merge_leaves_the_entries_as_they_are() {
        let mut one = Overlay::zeros(130);
        for at in [0, 64, 129] {
            *one.get_mut(at).unwrap() = at as u16 + 1;
        }
        let before = one.entries().into_owned();
        one.merge_many();
        assert!(one.numbers.is_empty());
        assert_eq!(one.entries(), before);
        assert!(one.get(130).is_none() && one.get_mut(130).is_none());
    }

    #[test]
    fn a_write_to_all_entries_leaves_other_clones_as_they_are() {
        let mut one = Overlay::zeros(130);
        *one.get_mut(3).unwrap() = 3;
        let other = one.clone();
        let all = one.all_mut();
        assert_eq!((all.len(), all[3]), (130, 3));
        all[129] = 9;
        assert_eq!([3, 129].map(|at| one.get(at).unwrap()), [3, 9]);
        assert_eq!([3, 129].map(|at| other.get(at).unwrap()), [3, 0]);
    }
}
