//! RandomForwardingTable: unicast entries of a switch that stores (LID, port) pairs (IBA vol. 1,
//! 14.2.5.11).
//!
//! The modifier is the number of a block of 16 entries. Hardly any switch was built with one;
//! SwitchInfo.RandomFDBCap is 0 where there is none.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{Lid, Lmc, PortNum, table::Layout, wire_struct};

wire_struct! {
    /// An entry: the port of one LID, or of 2^LMC LIDs.
    ///
    /// Source: IBA vol. 1, 14.2.5.11; `attributes.csv`, struct `LIDPortBlock`.
    pub struct LidPortBlock("LIDPortBlock", 4 bytes) {
        /// Base LID.
        lid, set_lid: Lid = 0, 16;
        /// True if the entry is used.
        valid, set_valid: bool = 16, 1;
        /// Number of low bits of the LID that are not compared.
        lmc, set_lmc: Lmc = 17, 3;
        #[doc(hidden)]
        reserved1, set_reserved1: u8 = 20, 4;
        /// Port to leave by.
        port, set_port: PortNum = 24, 8;
    }
}

wire_struct! {
    /// Sixteen (LID, port) entries.
    ///
    /// Source: IBA vol. 1, 14.2.5.11; `attributes.csv`, struct `RandomForwardingTable`.
    pub struct RandomForwardingTable("RandomForwardingTable", 64 bytes) {
        /// Entry 16 * block + index of the table.
        lid_port_block, set_lid_port_block: [LidPortBlock; 16] = 0, 512;
    }
}

impl Attribute for RandomForwardingTable {
    const ID: AttributeId = AttributeId(0x001A);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

impl RandomForwardingTable {
    /// Entries of a block.
    pub const ENTRIES: u16 = 16;
}
