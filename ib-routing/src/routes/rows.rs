//! The forwarding tables of all switches: a row for each.
//!
//! While an engine computes them they are one piece of memory. [`Rows::share`] divides it into rows that clones
//! share: a write to a row of one clone copies that row alone. So routes after a repair share the rows that the repair
//! left unchanged with the routes before it, and a comparison passes over these rows without reading them.

use alloc::{
    sync::{Arc, Weak},
    vec,
    vec::Vec,
};
use core::ops::Deref;

use ib_wire::PortNum;

use crate::algo::parallel;

/// LIDs in one block of a forwarding table.
const BLOCK: usize = 64;

/// Blocks in the longest forwarding table.
const BLOCKS: usize = 1024;

/// Entries that are compared at once: most of two tables that differ is equal.
const PAGE: usize = 16 * BLOCK;

/// A switch's linear forwarding table, by LID, that several owners share.
#[derive(Clone, Debug)]
pub struct SharedLft {
    buffer: Arc<Vec<u8>>,
    /// Index of the first byte in the buffer, in blocks of 64.
    start: u32,
    /// Length in blocks of 64.
    len: u32,
    /// The table that this one is a changed copy of, if the changes are known.
    copied: Option<Arc<Copied>>,
}

/// The table that another one was copied from, and the blocks that were written since.
#[derive(Clone, Debug)]
struct Copied {
    /// It is only compared, so it does not keep the table in memory.
    buffer: Weak<Vec<u8>>,
    start: u32,
    /// A bit for each block.
    written: [u64; BLOCKS / 64],
}

impl Copied {
    fn is_from(&self, table: &SharedLft) -> bool {
        Weak::as_ptr(&self.buffer) == Arc::as_ptr(&table.buffer) && self.start == table.start
    }

    /// Records a write to an entry.
    fn write(&mut self, at: usize) {
        let block = at / BLOCK;
        if let Some(word) = self.written.get_mut(block / 64) {
            *word |= 1 << (block % 64);
        }
    }

    /// The blocks that were written, in order.
    fn written(&self) -> impl Iterator<Item = usize> + '_ {
        let words = self.written.iter().enumerate();
        words.flat_map(|(number, &word)| {
            let mut left = word;
            core::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < u64::BITS).then_some(number * 64 + bit as usize)
            })
        })
    }
}

impl SharedLft {
    /// Returns true if both are the same memory, so that their content is equal. Two tables of equal content may
    /// differ.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.buffer, &other.buffer)
            && (self.start, self.len) == (other.start, other.len)
    }

    /// A table of so many blocks of 64 LIDs, none of which is reachable, with memory of its own.
    #[must_use]
    pub fn unreachable(blocks: u16) -> Self {
        Self {
            buffer: Arc::new(vec![PortNum::UNREACHABLE.0; usize::from(blocks) * BLOCK]),
            start: 0,
            len: blocks.into(),
            copied: None,
        }
    }

    /// The blocks in which two tables can differ, in order, if one of them is a copy of the other whose changes are known;
    /// `None` if every block has to be compared.
    #[must_use]
    pub fn changed_blocks<'a>(
        &'a self,
        other: &'a Self,
    ) -> Option<impl Iterator<Item = usize> + 'a> {
        let copied = |of: &'a Self, from: &Self| of.copied.as_ref().filter(|of| of.is_from(from));
        let copied = copied(self, other).or_else(|| copied(other, self));
        let is_same_length = self.len == other.len;
        copied
            .filter(|_| is_same_length)
            .map(|copied| copied.written())
    }

    /// The entries, to write; `None` if others share them.
    pub fn get_mut(&mut self) -> Option<&mut [u8]> {
        if self.own().is_some() {
            // What the caller writes is not known.
            self.copied = None;
        }
        self.own()
    }

    /// The entries, if no other table shares their memory.
    fn own(&mut self) -> Option<&mut [u8]> {
        let is_whole = self.buffer.len() == self.len as usize * BLOCK;
        let buffer = Arc::get_mut(&mut self.buffer).filter(|_| is_whole);
        buffer.map(Vec::as_mut_slice)
    }

    /// Writes an entry. If others share the table, it is copied first.
    fn set(&mut self, at: usize, port: u8) {
        if self.own().is_none() {
            self.copy();
        }
        if let Some(copied) = &mut self.copied {
            Arc::make_mut(copied).write(at);
        }
        if let Some(entry) = self.own().and_then(|entries| entries.get_mut(at)) {
            *entry = port;
        }
    }

    /// Takes memory of its own, with the same content.
    fn copy(&mut self) {
        let copied = Copied {
            buffer: Arc::downgrade(&self.buffer),
            start: self.start,
            written: [0; BLOCKS / 64],
        };
        let own = Vec::from(&**self);
        (self.buffer, self.start) = (Arc::new(own), 0);
        self.copied = Some(Arc::new(copied));
    }

    /// The entries, to write. If others share them, they are copied first.
    fn to_mut(&mut self) -> &mut [u8] {
        if self.own().is_none() {
            self.copy();
        }
        self.get_mut().unwrap_or_default()
    }
}

