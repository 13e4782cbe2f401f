//! The limit per destination, and the requests that wait for it.

use hashbrown::HashTable;

use super::slab::{Fifo, Index, Slab};

#[derive(Debug)]
struct Destination {
    key: u64,
    claimed: u32,
    waiting: Fifo,
}

/// Destinations that have open requests. The table is only looked up, never walked: its order
/// reaches nothing.
#[derive(Debug)]
pub(super) struct Destinations {
    table: HashTable<Destination>,
    limit: u32,
}

impl Destinations {
    pub(super) fn new(limit: u32) -> Self {
        Self {
            table: HashTable::new(),
            limit: limit.max(1),
        }
    }

    /// Takes one of the places of destination `key` for a request; if there is none, the request
    /// joins the destination's queue. Returns whether there was one.
    pub(super) fn claim<C>(&mut self, key: u64, index: Index, slab: &mut Slab<C>) -> bool {
        let destination = self
            .table
            .entry(hash(key), |d| d.key == key, |d| hash(d.key))
            .or_insert(Destination {
                key,
                claimed: 0,
                waiting: Fifo::EMPTY,
            })
            .into_mut();
        if destination.claimed < self.limit {
            destination.claimed = destination.claimed.saturating_add(1);
            return true;
        }
        slab.push_back(&mut destination.waiting, index);
        false
    }

    /// Gives a place of destination `key` back; returns the request that takes it.
    pub(super) fn release<C>(&mut self, key: u64, slab: &mut Slab<C>) -> Option<Index> {
        let mut found = self.table.find_entry(hash(key), |d| d.key == key).ok()?;
        let destination = found.get_mut();
        if let Some(next) = slab.pop(&mut destination.waiting) {
            return Some(next);
        }
        destination.claimed = destination.claimed.saturating_sub(1);
        if destination.claimed == 0 {
            found.remove();
        }
        None
    }

    /// Takes a request out of its destination's queue.
    pub(super) fn leave<C>(&mut self, key: Option<u64>, index: Index, slab: &mut Slab<C>) {
        if let Some(key) = key
            && let Some(destination) = self.table.find_mut(hash(key), |d| d.key == key)
        {
            slab.unlink(&mut destination.waiting, index);
        }
    }
}

/// Fibonacci hashing: spreads LIDs and running numbers; the keys are the caller's own.
fn hash(key: u64) -> u64 {
    let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}
