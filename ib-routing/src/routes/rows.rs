//! The forwarding tables of all switches: a row for each.
//!
//! While an engine computes them they are one piece of memory. [`Rows::share`] divides it into pages that equal rows, and
//! clones, share: a write to a page of one clone copies the page. So routes after a repair share everything that the
//! repair left unchanged with the routes before it, and a comparison reads the changed pages alone. At 47,824 LIDs the
//! loss of a cable changes a page or two of some 1,600 rows, each of 48 KB.

use alloc::{borrow::Cow, vec, vec::Vec};

use super::{
    page::{self, BLOCK, PAGE, Page},
    shared_lft::SharedLft,
};
use crate::algo::parallel;

/// The rows of all switches, of a length that is a multiple of 64.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    len: usize,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    /// One row after the other.
    Whole(Vec<u8>),
    Shared(Vec<SharedLft>),
}

impl Rows {
    /// `count` rows of `len` entries, all equal to `entry`, filled on as many threads as `threads` says.
    pub(super) fn new(threads: usize, count: usize, len: usize, entry: u8) -> Self {
        let all = if threads == 1 {
            parallel::count(count * len / BLOCK);
            vec![entry; count * len]
        } else {
            // Memory of zeros is only reserved: the system hands each page out when it is written, which takes longer
            // than to fill it.
            let mut all = vec![0; count * len];
            parallel::rows(threads, &mut vec![(); count], &mut all, len, |(), row| {
                parallel::count(row.len() / BLOCK);
                row.fill(entry);
            });
            all
        };
        Self {
            len,
            content: Content::Whole(all),
        }
    }

    /// `count` rows without a reachable LID, of `len` entries, which share one piece of memory.
    pub(super) fn unreachable(count: usize, len: usize) -> Self {
        let row = SharedLft::unreachable(blocks_in(len));
        Self {
            len,
            content: Content::Shared(vec![row; count]),
        }
    }

    /// Entries in a row.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Number of rows.
    pub(super) fn count(&self) -> usize {
        match &self.content {
            Content::Whole(all) => all.len().checked_div(self.len).unwrap_or(0),
            Content::Shared(rows) => rows.len(),
        }
    }

