//! The records of subnet administration: what a query asks for (IBA vol. 1, 15.2.5).
//!
//! [`RECORDS`] lists them. To add one: its file, a `mod` line, and one row below.

use ib_mad::{
    Attribute, AttributeId, ClassPortInfo, ClassTable, InformInfo, Method, MgmtClass, Notice,
    attribute_table,
};
use ib_wire::table::Layout;

use crate::{Component, ComponentSet, SaHeader, SaMad};

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

pub use mc_member::JoinState;

/// A record, for code that handles all of them.
#[derive(Clone, Copy, Debug)]
pub struct RecordInfo {
    /// Its attribute ID.
    pub id: AttributeId,
    /// Its fields; the name is that of the specification.
    pub layout: &'static Layout,
    /// The components that a query compares.
    pub components: &'static [Component],
    /// The methods that it has, of requests and of responses.
    pub methods: &'static [Method],
}

/// The class of this crate, its format and its attributes.
pub const CLASSES: &[ClassTable] = &[ClassTable::new(
    MgmtClass::SUBN_ADM,
    SaMad::LAYOUT,
    SaAttribute::ATTRIBUTES,
)];

/// Declares the records: their exports, [`RECORDS`], [`LAYOUTS`] and [`SaAttribute`].
macro_rules! records {
    ($($file:ident: $record:ident, $components:ident = $name:literal, $id:literal: $($method:ident),+;)*) => {
        $(pub use $file::{$components, $record};)*

        /// Every record.
        pub const RECORDS: &[RecordInfo] = &[$(RecordInfo {
            id: <$record as Attribute>::ID,
            layout: $record::LAYOUT,
            components: <$components as ComponentSet>::TABLE,
            methods: &[$(Method::$method),+],
        },)*];

        /// Every structure of this crate that the specification's tables have.
        pub const LAYOUTS: &[&Layout] = &[SaHeader::LAYOUT, SaMad::LAYOUT, $($record::LAYOUT,)*];

        attribute_table! {
            /// An attribute of subnet administration: a record, as a rule.
            pub enum SaAttribute, data at 56 {
                "ClassPortInfo", 0x0001 => ClassPortInfo(ClassPortInfo): GET, GET_RESP;
                "Notice", 0x0002 => Notice(Notice): REPORT, REPORT_RESP;
                "InformInfo", 0x0003 => InformInfo(InformInfo): SET, GET_RESP;
                $($name, $id => $record($record): $($method),+;)*
            }
            untyped {
                "LinkSpeedWidthPairsTableRecord", 0x0019: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
                "HierarchyInfoRecord", 0x003C: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
                "CableInfoRecord", 0x003D: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
            }
        }
    };
}

records! {
    node: NodeRecord, NodeComponents = "NodeRecord", 0x0011: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    port_info: PortInfoRecord, PortInfoComponents = "PortInfoRecord", 0x0012: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    sl_to_vl_mapping_table: SlToVlMappingTableRecord, SlToVlMappingTableComponents = "SLtoVLMappingTableRecord", 0x0013: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    switch_info: SwitchInfoRecord, SwitchInfoComponents = "SwitchInfoRecord", 0x0014: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    linear_forwarding_table: LinearForwardingTableRecord, LinearForwardingTableComponents = "LinearForwardingTableRecord", 0x0015: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    random_forwarding_table: RandomForwardingTableRecord, RandomForwardingTableComponents = "RandomForwardingTableRecord", 0x0016: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    multicast_forwarding_table: MulticastForwardingTableRecord, MulticastForwardingTableComponents = "MulticastForwardingTableRecord", 0x0017: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    sm_info: SmInfoRecord, SmInfoComponents = "SMInfoRecord", 0x0018: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    inform_info: InformInfoRecord, InformInfoComponents = "InformInfoRecord", 0x00F3: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    link: LinkRecord, LinkComponents = "LinkRecord", 0x0020: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    guid_info: GuidInfoRecord, GuidInfoComponents = "GUIDInfoRecord", 0x0030: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP, SET, DELETE, DELETE_RESP;
    service: ServiceRecord, ServiceComponents = "ServiceRecord", 0x0031: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP, SET, DELETE, DELETE_RESP;
    p_key_table: PKeyTableRecord, PKeyTableComponents = "P_KeyTableRecord", 0x0033: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    path: PathRecord, PathComponents = "PathRecord", 0x0035: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    vl_arbitration_table: VlArbitrationTableRecord, VlArbitrationTableComponents = "VLArbitrationTableRecord", 0x0036: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    mc_member: McMemberRecord, McMemberComponents = "MCMemberRecord", 0x0038: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP, SET, DELETE, DELETE_RESP;
    service_association: ServiceAssociationRecord, ServiceAssociationComponents = "ServiceAssociationRecord", 0x003B: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    port_info_extended: PortInfoExtendedRecord, PortInfoExtendedComponents = "PortInfoExtendedRecord", 0x003E: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    trace: TraceRecord, TraceComponents = "TraceRecord", 0x0039: GET_TRACE_TABLE, GET_TABLE_RESP;
    multi_path: MultiPathRecord, MultiPathComponents = "MultiPathRecord", 0x003A: GET_MULTI, GET_MULTI_RESP;
}
