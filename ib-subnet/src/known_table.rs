//! A table of 64-byte blocks in a device, as far as it has been read or written.

use alloc::vec::Vec;

use ib_routing::SharedLft;

/// A table of blocks in a device. A block that was never read or written is unknown, which differs from a block
/// of zeros.
#[derive(Clone, Debug, Default)]
pub struct KnownTable {
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Blocks(Vec<Option<[u8; 64]>>),
    /// All blocks of a forwarding table are known, and equal to a row of routes.
    Shared(SharedLft),
}

impl Default for Content {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

impl KnownTable {
    /// The content of a block in the device; `None` if it is unknown.
    #[must_use]
    pub fn block(&self, block: u16) -> Option<&[u8; 64]> {
        let index = usize::from(block);
        match &self.content {
            Content::Blocks(blocks) => blocks.get(index)?.as_ref(),
            Content::Shared(row) => row.as_chunks().0.get(index),
        }
    }

    /// Returns true if no block is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.content {
            Content::Blocks(blocks) => blocks.iter().all(Option::is_none),
            Content::Shared(row) => row.is_empty(),
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
            Content::Shared(own) => own.is_same(row),
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
            self.content = Content::Shared(row.clone());
        }
        is_equal
    }

    /// Reserves memory for the blocks up to `last`.
    pub fn reserve(&mut self, last: u16) {
        let needed = usize::from(last).saturating_add(1);
        if let Content::Blocks(blocks) = &mut self.content {
            blocks.reserve_exact(needed.saturating_sub(blocks.len()));
        }
    }

    /// Records the content of a block in the device.
    pub fn set(&mut self, block: u16, bytes: [u8; 64]) {
        if self.block(block) == Some(&bytes) {
            return;
        }
        let index = usize::from(block);
        let Some(blocks) = self.blocks_mut() else {
            return;
        };
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
        if self.block(block).is_none() {
            return;
        }
        let blocks = self.blocks_mut();
        if let Some(known) = blocks.and_then(|blocks| blocks.get_mut(usize::from(block))) {
            *known = None;
        }
    }

    /// Number of the last known block plus 1, or more.
    fn len(&self) -> usize {
        match &self.content {
            Content::Blocks(blocks) => blocks.len(),
            Content::Shared(row) => row.as_chunks::<64>().0.len(),
        }
    }

    /// The blocks, to write. If they are shared, they are copied.
    fn blocks_mut(&mut self) -> Option<&mut Vec<Option<[u8; 64]>>> {
        if let Content::Shared(row) = &self.content {
            let blocks = row.as_chunks().0.iter().copied().map(Some).collect();
            self.content = Content::Blocks(blocks);
        }
        match &mut self.content {
            Content::Blocks(blocks) => Some(blocks),
            // The content was just replaced.
            Content::Shared(_) => None,
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
