//! PortInfo: everything about a port that a subnet manager reads and writes (IBA vol. 1, 14.2.5.6).
//!
//! A Set writes nearly every field at once: start from what a Get returned, and write
//! [`NO_CHANGE`](PortState::NO_CHANGE) to the states, widths and speeds that shall stay, as what was
//! read there is not always legal to write. Bit 31 of the modifier says that the asker knows the
//! extended speeds ([`PortInfoModifier`]).

mod capabilities;
mod link;

use ib_mad::{Attribute, AttributeId};
use ib_wire::{
    GidPrefix, Lid, Lmc, MKey, Mtu, PortNum, Sl, code_points, table::Layout, wire_struct,
};

#[cfg(feature = "alloc")]
pub(crate) use self::link::fastest;
pub use self::{
    capabilities::{CapabilityMask, CapabilityMask2},
    link::{
        LinkSpeedActive, LinkSpeedExtActive, LinkSpeedExtActive2, LinkSpeeds, LinkSpeedsExt,
        LinkSpeedsExt2, LinkWidthActive, LinkWidths,
    },
};

code_points! {
    /// Logical state of a port.
    pub struct PortState(u8) {
        /// In a Set: the state stays.
        NO_CHANGE    = 0 => "NoChange",
        DOWN         = 1 => "Down",
        /// The physical link is up; only SMPs pass.
        INITIALIZE   = 2 => "Initialize",
        /// Data packets are received but not sent.
        ARMED        = 3 => "Armed",
        /// All packets pass.
        ACTIVE       = 4 => "Active",
        /// For a while after an error; reported, never set.
        ACTIVE_DEFER = 5 => "ActiveDefer",
    }
}

code_points! {
    /// State of a port's physical layer; a Set may hold 0..=3.
    pub struct PortPhysicalState(u8) {
        /// In a Set: the state stays.
        NO_CHANGE                   = 0 => "NoChange",
        SLEEP                       = 1 => "Sleep",
        POLLING                     = 2 => "Polling",
        /// Only a Set of Polling over another port brings it back.
        DISABLED                    = 3 => "Disabled",
        PORT_CONFIGURATION_TRAINING = 4 => "PortConfigurationTraining",
        LINK_UP                     = 5 => "LinkUp",
        LINK_ERROR_RECOVERY         = 6 => "LinkErrorRecovery",
        PHY_TEST                    = 7 => "PhyTest",
    }
}

code_points! {
    /// State of the physical layer after the link goes down.
    pub struct LinkDownDefaultState(u8) {
        /// In a Set: stays.
        NO_CHANGE = 0 => "NoChange",
        SLEEP     = 1 => "Sleep",
        POLLING   = 2 => "Polling",
    }
}

code_points! {
    /// The protection of a port by its M_Key.
    pub struct MKeyProtect(u8) {
        /// Get needs no key and shows it.
        GET_OPEN            = 0 => "GetOpen",
        /// Get needs no key but shows it only to who knows it.
        GET_OPEN_KEY_HIDDEN = 1 => "GetOpenKeyHidden",
        /// Get needs the key as well.
        GET_CLOSED          = 2 => "GetClosed",
        /// As 2.
        GET_CLOSED3         = 3 => "GetClosed3",
    }
}

code_points! {
    /// Number of data VLs that a port has, or uses. In a Set of OperationalVLs 0 leaves them.
    pub struct VlCap(u8) {
        VL0    = 1 => "VL0",
        VL0_1  = 2 => "VL0-1",
        VL0_3  = 3 => "VL0-3",
        VL0_7  = 4 => "VL0-7",
        VL0_14 = 5 => "VL0-14",
    }
}

impl VlCap {
    /// Data VLs: 1, 2, 4, 8 or 15; `None` for a code without a meaning.
    #[must_use]
    pub const fn count(self) -> Option<u8> {
        match self.0 {
            1 => Some(1),
            2 => Some(2),
            3 => Some(4),
            4 => Some(8),
            5 => Some(15),
            _ => None,
        }
    }
}

