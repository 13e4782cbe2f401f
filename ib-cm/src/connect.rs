//! Messages that set a connection up and take it down (IBA vol. 1, 12.6.5 to 12.6.11).
//!
//! REQ and REP carry what each side's queue pair needs to know of the other; RTU confirms that the
//! connection is established; DREQ and DREP end it. MRA asks for more time, REJ refuses.

use ib_wire::{Gid, Guid, Lid, Mtu, PKey, QKey, Qpn, Rate, Sl, table::Layout, wire_struct};

use super::{CmMessage, RejReason, TransportService};
use ib_mad::{Attribute, AttributeId};

wire_struct! {
    /// Request for a connection.
    ///
    /// Source: IBA vol. 1, 12.6; `attributes.csv`, struct `REQ`.
    pub struct Req("REQ", 232 bytes) {
        /// The sender's number of the connection.
        local_communication_id,      set_local_communication_id:      u32              = 0, 32;
        #[doc(hidden)]
        reserved1,                   set_reserved1:                   u32              = 32, 32;
        /// Service to connect to.
        service_id,                  set_service_id:                  u64              = 64, 64;
        /// GUID of the sender's CA.
        local_ca_guid,               set_local_ca_guid:               Guid             = 128, 64;
        /// Queue key of the sender's CM; reserved in newer specifications.
        local_cm_q_key,              set_local_cm_q_key:              QKey             = 192, 32;
        /// Queue key of the sender's queue pair, for datagrams.
        local_q_key,                 set_local_q_key:                 QKey             = 224, 32;
        /// The sender's queue pair.
        local_qpn,                   set_local_qpn:                   Qpn              = 256, 24;
        /// RDMA reads and atomics that the sender can serve at once.
        responder_resources,         set_responder_resources:         u8               = 280, 8;
        /// The sender's end-to-end context, for RD.
        local_eecn,                  set_local_eecn:                  u32              = 288, 24;
        /// RDMA reads and atomics that the sender will have outstanding.
        initiator_depth,             set_initiator_depth:             u8               = 312, 8;
        /// The receiver's end-to-end context, for RD.
        remote_eecn,                 set_remote_eecn:                 u32              = 320, 24;
        /// Time that the receiver may take to answer, as 4.096 us * 2^n.
        remote_cm_response_timeout,  set_remote_cm_response_timeout:  u8               = 344, 5;
        /// Kind of connection.
        transport_service_type,      set_transport_service_type:      TransportService = 349, 2;
        /// The sender's queue pair gives message credits.
        end_to_end_flow_control,     set_end_to_end_flow_control:     bool             = 351, 1;
        /// First packet sequence number that the sender uses.
        starting_psn,                set_starting_psn:                u32              = 352, 24;
        /// Time that the sender takes to answer, as 4.096 us * 2^n.
        local_cm_response_timeout,   set_local_cm_response_timeout:   u8               = 376, 5;
        /// Repetitions of a packet before the connection fails.
        retry_count,                 set_retry_count:                 u8               = 381, 3;
        /// Partition of the connection.
        partition_key,               set_partition_key:               PKey             = 384, 16;
        /// Largest payload of a packet on the path.
        path_packet_payload_mtu,     set_path_packet_payload_mtu:     Mtu              = 400, 4;
        /// A reliable datagram channel between the two exists.
        rdc_exists,                  set_rdc_exists:                  bool             = 404, 1;
        /// Repetitions of a packet that met no receive buffer; 7: no end.
        rnr_retry_count,             set_rnr_retry_count:             u8               = 405, 3;
        /// Repetitions of a message before the sender gives up.
        max_cm_retries,              set_max_cm_retries:              u8               = 408, 4;
        /// The queue pair takes its receive buffers from a shared queue.
        srq,                         set_srq:                         bool             = 412, 1;
        /// The extended transport, if `transport_service_type` says extended: 1 XRC.
        extended_transport_type,     set_extended_transport_type:     u8               = 413, 3;
        /// LID of the sender's port on the primary path.
        primary_local_port_lid,      set_primary_local_port_lid:      Lid              = 416, 16;
        /// LID of the receiver's port on the primary path.
        primary_remote_port_lid,     set_primary_remote_port_lid:     Lid              = 432, 16;
        /// GID of the sender's port on the primary path.
        primary_local_port_gid,      set_primary_local_port_gid:      Gid              = 448, 128;
        /// GID of the receiver's port on the primary path.
        primary_remote_port_gid,     set_primary_remote_port_gid:     Gid              = 576, 128;
        /// Flow label of the primary path.
        primary_flow_label,          set_primary_flow_label:          u32              = 704, 20;
        #[doc(hidden)]
        reserved2,                   set_reserved2:                   u8               = 724, 6;
        /// Rate of the primary path.
        primary_packet_rate,         set_primary_packet_rate:         Rate             = 730, 6;
        /// Traffic class of the primary path.
        primary_traffic_class,       set_primary_traffic_class:       u8               = 736, 8;
        /// Hops that routers may take on the primary path.
        primary_hop_limit,           set_primary_hop_limit:           u8               = 744, 8;
        /// Service level of the primary path.
        primary_sl,                  set_primary_sl:                  Sl               = 752, 4;
        /// The primary path stays in the subnet.
        primary_subnet_local,        set_primary_subnet_local:        bool             = 756, 1;
        #[doc(hidden)]
        reserved3,                   set_reserved3:                   u8               = 757, 3;
        /// Time-out of an acknowledgement on the primary path, as 4.096 us * 2^n.
        primary_local_ack_timeout,   set_primary_local_ack_timeout:   u8               = 760, 5;
        #[doc(hidden)]
        reserved4,                   set_reserved4:                   u8               = 765, 3;
        /// LID of the sender's port on the alternate path.
        alternate_local_port_lid,    set_alternate_local_port_lid:    Lid              = 768, 16;
        /// LID of the receiver's port on the alternate path.
        alternate_remote_port_lid,   set_alternate_remote_port_lid:   Lid              = 784, 16;
        /// GID of the sender's port on the alternate path.
        alternate_local_port_gid,    set_alternate_local_port_gid:    Gid              = 800, 128;
        /// GID of the receiver's port on the alternate path.
        alternate_remote_port_gid,   set_alternate_remote_port_gid:   Gid              = 928, 128;
        /// Flow label of the alternate path.
        alternate_flow_label,        set_alternate_flow_label:        u32              = 1056, 20;
        #[doc(hidden)]
        reserved5,                   set_reserved5:                   u8               = 1076, 6;
        /// Rate of the alternate path.
        alternate_packet_rate,       set_alternate_packet_rate:       Rate             = 1082, 6;
        /// Traffic class of the alternate path.
        alternate_traffic_class,     set_alternate_traffic_class:     u8               = 1088, 8;
        /// Hops that routers may take on the alternate path.
        alternate_hop_limit,         set_alternate_hop_limit:         u8               = 1096, 8;
        /// Service level of the alternate path.
        alternate_sl,                set_alternate_sl:                Sl               = 1104, 4;
        /// The alternate path stays in the subnet.
        alternate_subnet_local,      set_alternate_subnet_local:      bool             = 1108, 1;
        #[doc(hidden)]
        reserved6,                   set_reserved6:                   u8               = 1109, 3;
        /// Time-out of an acknowledgement on the alternate path, as 4.096 us * 2^n.
        alternate_local_ack_timeout, set_alternate_local_ack_timeout: u8               = 1112, 5;
        /// The sender knows SAP and SPR.
        sap_supported,               set_sap_supported:               bool             = 1117, 1;
        #[doc(hidden)]
        reserved7,                   set_reserved7:                   u8               = 1118, 2;
        /// The consumer's own.
        private_data,                set_private_data:                [secret; 92]     = 1120, 736;
    }
}

