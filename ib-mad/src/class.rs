//! Management classes (IBA vol. 1, 13.4.4).

use ib_wire::code_points;

code_points! {
    /// Management class of a datagram (`mgmt_class`): whom it is for.
    pub struct MgmtClass(u8) {
        /// Subnet management, LID routed; QP0.
        SUBN_LID           = 0x01 => "SubnLid",
        /// Subnet management, directed route; QP0.
        SUBN_DIRECTED      = 0x81 => "SubnDirected",
        /// Subnet administration; class version 2.
        SUBN_ADM           = 0x03 => "SubnAdm",
        /// Performance management.
        PERF               = 0x04 => "Perf",
    }
}
