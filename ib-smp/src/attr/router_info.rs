//! RouterInfo and the two tables of a router: the subnets beside it, and those behind them.
//!
//! A subnet manager configures them so that the router passes packets between subnets. They are attributes of Mellanox
//! routers; other devices answer with the status of an unknown attribute. The layout has one source.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{GidPrefix, Lid, PKey, table::Layout, wire_struct};

wire_struct! {
    /// Sizes of a router's tables, and the ranges of LIDs that it serves between subnets.
    ///
    /// Source: `attributes.csv`, struct `RouterInfo` (one source).
    pub struct RouterInfo("RouterInfo", 64 bytes) {
        /// Capabilities; no source names the bits.
        capability_mask, set_capability_mask: u32 = 0, 32;
        /// Number of records that the NextHopTable can hold.
        next_hop_table_cap, set_next_hop_table_cap: u32 = 32, 32;
        /// Number of the highest record of the NextHopTable.
        next_hop_table_top, set_next_hop_table_top: u32 = 64, 32;
        /// The tables that have changed, one bit each; no source names the bits.
        table_changes, set_table_changes: u16 = 96, 16;
        /// Number of the highest record of the AdjacentSiteLocalSubnetsTable.
        adjacent_subnets_table_top, set_adjacent_subnets_table_top: u8 = 112, 8;
        /// Number of records that the AdjacentSiteLocalSubnetsTable can hold.
        adjacent_subnets_table_cap, set_adjacent_subnets_table_cap: u8 = 120, 8;
        /// Number of subnets that the device can serve.
        supported_subnets_cap, set_supported_subnets_cap: u8 = 128, 8;
        #[doc(hidden)]
        reserved1, set_reserved1: u8 = 136, 8;
        /// Number of groups of adaptive routing that can have LIDs of the router.
        ar_group_table_cap, set_ar_group_table_cap: u16 = 144, 16;
        #[doc(hidden)]
        reserved2, set_reserved2: u8 = 160, 7;
        /// True if notifications of faults for adaptive routing pass the router.
        fault_notification, set_fault_notification: bool = 167, 1;
        /// Number of the highest record of the table with the LIDs of adjacent subnets.
        adjacent_router_lid_top, set_adjacent_router_lid_top: u8 = 168, 8;
        /// Number of LIDs that the device can serve as a router.
        router_lid_cap, set_router_lid_cap: u16 = 176, 16;
        /// The highest group of adaptive routing whose notifications pass the router.
        max_ar_group_id, set_max_ar_group_id: u16 = 192, 12;
        /// First LID of the range that is unique over all subnets.
        global_router_lid_base, set_global_router_lid_base: u32 = 204, 20;
        #[doc(hidden)]
        reserved3, set_reserved3: u16 = 224, 12;
        /// Last LID of that range.
        global_router_lid_top, set_global_router_lid_top: u32 = 236, 20;
        #[doc(hidden)]
        reserved4, set_reserved4: u16 = 256, 12;
        /// First LID of the range of this subnet.
        local_router_lid_base, set_local_router_lid_base: u32 = 268, 20;
        #[doc(hidden)]
        reserved5, set_reserved5: u16 = 288, 12;
        /// Last LID of that range.
        local_router_lid_top, set_local_router_lid_top: u32 = 300, 20;
        #[doc(hidden)]
        reserved6, set_reserved6: [bytes; 24] = 320, 192;
    }
}

wire_struct! {
    /// A subnet that the router is connected to.
    ///
    /// Source: `attributes.csv`, struct `AdjacentSiteLocalSubnetRecord` (one source).
    pub struct AdjacentSiteLocalSubnetRecord("AdjacentSiteLocalSubnetRecord", 8 bytes) {
        /// Partition that passes; 0 in a record that is not used.
        p_key, set_p_key: PKey = 0, 16;
        /// Low 16 bits of the subnet's prefix, which is a site-local one.
        subnet_prefix, set_subnet_prefix: u16 = 16, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: u8 = 32, 3;
        /// True if notifications of faults for adaptive routing pass to the subnet.
        fault_notification, set_fault_notification: bool = 35, 1;
        /// The highest group of adaptive routing whose notifications pass to the subnet.
        max_ar_group_id, set_max_ar_group_id: u16 = 36, 12;
        /// LID of the subnet's master manager, in that subnet.
        master_sm_lid, set_master_sm_lid: Lid = 48, 16;
    }
}

impl AdjacentSiteLocalSubnetRecord {
    /// The whole prefix of the subnet: site-local prefixes differ in their low 16 bits only.
    ///
    /// Source: IBA vol. 1, 4.1.1.
    #[must_use]
    pub fn gid_prefix(&self) -> GidPrefix {
        const SITE_LOCAL: u64 = 0xfec0 << 48;
        GidPrefix(SITE_LOCAL | u64::from(self.subnet_prefix()))
    }
}

wire_struct! {
    /// The subnets that a router is connected to, eight a block. The modifier is the number of the block.
    ///
    /// Source: `attributes.csv`, struct `AdjacentSiteLocalSubnetsTable` (one source).
    pub struct AdjacentSiteLocalSubnetsTable("AdjacentSiteLocalSubnetsTable", 64 bytes) {
        /// Record 8 * block + index of the table.
        records, set_records: [AdjacentSiteLocalSubnetRecord; 8] = 0, 512;
    }
}

wire_struct! {
    /// A subnet that is reached over another router.
    ///
    /// Source: `attributes.csv`, struct `NextHopRecord` (one source).
    pub struct NextHopRecord("NextHopRecord", 16 bytes) {
        /// Prefix of the subnet.
        subnet_prefix, set_subnet_prefix: GidPrefix = 0, 64;
        /// Share of the packets that take this way, beside others to the same subnet.
        weight, set_weight: u8 = 64, 8;
        #[doc(hidden)]
        reserved1, set_reserved1: u8 = 72, 8;
        /// Partition that passes; 0 in a record that is not used.
        p_key, set_p_key: PKey = 80, 16;
        #[doc(hidden)]
        reserved2, set_reserved2: u32 = 96, 32;
    }
}

wire_struct! {
    /// The subnets behind other routers, four a block. The modifier is the number of the block.
    ///
    /// Source: `attributes.csv`, struct `NextHopTable` (one source).
    pub struct NextHopTable("NextHopTable", 64 bytes) {
        /// Record 4 * block + index of the table.
        records, set_records: [NextHopRecord; 4] = 0, 512;
    }
}

impl Attribute for RouterInfo {
    const ID: AttributeId = AttributeId(0xFFD0);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

impl Attribute for NextHopTable {
    const ID: AttributeId = AttributeId(0xFFD1);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

impl Attribute for AdjacentSiteLocalSubnetsTable {
    const ID: AttributeId = AttributeId(0xFFD2);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
