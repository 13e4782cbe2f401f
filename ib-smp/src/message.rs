//! The attributes of subnet management by their numbers, and the reading of 256 bytes as a typed view.

use ib_mad::{
    Attribute, ClassTable, Mad, MadStatus, Method, MgmtClass, NoticeSm, attribute_table, layouts,
};
use ib_wire::MKey;
use zerocopy::{Immutable, IntoBytes, transmute_ref};

use crate::{
    AdjacentSiteLocalSubnetRecord, AdjacentSiteLocalSubnetsTable, GuidInfo, HierarchyInfo, LedInfo,
    LidPortBlock, LinearForwardingTable, MlnxCableInfo, MlnxConfigSpaceSmp, MlnxExtPortInfo,
    MlnxRegisterAccessSmp, MlnxSemaphoreLock, MulticastForwardingTable, NextHopRecord,
    NextHopTable, NodeDescription, NodeInfo, PartitionKeyTable, PortInfo, PortInfoExtended,
    RandomForwardingTable, RouterInfo, SlToVlMappingTable, SmInfo, SmpDirected, SmpLidRouted,
    SwitchInfo, VendorDiag, VlArbitrationEntry, VlArbitrationTable,
};

/// The D bit of a directed route in the status word.
pub(crate) const RETURNING: u16 = 0x8000;

layouts! {
    /// Every structure of this crate that the specification's tables have.
    pub const LAYOUTS = CLASSES, below ib_mad::LAYOUTS, and [VlArbitrationEntry, LidPortBlock, AdjacentSiteLocalSubnetRecord, NextHopRecord];
}

/// Every class of this crate, its format and its attributes: the two forms of an SMP.
pub const CLASSES: &[ClassTable] = &[
    ClassTable::new(
        MgmtClass::SUBN_LID,
        SmpLidRouted::LAYOUT,
        SmAttribute::ATTRIBUTES,
    ),
    ClassTable::new(
        MgmtClass::SUBN_DIRECTED,
        SmpDirected::LAYOUT,
        SmAttribute::ATTRIBUTES,
    ),
];

/// An SMP by its form; its [`attribute`](Smp::attribute) is a typed view as well.
///
/// ```
/// use ib_smp::{Smp, SmAttribute, SmpLidRouted, NodeInfo};
/// use ib_mad::{Attribute, Method};
///
/// let smp = SmpLidRouted::new(Method::GET, NodeInfo::ID, 0);
/// let Some(Smp::LidRouted(opened)) = Smp::parse(smp.as_bytes()) else { unreachable!() };
/// assert_eq!(opened, &smp);
/// let attribute = Smp::LidRouted(opened).attribute();
/// assert_eq!(attribute, SmAttribute::NodeInfo(&NodeInfo::default()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smp<'a> {
    /// Class 0x01.
    LidRouted(&'a SmpLidRouted),
    /// Class 0x81.
    Directed(&'a SmpDirected),
}

impl<'a> Smp<'a> {
    /// The SMP in a datagram; `None` for another class.
    #[must_use]
    pub fn parse(bytes: &'a [u8; 256]) -> Option<Self> {
        let (smp, _) = SmpLidRouted::parse(bytes, 0).ok()?;
        match smp.mgmt_class() {
            MgmtClass::SUBN_LID => Some(Self::LidRouted(smp)),
            MgmtClass::SUBN_DIRECTED => {
                let (smp, _) = SmpDirected::parse(bytes, 0).ok()?;
                Some(Self::Directed(smp))
            }
            _ => None,
        }
    }

    /// The bytes of the datagram.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8; 256] {
        match self {
            Self::LidRouted(smp) => smp.as_bytes(),
            Self::Directed(smp) => smp.as_bytes(),
        }
    }

    /// The attribute in the SMP.
    #[must_use]
    pub fn attribute(&self) -> SmAttribute<'a> {
        SmAttribute::parse(self.common().attribute_id(), self.as_bytes())
    }

    /// The 64 bytes of the attribute.
    #[must_use]
    pub fn data(&self) -> &'a [u8; 64] {
        self.common().smp_data()
    }

    /// Method; bit 7 marks a response.
    #[must_use]
    pub fn method(&self) -> Method {
        self.common().method()
    }

    /// The port or block of the attribute; each attribute has its own meaning.
    #[must_use]
    pub fn attribute_modifier(&self) -> u32 {
        self.common().attribute_modifier()
    }

    /// Key that the receiver compares with PortInfo.M_Key.
    #[must_use]
    pub fn m_key(&self) -> MKey {
        self.common().m_key()
    }

    /// Status of a response, without the D bit of a directed route.
    #[must_use]
    pub fn status(&self) -> MadStatus {
        match self {
            Self::LidRouted(smp) => smp.status(),
            Self::Directed(smp) => smp.status(),
        }
    }

    /// The response to the request `mad`, with `value` as its attribute: GetResp, the status and, on a
    /// directed route, the direction are set, transaction and route stay. `None` for another class.
    ///
    /// ```
    /// use ib_mad::{Attribute, MadStatus, Method};
    /// use ib_smp::{DrPath, Smp, SmAttribute, SmInfo, SmpDirected};
    ///
    /// let request = SmpDirected::new(Method::GET, SmInfo::ID, 0, &DrPath::OWN_NODE).to_mad();
    /// let own = SmInfo::default();
    /// let response = Smp::respond(&request, MadStatus::OK, &own).expect("an SMP");
    /// let smp = Smp::parse(&response.bytes).expect("an SMP");
    /// assert_eq!((smp.method(), smp.attribute()), (Method::GET_RESP, SmAttribute::SmInfo(&own)));
    /// ```
    #[must_use]
    pub fn respond<T>(mad: &Mad, status: MadStatus, value: &T) -> Option<Mad>
    where
        T: Attribute + IntoBytes + Immutable,
    {
        let mut response = *mad;
        let direction = match mad.header().mgmt_class() {
            MgmtClass::SUBN_LID => 0,
            MgmtClass::SUBN_DIRECTED => RETURNING,
            _ => return None,
        };
        response
            .set_attribute(value)
            .header_mut()
            .set_method(Method::GET_RESP)
            .set_status(MadStatus(status.0 | direction));
        Some(response)
    }

    /// The rows that both forms have in the same place: all but the status, which the D bit is a part of
    /// here, and the route.
    fn common(&self) -> &'a SmpLidRouted {
        transmute_ref!(self.as_bytes())
    }
}

