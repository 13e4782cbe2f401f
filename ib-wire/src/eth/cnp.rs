//! Congestion notification packet of RoCE v2 (annex A17 of IBA vol. 1).

use crate::wire_struct;

wire_struct! {
    /// The 16 reserved bytes after the BTH of a RoCE v2 congestion notification packet.
    ///
    /// Source: IBA vol. 1, annex A17; `headers.csv`, struct `CNP_RoCEv2`.
    pub struct CnpRoceV2("CNP_RoCEv2", 16 bytes) {
        #[doc(hidden)]
        reserved, set_reserved: [bytes; 16] = 0, 128;
    }
}
