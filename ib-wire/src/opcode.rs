//! Operation codes of the BTH and the headers that each one asks for (IBA vol. 1, 9.2.1 and 9.4).
//!
//! The table below is the only place that knows which headers follow the BTH: the parser, the
//! builder and the generators all read it. Values without a row are reserved, or belong to the
//! manufacturer from 0xC0 on; they are kept, and everything after the BTH counts as payload.

use crate::{code_points, eth::Eth};

code_points! {
    /// Transport service of an operation: the top three bits of [`OpCode`].
    pub struct Transport(u8) {
        /// Reliable connection.
        RC            = 0 => "RC",
        /// Unreliable connection.
        UC            = 1 => "UC",
        /// Reliable datagram.
        RD            = 2 => "RD",
        /// Unreliable datagram.
        UD            = 3 => "UD",
        /// Congestion notification.
        CNP           = 4 => "CNP",
        /// Extended reliable connection.
        XRC           = 5 => "XRC",
        /// Opcodes 0xC0..=0xDF.
        MANUFACTURER0 = 6 => "Manufacturer0",
        /// Opcodes 0xE0..=0xFF.
        MANUFACTURER1 = 7 => "Manufacturer1",
    }
}

/// Number of bytes of payload that an operation carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PayloadRule {
    /// None.
    None,
    /// Exactly the path MTU, so no pad: first and middle packets of a message.
    PathMtu,
    /// From one byte to the path MTU: last packets.
    UpToPathMtu,
    /// From nothing to the path MTU: messages of one packet.
    EmptyToPathMtu,
}

/// Position of a packet in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// The first of several.
    First,
    /// Neither the first nor the last.
    Middle,
    /// The last of several.
    Last,
    /// The whole message.
    Only,
}

/// An operation as the specification defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Operation code, with the transport in the top 3 bits.
    pub op_code: OpCode,
    /// Headers after the BTH, in wire order.
    pub headers: &'static [Eth],
    /// The rule for the length of its payload.
    pub payload: PayloadRule,
    /// Position of the packet in its message.
    pub position: Position,
}

impl Operation {
    /// Bytes of the headers after the BTH.
    #[must_use]
    pub const fn headers_len(&self) -> usize {
        self.op_code.shape().headers_len as usize
    }

    /// Returns true if the packet carries immediate data.
    #[must_use]
    pub const fn has_immediate(&self) -> bool {
        self.op_code.offset_of(Eth::ImmDt).is_some()
    }
}

macro_rules! op_codes {
    ($($constant:ident = $value:literal => $text:literal, [$($eth:ident),*], $payload:ident, $position:ident;)*) => {
        code_points! {
            /// Operation of a packet (BTH.op_code). Values without a name are kept.
            pub struct OpCode(u8) {
                $($constant = $value => $text,)*
            }
        }

        /// Every operation with a name, by code.
        pub const OPERATIONS: &[Operation] = &[$(
            Operation {
                op_code: OpCode::$constant,
                headers: &[$(Eth::$eth),*],
                payload: PayloadRule::$payload,
                position: Position::$position,
            },
        )*];
    };
}

