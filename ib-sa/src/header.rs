//! The SA header and the format of an SA datagram (IBA vol. 1, 15.2.1).
//!
//! The common header and the RMPP header are followed by 20 bytes: SM_Key, AttributeOffset and
//! ComponentMask. Pitfall: AttributeOffset counts in 8 bytes and is the distance of records in a table, not
//! their size.

use ib_mad::{
    AttributeId, MadStatus, Method, MgmtClass, RespTime, RmppStatus, RmppType, SmKey,
    TransactionId, mad_format,
};
use ib_wire::wire_struct;

use crate::ComponentMask;

wire_struct! {
    /// SA header: 20 bytes after the RMPP header.
    ///
    /// Source: IBA vol. 1, 15.2.1.1; `headers.csv`, struct `SAHeader`.
    pub struct SaHeader("SAHeader", 20 bytes) {
        /// Key by which the SA trusts a requester; 0 in responses.
        sm_key, set_sm_key: SmKey = 0, 64;
        /// Distance between the records of a table in units of 8 bytes.
        attribute_offset, set_attribute_offset: u16 = 64, 16;
        #[doc(hidden)]
        reserved, set_reserved: u16 = 80, 16;
        /// The components of the template that a query compares.
        component_mask, set_component_mask: ComponentMask = 96, 64;
    }
}

mad_format! {
    /// A datagram of subnet administration: class 0x03, version 2, QP1.
    ///
    /// Source: IBA vol. 1, 15.2.1.1; `headers.csv`, struct `SAMad`.
    pub struct SaMad("SAMad") {
        /// 1 where RMPP is active.
        rmpp_version, set_rmpp_version: u8 = 192, 8;
        /// Kind of RMPP packet.
        rmpp_type, set_rmpp_type: RmppType = 200, 8;
        /// Longest time until the sender answers: 4.096 us * 2^n; 31 is none given.
        r_resp_time, set_r_resp_time: RespTime = 208, 5;
        /// RMPP: last segment.
        last, set_last: bool = 213, 1;
        /// RMPP: first segment.
        first, set_first: bool = 214, 1;
        /// RMPP is active; else the other RMPP fields mean nothing.
        active, set_active: bool = 215, 1;
        /// Why RMPP stopped or aborted.
        rmpp_status, set_rmpp_status: RmppStatus = 216, 8;
        /// RMPP: segment number.
        data1, set_data1: u32 = 224, 32;
        /// RMPP: payload length, or the new end of the window.
        data2, set_data2: u32 = 256, 32;
        /// Key by which the SA trusts a requester; 0 in responses.
        sm_key, set_sm_key: SmKey = 288, 64;
        /// Distance between the records of a table in units of 8 bytes.
        attribute_offset, set_attribute_offset: u16 = 352, 16;
        #[doc(hidden)]
        sa_reserved, set_sa_reserved: u16 = 368, 16;
        /// The components of the template that a query compares.
        component_mask, set_component_mask: ComponentMask = 384, 64;
        /// One record, or a segment of a table.
        data, set_data: [secret; 200] = 448, 1600;
    }
}

impl SaMad {
    /// Version of the class.
    pub const CLASS_VERSION: u8 = 2;
    /// Bytes of a datagram before its data.
    pub const DATA_OFFSET: usize = 56;

    /// A datagram of zeros for a record: versions and class are set.
    ///
    /// ```
    /// use ib_mad::{Attribute, Mad, MadAddress, Method, Notice};
    /// use ib_sa::SaMad;
    /// use ib_wire::{Lid, Sl};
    ///
    /// let notice = Notice::default();
    /// let report: Mad = SaMad::new(Method::REPORT, Notice::ID)
    ///     .set_attribute(&notice)
    ///     .to(MadAddress::gsi(Lid(7), Sl::ZERO));
    /// assert_eq!(report.header().attribute_id(), Notice::ID);
    /// ```
    #[must_use]
    pub fn new(method: Method, attribute_id: AttributeId) -> Self {
        let mut mad = Self::default();
        mad.set_base_version(1)
            .set_mgmt_class(MgmtClass::SUBN_ADM)
            .set_class_version(Self::CLASS_VERSION)
            .set_method(method)
            .set_attribute_id(attribute_id);
        mad
    }
}
