//! Datagram Extended Transport Header (IBA vol. 1, 9.3.2).
//!
//! Every unreliable datagram carries it, management datagrams included.

use crate::{QKey, Qpn, wire_struct};

wire_struct! {
    /// Datagram Extended Transport Header: the receiver's key and the sender's queue pair.
    ///
    /// Source: IBA vol. 1, 9.3.2; `headers.csv`, struct `DETH`.
    pub struct Deth("DETH", 8 bytes) {
        /// Queue key of the receiving queue pair.
        q_key,    set_q_key:    QKey = 0, 32;
        #[doc(hidden)]
        reserved, set_reserved: u8   = 32, 8;
        /// Queue pair of the sender.
        src_qp,   set_src_qp:   Qpn  = 40, 24;
    }
}
