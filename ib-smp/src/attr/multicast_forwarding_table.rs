//! MulticastForwardingTable: one block of a switch's multicast table (IBA vol. 1, 14.2.5.12).
//!
//! A block holds 32 multicast LIDs for 16 ports; the modifier says which of both
//! ([`MftModifier`]). A switch of 36 ports takes three positions for each block.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{Lid, table::Layout, wire_struct};

wire_struct! {
    /// Ports that 32 multicast LIDs go out by, for 16 ports of the switch.
    ///
    /// Source: IBA vol. 1, 14.2.5.12; `attributes.csv`, struct `MulticastForwardingTable`.
    pub struct MulticastForwardingTable("MulticastForwardingTable", 64 bytes) {
        /// Mask for LID 0xC000 + 32 * block + index: bit i is port 16 * position + i.
        port_mask_block, set_port_mask_block: [u16; 32] = 0, 512;
    }
}

impl Attribute for MulticastForwardingTable {
    const ID: AttributeId = AttributeId(0x001B);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

impl MulticastForwardingTable {
    /// Multicast LIDs of a block.
    pub const ENTRIES: u16 = 32;
    /// Ports of a mask.
    pub const PORTS: u8 = 16;

    /// The block that holds `mlid` and the entry in it; `None` for a LID that is not multicast.
    #[inline]
    #[must_use]
    pub const fn block_of(mlid: Lid) -> Option<(u16, usize)> {
        if !mlid.is_multicast() {
            return None;
        }
        let index = mlid.0 & 0x3fff;
        Some((index / Self::ENTRIES, (index % Self::ENTRIES) as usize))
    }
}

/// Attribute modifier of [`MulticastForwardingTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MftModifier {
    /// Group of 16 ports: 16 * position and the 15 that follow; 0..=15.
    pub position: u8,
    /// Block of 32 multicast LIDs: 0xC000 + 32 * block and the 31 that follow; 0..=511.
    pub block: u16,
}

impl MftModifier {
    /// The modifier's 32 bits: bits 31..28 position, bits 8..0 block; the other bits of the two
    /// numbers are dropped.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u32 {
        (self.position as u32) << 28 | (self.block & 0x1ff) as u32
    }

    /// Position and block of a modifier; the bits between them are ignored.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self {
            position: (bits >> 28) as u8,
            block: (bits & 0x1ff) as u16,
        }
    }
}
