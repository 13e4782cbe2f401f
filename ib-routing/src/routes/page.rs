//! Pages of forwarding tables: the memory that tables share.
//!
//! Most pages of a large fabric are equal to the same page of other switches: of the tables of 47,824 LIDs, 188 MB,
//! 11 MB are distinct.

use alloc::{collections::BTreeMap, sync::Arc, vec, vec::Vec};
use core::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use ib_wire::PortNum;

use crate::algo::parallel;

/// LIDs in one block of a forwarding table, which is what one SMP writes.
pub(super) const BLOCK: usize = 64;

/// Blocks in one page. Of smaller pages more are equal, but each needs a pointer in every table.
pub(super) const BLOCKS: usize = 16;

/// LIDs in one page.
pub(super) const PAGE: usize = BLOCKS * BLOCK;

/// The entries of 1,024 LIDs. Those past the end of a table are unreachable.
pub(super) type Page = Arc<[u8; PAGE]>;

/// A page of no reachable LID.
pub(super) fn unreachable() -> Page {
    Arc::new([PortNum::UNREACHABLE.0; PAGE])
}

/// Number of pages of a pool below which none are looked for that only the pool holds.
const FEW: usize = 1024;

/// The different pages of tables that are read from switches, so that each is once in memory.
#[derive(Clone, Debug, Default)]
pub struct PagePool {
    /// By the hash of their entries. Of unequal pages with the same hash the first one is here.
    pages: BTreeMap<u64, Page>,
    /// Number of pages from which on those that only the pool holds are removed.
    limit: usize,
}

impl PagePool {
    /// Replaces a page by the one of the pool that is equal to it, or adds it to the pool.
    pub(super) fn merge(&mut self, page: &mut Page) {
        let hash = FixedState::default().hash_one(page.as_slice());
        if let Some(found) = self.pages.get(&hash) {
            if found == page {
                *page = Arc::clone(found);
            }
            return;
        }
        if self.pages.len() >= self.limit {
            self.pages.retain(|_, page| Arc::strong_count(page) > 1);
            // To look for pages only at twice the number costs little for each page.
            self.limit = self.pages.len().max(FEW).saturating_mul(2);
        }
        self.pages.insert(hash, Arc::clone(page));
    }
}

/// Copies the same page of `count` tables, of which `entries` returns each: at most 1,024 entries. Equal pages become one
/// piece of memory. The result does not depend on the number of threads.
pub(super) fn merge<'a>(
    threads: usize,
    count: usize,
    entries: impl Fn(usize) -> &'a [u8] + Sync + Send,
) -> Vec<Page> {
    let hasher = FixedState::default();
    let hashes = parallel::map_many(threads, count, |table| {
        parallel::count(BLOCKS);
        hasher.hash_one(entries(table))
    });
    merge_hashed(threads, &hashes, entries)
}

/// As [`merge`], with the hash of each page.
fn merge_hashed<'a>(
    threads: usize,
    hashes: &[u64],
    entries: impl Fn(usize) -> &'a [u8] + Sync + Send,
) -> Vec<Page> {
    let count = hashes.len();
    let first = first_of_hash(threads, hashes);
    let copies = parallel::map_many(threads, count, |table| {
        parallel::count(BLOCKS);
        let own = entries(table);
        let first = first.get(table).copied().filter(|&first| first != table);
        // Unequal pages with the same hash are rare, so there each has a copy.
        let is_equal = first.is_some_and(|first| own == entries(first));
        (!is_equal).then(|| copy(own))
    });
    parallel::count(count / BLOCKS);
    let mut pages: Vec<Page> = Vec::with_capacity(count);
    for (copy, first) in copies.into_iter().zip(first) {
        // The first page of a hash has a copy, and comes before those that are equal to it.
        let page = copy.or_else(|| pages.get(first).cloned());
        pages.extend(page);
    }
    pages
}

