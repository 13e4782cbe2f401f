//! A queue that serves its requesters in turn, so that a flood from one does not delay the others.

use alloc::collections::{BTreeMap, VecDeque};

/// Empty lanes that are kept for reuse; beyond, they are dropped.
const MAX_IDLE_LANES: usize = 256;

/// Capacity of a lane that is kept for reuse; a larger one is dropped when it is empty.
const IDLE_CAPACITY: usize = 8;

/// A first-in, first-out lane for each key, served round robin: each [`pop`](Self::pop) takes one item of the next
/// key that has any.
///
/// Both the whole and each lane are bounded. When the whole is full, an item of a key with a short lane displaces
/// the newest item of the longest lane.
///
/// ```
/// use ib_mad::FairQueue;
///
/// let mut queue = FairQueue::new(100, 10);
/// for item in 0..5 {
///     assert!(queue.push("flood", item).is_none());
/// }
/// assert!(queue.push("other", 77).is_none());
/// assert_eq!(queue.pop(), Some(("flood", 0)));
/// assert_eq!(queue.pop(), Some(("other", 77)));
/// assert_eq!(queue.pop(), Some(("flood", 1)));
/// ```
#[derive(Clone, Debug)]
pub struct FairQueue<K, T> {
    lanes: BTreeMap<K, VecDeque<T>>,
    /// Keys with items, each once; the front is next.
    turns: VecDeque<K>,
    len: usize,
    max: usize,
    max_per_key: usize,
}

impl<K: Copy + Ord, T> FairQueue<K, T> {
    /// An empty queue of at most `max` items, at most `max_per_key` of them of one key.
    #[must_use]
    pub const fn new(max: usize, max_per_key: usize) -> Self {
        Self {
            lanes: BTreeMap::new(),
            turns: VecDeque::new(),
            len: 0,
            max,
            max_per_key,
        }
    }

    /// Number of items.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there is no item.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an item at the end of its key's lane. Returns the item that found no room: this one, or the newest of
    /// a longer lane that it displaced.
    #[must_use]
    pub fn push(&mut self, key: K, item: T) -> Option<(K, T)> {
        let own = self.lanes.get(&key).map_or(0, VecDeque::len);
        if own >= self.max_per_key {
            return Some((key, item));
        }
        let mut displaced = None;
        if self.len >= self.max {
            let longest = self.lanes.iter().max_by_key(|(_, lane)| lane.len());
            match longest.map(|(&longest, lane)| (longest, lane.len())) {
                Some((longest, len)) if len > own.saturating_add(1) => {
                    displaced = self.take(longest, VecDeque::pop_back);
                }
                _ => return Some((key, item)),
            }
        }
        self.insert(key, item, VecDeque::push_back);
        displaced
    }

    /// Puts an item back at the front of its key's lane, whatever the bounds: it was popped and is not finished.
    /// The key's next turn comes after that of all other keys.
    pub fn put_back(&mut self, key: K, item: T) {
        self.insert(key, item, VecDeque::push_front);
    }

    /// Takes the oldest item of the next key.
    pub fn pop(&mut self) -> Option<(K, T)> {
        let key = self.turns.pop_front()?;
        let item = self.take(key, VecDeque::pop_front);
        if self.lanes.get(&key).is_some_and(|lane| !lane.is_empty()) {
            self.turns.push_back(key);
        }
        item
    }

    fn insert(&mut self, key: K, item: T, insert: impl FnOnce(&mut VecDeque<T>, T)) {
        let lane = self.lanes.entry(key).or_default();
        let was_empty = lane.is_empty();
        insert(lane, item);
        self.len = self.len.saturating_add(1);
        if was_empty {
            self.turns.push_back(key);
        }
    }

    /// Takes an item of a lane. Only [`pop`](Self::pop) may leave the lane empty: its key waits for no turn then.
    fn take(&mut self, key: K, take: impl FnOnce(&mut VecDeque<T>) -> Option<T>) -> Option<(K, T)> {
        let lane = self.lanes.get_mut(&key)?;
        let item = take(lane)?;
        self.len = self.len.saturating_sub(1);
        if lane.is_empty() && (lane.capacity() > IDLE_CAPACITY || self.lanes.len() > MAX_IDLE_LANES)
        {
            self.lanes.remove(&key);
        }
        Some((key, item))
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn drain<T>(queue: &mut FairQueue<u16, T>) -> Vec<(u16, T)> {
        core::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn keys_take_turns_and_each_keeps_its_order() {
        let mut queue = FairQueue::new(100, 100);
        for (key, item) in [(7, 0), (7, 1), (7, 2), (3, 3), (3, 4), (9, 5)] {
            assert_eq!(queue.push(key, item), None);
        }
        let order = [(7, 0), (3, 3), (9, 5), (7, 1), (3, 4), (7, 2)];
        assert_eq!(drain(&mut queue), order);
        assert!(queue.is_empty());
    }

    #[test]
    fn one_key_has_its_limit_and_a_full_queue_takes_from_the_longest_lane() {
        let mut queue = FairQueue::new(4, 3);
        for item in 0..3 {
            assert_eq!(queue.push(1, item), None);
        }
        assert_eq!(queue.push(1, 3), Some((1, 3)));
        assert_eq!(queue.push(2, 4), None);
        assert_eq!(queue.push(3, 5), Some((1, 2)));
        assert_eq!(queue.push(4, 6), Some((1, 1)));
        assert_eq!(queue.push(5, 7), Some((5, 7)), "all lanes are as short");
        assert_eq!(drain(&mut queue), [(1, 0), (2, 4), (3, 5), (4, 6)]);
    }

    #[test]
    fn what_is_put_back_comes_first_of_its_key_and_after_the_others() {
        let mut queue = FairQueue::new(8, 8);
        for (key, item) in [(1, 0), (1, 1), (2, 2)] {
            assert_eq!(queue.push(key, item), None);
        }
        let (key, item) = queue.pop().unwrap();
        queue.put_back(key, item);
        assert_eq!(drain(&mut queue), [(2, 2), (1, 0), (1, 1)]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn lanes_of_many_keys_are_dropped() {
        let mut queue = FairQueue::new(10_000, 100);
        for key in 0..5000_u16 {
            assert_eq!(queue.push(key, 0_u32), None);
        }
        assert_eq!((queue.len(), queue.is_empty()), (5000, false));
        assert_eq!(drain(&mut queue).len(), 5000);
        assert_eq!((queue.len(), queue.is_empty()), (0, true));
        assert_eq!(queue.lanes.len(), MAX_IDLE_LANES);
    }

    #[test]
    fn a_lane_is_kept_for_reuse_unless_it_had_many_items() {
        for (items, kept) in [(1, true), (8, true), (9, false), (100, false)] {
            let mut queue = FairQueue::new(100, 100);
            for item in 0..items {
                assert_eq!(queue.push(5, item), None);
            }
            let popped: Vec<_> = drain(&mut queue).iter().map(|&(_, item)| item).collect();
            assert_eq!(
                popped,
                (0..items).collect::<Vec<_>>(),
                "in order, none lost"
            );
            assert_eq!(queue.lanes.contains_key(&5), kept, "{items} items");
        }
    }
}
