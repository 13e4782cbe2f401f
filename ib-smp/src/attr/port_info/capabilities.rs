//! Capabilities of a port: `capability_mask` and `capability_mask2` of PortInfo.

use ib_wire::flags_value;

bitflags::bitflags! {
    /// Capabilities of a port and its agents (PortInfo.capability_mask).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CapabilityMask: u32 {
        /// A subnet manager runs on the port.
        const IS_SM = 1 << 1;
        /// Notices can be read by Get.
        const IS_NOTICE_SUPPORTED = 1 << 2;
        /// Sends traps.
        const IS_TRAP_SUPPORTED = 1 << 3;
        /// Takes inter-packet delays beyond the required ones.
        const IS_OPTIONAL_IPD_SUPPORTED = 1 << 4;
        /// Moves connections to another path by itself.
        const IS_AUTOMATIC_MIGRATION_SUPPORTED = 1 << 5;
        /// Has an SLtoVLMappingTable.
        const IS_SL_MAPPING_SUPPORTED = 1 << 6;
        /// Keeps its M_Key over a power cycle.
        const IS_M_KEY_NVRAM = 1 << 7;
        /// Keeps its P_Keys over a power cycle.
        const IS_P_KEY_NVRAM = 1 << 8;
        /// Has a LedInfo.
        const IS_LED_INFO_SUPPORTED = 1 << 9;
        /// No subnet manager may run on the port.
        const IS_SM_DISABLED = 1 << 10;
        /// NodeInfo.SystemImageGUID is valid.
        const IS_SYSTEM_IMAGE_GUID_SUPPORTED = 1 << 11;
        /// External ports of the switch send trap 259.
        const IS_P_KEY_SWITCH_EXTERNAL_PORT_TRAP_SUPPORTED = 1 << 12;
        /// Has a CableInfo.
        const IS_CABLE_INFO_SUPPORTED = 1 << 13;
        /// The extended speeds are valid: FDR and faster.
        const IS_EXTENDED_SPEEDS_SUPPORTED = 1 << 14;
        /// PortInfo.CapabilityMask2 is valid.
        const IS_CAPABILITY_MASK2_SUPPORTED = 1 << 15;
        /// Answers connection management.
        const IS_COMMUNICATION_MANAGEMENT_SUPPORTED = 1 << 16;
        /// Answers SNMP tunnelling.
        const IS_SNMP_TUNNELING_SUPPORTED = 1 << 17;
        /// Takes InitType.
        const IS_REINIT_SUPPORTED = 1 << 18;
        /// Answers device management.
        const IS_DEVICE_MANAGEMENT_SUPPORTED = 1 << 19;
        /// Answers a vendor class.
        const IS_VENDOR_CLASS_SUPPORTED = 1 << 20;
        /// Sends notices by directed route.
        const IS_DR_NOTICE_SUPPORTED = 1 << 21;
        /// Sends trap 144 when this mask changes.
        const IS_CAPABILITY_MASK_NOTICE_SUPPORTED = 1 << 22;
        /// Answers boot management.
        const IS_BOOT_MANAGEMENT_SUPPORTED = 1 << 23;
        /// PortInfo.LinkRoundTripLatency is valid.
        const IS_LINK_ROUND_TRIP_LATENCY_SUPPORTED = 1 << 24;
        /// Takes PortInfo.ClientReregister.
        const IS_CLIENT_REREGISTRATION_SUPPORTED = 1 << 25;
        /// Trap 144 reports other changes too.
        const IS_OTHER_LOCAL_CHANGES_NOTICE_SUPPORTED = 1 << 26;
        /// Has a LinkSpeedWidthPairsTable.
        const IS_LINK_SPEED_WIDTH_PAIRS_TABLE_SUPPORTED = 1 << 27;
        /// Has a VendorSpecificMadsTable.
        const IS_VENDOR_SPECIFIC_MADS_TABLE_SUPPORTED = 1 << 28;
        /// Takes PortInfo.MulticastP_KeyTrapSuppressionEnabled.
        const IS_MULTICAST_P_KEY_TRAP_SUPPRESSION_SUPPORTED = 1 << 29;
        /// SwitchInfo.MulticastFDBTop is valid.
        const IS_MULTICAST_FDB_TOP_SUPPORTED = 1 << 30;
        /// Has a HierarchyInfo.
        const IS_HIERARCHY_INFO_SUPPORTED = 1 << 31;
    }
}

bitflags::bitflags! {
    /// Capabilities of a port and its agents, continued (PortInfo.capability_mask2).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CapabilityMask2: u16 {
        /// NodeDescription can be set.
        const IS_SET_NODE_DESCRIPTION_SUPPORTED = 1 << 0;
        /// Has a PortInfoExtended.
        const IS_PORT_INFO_EXTENDED_SUPPORTED = 1 << 1;
        /// Has virtual ports.
        const IS_VIRTUALIZATION_SUPPORTED = 1 << 2;
        /// Has a SwitchPortStateTable.
        const IS_SWITCH_PORT_STATE_TABLE_SUPPORTED = 1 << 3;
        /// Can use two lanes.
        const IS_LINK_WIDTH_2X_SUPPORTED = 1 << 4;
        /// Knows the speed HDR.
        const IS_LINK_SPEED_HDR_SUPPORTED = 1 << 5;
        /// Knows more M_Key protection levels.
        const IS_M_KEY_PROTECT_BITS_EXT_SUPPORTED = 1 << 6;
        /// Trap 128 names the port.
        const IS_ENHANCED_TRAP_128_SUPPORTED = 1 << 7;
        /// Has a limit on the P_Keys in use.
        const IS_PARTITION_TOP_SUPPORTED = 1 << 8;
        /// Has the enhanced arbiter.
        const IS_ENHANCED_QOS_ARBITER_SUPPORTED = 1 << 9;
        /// Knows the speed NDR.
        const IS_LINK_SPEED_NDR_SUPPORTED = 1 << 10;
        /// Has the second fields of extended speeds, from XDR on (Linux, `ib_mad.h`; rdma-core, `verbs.h`).
        const IS_EXTENDED_SPEEDS_2_SUPPORTED = 1 << 11;
        /// Knows the speed XDR (the same sources).
        const IS_LINK_SPEED_XDR_SUPPORTED = 1 << 12;
    }
}

flags_value!(
    CapabilityMask: u32,
    CapabilityMask2: u16,
);