impl Attribute for Req {
    const ID: AttributeId = AttributeId(0x0010);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Message receipt acknowledgement: the answer will take longer.
    ///
    /// Source: IBA vol. 1, 12.6; `attributes.csv`, struct `MRA`.
    pub struct Mra("MRA", 232 bytes) {
        /// The sender's number of the connection.
        local_communication_id,  set_local_communication_id:  u32          = 0, 32;
        /// The receiver's number of the connection.
        remote_communication_id, set_remote_communication_id: u32          = 32, 32;
        /// The message that will be answered later.
        message_mraed,           set_message_mraed:           CmMessage    = 64, 2;
        #[doc(hidden)]
        reserved1,               set_reserved1:               u8           = 66, 6;
        /// Time that the answer may still take, as 4.096 us * 2^n.
        service_timeout,         set_service_timeout:         u8           = 72, 5;
        #[doc(hidden)]
        reserved2,               set_reserved2:               u8           = 77, 3;
        /// The consumer's own.
        private_data,            set_private_data:            [secret; 222] = 80, 1776;
    }
}

impl Attribute for Mra {
    const ID: AttributeId = AttributeId(0x0011);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Rejection of a connection.
    ///
    /// Source: IBA vol. 1, 12.6; `attributes.csv`, struct `REJ`.
    pub struct Rej("REJ", 232 bytes) {
        /// The sender's number of the connection.
        local_communication_id,        set_local_communication_id:        u32          = 0, 32;
        /// The receiver's number of the connection.
        remote_communication_id,       set_remote_communication_id:       u32          = 32, 32;
        /// The message that is rejected.
        message_rejected,              set_message_rejected:              CmMessage    = 64, 2;
        #[doc(hidden)]
        reserved1,                     set_reserved1:                     u8           = 66, 6;
        /// Bytes of `additional_reject_information` that mean something.
        reject_info_length,            set_reject_info_length:            u8           = 72, 7;
        #[doc(hidden)]
        reserved2,                     set_reserved2:                     u8           = 79, 1;
        /// Why it is rejected.
        reason,                        set_reason:                        RejReason    = 80, 16;
        /// The value that would be accepted, in the form that the reason defines.
        additional_reject_information, set_additional_reject_information: [bytes; 72]  = 96, 576;
        /// The consumer's own.
        private_data,                  set_private_data:                  [secret; 148] = 672, 1184;
    }
}

