//! A forwarding table that shares its memory with others.

use alloc::{sync::Arc, vec, vec::Vec};
use core::{ops::Range, slice};

use super::page::{self, BLOCK, BLOCKS, PAGE, Page, PagePool};

/// A switch's linear forwarding table, by LID. Its memory is divided into pages of 1,024 LIDs, which other tables share.
///
/// A clone shares all pages. A write to a page that others share copies that page first.
#[derive(Clone, Debug)]
pub struct SharedLft {
    pages: Arc<[Page]>,
    /// Length in blocks of 64 LIDs.
    len: u16,
}

impl SharedLft {
    /// A table of so many blocks of 64 LIDs, none of which is reachable.
    #[must_use]
    pub fn unreachable(blocks: u16) -> Self {
        let pages = usize::from(blocks).div_ceil(BLOCKS);
        Self {
            pages: vec![page::unreachable(); pages].into(),
            len: blocks,
        }
    }

    /// The table of these pages, of `len` blocks.
    pub(super) fn of(pages: Arc<[Page]>, len: u16) -> Self {
        Self { pages, len }
    }

    /// Returns true if both are the same memory, so that their content is equal. Two tables of equal content may
    /// differ.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pages, &other.pages) && self.len == other.len
    }

    /// Returns true if a clone of this table shares all of its pages, so that a write takes memory.
    #[must_use]
    pub fn has_clones(&self) -> bool {
        Arc::strong_count(&self.pages) > 1
    }

    /// Length in blocks of 64 LIDs.
    #[must_use]
    pub const fn num_blocks(&self) -> usize {
        self.len as usize
    }

    /// The entries of the LIDs from 64 times `number` on; `None` past the end.
    #[inline]
    #[must_use]
    pub fn block(&self, number: u16) -> Option<&[u8; BLOCK]> {
        if number >= self.len {
            return None;
        }
        let number = usize::from(number);
        let page = self.pages.get(number / BLOCKS)?;
        page.as_chunks().0.get(number % BLOCKS)
    }

    /// All blocks of 64 LIDs, in order.
    pub fn blocks(&self) -> impl Iterator<Item = &[u8; BLOCK]> {
        let blocks = self.pages.iter().flat_map(|page| blocks_of(page));
        blocks.take(self.num_blocks())
    }

    /// Writes the entries of the LIDs from 64 times `number` on. If others share their page, it is copied first. Returns
    /// false, and changes nothing, past the end.
    pub fn set_block(&mut self, number: u16, entries: &[u8; BLOCK]) -> bool {
        let number = usize::from(number);
        let is_inside = number < self.num_blocks();
        let page = self.page_mut(number / BLOCKS).filter(|_| is_inside);
        let block = page.and_then(|page| page.as_chunks_mut().0.get_mut(number % BLOCKS));
        block.map(|block| *block = *entries).is_some()
    }

    /// Lets the page of a block share the memory of an equal page of a pool, and adds it to the pool if there is none.
    pub fn merge_page(&mut self, block: u16, pool: &mut PagePool) {
        let page = Arc::make_mut(&mut self.pages).get_mut(usize::from(block) / BLOCKS);
        if let Some(page) = page {
            pool.merge(page);
        }
    }

    /// The numbers of the blocks of the page that a block is in, in order.
    pub fn page_of(block: u16) -> Range<u16> {
        let first = block - block % BLOCKS as u16;
        first..first.saturating_add(BLOCKS as u16)
    }

    /// The numbers of the blocks in which two tables differ, in order; `None` if they differ in their length. Pages that
    /// both share are not read.
    #[must_use]
    pub fn changed_blocks<'a>(
        &'a self,
        other: &'a Self,
    ) -> Option<impl Iterator<Item = u16> + use<'a>> {
        if self.len != other.len {
            return None;
        }
        let both = self.pages.iter().zip(other.pages.iter());
        let pages = both.zip((0..).step_by(BLOCKS));
        let pages = pages.filter(|((one, other), _)| !Arc::ptr_eq(one, other));
        Some(pages.flat_map(|((one, other), first)| {
            let blocks = blocks_of(one).zip(blocks_of(other)).zip(first..);
            blocks.filter_map(|((one, other), number)| (one != other).then_some(number))
        }))
    }

    /// All entries.
    pub(super) fn entries(&self) -> Vec<u8> {
        let mut all = vec![0; self.num_blocks() * BLOCK];
        self.copy_to(&mut all);
        all
    }

    /// Copies all entries.
    pub(super) fn copy_to(&self, all: &mut [u8]) {
        for (to, from) in all.chunks_mut(PAGE).zip(self.pages.iter()) {
            if let Some(from) = from.get(..to.len()) {
                to.copy_from_slice(from);
            }
        }
    }

    /// A page.
    pub(super) fn page(&self, number: usize) -> Option<&Page> {
        self.pages.get(number)
    }

    /// An entry; `None`, or unreachable, past the end.
    #[inline]
    pub(super) fn entry(&self, at: usize) -> Option<u8> {
        self.pages.get(at / PAGE)?.get(at % PAGE).copied()
    }

    /// Writes an entry. If others share its page, the page is copied first.
    #[inline]
    pub(super) fn set(&mut self, at: usize, port: u8) {
        let is_inside = at < self.num_blocks() * BLOCK;
        let page = self.page_mut(at / PAGE).filter(|_| is_inside);
        if let Some(entry) = page.and_then(|page| page.get_mut(at % PAGE)) {
            *entry = port;
        }
    }

    /// Replaces the entries of one value by another one.
    pub(super) fn replace(&mut self, old: u8, new: u8) {
        for number in 0..self.pages.len() {
            let page = self.pages.get(number);
            if page.is_some_and(|page| page.contains(&old))
                && let Some(page) = self.page_mut(number)
            {
                let entries = page.iter_mut().filter(|entry| **entry == old);
                entries.for_each(|entry| *entry = new);
            }
        }
    }

    /// A page to write. If others share it, it is copied first.
    #[inline]
    fn page_mut(&mut self, number: usize) -> Option<&mut [u8; PAGE]> {
        let page = Arc::make_mut(&mut self.pages).get_mut(number)?;
        Some(Arc::make_mut(page))
    }
}

/// The blocks of a page.
fn blocks_of(page: &Page) -> slice::Iter<'_, [u8; BLOCK]> {
    page.as_chunks().0.iter()
}
