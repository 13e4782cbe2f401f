//! Raw header: an EtherType in front of a packet without InfiniBand transport (IBA vol. 1, 5.3).

use crate::wire_struct;

wire_struct! {
    /// Raw header: the EtherType of a raw packet's payload.
    ///
    /// Source: IBA vol. 1, 5.3; `headers.csv`, struct `RWH`.
    pub struct Rwh("RWH", 4 bytes) {
        #[doc(hidden)]
        reserved,   set_reserved:   u16 = 0, 16;
        /// EtherType of the payload.
        ether_type, set_ether_type: u16 = 16, 16;
    }
}
