//! PortExtendedSpeedsCounters: errors of links that run FDR or faster (IBA vol. 1, 16.1.4.13).
//!
//! Pitfall: while Reed-Solomon error correction is active the same attribute ID carries the other
//! layout, and nothing in the datagram says so: PortInfoExtended's FEC mode does. All saturate.

use ib_wire::{code_points, table::Layout, wire_struct};

use crate::{Attribute, AttributeId, PerformanceMad};

wire_struct! {
    /// Errors of an extended-speed link by lane, without Reed-Solomon correction.
    ///
    /// Source: IBA vol. 1, 16.1.4.13; `attributes.csv`, struct `PortExtendedSpeedsCounters`.
    pub struct PortExtendedSpeedsCounters("PortExtendedSpeedsCounters", 140 bytes) {
        #[doc(hidden)]
        reserved1,                              set_reserved1:                              u8  = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,                            set_port_select:                            u8  = 8, 8;
        #[doc(hidden)]
        reserved2,                              set_reserved2:                              u64 = 16, 48;
        /// In a Set: which counters to write.
        counter_select,                         set_counter_select:                         u64 = 64, 64;
        /// Wrong synchronisation headers on any lane.
        sync_header_error_counter,              set_sync_header_error_counter:              u16 = 128, 16;
        /// Blocks of an unknown kind on any lane.
        unknown_block_counter,                  set_unknown_block_counter:                  u16 = 144, 16;
        /// Wrong parities of blocks on lane 0.
        error_detection_counter_lane0,          set_error_detection_counter_lane0:          u16 = 160, 16;
        /// Wrong parities of blocks on lane 1.
        error_detection_counter_lane1,          set_error_detection_counter_lane1:          u16 = 176, 16;
        /// Wrong parities of blocks on lane 2.
        error_detection_counter_lane2,          set_error_detection_counter_lane2:          u16 = 192, 16;
        /// Wrong parities of blocks on lane 3.
        error_detection_counter_lane3,          set_error_detection_counter_lane3:          u16 = 208, 16;
        /// Wrong parities of blocks on lane 4.
        error_detection_counter_lane4,          set_error_detection_counter_lane4:          u16 = 224, 16;
        /// Wrong parities of blocks on lane 5.
        error_detection_counter_lane5,          set_error_detection_counter_lane5:          u16 = 240, 16;
        /// Wrong parities of blocks on lane 6.
        error_detection_counter_lane6,          set_error_detection_counter_lane6:          u16 = 256, 16;
        /// Wrong parities of blocks on lane 7.
        error_detection_counter_lane7,          set_error_detection_counter_lane7:          u16 = 272, 16;
        /// Wrong parities of blocks on lane 8.
        error_detection_counter_lane8,          set_error_detection_counter_lane8:          u16 = 288, 16;
        /// Wrong parities of blocks on lane 9.
        error_detection_counter_lane9,          set_error_detection_counter_lane9:          u16 = 304, 16;
        /// Wrong parities of blocks on lane 10.
        error_detection_counter_lane10,         set_error_detection_counter_lane10:         u16 = 320, 16;
        /// Wrong parities of blocks on lane 11.
        error_detection_counter_lane11,         set_error_detection_counter_lane11:         u16 = 336, 16;
        /// Blocks of lane 0 that were corrected.
        fec_correctable_block_counter_lane0,    set_fec_correctable_block_counter_lane0:    u32 = 352, 32;
        /// Blocks of lane 1 that were corrected.
        fec_correctable_block_counter_lane1,    set_fec_correctable_block_counter_lane1:    u32 = 384, 32;
        /// Blocks of lane 2 that were corrected.
        fec_correctable_block_counter_lane2,    set_fec_correctable_block_counter_lane2:    u32 = 416, 32;
        /// Blocks of lane 3 that were corrected.
        fec_correctable_block_counter_lane3,    set_fec_correctable_block_counter_lane3:    u32 = 448, 32;
        /// Blocks of lane 4 that were corrected.
        fec_correctable_block_counter_lane4,    set_fec_correctable_block_counter_lane4:    u32 = 480, 32;
        /// Blocks of lane 5 that were corrected.
        fec_correctable_block_counter_lane5,    set_fec_correctable_block_counter_lane5:    u32 = 512, 32;
        /// Blocks of lane 6 that were corrected.
        fec_correctable_block_counter_lane6,    set_fec_correctable_block_counter_lane6:    u32 = 544, 32;
        /// Blocks of lane 7 that were corrected.
        fec_correctable_block_counter_lane7,    set_fec_correctable_block_counter_lane7:    u32 = 576, 32;
        /// Blocks of lane 8 that were corrected.
        fec_correctable_block_counter_lane8,    set_fec_correctable_block_counter_lane8:    u32 = 608, 32;
        /// Blocks of lane 9 that were corrected.
        fec_correctable_block_counter_lane9,    set_fec_correctable_block_counter_lane9:    u32 = 640, 32;
        /// Blocks of lane 10 that were corrected.
        fec_correctable_block_counter_lane10,   set_fec_correctable_block_counter_lane10:   u32 = 672, 32;
        /// Blocks of lane 11 that were corrected.
        fec_correctable_block_counter_lane11,   set_fec_correctable_block_counter_lane11:   u32 = 704, 32;
        /// Blocks of lane 0 that could not be corrected.
        fec_uncorrectable_block_counter_lane0,  set_fec_uncorrectable_block_counter_lane0:  u32 = 736, 32;
        /// Blocks of lane 1 that could not be corrected.
        fec_uncorrectable_block_counter_lane1,  set_fec_uncorrectable_block_counter_lane1:  u32 = 768, 32;
        /// Blocks of lane 2 that could not be corrected.
        fec_uncorrectable_block_counter_lane2,  set_fec_uncorrectable_block_counter_lane2:  u32 = 800, 32;
        /// Blocks of lane 3 that could not be corrected.
        fec_uncorrectable_block_counter_lane3,  set_fec_uncorrectable_block_counter_lane3:  u32 = 832, 32;
        /// Blocks of lane 4 that could not be corrected.
        fec_uncorrectable_block_counter_lane4,  set_fec_uncorrectable_block_counter_lane4:  u32 = 864, 32;
        /// Blocks of lane 5 that could not be corrected.
        fec_uncorrectable_block_counter_lane5,  set_fec_uncorrectable_block_counter_lane5:  u32 = 896, 32;
        /// Blocks of lane 6 that could not be corrected.
        fec_uncorrectable_block_counter_lane6,  set_fec_uncorrectable_block_counter_lane6:  u32 = 928, 32;
        /// Blocks of lane 7 that could not be corrected.
        fec_uncorrectable_block_counter_lane7,  set_fec_uncorrectable_block_counter_lane7:  u32 = 960, 32;
        /// Blocks of lane 8 that could not be corrected.
        fec_uncorrectable_block_counter_lane8,  set_fec_uncorrectable_block_counter_lane8:  u32 = 992, 32;
        /// Blocks of lane 9 that could not be corrected.
        fec_uncorrectable_block_counter_lane9,  set_fec_uncorrectable_block_counter_lane9:  u32 = 1024, 32;
        /// Blocks of lane 10 that could not be corrected.
        fec_uncorrectable_block_counter_lane10, set_fec_uncorrectable_block_counter_lane10: u32 = 1056, 32;
        /// Blocks of lane 11 that could not be corrected.
        fec_uncorrectable_block_counter_lane11, set_fec_uncorrectable_block_counter_lane11: u32 = 1088, 32;
    }
}

