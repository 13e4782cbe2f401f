//! ServiceRecord: a service that a port offers (IBA vol. 1, 15.2.5.14).

use ib_mad::{Attribute, AttributeId};
use ib_wire::{Gid, PKey, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// A service that a port offers.
    ///
    /// Source: IBA vol. 1, 15.2.5.14; `attributes.csv`, struct `ServiceRecord`.
    pub struct ServiceRecord("ServiceRecord", 176 bytes) {
        /// Number of the service.
        service_id, set_service_id: u64 = 0, 64;
        /// GID of the port that offers the service.
        service_gid, set_service_gid: Gid = 64, 128;
        /// Partition in which it is offered.
        service_p_key, set_service_p_key: PKey = 192, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: u16 = 208, 16;
        /// Seconds that the record lives; 0xFFFFFFFF for ever.
        service_lease, set_service_lease: u32 = 224, 32;
        /// Key that guards the record against others.
        service_key, set_service_key: [secret; 16] = 256, 128;
        /// Name of the service: UTF-8, ends at the first NUL.
        service_name, set_service_name: [text; 64] = 384, 512;
        /// Data of the service, bytes.
        service_data8, set_service_data8: [u8; 16] = 896, 128;
        /// Data of the service, 16-bit numbers.
        service_data16, set_service_data16: [u16; 8] = 1024, 128;
        /// Data of the service, 32-bit numbers.
        service_data32, set_service_data32: [u32; 4] = 1152, 128;
        /// Data of the service, 64-bit numbers.
        service_data64, set_service_data64: [u64; 2] = 1280, 128;
    }
}

impl Attribute for ServiceRecord {
    const ID: AttributeId = AttributeId(0x0031);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`ServiceRecord`] that a query compares.
    pub struct ServiceComponents for ServiceRecord {
        SERVICE_ID = 0 => "service_id",
        SERVICE_GID = 1 => "service_gid",
        SERVICE_P_KEY = 2 => "service_p_key",
        RESERVED1 = 3 => "reserved1",
        SERVICE_LEASE = 4 => "service_lease",
        SERVICE_KEY = 5 => "service_key",
        SERVICE_NAME = 6 => "service_name",
        SERVICE_DATA8_0 = 7 => "service_data8[0]",
        SERVICE_DATA8_1 = 8 => "service_data8[1]",
        SERVICE_DATA8_2 = 9 => "service_data8[2]",
        SERVICE_DATA8_3 = 10 => "service_data8[3]",
        SERVICE_DATA8_4 = 11 => "service_data8[4]",
        SERVICE_DATA8_5 = 12 => "service_data8[5]",
        SERVICE_DATA8_6 = 13 => "service_data8[6]",
        SERVICE_DATA8_7 = 14 => "service_data8[7]",
        SERVICE_DATA8_8 = 15 => "service_data8[8]",
        SERVICE_DATA8_9 = 16 => "service_data8[9]",
        SERVICE_DATA8_10 = 17 => "service_data8[10]",
        SERVICE_DATA8_11 = 18 => "service_data8[11]",
        SERVICE_DATA8_12 = 19 => "service_data8[12]",
        SERVICE_DATA8_13 = 20 => "service_data8[13]",
        SERVICE_DATA8_14 = 21 => "service_data8[14]",
        SERVICE_DATA8_15 = 22 => "service_data8[15]",
        SERVICE_DATA16_0 = 23 => "service_data16[0]",
        SERVICE_DATA16_1 = 24 => "service_data16[1]",
        SERVICE_DATA16_2 = 25 => "service_data16[2]",
        SERVICE_DATA16_3 = 26 => "service_data16[3]",
        SERVICE_DATA16_4 = 27 => "service_data16[4]",
        SERVICE_DATA16_5 = 28 => "service_data16[5]",
        SERVICE_DATA16_6 = 29 => "service_data16[6]",
        SERVICE_DATA16_7 = 30 => "service_data16[7]",
        SERVICE_DATA32_0 = 31 => "service_data32[0]",
        SERVICE_DATA32_1 = 32 => "service_data32[1]",
        SERVICE_DATA32_2 = 33 => "service_data32[2]",
        SERVICE_DATA32_3 = 34 => "service_data32[3]",
        SERVICE_DATA64_0 = 35 => "service_data64[0]",
        SERVICE_DATA64_1 = 36 => "service_data64[1]",
    }
}

impl Record for ServiceRecord {
    type Components = ServiceComponents;
}
