//! A table of 64-byte blocks in a device, as far as it has been read or written.

use alloc::{boxed::Box, collections::BTreeMap, vec, vec::Vec};

use ib_routing::{PagePool, SharedLft};

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

/// The part of all blocks, as its reciprocal, that may differ from the row before the table takes memory for all its
/// blocks.
const FEW: usize = 8;

/// A forwarding table of which most known blocks are those of a row, either of routes or of its own.
#[derive(Clone, Debug)]
struct RowBlocks {
    row: SharedLft,
    /// By block of the row: true if it is known.
    known: Vec<bool>,
    /// Number of blocks of the row that are not known.
    unknown: usize,
    /// The known blocks that differ from the row: while a failure is healed, most of a table stays as it is.
    others: BTreeMap<u16, [u8; 64]>,
}

impl RowBlocks {
    /// The table of a row; either all blocks are known or none.
    fn new(row: &SharedLft, are_known: bool) -> Self {
        let blocks = row.num_blocks();
        Self {
            row: row.clone(),
            known: vec![are_known; blocks],
            unknown: if are_known { 0 } else { blocks },
            others: BTreeMap::new(),
        }
    }

    fn block(&self, block: u16) -> Option<&[u8; 64]> {
        let index = usize::from(block);
        if !*self.known.get(index)? {
            return None;
        }
        if !self.others.is_empty()
            && let Some(other) = self.others.get(&block)
        {
            return Some(other);
        }
        self.row.block(block)
    }

    /// Records the content of a block. Returns false if there is no room for it beside a row that others share.
    fn set(&mut self, block: u16, bytes: &[u8; 64]) -> bool {
        let index = usize::from(block);
        let mut is_equal = self.row.block(block) == Some(bytes);
        if !is_equal && !self.row.has_clones() {
            is_equal = self.row.set_block(block, bytes);
        }
        if is_equal {
            self.others.remove(&block);
        } else {
            let has_room = self.others.len() < self.known.len() / FEW;
            if index >= self.known.len() || !has_room {
                return false;
            }
            self.others.insert(block, *bytes);
        }
        if let Some(known) = self.known.get_mut(index)
            && !core::mem::replace(known, true)
        {
            self.unknown = self.unknown.saturating_sub(1);
        }
        true
    }

    /// Makes a block unknown.
    fn forget(&mut self, block: u16) {
        self.others.remove(&block);
        if let Some(known) = self.known.get_mut(usize::from(block))
            && core::mem::replace(known, false)
        {
            self.unknown = self.unknown.saturating_add(1);
        }
    }

    /// Lets the page of a block share the memory of an equal page of a pool, if all its blocks are known.
    fn merge_page(&mut self, block: u16, pool: &mut PagePool) {
        let page = SharedLft::page_of(block);
        let known = usize::from(page.start)..usize::from(page.end).min(self.known.len());
        let known = self.known.get(known).unwrap_or_default();
        // A row of routes has no page twice already.
        if known.iter().all(|known| *known) && !self.row.has_clones() {
            self.row.merge_page(block, pool);
        }
    }

    /// Returns true if all blocks are known and equal to the row.
    fn is_row(&self) -> bool {
        self.unknown == 0 && self.others.is_empty()
    }

