//! The SA header and the format of an SA datagram (IBA vol. 1, 15.2.1).
//!
//! Behind the common header and the RMPP header stand 20 bytes: SM_Key, AttributeOffset and
//! ComponentMask. The trap: AttributeOffset counts in 8 bytes and is the distance of records in a
//! table, not their size.

use ib_mad::{
    AttributeId, MadHeader, MadStatus, Method, MgmtClass, RespTime, RmppStatus, RmppType, SmKey,
    TransactionId,
};
use ib_wire::wire_struct;

use crate::ComponentMask;

wire_struct! {
    /// SA header: 20 bytes behind the RMPP header.
    ///
    /// Source: IBA vol. 1, 15.2.1.1; `headers.csv`, struct `SAHeader`.
    pub struct SaHeader("SAHeader", 20 bytes) {
        /// Key by which the SA trusts a requester; 0 in responses.
        sm_key, set_sm_key: SmKey = 0, 64;
        /// Distance between the records of a table in units of 8 bytes.
        attribute_offset, set_attribute_offset: u16 = 64, 16;
        #[doc(hidden)]
        reserved, set_reserved: u16 = 80, 16;
        /// Which components of the template a query compares.
        component_mask, set_component_mask: ComponentMask = 96, 64;
    }
}

wire_struct! {
    /// A datagram of subnet administration: class 0x03, version 2, QP1.
    ///
    /// Source: IBA vol. 1, 15.2.1.1; `headers.csv`, struct `SAMad`.
    pub struct SaMad("SAMad", 256 bytes) {
        /// Version of the MAD header: 1.
        base_version, set_base_version: u8 = 0, 8;
        /// 0x03.
        mgmt_class, set_mgmt_class: MgmtClass = 8, 8;
        /// 2.
        class_version, set_class_version: u8 = 16, 8;
        /// Method; bit 7 marks a response.
        method, set_method: Method = 24, 8;
        /// Status of a response; the high byte is an [`SaStatus`](ib_mad::SaStatus).
        status, set_status: MadStatus = 32, 16;
        /// Not used by this class.
        class_specific, set_class_specific: u16 = 48, 16;
        /// Ties a response to its request.
        transaction_id, set_transaction_id: TransactionId = 64, 64;
        /// Which record.
        attribute_id, set_attribute_id: AttributeId = 128, 16;
        #[doc(hidden)]
        header_reserved, set_header_reserved: u16 = 144, 16;
        /// Each record has its own meaning; 0 as a rule.
        attribute_modifier, set_attribute_modifier: u32 = 160, 32;
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
        /// Which components of the template a query compares.
        component_mask, set_component_mask: ComponentMask = 384, 64;
        /// One record, or a segment of a table.
        data, set_data: [bytes; 200] = 448, 1600;
    }
}

impl SaMad {
    /// Version of the class.
    pub const CLASS_VERSION: u8 = 2;
    /// Bytes of a datagram before its data.
    pub const DATA_OFFSET: usize = 56;

    /// A datagram of zeros for a record: versions and class are set.
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

    /// The common MAD header.
    #[inline]
    #[must_use]
    pub fn header(&self) -> MadHeader {
        MadHeader::from_bytes(
            *self
                .as_bytes()
                .first_chunk()
                .unwrap_or(&[0; MadHeader::LEN]),
        )
    }
}
