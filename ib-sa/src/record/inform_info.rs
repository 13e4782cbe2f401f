//! InformInfoRecord: a subscription to notices (IBA vol. 1, 15.2.5.12).

use ib_mad::{Attribute, AttributeId, InformInfo};
use ib_wire::{Gid, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// A subscription to notices.
    ///
    /// Source: IBA vol. 1, 15.2.5.12; `attributes.csv`, struct `InformInfoRecord`.
    pub struct InformInfoRecord("InformInfoRecord", 60 bytes) {
        /// GID of the subscriber.
        subscriber_gid, set_subscriber_gid: Gid = 0, 128;
        /// Tells several subscriptions of one subscriber apart.
        enumeration, set_enumeration: u16 = 128, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: u16 = 144, 16;
        #[doc(hidden)]
        reserved2, set_reserved2: u32 = 160, 32;
        /// The subscription.
        inform_info, set_inform_info: InformInfo = 192, 288;
    }
}

impl Attribute for InformInfoRecord {
    const ID: AttributeId = AttributeId(0x00F3);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`InformInfoRecord`] that a query compares.
    pub struct InformInfoComponents for InformInfoRecord {
        SUBSCRIBER_GID = 0 => "subscriber_gid",
        ENUMERATION = 1 => "enumeration",
        RESERVED1 = 2 => "reserved1",
        GID = 3 => "inform_info.gid",
        LID_RANGE_BEGIN = 4 => "inform_info.lid_range_begin",
        LID_RANGE_END = 5 => "inform_info.lid_range_end",
        INFORM_INFO_RESERVED1 = 6 => "inform_info.reserved1",
        IS_GENERIC = 7 => "inform_info.is_generic",
        SUBSCRIBE = 8 => "inform_info.subscribe",
        TYPE = 9 => "inform_info.type",
        TRAP_NUMBER = 10 => "inform_info.trap_number",
        QPN = 11 => "inform_info.qpn",
        RESERVED2 = 12 => "inform_info.reserved2",
        RESP_TIME_VALUE = 13 => "inform_info.resp_time_value",
        RESERVED3 = 14 => "inform_info.reserved3",
        PRODUCER_TYPE = 15 => "inform_info.producer_type",
    }
}

impl Record for InformInfoRecord {
    type Components = InformInfoComponents;
}
