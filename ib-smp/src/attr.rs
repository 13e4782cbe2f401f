//! The attributes of subnet management: what one SMP carries.

mod guid_info;
mod hierarchy_info;
mod led_info;
mod linear_forwarding_table;
mod mlnx_cable_info;
mod mlnx_device;
mod mlnx_ext_port_info;
mod multicast_forwarding_table;
mod node_description;
mod node_info;
mod partition_key_table;
mod port_info;
mod port_info_extended;
mod random_forwarding_table;
mod router_info;
mod sl_to_vl_mapping_table;
mod sm_info;
mod switch_info;
mod vendor_diag;
mod vl_arbitration_table;

pub use guid_info::GuidInfo;
pub use hierarchy_info::HierarchyInfo;
pub use led_info::LedInfo;
pub use linear_forwarding_table::LinearForwardingTable;
pub use mlnx_cable_info::{MlnxCableInfo, MlnxCableStatus};
pub use mlnx_device::{
    MlnxConfigSpaceSmp, MlnxRegisterAccessSmp, MlnxSemaphoreLock, MlnxSemaphoreOp,
};
pub use mlnx_ext_port_info::{MlnxExtPortInfo, VendorLinkSpeeds};
pub use multicast_forwarding_table::{MftModifier, MulticastForwardingTable};
pub use node_description::NodeDescription;
pub use node_info::NodeInfo;
pub use partition_key_table::{PKeyModifier, PartitionKeyTable};
#[cfg(feature = "alloc")]
pub(crate) use port_info::fastest;
pub use port_info::{
    CapabilityMask, CapabilityMask2, LinkDownDefaultState, LinkSpeedActive, LinkSpeedExtActive,
    LinkSpeedExtActive2, LinkSpeeds, LinkSpeedsExt, LinkSpeedsExt2, LinkWidthActive, LinkWidths,
    MKeyProtect, PortInfo, PortInfoModifier, PortPhysicalState, PortState, VlCap,
};
pub use port_info_extended::{ExtendedCapabilityMask, PortInfoExtended};
pub use random_forwarding_table::{LidPortBlock, RandomForwardingTable};
pub use router_info::{
    AdjacentSiteLocalSubnetRecord, AdjacentSiteLocalSubnetsTable, NextHopRecord, NextHopTable,
    RouterInfo,
};
pub use sl_to_vl_mapping_table::{SlToVlMappingTable, SlToVlModifier};
pub use sm_info::{SmControl, SmInfo, SmState};
pub use switch_info::SwitchInfo;
pub use vendor_diag::VendorDiag;
pub use vl_arbitration_table::{
    VlArbitrationEntry, VlArbitrationHalf, VlArbitrationModifier, VlArbitrationTable,
};
