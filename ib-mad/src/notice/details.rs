//! Details of notices: the layouts of `data_details` by trap number.
//!
//! The subnet manager's own traps are in IBA vol. 1, 14.2.5.1; those of baseboard management and
//! congestion control in their chapters.

use ib_wire::{Gid, Guid, Lid, MKey, PKey, PortNum, Qpn, Sl, wire_struct};

use crate::{AttributeId, BKey, CcKey, Method};

wire_struct! {
    /// Traps 64 to 67: the port or the multicast group that came or went.
    ///
    /// Source: IBA vol. 1, 14.2.5.1; `attributes.csv`, struct `NoticeDetails64`.
    pub struct NoticeDetails64("NoticeDetails64", 54 bytes) {
        #[doc(hidden)]
        reserved1, set_reserved1: u64         = 0, 48;
        /// GID of the port, or of the multicast group.
        gidaddr,   set_gidaddr:   Gid         = 48, 128;
        #[doc(hidden)]
        reserved2, set_reserved2: [bytes; 32] = 176, 256;
    }
}

wire_struct! {
    /// Trap 128: the switch that has a port with a new state.
    ///
    /// Source: IBA vol. 1, 14.2.5.1; `attributes.csv`, struct `NoticeDetails128`.
    pub struct NoticeDetails128("NoticeDetails128", 54 bytes) {
        /// LID of the port.
        lidaddr,   set_lidaddr:   Lid         = 0, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: [bytes; 52] = 16, 416;
    }
}

wire_struct! {
    /// Traps 129 to 131: the port whose link has trouble.
    ///
    /// Source: IBA vol. 1, 14.2.5.1; `attributes.csv`, struct `NoticeDetails129`.
    pub struct NoticeDetails129("NoticeDetails129", 54 bytes) {
        #[doc(hidden)]
        reserved1, set_reserved1: u16         = 0, 16;
        /// LID of the port.
        lidaddr,   set_lidaddr:   Lid         = 16, 16;
        /// Port where it happened.
        port_num,  set_port_num:  PortNum     = 32, 8;
        #[doc(hidden)]
        reserved2, set_reserved2: [bytes; 49] = 40, 392;
    }
}

wire_struct! {
    /// Trap 144: what changed at a port.
    ///
    /// Source: IBA vol. 1, 14.2.5.1; `attributes.csv`, struct `NoticeDetails144`.
    pub struct NoticeDetails144("NoticeDetails144", 54 bytes) {
        #[doc(hidden)]
        reserved1,                 set_reserved1:                 u16         = 0, 16;
        /// LID of the port.
        lidaddr,                   set_lidaddr:                   Lid         = 16, 16;
        #[doc(hidden)]
        reserved2,                 set_reserved2:                 u16         = 32, 15;
        /// The flags of the other local changes mean something.
        other_local_changes,       set_other_local_changes:       bool        = 47, 1;
        /// PortInfo.CapabilityMask after the change.
        capability_mask,           set_capability_mask:           u32         = 48, 32;
        #[doc(hidden)]
        reserved3,                 set_reserved3:                 u16         = 80, 10;
        /// PortInfo.CapabilityMask2 changed.
        capability_mask2_change,   set_capability_mask2_change:   bool        = 90, 1;
        /// HierarchyInfo changed.
        hierarchy_info_change,     set_hierarchy_info_change:     bool        = 91, 1;
        /// The priority of the subnet manager at the port changed.
        sm_priority_change,        set_sm_priority_change:        bool        = 92, 1;
        /// PortInfo.LinkSpeedEnabled changed.
        link_speed_enabled_change, set_link_speed_enabled_change: bool        = 93, 1;
        /// PortInfo.LinkWidthEnabled changed.
        link_width_enabled_change, set_link_width_enabled_change: bool        = 94, 1;
        /// The node description changed.
        node_description_change,   set_node_description_change:   bool        = 95, 1;
        /// PortInfo.CapabilityMask2 after the change.
        capability_mask2,          set_capability_mask2:          u16         = 96, 16;
        #[doc(hidden)]
        reserved4,                 set_reserved4:                 [bytes; 40] = 112, 320;
    }
}

