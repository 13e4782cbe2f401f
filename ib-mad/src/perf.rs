//! Performance management: the counters of ports (IBA vol. 1, 16.1).
//!
//! A counter does not wrap: at all ones it stays, and its true value is lost until a Set clears it.

mod by_lane;
mod by_operation;
mod congestion;
mod delta;
mod details;
mod extended_speeds;
mod port_counters;
mod port_counters_cong;
mod port_counters_extended;
mod port_samples;
mod saturation;

use bitflags::bitflags;

pub use by_lane::{
    PortRcvDataSl, PortVlXmitFlowCtlUpdateErrors, PortVlXmitWaitCounters, PortXmitDataSl,
    SwPortVlCongestion,
};
pub use by_operation::{PortFlowCtlCounters, PortOpRcvCounters, PortVlOpData, PortVlOpPackets};
pub use congestion::{
    PortRcvConCtrl, PortSlRcvBecn, PortSlRcvFecn, PortVlXmitTimeCong, PortXmitConCtrl,
};
pub use delta::CounterDelta;
pub use details::{PortRcvErrorDetails, PortXmitDiscardDetails, RcvErrorSelect};
pub use extended_speeds::{
    ExtendedSpeedsCounters, FecMode, PortExtendedSpeedsCounters, PortExtendedSpeedsCountersRsFec,
    extended_speeds_select,
};
pub use port_counters::{CounterSelect, CounterSelect2, PortCounters};
pub use port_counters_cong::{PortCountersCong, PortCountersCongModifier, PortCountersCongSelect};
pub use port_counters_extended::{CounterSelectExtended, PortCountersExtended};
pub use port_samples::{
    PortSamplesControl, PortSamplesResult, PortSamplesResultExtended, SampleStatus,
};
pub use saturation::{CounterName, Counters};

bitflags! {
    /// Capabilities of a performance management agent: its `ClassPortInfo.capability_mask`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct PerfCapabilities: u16 {
        /// `IsTrapSupported`.
        const IS_TRAP_SUPPORTED = 1 << 0;
        /// `IsGetSetNoticeSupported`.
        const IS_GET_SET_NOTICE_SUPPORTED = 1 << 1;
        /// `IsCapabilityMask2Supported`.
        const IS_CAPABILITY_MASK2_SUPPORTED = 1 << 2;
        /// `AllPortSelect`.
        const ALL_PORT_SELECT = 1 << 8;
        /// `IsExtendedWidthSupported`.
        const IS_EXTENDED_WIDTH_SUPPORTED = 1 << 9;
        /// `IsExtendedWidthSupportedNoIETF`.
        const IS_EXTENDED_WIDTH_SUPPORTED_NO_IETF = 1 << 10;
        /// `SamplesOnlySupported`.
        const SAMPLES_ONLY_SUPPORTED = 1 << 11;
        /// `PortCountersXmitWaitSupported`.
        const PORT_COUNTERS_XMIT_WAIT_SUPPORTED = 1 << 12;
        /// `IsInhibitLimitedP_KeyMulticastConstraintErrorsSupported`.
        const IS_INHIBIT_LIMITED_PKEY_MULTICAST_CONSTRAINT_ERRORS_SUPPORTED = 1 << 13;
        /// `IsRSFECModeSupported`.
        const IS_RS_FEC_MODE_SUPPORTED = 1 << 14;
        /// `IsQP1DroppedSupported`.
        const IS_QP1_DROPPED_SUPPORTED = 1 << 15;
        const _ = !0;
    }
}

bitflags! {
    /// Further capabilities of a performance management agent: its `ClassPortInfo.capability_mask2`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct PerfCapabilities2: u32 {
        /// `IsPMKeySupported`.
        const IS_PM_KEY_SUPPORTED = 1 << 0;
        /// `IsAdditionalPortCountersExtendedSupported`.
        const IS_ADDITIONAL_PORT_COUNTERS_EXTENDED_SUPPORTED = 1 << 1;
        const _ = !0;
    }
}

/// Returns true if the field `name` of an attribute counts something.
fn is_counter(name: &str) -> bool {
    !name.starts_with("reserved")
        && !name.ends_with("_select")
        && !name.ends_with("_select2")
        && !matches!(name, "op_code" | "port_check_rate")
}

/// The maximum at which a counter of `bits` bits stays; `None` for more than 64.
fn ones(bits: usize) -> Option<u64> {
    u64::MAX.checked_shr(64u32.checked_sub(u32::try_from(bits).ok()?)?)
}
