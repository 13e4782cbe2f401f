//! Notice: the content of a trap or a report (IBA vol. 1, 13.4.8.2 and 14.2.5.1).
//!
//! An agent sends it as a Trap to its manager; the subnet administrator hands it on as a Report to
//! who subscribed. Pitfall: there are two forms. A subnet management datagram has only 64 bytes for
//! data, so [`NoticeSm`] lacks the issuer's GID.

mod details;

use ib_wire::{Gid, Lid, code_points, table::Layout, wire_struct};

use zerocopy::transmute_ref;

use crate::{Attribute, AttributeId, MgmtClass};

pub use details::{
    NoticeDetails64, NoticeDetails128, NoticeDetails129, NoticeDetails144, NoticeDetails145,
    NoticeDetails256, NoticeDetails257, NoticeDetails259, NoticeDetailsBm259, NoticeDetailsBm260,
    NoticeDetailsCc0,
};

wire_struct! {
    /// A notice with its issuer's GID, as all classes but subnet management have it.
    ///
    /// Source: IBA vol. 1, 13.4.8.2; `attributes.csv`, struct `Notice`.
    pub struct Notice("Notice", 80 bytes) {
        /// The notice is one of the specification; else a vendor's.
        is_generic,    set_is_generic:    bool        = 0, 1;
        /// Severity.
        type_,         set_type:          NoticeType  = 1, 7;
        /// Producer of the notice: a [`ProducerType`], or a vendor's OUI.
        producer_type, set_producer_type: u32         = 8, 24;
        /// Kind of event: a [`TrapNumber`], or a vendor's device ID.
        trap_number,   set_trap_number:   u16         = 32, 16;
        /// LID of the port that issues the notice.
        issuer_lid,    set_issuer_lid:    Lid         = 48, 16;
        /// Changes with each new notice in a queue.
        notice_toggle, set_notice_toggle: bool        = 64, 1;
        /// Notices in the queue.
        notice_count,  set_notice_count:  u16         = 65, 15;
        /// Details of the event; the layout depends on the trap number.
        data_details,  set_data_details:  [secret; 54] = 80, 432;
        /// GID of the port that issues the notice; the subnet administrator fills it in.
        issuer_gid,    set_issuer_gid:    Gid         = 512, 128;
    }
}

impl Attribute for Notice {
    const ID: AttributeId = AttributeId(0x0002);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// A notice of subnet management: the first 64 bytes of a [`Notice`].
    ///
    /// Source: IBA vol. 1, 14.2.5.1; `attributes.csv`, struct `NoticeSM`.
    pub struct NoticeSm("NoticeSM", 64 bytes) {
        /// The notice is one of the specification; else a vendor's.
        is_generic,    set_is_generic:    bool        = 0, 1;
        /// Severity.
        type_,         set_type:          NoticeType  = 1, 7;
        /// Producer of the notice: a [`ProducerType`], or a vendor's OUI.
        producer_type, set_producer_type: u32         = 8, 24;
        /// Kind of event: a [`TrapNumber`], or a vendor's device ID.
        trap_number,   set_trap_number:   u16         = 32, 16;
        /// LID of the port that issues the notice.
        issuer_lid,    set_issuer_lid:    Lid         = 48, 16;
        /// Changes with each new notice in a queue.
        notice_toggle, set_notice_toggle: bool        = 64, 1;
        /// Notices in the queue.
        notice_count,  set_notice_count:  u16         = 65, 15;
        /// Details of the event; the layout depends on the trap number.
        data_details,  set_data_details:  [secret; 54] = 80, 432;
    }
}

