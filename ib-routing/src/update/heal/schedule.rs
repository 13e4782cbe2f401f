//! Turns entries into writes: the entries of one block are grouped by switch, in an order that places each after the
//! one that it waits for.

use alloc::{collections::VecDeque, vec, vec::Vec};
use core::ops::Range;

use super::{HealedEntry, Healing, HealingWrite, broken::Found};
use crate::{
    index::SwitchIdx,
    update::{BLOCK, BlockRef},
};

/// Marks an entry that is in no write yet, or the end of a list.
const NONE: usize = usize::MAX;

/// The writes of the blocks so far.
#[derive(Default)]
pub(super) struct Schedule {
    pub(super) healing: Healing,
}

/// The entries of one switch in the block.
struct Group {
    switch: SwitchIdx,
    entries: Range<usize>,
    /// Number of entries that are in no write yet.
    left: usize,
    /// Number of those entries that wait for no other.
    ready: usize,
    last_write: Option<usize>,
}

/// The entries of one block while they are put in order.
struct Block {
    entries: Vec<Found>,
    groups: Vec<Group>,
    group_of: Vec<usize>,
    /// The entry that each one waits for.
    waits_for: Vec<usize>,
    /// The first entry that waits for each entry, and the next entry that waits for the same one.
    first_waiting: Vec<usize>,
    next_waiting: Vec<usize>,
    /// The write of each entry.
    write: Vec<usize>,
}

impl Schedule {
    /// Makes writes of the entries of one block, and empties the list.
    pub(super) fn close_block(&mut self, found: &mut Vec<Found>) {
        if found.is_empty() {
            return;
        }
        let mut block = Block::new(core::mem::take(found));
        let mut complete: VecDeque<usize> = (0..block.groups.len())
            .filter(|&at| block.is_complete(at))
            .collect();
        while let Some(at) = complete.pop_front().or_else(|| block.most_ready()) {
            let written = self.write(&mut block, at);
            for entry in written {
                complete.extend(block.release(entry));
            }
        }
        let Block { entries, write, .. } = block;
        let written = entries.iter().zip(write);
        self.healing
            .entries
            .extend(written.map(|(found, write)| HealedEntry {
                switch: found.switch,
                lid: found.lid,
                port: found.port,
                write,
            }));
        *found = entries;
        found.clear();
    }

    /// Adds a write of all entries of a switch that wait for none, and returns them.
    fn write(&mut self, block: &mut Block, at: usize) -> Vec<usize> {
        let number = self.healing.writes.len();
        let base = self.healing.entries.len();
        let Some(group) = block.groups.get_mut(at) else {
            return Vec::new();
        };
        let mut after: Vec<usize> = group.last_write.into_iter().collect();
        let mut written = Vec::new();
        for entry in group.entries.clone() {
            let first = block.waits_for.get(entry).copied().unwrap_or(NONE);
            let first = block.write.get(first).copied();
            let is_ready = first != Some(NONE);
            if let Some(write) = block
                .write
                .get_mut(entry)
                .filter(|write| **write == NONE && is_ready)
            {
                *write = number;
                written.push(entry);
                after.extend(first);
            }
        }
        group.left -= written.len();
        group.ready = 0;
        group.last_write = Some(number);
        after.sort_unstable();
        after.dedup();
        let stages = after
            .iter()
            .filter_map(|&first| self.healing.writes.get(first));
        let stage = stages.map(|write| write.stage + 1).max().unwrap_or(0);
        let start = self.healing.after.len();
        self.healing.after.append(&mut after);
        let lid = block.entries.first().map_or(0, |entry| entry.lid.0);
        self.healing.writes.push(HealingWrite {
            step: BlockRef {
                switch: group.switch,
                block: lid / BLOCK,
            },
            stage,
            entries: base + group.entries.start..base + group.entries.end,
            after: start..self.healing.after.len(),
        });
        written
    }
}

impl Block {
    fn new(mut entries: Vec<Found>) -> Self {
        entries.sort_unstable_by_key(|entry| (entry.switch, entry.lid));
        let count = entries.len();
        let mut block = Self {
            groups: Vec::new(),
            group_of: Vec::with_capacity(count),
            waits_for: vec![NONE; count],
            first_waiting: vec![NONE; count],
            next_waiting: vec![NONE; count],
            write: vec![NONE; count],
            entries,
        };
        for at in 0..count {
            block.add(at);
        }
        block
    }

    /// Puts an entry into its group, and into the list of the one that it waits for.
    fn add(&mut self, at: usize) {
        let Some(&entry) = self.entries.get(at) else {
            return;
        };
        if self
            .groups
            .last()
            .is_none_or(|group| group.switch != entry.switch)
        {
            self.groups.push(Group {
                switch: entry.switch,
                entries: at..at,
                left: 0,
                ready: 0,
                last_write: None,
            });
        }
        self.group_of.push(self.groups.len() - 1);
        let first = entry.after.and_then(|switch| {
            let key = |entry: &Found| (entry.switch, entry.lid);
            self.entries
                .binary_search_by_key(&(switch, entry.lid), key)
                .ok()
        });
        if let Some(group) = self.groups.last_mut() {
            group.entries.end = at + 1;
            group.left += 1;
            group.ready += usize::from(first.is_none());
        }
        if let Some(first) = first
            && let (Some(waits_for), Some(head), Some(next)) = (
                self.waits_for.get_mut(at),
                self.first_waiting.get_mut(first),
                self.next_waiting.get_mut(at),
            )
        {
            *waits_for = first;
            *next = core::mem::replace(head, at);
        }
    }

    /// Returns true if all remaining entries of a group wait for none.
    fn is_complete(&self, at: usize) -> bool {
        let group = self.groups.get(at);
        group.is_some_and(|group| group.left > 0 && group.ready == group.left)
    }

    /// The group with the most entries that wait for none. If groups wait for each other, one of them has to be written
    /// twice.
    fn most_ready(&self) -> Option<usize> {
        let ready = self.groups.iter().enumerate();
        let ready = ready.filter(|(_, group)| group.ready > 0);
        ready
            .max_by_key(|(at, group)| (group.ready, core::cmp::Reverse(*at)))
            .map(|(at, _)| at)
    }

    /// Records that an entry is written; returns the groups that this completes.
    fn release(&mut self, entry: usize) -> Vec<usize> {
        let mut complete = Vec::new();
        let mut waiting = self.first_waiting.get(entry).copied().unwrap_or(NONE);
        while let Some(&at) = self.group_of.get(waiting) {
            if let Some(group) = self.groups.get_mut(at) {
                group.ready += 1;
            }
            if self.is_complete(at) {
                complete.push(at);
            }
            waiting = self.next_waiting.get(waiting).copied().unwrap_or(NONE);
        }
        complete
    }
}
