//! The linear forwarding table of a switch, in blocks that agents of one process can share.
//!
//! In a fat tree of 47,824 LIDs, 3,920 switches hold 2.9 million blocks, and 6,071 of these are different.

use alloc::{sync::Arc, vec::Vec};

use ib_wire::{Lid, PortNum};

use crate::LinearForwardingTable;

/// The block of a table that drops packets to all its LIDs.
const EMPTY: LinearForwardingTable =
    LinearForwardingTable::from_bytes([PortNum::UNREACHABLE.0; 64]);

/// A linear forwarding table. Blocks that drop everything take no memory of their own.
#[derive(Clone, Debug, Default)]
pub(super) struct LinearTable {
    /// By block, up to the last one that was written with a port; `None` for one that drops everything.
    blocks: Vec<Option<Arc<LinearForwardingTable>>>,
}

impl LinearTable {
    /// Output port of packets to a LID; [`PortNum::UNREACHABLE`] if it has none.
    #[inline]
    pub(super) fn port(&self, lid: Lid) -> PortNum {
        let (number, entry) = LinearForwardingTable::block_of(lid);
        let port = self.find(number).and_then(|block| block.port_block(entry));
        port.unwrap_or(PortNum::UNREACHABLE)
    }

    /// All entries by LID, up to the last block that was written with a port.
    pub(super) fn ports(&self) -> impl Iterator<Item = PortNum> + '_ {
        let blocks = self.blocks.iter();
        let blocks = blocks.map(|block| block.as_deref().unwrap_or(&EMPTY).as_bytes());
        blocks.flatten().map(|&port| PortNum(port))
    }

    /// The content of a block.
    pub(super) fn block(&self, number: u16) -> LinearForwardingTable {
        self.find(number).map_or(EMPTY, |block| **block)
    }

    /// Writes a block. `top` is the highest LID that is to have an entry.
    pub(super) fn set(&mut self, number: u16, block: &LinearForwardingTable, top: Lid) {
        let at = usize::from(number);
        let is_empty = *block == EMPTY;
        if self.blocks.len() <= at {
            if is_empty {
                return;
            }
            // A manager raises the top before it fills the table.
            let (last, _) = LinearForwardingTable::block_of(top);
            let len = usize::from(last.max(number)).saturating_add(1);
            self.blocks
                .reserve_exact(len.saturating_sub(self.blocks.len()));
            self.blocks.resize(at.saturating_add(1), None);
        }
        if let Some(entry) = self.blocks.get_mut(at) {
            *entry = (!is_empty).then(|| Arc::new(*block));
        }
    }

    /// Replaces the memory of a block by that which `share` returns for it, if the content is the same.
    pub(super) fn share(
        &mut self,
        number: u16,
        share: impl FnOnce(&Arc<LinearForwardingTable>) -> Arc<LinearForwardingTable>,
    ) {
        if let Some(Some(block)) = self.blocks.get_mut(usize::from(number)) {
            let shared = share(block);
            if shared == *block {
                *block = shared;
            }
        }
    }

    #[inline]
    fn find(&self, number: u16) -> Option<&Arc<LinearForwardingTable>> {
        self.blocks.get(usize::from(number))?.as_ref()
    }
}
