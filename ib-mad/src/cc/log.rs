//! CongestionLog: the latest congestion events of a node (IBA vol. 1, A10.4.3.5).
//!
//! Pitfall: it begins at byte 32 of the datagram, where other attributes have a reserved field, and
//! `log_type` says which of the two layouts it has.

use ib_wire::{Lid, Qpn, Sl, table::Layout, wire_struct};

use crate::{Attribute, AttributeId, MgmtClass};

/// First byte of a log in its datagram.
const LOG_OFFSET: usize = 32;

wire_struct! {
    /// The log of a switch.
    ///
    /// Source: IBA vol. 1, A10.4.3; `attributes.csv`, struct `CongestionLogSwitch`.
    pub struct CongestionLogSwitch("CongestionLogSwitch", 220 bytes) {
        /// Kind of node whose log this is: 1 a switch, 2 a CA.
        log_type,                  set_log_type:                  u8                             = 0, 8;
        /// State of congestion control at the port.
        congestion_flags,          set_congestion_flags:          u8                             = 8, 8;
        /// Events so far; saturates.
        log_events_counter,        set_log_events_counter:        u16                            = 16, 16;
        /// The time of the answer, in units of 1.024 us.
        current_time_stamp,        set_current_time_stamp:        u32                            = 32, 32;
        /// Ports that marked packets: one bit each.
        port_map,                  set_port_map:                  [bytes; 32]                    = 64, 256;
        /// The latest events.
        congestion_log_event_list, set_congestion_log_event_list: [CongestionLogEventSwitch; 15] = 320, 1440;
    }
}

impl Attribute for CongestionLogSwitch {
    const ID: AttributeId = AttributeId(0x0013);
    const LAYOUT: &'static Layout = Self::LAYOUT;

    fn offset(_: MgmtClass) -> usize {
        LOG_OFFSET
    }

    fn is_plausible(&self) -> bool {
        self.log_type() == 1
    }
}

wire_struct! {
    /// One marked packet in the log of a switch.
    ///
    /// Source: IBA vol. 1, A10.4.3; `attributes.csv`, struct `CongestionLogEventSwitch`.
    pub struct CongestionLogEventSwitch("CongestionLogEventSwitch", 12 bytes) {
        /// Source LID of the marked packet.
        slid,      set_slid:      Lid = 0, 16;
        /// Destination LID of the marked packet.
        dlid,      set_dlid:      Lid = 16, 16;
        /// Service level of the marked packet.
        sl,        set_sl:        Sl  = 32, 4;
        #[doc(hidden)]
        reserved1, set_reserved1: u32 = 36, 28;
        /// Time of the entry, in units of 1.024 us.
        timestamp, set_timestamp: u32 = 64, 32;
    }
}

wire_struct! {
    /// The log of a CA.
    ///
    /// Source: IBA vol. 1, A10.4.3; `attributes.csv`, struct `CongestionLogCA`.
    pub struct CongestionLogCa("CongestionLogCA", 220 bytes) {
        /// Kind of node whose log this is: 1 a switch, 2 a CA.
        log_type,                       set_log_type:                       u8                         = 0, 8;
        /// State of congestion control at the port.
        congestion_flags,               set_congestion_flags:               u8                         = 8, 8;
        /// Times that the congestion threshold was passed; saturates.
        threshold_event_counter,        set_threshold_event_counter:        u16                        = 16, 16;
        /// Service levels where it was passed: one bit each.
        threshold_congestion_event_map, set_threshold_congestion_event_map: u16                        = 32, 16;
        #[doc(hidden)]
        reserved1,                      set_reserved1:                      u16                        = 48, 16;
        /// The time of the answer, in units of 1.024 us.
        current_time_stamp,             set_current_time_stamp:             u32                        = 64, 32;
        /// The latest events.
        congestion_log_event_list,      set_congestion_log_event_list:      [CongestionLogEventCa; 13] = 96, 1664;
    }
}

impl Attribute for CongestionLogCa {
    const ID: AttributeId = AttributeId(0x0013);
    const LAYOUT: &'static Layout = Self::LAYOUT;

    fn offset(_: MgmtClass) -> usize {
        LOG_OFFSET
    }

    fn is_plausible(&self) -> bool {
        self.log_type() == 2
    }
}

wire_struct! {
    /// One event in the log of a CA.
    ///
    /// Source: IBA vol. 1, A10.4.3; `attributes.csv`, struct `CongestionLogEventCA`.
    pub struct CongestionLogEventCa("CongestionLogEventCA", 16 bytes) {
        /// Queue pair of the event.
        local_qp_cn_entry,         set_local_qp_cn_entry:         Qpn = 0, 24;
        #[doc(hidden)]
        reserved1,                 set_reserved1:                 u8  = 24, 8;
        /// The other end's queue pair.
        remote_qp_number_cn_entry, set_remote_qp_number_cn_entry: Qpn = 32, 24;
        /// Service level.
        sl_cn_entry,               set_sl_cn_entry:               u8  = 56, 4;
        /// Transport: 0 RC, 1 UC, 2 RD, 3 UD.
        service_type_cn_entry,     set_service_type_cn_entry:     u8  = 60, 4;
        /// The other end's LID.
        remote_lid_cn_entry,       set_remote_lid_cn_entry:       Lid = 64, 16;
        #[doc(hidden)]
        reserved2,                 set_reserved2:                 u16 = 80, 16;
        /// Time of the entry, in units of 1.024 us.
        timestamp_cn_entry,        set_timestamp_cn_entry:        u32 = 96, 32;
    }
}
