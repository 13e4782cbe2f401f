//! VLArbitrationTable: which virtual lane sends next (IBA vol. 1, 14.2.5.9, and 7.6.9).
//!
//! A port has two tables of up to 64 entries, high and low priority; each is read and written in
//! halves of 32 ([`VlArbitrationModifier`]). PortInfo.VLArbitrationHighCap and LowCap say how many
//! entries there are, PortInfo.VLHighLimit how long the high table may go on.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{PortNum, Vl, table::Layout, wire_struct};

wire_struct! {
    /// An entry: a lane and how much it may send in its turn.
    ///
    /// Source: IBA vol. 1, 14.2.5.9; `attributes.csv`, struct `VLArbitrationEntry`.
    pub struct VlArbitrationEntry("VLArbitrationEntry", 2 bytes) {
        #[doc(hidden)]
        reserved1, set_reserved1: u8 = 0, 4;
        /// Lane; an entry with VL15 is skipped.
        vl, set_vl: Vl = 4, 4;
        /// Units of 64 bytes; 0 skips the entry.
        weight, set_weight: u8 = 8, 8;
    }
}

impl VlArbitrationEntry {
    /// The entry that lets `vl` send `weight` * 64 bytes.
    #[must_use]
    pub fn new(vl: Vl, weight: u8) -> Self {
        let mut entry = Self::default();
        entry.set_vl(vl).set_weight(weight);
        entry
    }
}

wire_struct! {
    /// Half of a port's high or low priority table.
    ///
    /// Source: IBA vol. 1, 14.2.5.9; `attributes.csv`, struct `VLArbitrationTable`.
    pub struct VlArbitrationTable("VLArbitrationTable", 64 bytes) {
        /// Entries in the order in which they get their turn.
        vl_weight_block, set_vl_weight_block: [VlArbitrationEntry; 32] = 0, 512;
    }
}

impl Attribute for VlArbitrationTable {
    const ID: AttributeId = AttributeId(0x0018);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

/// Table and half of it a [`VlArbitrationTable`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VlArbitrationHalf {
    /// Low priority, entries 0..=31.
    LowFirst = 1,
    /// Low priority, entries 32..=63.
    LowSecond = 2,
    /// High priority, entries 0..=31.
    HighFirst = 3,
    /// High priority, entries 32..=63.
    HighSecond = 4,
}

/// Attribute modifier of [`VlArbitrationTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VlArbitrationModifier {
    /// Table and half of it.
    pub half: VlArbitrationHalf,
    /// Output port of a switch; 0 for a CA.
    pub port: PortNum,
}

impl VlArbitrationModifier {
    /// The modifier's 32 bits: bits 31..16 half, bits 15..0 port.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u32 {
        (self.half as u32) << 16 | self.port.0 as u32
    }

    /// Half and port of a modifier; `None` where the half is not 1..=4 or the port is above 255.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u32) -> Option<Self> {
        let half = match bits >> 16 {
            1 => VlArbitrationHalf::LowFirst,
            2 => VlArbitrationHalf::LowSecond,
            3 => VlArbitrationHalf::HighFirst,
            4 => VlArbitrationHalf::HighSecond,
            _ => return None,
        };
        if bits & 0xff00 != 0 {
            return None;
        }
        Some(Self {
            half,
            port: PortNum(bits as u8),
        })
    }
}
