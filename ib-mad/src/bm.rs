//! Baseboard management: power, temperature, product data of a module (IBA vol. 1, 16.2).
//!
//! Its commands are Sends in both directions: the attribute ID is the command, the attribute
//! modifier 0 in the request and 1 in the response.

use bitflags::bitflags;
use ib_wire::{table::Layout, wire_struct};

use crate::{Attribute, AttributeId, BKey};

wire_struct! {
    /// The key that guards the baseboard.
    ///
    /// Source: IBA vol. 1, 16.2.3; `attributes.csv`, struct `BKeyInfo`.
    pub struct BKeyInfo("BKeyInfo", 14 bytes) {
        /// Key that guards the baseboard; 0: none.
        b_key,              set_b_key:              BKey = 0, 64;
        /// The key is not shown to who does not know it.
        b_key_protect_bit,  set_b_key_protect_bit:  bool = 64, 1;
        #[doc(hidden)]
        reserved1,          set_reserved1:          u16  = 65, 15;
        /// Seconds until the key's protection ends; 0: never.
        b_key_lease_period, set_b_key_lease_period: u16  = 80, 16;
        /// Requests with a wrong key so far; 0xFFFF: not counted.
        b_key_violations,   set_b_key_violations:   u16  = 96, 16;
    }
}

impl Attribute for BKeyInfo {
    const ID: AttributeId = AttributeId(0x0010);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// A command to the baseboard, or its response.
    ///
    /// Source: IBA vol. 1, 16.2.3; `attributes.csv`, struct `BMSend`.
    pub struct BmSend("BMSend", 192 bytes) {
        /// Ties a response to its request on the IB-ML bus.
        sequence,      set_sequence:      u16          = 0, 16;
        /// Device that sends.
        source_device, set_source_device: u8           = 16, 8;
        /// Bytes of `parameters` that mean something.
        param_count,   set_param_count:   u8           = 24, 8;
        /// Parameters of the command.
        parameters,    set_parameters:    [bytes; 40]  = 32, 320;
        #[doc(hidden)]
        reserved1,     set_reserved1:     [bytes; 148] = 352, 1184;
    }
}

bitflags! {
    /// Capabilities of a baseboard management agent: its `ClassPortInfo.capability_mask`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct BmCapabilities: u16 {
        /// `IsTrapSupported`.
        const IS_TRAP_SUPPORTED = 1 << 0;
        /// `IsGetSetNoticeSupported`.
        const IS_GET_SET_NOTICE_SUPPORTED = 1 << 1;
        /// `IsCapabilityMask2Supported`.
        const IS_CAPABILITY_MASK2_SUPPORTED = 1 << 2;
        /// `IsIBMLSupported`.
        const IS_IBML_SUPPORTED = 1 << 8;
        /// `IsBKeyNVRAM`.
        const IS_BKEY_NVRAM = 1 << 9;
        const _ = !0;
    }
}
