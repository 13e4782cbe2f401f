//! LinearForwardingTable: one block of a switch's unicast table (IBA vol. 1, 14.2.5.10).
//!
//! The modifier is the block's number: block b holds LIDs 64 b to 64 b + 63. Entries above
//! SwitchInfo.LinearFDBTop are not used: raise the top before they can work.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{Lid, PortNum, table::Layout, wire_struct};

wire_struct! {
    /// Output ports of 64 LIDs.
    ///
    /// Source: IBA vol. 1, 14.2.5.10; `attributes.csv`, struct `LinearForwardingTable`.
    pub struct LinearForwardingTable("LinearForwardingTable", 64 bytes) {
        /// Port for LID 64 * block + index; 255 drops.
        port_block, set_port_block: [PortNum; 64] = 0, 512;
    }
}

impl Attribute for LinearForwardingTable {
    const ID: AttributeId = AttributeId(0x0019);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

impl LinearForwardingTable {
    /// Entries of a block.
    pub const ENTRIES: u16 = 64;
    /// Blocks that hold unicast LIDs: 0..=767.
    pub const BLOCKS: u16 = 768;

    /// The block that holds `lid`, which is also the attribute modifier, and the entry in it.
    #[inline]
    #[must_use]
    pub const fn block_of(lid: Lid) -> (u16, usize) {
        (lid.0 / Self::ENTRIES, (lid.0 % Self::ENTRIES) as usize)
    }
}
