//! Sampling: counting chosen things for a chosen time (IBA vol. 1, 16.1.3.2 to 16.1.3.4).
//!
//! A manager sets up the control, waits, and reads the result, which repeats the manager's tag.

use ib_wire::{code_points, table::Layout, wire_struct};

use crate::{Attribute, AttributeId};

wire_struct! {
    /// Selection of events to count, start and duration of the sampling.
    ///
    /// Source: IBA vol. 1, 16.1.3.2; `attributes.csv`, struct `PortSamplesControl`.
    pub struct PortSamplesControl("PortSamplesControl", 192 bytes) {
        /// Operation code of the packets to count.
        op_code,                  set_op_code:                  u8           = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,              set_port_select:              u8           = 8, 8;
        /// Length of a tick, as a code that the port defines.
        tick,                     set_tick:                     u8           = 16, 8;
        #[doc(hidden)]
        reserved1,                set_reserved1:                u8           = 24, 5;
        /// Width of the counters, as a code.
        counter_width,            set_counter_width:            u8           = 29, 3;
        #[doc(hidden)]
        reserved2,                set_reserved2:                u8           = 32, 2;
        /// Events that counter 0 can count, as a code.
        counter_mask0,            set_counter_mask0:            u8           = 34, 3;
        /// Events that counter 1 can count, as a code.
        counter_mask1,            set_counter_mask1:            u8           = 37, 3;
        /// Events that counter 2 can count, as a code.
        counter_mask2,            set_counter_mask2:            u8           = 40, 3;
        /// Events that counter 3 can count, as a code.
        counter_mask3,            set_counter_mask3:            u8           = 43, 3;
        /// Events that counter 4 can count, as a code.
        counter_mask4,            set_counter_mask4:            u8           = 46, 3;
        /// Events that counter 5 can count, as a code.
        counter_mask5,            set_counter_mask5:            u8           = 49, 3;
        /// Events that counter 6 can count, as a code.
        counter_mask6,            set_counter_mask6:            u8           = 52, 3;
        /// Events that counter 7 can count, as a code.
        counter_mask7,            set_counter_mask7:            u8           = 55, 3;
        /// Events that counter 8 can count, as a code.
        counter_mask8,            set_counter_mask8:            u8           = 58, 3;
        /// Events that counter 9 can count, as a code.
        counter_mask9,            set_counter_mask9:            u8           = 61, 3;
        #[doc(hidden)]
        reserved3,                set_reserved3:                u8           = 64, 1;
        /// Events that counter 10 can count, as a code.
        counter_mask10,           set_counter_mask10:           u8           = 65, 3;
        /// Events that counter 11 can count, as a code.
        counter_mask11,           set_counter_mask11:           u8           = 68, 3;
        /// Events that counter 12 can count, as a code.
        counter_mask12,           set_counter_mask12:           u8           = 71, 3;
        /// Events that counter 13 can count, as a code.
        counter_mask13,           set_counter_mask13:           u8           = 74, 3;
        /// Events that counter 14 can count, as a code.
        counter_mask14,           set_counter_mask14:           u8           = 77, 3;
        /// Sampling mechanisms of the port, less one.
        sample_mechanisms,        set_sample_mechanisms:        u8           = 80, 8;
        #[doc(hidden)]
        reserved4,                set_reserved4:                u8           = 88, 6;
        /// State of the sampling.
        sample_status,            set_sample_status:            SampleStatus = 94, 2;
        /// The optional counters that the port has.
        option_mask,              set_option_mask:              u64          = 96, 64;
        /// The counters of the vendor that the port has.
        vendor_mask,              set_vendor_mask:              u64          = 160, 64;
        /// Ticks from the Set to the start of sampling.
        sample_start,             set_sample_start:             u32          = 224, 32;
        /// Ticks that sampling takes.
        sample_interval,          set_sample_interval:          u32          = 256, 32;
        /// The manager's mark of this sampling.
        tag,                      set_tag:                      u16          = 288, 16;
        /// Event that counter 0 counts, as a code.
        counter_select0,          set_counter_select0:          u16          = 304, 16;
        /// Event that counter 1 counts, as a code.
        counter_select1,          set_counter_select1:          u16          = 320, 16;
        /// Event that counter 2 counts, as a code.
        counter_select2,          set_counter_select2:          u16          = 336, 16;
        /// Event that counter 3 counts, as a code.
        counter_select3,          set_counter_select3:          u16          = 352, 16;
        /// Event that counter 4 counts, as a code.
        counter_select4,          set_counter_select4:          u16          = 368, 16;
        /// Event that counter 5 counts, as a code.
        counter_select5,          set_counter_select5:          u16          = 384, 16;
        /// Event that counter 6 counts, as a code.
        counter_select6,          set_counter_select6:          u16          = 400, 16;
        /// Event that counter 7 counts, as a code.
        counter_select7,          set_counter_select7:          u16          = 416, 16;
        /// Event that counter 8 counts, as a code.
        counter_select8,          set_counter_select8:          u16          = 432, 16;
        /// Event that counter 9 counts, as a code.
        counter_select9,          set_counter_select9:          u16          = 448, 16;
        /// Event that counter 10 counts, as a code.
        counter_select10,         set_counter_select10:         u16          = 464, 16;
        /// Event that counter 11 counts, as a code.
        counter_select11,         set_counter_select11:         u16          = 480, 16;
        /// Event that counter 12 counts, as a code.
        counter_select12,         set_counter_select12:         u16          = 496, 16;
        /// Event that counter 13 counts, as a code.
        counter_select13,         set_counter_select13:         u16          = 512, 16;
        /// Event that counter 14 counts, as a code.
        counter_select14,         set_counter_select14:         u16          = 528, 16;
        #[doc(hidden)]
        reserved5,                set_reserved5:                u32          = 544, 32;
        /// The optional counters that exist only for sampling.
        samples_only_option_mask, set_samples_only_option_mask: u64          = 576, 64;
        #[doc(hidden)]
        reserved6,                set_reserved6:                [bytes; 112] = 640, 896;
    }
}

