//! SwitchInfoRecord: the SwitchInfo of a switch (IBA vol. 1, 15.2.5.5).

use ib_mad::{Attribute, AttributeId};
use ib_smp::SwitchInfo;
use ib_wire::{Lid, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// The SwitchInfo of a switch.
    ///
    /// Source: IBA vol. 1, 15.2.5.5; `attributes.csv`, struct `SwitchInfoRecord`.
    pub struct SwitchInfoRecord("SwitchInfoRecord", 24 bytes) {
        /// LID of the port that the record is about.
        lid, set_lid: Lid = 0, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: u16 = 16, 16;
        /// SwitchInfo of the switch.
        switch_info, set_switch_info: SwitchInfo = 32, 160;
    }
}

impl Attribute for SwitchInfoRecord {
    const ID: AttributeId = AttributeId(0x0014);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`SwitchInfoRecord`] that a query compares.
    pub struct SwitchInfoComponents for SwitchInfoRecord {
        LID = 0 => "lid",
        RESERVED1 = 1 => "reserved1",
        LINEAR_FDB_CAP = 2 => "switch_info.linear_fdb_cap",
        RANDOM_FDB_CAP = 3 => "switch_info.random_fdb_cap",
        MULTICAST_FDB_CAP = 4 => "switch_info.multicast_fdb_cap",
        LINEAR_FDB_TOP = 5 => "switch_info.linear_fdb_top",
        DEFAULT_PORT = 6 => "switch_info.default_port",
        DEFAULT_MULTICAST_PRIMARY_PORT = 7 => "switch_info.default_multicast_primary_port",
        DEFAULT_MULTICAST_NOT_PRIMARY_PORT = 8 => "switch_info.default_multicast_not_primary_port",
        LIFE_TIME_VALUE = 9 => "switch_info.life_time_value",
        PORT_STATE_CHANGE = 10 => "switch_info.port_state_change",
        OPTIMIZED_SL_TO_VL_MAPPING_PROGRAMMING = 11 => "switch_info.optimized_sl_to_vl_mapping_programming",
        LIDS_PER_PORT = 12 => "switch_info.lids_per_port",
        PARTITION_ENFORCEMENT_CAP = 13 => "switch_info.partition_enforcement_cap",
        INBOUND_ENFORCEMENT_CAP = 14 => "switch_info.inbound_enforcement_cap",
        OUTBOUND_ENFORCEMENT_CAP = 15 => "switch_info.outbound_enforcement_cap",
        FILTER_RAW_INBOUND_CAP = 16 => "switch_info.filter_raw_inbound_cap",
        FILTER_RAW_OUTBOUND_CAP = 17 => "switch_info.filter_raw_outbound_cap",
        ENHANCED_PORT0 = 18 => "switch_info.enhanced_port0",
        SWITCH_INFO_RESERVED1 = 19 => "switch_info.reserved1",
        RESERVED2 = 20 => "switch_info.reserved2",
        MULTICAST_FDB_TOP = 21 => "switch_info.multicast_fdb_top",
    }
}

impl Record for SwitchInfoRecord {
    type Components = SwitchInfoComponents;
}
