//! RDMA Extended Transport Header (IBA vol. 1, 9.3.3).
//!
//! The first packet of an RDMA WRITE and a READ request carry it.

use crate::wire_struct;

wire_struct! {
    /// RDMA Extended Transport Header: remote address, key and length of a transfer.
    ///
    /// Source: IBA vol. 1, 9.3.3; `headers.csv`, struct `RETH`.
    pub struct Reth("RETH", 16 bytes) {
        /// Virtual address in the responder's memory.
        va,      set_va:      u64 = 0, 64;
        /// Key of the responder's memory region.
        r_key,   set_r_key:   u32 = 64, 32;
        /// Bytes of the whole transfer.
        dma_len, set_dma_len: u32 = 96, 32;
    }
}