wire_struct! {
    /// Trap 145: a new SystemImageGUID.
    ///
    /// Source: IBA vol. 1, 14.2.5.1; `attributes.csv`, struct `NoticeDetails145`.
    pub struct NoticeDetails145("NoticeDetails145", 54 bytes) {
        #[doc(hidden)]
        reserved1,         set_reserved1:         u16         = 0, 16;
        /// LID of the port.
        lidaddr,           set_lidaddr:           Lid         = 16, 16;
        #[doc(hidden)]
        reserved2,         set_reserved2:         u16         = 32, 16;
        /// The GUID after the change.
        system_image_guid, set_system_image_guid: Guid        = 48, 64;
        #[doc(hidden)]
        reserved3,         set_reserved3:         [bytes; 40] = 112, 320;
    }
}

wire_struct! {
    /// Trap 256: a subnet management packet with a wrong M_Key.
    ///
    /// Source: IBA vol. 1, 14.2.5.1; `attributes.csv`, struct `NoticeDetails256`.
    pub struct NoticeDetails256("NoticeDetails256", 54 bytes) {
        #[doc(hidden)]
        reserved1,             set_reserved1:             u16         = 0, 16;
        /// LID of the port.
        lidaddr,               set_lidaddr:               Lid         = 16, 16;
        /// Source LID of the directed route.
        dr_slid,               set_dr_slid:               Lid         = 32, 16;
        /// Method of the offending datagram.
        method,                set_method:                Method      = 48, 8;
        #[doc(hidden)]
        reserved2,             set_reserved2:             u8          = 56, 8;
        /// Attribute of the offending datagram.
        attribute_id,          set_attribute_id:          AttributeId = 64, 16;
        /// Modifier of the offending datagram.
        attribute_modifier,    set_attribute_modifier:    u32         = 80, 32;
        /// The wrong key.
        m_key,                 set_m_key:                 MKey        = 112, 64;
        #[doc(hidden)]
        reserved3,             set_reserved3:             u8          = 176, 8;
        /// The offending datagram took a directed route.
        dr_notice,             set_dr_notice:             bool        = 184, 1;
        /// The return path is longer than the field.
        dr_path_truncated,     set_dr_path_truncated:     bool        = 185, 1;
        /// Hops of the directed route, as far as the field that follows has room for them.
        dr_hop_count,          set_dr_hop_count:          u8          = 186, 6;
        /// First hops of the return path.
        dr_notice_return_path, set_dr_notice_return_path: [u8; 30]    = 192, 240;
    }
}

wire_struct! {
    /// Traps 257 and 258: a packet with a wrong P_Key or Q_Key.
    ///
    /// Source: IBA vol. 1, 14.2.5.1; `attributes.csv`, struct `NoticeDetails257`.
    pub struct NoticeDetails257("NoticeDetails257", 54 bytes) {
        #[doc(hidden)]
        reserved1, set_reserved1: u16 = 0, 16;
        /// Source LID.
        lidaddr1,  set_lidaddr1:  Lid = 16, 16;
        /// Destination LID.
        lidaddr2,  set_lidaddr2:  Lid = 32, 16;
        /// The wrong P_Key in the low 16 bits (trap 257), or Q_Key (258).
        key,       set_key:       u32 = 48, 32;
        /// Service level.
        sl,        set_sl:        Sl  = 80, 4;
        #[doc(hidden)]
        reserved2, set_reserved2: u8  = 84, 4;
        /// Source queue pair.
        qp1,       set_qp1:       Qpn = 88, 24;
        #[doc(hidden)]
        reserved3, set_reserved3: u8  = 112, 8;
        /// Destination queue pair.
        qp2,       set_qp2:       Qpn = 120, 24;
        /// Source GID.
        gidaddr1,  set_gidaddr1:  Gid = 144, 128;
        /// Destination GID.
        gidaddr2,  set_gidaddr2:  Gid = 272, 128;
        #[doc(hidden)]
        reserved4, set_reserved4: u32 = 400, 32;
    }
}

