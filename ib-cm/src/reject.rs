//! Why a connection is rejected, and what would have been right (IBA vol. 1, 12.6.7.2).

use ib_wire::{Gid, Guid, Lid, Mtu, Rate, Sl, code_points};

use super::{Apr, AprStatus, Rej};
use ib_mad::ClassPortInfo;

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

/// The value that would be accepted, as far as a rejection has one.
///
/// Values of less than a byte have the place that they have in REQ: service level, MTU and flow label at
/// the top, the rate at the bottom. The specification gives them no other place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejInformation<'a> {
    /// Nothing is said.
    None,
    /// GUID of the CA that gave up waiting.
    CaGuid(Guid),
    /// The GID of a port that would be accepted, or that is to be connected to.
    Gid(Gid),
    /// The LID of a port that would be accepted.
    Lid(Lid),
    /// The service level that would be accepted.
    Sl(Sl),
    /// The traffic class that would be accepted.
    TrafficClass(u8),
    /// The hop limit that would be accepted.
    HopLimit(u8),
    /// The rate that would be accepted.
    PacketRate(Rate),
    /// The largest MTU that would be accepted.
    PathMtu(Mtu),
    /// The flow label that would be accepted: 20 bits.
    FlowLabel(u32),
    /// The highest version of the class that is understood.
    ClassVersion(u8),
    /// Whom to ask or connect to instead.
    Redirect(&'a ClassPortInfo),
    /// The consumer's own words.
    Consumer(&'a [u8]),
    /// Bytes that the reason has no use for, or too few of them.
    Other(&'a [u8]),
}

/// The additional information that belongs to a reason or a status.
#[derive(Clone, Copy)]
enum Kind {
    CaGuid,
    Gid,
    Lid,
    Sl,
    TrafficClass,
    HopLimit,
    PacketRate,
    PathMtu,
    FlowLabel,
    ClassVersion,
    Redirect,
    Consumer,
}

impl Rej {
    /// The value that would be accepted.
    #[must_use]
    pub fn information(&self) -> RejInformation<'_> {
        let kind = match self.reason() {
            RejReason::TIMEOUT => Some(Kind::CaGuid),
            RejReason::PRIMARY_REMOTE_PORT_GID_REJECTED
            | RejReason::ALTERNATE_REMOTE_PORT_GID_REJECTED => Some(Kind::Gid),
            RejReason::PRIMARY_REMOTE_PORT_LID_REJECTED
            | RejReason::ALTERNATE_REMOTE_PORT_LID_REJECTED => Some(Kind::Lid),
            RejReason::INVALID_PRIMARY_SL | RejReason::INVALID_ALTERNATE_SL => Some(Kind::Sl),
            RejReason::INVALID_PRIMARY_TRAFFIC_CLASS
            | RejReason::INVALID_ALTERNATE_TRAFFIC_CLASS => Some(Kind::TrafficClass),
            RejReason::INVALID_PRIMARY_HOP_LIMIT | RejReason::INVALID_ALTERNATE_HOP_LIMIT => {
                Some(Kind::HopLimit)
            }
            RejReason::INVALID_PRIMARY_PACKET_RATE | RejReason::INVALID_ALTERNATE_PACKET_RATE => {
                Some(Kind::PacketRate)
            }
            RejReason::INVALID_PATH_MTU => Some(Kind::PathMtu),
            RejReason::INVALID_PRIMARY_FLOW_LABEL | RejReason::INVALID_ALTERNATE_FLOW_LABEL => {
                Some(Kind::FlowLabel)
            }
            RejReason::INVALID_CLASS_VERSION => Some(Kind::ClassVersion),
            // The first is followed by a ClassPortInfo; of the second some send only the GID.
            RejReason::PORT_AND_CM_REDIRECTION | RejReason::PORT_REDIRECTION => {
                Some(Kind::Redirect)
            }
            RejReason::CONSUMER_REJECT => Some(Kind::Consumer),
            _ => None,
        };
        read(
            kind,
            self.additional_reject_information(),
            self.reject_info_length(),
        )
    }
}

impl Apr {
    /// The value that would be accepted.
    #[must_use]
    pub fn information(&self) -> RejInformation<'_> {
        let kind = match self.ap_status() {
            AprStatus::REDIRECTED => Some(Kind::Redirect),
            AprStatus::INVALID_LID => Some(Kind::Lid),
            AprStatus::INVALID_GID => Some(Kind::Gid),
            AprStatus::INVALID_FLOW_LABEL => Some(Kind::FlowLabel),
            AprStatus::INVALID_TRAFFIC_CLASS => Some(Kind::TrafficClass),
            AprStatus::INVALID_HOP_LIMIT => Some(Kind::HopLimit),
            AprStatus::INVALID_PACKET_RATE => Some(Kind::PacketRate),
            AprStatus::INVALID_SL => Some(Kind::Sl),
            _ => None,
        };
        read(
            kind,
            self.additional_information(),
            self.additional_information_length(),
        )
    }
}