impl Attribute for NoticeSm {
    const ID: AttributeId = AttributeId(0x0002);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

code_points! {
    /// Severity of a notice (`Notice.type`).
    pub struct NoticeType(u8) {
        FATAL             = 0   => "Fatal",
        URGENT            = 1   => "Urgent",
        SECURITY          = 2   => "Security",
        SUBNET_MANAGEMENT = 3   => "SubnetManagement",
        INFORMATIONAL     = 4   => "Informational",
        /// There is no notice.
        EMPTY             = 127 => "Empty",
    }
}

code_points! {
    /// Type of node that produces a generic notice (`Notice.producer_type`).
    pub struct ProducerType(u32) {
        CA            = 1 => "CA",
        SWITCH        = 2 => "Switch",
        ROUTER        = 3 => "Router",
        /// A manager, such as the subnet manager.
        CLASS_MANAGER = 4 => "ClassManager",
    }
}

code_points! {
    /// Kind of event in a generic notice of subnet management (`Notice.trap_number`).
    pub struct TrapNumber(u16) {
        /// A port came in reach.
        GID_IN_SERVICE               = 64  => "GidInService",
        /// A port went out of reach.
        GID_OUT_OF_SERVICE           = 65  => "GidOutOfService",
        MC_GROUP_CREATED             = 66  => "McGroupCreated",
        MC_GROUP_DELETED             = 67  => "McGroupDeleted",
        /// Paths may have become invalid.
        UN_PATH                      = 68  => "UnPath",
        /// Paths have to be resolved again.
        RE_PATH                      = 69  => "RePath",
        /// A port of a switch changed its state.
        LINK_STATE_CHANGE            = 128 => "LinkStateChange",
        LOCAL_LINK_INTEGRITY         = 129 => "LocalLinkIntegrity",
        EXCESSIVE_BUFFER_OVERRUN     = 130 => "ExcessiveBufferOverrun",
        FLOW_CONTROL_UPDATE_WATCHDOG = 131 => "FlowControlUpdateWatchdog",
        /// CapabilityMask or one of the other local changes that its details flag.
        CAPABILITY_MASK_CHANGE       = 144 => "CapabilityMaskChange",
        SYSTEM_IMAGE_GUID_CHANGE     = 145 => "SystemImageGuidChange",
        BAD_M_KEY                    = 256 => "BadMKey",
        BAD_P_KEY                    = 257 => "BadPKey",
        BAD_Q_KEY                    = 258 => "BadQKey",
        BAD_P_KEY_AT_SWITCH_PORT     = 259 => "BadPKeyAtSwitchPort",
    }
}

/// Details of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeDetails<'a> {
    /// Traps 64 to 67: a port or a multicast group came or went.
    Gid(&'a NoticeDetails64),
    /// Trap 128: a port of a switch has a new state.
    LinkStateChange(&'a NoticeDetails128),
    /// Traps 129 to 131: a link has trouble.
    LinkTrouble(&'a NoticeDetails129),
    /// Trap 144: something local changed.
    LocalChange(&'a NoticeDetails144),
    /// Trap 145: a new SystemImageGUID.
    SystemImageGuidChange(&'a NoticeDetails145),
    /// Trap 256.
    BadMKey(&'a NoticeDetails256),
    /// Traps 257 and 258.
    BadKey(&'a NoticeDetails257),
    /// Trap 259.
    BadPKeyAtSwitchPort(&'a NoticeDetails259),
    /// Trap 0 of congestion control.
    BadCcKey(&'a NoticeDetailsCc0),
    /// Trap 259 of baseboard management.
    BadBKey(&'a NoticeDetailsBm259),
    /// Trap 260 of baseboard management.
    Baseboard(&'a NoticeDetailsBm260),
    /// A vendor's notice, or a trap whose details no source gives.
    Other(&'a [u8; 54]),
}

impl<'a> NoticeDetails<'a> {
    /// The details of trap `trap_number` of `class`; a report of the subnet administrator hands
    /// traps of subnet management on.
    #[must_use]
    pub fn new(class: MgmtClass, trap_number: u16, bytes: &'a [u8; 54]) -> Self {
        match (class, trap_number) {
            (MgmtClass::CONGESTION_CONTROL, 0) => Self::BadCcKey(transmute_ref!(bytes)),
            (MgmtClass::BM, 259) => Self::BadBKey(transmute_ref!(bytes)),
            (MgmtClass::BM, 260) => Self::Baseboard(transmute_ref!(bytes)),
            (MgmtClass::SUBN_LID | MgmtClass::SUBN_DIRECTED | MgmtClass::SUBN_ADM, trap) => {
                match trap {
                    64..=67 => Self::Gid(transmute_ref!(bytes)),
                    128 => Self::LinkStateChange(transmute_ref!(bytes)),
                    129..=131 => Self::LinkTrouble(transmute_ref!(bytes)),
                    144 => Self::LocalChange(transmute_ref!(bytes)),
                    145 => Self::SystemImageGuidChange(transmute_ref!(bytes)),
                    256 => Self::BadMKey(transmute_ref!(bytes)),
                    257 | 258 => Self::BadKey(transmute_ref!(bytes)),
                    259 => Self::BadPKeyAtSwitchPort(transmute_ref!(bytes)),
                    _ => Self::Other(bytes),
                }
            }
            _ => Self::Other(bytes),
        }
    }
}

impl Notice {
    /// Details of the event, in a notice of `class`.
    #[must_use]
    pub fn details(&self, class: MgmtClass) -> NoticeDetails<'_> {
        match self.is_generic() {
            true => NoticeDetails::new(class, self.trap_number(), self.data_details()),
            false => NoticeDetails::Other(self.data_details()),
        }
    }

    /// The notice without the issuer's GID, as subnet management has it.
    #[must_use]
    pub fn to_sm(&self) -> NoticeSm {
        let mut sm = NoticeSm::default();
        for (to, from) in sm.0.iter_mut().zip(self.0) {
            *to = from;
        }
        sm
    }
}

impl NoticeSm {
    /// Details of the event.
    #[must_use]
    pub fn details(&self) -> NoticeDetails<'_> {
        match self.is_generic() {
            true => {
                NoticeDetails::new(MgmtClass::SUBN_LID, self.trap_number(), self.data_details())
            }
            false => NoticeDetails::Other(self.data_details()),
        }
    }

    /// The notice with its issuer's GID, as the subnet administrator reports it.
    #[must_use]
    pub fn to_report(&self, issuer_gid: Gid) -> Notice {
        let mut notice = Notice::default();
        for (to, from) in notice.0.iter_mut().zip(self.0) {
            *to = from;
        }
        notice.set_issuer_gid(issuer_gid);
        notice
    }
}

#[cfg(test)]
mod tests {
    use ib_wire::PortNum;

    use super::*;

    #[test]
    fn the_trap_number_chooses_the_details() {
        let mut details = NoticeDetails129::default();
        details.set_lidaddr(Lid(7)).set_port_num(PortNum(3));
        let mut notice = NoticeSm::default();
        notice
            .set_is_generic(true)
            .set_trap_number(TrapNumber::LOCAL_LINK_INTEGRITY.bits())
            .set_data_details(details.as_bytes());
        assert_eq!(notice.details(), NoticeDetails::LinkTrouble(&details));
        notice.set_is_generic(false);
        assert!(matches!(notice.details(), NoticeDetails::Other(_)));
    }

    #[test]
    fn trap_259_is_another_one_in_baseboard_management() {
        let mut notice = Notice::default();
        notice.set_is_generic(true).set_trap_number(259);
        let is_bm = |class| matches!(notice.details(class), NoticeDetails::BadBKey(_));
        assert!(is_bm(MgmtClass::BM));
        assert!(!is_bm(MgmtClass::SUBN_ADM));
    }

    #[test]
    fn a_report_keeps_what_the_trap_said() {
        let mut notice = NoticeSm::default();
        notice.set_trap_number(128).set_issuer_lid(Lid(9));
        let report = notice.to_report(Gid([1; 16]));
        assert_eq!(report.issuer_gid(), Gid([1; 16]));
        assert_eq!(report.to_sm(), notice);
    }
}
