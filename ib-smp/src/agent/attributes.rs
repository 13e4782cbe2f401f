//! Get and Set of every attribute but PortInfo: which there are, where their modifiers point, what is
//! kept.

use ib_mad::{Attribute, AttributeId, MadStatus, NoticeSm};
use ib_wire::{PortNum, table::padded};

use super::{CheckedRequest, INVALID, Sma, SmaPort, UNSUPPORTED};
use crate::{
    AdjacentSiteLocalSubnetsTable, CapabilityMask, CapabilityMask2, GuidInfo, HierarchyInfo,
    LedInfo, LinearForwardingTable, MlnxExtPortInfo, MulticastForwardingTable, NextHopTable,
    NodeDescription, NodeInfo, PKeyModifier, PartitionKeyTable, PortInfo, PortInfoExtended,
    PortInfoModifier, RandomForwardingTable, RouterInfo, SlToVlMappingTable, SlToVlModifier,
    SmpLidRouted, SwitchInfo, VendorDiag, VlArbitrationModifier, VlArbitrationTable,
};

/// The data of an SMP.
pub(super) type Data = [u8; 64];

/// An attribute that not every node has.
enum Optional {
    Switch,
    /// Those of a router, which cannot be set.
    Router,
    Port(PortNum),
}

impl Sma {
    /// Makes the attribute that a Get asks for the data of its response.
    pub(super) fn get(
        &mut self,
        request: CheckedRequest,
        smp: &SmpLidRouted,
        data: &mut Data,
    ) -> MadStatus {
        let modifier = request.modifier;
        match request.id {
            NodeInfo::ID => put(data, self.node_info_at(request).as_bytes()),
            NodeDescription::ID => put(data, self.node_description.as_bytes()),
            PortInfo::ID => self.get_port_info(request, smp, data),
            PartitionKeyTable::ID => {
                let block = self
                    .p_key_place(request)
                    .and_then(|(port, cap, block)| self.port(port)?.p_key_block(block, cap));
                put_some(data, block.as_ref().map(|block| &block.as_bytes()[..]))
            }
            GuidInfo::ID => {
                let block = self
                    .port(request.guard)
                    .and_then(|at| at.guid_block(modifier));
                put_some(data, block.as_ref().map(|block| &block.as_bytes()[..]))
            }
            SlToVlMappingTable::ID => {
                let table = match (&self.switch, SlToVlModifier::from_bits(modifier)) {
                    (Some(switch), Some(modifier)) => switch.sl_to_vl_block(modifier),
                    (None, Some(_)) => self.port(request.arrival.port).map(SmaPort::sl_to_vl),
                    (_, None) => None,
                };
                put_some(data, table.as_ref().map(|table| &table.as_bytes()[..]))
            }
            VlArbitrationTable::ID => {
                let table = self
                    .vl_arbitration_place(request)
                    .and_then(|(port, half)| Some(self.port(port)?.vl_arbitration(half)));
                put_some(data, table.as_ref().map(|table| &table.as_bytes()[..]))
            }
            NoticeSm::ID if self.keeps_notices(request.guard) => {
                put(data, self.notices.front().as_bytes())
            }
            VendorDiag::ID if modifier == 0 => put(data, VendorDiag::default().as_bytes()),
            VendorDiag::ID => INVALID,
            id => match self.optional(id, request) {
                Ok(Optional::Switch) => self.get_switch(id, modifier, data),
                Ok(Optional::Router) => match &self.router {
                    Some(router) => router.get(id, modifier, data),
                    None => UNSUPPORTED,
                },
                Ok(Optional::Port(port)) => self.get_optional(id, port, data),
                Err(status) => status,
            },
        }
    }

