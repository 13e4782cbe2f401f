//! Service ID resolution: which queue pair serves datagrams of a service (IBA vol. 1, 12.11).

use ib_wire::{PKey, QKey, Qpn, table::Layout, wire_struct};

use super::SidrStatus;
use ib_mad::{Attribute, AttributeId};

wire_struct! {
    /// Asks for the queue pair of a service (SIDR_REQ).
    ///
    /// Source: IBA vol. 1, 12.6; `attributes.csv`, struct `SIDR_REQ`.
    pub struct SidrReq("SIDR_REQ", 232 bytes) {
        /// Ties the answer to the request.
        request_id,    set_request_id:    u32          = 0, 32;
        /// Partition of the connection.
        partition_key, set_partition_key: PKey         = 32, 16;
        #[doc(hidden)]
        reserved1,     set_reserved1:     u16          = 48, 16;
        /// Service to connect to.
        service_id,    set_service_id:    u64          = 64, 64;
        /// The consumer's own.
        private_data,  set_private_data:  [secret; 216] = 128, 1728;
    }
}

impl Attribute for SidrReq {
    const ID: AttributeId = AttributeId(0x0017);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// The queue pair of a service; the layout of class version 2.
    ///
    /// Source: IBA vol. 1, 12.6; `attributes.csv`, struct `SIDR_REP`.
    pub struct SidrRep("SIDR_REP", 232 bytes) {
        /// Ties the answer to the request.
        request_id,                    set_request_id:                    u32          = 0, 32;
        /// True if the service was found.
        status,                        set_status:                        SidrStatus   = 32, 8;
        /// Bytes of `additional_information` that mean something.
        additional_information_length, set_additional_information_length: u8           = 40, 8;
        #[doc(hidden)]
        reserved1,                     set_reserved1:                     u16          = 48, 16;
        /// Queue pair of the service.
        qpn,                           set_qpn:                           Qpn          = 64, 24;
        #[doc(hidden)]
        reserved2,                     set_reserved2:                     u8           = 88, 8;
        /// Service to connect to.
        service_id,                    set_service_id:                    u64          = 96, 64;
        /// Queue key of that queue pair.
        q_key,                         set_q_key:                         QKey         = 160, 32;
        /// The value that would be accepted, in the form that the status defines.
        additional_information,        set_additional_information:        [bytes; 72]  = 192, 576;
        /// The consumer's own.
        private_data,                  set_private_data:                  [secret; 136] = 768, 1088;
    }
}

impl Attribute for SidrRep {
    const ID: AttributeId = AttributeId(0x0018);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