impl Attribute for PortSamplesControl {
    const ID: AttributeId = AttributeId(0x0010);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// The counts of a sampling, in 32 bits each.
    ///
    /// Source: IBA vol. 1, 16.1.3.4; `attributes.csv`, struct `PortSamplesResult`.
    pub struct PortSamplesResult("PortSamplesResult", 64 bytes) {
        /// The manager's mark of this sampling.
        tag,           set_tag:           u16          = 0, 16;
        #[doc(hidden)]
        reserved1,     set_reserved1:     u16          = 16, 14;
        /// State of the sampling.
        sample_status, set_sample_status: SampleStatus = 30, 2;
        /// The counts, by counter.
        counter,       set_counter:       [u32; 15]    = 32, 480;
    }
}

impl Attribute for PortSamplesResult {
    const ID: AttributeId = AttributeId(0x0011);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// The counts of a sampling, in up to 64 bits each.
    ///
    /// Source: IBA vol. 1, 16.1.4.12; `attributes.csv`, struct `PortSamplesResultExtended`.
    pub struct PortSamplesResultExtended("PortSamplesResultExtended", 128 bytes) {
        /// The manager's mark of this sampling.
        tag,            set_tag:            u16          = 0, 16;
        #[doc(hidden)]
        reserved1,      set_reserved1:      u16          = 16, 14;
        /// State of the sampling.
        sample_status,  set_sample_status:  SampleStatus = 30, 2;
        /// Width of the counters: 0 48 bits, 1 64 bits.
        extended_width, set_extended_width: u8           = 32, 2;
        #[doc(hidden)]
        reserved2,      set_reserved2:      u32          = 34, 30;
        /// The counts, by counter.
        counter,        set_counter:        [u64; 15]    = 64, 960;
    }
}

impl Attribute for PortSamplesResultExtended {
    const ID: AttributeId = AttributeId(0x001e);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

code_points! {
    /// State of a sampling (`sample_status`).
    pub struct SampleStatus(u8) {
        DONE    = 0 => "Done",
        /// It waits for its start.
        STARTED = 1 => "Started",
        RUNNING = 2 => "Running",
    }
}