impl Attribute for PortExtendedSpeedsCounters {
    const ID: AttributeId = AttributeId(0x001f);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Errors of an extended-speed link while Reed-Solomon correction is active.
    ///
    /// Source: IBA vol. 1, 16.1.4.13; `attributes.csv`, struct `PortExtendedSpeedsCountersRSFEC`.
    pub struct PortExtendedSpeedsCountersRsFec("PortExtendedSpeedsCountersRSFEC", 152 bytes) {
        #[doc(hidden)]
        reserved1,                             set_reserved1:                             u8          = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,                           set_port_select:                           u8          = 8, 8;
        #[doc(hidden)]
        reserved2,                             set_reserved2:                             u64         = 16, 48;
        /// In a Set: which counters to write.
        counter_select,                        set_counter_select:                        u64         = 64, 64;
        /// Wrong synchronisation headers on any lane.
        sync_header_error_counter,             set_sync_header_error_counter:             u16         = 128, 16;
        /// Blocks of an unknown kind on any lane.
        unknown_block_counter,                 set_unknown_block_counter:                 u16         = 144, 16;
        #[doc(hidden)]
        reserved3,                             set_reserved3:                             [bytes; 24] = 160, 192;
        /// Symbols of lane 0 that were corrected.
        fec_correctable_symbol_counter_lane0,  set_fec_correctable_symbol_counter_lane0:  u32         = 352, 32;
        /// Symbols of lane 1 that were corrected.
        fec_correctable_symbol_counter_lane1,  set_fec_correctable_symbol_counter_lane1:  u32         = 384, 32;
        /// Symbols of lane 2 that were corrected.
        fec_correctable_symbol_counter_lane2,  set_fec_correctable_symbol_counter_lane2:  u32         = 416, 32;
        /// Symbols of lane 3 that were corrected.
        fec_correctable_symbol_counter_lane3,  set_fec_correctable_symbol_counter_lane3:  u32         = 448, 32;
        /// Symbols of lane 4 that were corrected.
        fec_correctable_symbol_counter_lane4,  set_fec_correctable_symbol_counter_lane4:  u32         = 480, 32;
        /// Symbols of lane 5 that were corrected.
        fec_correctable_symbol_counter_lane5,  set_fec_correctable_symbol_counter_lane5:  u32         = 512, 32;
        /// Symbols of lane 6 that were corrected.
        fec_correctable_symbol_counter_lane6,  set_fec_correctable_symbol_counter_lane6:  u32         = 544, 32;
        /// Symbols of lane 7 that were corrected.
        fec_correctable_symbol_counter_lane7,  set_fec_correctable_symbol_counter_lane7:  u32         = 576, 32;
        /// Symbols of lane 8 that were corrected.
        fec_correctable_symbol_counter_lane8,  set_fec_correctable_symbol_counter_lane8:  u32         = 608, 32;
        /// Symbols of lane 9 that were corrected.
        fec_correctable_symbol_counter_lane9,  set_fec_correctable_symbol_counter_lane9:  u32         = 640, 32;
        /// Symbols of lane 10 that were corrected.
        fec_correctable_symbol_counter_lane10, set_fec_correctable_symbol_counter_lane10: u32         = 672, 32;
        /// Symbols of lane 11 that were corrected.
        fec_correctable_symbol_counter_lane11, set_fec_correctable_symbol_counter_lane11: u32         = 704, 32;
        #[doc(hidden)]
        reserved4,                             set_reserved4:                             [bytes; 48] = 736, 384;
        /// Blocks that were corrected.
        port_fec_correctable_block_counter,    set_port_fec_correctable_block_counter:    u32         = 1120, 32;
        /// Blocks that could not be corrected.
        port_fec_uncorrectable_block_counter,  set_port_fec_uncorrectable_block_counter:  u32         = 1152, 32;
        /// Symbols that were corrected.
        port_fec_corrected_symbol_counter,     set_port_fec_corrected_symbol_counter:     u32         = 1184, 32;
    }
}

