//! Writes the tables of all switches for some LIDs after others.
//!
//! An engine routes groups of LIDs, one after the other. A page is open from the first group that has a LID in it to
//! the last one. Open pages have a slot in one piece of memory; when a page is closed, those of all switches are
//! [merged](page::merge), and another page gets the slot. So the tables of 47,824 LIDs, 188 MB, need memory for a few pages of
//! each switch and for those that differ.

use alloc::{vec, vec::Vec};
use core::ops::RangeInclusive;

use ib_wire::Lid;

use super::{
    page::{self, BLOCKS, PAGE, Page},
    rows::Rows,
};
use crate::algo::parallel;

/// Pages of a table below which whole tables are in memory.
const FEW: usize = 8;

/// The part of a table's pages, as its reciprocal, that may be open at the same time. If more were, whole tables are in
/// memory.
const MOST: usize = 2;

/// The places of the entries of LIDs in the memory of one switch.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The slot of each page; empty if the memory is that of whole tables.
    slots: Vec<usize>,
}

/// The first and the last group with LIDs in a page.
#[derive(Clone, Debug)]
struct Span {
    first: usize,
    last: usize,
}

/// The tables of all switches, of which only the pages are in memory that are being written.
pub(crate) struct PageWriter<'a> {
    threads: usize,
    rows: &'a mut Rows,
    layout: Layout,
    /// The groups of each page, if it has any.
    spans: Vec<Option<Span>>,
    /// The slots of all switches, if pages are opened and closed.
    open: Vec<u8>,
    num_slots: usize,
    /// The pages of all switches that are closed, by page; empty for other pages.
    closed: Vec<Vec<Page>>,
}

impl Layout {
    /// The place of a LID's entry.
    #[inline]
    pub(crate) fn place(&self, lid: Lid) -> usize {
        let lid = usize::from(lid.0);
        let slot = self.slots.get(lid / PAGE);
        slot.map_or(lid, |slot| slot * PAGE + lid % PAGE)
    }
}

impl<'a> PageWriter<'a> {
    /// A writer of `rows` for groups of LIDs, of each of which `groups` has the ranges.
    pub(super) fn new<R: Iterator<Item = RangeInclusive<Lid>>>(
        threads: usize,
        rows: &'a mut Rows,
        groups: impl Iterator<Item = R>,
    ) -> Self {
        let pages = rows.len().div_ceil(PAGE);
        let mut spans: Vec<Option<Span>> = vec![None; pages];
        for (group, ranges) in groups.enumerate().take_while(|_| pages >= FEW) {
            for range in ranges {
                parallel::count(1);
                let (start, end) = range.into_inner();
                let range = usize::from(start.0) / PAGE..=usize::from(end.0) / PAGE;
                for span in spans.get_mut(range).into_iter().flatten() {
                    let first = span.as_ref().map_or(group, |span| span.first);
                    *span = Some(Span { first, last: group });
                }
            }
        }
        let (slots, num_slots) = slots(&spans);
        let mut writer = Self {
            threads,
            layout: Layout { slots: Vec::new() },
            closed: vec![Vec::new(); pages],
            open: Vec::new(),
            num_slots,
            spans,
            rows,
        };
        if pages >= FEW && num_slots * MOST <= pages {
            writer.rows.share(threads);
            writer.layout.slots = slots;
            writer.open = vec![0; writer.rows.count() * num_slots * PAGE];
        }
        writer
    }

    /// The places of the entries of LIDs in the memory of each switch.
    pub(crate) const fn layout(&self) -> &Layout {
        &self.layout
    }

    fn has_slots(&self) -> bool {
        !self.layout.slots.is_empty()
    }

    /// The memory of all switches to write, and its length for each.
    pub(crate) fn rows_mut(&mut self) -> (&mut [u8], usize) {
        if self.has_slots() {
            return (&mut self.open, self.num_slots * PAGE);
        }
        let len = self.rows.len();
        (self.rows.whole_mut(self.threads), len)
    }

    /// Opens the pages of a group: before its LIDs are written.
    pub(crate) fn begin(&mut self, group: usize) {
        let opened = self.pages(|span| span.first == group);
        if opened.is_empty() {
            return;
        }
        let mut rows = self.rows.all_shared();
        let len = self.num_slots * PAGE;
        parallel::rows(
            self.threads,
            &mut rows,
            &mut self.open,
            len,
            |row, slots| {
                for &(page, slot) in &opened {
                    parallel::count(BLOCKS);
                    let to = slots
                        .get_mut(slot * PAGE..)
                        .and_then(<[u8]>::first_chunk_mut);
                    if let (Some(to), Some(from)) = (to, row.page(page)) {
                        *to = **from;
                    }
                }
            },
        );
    }

    /// Closes the pages of which a group is the last one: after its LIDs are written.
    pub(crate) fn end(&mut self, group: usize) {
        for (page, slot) in self.pages(|span| span.last == group) {
            let entries = |row: usize| {
                let start = (row * self.num_slots + slot) * PAGE;
                self.open.get(start..start + PAGE).unwrap_or_default()
            };
            let merged = page::merge(self.threads, self.rows.count(), entries);
            if let Some(closed) = self.closed.get_mut(page) {
                *closed = merged;
            }
        }
    }

