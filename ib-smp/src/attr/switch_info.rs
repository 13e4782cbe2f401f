//! SwitchInfo: capacities and modes of a switch's forwarding tables (IBA vol. 1, 14.2.5.4).
//!
//! A light sweep reads it from every switch for one bit: `port_state_change`. It is set by the switch
//! and cleared by writing 1: a Set that copies what it read clears it without having looked.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{Lid, PortNum, table::Layout, wire_struct};

wire_struct! {
    /// Forwarding tables of a switch: sizes, limits, defaults.
    ///
    /// Source: IBA vol. 1, 14.2.5.4; `attributes.csv`, struct `SwitchInfo`.
    pub struct SwitchInfo("SwitchInfo", 20 bytes) {
        /// Entries of the linear forwarding table, counted from LID 0; 0 if the switch has none.
        linear_fdb_cap, set_linear_fdb_cap: u16 = 0, 16;
        /// Entries of the random forwarding table; 0 if the switch has none.
        random_fdb_cap, set_random_fdb_cap: u16 = 16, 16;
        /// Entries of the multicast forwarding table, counted from LID 0xC000.
        multicast_fdb_cap, set_multicast_fdb_cap: u16 = 32, 16;
        /// Highest LID that the linear table forwards; higher ones are dropped.
        linear_fdb_top, set_linear_fdb_top: Lid = 48, 16;
        /// Random tables: where packets to an unknown LID go.
        default_port, set_default_port: PortNum = 64, 8;
        /// Port for multicast packets without an entry, unless they came in by it; 255 drops them.
        default_multicast_primary_port, set_default_multicast_primary_port: PortNum = 72, 8;
        /// Port for multicast packets without an entry that came in by the primary port; 255 drops them.
        default_multicast_not_primary_port, set_default_multicast_not_primary_port: PortNum = 80, 8;
        /// Time for which a packet may stay: 4.096 us * 2^n; above 19 without limit.
        life_time_value, set_life_time_value: u8 = 88, 5;
        /// A port changed its state. A Set with 1 clears it, with 0 leaves it.
        port_state_change, set_port_state_change: bool = 93, 1;
        /// The optimised forms of SLtoVLMappingTable that the switch takes; 0 is none.
        optimized_sl_to_vl_mapping_programming, set_optimized_sl_to_vl_mapping_programming: u8 = 94, 2;
        /// LIDs per port of a random table.
        lids_per_port, set_lids_per_port: u16 = 96, 16;
        /// P_Keys that each external port's table holds.
        partition_enforcement_cap, set_partition_enforcement_cap: u16 = 112, 16;
        /// External ports can check P_Keys of what comes in.
        inbound_enforcement_cap, set_inbound_enforcement_cap: bool = 128, 1;
        /// External ports can check P_Keys of what goes out.
        outbound_enforcement_cap, set_outbound_enforcement_cap: bool = 129, 1;
        /// External ports can drop raw packets that come in.
        filter_raw_inbound_cap, set_filter_raw_inbound_cap: bool = 130, 1;
        /// External ports can drop raw packets that go out.
        filter_raw_outbound_cap, set_filter_raw_outbound_cap: bool = 131, 1;
        /// Port 0 is enhanced: it is a full end port, with an LMC and data VLs.
        enhanced_port0, set_enhanced_port0: bool = 132, 1;
        #[doc(hidden)]
        reserved1, set_reserved1: u8 = 133, 3;
        #[doc(hidden)]
        reserved2, set_reserved2: u8 = 136, 8;
        /// Highest multicast LID with an entry; 0xBFFF is none, 0 says that the field is not used.
        multicast_fdb_top, set_multicast_fdb_top: Lid = 144, 16;
    }
}

impl Attribute for SwitchInfo {
    const ID: AttributeId = AttributeId(0x0012);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