impl Attribute for PortExtendedSpeedsCountersRsFec {
    const ID: AttributeId = AttributeId(0x001f);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

code_points! {
    /// Forward error correction of a link (`PortInfoExtended.fec_mode_active`).
    pub struct FecMode(u16) {
        NONE           = 0 => "None",
        /// Fire code, by lane.
        FIRE_CODE      = 1 => "FireCode",
        /// Reed-Solomon, over all lanes.
        RS             = 2 => "RS",
        /// Reed-Solomon with shorter code words.
        LOW_LATENCY_RS = 3 => "LowLatencyRS",
    }
}

impl FecMode {
    /// Returns true if the link counts symbols, as Reed-Solomon correction does, and not blocks by lane.
    #[must_use]
    pub const fn is_reed_solomon(self) -> bool {
        matches!(self, Self::RS | Self::LOW_LATENCY_RS)
    }
}

/// The errors of an extended-speed link by the layout that its error correction gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendedSpeedsCounters<'a> {
    /// Without Reed-Solomon correction: blocks and parities by lane.
    Blocks(&'a PortExtendedSpeedsCounters),
    /// With it: symbols by lane, blocks of the port.
    Symbols(&'a PortExtendedSpeedsCountersRsFec),
}

impl PerformanceMad {
    /// The errors of an extended-speed link whose error correction is `fec`; `None` for a datagram of
    /// another attribute.
    ///
    /// Nothing in the datagram distinguishes the two layouts: PortInfoExtended of the port has the mode
    /// that is active. An agent whose ClassPortInfo lacks
    /// [`IS_RS_FEC_MODE_SUPPORTED`](crate::PerfCapabilities::IS_RS_FEC_MODE_SUPPORTED) has the first only:
    /// ask with [`FecMode::NONE`].
    #[must_use]
    pub fn extended_speeds_counters(&self, fec: FecMode) -> Option<ExtendedSpeedsCounters<'_>> {
        if self.attribute_id() != PortExtendedSpeedsCounters::ID {
            return None;
        }
        let at = self.mgmt_class().data_offset();
        let data = self.as_bytes().get(at..)?;
        Some(if fec.is_reed_solomon() {
            let (counters, _) = PortExtendedSpeedsCountersRsFec::parse(data, at).ok()?;
            ExtendedSpeedsCounters::Symbols(counters)
        } else {
            let (counters, _) = PortExtendedSpeedsCounters::parse(data, at).ok()?;
            ExtendedSpeedsCounters::Blocks(counters)
        })
    }
}

/// The bit of `counter_select` for a counter of [`PortExtendedSpeedsCounters`] or
/// [`PortExtendedSpeedsCountersRsFec`]: bits 0 and 1 for the first two counters, then one each lane.
#[must_use]
pub fn extended_speeds_select(counter: &str) -> Option<u64> {
    let lane = |prefix: &str| {
        let lane: u32 = counter.strip_prefix(prefix)?.parse().ok()?;
        (lane < 12).then_some(lane)
    };
    let bit = match counter {
        "sync_header_error_counter" => 0,
        "unknown_block_counter" => 1,
        "port_fec_correctable_block_counter" => 38,
        "port_fec_uncorrectable_block_counter" => 39,
        "port_fec_corrected_symbol_counter" => 40,
        _ => [
            ("error_detection_counter_lane", 2u32),
            ("fec_correctable_block_counter_lane", 14),
            ("fec_correctable_symbol_counter_lane", 14),
            ("fec_uncorrectable_block_counter_lane", 26),
        ]
        .into_iter()
        .find_map(|(prefix, first)| first.checked_add(lane(prefix)?))?,
    };
    1u64.checked_shl(bit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, MadAddress, MgmtClass};

    #[test]
    fn the_active_error_correction_chooses_the_counters() {
        let mut counters = PortExtendedSpeedsCountersRsFec::default();
        counters.set_port_fec_corrected_symbol_counter(7);
        let call = Call::set(MgmtClass::PERF, 0);
        let mad = call.request_with(MadAddress::DIRECTED, &counters);
        let mad = PerformanceMad::from_bytes(mad.bytes);
        for fec in [FecMode::RS, FecMode::LOW_LATENCY_RS] {
            let expected = Some(ExtendedSpeedsCounters::Symbols(&counters));
            assert_eq!(mad.extended_speeds_counters(fec), expected, "{fec}");
        }
        for fec in [FecMode::NONE, FecMode::FIRE_CODE, FecMode(99)] {
            let read = mad.extended_speeds_counters(fec);
            assert!(
                matches!(read, Some(ExtendedSpeedsCounters::Blocks(_))),
                "{fec}"
            );
        }
        let call = Call::<crate::PortCounters>::get(MgmtClass::PERF, 0);
        let other = PerformanceMad::from_bytes(call.request(MadAddress::DIRECTED).bytes);
        assert_eq!(other.extended_speeds_counters(FecMode::RS), None);
    }
}