    /// Puts the pages that were closed into the tables: after the last group.
    pub(crate) fn finish(self) {
        if self.has_slots() {
            parallel::count(self.rows.count());
            self.rows.set_pages(self.closed);
        }
    }

    /// The pages of some spans, with their slots.
    fn pages(&self, is_meant: impl Fn(&Span) -> bool) -> Vec<(usize, usize)> {
        let pages = self.spans.iter().zip(&self.layout.slots).enumerate();
        let pages = pages.filter(|(_, (span, _))| span.as_ref().is_some_and(&is_meant));
        pages.map(|(page, (_, &slot))| (page, slot)).collect()
    }
}

/// A slot for each page, and the number of slots: two pages that are open at the same time have different ones.
fn slots(spans: &[Option<Span>]) -> (Vec<usize>, usize) {
    let mut slots = vec![0; spans.len()];
    // The last group of the page that has a slot.
    let mut busy: Vec<usize> = Vec::new();
    let mut order: Vec<(usize, &Span)> = (0..)
        .zip(spans)
        .filter_map(|(page, span)| Some((page, span.as_ref()?)))
        .collect();
    order.sort_by_key(|(_, span)| span.first);
    for (page, span) in order {
        let free = busy.iter().position(|&last| last < span.first);
        let slot = free.unwrap_or(busy.len());
        match busy.get_mut(slot) {
            Some(last) => *last = span.last,
            None => busy.push(span.last),
        }
        if let Some(entry) = slots.get_mut(page) {
            *entry = slot;
        }
    }
    (slots, busy.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: usize = 70;

    /// Writes `lid % 200 + row % 2` for the LIDs of each group, and returns the largest length of a row.
    fn write(threads: usize, rows: &mut Rows, groups: &[RangeInclusive<usize>]) -> usize {
        let lid = |lid: usize| Lid(lid as u16);
        let ranges = groups
            .iter()
            .map(|group| [lid(*group.start())..=lid(*group.end())]);
        let mut writer = PageWriter::new(threads, rows, ranges.map(IntoIterator::into_iter));
        let layout = writer.layout().clone();
        let mut longest = 0;
        for (number, group) in groups.iter().enumerate() {
            writer.begin(number);
            let (all, len) = writer.rows_mut();
            longest = longest.max(len);
            for (row, entries) in all.chunks_mut(len).enumerate() {
                for at in group.clone() {
                    entries[layout.place(lid(at))] = (at % 200 + row % 2) as u8;
                }
            }
            writer.end(number);
        }
        writer.finish();
        longest
    }

    fn check(rows: &Rows, groups: &[RangeInclusive<usize>], len: usize) {
        for row in 0..ROWS {
            for at in 0..len {
                let is_written = groups.iter().any(|group| group.contains(&at));
                let entry = (at % 200 + row % 2) as u8;
                let wanted = if is_written { entry } else { 255 };
                assert_eq!(rows.entry(row, at), Some(wanted), "{row} {at}");
            }
        }
    }

    #[test]
    fn a_page_is_in_memory_from_its_first_group_to_its_last() {
        let len = 9 * PAGE + 64;
        // The page of the first group is open until the fourth one, the last page is shorter, and one page is in no group.
        let groups = [1..=100, 1000..=3000, 3001..=5000, 200..=300, 6200..=len - 1];
        for threads in [1, 2] {
            let mut rows = Rows::unreachable(ROWS, len);
            let longest = write(threads, &mut rows, &groups);
            assert_eq!(longest, 4 * PAGE);
            check(&rows, &groups, len);
            let same = |one, other| {
                let both = rows.block(one, 32).zip(rows.block(other, 32)).unwrap();
                core::ptr::eq(both.0, both.1)
            };
            assert!(same(0, 2) && same(1, 69) && !same(0, 1));
        }
    }

    #[test]
    fn a_second_writer_leaves_the_entries_of_the_first() {
        let len = 10 * PAGE;
        let (first, second) = ([1..=1500, 1501..=3000], [3001..=3500, 9000..=9500]);
        let mut rows = Rows::unreachable(ROWS, len);
        write(1, &mut rows, &first);
        write(1, &mut rows, &second);
        check(&rows, &[first, second].concat(), len);
    }

    #[test]
    fn whole_tables_are_in_memory_if_they_are_short_or_their_groups_are_scattered() {
        let len = 9 * PAGE;
        let scattered = [1..=1, 9000..=9000, 2..=len - 1, 3..=3];
        let mut rows = Rows::unreachable(ROWS, len);
        assert_eq!(write(2, &mut rows, &scattered), len);
        check(&rows, &[1..=len - 1], len);
        let mut rows = Rows::unreachable(ROWS, 128);
        assert_eq!(write(2, &mut rows, &[1..=9, 30..=90]), 128);
        check(&rows, &[1..=9, 30..=90], 128);
    }
}
