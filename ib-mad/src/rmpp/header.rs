//! The RMPP header: bytes 24..36 of a datagram whose class has one (IBA vol. 1, 13.6.2).
//!
//! It numbers the segments of a message that does not fit one datagram. Pitfall: the payload length
//! means one thing in the first segment and another in the last.

use ib_wire::{code_points, wire_struct};

use crate::RespTime;

code_points! {
    /// Type of RMPP packet (`rmpp_type`).
    pub struct RmppType(u8) {
        /// Not an RMPP packet: RMPP is not active.
        NONE  = 0 => "None",
        DATA  = 1 => "DATA",
        ACK   = 2 => "ACK",
        /// The receiver has no room.
        STOP  = 3 => "STOP",
        /// One side found an error.
        ABORT = 4 => "ABORT",
    }
}

code_points! {
    /// Why a transfer ends (`rmpp_status`); 118..=127 are for ABORT.
    pub struct RmppStatus(u8) {
        /// Of every DATA and ACK.
        NORMAL                                = 0   => "Normal",
        /// The only one of STOP.
        RESOURCES_EXHAUSTED                   = 1   => "ResourcesExhausted",
        TOTAL_TIME_TOO_LONG                   = 118 => "TotalTimeTooLong",
        INCONSISTENT_LAST_AND_PAYLOAD_LENGTH  = 119 => "InconsistentLastAndPayloadLength",
        INCONSISTENT_FIRST_AND_SEGMENT_NUMBER = 120 => "InconsistentFirstAndSegmentNumber",
        BAD_RMPP_TYPE                         = 121 => "BadRMPPType",
        NEW_WINDOW_LAST_TOO_SMALL             = 122 => "NewWindowLastTooSmall",
        SEGMENT_NUMBER_TOO_BIG                = 123 => "SegmentNumberTooBig",
        ILLEGAL_STATUS                        = 124 => "IllegalStatus",
        UNSUPPORTED_VERSION                   = 125 => "UnsupportedVersion",
        TOO_MANY_RETRIES                      = 126 => "TooManyRetries",
        UNSPECIFIED                           = 127 => "Unspecified",
    }
}

/// Declares the RMPP header of a type: the rows that all types share, then those of two words that
/// belong to the type.
macro_rules! rmpp_header {
    (
        $(#[$meta:meta])*
        pub struct $name:ident($spec:literal) { $($rows:tt)* }
    ) => {
        wire_struct! {
            $(#[$meta])*
            pub struct $name($spec, 12 bytes) {
                /// 1 if RMPP is active.
                rmpp_version, set_rmpp_version: u8         = 0, 8;
                /// Type of packet.
                rmpp_type,    set_rmpp_type:    RmppType   = 8, 8;
                /// Time that the sender takes to answer; 31: not said.
                r_resp_time,  set_r_resp_time:  RespTime   = 16, 5;
                /// This is the last segment.
                last,         set_last:         bool       = 21, 1;
                /// This is the first segment.
                first,        set_first:        bool       = 22, 1;
                /// RMPP is in use; else the other fields mean nothing.
                active,       set_active:       bool       = 23, 1;
                /// Why the transfer ends; 0 in DATA and ACK.
                rmpp_status,  set_rmpp_status:  RmppStatus = 24, 8;
                $($rows)*
            }
        }
    };
}

rmpp_header! {
    /// The RMPP header of any type.
    ///
    /// Source: IBA vol. 1, 13.6.2.1; `headers.csv`, struct `RMPPHeader`.
    pub struct RmppHeader("RMPPHeader") {
        /// Belongs to the type.
        data1,        set_data1:        u32        = 32, 32;
        /// Belongs to the type.
        data2,        set_data2:        u32        = 64, 32;
    }
}

rmpp_header! {
    /// The RMPP header of a segment.
    ///
    /// Source: IBA vol. 1, 13.6.2.2; `headers.csv`, struct `RMPPData`.
    pub struct RmppData("RMPPData") {
        /// Number of the segment, from 1.
        segment_number, set_segment_number: u32        = 32, 32;
        /// In the first segment the bytes after the RMPP header of all segments together, in the
        /// last one those of this one.
        payload_length, set_payload_length: u32        = 64, 32;
    }
}

rmpp_header! {
    /// The RMPP header of an acknowledgement.
    ///
    /// Source: IBA vol. 1, 13.6.2.3; `headers.csv`, struct `RMPPAck`.
    pub struct RmppAck("RMPPAck") {
        /// Highest segment up to which all have arrived.
        segment_number,  set_segment_number:  u32        = 32, 32;
        /// Last segment that the sender may send.
        new_window_last, set_new_window_last: u32        = 64, 32;
    }
}

rmpp_header! {
    /// The RMPP header with which a receiver ends a transfer that it has no room for.
    ///
    /// Source: IBA vol. 1, 13.6.2.4; `headers.csv`, struct `RMPPStop`.
    pub struct RmppStop("RMPPStop") {
        #[doc(hidden)]
        reserved1,    set_reserved1:    u32        = 32, 32;
        #[doc(hidden)]
        reserved2,    set_reserved2:    u32        = 64, 32;
    }
}

rmpp_header! {
    /// The RMPP header with which either side ends a transfer that went wrong.
    ///
    /// Source: IBA vol. 1, 13.6.2.4; `headers.csv`, struct `RMPPAbort`.
    pub struct RmppAbort("RMPPAbort") {
        #[doc(hidden)]
        reserved1,    set_reserved1:    u32        = 32, 32;
        #[doc(hidden)]
        reserved2,    set_reserved2:    u32        = 64, 32;
    }
}
