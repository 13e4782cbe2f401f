//! Immediate Data Extended Transport Header (IBA vol. 1, 9.3.6).

use crate::wire_struct;

wire_struct! {
    /// Immediate data: four bytes that the receiver finds in its completion.
    ///
    /// Source: IBA vol. 1, 9.3.6; `headers.csv`, struct `ImmDt`.
    pub struct ImmDt("ImmDt", 4 bytes) {
        /// The four bytes, as the sender put them.
        imm_dt, set_imm_dt: [bytes; 4] = 0, 32;
    }
}