    /// Writes what a Set brings; the response shows the values after it.
    pub(super) fn set(
        &mut self,
        request: CheckedRequest,
        smp: &SmpLidRouted,
        data: &mut Data,
    ) -> MadStatus {
        let modifier = request.modifier;
        let done = match request.id {
            PortInfo::ID => return self.set_port_info(request, data),
            NodeDescription::ID if self.may_set_description(request.guard) => {
                self.node_description = NodeDescription::from_bytes(*data);
                Some(())
            }
            PartitionKeyTable::ID => {
                let table = PartitionKeyTable::from_bytes(*data);
                self.p_key_place(request).and_then(|(port, cap, block)| {
                    self.port_mut(port)?.set_p_key_block(block, cap, &table)
                })
            }
            GuidInfo::ID => {
                let table = GuidInfo::from_bytes(*data);
                self.port_mut(request.guard)
                    .and_then(|port| port.set_guid_block(modifier, &table))
            }
            SlToVlMappingTable::ID => {
                let table = front(data, SlToVlMappingTable::from_bytes);
                match (&mut self.switch, SlToVlModifier::from_bits(modifier)) {
                    (Some(switch), Some(modifier)) => switch.set_sl_to_vl(modifier, &table),
                    (None, Some(_)) => self
                        .port_mut(request.arrival.port)
                        .map(|port| port.set_sl_to_vl(&table)),
                    (_, None) => None,
                }
            }
            VlArbitrationTable::ID => {
                let table = VlArbitrationTable::from_bytes(*data);
                self.vl_arbitration_place(request).and_then(|(port, half)| {
                    self.port_mut(port)?.set_vl_arbitration(half, &table);
                    Some(())
                })
            }
            NoticeSm::ID if self.keeps_notices(request.guard) => {
                self.notices.take(&NoticeSm::from_bytes(*data));
                Some(())
            }
            NodeDescription::ID | NodeInfo::ID | VendorDiag::ID => return UNSUPPORTED,
            id => match self.optional(id, request) {
                Ok(Optional::Switch) => self.set_switch(id, modifier, data),
                Ok(Optional::Router) => return UNSUPPORTED,
                Ok(Optional::Port(port)) => self.set_optional(id, port, data),
                Err(status) => return status,
            },
        };
        match done {
            // The response shows the values after the Set.
            Some(()) => self.get(request, smp, data),
            None => INVALID,
        }
    }

    /// NodeInfo as it looks from the port of arrival.
    #[inline]
    fn node_info_at(&self, request: CheckedRequest) -> NodeInfo {
        let mut info = self.node_info;
        if let Some(port) = self.port(request.guard) {
            info.set_port_guid(port.guid);
        }
        info.set_local_port_num(request.arrival.port);
        info
    }

    /// The port that a modifier names: 0 is the port of arrival on a CA.
    pub(super) fn target(&self, request: CheckedRequest, port: PortNum) -> Option<PortNum> {
        let port = match self.switch {
            None if port == PortNum(0) => request.arrival.port,
            _ => port,
        };
        self.port(port).map(|_| port)
    }

    /// Port, capacity and block of a P_Key request.
    fn p_key_place(&self, request: CheckedRequest) -> Option<(PortNum, u16, u16)> {
        let modifier = PKeyModifier::from_bits(request.modifier)?;
        let port = self.target(request, modifier.port)?;
        let cap = match &self.switch {
            Some(switch) if port != PortNum::MANAGEMENT => switch.info.partition_enforcement_cap(),
            _ => self.node_info.partition_cap(),
        };
        Some((port, cap, modifier.block))
    }

    /// Port and half of a VL arbitration request.
    fn vl_arbitration_place(
        &self,
        request: CheckedRequest,
    ) -> Option<(PortNum, crate::VlArbitrationHalf)> {
        let modifier = VlArbitrationModifier::from_bits(request.modifier)?;
        let port = self.target(request, modifier.port)?;
        let has_half = self.port(port)?.has_half(modifier.half);
        has_half.then_some((port, modifier.half))
    }

    fn may_set_description(&self, guard: PortNum) -> bool {
        self.port(guard).is_some_and(|port| {
            let mask = port.info.capability_mask2();
            mask.contains(CapabilityMask2::IS_SET_NODE_DESCRIPTION_SUPPORTED)
        })
    }

    /// Returns true if the node has an attribute that not every node has, and for which port.
    fn optional(&self, id: AttributeId, request: CheckedRequest) -> Result<Optional, MadStatus> {
        let masks = self.port(request.guard).map(|port| &port.info);
        let mask = masks.map_or(CapabilityMask::empty(), PortInfo::capability_mask);
        let mask2 = masks.map_or(CapabilityMask2::empty(), PortInfo::capability_mask2);
        let exists = match id {
            SwitchInfo::ID | LinearForwardingTable::ID | MulticastForwardingTable::ID => {
                return self
                    .switch
                    .as_ref()
                    .map_or(Err(UNSUPPORTED), |_| Ok(Optional::Switch));
            }
            RandomForwardingTable::ID => {
                let switch = self.switch.as_ref();
                return match switch.is_some_and(|switch| switch.info.random_fdb_cap() > 0) {
                    true => Ok(Optional::Switch),
                    false => Err(UNSUPPORTED),
                };
            }
            RouterInfo::ID | NextHopTable::ID | AdjacentSiteLocalSubnetsTable::ID => {
                let router = self.router.as_ref();
                return router.map_or(Err(UNSUPPORTED), |_| Ok(Optional::Router));
            }
            LedInfo::ID => mask.contains(CapabilityMask::IS_LED_INFO_SUPPORTED),
            HierarchyInfo::ID => mask.contains(CapabilityMask::IS_HIERARCHY_INFO_SUPPORTED),
            PortInfoExtended::ID => {
                mask2.contains(CapabilityMask2::IS_PORT_INFO_EXTENDED_SUPPORTED)
            }
            MlnxExtPortInfo::ID => {
                let has = |port: &SmaPort| port.mlnx() != MlnxExtPortInfo::default();
                self.has_mlnx_ext_port_info || self.ports.iter().any(has)
            }
            _ => false,
        };
        if !exists {
            return Err(UNSUPPORTED);
        }
        let port = u8::try_from(request.modifier).map_err(|_| INVALID)?;
        self.target(request, PortNum(port))
            .map(Optional::Port)
            .ok_or(INVALID)
    }