    /// A row; empty if there is none.
    #[inline]
    pub(super) fn row(&self, at: usize) -> Cow<'_, [u8]> {
        match &self.content {
            Content::Whole(_) => Cow::Borrowed(self.whole_row(at)),
            Content::Shared(rows) => {
                let row = rows.get(at).map(SharedLft::entries);
                Cow::Owned(row.unwrap_or_default())
            }
        }
    }

    /// A row of those in one piece; empty if there is none.
    #[inline]
    fn whole_row(&self, at: usize) -> &[u8] {
        let Content::Whole(all) = &self.content else {
            return &[];
        };
        let start = at * self.len;
        all.get(start..start + self.len).unwrap_or_default()
    }

    /// An entry of a row.
    #[inline]
    pub(super) fn entry(&self, row: usize, at: usize) -> Option<u8> {
        match &self.content {
            Content::Whole(_) => self.whole_row(row).get(at).copied(),
            Content::Shared(rows) => rows.get(row)?.entry(at),
        }
    }

    /// A block of a row.
    #[inline]
    pub(super) fn block(&self, row: usize, number: u16) -> Option<&[u8; BLOCK]> {
        match &self.content {
            Content::Whole(_) => {
                let start = usize::from(number) * BLOCK;
                self.whole_row(row).get(start..)?.first_chunk()
            }
            Content::Shared(rows) => rows.get(row)?.block(number),
        }
    }

    /// Writes a block of a row. Returns false if there is no such block.
    pub(super) fn set_block(&mut self, row: usize, number: u16, entries: &[u8; BLOCK]) -> bool {
        match &mut self.content {
            Content::Whole(all) => {
                let (start, from) = (row * self.len, usize::from(number) * BLOCK);
                let row = all.get_mut(start..start + self.len);
                let block = row.and_then(|row| row.get_mut(from..)?.first_chunk_mut());
                block.map(|block| *block = *entries).is_some()
            }
            Content::Shared(rows) => {
                let row = rows.get_mut(row);
                row.is_some_and(|row| row.set_block(number, entries))
            }
        }
    }

    /// Writes an entry of a row.
    #[inline]
    pub(super) fn set(&mut self, row: usize, at: usize, port: u8) {
        match &mut self.content {
            Content::Whole(all) => {
                let start = row * self.len;
                let row = all.get_mut(start..start + self.len);
                if let Some(entry) = row.and_then(|row| row.get_mut(at)) {
                    *entry = port;
                }
            }
            Content::Shared(rows) => {
                if let Some(row) = rows.get_mut(row) {
                    row.set(at, port);
                }
            }
        }
    }

    /// Replaces the entries of one value in a row by another one.
    pub(super) fn replace(&mut self, row: usize, old: u8, new: u8) {
        match &mut self.content {
            Content::Whole(all) => {
                let start = row * self.len;
                let row = all.get_mut(start..start + self.len).unwrap_or_default();
                let entries = row.iter_mut().filter(|entry| **entry == old);
                entries.for_each(|entry| *entry = new);
            }
            Content::Shared(rows) => {
                if let Some(row) = rows.get_mut(row) {
                    row.replace(old, new);
                }
            }
        }
    }

    /// The entries in which two rows differ, in order. Entries that one of them has not are `missing`.
    pub(super) fn differing(&self, other: &Self, at: usize, missing: u8) -> Vec<usize> {
        let both = self.shared(at).zip(other.shared(at));
        let Some(blocks) = both.and_then(|(one, other)| one.changed_blocks(other)) else {
            return differing(&self.row(at), &other.row(at), missing);
        };
        let mut found = Vec::new();
        for number in blocks {
            if let Some((one, other)) = self.block(at, number).zip(other.block(at, number)) {
                add_differing(one, other, usize::from(number) * BLOCK, &mut found);
            }
        }
        found
    }

    /// All rows in one piece, to write. Shared ones are copied, on as many threads as `threads` says.
    pub(super) fn whole_mut(&mut self, threads: usize) -> &mut [u8] {
        if let Content::Shared(rows) = &mut self.content {
            let mut all = vec![0; rows.len() * self.len];
            parallel::rows(threads, rows, &mut all, self.len, |row, to| {
                parallel::count(to.len() / BLOCK);
                row.copy_to(to);
            });
            self.content = Content::Whole(all);
        }
        match &mut self.content {
            Content::Whole(all) => all,
            Content::Shared(_) => &mut [],
        }
    }

    /// Divides the rows into pages, of which equal ones share their memory, on as many threads as `threads` says.
    pub(super) fn share(&mut self, threads: usize) {
        let (count, len) = (self.count(), self.len);
        let Content::Whole(all) = &self.content else {
            return;
        };
        let columns = (0..len).step_by(PAGE).map(|first| {
            let page = |row: usize| {
                let (start, end) = (row * len + first, len.min(first + PAGE) - first);
                all.get(start..start + end).unwrap_or_default()
            };
            page::merge(threads, count, page).into_iter()
        });
        let mut columns: Vec<_> = columns.collect();
        let rows = (0..count).map(|_| {
            let pages = columns.iter_mut().filter_map(Iterator::next);
            SharedLft::of(pages.collect(), blocks_in(len))
        });
        self.content = Content::Shared(rows.collect());
    }

    /// The rows that clones share; none if the rows are not divided.
    pub(super) fn all_shared(&self) -> Vec<&SharedLft> {
        match &self.content {
            Content::Whole(_) => Vec::new(),
            Content::Shared(rows) => rows.iter().collect(),
        }
    }

    /// Replaces pages of shared rows: `columns` has those of all rows for each page, or none for a page that stays.
    pub(super) fn set_pages(&mut self, columns: Vec<Vec<Page>>) {
        let Content::Shared(rows) = &mut self.content else {
            return;
        };
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        let num_pages = self.len.div_ceil(PAGE);
        for row in rows {
            // The iterator knows its length, so the pages are collected in the memory that the row keeps.
            let pages = (0..num_pages).map(|number| {
                let new = columns.get_mut(number).and_then(Iterator::next);
                let page = new.or_else(|| row.page(number).cloned());
                page.unwrap_or_else(page::unreachable)
            });
            *row = SharedLft::of(pages.collect(), blocks_in(self.len));
        }
    }

    /// A row that clones share; `None` if the rows are not divided.
    #[inline]
    pub(super) fn shared(&self, at: usize) -> Option<&SharedLft> {
        match &self.content {
            Content::Whole(_) => None,
            Content::Shared(rows) => rows.get(at),
        }
    }

    /// Replaces a row by a shared one of the same length. Returns false if it has another length.
    pub(super) fn set_shared(&mut self, at: usize, row: &SharedLft) -> bool {
        if row.num_blocks() * BLOCK != self.len || at >= self.count() {
            return false;
        }
        if let Content::Shared(rows) = &mut self.content {
            let entry = rows.get_mut(at);
            return entry.map(|entry| *entry = row.clone()).is_some();
        }
        let mut blocks = row.blocks().zip(0..);
        blocks.all(|(block, number)| self.set_block(at, number, block))
    }
}

impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        let is_equal = |at| match self.shared(at).zip(other.shared(at)) {
            Some((one, other)) => {
                let changed = one.changed_blocks(other);
                changed.is_some_and(|mut blocks| blocks.next().is_none())
            }
            None => self.row(at) == other.row(at),
        };
        self.len == other.len && self.count() == other.count() && (0..self.count()).all(is_equal)
    }
}

impl Eq for Rows {}

/// Blocks in a row of so many entries. A table has 1,024 at most.
fn blocks_in(len: usize) -> u16 {
    u16::try_from(len / BLOCK).unwrap_or(u16::MAX)
}

/// The indices at which two rows differ, in order. Entries that one of them has not are `missing`.
pub(crate) fn differing(one: &[u8], other: &[u8], missing: u8) -> Vec<usize> {
    let mut found = Vec::new();
    let common = one.len().min(other.len());
    let both = one.get(..common).zip(other.get(..common));
    let (first, second) = both.unwrap_or_default();
    // Plain loops: after every failure all tables that changed are compared several times.
    for (page, (first, second)) in first.chunks(PAGE).zip(second.chunks(PAGE)).enumerate() {
        if first == second {
            continue;
        }
        for (block, (first, second)) in first.chunks(BLOCK).zip(second.chunks(BLOCK)).enumerate() {
            if first != second {
                add_differing(first, second, page * PAGE + block * BLOCK, &mut found);
            }
        }
    }
    let longer = if one.len() > common { one } else { other };
    let rest = longer.iter().enumerate().skip(common);
    found.extend(
        rest.filter(|(_, entry)| **entry != missing)
            .map(|(at, _)| at),
    );
    found
}

