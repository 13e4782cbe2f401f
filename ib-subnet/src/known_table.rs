//! A table of 64-byte blocks in a device, as far as it has been read or written.

use alloc::{boxed::Box, vec, vec::Vec};

use ib_routing::SharedLft;

/// A table of blocks in a device. A block that was never read or written is unknown, which differs from a block
/// of zeros.
#[derive(Clone, Debug)]
pub struct KnownTable {
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Blocks(Vec<Option<[u8; 64]>>),
    Row(Box<RowBlocks>),
}

/// A forwarding table of which every known block is equal to that of a row of routes.
#[derive(Clone, Debug)]
struct RowBlocks {
    row: SharedLft,
    /// By block of the row: true if it is known.
    known: Vec<bool>,
}

impl RowBlocks {
    /// The table of a row; either all blocks are known or none.
    fn new(row: &SharedLft, are_known: bool) -> Self {
        Self {
            row: row.clone(),
            known: vec![are_known; row.as_chunks::<64>().0.len()],
        }
    }

    fn block(&self, block: u16) -> Option<&[u8; 64]> {
        let index = usize::from(block);
        match self.known.get(index) {
            Some(true) => self.row.as_chunks().0.get(index),
            _ => None,
        }
    }

    /// Records that a block is known, if its content is the row's. Returns whether it is.
    fn set(&mut self, block: u16, bytes: &[u8; 64]) -> bool {
        let index = usize::from(block);
        let is_equal = self.row.as_chunks().0.get(index) == Some(bytes);
        if let Some(known) = self.known.get_mut(index).filter(|_| is_equal) {
            *known = true;
        }
        is_equal
    }
}

impl Default for KnownTable {
    fn default() -> Self {
        Self::new()
    }
}

impl KnownTable {
    /// A table of which no block is known.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            content: Content::Blocks(Vec::new()),
        }
    }

    /// The content of a block in the device; `None` if it is unknown.
    #[must_use]
    pub fn block(&self, block: u16) -> Option<&[u8; 64]> {
        match &self.content {
            Content::Blocks(blocks) => blocks.get(usize::from(block))?.as_ref(),
            Content::Row(row) => row.block(block),
        }
    }

    /// Returns true if no block is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.content {
            Content::Blocks(blocks) => blocks.iter().all(Option::is_none),
            Content::Row(row) => !row.known.contains(&true),
        }
    }

    /// The known blocks with their numbers, in order.
    pub fn blocks(&self) -> impl Iterator<Item = (u16, &[u8; 64])> {
        let numbers = (0..=u16::MAX).take(self.len());
        numbers.filter_map(|block| Some((block, self.block(block)?)))
    }

    /// Returns true if the table is known to be a row of routes because it [shares](Self::share) the row's memory.
    #[must_use]
    pub fn is_shared_with(&self, row: &SharedLft) -> bool {
        match &self.content {
            Content::Blocks(_) => false,
            Content::Row(own) => own.row.is_same(row) && !own.known.contains(&false),
        }
    }

    /// Takes the content from a row of routes, if all its blocks are known and equal to it, so that it is in memory only
    /// once. Returns whether it is.
    pub fn share(&mut self, row: &SharedLft) -> bool {
        if self.is_shared_with(row) {
            return true;
        }
        let (blocks, _) = row.as_chunks();
        let mut both = (0..=u16::MAX).zip(blocks);
        let is_equal = self.len() == blocks.len()
            && both.all(|(number, block)| self.block(number) == Some(block));
        if is_equal {
            self.content = Content::Row(Box::new(RowBlocks::new(row, true)));
        }
        is_equal
    }

    /// Prepares a table of which no block is known for the writes of a row of routes: the blocks that are
    /// [set](Self::set) to what the row says take no memory of their own. A table with known blocks stays as it is.
    pub fn expect(&mut self, row: &SharedLft) {
        if self.is_empty() {
            self.content = Content::Row(Box::new(RowBlocks::new(row, false)));
        }
    }

    /// Records the content of a block in the device.
    pub fn set(&mut self, block: u16, bytes: [u8; 64]) {
        if let Content::Row(row) = &mut self.content
            && row.set(block, &bytes)
        {
            return;
        }
        let index = usize::from(block);
        let Some(blocks) = self.blocks_mut() else {
            return;
        };
        if blocks.is_empty() {
            // Most tables have one block.
            blocks.reserve_exact(index.saturating_add(1));
        }
        if blocks.len() <= index {
            blocks.resize(index.saturating_add(1), None);
        }
        if let Some(known) = blocks.get_mut(index) {
            *known = Some(bytes);
        }
    }

    /// Makes a block unknown again, for example after a Set without a response, which may or may not have
    /// arrived.
    pub fn forget(&mut self, block: u16) {
        match &mut self.content {
            Content::Blocks(blocks) => {
                if let Some(known) = blocks.get_mut(usize::from(block)) {
                    *known = None;
                }
            }
            Content::Row(row) => {
                if let Some(known) = row.known.get_mut(usize::from(block)) {
                    *known = false;
                }
            }
        }
    }

    /// Number of the last known block plus 1, or more.
    fn len(&self) -> usize {
        match &self.content {
            Content::Blocks(blocks) => blocks.len(),
            Content::Row(row) => row.known.len(),
        }
    }

    /// The blocks, to write. Those of a row are copied.
    fn blocks_mut(&mut self) -> Option<&mut Vec<Option<[u8; 64]>>> {
        if let Content::Row(row) = &self.content {
            let numbers = (0..=u16::MAX).take(self.len());
            let blocks = numbers.map(|number| row.block(number).copied()).collect();
            self.content = Content::Blocks(blocks);
        }
        match &mut self.content {
            Content::Blocks(blocks) => Some(blocks),
            // The content was just replaced.
            Content::Row(_) => None,
        }
    }
}

