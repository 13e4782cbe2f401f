//! The congestion control attributes of devices, as pure functions of the options.

use ib_mad::{
    CaCongestionEntry, CaCongestionSetting, CongestionControlTable, CongestionControlTableEntry,
    SwitchCongestionSetting,
};

use crate::config::{CongestionOptions, Delay};

/// Entries of a block of the congestion control table.
pub(super) const BLOCK: u16 = 64;

/// SwitchCongestionSetting of every switch.
pub(super) fn of_switch(options: &CongestionOptions) -> SwitchCongestionSetting {
    let wanted = &options.switch;
    let mut setting = SwitchCongestionSetting::default();
    setting
        .set_control_map(wanted.control_map)
        .set_victim_mask(&wanted.victim_mask.0)
        .set_credit_mask(&wanted.credit_mask.0)
        .set_threshold(wanted.threshold)
        .set_packet_size(wanted.packet_size)
        .set_cs_threshold(wanted.credit_starvation_threshold)
        .set_cs_return_delay(code(wanted.return_delay))
        .set_marking_rate(wanted.marking_rate);
    setting
}

/// CACongestionSetting of every port of a CA.
pub(super) fn of_ca(options: &CongestionOptions) -> CaCongestionSetting {
    let wanted = &options.ca;
    let mut setting = CaCongestionSetting::default();
    setting
        .set_port_control(wanted.port_control)
        .set_control_map(wanted.control_map);
    for (level, values) in wanted.levels.iter().enumerate() {
        let mut entry = CaCongestionEntry::default();
        entry
            .set_ccti_timer(values.timer)
            .set_ccti_increase(values.increase)
            .set_trigger_threshold(values.trigger_threshold)
            .set_ccti_min(values.min);
        setting.set_ca_congestion_entry_list(level, &entry);
    }
    setting
}

/// Blocks of the congestion control table that the options fill.
pub(super) fn table_blocks(options: &CongestionOptions) -> u8 {
    let blocks = options.table.len().div_ceil(BLOCK.into());
    u8::try_from(blocks).unwrap_or(u8::MAX)
}

/// One block of the congestion control table. Its limit field is the last index in use in the whole table.
pub(super) fn table_block(options: &CongestionOptions, block: u8) -> CongestionControlTable {
    let mut table = CongestionControlTable::default();
    let last = options.table.len().saturating_sub(1);
    table.set_ccti_limit(u16::try_from(last).unwrap_or(u16::MAX));
    let before = usize::from(block).saturating_mul(BLOCK.into());
    let delays = options.table.iter().skip(before).take(BLOCK.into());
    for (index, delay) in delays.enumerate() {
        let mut entry = CongestionControlTableEntry::default();
        entry
            .set_cct_shift(delay.shift)
            .set_cct_multiplier(delay.multiplier);
        table.set_congestion_control_table_entry_list(index, &entry);
    }
    table
}

/// A delay as a table entry encodes it: 2 bits of shift, 14 of multiplier.
const fn code(delay: Delay) -> u16 {
    (delay.shift as u16) << 14 | delay.multiplier & 0x3fff
}