/// Reads the first `len` bytes of `all` as information of this kind.
fn read(kind: Option<Kind>, all: &[u8; 72], len: u8) -> RejInformation<'_> {
    use RejInformation as Information;

    let bytes = all.get(..usize::from(len)).unwrap_or(all);
    let byte = bytes.first().copied();
    let gid = || Some(Information::Gid(Gid(*bytes.first_chunk()?)));
    let typed = kind.and_then(|kind| match kind {
        Kind::CaGuid => {
            let guid = bytes.first_chunk()?;
            Some(Information::CaGuid(Guid(u64::from_be_bytes(*guid))))
        }
        Kind::Gid => gid(),
        Kind::Lid => {
            let lid = bytes.first_chunk()?;
            Some(Information::Lid(Lid(u16::from_be_bytes(*lid))))
        }
        Kind::Sl => byte.map(|byte| Information::Sl(Sl::from_low_bits(byte >> 4))),
        Kind::TrafficClass => byte.map(Information::TrafficClass),
        Kind::HopLimit => byte.map(Information::HopLimit),
        Kind::PacketRate => byte.map(|byte| Information::PacketRate(Rate(byte & 0x3f))),
        Kind::PathMtu => byte.map(|byte| Information::PathMtu(Mtu(byte >> 4))),
        Kind::FlowLabel => {
            let [high, middle, low] = *bytes.first_chunk()?;
            let label = u32::from_be_bytes([0, high, middle, low]) >> 4;
            Some(Information::FlowLabel(label))
        }
        Kind::ClassVersion => byte.map(Information::ClassVersion),
        Kind::Redirect => match ClassPortInfo::parse(bytes, 0) {
            Ok((info, _)) => Some(Information::Redirect(info)),
            Err(_) => gid(),
        },
        Kind::Consumer => byte.map(|_| Information::Consumer(bytes)),
    });
    match typed {
        Some(information) => information,
        None if bytes.is_empty() => Information::None,
        None => Information::Other(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rej(reason: RejReason, bytes: &[u8]) -> Rej {
        let mut all = [0xff; 72];
        all[..bytes.len()].copy_from_slice(bytes);
        let mut rej = Rej::default();
        rej.set_reason(reason)
            .set_reject_info_length(bytes.len() as u8)
            .set_additional_reject_information(&all);
        rej
    }

    #[test]
    fn each_reason_that_carries_something_says_what() {
        let gid = [0x11; 16];
        let info = ClassPortInfo::default();
        let guid = 0x0002_c903_0011_2233_u64;
        for (reasons, bytes, expected) in [
            (
                &[4][..],
                &guid.to_be_bytes()[..],
                RejInformation::CaGuid(Guid(guid)),
            ),
            (&[12, 18, 25], &gid, RejInformation::Gid(Gid(gid))),
            (&[13, 19], &[0x12, 0x34], RejInformation::Lid(Lid(0x1234))),
            (&[14, 20], &[0x50], RejInformation::Sl(Sl::from_low_bits(5))),
            (&[15, 21], &[0x81], RejInformation::TrafficClass(0x81)),
            (&[16, 22], &[64], RejInformation::HopLimit(64)),
            (&[17, 23], &[7], RejInformation::PacketRate(Rate(7))),
            (&[24, 25], info.as_bytes(), RejInformation::Redirect(&info)),
            (&[26], &[0x40], RejInformation::PathMtu(Mtu::MTU_2048)),
            (&[28], b"no", RejInformation::Consumer(b"no")),
            (&[31], &[2], RejInformation::ClassVersion(2)),
            (
                &[32, 33],
                &[0xab, 0xcd, 0xe0],
                RejInformation::FlowLabel(0xabcde),
            ),
        ] {
            for &reason in reasons {
                let rej = rej(RejReason(reason), bytes);
                assert_eq!(rej.information(), expected, "{}", rej.reason());
            }
        }
    }

    #[test]
    fn every_reason_without_bytes_says_nothing() {
        for &(reason, _) in RejReason::NAMED {
            let rej = rej(reason, &[]);
            assert_eq!(rej.information(), RejInformation::None, "{reason}");
        }
    }

    #[test]
    fn what_a_reason_has_no_use_for_or_too_little_of_stays_bytes() {
        for (reason, bytes) in [(1, &[1, 2][..]), (10, &[3]), (12, &[0; 15]), (4, &[0; 7])] {
            let rej = rej(RejReason(reason), bytes);
            assert_eq!(rej.information(), RejInformation::Other(bytes), "{reason}");
        }
    }

    #[test]
    fn no_length_reaches_beyond_the_field() {
        let mut rej = rej(RejReason::CONSUMER_REJECT, &[0; 72]);
        rej.set_reject_info_length(127);
        assert_eq!(rej.information(), RejInformation::Consumer(&[0; 72]));
    }

    #[test]
    fn an_alternate_path_is_refused_in_the_same_words() {
        let mut apr = Apr::default();
        let mut all = [0; 72];
        all[0] = 0x30;
        apr.set_ap_status(AprStatus::INVALID_SL)
            .set_additional_information_length(1)
            .set_additional_information(&all);
        assert_eq!(apr.information(), RejInformation::Sl(Sl::from_low_bits(3)));
        apr.set_ap_status(AprStatus::LOADED)
            .set_additional_information_length(0);
        assert_eq!(apr.information(), RejInformation::None);
    }
}