    /// Returns true if all blocks are known and equal to those of another row.
    fn is_equal_to(&self, row: &SharedLft) -> bool {
        if self.unknown > 0 || self.row.num_blocks() != row.num_blocks() {
            return false;
        }
        let is_equal = |number: u16| self.block(number) == row.block(number);
        match self.row.changed_blocks(row) {
            // The two rows are equal elsewhere, so only the blocks that differ from the own row are left.
            Some(mut changed) => changed.all(is_equal) && self.others.keys().copied().all(is_equal),
            None => (0..=u16::MAX).take(row.num_blocks()).all(is_equal),
        }
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
            Content::Row(row) => row.unknown >= row.known.len(),
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
            Content::Row(own) => own.is_row() && own.row.is_same(row),
        }
    }

    /// The row in whose memory all of the table is, so that routes can share it; `None` if a block is unknown or differs
    /// from the row.
    #[must_use]
    pub fn shared_row(&self) -> Option<&SharedLft> {
        match &self.content {
            Content::Blocks(_) => None,
            Content::Row(own) => own.is_row().then_some(&own.row),
        }
    }

    /// Takes the content from a row of routes, if all its blocks are known and equal to it, so that it is in memory only
    /// once. Returns whether it is.
    pub fn share(&mut self, row: &SharedLft) -> bool {
        if self.is_shared_with(row) {
            return true;
        }
        let is_equal = match &self.content {
            Content::Row(own) => own.is_equal_to(row),
            Content::Blocks(own) => {
                let mut both = own.iter().zip(row.blocks());
                own.len() == row.num_blocks()
                    && both.all(|(own, block)| own.as_ref() == Some(block))
            }
        };
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

    /// Reserves the memory of a forwarding table of so many blocks, if no block of it is known. Once all its blocks are
    /// [set](Self::set), routes can [share](Self::shared_row) it.
    pub(crate) fn reserve_row(&mut self, blocks: u16) {
        // A table that expects a row has its memory.
        if matches!(self.content, Content::Blocks(_)) {
            self.expect(&SharedLft::unreachable(blocks));
        }
    }

    /// Lets the blocks of the same page as a block, 1,024 LIDs of a forwarding table, share the memory of an equal page of a
    /// pool, if the memory is [reserved](Self::reserve_row) and all of them are known.
    pub(crate) fn merge_page(&mut self, block: u16, pool: &mut PagePool) {
        if let Content::Row(row) = &mut self.content {
            row.merge_page(block, pool);
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
            Content::Row(row) => row.forget(block),
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
    use ib_wire::{Lid, PortNum};

    use super::*;

    /// The only row of a fabric with one switch.
    fn row() -> SharedLft {
        let fabric = "fat-tree:radix=4,levels=1".parse::<FabricSpec>().unwrap();
        let fabric = fabric.build().unwrap();
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let mut routes = Routes::new(engine::MINHOP.clone(), &fabric, &lids);
        routes.share(1);
        routes.shared_lft(SwitchIdx(0)).unwrap().clone()
    }

    #[test]
    fn a_table_shares_a_row_only_if_all_its_blocks_are_known_and_equal() {
        let row = row();
        let block = *row.block(0).unwrap();
        let mut table = KnownTable::default();
        assert!(!table.share(&row));
        table.set(0, [7; 64]);
        assert!(!table.share(&row) && table.block(0) == Some(&[7; 64]));
        table.set(0, block);
        assert!(table.share(&row) && table.is_shared_with(&row));
        assert_eq!(table.block(0), Some(&block));
        assert_eq!(table.blocks().count(), row.num_blocks());
    }

    #[test]
    fn blocks_that_are_set_to_what_a_row_says_share_its_memory() {
        let row = row();
        let block = *row.block(0).unwrap();
        let mut table = KnownTable::default();
        table.expect(&row);
        assert!(table.is_empty() && !table.is_shared_with(&row));
        table.set(0, block);
        assert!(core::ptr::eq(
            table.block(0).unwrap(),
            row.block(0).unwrap()
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
    fn blocks_that_differ_from_a_row_are_kept_beside_it() {
        let spec = "fat-tree:radix=32,levels=2".parse::<FabricSpec>().unwrap();
        let fabric = spec.build().unwrap();
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let mut routes = Routes::new(engine::MINHOP.clone(), &fabric, &lids);
        routes.share(1);
        let row = routes.shared_lft(SwitchIdx(0)).unwrap().clone();
        let mut table = KnownTable::default();
        table.expect(&row);
        let blocks: Vec<_> = row.blocks().copied().collect();
        for (number, block) in (0..).zip(blocks.iter().copied()) {
            table.set(number, block);
        }
        assert!(table.shared_row().is_some_and(|own| own.is_same(&row)));
        let after = {
            let mut after = routes.clone();
            after.set_port(SwitchIdx(0), Lid(70), PortNum(9));
            after.shared_lft(SwitchIdx(0)).unwrap().clone()
        };
        assert!(!table.share(&after));
        table.set(1, *after.block(1).unwrap());
        assert!(table.shared_row().is_none() && !table.is_shared_with(&row));
        assert_eq!(table.block(1), after.block(1));
        assert!(table.block(2) == Some(&blocks[2]) && table.blocks().count() == blocks.len());
        let mut forgotten = table.clone();
        forgotten.forget(1);
        assert!(forgotten.block(1).is_none() && !forgotten.share(&after));
        forgotten.set(1, blocks[1]);
        assert!(forgotten.is_shared_with(&row));
        assert!(table.share(&after) && table.is_shared_with(&after));
        // Many other blocks take memory for all.
        for number in 0..blocks.len() as u16 {
            table.set(number, [7; 64]);
        }
        assert!(table.blocks().all(|(_, block)| *block == [7; 64]));
        assert!(table.blocks().count() == blocks.len() && !table.share(&after));
    }

    #[test]
    fn routes_share_the_memory_of_a_table_that_was_read() {
        let mut table = KnownTable::default();
        table.reserve_row(2);
        assert!(table.is_empty() && table.blocks().count() == 0);
        table.set(1, [7; 64]);
        // More blocks than were announced.
        let mut longer = table.clone();
        longer.set(2, [8; 64]);
        assert_eq!(longer.blocks().count(), 2);
        assert_eq!((table.block(0), table.block(1)), (None, Some(&[7; 64])));
        table.reserve_row(2);
        assert_eq!(table.block(1), Some(&[7; 64]));
        assert!(table.shared_row().is_none());
        table.set(0, [6; 64]);
        let row = table.shared_row().unwrap().clone();
        assert!(table.is_shared_with(&row) && row.block(0) == Some(&[6; 64]));
        // What the table holds later leaves the row of routes as it is.
        table.set(0, [5; 64]);
        assert_eq!(
            (table.block(0), row.block(0)),
            (Some(&[5; 64]), Some(&[6; 64]))
        );
        assert!(table.shared_row().is_none());
    }

    #[test]
    fn pages_that_are_read_are_once_in_memory() {
        let mut pool = PagePool::default();
        let mut read = |blocks: [u8; 20]| {
            let mut table = KnownTable::default();
            table.reserve_row(20);
            for (number, block) in (0..).zip(blocks) {
                table.set(number, [block; 64]);
                table.merge_page(number, &mut pool);
            }
            table
        };
        let mut other = [3; 20];
        other[17] = 4;
        let tables = [read([3; 20]), read([3; 20]), read(other)];
        let block = |table: usize, block| core::ptr::from_ref(tables[table].block(block).unwrap());
        assert!([1, 2].iter().all(|&table| block(table, 15) == block(0, 15)));
        assert!(block(1, 16) == block(0, 16) && block(2, 16) != block(0, 16));
        assert_eq!(tables[2].block(17), Some(&[4; 64]));
        // A write leaves the other tables as they are.
        let mut written = tables[0].clone();
        written.set(2, [9; 64]);
        assert_eq!(
            (written.block(2), tables[1].block(2)),
            (Some(&[9; 64]), Some(&[3; 64]))
        );
    }

    #[test]
    fn a_shared_table_stops_sharing_when_it_changes() {
        let row = row();
        let block = *row.block(0).unwrap();
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