attribute_table! {
    /// An attribute of subnet management.
    pub enum SmAttribute, data at 64 {
        "Notice", 0x0002 => Notice(NoticeSm): GET, SET, GET_RESP, TRAP, TRAP_REPRESS;
        "NodeDescription", 0x0010 => NodeDescription(NodeDescription): GET, SET, GET_RESP;
        "NodeInfo", 0x0011 => NodeInfo(NodeInfo): GET, GET_RESP;
        "SwitchInfo", 0x0012 => SwitchInfo(SwitchInfo): GET, SET, GET_RESP;
        "GUIDInfo", 0x0014 => GuidInfo(GuidInfo): GET, SET, GET_RESP;
        "PortInfo", 0x0015 => PortInfo(PortInfo): GET, SET, GET_RESP;
        "P_KeyTable", 0x0016 => PartitionKeyTable(PartitionKeyTable): GET, SET, GET_RESP;
        "SLtoVLMappingTable", 0x0017 => SlToVlMappingTable(SlToVlMappingTable): GET, SET, GET_RESP;
        "VLArbitrationTable", 0x0018 => VlArbitrationTable(VlArbitrationTable): GET, SET, GET_RESP;
        "LinearForwardingTable", 0x0019 => LinearForwardingTable(LinearForwardingTable): GET, SET, GET_RESP;
        "RandomForwardingTable", 0x001A => RandomForwardingTable(RandomForwardingTable): GET, SET, GET_RESP;
        "MulticastForwardingTable", 0x001B => MulticastForwardingTable(MulticastForwardingTable): GET, SET, GET_RESP;
        "HierarchyInfo", 0x001E => HierarchyInfo(HierarchyInfo): GET, SET, GET_RESP;
        "SMInfo", 0x0020 => SmInfo(SmInfo): GET, SET, GET_RESP;
        "VendorDiag", 0x0030 => VendorDiag(VendorDiag): GET, GET_RESP;
        "LedInfo", 0x0031 => LedInfo(LedInfo): GET, SET, GET_RESP;
        "PortInfoExtended", 0x0033 => PortInfoExtended(PortInfoExtended): GET, SET, GET_RESP;
        "MlnxConfigSpaceAccess", 0xFF50 => MlnxConfigSpaceAccess(MlnxConfigSpaceSmp): GET, SET, GET_RESP;
        "MlnxRegisterAccess", 0xFF52 => MlnxRegisterAccess(MlnxRegisterAccessSmp): SET, GET_RESP;
        "MlnxSemaphoreLock", 0xFF53 => MlnxSemaphoreLock(MlnxSemaphoreLock): GET, SET, GET_RESP;
        "MlnxCableInfo", 0xFF60 => MlnxCableInfo(MlnxCableInfo): GET, GET_RESP;
        "MlnxExtPortInfo", 0xFF90 => MlnxExtPortInfo(MlnxExtPortInfo): GET, SET, GET_RESP;
        "RouterInfo", 0xFFD0 => RouterInfo(RouterInfo): GET, SET, GET_RESP;
        "NextHopTable", 0xFFD1 => NextHopTable(NextHopTable): GET, SET, GET_RESP;
        "AdjacentSiteLocalSubnetsTable", 0xFFD2 => AdjacentSiteLocalSubnetsTable(AdjacentSiteLocalSubnetsTable): GET, SET, GET_RESP;
    }
    untyped {
        "LinkSpeedWidthPairsTable", 0x001C: GET, SET, GET_RESP;
        "VendorSpecificMadsTable", 0x001D: GET, GET_RESP;
        "CableInfo", 0x0032: GET, SET, GET_RESP;
    }
}
