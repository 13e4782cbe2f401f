//! VendorDiag: diagnostic data of the manufacturer (IBA vol. 1, 14.2.5.14).
//!
//! The modifier is 0 first and `next_index` of the last answer then, until that is 0.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{table::Layout, wire_struct};

wire_struct! {
    /// A page of the manufacturer's diagnostic data.
    ///
    /// Source: IBA vol. 1, 14.2.5.14; `attributes.csv`, struct `VendorDiag`.
    pub struct VendorDiag("VendorDiag", 64 bytes) {
        /// Modifier of the next page; 0 after the last.
        next_index, set_next_index: u16 = 0, 16;
        /// The manufacturer knows.
        diag_data, set_diag_data: [bytes; 62] = 16, 496;
    }
}

impl Attribute for VendorDiag {
    const ID: AttributeId = AttributeId(0x0030);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
