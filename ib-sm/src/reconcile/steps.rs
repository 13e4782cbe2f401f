//! The steps of a stage, in the order in which they are made.

use alloc::{collections::VecDeque, vec::Vec};

use ib_subnet::{Block, NodeId};

use super::lft_block;

/// One action for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Reads the block: its content is unknown, and a previous manager may have written the desired content
    /// already.
    Read(Block),
    /// Writes the block.
    Set(Block),
}

/// The steps of a stage that have not been made yet. Taking one out is the iterator's `next`.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    listed: VecDeque<Step>,
    /// Writes of forwarding tables, after the listed steps. In a large subnet there are millions.
    tables: VecDeque<TableWrites>,
    /// Number of blocks in `tables`.
    num_blocks: usize,
}

impl Steps {
    pub(crate) fn len(&self) -> usize {
        self.listed.len().saturating_add(self.num_blocks)
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.listed.push_back(step);
    }

    /// Adds the steps of another stage, before the writes of forwarding tables.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.listed.append(&mut other.listed);
        self.tables.append(&mut other.tables);
        self.num_blocks = self.num_blocks.saturating_add(other.num_blocks);
    }

    /// Adds writes of forwarding tables, after all that are there.
    pub(crate) fn push_tables(&mut self, writes: TableWrites) {
        let blocks = writes.switches.iter().flat_map(|(_, blocks)| &blocks.0);
        let added: usize = blocks.map(|word| word.count_ones() as usize).sum();
        if added > 0 {
            self.num_blocks = self.num_blocks.saturating_add(added);
            self.tables.push_back(writes);
        }
    }
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if let Some(step) = self.listed.pop_front() {
            return Some(step);
        }
        while let Some(group) = self.tables.front_mut() {
            if let Some(block) = group.pop() {
                self.num_blocks = self.num_blocks.saturating_sub(1);
                return Some(Step::Set(block));
            }
            self.tables.pop_front();
        }
        None
    }
}

impl From<VecDeque<Step>> for Steps {
    fn from(listed: VecDeque<Step>) -> Self {
        Self {
            listed,
            ..Self::default()
        }
    }
}

impl FromIterator<Step> for Steps {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        VecDeque::from_iter(steps).into()
    }
}

/// Writes of the forwarding tables of some switches: of all of them the first block, then of all of them the second,
/// so that no switch gets all its blocks at once. Each write takes one bit.
#[derive(Debug, Default)]
pub(crate) struct TableWrites {
    /// The switches with the blocks that are to be written.
    switches: Vec<(NodeId, BlockSet)>,
    /// The blocks that are to be written to any of the switches.
    blocks: BlockSet,
    /// Index of the switch whose turn it is.
    turn: usize,
}

impl TableWrites {
    /// Adds a switch with the numbers of its blocks.
    pub(crate) fn push(&mut self, node: NodeId, numbers: impl Iterator<Item = u16>) {
        let mut blocks = BlockSet::default();
        for block in numbers {
            blocks.insert(block);
            self.blocks.insert(block);
        }
        self.switches.push((node, blocks));
    }

    fn pop(&mut self) -> Option<Block> {
        while let Some(block) = self.blocks.first() {
            while let Some((node, blocks)) = self.switches.get_mut(self.turn) {
                self.turn = self.turn.saturating_add(1);
                if blocks.remove(block) {
                    return Some(lft_block(*node, block));
                }
            }
            self.blocks.remove(block);
            self.turn = 0;
        }
        None
    }
}

/// A set of block numbers: bit n of word w is set if block 64 w + n is a member.
#[derive(Debug, Default)]
struct BlockSet(Vec<u64>);

impl BlockSet {
    fn first(&self) -> Option<u16> {
        let mut words = (0..=u16::MAX).step_by(64).zip(&self.0);
        let (first, word) = words.find(|&(_, &word)| word != 0)?;
        Some(first | word.trailing_zeros() as u16)
    }

    fn insert(&mut self, block: u16) {
        let word = usize::from(block >> 6);
        if self.0.len() <= word {
            self.0.resize(word.saturating_add(1), 0);
        }
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit(block);
        }
    }

    /// Takes a block out. Returns whether it was there.
    fn remove(&mut self, block: u16) -> bool {
        let word = self.0.get_mut(usize::from(block >> 6));
        word.is_some_and(|word| core::mem::replace(word, *word & !bit(block)) & bit(block) != 0)
    }
}

/// The bit of a block in its word.
const fn bit(block: u16) -> u64 {
    1_u64.wrapping_shl(block as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_gives_its_blocks_in_order_and_each_is_removed_once() {
        let mut set = BlockSet::default();
        for block in [129, 64, 3, 0] {
            set.insert(block);
        }
        assert!(!set.remove(4) && !set.remove(65) && !set.remove(1000));
        for block in [0, 3, 64, 129] {
            assert_eq!(set.first(), Some(block));
            assert!(set.remove(block));
            assert!(!set.remove(block));
        }
        assert_eq!(set.first(), None);
    }
}
