//! Messages that give a connection another alternate path (IBA vol. 1, 12.8).

use ib_wire::{Gid, Lid, QKey, Qpn, Rate, Sl, table::Layout, wire_struct};

use super::AprStatus;
use ib_mad::{Attribute, AttributeId};

wire_struct! {
    /// Load alternate path.
    ///
    /// Source: IBA vol. 1, 12.6; `attributes.csv`, struct `LAP`.
    pub struct Lap("LAP", 232 bytes) {
        /// The sender's number of the connection.
        local_communication_id,      set_local_communication_id:      u32          = 0, 32;
        /// The receiver's number of the connection.
        remote_communication_id,     set_remote_communication_id:     u32          = 32, 32;
        /// Queue key of the sender's CM; reserved in newer specifications.
        local_cm_q_key,              set_local_cm_q_key:              QKey         = 64, 32;
        /// The receiver's queue pair or end-to-end context.
        remote_qpn_eecn,             set_remote_qpn_eecn:             Qpn          = 96, 24;
        /// Time that the receiver may take to answer, as 4.096 us * 2^n.
        remote_cm_response_timeout,  set_remote_cm_response_timeout:  u8           = 120, 5;
        #[doc(hidden)]
        reserved1,                   set_reserved1:                   u8           = 125, 3;
        #[doc(hidden)]
        reserved2,                   set_reserved2:                   u32          = 128, 32;
        /// LID of the sender's port on the alternate path.
        alternate_local_port_lid,    set_alternate_local_port_lid:    Lid          = 160, 16;
        /// LID of the receiver's port on the alternate path.
        alternate_remote_port_lid,   set_alternate_remote_port_lid:   Lid          = 176, 16;
        /// GID of the sender's port on the alternate path.
        alternate_local_port_gid,    set_alternate_local_port_gid:    Gid          = 192, 128;
        /// GID of the receiver's port on the alternate path.
        alternate_remote_port_gid,   set_alternate_remote_port_gid:   Gid          = 320, 128;
        /// Flow label of the alternate path.
        alternate_flow_label,        set_alternate_flow_label:        u32          = 448, 20;
        #[doc(hidden)]
        reserved3,                   set_reserved3:                   u8           = 468, 4;
        /// Traffic class of the alternate path.
        alternate_traffic_class,     set_alternate_traffic_class:     u8           = 472, 8;
        /// Hops that routers may take on the alternate path.
        alternate_hop_limit,         set_alternate_hop_limit:         u8           = 480, 8;
        #[doc(hidden)]
        reserved4,                   set_reserved4:                   u8           = 488, 2;
        /// Rate of the alternate path.
        alternate_packet_rate,       set_alternate_packet_rate:       Rate         = 490, 6;
        /// Service level of the alternate path.
        alternate_sl,                set_alternate_sl:                Sl           = 496, 4;
        /// The alternate path stays in the subnet.
        alternate_subnet_local,      set_alternate_subnet_local:      bool         = 500, 1;
        #[doc(hidden)]
        reserved5,                   set_reserved5:                   u8           = 501, 3;
        /// Time-out of an acknowledgement on the alternate path, as 4.096 us * 2^n.
        alternate_local_ack_timeout, set_alternate_local_ack_timeout: u8           = 504, 5;
        #[doc(hidden)]
        reserved6,                   set_reserved6:                   u8           = 509, 3;
        /// The consumer's own.
        private_data,                set_private_data:                [secret; 168] = 512, 1344;
    }
}

impl Attribute for Lap {
    const ID: AttributeId = AttributeId(0x0019);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Alternate path response.
    ///
    /// Source: IBA vol. 1, 12.6; `attributes.csv`, struct `APR`.
    pub struct Apr("APR", 232 bytes) {
        /// The sender's number of the connection.
        local_communication_id,        set_local_communication_id:        u32          = 0, 32;
        /// The receiver's number of the connection.
        remote_communication_id,       set_remote_communication_id:       u32          = 32, 32;
        /// Bytes of `additional_information` that mean something.
        additional_information_length, set_additional_information_length: u8           = 64, 8;
        /// Response to the alternate path.
        ap_status,                     set_ap_status:                     AprStatus    = 72, 8;
        #[doc(hidden)]
        reserved1,                     set_reserved1:                     u16          = 80, 16;
        /// The value that would be accepted, in the form that the status defines.
        additional_information,        set_additional_information:        [bytes; 72]  = 96, 576;
        /// The consumer's own.
        private_data,                  set_private_data:                  [secret; 148] = 672, 1184;
    }
}

impl Attribute for Apr {
    const ID: AttributeId = AttributeId(0x001a);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
