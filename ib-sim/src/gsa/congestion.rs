//! Congestion control (IBA vol. 1, annex A10): settings of switches and CAs are kept and shown again.
//!
//! No packet of the simulated fabric is marked and no CA slows down, so the logs stay empty.

use ib_mad::{
    Attribute, CaCongestionSetting, ClassPortInfo, CongestionControlTable, CongestionInfo,
    CongestionKeyInfo, CongestionLogCa, CongestionLogSwitch, SwitchCongestionSetting,
    SwitchPortCongestionSetting, Timestamp,
};

use super::{AgentRequest, AgentResult, Refusal};

/// Blocks of 64 entries of a CA's congestion control table.
const TABLE_BLOCKS: u8 = 2;

/// Ports of a block of SwitchPortCongestionSetting.
const PORTS_PER_BLOCK: u32 = 32;

pub(super) fn answer(request: &mut AgentRequest<'_>) -> AgentResult {
    request.check_key(CongestionKeyInfo::ID)?;
    let is_switch = request.is_switch;
    match request.id {
        ClassPortInfo::ID => request.class_port_info(0),
        CongestionInfo::ID => {
            let mut info = CongestionInfo::default();
            info.set_control_table_cap(if is_switch { 0 } else { TABLE_BLOCKS });
            request.fixed(&info)
        }
        CongestionKeyInfo::ID => {
            request.modifier_below(1)?;
            request.key_info(&CongestionKeyInfo::default())
        }
        // The two logs have one number.
        CongestionLogSwitch::ID if is_switch => {
            let mut log = CongestionLogSwitch::default();
            log.set_log_type(1)
                .set_current_time_stamp(time_stamp(request));
            request.fixed(&log)
        }
        CongestionLogCa::ID => {
            let mut log = CongestionLogCa::default();
            log.set_log_type(2)
                .set_current_time_stamp(time_stamp(request));
            request.fixed(&log)
        }
        SwitchCongestionSetting::ID if is_switch => {
            request.modifier_below(1)?;
            request.stored(&SwitchCongestionSetting::default())
        }
        SwitchPortCongestionSetting::ID if is_switch => {
            // Port 0 has an entry too.
            let ports = u32::from(request.num_ports).saturating_add(1);
            request.modifier_below(ports.div_ceil(PORTS_PER_BLOCK))?;
            request.stored(&SwitchPortCongestionSetting::default())
        }
        CaCongestionSetting::ID if !is_switch => {
            request.modifier_below(1)?;
            request.stored(&CaCongestionSetting::default())
        }
        CongestionControlTable::ID if !is_switch => {
            request.modifier_below(TABLE_BLOCKS.into())?;
            request.stored(&CongestionControlTable::default())
        }
        Timestamp::ID => {
            let mut stamp = Timestamp::default();
            stamp.set_timestamp(time_stamp(request));
            request.fixed(&stamp)
        }
        _ => Err(Refusal::UNSUPPORTED),
    }
}

/// The agent's clock, in units of 1.024 us; it wraps.
fn time_stamp(request: &AgentRequest<'_>) -> u32 {
    (request.now.as_nanos() / 1024) as u32
}
