//! ConfigSpaceAccess: words of a device's configuration space, read and written by their addresses.
//!
//! The modifier says how: in mode 0 it has the address of a row of words, in mode 2 each record of the
//! data has an address of its own. The same attribute exists for subnet management, with less room.

use ib_wire::{code_points, wire_struct};
use zerocopy::FromBytes;

use super::mlnx_attribute;

code_points! {
    /// The addressing of ConfigSpaceAccess.
    pub struct MlnxConfigSpaceMode(u8) {
        /// Words in a row from the modifier's address, which has 24 bits.
        ROW     = 0 => "Row",
        /// Records, each with address, value and mask.
        RECORDS = 2 => "Records",
    }
}

/// The attribute modifier of ConfigSpaceAccess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MlnxConfigSpaceModifier {
    /// Addressing of the words.
    pub mode: MlnxConfigSpaceMode,
    /// Number of words or records: 0..=63.
    pub count: u8,
    /// Address of the first word in mode 0, 24 bits; else 0.
    pub address: u32,
}

impl MlnxConfigSpaceModifier {
    /// The parts of a modifier. Every value is valid.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self {
            mode: MlnxConfigSpaceMode((bits >> 22) as u8 & 3),
            count: (bits >> 16) as u8 & 0x3f,
            address: bits >> 8 & 0x00ff_0000 | bits & 0xffff,
        }
    }

    /// The modifier; what does not fit its field loses its high bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        let (mode, count) = (self.mode.0 as u32 & 3, self.count as u32 & 0x3f);
        (self.address & 0x00ff_0000) << 8 | mode << 22 | count << 16 | self.address & 0xffff
    }
}

wire_struct! {
    /// A word of configuration space: the bits of `mask` at `address`.
    ///
    /// Source: infiniband-diags; `attributes.csv`, struct `MlnxConfigSpaceRecord`.
    pub struct MlnxConfigSpaceRecord("MlnxConfigSpaceRecord", 12 bytes) {
        /// Address of the dword.
        address, set_address: u32 = 0, 32;
        /// Value of the dword at the address.
        data,    set_data:    u32 = 32, 32;
        /// Bits that are read or written.
        mask,    set_mask:    u32 = 64, 32;
    }
}

impl MlnxConfigSpaceRecord {
    /// The records that `bytes` begins with; what is left over at its end is none.
    #[must_use]
    pub fn all_of(bytes: &[u8]) -> &[Self] {
        let whole = bytes.len() / Self::LEN;
        <[Self]>::ref_from_prefix_with_elems(bytes, whole).map_or(&[], |(records, _)| records)
    }
}

wire_struct! {
    /// Words of configuration space.
    ///
    /// Source: infiniband-diags, mstflint; `attributes.csv`, struct `MlnxConfigSpace`.
    pub struct MlnxConfigSpace("MlnxConfigSpace", 224 bytes) {
        /// The words in mode 0; in mode 2 the records lie here.
        data, set_data: [u32; 56] = 0, 1792;
    }
}

impl MlnxConfigSpace {
    /// The records of mode 2, of which the modifier counts those in use.
    #[must_use]
    pub fn records(&self) -> &[MlnxConfigSpaceRecord] {
        MlnxConfigSpaceRecord::all_of(self.as_bytes())
    }
}

mlnx_attribute!(MlnxConfigSpace, 0x0050);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modifier_is_its_bits() {
        // vendstat reads 16 records with 2 << 22 | 16 << 16.
        let records = MlnxConfigSpaceModifier {
            mode: MlnxConfigSpaceMode::RECORDS,
            count: 16,
            address: 0,
        };
        assert_eq!(records.bits(), 0x0090_0000);
        // The device ID of a switch: one word at 0xf0014.
        let row = MlnxConfigSpaceModifier {
            mode: MlnxConfigSpaceMode::ROW,
            count: 1,
            address: 0x0f_0014,
        };
        assert_eq!(row.bits(), 0x0f01_0014);
        for bit in 0..32 {
            let bits = 1 << bit;
            assert_eq!(MlnxConfigSpaceModifier::from_bits(bits).bits(), bits);
        }
    }

    #[test]
    fn words_and_records_are_the_same_bytes() {
        let mut space = MlnxConfigSpace::default();
        for index in 0..56 {
            space.set_data(index, index as u32);
        }
        assert_eq!(space.records().len(), 18);
        let last = space.records()[17];
        assert_eq!((last.address(), last.data(), last.mask()), (51, 52, 53));
        assert!(MlnxConfigSpaceRecord::all_of(&[0; 11]).is_empty());
    }
}
