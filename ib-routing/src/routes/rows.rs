//! The forwarding tables of all switches: a row for each.
//!
//! While an engine computes them they are one piece of memory. [`Rows::share`] divides it into rows that clones
//! share: a write to a row of one clone puts the block beside the row. So routes after a repair share everything that the
//! repair left unchanged with the routes before it, and a comparison reads the changed blocks alone. At 47,824 LIDs the
//! loss of a cable changes a block or two of some 1,600 rows, each of 48 KB.

use alloc::{borrow::Cow, sync::Arc, vec, vec::Vec};

use super::shared_lft::{BLOCK, SharedLft};
use crate::algo::parallel;

/// Entries that are compared at once: most of two tables that differ is equal.
const PAGE: usize = 16 * BLOCK;

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
        // A table has 1,024 blocks at most.
        let row = SharedLft::unreachable(u16::try_from(len / BLOCK).unwrap_or(u16::MAX));
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
            Content::Shared(rows) => rows.get(at).map_or(Cow::Borrowed(&[]), SharedLft::entries),
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

    /// A row to write; empty if there is none.
    #[inline]
    pub(super) fn row_mut(&mut self, at: usize) -> &mut [u8] {
        match &mut self.content {
            Content::Whole(all) => {
                let start = at * self.len;
                all.get_mut(start..start + self.len).unwrap_or_default()
            }
            Content::Shared(rows) => rows.get_mut(at).map_or(&mut [], SharedLft::to_mut),
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

    /// All rows in one piece, to write.
    pub(super) fn whole_mut(&mut self) -> &mut [u8] {
        if let Content::Shared(rows) = &self.content {
            let mut all = Vec::with_capacity(rows.len() * self.len);
            for row in rows {
                all.extend_from_slice(&row.entries());
            }
            self.content = Content::Whole(all);
        }
        match &mut self.content {
            Content::Whole(all) => all,
            Content::Shared(_) => &mut [],
        }
    }

    /// Divides the rows, so that clones share them from now on. Nothing is copied.
    pub(super) fn share(&mut self) {
        let (count, len) = (self.count(), self.len / BLOCK);
        let Content::Whole(all) = &mut self.content else {
            return;
        };
        let buffer = Arc::new(core::mem::take(all));
        let row = |at: usize| SharedLft::of(&buffer, at * len, len);
        self.content = Content::Shared((0..count).map(row).collect());
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
        match &mut self.content {
            Content::Shared(rows) => {
                let entry = rows.get_mut(at);
                let entry = entry.filter(|entry| entry.num_blocks() == row.num_blocks());
                entry.map(|entry| *entry = row.clone()).is_some()
            }
            Content::Whole(_) => {
                let to = self.row_mut(at);
                let fits = to.len() == row.num_blocks() * BLOCK;
                if fits {
                    to.copy_from_slice(&row.entries());
                }
                fits
            }
        }
    }

    /// Returns true if two rows are the same memory.
    #[inline]
    pub(super) fn is_same(&self, other: &Self, at: usize) -> bool {
        match (self.shared(at), other.shared(at)) {
            (Some(one), Some(other)) => one.is_same(other),
            _ => false,
        }
    }
}

impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        let is_equal = |at| self.is_same(other, at) || self.row(at) == other.row(at);
        self.len == other.len && self.count() == other.count() && (0..self.count()).all(is_equal)
    }
}

impl Eq for Rows {}

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
        rows.row_mut(1)[70] = 4;
        rows.share();
        rows
    }

    #[test]
    fn a_write_to_a_shared_row_leaves_the_clone_and_other_rows_as_they_are() {
        let before = rows();
        let mut after = before.clone();
        after.row_mut(1)[70] = 5;
        after.row_mut(1)[71] = 6;
        assert_eq!((before.row(1)[70], before.row(1)[71]), (4, 255));
        assert_eq!((after.row(1)[70], after.row(1)[71]), (5, 6));
        assert!(after.is_same(&before, 0) && !after.is_same(&before, 1) && after != before);
    }

    #[test]
    fn clones_know_the_blocks_in_which_they_can_differ() {
        let mut rows = Rows::new(1, 2, 64 * 64, 255);
        rows.row_mut(1)[70] = 4;
        rows.share();
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
        assert_eq!(changed(&before, &after), Some(vec![0, 1, 62]));
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
        assert_eq!(changed(&after, &other), Some(vec![0, 1, 3, 62]));
        assert_eq!(after.differing(&other, 1, 255), [70, 127, 200, 4000]);
        assert_ne!(after, other);
    }

    #[test]
    fn a_row_with_many_changes_has_memory_of_its_own() {
        let mut rows = Rows::new(1, 1, 64 * 64, 255);
        rows.share();
        let before = rows.clone();
        for block in (0..=8).rev() {
            rows.set(0, block * 64, block as u8);
        }
        let (one, two) = (rows.shared(0).unwrap(), before.shared(0).unwrap());
        assert!(one.changed_blocks(two).is_none());
        let expected: Vec<usize> = (0..=8).map(|block| block * 64).collect();
        assert_eq!(rows.differing(&before, 0, 255), expected);
        assert!(
            expected
                .iter()
                .all(|&at| rows.entry(0, at) == Some((at / 64) as u8))
        );
    }

    #[test]
    fn rows_in_one_piece_equal_the_divided_ones() {
        let shared = rows();
        let mut whole = shared.clone();
        assert_eq!(whole.whole_mut().len(), 3 * 128);
        assert_eq!(whole, shared);
        assert!(whole.shared(0).is_none() && shared.shared(0).is_some());
        whole.row_mut(2)[0] = 1;
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
