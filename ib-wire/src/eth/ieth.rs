//! Invalidate Extended Transport Header (IBA vol. 1, 9.3.7).

use crate::wire_struct;

wire_struct! {
    /// Invalidate Extended Transport Header: the key that a SEND with Invalidate takes back.
    ///
    /// Source: IBA vol. 1, 9.3.7; `headers.csv`, struct `IETH`.
    pub struct Ieth("IETH", 4 bytes) {
        /// R_Key that the receiver invalidates.
        r_key, set_r_key: u32 = 0, 32;
    }
}
