//! HierarchyInfo: where in a site a port sits (rack, chassis, board...).
//!
//! A port has it if PortInfo.CapabilityMask.IsHierarchyInfoSupported is set. Only the layout is known here;
//! the coding of the modifier and of the levels was found in no source.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{Guid, table::Layout, wire_struct};

wire_struct! {
    /// Place of a port in a hierarchy that a template describes.
    ///
    /// Source: `attributes.csv`, struct `HierarchyInfo` (one source).
    pub struct HierarchyInfo("HierarchyInfo", 64 bytes) {
        /// GUID of the template that the levels follow.
        template_guid, set_template_guid: Guid = 0, 64;
        /// Highest index that the port can hold.
        max_supported_index, set_max_supported_index: u8 = 64, 8;
        /// Highest index in use.
        max_active_index, set_max_active_index: u8 = 72, 8;
        /// Number of used elements of `level_data`.
        active_levels, set_active_levels: u8 = 80, 4;
        #[doc(hidden)]
        reserved1, set_reserved1: u16 = 84, 12;
        /// One number for each level, the outermost first.
        level_data, set_level_data: [u32; 13] = 96, 416;
    }
}

impl Attribute for HierarchyInfo {
    const ID: AttributeId = AttributeId(0x001E);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
