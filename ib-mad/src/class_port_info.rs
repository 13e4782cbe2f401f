//! ClassPortInfo: what the agent of a class on a port can do (IBA vol. 1, 13.4.8.1).
//!
//! Every class but subnet management has it. It says how long an answer may take and where traps are
//! to go. In an answer with the redirection status it says whom to ask instead.

use bitflags::bitflags;
use ib_wire::{Gid, Lid, PKey, QKey, Qpn, Sl, flags_value, table::Layout, wire_struct};

use crate::{Attribute, AttributeId, RespTime};

wire_struct! {
    /// Versions, abilities, response time, redirection and trap address of a class.
    ///
    /// Source: IBA vol. 1, 13.4.8.1; `attributes.csv`, struct `ClassPortInfo`.
    pub struct ClassPortInfo("ClassPortInfo", 72 bytes) {
        /// Highest version of the common header.
        base_version,     set_base_version:     u8                = 0, 8;
        /// Highest version of the class.
        class_version,    set_class_version:    u8                = 8, 8;
        /// Capabilities of the agent: the low byte in every class, the high byte per class.
        capability_mask,  set_capability_mask:  ClassCapabilities = 16, 16;
        /// Further capabilities of the agent, per class.
        capability_mask2, set_capability_mask2: u32               = 32, 27;
        /// Longest time from a request to its answer.
        resp_time_value,  set_resp_time_value:  RespTime          = 59, 5;
        /// GID of the port to ask instead.
        redirect_gid,     set_redirect_gid:     Gid               = 64, 128;
        /// Traffic class for packets there.
        redirect_tc,      set_redirect_tc:      u8                = 192, 8;
        /// Service level for packets there.
        redirect_sl,      set_redirect_sl:      Sl                = 200, 4;
        /// Flow label for packets there.
        redirect_fl,      set_redirect_fl:      u32               = 204, 20;
        /// LID of the port to ask instead; 0: find it by the GID.
        redirect_lid,     set_redirect_lid:     Lid               = 224, 16;
        /// Partition for packets there.
        redirect_p_key,   set_redirect_p_key:   PKey              = 240, 16;
        #[doc(hidden)]
        reserved1,        set_reserved1:        u8                = 256, 8;
        /// Queue pair to ask instead.
        redirect_qp,      set_redirect_qp:      Qpn               = 264, 24;
        /// Queue key of that queue pair.
        redirect_q_key,   set_redirect_q_key:   QKey              = 288, 32;
        /// GID of the port to send traps to.
        trap_gid,         set_trap_gid:         Gid               = 320, 128;
        /// Traffic class for packets there.
        trap_tc,          set_trap_tc:          u8                = 448, 8;
        /// Service level for packets there.
        trap_sl,          set_trap_sl:          Sl                = 456, 4;
        /// Flow label for packets there.
        trap_fl,          set_trap_fl:          u32               = 460, 20;
        /// LID of the port to send traps to; 0: no traps are sent.
        trap_lid,         set_trap_lid:         Lid               = 480, 16;
        /// Partition for packets there.
        trap_p_key,       set_trap_p_key:       PKey              = 496, 16;
        /// Hop limit for packets there.
        trap_hl,          set_trap_hl:          u8                = 512, 8;
        /// Queue pair to send traps to.
        trap_qp,          set_trap_qp:          Qpn               = 520, 24;
        /// Queue key of that queue pair.
        trap_q_key,       set_trap_q_key:       QKey              = 544, 32;
    }
}

impl Attribute for ClassPortInfo {
    const ID: AttributeId = AttributeId(0x0001);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

bitflags! {
    /// Capabilities of an agent in every class (`ClassPortInfo.capability_mask`); the bits from 8 on belong
    /// to the class and are kept.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ClassCapabilities: u16 {
        /// Sends traps.
        const IS_TRAP_SUPPORTED = 1 << 0;
        /// Get(Notice) and Set(Notice) work.
        const IS_GET_SET_NOTICE_SUPPORTED = 1 << 1;
        /// `capability_mask2` means something.
        const IS_CAPABILITY_MASK2_SUPPORTED = 1 << 2;
        const _ = !0;
    }
}

flags_value!(ClassCapabilities: u16);
