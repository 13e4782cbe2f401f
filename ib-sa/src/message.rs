//! The attributes of subnet administration by their numbers.

use ib_mad::{ClassPortInfo, ClassTable, InformInfo, MgmtClass, Notice, attribute_table};
use ib_wire::table::Layout;

use crate::{
    GuidInfoRecord, InformInfoRecord, LinearForwardingTableRecord, LinkRecord, McMemberRecord,
    MultiPathRecord, MulticastForwardingTableRecord, NodeRecord, PKeyTableRecord, PathRecord,
    PortInfoExtendedRecord, PortInfoRecord, RandomForwardingTableRecord, SaHeader, SaMad,
    ServiceAssociationRecord, ServiceRecord, SlToVlMappingTableRecord, SmInfoRecord,
    SwitchInfoRecord, TraceRecord, VlArbitrationTableRecord,
};

/// Every structure of this crate that the specification's tables have.
pub const LAYOUTS: &[&Layout] = &[
    SaHeader::LAYOUT,
    SaMad::LAYOUT,
    NodeRecord::LAYOUT,
    PortInfoRecord::LAYOUT,
    SlToVlMappingTableRecord::LAYOUT,
    SwitchInfoRecord::LAYOUT,
    LinearForwardingTableRecord::LAYOUT,
    RandomForwardingTableRecord::LAYOUT,
    MulticastForwardingTableRecord::LAYOUT,
    SmInfoRecord::LAYOUT,
    InformInfoRecord::LAYOUT,
    LinkRecord::LAYOUT,
    GuidInfoRecord::LAYOUT,
    ServiceRecord::LAYOUT,
    PKeyTableRecord::LAYOUT,
    PathRecord::LAYOUT,
    VlArbitrationTableRecord::LAYOUT,
    McMemberRecord::LAYOUT,
    TraceRecord::LAYOUT,
    MultiPathRecord::LAYOUT,
    ServiceAssociationRecord::LAYOUT,
    PortInfoExtendedRecord::LAYOUT,
];

/// The class of this crate, its format and its attributes.
pub const CLASSES: &[ClassTable] = &[ClassTable {
    class: MgmtClass::SUBN_ADM,
    format: SaMad::LAYOUT,
    attributes: SaAttribute::ATTRIBUTES,
}];

attribute_table! {
    /// An attribute of subnet administration: a record, as a rule.
    pub enum SaAttribute, data at 56 {
        "ClassPortInfo", 0x0001 => ClassPortInfo(ClassPortInfo): GET, GET_RESP;
        "Notice", 0x0002 => Notice(Notice): REPORT, REPORT_RESP;
        "InformInfo", 0x0003 => InformInfo(InformInfo): SET, GET_RESP;
        "NodeRecord", 0x0011 => NodeRecord(NodeRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "PortInfoRecord", 0x0012 => PortInfoRecord(PortInfoRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "SLtoVLMappingTableRecord", 0x0013 => SlToVlMappingTableRecord(SlToVlMappingTableRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "SwitchInfoRecord", 0x0014 => SwitchInfoRecord(SwitchInfoRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "LinearForwardingTableRecord", 0x0015 => LinearForwardingTableRecord(LinearForwardingTableRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "RandomForwardingTableRecord", 0x0016 => RandomForwardingTableRecord(RandomForwardingTableRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "MulticastForwardingTableRecord", 0x0017 => MulticastForwardingTableRecord(MulticastForwardingTableRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "SMInfoRecord", 0x0018 => SmInfoRecord(SmInfoRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "LinkRecord", 0x0020 => LinkRecord(LinkRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "GUIDInfoRecord", 0x0030 => GuidInfoRecord(GuidInfoRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP, SET, DELETE, DELETE_RESP;
        "ServiceRecord", 0x0031 => ServiceRecord(ServiceRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP, SET, DELETE, DELETE_RESP;
        "P_KeyTableRecord", 0x0033 => PKeyTableRecord(PKeyTableRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "PathRecord", 0x0035 => PathRecord(PathRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "VLArbitrationTableRecord", 0x0036 => VlArbitrationTableRecord(VlArbitrationTableRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "MCMemberRecord", 0x0038 => McMemberRecord(McMemberRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP, SET, DELETE, DELETE_RESP;
        "TraceRecord", 0x0039 => TraceRecord(TraceRecord): GET_TRACE_TABLE, GET_TABLE_RESP;
        "MultiPathRecord", 0x003A => MultiPathRecord(MultiPathRecord): GET_MULTI, GET_MULTI_RESP;
        "ServiceAssociationRecord", 0x003B => ServiceAssociationRecord(ServiceAssociationRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "PortInfoExtendedRecord", 0x003E => PortInfoExtendedRecord(PortInfoExtendedRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "InformInfoRecord", 0x00F3 => InformInfoRecord(InformInfoRecord): GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    }
    untyped {
        "LinkSpeedWidthPairsTableRecord", 0x0019: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "HierarchyInfoRecord", 0x003C: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
        "CableInfoRecord", 0x003D: GET, GET_RESP, GET_TABLE, GET_TABLE_RESP;
    }
}
