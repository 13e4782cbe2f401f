//! What the manager asks of the subnet, as data: what a request is for, and the datagram it becomes.
//!
//! Every request goes by a directed route: that works before LIDs and tables do, and tells the same
//! from the first sweep to the last. The datagram is built only when the window has room for it, so
//! that a question whose answer came by another way meanwhile is not asked.

use ib_mad::{Attribute, AttributeId, Mad, MadAddress, Method, MgmtClass};
use ib_smp::{
    DrPath, GuidInfo, LinearForwardingTable, MftModifier, MulticastForwardingTable,
    NodeDescription, NodeInfo, PartitionKeyTable, PortInfo, PortState, SlToVlMappingTable,
    SlToVlModifier, SmInfo, SmpDirected, SwitchInfo, VlArbitrationHalf, VlArbitrationTable,
};
use ib_wire::{Lid, MKey};

use crate::subnet::{NodeIdx, PortRef};

/// What a datagram in flight is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Who is behind this port; `None` is the own node.
    GetNodeInfo(Option<PortRef>),
    /// Does this node still say who it is.
    CheckNodeInfo(NodeIdx),
    GetNodeDescription(PortRef),
    GetSwitchInfo(NodeIdx),
    GetPortInfo(PortRef),
    GetLft(NodeIdx, u16),
    /// Of a light sweep: has any port changed.
    LightSwitchInfo(NodeIdx),
    /// Of a light sweep: is somebody behind this port now.
    LightNodeInfo(PortRef),
    /// Who manages from this port.
    GetSmInfo(PortRef),
    /// Of a light sweep: what has become of the manager on this port.
    LightSmInfo(PortRef),
    /// Does the manager on this port still live.
    PollSm(PortRef),
    /// The manager on this port shall take the subnet.
    HandOver(PortRef),
    SetSwitchInfo(NodeIdx),
    SetLft(NodeIdx, u16),
    SetMft(NodeIdx, MftModifier),
    GetPKeyTable(PortRef, u16),
    SetPKeyTable(PortRef, u16),
    SetGuidInfo(PortRef, u8),
    SetSlToVl(NodeIdx, SlToVlModifier),
    SetVlArbitration(PortRef, VlArbitrationHalf),
    /// Brings a port to its target, and into this state.
    SetPortInfo(PortRef, PortState),
    /// Shuts a port off.
    DisablePort(PortRef),
}

impl Request {
    pub(crate) const fn attribute_id(self) -> AttributeId {
        match self {
            Self::GetNodeInfo(_) | Self::CheckNodeInfo(_) | Self::LightNodeInfo(_) => NodeInfo::ID,
            Self::GetSmInfo(_) | Self::LightSmInfo(_) | Self::PollSm(_) | Self::HandOver(_) => {
                SmInfo::ID
            }
            Self::LightSwitchInfo(_) => SwitchInfo::ID,
            Self::GetNodeDescription(_) => NodeDescription::ID,
            Self::GetSwitchInfo(_) | Self::SetSwitchInfo(_) => SwitchInfo::ID,
            Self::GetPortInfo(_) | Self::SetPortInfo(..) | Self::DisablePort(_) => PortInfo::ID,
            Self::GetLft(..) | Self::SetLft(..) => LinearForwardingTable::ID,
            Self::SetMft(..) => MulticastForwardingTable::ID,
            Self::GetPKeyTable(..) | Self::SetPKeyTable(..) => PartitionKeyTable::ID,
            Self::SetGuidInfo(..) => GuidInfo::ID,
            Self::SetSlToVl(..) => SlToVlMappingTable::ID,
            Self::SetVlArbitration(..) => VlArbitrationTable::ID,
        }
    }

    /// The port of the sender's knowledge that this is about.
    pub(crate) fn port(self) -> Option<PortRef> {
        match self {
            Self::GetNodeInfo(from) => from,
            Self::GetNodeDescription(port)
            | Self::GetPortInfo(port)
            | Self::SetPortInfo(port, _)
            | Self::DisablePort(port)
            | Self::GetPKeyTable(port, _)
            | Self::SetPKeyTable(port, _)
            | Self::SetGuidInfo(port, _)
            | Self::LightNodeInfo(port)
            | Self::GetSmInfo(port)
            | Self::LightSmInfo(port)
            | Self::PollSm(port)
            | Self::HandOver(port) => Some(port),
            Self::SetVlArbitration(port, _) => Some(port),
            // A CA is reached over the port that the table belongs to.
            Self::SetSlToVl(node, SlToVlModifier::Pair { input, output }) if input.0 == 0 => {
                Some(PortRef { node, port: output })
            }
            Self::CheckNodeInfo(node)
            | Self::GetSwitchInfo(node)
            | Self::SetSwitchInfo(node)
            | Self::LightSwitchInfo(node)
            | Self::GetLft(node, _)
            | Self::SetLft(node, _)
            | Self::SetMft(node, _)
            | Self::SetSlToVl(node, _) => Some(PortRef::management(node)),
        }
    }

    pub(crate) const fn method(self) -> Method {
        if self.is_set() {
            Method::SET
        } else {
            Method::GET
        }
    }

    pub(crate) const fn is_set(self) -> bool {
        matches!(
            self,
            Self::SetSwitchInfo(_)
                | Self::HandOver(_)
                | Self::SetLft(..)
                | Self::SetMft(..)
                | Self::SetPKeyTable(..)
                | Self::SetGuidInfo(..)
                | Self::SetPortInfo(..)
                | Self::DisablePort(_)
                | Self::SetSlToVl(..)
                | Self::SetVlArbitration(..)
        )
    }
}

/// A directed-route SMP from end to end. `data` beyond 64 bytes is cut off.
pub(crate) fn directed(
    path: &DrPath,
    m_key: MKey,
    method: Method,
    attribute_id: AttributeId,
    attribute_modifier: u32,
    data: &[u8],
) -> Mad {
    let mut mad = Mad::new(MadAddress::DIRECTED);
    if let Ok((smp, _)) = SmpDirected::parse_mut(&mut mad.bytes, 0) {
        let mut smp_data = [0; 64];
        for (to, &from) in smp_data.iter_mut().zip(data) {
            *to = from;
        }
        smp.set_base_version(1)
            .set_mgmt_class(MgmtClass::SUBN_DIRECTED)
            .set_class_version(1)
            .set_method(method)
            .set_attribute_id(attribute_id)
            .set_attribute_modifier(attribute_modifier)
            .set_m_key(m_key)
            .set_hop_count(path.hop_count())
            .set_dr_slid(Lid::PERMISSIVE)
            .set_dr_dlid(Lid::PERMISSIVE)
            .set_initial_path(path.initial_path())
            .set_smp_data(&smp_data);
    }
    mad
}
