//! Values that messages share: kinds of connections, states of a path or a service, abilities.

use bitflags::bitflags;
use ib_wire::code_points;

code_points! {
    /// Kind of connection (`REQ.transport_service_type`).
    pub struct TransportService(u8) {
        RC       = 0 => "RC",
        UC       = 1 => "UC",
        RD       = 2 => "RD",
        /// `REQ.extended_transport_type` says which.
        EXTENDED = 3 => "Extended",
    }
}

code_points! {
    /// The message that an MRA or a REJ answers.
    pub struct CmMessage(u8) {
        REQ   = 0 => "REQ",
        REP   = 1 => "REP",
        /// In an MRA a LAP; in a REJ no message at all.
        OTHER = 2 => "Other",
    }
}

code_points! {
    /// Response to an alternate path (`APR.ap_status`).
    ///
    /// Source: IBA vol. 1, 12.8.2.
    pub struct AprStatus(u8) {
        LOADED                         = 0  => "Loaded",
        INVALID_COMMUNICATION_INSTANCE = 1  => "InvalidCommunicationInstance",
        UNSUPPORTED                    = 2  => "Unsupported",
        REJECTED                       = 3  => "Rejected",
        /// The additional information is a ClassPortInfo.
        REDIRECTED                     = 4  => "Redirected",
        /// The path offered is the one in use.
        SAME_AS_PRIMARY                = 5  => "SameAsPrimary",
        INVALID_QPN_OR_EECN            = 6  => "InvalidQpnOrEecn",
        INVALID_LID                    = 7  => "InvalidLid",
        INVALID_GID                    = 8  => "InvalidGid",
        INVALID_FLOW_LABEL             = 9  => "InvalidFlowLabel",
        INVALID_TRAFFIC_CLASS          = 10 => "InvalidTrafficClass",
        INVALID_HOP_LIMIT              = 11 => "InvalidHopLimit",
        INVALID_PACKET_RATE            = 12 => "InvalidPacketRate",
        INVALID_SL                     = 13 => "InvalidSl",
    }
}

code_points! {
    /// True if a service was found (`SIDR_REP.status`).
    ///
    /// Source: IBA vol. 1, 12.11.2.
    pub struct SidrStatus(u8) {
        VALID                   = 0 => "Valid",
        SERVICE_NOT_SUPPORTED   = 1 => "ServiceNotSupported",
        REJECTED                = 2 => "Rejected",
        NO_QP                   = 3 => "NoQp",
        /// The additional information is a ClassPortInfo.
        REDIRECTED              = 4 => "Redirected",
        UNSUPPORTED_VERSION     = 5 => "UnsupportedVersion",
    }
}

bitflags! {
    /// Capabilities of a communication manager: its `ClassPortInfo.capability_mask`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CmCapabilities: u16 {
        /// Sets reliable connections up.
        const IS_RELIABLE_CONNECTION_CAPABLE = 1 << 9;
        /// Sets reliable datagram channels up.
        const IS_RELIABLE_DATAGRAM_CAPABLE = 1 << 10;
        /// Knows raw datagrams.
        const IS_RAW_DATAGRAM_CAPABLE = 1 << 11;
        /// Sets unreliable connections up.
        const IS_UNRELIABLE_CONNECTION_CAPABLE = 1 << 12;
        /// Answers service ID resolution.
        const IS_SERVICE_ID_RESOLUTION_CAPABLE = 1 << 13;
        const _ = !0;
    }
}
