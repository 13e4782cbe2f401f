//! Why a connection is rejected, and what would have been right (IBA vol. 1, 12.6.7.2).

use ib_wire::{Gid, Lid, code_points};

use super::Rej;
use crate::ClassPortInfo;

code_points! {
    /// Why a connection is rejected (`REJ.reason`).
    ///
    /// Source: IBA vol. 1, 12.6.7.2.
    pub struct RejReason(u16) {
        NO_QP                             = 1  => "NoQp",
        NO_EEC                            = 2  => "NoEec",
        NO_RESOURCES                      = 3  => "NoResources",
        TIMEOUT                           = 4  => "Timeout",
        UNSUPPORTED_REQUEST               = 5  => "UnsupportedRequest",
        INVALID_COMMUNICATION_ID          = 6  => "InvalidCommunicationId",
        INVALID_COMMUNICATION_INSTANCE    = 7  => "InvalidCommunicationInstance",
        INVALID_SERVICE_ID                = 8  => "InvalidServiceId",
        INVALID_TRANSPORT_SERVICE_TYPE    = 9  => "InvalidTransportServiceType",
        /// The queue pair still belongs to an older connection.
        STALE_CONNECTION                  = 10 => "StaleConnection",
        RDC_DOES_NOT_EXIST                = 11 => "RdcDoesNotExist",
        PRIMARY_REMOTE_PORT_GID_REJECTED  = 12 => "PrimaryRemotePortGidRejected",
        PRIMARY_REMOTE_PORT_LID_REJECTED  = 13 => "PrimaryRemotePortLidRejected",
        INVALID_PRIMARY_SL                = 14 => "InvalidPrimarySl",
        INVALID_PRIMARY_TRAFFIC_CLASS     = 15 => "InvalidPrimaryTrafficClass",
        INVALID_PRIMARY_HOP_LIMIT         = 16 => "InvalidPrimaryHopLimit",
        INVALID_PRIMARY_PACKET_RATE       = 17 => "InvalidPrimaryPacketRate",
        ALTERNATE_REMOTE_PORT_GID_REJECTED = 18 => "AlternateRemotePortGidRejected",
        ALTERNATE_REMOTE_PORT_LID_REJECTED = 19 => "AlternateRemotePortLidRejected",
        INVALID_ALTERNATE_SL              = 20 => "InvalidAlternateSl",
        INVALID_ALTERNATE_TRAFFIC_CLASS   = 21 => "InvalidAlternateTrafficClass",
        INVALID_ALTERNATE_HOP_LIMIT       = 22 => "InvalidAlternateHopLimit",
        INVALID_ALTERNATE_PACKET_RATE     = 23 => "InvalidAlternatePacketRate",
        /// Ask the communication manager that the additional information names.
        PORT_AND_CM_REDIRECTION           = 24 => "PortAndCmRedirection",
        /// Connect to the port that the additional information names.
        PORT_REDIRECTION                  = 25 => "PortRedirection",
        INVALID_PATH_MTU                  = 26 => "InvalidPathMtu",
        INSUFFICIENT_RESPONDER_RESOURCES  = 27 => "InsufficientResponderResources",
        /// The consumer refused; its private data says why.
        CONSUMER_REJECT                   = 28 => "ConsumerReject",
        RNR_RETRY_COUNT_REJECT            = 29 => "RnrRetryCountReject",
        DUPLICATE_LOCAL_COMMUNICATION_ID  = 30 => "DuplicateLocalCommunicationId",
        INVALID_CLASS_VERSION             = 31 => "InvalidClassVersion",
        INVALID_PRIMARY_FLOW_LABEL        = 32 => "InvalidPrimaryFlowLabel",
        INVALID_ALTERNATE_FLOW_LABEL      = 33 => "InvalidAlternateFlowLabel",
    }
}

/// What would have been right, as far as a rejection says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejInformation<'a> {
    /// Nothing is said.
    None,
    /// The GID of a port that would be accepted.
    Gid(Gid),
    /// The LID of a port that would be accepted.
    Lid(Lid),
    /// Whom to ask or connect to instead.
    Redirect(&'a ClassPortInfo),
    /// The bytes; their meaning goes with the reason.
    Other(&'a [u8]),
}

impl Rej {
    /// What would have been right.
    #[must_use]
    pub fn information(&self) -> RejInformation<'_> {
        let all = self.additional_reject_information();
        let len = usize::from(self.reject_info_length()).min(all.len());
        let bytes = all.get(..len).unwrap_or(all);
        let typed = match self.reason() {
            RejReason::PRIMARY_REMOTE_PORT_GID_REJECTED
            | RejReason::ALTERNATE_REMOTE_PORT_GID_REJECTED => bytes
                .first_chunk()
                .map(|gid| RejInformation::Gid(Gid(*gid))),
            RejReason::PRIMARY_REMOTE_PORT_LID_REJECTED
            | RejReason::ALTERNATE_REMOTE_PORT_LID_REJECTED => bytes
                .first_chunk()
                .map(|lid| RejInformation::Lid(Lid(u16::from_be_bytes(*lid)))),
            RejReason::PORT_AND_CM_REDIRECTION | RejReason::PORT_REDIRECTION => {
                ClassPortInfo::parse(bytes, 0)
                    .ok()
                    .map(|(info, _)| RejInformation::Redirect(info))
            }
            _ => None,
        };
        match typed {
            Some(information) => information,
            None if bytes.is_empty() => RejInformation::None,
            None => RejInformation::Other(bytes),
        }
    }
}
