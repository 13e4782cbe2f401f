//! Header of the Extended Reliable Connection (IBA vol. 1, annex A14).
//!
//! Requests carry it in front of every other extended header; responses do not.

use crate::wire_struct;

wire_struct! {
    /// XRC Extended Transport Header: the shared receive queue of a request.
    ///
    /// Source: IBA vol. 1, annex A14; `headers.csv`, struct `XRCETH`.
    pub struct Xrceth("XRCETH", 4 bytes) {
        #[doc(hidden)]
        reserved, set_reserved: u8  = 0, 8;
        /// Number of the shared receive queue: 24 bits.
        xrc_srq,  set_xrc_srq:  u32 = 8, 24;
    }
}
