//! Access registers: a device's registers by number, wrapped into what the vendor calls TLVs.
//!
//! An operation TLV says which register and whether it is read or written, a register TLV holds the
//! content. The same pair goes by SMP, by this class, and over Ethernet to the vendor's switches; the
//! content of each register is the device's own.

use ib_wire::{code_points, wire_struct};

use super::mlnx_attribute;

code_points! {
    /// Kind of a TLV.
    ///
    /// Source: mstflint, Linux mlxsw; `enums.csv`, enum `MLNX_TLV_TYPE`.
    pub struct MlnxTlvType(u8) {
        END             = 0 => "End",
        OPERATION       = 1 => "Operation",
        DIRECTED_ROUTE  = 2 => "DirectedRoute",
        REGISTER        = 3 => "Register",
        USER_DATA       = 4 => "UserData",
    }
}

code_points! {
    /// Access to a register: a query or a write.
    ///
    /// Source: mstflint, Linux mlxsw; `enums.csv`, enum `MLNX_REGISTER_METHOD`.
    pub struct MlnxRegisterMethod(u8) {
        QUERY = 1 => "Query",
        WRITE = 2 => "Write",
    }
}

code_points! {
    /// Result of an access to a register.
    ///
    /// Source: mstflint, Linux mlxsw; `enums.csv`, enum `MLNX_REGISTER_STATUS`.
    pub struct MlnxRegisterStatus(u8) {
        SUCCESS                    = 0x00 => "Success",
        /// Ask again later.
        BUSY                       = 0x01 => "Busy",
        VERSION_NOT_SUPPORTED      = 0x02 => "VersionNotSupported",
        UNKNOWN_TLV                = 0x03 => "UnknownTlv",
        REGISTER_NOT_SUPPORTED     = 0x04 => "RegisterNotSupported",
        CLASS_NOT_SUPPORTED        = 0x05 => "ClassNotSupported",
        METHOD_NOT_SUPPORTED       = 0x06 => "MethodNotSupported",
        BAD_PARAMETER              = 0x07 => "BadParameter",
        RESOURCE_NOT_AVAILABLE     = 0x08 => "ResourceNotAvailable",
        /// The request has arrived; its answer comes later.
        MESSAGE_RECEIPT_ACK        = 0x09 => "MessageReceiptAck",
        NOT_SUPPORTED_BY_SECONDARY = 0x0e => "NotSupportedBySecondary",
        BAD_CONFIGURATION          = 0x20 => "BadConfiguration",
        ERASE_EXCEEDED             = 0x21 => "EraseExceeded",
        CONFIGURATION_CORRUPT      = 0x22 => "ConfigurationCorrupt",
        LENGTH_TOO_SMALL           = 0x24 => "LengthTooSmall",
        INTERNAL_ERROR             = 0x70 => "InternalError",
    }
}

wire_struct! {
    /// The register, the kind of access, and its result.
    ///
    /// Source: mstflint, Linux mlxsw; `attributes.csv`, struct `MlnxOperationTLV`.
    pub struct MlnxOperationTlv("MlnxOperationTLV", 16 bytes) {
        /// Kind: an operation.
        type_,       set_type:        MlnxTlvType        = 0, 5;
        /// Length in 32-bit words: 4.
        len,         set_len:         u16                = 5, 11;
        /// A directed route follows.
        dr,          set_dr:          bool               = 16, 1;
        /// The result, in an answer.
        status,      set_status:      MlnxRegisterStatus = 17, 7;
        #[doc(hidden)]
        reserved1,   set_reserved1:   u8                 = 24, 8;
        /// Number of the register.
        register_id, set_register_id: u16                = 32, 16;
        /// This is an answer.
        r,           set_r:           bool               = 48, 1;
        /// True if the register is read or written.
        method,      set_method:      MlnxRegisterMethod = 49, 7;
        /// Kind of access: 1 is to registers.
        class,       set_class:       u8                 = 56, 8;
        /// Ties an answer to its request.
        tid,         set_tid:         u64                = 64, 64;
    }
}

impl MlnxOperationTlv {
    /// Asks for `method` on the register `register_id`.
    #[must_use]
    pub fn new(register_id: u16, method: MlnxRegisterMethod) -> Self {
        let mut tlv = Self::default();
        tlv.set_type(MlnxTlvType::OPERATION)
            .set_len((Self::LEN / 4) as u16)
            .set_register_id(register_id)
            .set_method(method)
            .set_class(1);
        tlv
    }
}

wire_struct! {
    /// Header of a register's content.
    ///
    /// Source: mstflint, Linux mlxsw; `attributes.csv`, struct `MlnxRegisterTLV`.
    pub struct MlnxRegisterTlv("MlnxRegisterTLV", 4 bytes) {
        /// Kind: a register.
        type_,     set_type:      MlnxTlvType = 0, 5;
        /// Length in 32-bit words, these four bytes among them.
        len,       set_len:       u16         = 5, 11;
        #[doc(hidden)]
        reserved1, set_reserved1: u16         = 16, 16;
    }
}

impl MlnxRegisterTlv {
    /// Stands before a register of `bytes` bytes, which fill whole words.
    #[must_use]
    pub fn new(bytes: u16) -> Self {
        let mut tlv = Self::default();
        let words = bytes.div_ceil(4).saturating_add(1);
        tlv.set_type(MlnxTlvType::REGISTER).set_len(words);
        tlv
    }
}

wire_struct! {
    /// Access to a register of up to 204 bytes.
    ///
    /// The method of the datagram is Set, also to read.
    ///
    /// Source: mstflint; `attributes.csv`, struct `MlnxRegisterAccess`.
    pub struct MlnxRegisterAccess("MlnxRegisterAccess", 224 bytes) {
        /// The register and the kind of access.
        operation, set_operation: MlnxOperationTlv = 0, 128;
        /// Header of the content.
        register,  set_register:  MlnxRegisterTlv  = 128, 32;
        /// Content of the register, in the layout of its number.
        data,      set_data:      [secret; 204]    = 160, 1632;
    }
}

mlnx_attribute!(MlnxRegisterAccess, 0xff52);

wire_struct! {
    /// A block of a register, without TLVs. The modifier is the register.
    ///
    /// The datagram's status says what a TLV would.
    ///
    /// Source: mstflint; `attributes.csv`, struct `MlnxAccessRegisterGMP`.
    pub struct MlnxAccessRegisterGmp("MlnxAccessRegisterGMP", 224 bytes) {
        /// Number of the block of 220 bytes in the register.
        block,     set_block:     u16           = 0, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: u16           = 16, 16;
        /// Content of the register, in the layout of its number.
        data,      set_data:      [secret; 220] = 32, 1760;
    }
}

mlnx_attribute!(MlnxAccessRegisterGmp, 0x0051);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_the_bits_that_devices_expect() {
        let operation = MlnxOperationTlv::new(0x9014, MlnxRegisterMethod::QUERY);
        let expected = [0x08, 0x04, 0, 0, 0x90, 0x14, 0x01, 0x01];
        assert_eq!(operation.as_bytes()[..8], expected);
        assert_eq!(MlnxRegisterTlv::new(44).as_bytes(), &[0x18, 0x0c, 0, 0]);
        let mut answer = operation;
        answer.set_r(true).set_status(MlnxRegisterStatus::BUSY);
        assert_eq!((answer.as_bytes()[2], answer.as_bytes()[6]), (0x01, 0x81));
    }
}