impl PartialEq for KnownTable {
    fn eq(&self, other: &Self) -> bool {
        self.blocks().eq(other.blocks())
    }
}

impl Eq for KnownTable {}

#[cfg(test)]
mod tests {
    use ib_routing::{LidMap, LidOptions, Routes, SwitchIdx, engine, generate::FabricSpec};

    use super::*;

    /// The only row of a fabric with one switch.
    fn row() -> SharedLft {
        let fabric = "fat-tree:radix=4,levels=1".parse::<FabricSpec>().unwrap();
        let fabric = fabric.build().unwrap();
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let mut routes = Routes::new(engine::MINHOP.clone(), &fabric, &lids);
        routes.share();
        routes.shared_lft(SwitchIdx(0)).unwrap().clone()
    }

    #[test]
    fn a_table_shares_a_row_only_if_all_its_blocks_are_known_and_equal() {
        let row = row();
        let block = *row.first_chunk::<64>().unwrap();
        let mut table = KnownTable::default();
        assert!(!table.share(&row));
        table.set(0, [7; 64]);
        assert!(!table.share(&row) && table.block(0) == Some(&[7; 64]));
        table.set(0, block);
        assert!(table.share(&row) && table.is_shared_with(&row));
        assert_eq!(table.block(0), Some(&block));
        assert_eq!(table.blocks().count(), row.len() / 64);
    }

    #[test]
    fn blocks_that_are_set_to_what_a_row_says_share_its_memory() {
        let row = row();
        let block = *row.first_chunk::<64>().unwrap();
        let mut table = KnownTable::default();
        table.expect(&row);
        assert!(table.is_empty() && !table.is_shared_with(&row));
        table.set(0, block);
        assert!(core::ptr::eq(
            table.block(0).unwrap(),
            row.first_chunk().unwrap()
        ));
        assert!(table.is_shared_with(&row));
        table.forget(0);
        assert!(table.is_empty() && table.block(0).is_none());
        table.set(0, [7; 64]);
        assert_eq!(table.block(0), Some(&[7; 64]));
        // A table with known blocks stays as it is.
        table.expect(&row);
        assert_eq!(table.block(0), Some(&[7; 64]));
        assert_eq!(table.blocks().count(), 1);
    }

    #[test]
    fn a_shared_table_stops_sharing_when_it_changes() {
        let row = row();
        let block = *row.first_chunk::<64>().unwrap();
        let mut table = KnownTable::default();
        table.set(0, block);
        assert!(table.share(&row));
        table.set(0, block);
        assert!(table.is_shared_with(&row));
        let mut forgotten = table.clone();
        forgotten.forget(0);
        assert!(forgotten.is_empty() && !forgotten.is_shared_with(&row));
        table.set(1, [9; 64]);
        assert!(!table.is_shared_with(&row));
        assert_eq!(
            (table.block(0), table.block(1)),
            (Some(&block), Some(&[9; 64]))
        );
    }
}