wire_struct! {
    /// State, addresses, abilities and settings of a port.
    ///
    /// Source: IBA vol. 1, 14.2.5.6; `attributes.csv`, struct `PortInfo`.
    pub struct PortInfo("PortInfo", 64 bytes) {
        /// Key that guards the port, or the switch for port 0; 0 is no guard.
        m_key, set_m_key: MKey = 0, 64;
        /// Upper half of the port's GIDs.
        gid_prefix, set_gid_prefix: GidPrefix = 64, 64;
        /// Base LID.
        lid, set_lid: Lid = 128, 16;
        /// LID of the master subnet manager.
        master_sm_lid, set_master_sm_lid: Lid = 144, 16;
        /// Capabilities of the port.
        capability_mask, set_capability_mask: CapabilityMask = 160, 32;
        /// Diagnostic code of the device; 0 is good.
        diag_code, set_diag_code: u16 = 192, 16;
        /// Seconds that the key goes on to guard the port after a violation; 0 for ever.
        m_key_lease_period, set_m_key_lease_period: u16 = 208, 16;
        /// Port that the request came in by.
        local_port_num, set_local_port_num: PortNum = 224, 8;
        /// Widths that the port may use; 0 in a Set leaves them.
        link_width_enabled, set_link_width_enabled: LinkWidths = 232, 8;
        /// Widths that the port can do.
        link_width_supported, set_link_width_supported: LinkWidths = 240, 8;
        /// Width in use.
        link_width_active, set_link_width_active: LinkWidthActive = 248, 8;
        /// Speeds that the port can do.
        link_speed_supported, set_link_speed_supported: LinkSpeeds = 256, 4;
        /// Logical state.
        port_state, set_port_state: PortState = 260, 4;
        /// State of the physical layer.
        port_physical_state, set_port_physical_state: PortPhysicalState = 264, 4;
        /// State of the physical layer after the link goes down.
        link_down_default_state, set_link_down_default_state: LinkDownDefaultState = 268, 4;
        /// The level of protection.
        m_key_protect_bits, set_m_key_protect_bits: MKeyProtect = 272, 2;
        #[doc(hidden)]
        reserved1, set_reserved1: u8 = 274, 3;
        /// The port owns 2^LMC LIDs from its base LID on.
        lmc, set_lmc: Lmc = 277, 3;
        /// Speed in use.
        link_speed_active, set_link_speed_active: LinkSpeedActive = 280, 4;
        /// Speeds that the port may use; 0 in a Set leaves them.
        link_speed_enabled, set_link_speed_enabled: LinkSpeeds = 284, 4;
        /// Largest payload that the other end of the link takes.
        neighbor_mtu, set_neighbor_mtu: Mtu = 288, 4;
        /// Service level to the master subnet manager.
        master_sm_sl, set_master_sm_sl: Sl = 292, 4;
        /// Data VLs that the port has.
        vl_cap, set_vl_cap: VlCap = 296, 4;
        /// Request of the port to the subnet manager when it is initialised again.
        init_type, set_init_type: u8 = 300, 4;
        /// Units of 4096 bytes that the high priority table may send before a low priority packet; 255 is without limit.
        vl_high_limit, set_vl_high_limit: u8 = 304, 8;
        /// Entries of the high priority table.
        vl_arbitration_high_cap, set_vl_arbitration_high_cap: u8 = 312, 8;
        /// Entries of the low priority table.
        vl_arbitration_low_cap, set_vl_arbitration_low_cap: u8 = 320, 8;
        /// The parts of `init_type` that the subnet manager fulfilled.
        init_type_reply, set_init_type_reply: u8 = 328, 4;
        /// Largest payload that the port takes.
        mtu_cap, set_mtu_cap: Mtu = 332, 4;
        /// Packets in a row that may time out at the head of a queue before the VL is drained.
        vl_stall_count, set_vl_stall_count: u8 = 336, 3;
        /// Time for which a packet may stay at the head of a queue: 4.096 us * 2^n; above 19 without limit.
        hoq_life, set_hoq_life: u8 = 339, 5;
        /// Data VLs in use; 0 in a Set leaves them.
        operational_vls, set_operational_vls: VlCap = 344, 4;
        /// A switch port checks P_Keys of what comes in.
        partition_enforcement_inbound, set_partition_enforcement_inbound: bool = 348, 1;
        /// A switch port checks P_Keys of what goes out.
        partition_enforcement_outbound, set_partition_enforcement_outbound: bool = 349, 1;
        /// A switch port drops raw packets that come in.
        filter_raw_inbound, set_filter_raw_inbound: bool = 350, 1;
        /// A switch port drops raw packets that go out.
        filter_raw_outbound, set_filter_raw_outbound: bool = 351, 1;
        /// SMPs with a wrong M_Key; stays at 65535, a Set of 0 resets it.
        m_key_violations, set_m_key_violations: u16 = 352, 16;
        /// Packets with a wrong P_Key; stays at 65535, a Set of 0 resets it.
        p_key_violations, set_p_key_violations: u16 = 368, 16;
        /// Packets with a wrong Q_Key; stays at 65535, a Set of 0 resets it.
        q_key_violations, set_q_key_violations: u16 = 384, 16;
        /// GUIDs that the port can hold.
        guid_cap, set_guid_cap: u8 = 400, 8;
        /// A Set with 1 asks the host to subscribe and join again.
        client_reregister, set_client_reregister: bool = 408, 1;
        /// The multicast P_Key violations that send no trap.
        multicast_p_key_trap_suppression_enabled, set_multicast_p_key_trap_suppression_enabled: u8 = 409, 2;
        /// Longest time a packet takes through the subnet: 4.096 us * 2^n; also the least time between traps.
        subnet_timeout, set_subnet_timeout: u8 = 411, 5;
        #[doc(hidden)]
        reserved2, set_reserved2: u8 = 416, 3;
        /// Longest time that the port's agent takes to answer: 4.096 us * 2^n.
        resp_time_value, set_resp_time_value: u8 = 419, 5;
        /// Threshold of local physical errors for trap 129.
        local_phy_errors, set_local_phy_errors: u8 = 424, 4;
        /// Threshold of buffer overruns for trap 130.
        overrun_errors, set_overrun_errors: u8 = 428, 4;
        /// Most credits that the port could use.
        max_credit_hint, set_max_credit_hint: u16 = 432, 16;
        #[doc(hidden)]
        reserved3, set_reserved3: u8 = 448, 1;
        /// Extended speed in use, beyond `link_speed_ext_active`.
        link_speed_ext_active2, set_link_speed_ext_active2: LinkSpeedExtActive2 = 449, 2;
        /// Extended speeds that the port can do, beyond `link_speed_ext_supported`.
        link_speed_ext_supported2, set_link_speed_ext_supported2: LinkSpeedsExt2 = 451, 2;
        /// Extended speeds that the port may use, beyond `link_speed_ext_enabled`.
        link_speed_ext_enabled2, set_link_speed_ext_enabled2: LinkSpeedsExt2 = 453, 3;
        /// Time over the link and back, in units of 4 ns.
        link_round_trip_latency, set_link_round_trip_latency: u32 = 456, 24;
        /// Capabilities of the port, continued.
        capability_mask2, set_capability_mask2: CapabilityMask2 = 480, 16;
        /// Extended speed in use.
        link_speed_ext_active, set_link_speed_ext_active: LinkSpeedExtActive = 496, 4;
        /// Extended speeds that the port can do.
        link_speed_ext_supported, set_link_speed_ext_supported: LinkSpeedsExt = 500, 4;
        #[doc(hidden)]
        reserved4, set_reserved4: u8 = 504, 3;
        /// Extended speeds that the port may use; 0 in a Set leaves them.
        link_speed_ext_enabled, set_link_speed_ext_enabled: LinkSpeedsExt = 507, 5;
    }
}

impl Attribute for PortInfo {
    const ID: AttributeId = AttributeId(0x0015);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

/// Attribute modifier of [`PortInfo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortInfoModifier {
    /// The port; 0 is the port of arrival for a CA, port 0 for a switch.
    pub port: PortNum,
    /// Bit 31: the asker understands the extended speeds.
    pub extended_speeds: bool,
}

impl PortInfoModifier {
    /// The modifier's 32 bits: bit 31 extended speeds, bits 7..0 port.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u32 {
        (self.extended_speeds as u32) << 31 | self.port.0 as u32
    }

    /// Port and bit 31 of a modifier; `None` where other bits are set.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u32) -> Option<Self> {
        if bits & 0x7fff_ff00 != 0 {
            return None;
        }
        Some(Self {
            port: PortNum(bits as u8),
            extended_speeds: bits >> 31 != 0,
        })
    }
}
