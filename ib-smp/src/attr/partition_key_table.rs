//! P_KeyTable: the partitions of a port (IBA vol. 1, 14.2.5.7).
//!
//! A block holds 32 P_Keys. NodeInfo.PartitionCap says how many a CA, a router or port 0 of a switch
//! can hold, SwitchInfo.PartitionEnforcementCap how many an external port of a switch can.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{PKey, PortNum, table::Layout, wire_struct};

wire_struct! {
    /// Thirty-two P_Keys of a port.
    ///
    /// Source: IBA vol. 1, 14.2.5.7; `attributes.csv`, struct `PartitionKeyTable`.
    pub struct PartitionKeyTable("PartitionKeyTable", 64 bytes) {
        /// P_Key 32 * block + index of the port; 0 is an empty entry.
        p_key_block, set_p_key_block: [PKey; 32] = 0, 512;
    }
}

impl Attribute for PartitionKeyTable {
    const ID: AttributeId = AttributeId(0x0016);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

impl PartitionKeyTable {
    /// P_Keys of a block.
    pub const ENTRIES: u16 = 32;
}

/// Attribute modifier of [`PartitionKeyTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PKeyModifier {
    /// External port of a switch; 0 for port 0, a CA and a router.
    pub port: PortNum,
    /// Number of the block of 32 P_Keys.
    pub block: u16,
}

impl PKeyModifier {
    /// The modifier's 32 bits: bits 31..16 port, bits 15..0 block.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u32 {
        (self.port.0 as u32) << 16 | self.block as u32
    }

    /// Port and block of a modifier; `None` where the port is above 255.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u32) -> Option<Self> {
        if bits >> 24 != 0 {
            return None;
        }
        Some(Self {
            port: PortNum((bits >> 16) as u8),
            block: bits as u16,
        })
    }
}
