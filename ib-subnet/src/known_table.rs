//! A table of 64-byte blocks in a device, as far as it has been read or written.

use alloc::vec::Vec;

/// A table of blocks in a device. A block that was never read or written is unknown, which differs from a block
/// of zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownTable {
    blocks: Vec<Option<[u8; 64]>>,
}

impl KnownTable {
    /// The content of a block in the device; `None` if it is unknown.
    #[must_use]
    pub fn block(&self, block: u16) -> Option<&[u8; 64]> {
        self.blocks.get(usize::from(block))?.as_ref()
    }

    /// Whether no block is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.iter().all(Option::is_none)
    }

    /// The known blocks with their numbers, in order.
    pub fn blocks(&self) -> impl Iterator<Item = (u16, &[u8; 64])> {
        let numbered = (0..=u16::MAX).zip(&self.blocks);
        numbered.filter_map(|(block, bytes)| Some((block, bytes.as_ref()?)))
    }

    /// Reserves memory for the blocks up to `last`.
    pub fn reserve(&mut self, last: u16) {
        let needed = usize::from(last).saturating_add(1);
        let missing = needed.saturating_sub(self.blocks.len());
        self.blocks.reserve_exact(missing);
    }

    /// Records the content of a block in the device.
    pub fn set(&mut self, block: u16, bytes: [u8; 64]) {
        let index = usize::from(block);
        if self.blocks.len() <= index {
            self.blocks.resize(index.saturating_add(1), None);
        }
        if let Some(known) = self.blocks.get_mut(index) {
            *known = Some(bytes);
        }
    }

    /// Makes a block unknown again, for example after a Set without a response, which may or may not have
    /// arrived.
    pub fn forget(&mut self, block: u16) {
        if let Some(known) = self.blocks.get_mut(usize::from(block)) {
            *known = None;
        }
    }
}
