//! Congestion control: marking in switches, slowing down in CAs (IBA vol. 1, annex A10).

mod info;
mod log;
mod setting;

use bitflags::bitflags;

pub use info::{CongestionInfo, CongestionKeyInfo, Timestamp};
pub use log::{
    CongestionLogCa, CongestionLogEventCa, CongestionLogEventSwitch, CongestionLogSwitch,
};
pub use setting::{
    CaCongestionEntry, CaCongestionSetting, CongestionControlTable, CongestionControlTableEntry,
    SwitchCongestionSetting, SwitchPortCongestionSetting, SwitchPortCongestionSettingElement,
};

bitflags! {
    /// Capabilities of a congestion control agent: its `ClassPortInfo.capability_mask`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CcCapabilities: u16 {
        /// `IsTrapSupported`.
        const IS_TRAP_SUPPORTED = 1 << 0;
        /// `IsGetSetNoticeSupported`.
        const IS_GET_SET_NOTICE_SUPPORTED = 1 << 1;
        /// `IsCapabilityMask2Supported`.
        const IS_CAPABILITY_MASK2_SUPPORTED = 1 << 2;
        /// `EnhancedPort0CC`.
        const ENHANCED_PORT0_CC = 1 << 8;
        const _ = !0;
    }
}