impl Attribute for Rej {
    const ID: AttributeId = AttributeId(0x0012);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Reply to a request: the connection can be used once RTU arrives.
    ///
    /// Source: IBA vol. 1, 12.6; `attributes.csv`, struct `REP`.
    pub struct Rep("REP", 232 bytes) {
        /// The sender's number of the connection.
        local_communication_id,  set_local_communication_id:  u32          = 0, 32;
        /// The receiver's number of the connection.
        remote_communication_id, set_remote_communication_id: u32          = 32, 32;
        /// Queue key of the sender's queue pair, for datagrams.
        local_q_key,             set_local_q_key:             QKey         = 64, 32;
        /// The sender's queue pair.
        local_qpn,               set_local_qpn:               Qpn          = 96, 24;
        #[doc(hidden)]
        reserved1,               set_reserved1:               u8           = 120, 8;
        /// The sender's end-to-end context, for RD.
        local_ee_context_number, set_local_ee_context_number: u32          = 128, 24;
        #[doc(hidden)]
        reserved2,               set_reserved2:               u8           = 152, 8;
        /// First packet sequence number that the sender uses.
        starting_psn,            set_starting_psn:            u32          = 160, 24;
        #[doc(hidden)]
        reserved3,               set_reserved3:               u8           = 184, 8;
        /// RDMA reads and atomics that the sender can serve at once.
        responder_resources,     set_responder_resources:     u8           = 192, 8;
        /// RDMA reads and atomics that the sender will have outstanding.
        initiator_depth,         set_initiator_depth:         u8           = 200, 8;
        /// Delay of an acknowledgement by the sender's CA, as 4.096 us * 2^n.
        target_ack_delay,        set_target_ack_delay:        u8           = 208, 5;
        /// Response to the alternate path: 0 accepted, 1 alternate paths are not supported, 2 this one is rejected.
        failover_accepted,       set_failover_accepted:       u8           = 213, 2;
        /// The sender's queue pair gives message credits.
        end_to_end_flow_control, set_end_to_end_flow_control: bool         = 215, 1;
        /// Repetitions of a packet that met no receive buffer; 7: no end.
        rnr_retry_count,         set_rnr_retry_count:         u8           = 216, 3;
        /// The queue pair takes its receive buffers from a shared queue.
        srq,                     set_srq:                     bool         = 219, 1;
        #[doc(hidden)]
        reserved4,               set_reserved4:               u8           = 220, 4;
        /// GUID of the sender's CA.
        local_ca_guid,           set_local_ca_guid:           Guid         = 224, 64;
        /// The consumer's own.
        private_data,            set_private_data:            [secret; 196] = 288, 1568;
    }
}

impl Attribute for Rep {
    const ID: AttributeId = AttributeId(0x0013);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Ready to use: the connection is established.
    ///
    /// Source: IBA vol. 1, 12.6; `attributes.csv`, struct `RTU`.
    pub struct Rtu("RTU", 232 bytes) {
        /// The sender's number of the connection.
        local_communication_id,  set_local_communication_id:  u32          = 0, 32;
        /// The receiver's number of the connection.
        remote_communication_id, set_remote_communication_id: u32          = 32, 32;
        /// The consumer's own.
        private_data,            set_private_data:            [secret; 224] = 64, 1792;
    }
}

impl Attribute for Rtu {
    const ID: AttributeId = AttributeId(0x0014);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Request to take the connection down.
    ///
    /// Source: IBA vol. 1, 12.6; `attributes.csv`, struct `DREQ`.
    pub struct Dreq("DREQ", 232 bytes) {
        /// The sender's number of the connection.
        local_communication_id,  set_local_communication_id:  u32          = 0, 32;
        /// The receiver's number of the connection.
        remote_communication_id, set_remote_communication_id: u32          = 32, 32;
        /// The receiver's queue pair or end-to-end context.
        remote_qpn_eecn,         set_remote_qpn_eecn:         Qpn          = 64, 24;
        #[doc(hidden)]
        reserved1,               set_reserved1:               u8           = 88, 8;
        /// The consumer's own.
        private_data,            set_private_data:            [secret; 220] = 96, 1760;
    }
}

impl Attribute for Dreq {
    const ID: AttributeId = AttributeId(0x0015);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Reply to a disconnection.
    ///
    /// Source: IBA vol. 1, 12.6; `attributes.csv`, struct `DREP`.
    pub struct Drep("DREP", 232 bytes) {
        /// The sender's number of the connection.
        local_communication_id,  set_local_communication_id:  u32          = 0, 32;
        /// The receiver's number of the connection.
        remote_communication_id, set_remote_communication_id: u32          = 32, 32;
        /// The consumer's own.
        private_data,            set_private_data:            [secret; 224] = 64, 1792;
    }
}

impl Attribute for Drep {
    const ID: AttributeId = AttributeId(0x0016);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
