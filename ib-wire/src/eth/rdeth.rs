//! Reliable Datagram Extended Transport Header (IBA vol. 1, 9.3.1).

use crate::wire_struct;

wire_struct! {
    /// Reliable Datagram Extended Transport Header: the end-to-end context.
    ///
    /// Source: IBA vol. 1, 9.3.1; `headers.csv`, struct `RDETH`.
    pub struct Rdeth("RDETH", 4 bytes) {
        #[doc(hidden)]
        reserved,   set_reserved:   u8  = 0, 8;
        /// End-to-end context that the packet belongs to: 24 bits.
        ee_context, set_ee_context: u32 = 8, 24;
    }
}