    fn get_switch(&self, id: AttributeId, modifier: u32, data: &mut Data) -> MadStatus {
        let Some(switch) = &self.switch else {
            return UNSUPPORTED;
        };
        match id {
            LinearForwardingTable::ID => {
                let block = switch.linear_block(modifier);
                put_some(data, block.as_ref().map(|block| &block.as_bytes()[..]))
            }
            MulticastForwardingTable::ID => {
                let block = switch.multicast_block(modifier);
                put_some(data, block.as_ref().map(|block| &block.as_bytes()[..]))
            }
            RandomForwardingTable::ID => {
                let block = switch.random_block(modifier);
                put_some(data, block.as_ref().map(|block| &block.as_bytes()[..]))
            }
            _ => put(data, switch.info.as_bytes()),
        }
    }

    fn set_switch(&mut self, id: AttributeId, modifier: u32, data: &Data) -> Option<()> {
        let switch = self.switch.as_mut()?;
        match id {
            LinearForwardingTable::ID => {
                switch.set_linear_block(modifier, &LinearForwardingTable::from_bytes(*data))
            }
            MulticastForwardingTable::ID => {
                switch.set_multicast_block(modifier, &MulticastForwardingTable::from_bytes(*data))
            }
            RandomForwardingTable::ID => {
                switch.set_random_block(modifier, &RandomForwardingTable::from_bytes(*data))
            }
            _ => switch.set_info(&front(data, SwitchInfo::from_bytes)),
        }
    }

    fn get_optional(&self, id: AttributeId, port: PortNum, data: &mut Data) -> MadStatus {
        let Some(port) = self.port(port) else {
            return INVALID;
        };
        match id {
            LedInfo::ID => put(data, port.led().as_bytes()),
            PortInfoExtended::ID => put(data, port.extended().as_bytes()),
            MlnxExtPortInfo::ID => put(data, port.mlnx().as_bytes()),
            _ => put(data, port.hierarchy().as_bytes()),
        }
    }

    fn set_optional(&mut self, id: AttributeId, port: PortNum, data: &Data) -> Option<()> {
        let port = self.port_mut(port)?;
        match id {
            LedInfo::ID => port.set_led(&front(data, LedInfo::from_bytes)),
            PortInfoExtended::ID => port.set_extended(&PortInfoExtended::from_bytes(*data))?,
            MlnxExtPortInfo::ID => port.set_mlnx(&MlnxExtPortInfo::from_bytes(*data))?,
            _ => port.set_hierarchy(&HierarchyInfo::from_bytes(*data)),
        }
        Some(())
    }
}

/// The port that a modifier names, of the attributes whose modifier names one.
pub(super) fn named_port(id: AttributeId, modifier: u32) -> Option<PortNum> {
    match id {
        PortInfo::ID => PortInfoModifier::from_bits(modifier).map(|named| named.port),
        PartitionKeyTable::ID => PKeyModifier::from_bits(modifier).map(|named| named.port),
        VlArbitrationTable::ID => {
            VlArbitrationModifier::from_bits(modifier).map(|named| named.port)
        }
        LedInfo::ID | HierarchyInfo::ID | PortInfoExtended::ID | MlnxExtPortInfo::ID => {
            u8::try_from(modifier).ok().map(PortNum)
        }
        _ => None,
    }
}

/// Makes an attribute the data of a response; the bytes after it are zero.
#[inline]
pub(super) fn put(data: &mut Data, attribute: &[u8]) -> MadStatus {
    *data = padded(attribute);
    MadStatus::OK
}

fn put_some(data: &mut Data, attribute: Option<&[u8]>) -> MadStatus {
    match attribute {
        Some(attribute) => put(data, attribute),
        None => INVALID,
    }
}

/// The attribute at the front of the data of a request.
fn front<const N: usize, T>(data: &Data, open: impl Fn([u8; N]) -> T) -> T {
    open(*data.first_chunk().unwrap_or(&[0; N]))
}
