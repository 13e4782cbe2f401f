//! The records of subnet administration: what a query asks for.

mod guid_info;
mod inform_info;
mod linear_forwarding_table;
mod link;
mod mc_member;
mod multi_path;
mod multicast_forwarding_table;
mod node;
mod p_key_table;
mod path;
mod port_info;
mod port_info_extended;
mod random_forwarding_table;
mod service;
mod service_association;
mod sl_to_vl_mapping_table;
mod sm_info;
mod switch_info;
mod trace;
mod vl_arbitration_table;

pub use guid_info::{GuidInfoComponents, GuidInfoRecord};
pub use inform_info::{InformInfoComponents, InformInfoRecord};
pub use linear_forwarding_table::{LinearForwardingTableComponents, LinearForwardingTableRecord};
pub use link::{LinkComponents, LinkRecord};
pub use mc_member::{JoinState, McMemberComponents, McMemberRecord};
pub use multi_path::{MultiPathComponents, MultiPathRecord};
pub use multicast_forwarding_table::{
    MulticastForwardingTableComponents, MulticastForwardingTableRecord,
};
pub use node::{NodeComponents, NodeRecord};
pub use p_key_table::{PKeyTableComponents, PKeyTableRecord};
pub use path::{PathComponents, PathRecord};
pub use port_info::{PortInfoComponents, PortInfoRecord};
pub use port_info_extended::{PortInfoExtendedComponents, PortInfoExtendedRecord};
pub use random_forwarding_table::{RandomForwardingTableComponents, RandomForwardingTableRecord};
pub use service::{ServiceComponents, ServiceRecord};
pub use service_association::{ServiceAssociationComponents, ServiceAssociationRecord};
pub use sl_to_vl_mapping_table::{SlToVlMappingTableComponents, SlToVlMappingTableRecord};
pub use sm_info::{SmInfoComponents, SmInfoRecord};
pub use switch_info::{SwitchInfoComponents, SwitchInfoRecord};
pub use trace::{TraceComponents, TraceRecord};
pub use vl_arbitration_table::{VlArbitrationTableComponents, VlArbitrationTableRecord};