op_codes! {
    RC_SEND_FIRST                          = 0x00 => "RC SEND First", [], PathMtu, First;
    RC_SEND_MIDDLE                         = 0x01 => "RC SEND Middle", [], PathMtu, Middle;
    RC_SEND_LAST                           = 0x02 => "RC SEND Last", [], UpToPathMtu, Last;
    RC_SEND_LAST_WITH_IMMEDIATE            = 0x03 => "RC SEND Last with Immediate", [ImmDt], UpToPathMtu, Last;
    RC_SEND_ONLY                           = 0x04 => "RC SEND Only", [], EmptyToPathMtu, Only;
    RC_SEND_ONLY_WITH_IMMEDIATE            = 0x05 => "RC SEND Only with Immediate", [ImmDt], EmptyToPathMtu, Only;
    RC_RDMA_WRITE_FIRST                    = 0x06 => "RC RDMA WRITE First", [Reth], PathMtu, First;
    RC_RDMA_WRITE_MIDDLE                   = 0x07 => "RC RDMA WRITE Middle", [], PathMtu, Middle;
    RC_RDMA_WRITE_LAST                     = 0x08 => "RC RDMA WRITE Last", [], UpToPathMtu, Last;
    RC_RDMA_WRITE_LAST_WITH_IMMEDIATE      = 0x09 => "RC RDMA WRITE Last with Immediate", [ImmDt], UpToPathMtu, Last;
    RC_RDMA_WRITE_ONLY                     = 0x0a => "RC RDMA WRITE Only", [Reth], EmptyToPathMtu, Only;
    RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE      = 0x0b => "RC RDMA WRITE Only with Immediate", [Reth, ImmDt], EmptyToPathMtu, Only;
    RC_RDMA_READ_REQUEST                   = 0x0c => "RC RDMA READ Request", [Reth], None, Only;
    RC_RDMA_READ_RESPONSE_FIRST            = 0x0d => "RC RDMA READ Response First", [Aeth], PathMtu, First;
    RC_RDMA_READ_RESPONSE_MIDDLE           = 0x0e => "RC RDMA READ Response Middle", [], PathMtu, Middle;
    RC_RDMA_READ_RESPONSE_LAST             = 0x0f => "RC RDMA READ Response Last", [Aeth], UpToPathMtu, Last;
    RC_RDMA_READ_RESPONSE_ONLY             = 0x10 => "RC RDMA READ Response Only", [Aeth], EmptyToPathMtu, Only;
    RC_ACKNOWLEDGE                         = 0x11 => "RC Acknowledge", [Aeth], None, Only;
    RC_ATOMIC_ACKNOWLEDGE                  = 0x12 => "RC ATOMIC Acknowledge", [Aeth, AtomicAckEth], None, Only;
    RC_CMP_SWAP                            = 0x13 => "RC CmpSwap", [AtomicEth], None, Only;
    RC_FETCH_ADD                           = 0x14 => "RC FetchAdd", [AtomicEth], None, Only;
    RC_SEND_LAST_WITH_INVALIDATE           = 0x16 => "RC SEND Last with Invalidate", [Ieth], UpToPathMtu, Last;
    RC_SEND_ONLY_WITH_INVALIDATE           = 0x17 => "RC SEND Only with Invalidate", [Ieth], EmptyToPathMtu, Only;
    UC_SEND_FIRST                          = 0x20 => "UC SEND First", [], PathMtu, First;
    UC_SEND_MIDDLE                         = 0x21 => "UC SEND Middle", [], PathMtu, Middle;
    UC_SEND_LAST                           = 0x22 => "UC SEND Last", [], UpToPathMtu, Last;
    UC_SEND_LAST_WITH_IMMEDIATE            = 0x23 => "UC SEND Last with Immediate", [ImmDt], UpToPathMtu, Last;
    UC_SEND_ONLY                           = 0x24 => "UC SEND Only", [], EmptyToPathMtu, Only;
    UC_SEND_ONLY_WITH_IMMEDIATE            = 0x25 => "UC SEND Only with Immediate", [ImmDt], EmptyToPathMtu, Only;
    UC_RDMA_WRITE_FIRST                    = 0x26 => "UC RDMA WRITE First", [Reth], PathMtu, First;
    UC_RDMA_WRITE_MIDDLE                   = 0x27 => "UC RDMA WRITE Middle", [], PathMtu, Middle;
    UC_RDMA_WRITE_LAST                     = 0x28 => "UC RDMA WRITE Last", [], UpToPathMtu, Last;
    UC_RDMA_WRITE_LAST_WITH_IMMEDIATE      = 0x29 => "UC RDMA WRITE Last with Immediate", [ImmDt], UpToPathMtu, Last;
    UC_RDMA_WRITE_ONLY                     = 0x2a => "UC RDMA WRITE Only", [Reth], EmptyToPathMtu, Only;
    UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE      = 0x2b => "UC RDMA WRITE Only with Immediate", [Reth, ImmDt], EmptyToPathMtu, Only;
    RD_SEND_FIRST                          = 0x40 => "RD SEND First", [Rdeth, Deth], PathMtu, First;
    RD_SEND_MIDDLE                         = 0x41 => "RD SEND Middle", [Rdeth, Deth], PathMtu, Middle;
    RD_SEND_LAST                           = 0x42 => "RD SEND Last", [Rdeth, Deth], UpToPathMtu, Last;
    RD_SEND_LAST_WITH_IMMEDIATE            = 0x43 => "RD SEND Last with Immediate", [Rdeth, Deth, ImmDt], UpToPathMtu, Last;
    RD_SEND_ONLY                           = 0x44 => "RD SEND Only", [Rdeth, Deth], EmptyToPathMtu, Only;
    RD_SEND_ONLY_WITH_IMMEDIATE            = 0x45 => "RD SEND Only with Immediate", [Rdeth, Deth, ImmDt], EmptyToPathMtu, Only;
    RD_RDMA_WRITE_FIRST                    = 0x46 => "RD RDMA WRITE First", [Rdeth, Deth, Reth], PathMtu, First;
    RD_RDMA_WRITE_MIDDLE                   = 0x47 => "RD RDMA WRITE Middle", [Rdeth, Deth], PathMtu, Middle;
    RD_RDMA_WRITE_LAST                     = 0x48 => "RD RDMA WRITE Last", [Rdeth, Deth], UpToPathMtu, Last;
    RD_RDMA_WRITE_LAST_WITH_IMMEDIATE      = 0x49 => "RD RDMA WRITE Last with Immediate", [Rdeth, Deth, ImmDt], UpToPathMtu, Last;
    RD_RDMA_WRITE_ONLY                     = 0x4a => "RD RDMA WRITE Only", [Rdeth, Deth, Reth], EmptyToPathMtu, Only;
    RD_RDMA_WRITE_ONLY_WITH_IMMEDIATE      = 0x4b => "RD RDMA WRITE Only with Immediate", [Rdeth, Deth, Reth, ImmDt], EmptyToPathMtu, Only;
    RD_RDMA_READ_REQUEST                   = 0x4c => "RD RDMA READ Request", [Rdeth, Deth, Reth], None, Only;
    RD_RDMA_READ_RESPONSE_FIRST            = 0x4d => "RD RDMA READ Response First", [Rdeth, Aeth], PathMtu, First;
    RD_RDMA_READ_RESPONSE_MIDDLE           = 0x4e => "RD RDMA READ Response Middle", [Rdeth], PathMtu, Middle;
    RD_RDMA_READ_RESPONSE_LAST             = 0x4f => "RD RDMA READ Response Last", [Rdeth, Aeth], UpToPathMtu, Last;
    RD_RDMA_READ_RESPONSE_ONLY             = 0x50 => "RD RDMA READ Response Only", [Rdeth, Aeth], EmptyToPathMtu, Only;
    RD_ACKNOWLEDGE                         = 0x51 => "RD Acknowledge", [Rdeth, Aeth], None, Only;
    RD_ATOMIC_ACKNOWLEDGE                  = 0x52 => "RD ATOMIC Acknowledge", [Rdeth, Aeth, AtomicAckEth], None, Only;
    RD_CMP_SWAP                            = 0x53 => "RD CmpSwap", [Rdeth, Deth, AtomicEth], None, Only;
    RD_FETCH_ADD                           = 0x54 => "RD FetchAdd", [Rdeth, Deth, AtomicEth], None, Only;
    RD_RESYNC                              = 0x55 => "RD RESYNC", [Rdeth, Deth], None, Only;
    UD_SEND_ONLY                           = 0x64 => "UD SEND Only", [Deth], EmptyToPathMtu, Only;
    UD_SEND_ONLY_WITH_IMMEDIATE            = 0x65 => "UD SEND Only with Immediate", [Deth, ImmDt], EmptyToPathMtu, Only;
    CNP                                    = 0x80 => "CNP", [], None, Only;
    CNP_ROCE_V2                            = 0x81 => "CNP (RoCE v2)", [CnpRoceV2], None, Only;
    XRC_SEND_FIRST                         = 0xa0 => "XRC SEND First", [Xrceth], PathMtu, First;
    XRC_SEND_MIDDLE                        = 0xa1 => "XRC SEND Middle", [Xrceth], PathMtu, Middle;
    XRC_SEND_LAST                          = 0xa2 => "XRC SEND Last", [Xrceth], UpToPathMtu, Last;
    XRC_SEND_LAST_WITH_IMMEDIATE           = 0xa3 => "XRC SEND Last with Immediate", [Xrceth, ImmDt], UpToPathMtu, Last;
    XRC_SEND_ONLY                          = 0xa4 => "XRC SEND Only", [Xrceth], EmptyToPathMtu, Only;
    XRC_SEND_ONLY_WITH_IMMEDIATE           = 0xa5 => "XRC SEND Only with Immediate", [Xrceth, ImmDt], EmptyToPathMtu, Only;
    XRC_RDMA_WRITE_FIRST                   = 0xa6 => "XRC RDMA WRITE First", [Xrceth, Reth], PathMtu, First;
    XRC_RDMA_WRITE_MIDDLE                  = 0xa7 => "XRC RDMA WRITE Middle", [Xrceth], PathMtu, Middle;
    XRC_RDMA_WRITE_LAST                    = 0xa8 => "XRC RDMA WRITE Last", [Xrceth], UpToPathMtu, Last;
    XRC_RDMA_WRITE_LAST_WITH_IMMEDIATE     = 0xa9 => "XRC RDMA WRITE Last with Immediate", [Xrceth, ImmDt], UpToPathMtu, Last;
    XRC_RDMA_WRITE_ONLY                    = 0xaa => "XRC RDMA WRITE Only", [Xrceth, Reth], EmptyToPathMtu, Only;
    XRC_RDMA_WRITE_ONLY_WITH_IMMEDIATE     = 0xab => "XRC RDMA WRITE Only with Immediate", [Xrceth, Reth, ImmDt], EmptyToPathMtu, Only;
    XRC_RDMA_READ_REQUEST                  = 0xac => "XRC RDMA READ Request", [Xrceth, Reth], None, Only;
    XRC_RDMA_READ_RESPONSE_FIRST           = 0xad => "XRC RDMA READ Response First", [Aeth], PathMtu, First;
    XRC_RDMA_READ_RESPONSE_MIDDLE          = 0xae => "XRC RDMA READ Response Middle", [], PathMtu, Middle;
    XRC_RDMA_READ_RESPONSE_LAST            = 0xaf => "XRC RDMA READ Response Last", [Aeth], UpToPathMtu, Last;
    XRC_RDMA_READ_RESPONSE_ONLY            = 0xb0 => "XRC RDMA READ Response Only", [Aeth], EmptyToPathMtu, Only;
    XRC_ACKNOWLEDGE                        = 0xb1 => "XRC Acknowledge", [Aeth], None, Only;
    XRC_ATOMIC_ACKNOWLEDGE                 = 0xb2 => "XRC ATOMIC Acknowledge", [Aeth, AtomicAckEth], None, Only;
    XRC_CMP_SWAP                           = 0xb3 => "XRC CmpSwap", [Xrceth, AtomicEth], None, Only;
    XRC_FETCH_ADD                          = 0xb4 => "XRC FetchAdd", [Xrceth, AtomicEth], None, Only;
    XRC_SEND_LAST_WITH_INVALIDATE          = 0xb6 => "XRC SEND Last with Invalidate", [Xrceth, Ieth], UpToPathMtu, Last;
    XRC_SEND_ONLY_WITH_INVALIDATE          = 0xb7 => "XRC SEND Only with Invalidate", [Xrceth, Ieth], EmptyToPathMtu, Only;
}

