//! Capabilities of a subnet administrator: the capability masks of its ClassPortInfo (IBA vol. 1,
//! 15.2.4.1).

use bitflags::bitflags;
use ib_mad::ClassPortInfo;

bitflags! {
    /// Capabilities of an administrator: its `ClassPortInfo.capability_mask`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct SaCapabilities: u16 {
        /// `IsSubnetOptionalRecordsSupported`: the records of tables and TraceRecord.
        const IS_SUBNET_OPTIONAL_RECORDS_SUPPORTED = 1 << 8;
        /// `IsUDMulticastSupported`: MCMemberRecord.
        const IS_UD_MULTICAST_SUPPORTED = 1 << 9;
        /// `IsMultiPathSupported`: MultiPathRecord.
        const IS_MULTI_PATH_SUPPORTED = 1 << 10;
        /// `IsReinitSupported`.
        const IS_REINIT_SUPPORTED = 1 << 11;
        /// `IsGIDScopedMultiPathSupported`.
        const IS_GID_SCOPED_MULTI_PATH_SUPPORTED = 1 << 12;
        /// `IsPortInfoCapMaskMatchSupported`: bit 31 of PortInfoRecord's modifier.
        const IS_PORT_INFO_CAP_MASK_MATCH_SUPPORTED = 1 << 13;
        /// `IsLinkSpeedWidthPairsRecordsSupported`.
        const IS_LINK_SPEED_WIDTH_PAIRS_RECORDS_SUPPORTED = 1 << 14;
        /// `IsPAServicesSupported`.
        const IS_PA_SERVICES_SUPPORTED = 1 << 15;
        const _ = !0;
    }
}

bitflags! {
    /// Further capabilities of an administrator: its `ClassPortInfo.capability_mask2`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct SaCapabilities2: u32 {
        /// `IsUnpathRepathSupported`: traps 68 and 69.
        const IS_UNPATH_REPATH_SUPPORTED = 1 << 0;
        /// `IsQoSSupported`: QoSClass and ServiceID of a path count.
        const IS_QOS_SUPPORTED = 1 << 1;
        /// `IsReversePathP_KeyMemberBitSupported`.
        const IS_REVERSE_PATH_P_KEY_MEMBER_BIT_SUPPORTED = 1 << 2;
        /// `IsMulticastTopSupported`: the manager sets MulticastFDBTop.
        const IS_MULTICAST_TOP_SUPPORTED = 1 << 3;
        /// `IsHierarchyInfoSupported`.
        const IS_HIERARCHY_INFO_SUPPORTED = 1 << 4;
        /// `IsAdditionalGUIDSupported`: GUIDInfoRecord may be set.
        const IS_ADDITIONAL_GUID_SUPPORTED = 1 << 5;
        /// `IsFullPortInfoRecordSupported`.
        const IS_FULL_PORT_INFO_RECORD_SUPPORTED = 1 << 6;
        /// `IsExtendedSpeedsSupported`: rates from FDR on.
        const IS_EXTENDED_SPEEDS_SUPPORTED = 1 << 7;
        /// `IsMulticastServiceRecordSupported`.
        const IS_MULTICAST_SERVICE_RECORD_SUPPORTED = 1 << 8;
        /// `IsCableInfoRecordSupported`.
        const IS_CABLE_INFO_RECORD_SUPPORTED = 1 << 9;
        /// `IsPortInfoCapMask2MatchSupported`.
        const IS_PORT_INFO_CAP_MASK2_MATCH_SUPPORTED = 1 << 10;
        /// `IsPortInfoExtendedRecordSupported`.
        const IS_PORT_INFO_EXTENDED_RECORD_SUPPORTED = 1 << 11;
        /// `IsSendOnlyFullMemberSupported`: a join state of 8.
        const IS_SEND_ONLY_FULL_MEMBER_SUPPORTED = 1 << 12;
        /// `IsLinkWidth2xSupported`.
        const IS_LINK_WIDTH2X_SUPPORTED = 1 << 13;
        /// `IsLinkSpeedHDRSupported`.
        const IS_LINK_SPEED_HDR_SUPPORTED = 1 << 15;
        /// `IsLinkSpeedNDRSupported`.
        const IS_LINK_SPEED_NDR_SUPPORTED = 1 << 17;
        const _ = !0;
    }
}

impl SaCapabilities {
    /// The mask in this ClassPortInfo of an administrator.
    #[must_use]
    pub fn of(info: &ClassPortInfo) -> Self {
        Self::from_bits_retain(info.capability_mask().bits())
    }
}

impl SaCapabilities2 {
    /// The mask in this ClassPortInfo of an administrator.
    #[must_use]
    pub fn of(info: &ClassPortInfo) -> Self {
        Self::from_bits_retain(info.capability_mask2())
    }
}

#[cfg(test)]
mod tests {
    use ib_mad::ClassCapabilities;

    use super::*;

    #[test]
    fn an_administrator_says_what_it_can_do() {
        let multicast = SaCapabilities::IS_UD_MULTICAST_SUPPORTED;
        let send_only = SaCapabilities2::IS_SEND_ONLY_FULL_MEMBER_SUPPORTED;
        let mut info = ClassPortInfo::default();
        info.set_capability_mask(ClassCapabilities::from_bits_retain(multicast.bits()))
            .set_capability_mask2(send_only.bits());
        assert_eq!(SaCapabilities::of(&info), multicast);
        assert_eq!(SaCapabilities2::of(&info), send_only);
    }
}
