//! Base Transport Header: in every InfiniBand transport packet (IBA vol. 1, 9.2).
//!
//! It names the operation, the partition, the destination queue pair and the packet's sequence
//! number. Pitfall: its byte 4 (FECN, BECN and six reserved bits) is taken as ones for the ICRC.

use crate::{OpCode, PKey, Psn, Qpn, wire_struct};

wire_struct! {
    /// Base Transport Header: operation, partition, destination and sequence number of a packet.
    ///
    /// Source: IBA vol. 1, 9.2; `headers.csv`, struct `BTH`.
    pub struct Bth("BTH", 12 bytes) {
        /// Transport (top 3 bits) and operation. Every value is kept.
        op_code, set_op_code: OpCode = 0, 8;
        /// Asks the responder to raise a solicited completion event.
        se,      set_se:      bool = 8, 1;
        /// Migration state; set: migrated.
        mig_req, set_mig_req: bool = 9, 1;
        /// Bytes that fill the payload to a multiple of 4: 0..=3.
        pad_cnt, set_pad_cnt: u8   = 10, 2;
        /// Transport header version: 0.
        t_ver,   set_t_ver:   u8   = 12, 4;
        /// Partition of the packet.
        p_key,   set_p_key:   PKey = 16, 16;
        /// Forward explicit congestion notification.
        fecn,    set_fecn:    bool = 32, 1;
        /// Backward explicit congestion notification.
        becn,    set_becn:    bool = 33, 1;
        #[doc(hidden)]
        resv6,   set_resv6:   u8   = 34, 6;
        /// Destination queue pair.
        dest_qp, set_dest_qp: Qpn  = 40, 24;
        /// Asks the responder for an acknowledgement.
        ack_req, set_ack_req: bool = 64, 1;
        #[doc(hidden)]
        resv7,   set_resv7:   u8   = 65, 7;
        /// Packet sequence number.
        psn,     set_psn:     Psn  = 72, 24;
    }
}
