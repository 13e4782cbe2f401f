//! InformInfo: a subscription to notices (IBA vol. 1, 13.4.8.3).
//!
//! A port sets it at the subnet administrator to have notices sent to it as Reports, or no longer.

use ib_wire::{Gid, Lid, Qpn, table::Layout, wire_struct};

use crate::{Attribute, AttributeId, RespTime};

wire_struct! {
    /// The notices that a subscriber wants.
    ///
    /// Source: IBA vol. 1, 13.4.8.3; `attributes.csv`, struct `InformInfo`.
    pub struct InformInfo("InformInfo", 36 bytes) {
        /// GID of the port that the notices are about; 0: the range of LIDs counts.
        gid,             set_gid:             Gid      = 0, 128;
        /// First LID of the ports that the notices are about; 0xFFFF: all.
        lid_range_begin, set_lid_range_begin: Lid      = 128, 16;
        /// Last LID of the range.
        lid_range_end,   set_lid_range_end:   Lid      = 144, 16;
        #[doc(hidden)]
        reserved1,       set_reserved1:       u16      = 160, 16;
        /// 1: notices of the specification; 0: a vendor's; 0xFF: both.
        is_generic,      set_is_generic:      u8       = 176, 8;
        /// 1 subscribes, 0 unsubscribes.
        subscribe,       set_subscribe:       u8       = 184, 8;
        /// The [`NoticeType`](crate::NoticeType); 0xFFFF: all.
        type_,           set_type:            u16      = 192, 16;
        /// The trap number, or a vendor's device ID; 0xFFFF: all.
        trap_number,     set_trap_number:     u16      = 208, 16;
        /// Queue pair of the subscriber that gets the reports.
        qpn,             set_qpn:             Qpn      = 224, 24;
        #[doc(hidden)]
        reserved2,       set_reserved2:       u8       = 248, 3;
        /// Longest time until the subscriber answers a report.
        resp_time_value, set_resp_time_value: RespTime = 251, 5;
        #[doc(hidden)]
        reserved3,       set_reserved3:       u8       = 256, 8;
        /// The [`ProducerType`](crate::ProducerType), or a vendor's OUI; 0xFFFFFF: all.
        producer_type,   set_producer_type:   u32      = 264, 24;
    }
}

impl Attribute for InformInfo {
    const ID: AttributeId = AttributeId(0x0003);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