wire_struct! {
    /// Trap 259: a packet with a wrong P_Key at an external port of a switch.
    ///
    /// Source: IBA vol. 1, 14.2.5.1; `attributes.csv`, struct `NoticeDetails259`.
    pub struct NoticeDetails259("NoticeDetails259", 54 bytes) {
        /// The following fields that are valid; no source gives the order of the flags.
        data_valid, set_data_valid: u16     = 0, 16;
        /// Source LID.
        lidaddr1,   set_lidaddr1:   Lid     = 16, 16;
        /// Destination LID.
        lidaddr2,   set_lidaddr2:   Lid     = 32, 16;
        /// The wrong key.
        p_key,      set_p_key:      PKey    = 48, 16;
        /// Service level.
        sl,         set_sl:         Sl      = 64, 4;
        #[doc(hidden)]
        reserved1,  set_reserved1:  u8      = 68, 4;
        /// Source queue pair.
        qp1,        set_qp1:        Qpn     = 72, 24;
        #[doc(hidden)]
        reserved2,  set_reserved2:  u8      = 96, 8;
        /// Destination queue pair.
        qp2,        set_qp2:        Qpn     = 104, 24;
        /// Source GID.
        gidaddr1,   set_gidaddr1:   Gid     = 128, 128;
        /// Destination GID.
        gidaddr2,   set_gidaddr2:   Gid     = 256, 128;
        /// LID of the switch.
        swlidaddr,  set_swlidaddr:  Lid     = 384, 16;
        /// Port where it happened.
        port_num,   set_port_num:   PortNum = 400, 8;
        #[doc(hidden)]
        reserved3,  set_reserved3:  u32     = 408, 24;
    }
}

wire_struct! {
    /// Congestion control, trap 0: a datagram with a wrong CC_Key.
    ///
    /// Source: IBA vol. 1, A10.4; `attributes.csv`, struct `NoticeDetailsCC0`.
    pub struct NoticeDetailsCc0("NoticeDetailsCC0", 54 bytes) {
        /// Source LID.
        source_lid,         set_source_lid:         Lid         = 0, 16;
        /// Method of the offending datagram.
        method,             set_method:             Method      = 16, 8;
        #[doc(hidden)]
        reserved1,          set_reserved1:          u8          = 24, 8;
        /// Attribute of the offending datagram.
        attribute_id,       set_attribute_id:       AttributeId = 32, 16;
        #[doc(hidden)]
        reserved2,          set_reserved2:          u16         = 48, 16;
        /// Modifier of the offending datagram.
        attribute_modifier, set_attribute_modifier: u32         = 64, 32;
        #[doc(hidden)]
        reserved3,          set_reserved3:          u8          = 96, 8;
        /// Source queue pair.
        qp,                 set_qp:                 Qpn         = 104, 24;
        /// The wrong key.
        cc_key,             set_cc_key:             CcKey       = 128, 64;
        /// Source GID.
        source_gid,         set_source_gid:         Gid         = 192, 128;
        #[doc(hidden)]
        reserved4,          set_reserved4:          [bytes; 14] = 320, 112;
    }
}

wire_struct! {
    /// Baseboard management, trap 259: a datagram with a wrong B_Key.
    ///
    /// Source: IBA vol. 1, 16.2; `attributes.csv`, struct `NoticeDetailsBM259`.
    pub struct NoticeDetailsBm259("NoticeDetailsBM259", 54 bytes) {
        /// LID of the port.
        lidaddr,            set_lidaddr:            Lid         = 0, 16;
        /// Method of the offending datagram.
        method,             set_method:             Method      = 16, 8;
        #[doc(hidden)]
        reserved1,          set_reserved1:          u8          = 24, 8;
        /// Attribute of the offending datagram.
        attribute_id,       set_attribute_id:       AttributeId = 32, 16;
        /// Modifier of the offending datagram.
        attribute_modifier, set_attribute_modifier: u32         = 48, 32;
        #[doc(hidden)]
        reserved2,          set_reserved2:          u8          = 80, 8;
        /// Source queue pair.
        qp,                 set_qp:                 Qpn         = 88, 24;
        /// The wrong key.
        b_key,              set_b_key:              BKey        = 112, 64;
        /// GID of the port, or of the multicast group.
        gidaddr,            set_gidaddr:            Gid         = 176, 128;
        #[doc(hidden)]
        reserved3,          set_reserved3:          [bytes; 16] = 304, 128;
    }
}

wire_struct! {
    /// Baseboard management, trap 260: an event of a module.
    ///
    /// Source: IBA vol. 1, 16.2; `attributes.csv`, struct `NoticeDetailsBM260`.
    pub struct NoticeDetailsBm260("NoticeDetailsBM260", 54 bytes) {
        /// Bytes of `trap_data` that mean something.
        data_length,        set_data_length:        u8          = 0, 8;
        /// The device module that raised it: 0 MME, 1 OEM MME, 2 CME RTR, 3 WRE, 4 CME, 5 OEM CME.
        trap_type,          set_trap_type:          u8          = 8, 8;
        /// Belongs to the type.
        trap_type_modifier, set_trap_type_modifier: [bytes; 3]  = 16, 24;
        /// Data of the module.
        trap_data,          set_trap_data:          [secret; 49] = 40, 392;
    }
}
