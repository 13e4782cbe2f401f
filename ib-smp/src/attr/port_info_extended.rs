//! PortInfoExtended: forward error correction of a port (IBA vol. 1, 14.2.5.19).
//!
//! A port has it if PortInfo.CapabilityMask2.IsPortInfoExtendedSupported is set. libibmad's field table
//! reads the HDR and NDR words two bytes off; the places here are OpenSM's.

use ib_mad::{Attribute, AttributeId, FecMode};
use ib_wire::{flags_value, table::Layout, wire_struct};

bitflags::bitflags! {
    /// The fields of a port's PortInfoExtended that are valid (PortInfoExtended.capability_mask).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ExtendedCapabilityMask: u32 {
        /// The FEC modes are valid.
        const IS_FEC_MODE_SUPPORTED = 1 << 0;
    }
}

flags_value!(ExtendedCapabilityMask: u32);

wire_struct! {
    /// Error correction that a port can do, may do and does, by speed. The modifier is the port.
    ///
    /// Source: IBA vol. 1, 14.2.5.19; `attributes.csv`, struct `PortInfoExtended`.
    pub struct PortInfoExtended("PortInfoExtended", 64 bytes) {
        /// The fields that are valid, a bit each.
        capability_mask, set_capability_mask: ExtendedCapabilityMask = 0, 32;
        /// Mode in use.
        fec_mode_active, set_fec_mode_active: FecMode = 32, 16;
        /// Modes that the port can do at FDR.
        fdr_fec_mode_supported, set_fdr_fec_mode_supported: u16 = 48, 16;
        /// Modes that the port may use at FDR.
        fdr_fec_mode_enabled, set_fdr_fec_mode_enabled: u16 = 64, 16;
        /// Modes that the port can do at EDR.
        edr_fec_mode_supported, set_edr_fec_mode_supported: u16 = 80, 16;
        /// Modes that the port may use at EDR.
        edr_fec_mode_enabled, set_edr_fec_mode_enabled: u16 = 96, 16;
        /// Modes that the port can do at HDR.
        hdr_fec_mode_supported, set_hdr_fec_mode_supported: u16 = 112, 16;
        /// Modes that the port may use at HDR.
        hdr_fec_mode_enabled, set_hdr_fec_mode_enabled: u16 = 128, 16;
        /// Modes that the port can do at NDR.
        ndr_fec_mode_supported, set_ndr_fec_mode_supported: u16 = 144, 16;
        /// Modes that the port may use at NDR.
        ndr_fec_mode_enabled, set_ndr_fec_mode_enabled: u16 = 160, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: [bytes; 42] = 176, 336;
    }
}

impl Attribute for PortInfoExtended {
    const ID: AttributeId = AttributeId(0x0033);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

impl PortInfoExtended {
    /// The error correction of the link; `None` where the port does not say. It chooses the layout of
    /// the port's [`ExtendedSpeedsCounters`](ib_mad::ExtendedSpeedsCounters).
    #[must_use]
    pub fn fec_mode(&self) -> Option<FecMode> {
        let valid = ExtendedCapabilityMask::IS_FEC_MODE_SUPPORTED;
        self.capability_mask()
            .contains(valid)
            .then(|| self.fec_mode_active())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_counts_only_where_the_port_says_so() {
        let mut info = PortInfoExtended::default();
        info.set_fec_mode_active(FecMode::RS);
        assert_eq!(info.fec_mode(), None);
        info.set_capability_mask(ExtendedCapabilityMask::IS_FEC_MODE_SUPPORTED);
        assert_eq!(info.fec_mode(), Some(FecMode::RS));
    }
}