impl OpCode {
    /// The operation with these five low bits in a transport service, if there is one.
    #[must_use]
    pub fn of(transport: Transport, low: u8) -> Option<Self> {
        let op_code = Self(transport.0 << 5 | low & 31);
        op_code.operation().map(|operation| operation.op_code)
    }

    /// The transport service: the top three bits.
    #[inline]
    #[must_use]
    pub const fn transport(self) -> Transport {
        Transport(self.0 >> 5)
    }

    /// The operation as the specification defines it; `None` for reserved codes and those of manufacturers.
    #[inline]
    #[must_use]
    pub fn operation(self) -> Option<&'static Operation> {
        OPERATIONS.get(usize::from(self.shape().row))
    }

    /// Returns true if the code belongs to manufacturers: 0xC0..=0xFF.
    #[inline]
    #[must_use]
    pub const fn is_manufacturer(self) -> bool {
        self.0 >= 0xc0
    }

    /// Headers after the BTH in wire order; none where the code has no name.
    #[inline]
    #[must_use]
    pub fn headers(self) -> &'static [Eth] {
        match self.operation() {
            Some(operation) => operation.headers,
            None => &[],
        }
    }

    /// The offset of `eth` from the end of the BTH; `None` where the operation has none.
    #[inline]
    #[must_use]
    pub const fn offset_of(self, eth: Eth) -> Option<usize> {
        match self.shape().offset(eth) {
            ABSENT => None,
            offset => Some(offset as usize),
        }
    }

    /// As [`offset_of`](Self::offset_of), without a branch: a header that the operation does not
    /// have lies past the end of every stack of headers.
    #[inline]
    pub(crate) const fn place_of(self, eth: Eth) -> usize {
        self.shape().offset(eth) as usize
    }

    /// Bytes of the headers after the BTH.
    #[inline]
    #[must_use]
    pub(crate) const fn headers_len(self) -> usize {
        self.shape().headers_len as usize
    }

    /// A bit for each header after the BTH, by [`Eth`].
    #[inline]
    pub(crate) const fn headers_mask(self) -> u16 {
        self.shape().mask
    }

    /// Returns true if a responder sends it: acknowledgements and READ responses.
    #[must_use]
    pub const fn is_response(self) -> bool {
        matches!(
            self.transport(),
            Transport::RC | Transport::RD | Transport::XRC
        ) && matches!(self.0 & 0x1f, 0x0d..=0x12)
    }

    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "a byte is below 256")]
    const fn shape(self) -> &'static Shape {
        &SHAPES[self.0 as usize]
    }
}

