//! Congestion settings: the marking of packets by switches, and the injection rate of CAs (IBA vol. 1, A10.4.3.6 to A10.4.3.9).

use ib_wire::{table::Layout, wire_struct};

use crate::{Attribute, AttributeId};

wire_struct! {
    /// Rules by which a switch marks packets.
    ///
    /// Source: IBA vol. 1, A10.4.3; `attributes.csv`, struct `SwitchCongestionSetting`.
    pub struct SwitchCongestionSetting("SwitchCongestionSetting", 76 bytes) {
        /// The following fields that are to be used, one bit each.
        control_map,     set_control_map:     u32         = 0, 32;
        /// Ports whose packets are marked as victims: one bit each.
        victim_mask,     set_victim_mask:     [bytes; 32] = 32, 256;
        /// Ports where packets are marked although credits are short: one bit each.
        credit_mask,     set_credit_mask:     [bytes; 32] = 288, 256;
        /// Threshold of congestion, 0 to 15: 0 detects none, 15 detects it at the smallest backlog.
        threshold,       set_threshold:       u8          = 544, 4;
        #[doc(hidden)]
        reserved1,       set_reserved1:       u8          = 548, 4;
        /// Packets shorter than this many units of 64 bytes are not marked.
        packet_size,     set_packet_size:     u8          = 552, 8;
        /// Threshold of credit starvation.
        cs_threshold,    set_cs_threshold:    u8          = 560, 4;
        #[doc(hidden)]
        reserved2,       set_reserved2:       u16         = 564, 12;
        /// Time until a mark counts, as shift and multiplier.
        cs_return_delay, set_cs_return_delay: u16         = 576, 16;
        /// Packets between two marks.
        marking_rate,    set_marking_rate:    u16         = 592, 16;
    }
}

impl Attribute for SwitchCongestionSetting {
    const ID: AttributeId = AttributeId(0x0014);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Rules by which each of 32 ports of a switch marks packets. The modifier is the block.
    ///
    /// Source: IBA vol. 1, A10.4.3; `attributes.csv`, struct `SwitchPortCongestionSetting`.
    pub struct SwitchPortCongestionSetting("SwitchPortCongestionSetting", 128 bytes) {
        /// One entry for each port of the block.
        switch_port_congestion_setting_list, set_switch_port_congestion_setting_list: [SwitchPortCongestionSettingElement; 32] = 0, 1024;
    }
}

impl Attribute for SwitchPortCongestionSetting {
    const ID: AttributeId = AttributeId(0x0015);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Rules by which one port marks packets.
    ///
    /// Source: IBA vol. 1, A10.4.3; `attributes.csv`, struct `SwitchPortCongestionSettingElement`.
    pub struct SwitchPortCongestionSettingElement("SwitchPortCongestionSettingElement", 4 bytes) {
        /// The entry is to be used.
        valid,                  set_valid:                  bool = 0, 1;
        /// 0: the entry's packet threshold counts, 1: its credit starvation.
        control_type,           set_control_type:           bool = 1, 1;
        #[doc(hidden)]
        reserved1,              set_reserved1:              u8   = 2, 2;
        /// Threshold of congestion, 0 to 15: 0 detects none, 15 detects it at the smallest backlog.
        threshold,              set_threshold:              u8   = 4, 4;
        /// Packets shorter than this many units of 64 bytes are not marked.
        packet_size,            set_packet_size:            u8   = 8, 8;
        /// Packets between two marks.
        cong_parm_marking_rate, set_cong_parm_marking_rate: u16  = 16, 16;
    }
}

wire_struct! {
    /// The reaction of a CA to notifications of congestion.
    ///
    /// Source: IBA vol. 1, A10.4.3; `attributes.csv`, struct `CACongestionSetting`.
    pub struct CaCongestionSetting("CACongestionSetting", 132 bytes) {
        /// True if the settings are per queue pair or per service level.
        port_control,             set_port_control:             u16                     = 0, 16;
        /// The following fields that are to be used, one bit each.
        control_map,              set_control_map:              u16                     = 16, 16;
        /// One entry for each service level.
        ca_congestion_entry_list, set_ca_congestion_entry_list: [CaCongestionEntry; 16] = 32, 1024;
    }
}

impl Attribute for CaCongestionSetting {
    const ID: AttributeId = AttributeId(0x0016);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// The reaction of a CA to notifications of congestion on one service level.
    ///
    /// Source: IBA vol. 1, A10.4.3; `attributes.csv`, struct `CACongestionEntry`.
    pub struct CaCongestionEntry("CACongestionEntry", 8 bytes) {
        /// Time after which the index falls by one, in units of 1.024 us.
        ccti_timer,        set_ccti_timer:        u16 = 0, 16;
        /// By how much a notification raises the index.
        ccti_increase,     set_ccti_increase:     u8  = 16, 8;
        /// Index at which an event is logged.
        trigger_threshold, set_trigger_threshold: u8  = 24, 8;
        /// Lowest index.
        ccti_min,          set_ccti_min:          u8  = 32, 8;
        #[doc(hidden)]
        reserved1,         set_reserved1:         u32 = 40, 24;
    }
}

wire_struct! {
    /// Delays between packets by index: 64 entries. The modifier is the block.
    ///
    /// Source: IBA vol. 1, A10.4.3; `attributes.csv`, struct `CongestionControlTable`.
    pub struct CongestionControlTable("CongestionControlTable", 132 bytes) {
        /// Highest index in use.
        ccti_limit,                          set_ccti_limit:                          u16                               = 0, 16;
        #[doc(hidden)]
        reserved1,                           set_reserved1:                           u16                               = 16, 16;
        /// Delays between packets, by index.
        congestion_control_table_entry_list, set_congestion_control_table_entry_list: [CongestionControlTableEntry; 64] = 32, 1024;
    }
}

impl Attribute for CongestionControlTable {
    const ID: AttributeId = AttributeId(0x0017);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// A delay between packets: multiplier shifted right by the shift.
    ///
    /// Source: IBA vol. 1, A10.4.3; `attributes.csv`, struct `CongestionControlTableEntry`.
    pub struct CongestionControlTableEntry("CongestionControlTableEntry", 2 bytes) {
        /// Exponent of the delay between packets.
        cct_shift,      set_cct_shift:      u8  = 0, 2;
        /// Factor of the delay between packets.
        cct_multiplier, set_cct_multiplier: u16 = 2, 14;
    }
}
