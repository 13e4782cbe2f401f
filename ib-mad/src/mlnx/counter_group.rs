//! Counter groups: which of several counters a port of an InfiniScale IV switch shows, by group.

use ib_wire::wire_struct;

use super::mlnx_attribute;

wire_struct! {
    /// The counters that each group can show. The modifier is the port.
    ///
    /// Source: infiniband-diags; `attributes.csv`, struct `MlnxCounterGroupInfo`.
    pub struct MlnxCounterGroupInfo("MlnxCounterGroupInfo", 12 bytes) {
        #[doc(hidden)]
        reserved1,             set_reserved1:             u32      = 0, 24;
        /// Groups that the port has.
        num_of_counter_groups, set_num_of_counter_groups: u8       = 24, 8;
        /// Counters that a group can show, a bit for each.
        group_masks,           set_group_masks:           [u32; 2] = 32, 64;
    }
}

mlnx_attribute!(MlnxCounterGroupInfo, 0x0090);

wire_struct! {
    /// The counters that each group shows. The modifier is the port.
    ///
    /// Source: infiniband-diags; `attributes.csv`, struct `MlnxConfigCounterGroup`.
    pub struct MlnxConfigCounterGroup("MlnxConfigCounterGroup", 12 bytes) {
        #[doc(hidden)]
        reserved1,     set_reserved1:     u32 = 0, 32;
        #[doc(hidden)]
        reserved2,     set_reserved2:     u32 = 32, 24;
        /// Group 0: 0 sends by service levels 0 to 7, 1 sends by 8 to 15, 2 receives by 0 to 7.
        group0_select, set_group0_select: u8  = 56, 8;
        #[doc(hidden)]
        reserved3,     set_reserved3:     u32 = 64, 24;
        /// Group 1: 1 sends by service levels 8 to 15, 2 receives by 0 to 7, 8 receives by 8 to 15.
        group1_select, set_group1_select: u8  = 88, 8;
    }
}

mlnx_attribute!(MlnxConfigCounterGroup, 0x0091);
