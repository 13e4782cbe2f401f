//! Pages of forwarding tables: the memory that tables share.
//!
//! Most pages of a large fabric are equal to the same page of other switches: of the tables of 47,824 LIDs, 188 MB,
//! 11 MB are distinct.

use alloc::{sync::Arc, vec, vec::Vec};
use core::hash::BuildHasher;

use foldhash::fast::FixedState;
use ib_wire::PortNum;

use crate::algo::parallel;

/// LIDs in one block of a forwarding table, which is what one SMP writes.
pub(super) const BLOCK: usize = 64;

/// Blocks in one page. Of smaller pages more are equal, but each needs a pointer in every table.
pub(super) const BLOCKS: usize = 16;

/// LIDs in one page.
pub(super) const PAGE: usize = BLOCKS * BLOCK;

/// Parts into which the pages of all switches are divided to find equal ones on several threads.
const PARTS: usize = 32;

/// The entries of 1,024 LIDs. Those past the end of a table are unreachable.
pub(super) type Page = Arc<[u8; PAGE]>;

/// A page of no reachable LID.
pub(super) fn unreachable() -> Page {
    Arc::new([PortNum::UNREACHABLE.0; PAGE])
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
    // Equal pages have equal hashes, so they are in the same part.
    let parts = if threads == 1 { 1 } else { PARTS };
    let merged = parallel::map(threads, parts, |part| {
        let tables = hashes.iter().copied().zip(0..);
        let tables = tables.filter(|(hash, _)| *hash as usize % parts == part);
        merge_part(tables.collect(), &entries)
    });
    parallel::count(count / BLOCKS);
    let mut pages = vec![None; count];
    for (table, page) in merged.into_iter().flatten() {
        if let Some(entry) = pages.get_mut(table) {
            *entry = Some(page);
        }
    }
    // Each table is in one part.
    pages.into_iter().flatten().collect()
}

/// Merges the pages of some tables, each with the hash of its entries.
fn merge_part<'a>(
    mut tables: Vec<(u64, usize)>,
    entries: &impl Fn(usize) -> &'a [u8],
) -> Vec<(usize, Page)> {
    parallel::count(tables.len() * BLOCKS);
    tables.sort_unstable();
    let mut pages = Vec::with_capacity(tables.len());
    for alike in tables.chunk_by(|(one, _), (other, _)| one == other) {
        // Unequal pages with the same hash are rare: each equal to the last one but one is copied once more.
        let mut last: Option<(&[u8], Page)> = None;
        for &(_, table) in alike {
            let own = entries(table);
            let page = match &last {
                Some((other, page)) if *other == own => Arc::clone(page),
                _ => copy(own),
            };
            pages.push((table, Arc::clone(&page)));
            last = Some((own, page));
        }
    }
    pages
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
    fn unequal_pages_with_the_same_hash_stay_apart() {
        let tables = [[1; 64], [2; 64], [2; 64]];
        let all = (0..3).map(|table| (7, table)).collect();
        let merged = merge_part(all, &|at: usize| tables.get(at).unwrap());
        let pages: Vec<u8> = merged.iter().map(|(_, page)| page[0]).collect();
        assert_eq!(pages, [1, 2, 2]);
        assert!(Arc::ptr_eq(&merged[1].1, &merged[2].1));
    }
}
