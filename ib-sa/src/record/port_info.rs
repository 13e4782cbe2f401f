//! PortInfoRecord: the PortInfo of a port (IBA vol. 1, 15.2.5.3).
//!
//! Bit 31 of the modifier changes the meaning of the CapabilityMask component: the bits set in the
//! template must be set, the others may be anything. Bit 30 does the same for CapabilityMask2.

use ib_mad::{Attribute, AttributeId};
use ib_smp::PortInfo;
use ib_wire::{Lid, PortNum, table::Layout, wire_struct};

use crate::{ComponentMask, Record, components};

wire_struct! {
    /// The PortInfo of a port.
    ///
    /// Source: IBA vol. 1, 15.2.5.3; `attributes.csv`, struct `PortInfoRecord`.
    pub struct PortInfoRecord("PortInfoRecord", 68 bytes) {
        /// LID of the end port that the record is about.
        endport_lid, set_endport_lid: Lid = 0, 16;
        /// Port of a switch; the port itself elsewhere.
        port_num, set_port_num: PortNum = 16, 8;
        /// Options of a query; 0 in a response.
        options, set_options: u8 = 24, 8;
        /// PortInfo of the port.
        port_info, set_port_info: PortInfo = 32, 512;
    }
}

impl Attribute for PortInfoRecord {
    const ID: AttributeId = AttributeId(0x0012);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`PortInfoRecord`] that a query compares.
    pub struct PortInfoComponents for PortInfoRecord {
        ENDPORT_LID = 0 => "endport_lid",
        PORT_NUM = 1 => "port_num",
        OPTIONS = 2 => "options",
        M_KEY = 3 => "port_info.m_key",
        GID_PREFIX = 4 => "port_info.gid_prefix",
        LID = 5 => "port_info.lid",
        MASTER_SM_LID = 6 => "port_info.master_sm_lid",
        CAPABILITY_MASK = 7 => "port_info.capability_mask",
        DIAG_CODE = 8 => "port_info.diag_code",
        M_KEY_LEASE_PERIOD = 9 => "port_info.m_key_lease_period",
        LOCAL_PORT_NUM = 10 => "port_info.local_port_num",
        LINK_WIDTH_ENABLED = 11 => "port_info.link_width_enabled",
        LINK_WIDTH_SUPPORTED = 12 => "port_info.link_width_supported",
        LINK_WIDTH_ACTIVE = 13 => "port_info.link_width_active",
        LINK_SPEED_SUPPORTED = 14 => "port_info.link_speed_supported",
        PORT_STATE = 15 => "port_info.port_state",
        PORT_PHYSICAL_STATE = 16 => "port_info.port_physical_state",
        LINK_DOWN_DEFAULT_STATE = 17 => "port_info.link_down_default_state",
        M_KEY_PROTECT_BITS = 18 => "port_info.m_key_protect_bits",
        RESERVED1 = 19 => "port_info.reserved1",
        LMC = 20 => "port_info.lmc",
        LINK_SPEED_ACTIVE = 21 => "port_info.link_speed_active",
        LINK_SPEED_ENABLED = 22 => "port_info.link_speed_enabled",
        NEIGHBOR_MTU = 23 => "port_info.neighbor_mtu",
        MASTER_SM_SL = 24 => "port_info.master_sm_sl",
        VL_CAP = 25 => "port_info.vl_cap",
        INIT_TYPE = 26 => "port_info.init_type",
        VL_HIGH_LIMIT = 27 => "port_info.vl_high_limit",
        VL_ARBITRATION_HIGH_CAP = 28 => "port_info.vl_arbitration_high_cap",
        VL_ARBITRATION_LOW_CAP = 29 => "port_info.vl_arbitration_low_cap",
        INIT_TYPE_REPLY = 30 => "port_info.init_type_reply",
        MTU_CAP = 31 => "port_info.mtu_cap",
        VL_STALL_COUNT = 32 => "port_info.vl_stall_count",
        HOQ_LIFE = 33 => "port_info.hoq_life",
        OPERATIONAL_VLS = 34 => "port_info.operational_vls",
        PARTITION_ENFORCEMENT_INBOUND = 35 => "port_info.partition_enforcement_inbound",
        PARTITION_ENFORCEMENT_OUTBOUND = 36 => "port_info.partition_enforcement_outbound",
        FILTER_RAW_INBOUND = 37 => "port_info.filter_raw_inbound",
        FILTER_RAW_OUTBOUND = 38 => "port_info.filter_raw_outbound",
        M_KEY_VIOLATIONS = 39 => "port_info.m_key_violations",
        P_KEY_VIOLATIONS = 40 => "port_info.p_key_violations",
        Q_KEY_VIOLATIONS = 41 => "port_info.q_key_violations",
        GUID_CAP = 42 => "port_info.guid_cap",
        CLIENT_REREGISTER = 43 => "port_info.client_reregister",
        MULTICAST_P_KEY_TRAP_SUPPRESSION_ENABLED = 44 => "port_info.multicast_p_key_trap_suppression_enabled",
        SUBNET_TIMEOUT = 45 => "port_info.subnet_timeout",
        RESERVED2 = 46 => "port_info.reserved2",
        RESP_TIME_VALUE = 47 => "port_info.resp_time_value",
        LOCAL_PHY_ERRORS = 48 => "port_info.local_phy_errors",
        OVERRUN_ERRORS = 49 => "port_info.overrun_errors",
        MAX_CREDIT_HINT = 50 => "port_info.max_credit_hint",
        RESERVED_BYTE_56 = 51 => "port_info.reserved_byte_56",
        LINK_ROUND_TRIP_LATENCY = 52 => "port_info.link_round_trip_latency",
        CAPABILITY_MASK2 = 53 => "port_info.capability_mask2",
        LINK_SPEED_EXT_ACTIVE = 54 => "port_info.link_speed_ext_active",
        LINK_SPEED_EXT_SUPPORTED = 55 => "port_info.link_speed_ext_supported",
        RESERVED4 = 56 => "port_info.reserved4",
        LINK_SPEED_EXT_ENABLED = 57 => "port_info.link_speed_ext_enabled",
    }
}

impl Record for PortInfoRecord {
    type Components = PortInfoComponents;
}

impl PortInfoRecord {
    /// Modifier bit: of the CapabilityMask only the bits that the template has must be set.
    pub const MATCH_CAPABILITY_MASK: u32 = 1 << 31;
    /// Modifier bit: of the CapabilityMask2 only the bits that the template has must be set.
    pub const MATCH_CAPABILITY_MASK2: u32 = 1 << 30;

    /// [`matches`](Record::matches) for a query with this attribute modifier.
    #[must_use]
    pub fn matches_query(&self, template: &Self, mask: ComponentMask, modifier: u32) -> bool {
        let (found, wanted) = (self.port_info(), template.port_info());
        let mut rest = mask;
        if modifier & Self::MATCH_CAPABILITY_MASK != 0 {
            rest.0 &= !PortInfoComponents::CAPABILITY_MASK.bits();
            let chosen = mask.0 & PortInfoComponents::CAPABILITY_MASK.bits() != 0;
            if chosen && !found.capability_mask().contains(wanted.capability_mask()) {
                return false;
            }
        }
        if modifier & Self::MATCH_CAPABILITY_MASK2 != 0 {
            rest.0 &= !PortInfoComponents::CAPABILITY_MASK2.bits();
            let chosen = mask.0 & PortInfoComponents::CAPABILITY_MASK2.bits() != 0;
            if chosen && !found.capability_mask2().contains(wanted.capability_mask2()) {
                return false;
            }
        }
        self.matches(template, rest)
    }
}