/// For each table the first one whose page has the same hash.
fn first_of_hash(threads: usize, hashes: &[u64]) -> Vec<usize> {
    // Each thread looks at all hashes, and finds the first tables of its share of them.
    let parts = parallel::workers(threads, hashes.len());
    let found = parallel::map(threads, parts, |part| {
        let tables = hashes.iter().copied().zip(0_usize..);
        let tables = tables.filter(|(hash, _)| part_of(*hash, parts) == part);
        let mut first: HashTable<(u64, usize)> = HashTable::new();
        let found = tables.map(|(hash, table)| {
            parallel::count(1);
            let known = first.entry(hash, |&(other, _)| other == hash, |&(other, _)| other);
            let &(_, first) = known.or_insert((hash, table)).get();
            (table, first)
        });
        found.collect::<Vec<_>>()
    });
    parallel::count(hashes.len() / BLOCKS);
    let mut first = vec![0; hashes.len()];
    for (table, found) in found.into_iter().flatten() {
        if let Some(first) = first.get_mut(table) {
            *first = found;
        }
    }
    first
}

/// The one of so many equal parts of all hashes in which a hash is.
const fn part_of(hash: u64, parts: usize) -> usize {
    (((hash >> 32) * parts as u64) >> 32) as usize
}

/// A page with these entries.
fn copy(entries: &[u8]) -> Page {
    let mut page = [PortNum::UNREACHABLE.0; PAGE];
    for (to, &from) in page.iter_mut().zip(entries) {
        *to = from;
    }
    Arc::new(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_pages_are_one_piece_of_memory_on_any_number_of_threads() {
        // Tables of 80 entries, three of each kind.
        let tables: Vec<[u8; 80]> = (0..100).map(|table| [table / 3; 80]).collect();
        let merge = |threads| super::merge(threads, tables.len(), |at| tables.get(at).unwrap());
        for pages in [merge(1), merge(2)] {
            assert_eq!(pages.len(), tables.len());
            for (page, table) in pages.iter().zip(&tables) {
                assert_eq!(
                    (&page[..80], page[80]),
                    (&table[..], PortNum::UNREACHABLE.0)
                );
            }
            for (at, page) in pages.iter().enumerate() {
                let same = pages
                    .iter()
                    .filter(|other| Arc::ptr_eq(page, other))
                    .count();
                assert_eq!(same, if at == 99 { 1 } else { 3 });
            }
        }
    }

    #[test]
    fn tables_are_grouped_by_the_hash_of_their_pages() {
        let hashes = [7, 8, 7, 9, 8, 7];
        for threads in [1, 2] {
            assert_eq!(first_of_hash(threads, &hashes), [0, 1, 0, 3, 1, 0]);
        }
    }

    #[test]
    fn a_pool_has_equal_pages_once_and_forgets_those_that_nobody_else_holds() {
        let mut pool = PagePool::default();
        let page = |value| Arc::new([value; PAGE]);
        let (mut first, mut second, mut other) = (page(1), page(1), page(2));
        for page in [&mut first, &mut second, &mut other] {
            pool.merge(page);
        }
        assert!(Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &other));
        assert_eq!((first[0], other[0]), (1, 2));
        for number in 0..10 * FEW {
            let mut page = [0; PAGE];
            page[..2].copy_from_slice(&(number as u16).to_be_bytes());
            pool.merge(&mut Arc::new(page));
        }
        assert!(pool.pages.len() <= 2 * FEW);
        let mut third = page(1);
        pool.merge(&mut third);
        assert!(Arc::ptr_eq(&first, &third));
    }

    #[test]
    fn unequal_pages_with_the_same_hash_stay_apart() {
        let tables = [[1; 64], [2; 64], [2; 64], [1; 64]];
        let pages = merge_hashed(1, &[7; 4], |at| tables.get(at).unwrap());
        let firsts: Vec<u8> = pages.iter().map(|page| page[0]).collect();
        assert_eq!(firsts, [1, 2, 2, 1]);
        assert!(Arc::ptr_eq(&pages[0], &pages[3]));
    }
}
