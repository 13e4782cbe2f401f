//! LedInfo: the light that helps to find a port (IBA vol. 1, 14.2.5.15).

use ib_mad::{Attribute, AttributeId};
use ib_wire::{table::Layout, wire_struct};

wire_struct! {
    /// True if a port's beacon light is on. The modifier is the port of a switch, else 0.
    ///
    /// Source: IBA vol. 1, 14.2.5.15; `attributes.csv`, struct `LedInfo`.
    pub struct LedInfo("LedInfo", 4 bytes) {
        /// The light is on.
        led_mask, set_led_mask: bool = 0, 1;
        #[doc(hidden)]
        reserved1, set_reserved1: u32 = 1, 31;
    }
}

impl Attribute for LedInfo {
    const ID: AttributeId = AttributeId(0x0031);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