/// Adds the indices at which two blocks differ. The blocks begin at the index `start`.
fn add_differing(one: &[u8], other: &[u8], start: usize, found: &mut Vec<usize>) {
    for (at, (one, other)) in one.iter().zip(other).enumerate() {
        if one != other {
            found.push(start + at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Rows {
        let mut rows = Rows::new(1, 3, 128, 255);
        rows.set(1, 70, 4);
        rows.share(1);
        rows
    }

    #[test]
    fn a_write_to_a_shared_row_leaves_the_clone_and_other_rows_as_they_are() {
        let before = rows();
        let mut after = before.clone();
        after.set(1, 70, 5);
        assert!(after.set_block(1, 0, &[6; 64]));
        assert_eq!((before.row(1)[70], before.row(1)[63]), (4, 255));
        assert_eq!((after.row(1)[70], after.row(1)[63]), (5, 6));
        let is_same = |at| after.shared(at).zip(before.shared(at)).unwrap();
        let is_same = |at| is_same(at).0.is_same(is_same(at).1);
        assert!(is_same(0) && !is_same(1) && after != before);
    }

    #[test]
    fn what_lies_past_the_end_cannot_be_written() {
        let mut shared = rows();
        let mut whole = shared.clone();
        whole.whole_mut(1);
        for rows in [&mut shared, &mut whole] {
            let before = rows.clone();
            rows.set(1, 128, 7);
            rows.set(3, 0, 7);
            assert!(!rows.set_block(1, 2, &[7; 64]) && !rows.set_block(3, 0, &[7; 64]));
            rows.replace(3, 255, 7);
            assert_eq!(*rows, before);
            assert!(rows.block(1, 2).is_none() && rows.entry(3, 0).is_none());
            assert!(!rows.set_shared(0, &SharedLft::unreachable(3)));
            assert!(!rows.set_shared(3, &SharedLft::unreachable(2)));
            assert!(rows.set_shared(1, &SharedLft::unreachable(2)));
            assert_eq!((rows.row(1).len(), rows.entry(1, 70)), (128, Some(255)));
        }
    }

    #[test]
    fn the_entries_of_one_value_are_replaced_in_one_row() {
        let mut shared = rows();
        let mut whole = shared.clone();
        whole.whole_mut(1);
        for rows in [&mut shared, &mut whole] {
            rows.set(1, 3, 4);
            rows.set(2, 3, 4);
            rows.replace(1, 4, 9);
            let read = [(1, 3), (1, 70), (1, 71), (2, 3)].map(|(row, at)| rows.entry(row, at));
            assert_eq!(read, [9, 9, 255, 4].map(Some));
        }
    }

    #[test]
    fn clones_know_the_blocks_in_which_they_differ() {
        let mut rows = Rows::new(1, 2, 64 * 64, 255);
        rows.set(1, 70, 4);
        rows.share(1);
        let before = rows;
        let mut after = before.clone();
        for (at, port) in [(70, 5), (127, 4), (3, 9), (4000, 1), (9000, 1)] {
            after.set(1, at, port);
        }
        after.set(1, 3, 255);
        let changed = |one: &Rows, two: &Rows| {
            let both = one.shared(1).zip(two.shared(1));
            both.and_then(|(one, two)| Some(one.changed_blocks(two)?.collect::<Vec<_>>()))
        };
        assert_eq!(changed(&before, &after), Some(vec![1, 62]));
        assert_eq!(after.differing(&before, 1, 255), [70, 127, 4000]);
        assert_eq!(before.differing(&after, 1, 255), [70, 127, 4000]);
        assert_eq!(
            differing(&before.row(1), &after.row(1), 255),
            [70, 127, 4000]
        );
        let read = |rows: &Rows| [70, 127, 3, 4000, 4095, 4096].map(|at| rows.entry(1, at));
        let (some, none) = (|port| Some(port), None);
        assert_eq!(
            read(&after),
            [some(5), some(4), some(255), some(1), some(255), none]
        );
        assert_eq!(
            read(&before),
            [some(4), some(255), some(255), some(255), some(255), none]
        );
        let row = after.shared(1).unwrap();
        assert_eq!(
            row.blocks().flatten().copied().collect::<Vec<_>>(),
            *after.row(1)
        );
        // Both have changes that the other has not.
        let mut other = before.clone();
        other.set(1, 200, 7);
        assert_eq!(changed(&after, &other), Some(vec![1, 3, 62]));
        assert_eq!(after.differing(&other, 1, 255), [70, 127, 200, 4000]);
        assert_ne!(after, other);
    }

    #[test]
    fn equal_pages_of_the_rows_are_the_same_memory() {
        let mut rows = Rows::new(1, 3, PAGE + 64, 255);
        rows.set(1, PAGE, 4);
        rows.share(1);
        let block = |row, number| core::ptr::from_ref(rows.block(row, number).unwrap());
        assert_eq!(block(0, 0), block(1, 0));
        assert_eq!(block(0, 16), block(2, 16));
        assert_ne!(block(0, 16), block(1, 16));
        assert_eq!(
            (rows.entry(1, PAGE), rows.entry(2, PAGE)),
            (Some(4), Some(255))
        );
    }

    #[test]
    fn rows_in_one_piece_equal_the_divided_ones() {
        let shared = rows();
        let mut whole = shared.clone();
        assert_eq!(whole.whole_mut(1).len(), 3 * 128);
        assert_eq!(whole, shared);
        assert!(whole.shared(0).is_none() && shared.shared(0).is_some());
        whole.set(2, 0, 1);
        assert_ne!(whole, shared);
    }

    #[test]
    fn rows_of_unequal_length_differ_where_the_longer_has_an_entry() {
        let (mut one, other) = ([255; 128], [255; 64]);
        (one[3], one[100]) = (1, 2);
        assert_eq!(differing(&one, &other, 255), [3, 100]);
        assert_eq!(differing(&other, &one, 255), [3, 100]);
    }
}