const ABSENT: u8 = u8::MAX;

/// The table above by opcode, for constant-time access.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Shape {
    /// Row of [`OPERATIONS`]; past its end where the code has no name.
    row: u8,
    headers_len: u8,
    /// A bit for each header, by [`Eth`].
    mask: u16,
    /// By [`Eth`]: where it starts after the BTH.
    offsets: [u8; Eth::COUNT],
}

impl Shape {
    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "there are as many places as kinds")]
    const fn offset(&self, eth: Eth) -> u8 {
        self.offsets[eth as usize]
    }
}

#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "evaluated at compile time, where a fault is an error"
)]
static SHAPES: [Shape; 256] = {
    let mut shapes = [Shape {
        row: u8::MAX,
        headers_len: 0,
        mask: 0,
        offsets: [ABSENT; Eth::COUNT],
    }; 256];
    let mut row = 0;
    while row < OPERATIONS.len() {
        let operation = &OPERATIONS[row];
        let shape = &mut shapes[operation.op_code.0 as usize];
        shape.row = row as u8;
        let mut index = 0;
        while index < operation.headers.len() {
            let eth = operation.headers[index];
            shape.offsets[eth as usize] = shape.headers_len;
            shape.mask |= 1 << eth as u16;
            shape.headers_len += eth.layout().len as u8;
            index += 1;
        }
        row += 1;
    }
    shapes
};