impl Deref for SharedLft {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let start = self.start as usize * BLOCK;
        let range = start..start + self.len as usize * BLOCK;
        self.buffer.get(range).unwrap_or_default()
    }
}

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
    pub(super) fn row(&self, at: usize) -> &[u8] {
        match &self.content {
            Content::Whole(all) => {
                let start = at * self.len;
                all.get(start..start + self.len).unwrap_or_default()
            }
            Content::Shared(rows) => rows.get(at).map_or(&[], |row| row),
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
        if self.is_same(other, at) {
            return Vec::new();
        }
        let both = self.shared(at).zip(other.shared(at));
        let (one, two) = (self.row(at), other.row(at));
        match both.and_then(|(one, two)| one.changed_blocks(two)) {
            Some(blocks) => {
                let mut found = Vec::new();
                for block in blocks {
                    add_differing(one, two, block, &mut found);
                }
                found
            }
            None => differing(one, two, missing),
        }
    }

    /// All rows in one piece, to write.
    pub(super) fn whole_mut(&mut self) -> &mut [u8] {
        if let Content::Shared(rows) = &self.content {
            let mut all = Vec::with_capacity(rows.len() * self.len);
            for row in rows {
                all.extend_from_slice(row);
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
        let row = |at: usize| SharedLft {
            buffer: Arc::clone(&buffer),
            start: (at * len) as u32,
            len: len as u32,
            copied: None,
        };
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
                let entry = rows.get_mut(at).filter(|entry| entry.len == row.len);
                entry.map(|entry| *entry = row.clone()).is_some()
            }
            Content::Whole(_) => {
                let to = self.row_mut(at);
                let fits = to.len() == row.len();
                if fits {
                    to.copy_from_slice(row);
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
                add_differing(one, other, page * PAGE / BLOCK + block, &mut found);
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

/// Adds the indices at which two rows differ in a block that both have.
fn add_differing(one: &[u8], other: &[u8], block: usize, found: &mut Vec<usize>) {
    let start = block * BLOCK;
    let (one, other) = (one.iter().skip(start), other.iter().skip(start));
    for (at, (one, other)) in one.zip(other).take(BLOCK).enumerate() {
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
    fn a_copy_knows_its_changed_blocks_until_it_is_written_as_a_whole() {
        let before = rows();
        let mut after = before.clone();
        for (at, port) in [(70, 5), (127, 4), (3, 9)] {
            after.set(1, at, port);
        }
        after.set(1, 3, 255);
        let changed = |one: &Rows, two: &Rows| {
            let both = one.shared(1).zip(two.shared(1));
            both.and_then(|(one, two)| Some(one.changed_blocks(two)?.collect::<Vec<_>>()))
        };
        assert_eq!(changed(&before, &after), Some(vec![0, 1]));
        assert_eq!(after.differing(&before, 1, 255), [70, 127]);
        assert_eq!(
            before.differing(&after, 1, 255),
            differing(before.row(1), after.row(1), 255)
        );
        // A copy of the copy knows the first copy alone.
        let mut last = after.clone();
        last.set(1, 0, 7);
        assert_eq!(changed(&last, &after), Some(vec![0]));
        assert_eq!(changed(&last, &before), None);
        assert_eq!(last.differing(&before, 1, 255), [0, 70, 127]);
        // An original that is written afterwards is another table.
        let mut original = before.clone();
        original.set(1, 1, 1);
        assert_eq!(changed(&original, &after), None);
        assert_eq!(original.differing(&after, 1, 255), [1, 70, 127]);
        after.row_mut(1)[5] = 6;
        assert_eq!(changed(&after, &before), None);
        assert_eq!(after.differing(&before, 1, 255), [5, 70, 127]);
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
