//! Headers of atomic operations (IBA vol. 1, 9.3.4 and 9.5.3).

use crate::wire_struct;

wire_struct! {
    /// Atomic Extended Transport Header: a compare-and-swap or fetch-and-add request.
    ///
    /// Source: IBA vol. 1, 9.3.4; `headers.csv`, struct `AtomicETH`.
    pub struct AtomicEth("AtomicETH", 28 bytes) {
        /// Virtual address in the responder's memory, a multiple of 8.
        va,      set_va:      u64 = 0, 64;
        /// Key of the responder's memory region.
        r_key,   set_r_key:   u32 = 64, 32;
        /// The new value of a swap, or what is added.
        swap_dt, set_swap_dt: u64 = 96, 64;
        /// The value with which a compare-and-swap compares.
        cmp_dt,  set_cmp_dt:  u64 = 160, 64;
    }
}

wire_struct! {
    /// Atomic Acknowledge Extended Transport Header: what memory held before the operation.
    ///
    /// Source: IBA vol. 1, 9.5.3; `headers.csv`, struct `AtomicAckETH`.
    pub struct AtomicAckEth("AtomicAckETH", 8 bytes) {
        /// The value before the operation.
        orig_rem_dt, set_orig_rem_dt: u64 = 0, 64;
    }
}
