//! Methods (IBA vol. 1, 13.4.5).

use ib_wire::code_points;

code_points! {
    /// Operation that a datagram asks for or answers; bit 7 marks a response.
    pub struct Method(u8) {
        GET             = 0x01 => "Get",
        SET             = 0x02 => "Set",
        /// Answers Get and Set.
        GET_RESP        = 0x81 => "GetResp",
        /// Has no response.
        SEND            = 0x03 => "Send",
        /// Has no response; TrapRepress stops its repetition.
        TRAP            = 0x05 => "Trap",
        REPORT          = 0x06 => "Report",
        REPORT_RESP     = 0x86 => "ReportResp",
        /// Has no response.
        TRAP_REPRESS    = 0x07 => "TrapRepress",
        GET_TABLE       = 0x12 => "GetTable",
        /// Answers GetTable and GetTraceTable.
        GET_TABLE_RESP  = 0x92 => "GetTableResp",
        GET_TRACE_TABLE = 0x13 => "GetTraceTable",
        /// Double-sided RMPP.
        GET_MULTI       = 0x14 => "GetMulti",
        GET_MULTI_RESP  = 0x94 => "GetMultiResp",
        DELETE          = 0x15 => "Delete",
        DELETE_RESP     = 0x95 => "DeleteResp",
    }
}

impl Method {
    /// Returns true if this is a response: bit 7 is set.
    #[inline]
    #[must_use]
    pub const fn is_response(self) -> bool {
        self.0 & 0x80 != 0
    }
}
