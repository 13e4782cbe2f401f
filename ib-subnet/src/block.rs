//! Attribute blocks: reads and records the content of devices in the same manner for every attribute.

use ib_mad::{Attribute, AttributeId};
use ib_smp::{
    LinearForwardingTable, MftModifier, MlnxExtPortInfo, MulticastForwardingTable, PKeyModifier,
    PartitionKeyTable, PortInfo, SlToVlMappingTable, SlToVlModifier, SwitchInfo, VlArbitrationHalf,
    VlArbitrationModifier, VlArbitrationTable,
};
use ib_wire::{PortNum, table::padded};

use crate::{PortId, Subnet};

/// One block of an attribute at a port: what one subnet management datagram carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block {
    /// The port. SwitchInfo and forwarding tables belong to port 0 of a switch. SLtoVL tables belong to the
    /// output port of a switch, or to the port of a CA or router; those that are written for all pairs at once
    /// belong to any output port of the switch.
    pub port: PortId,
    /// Attribute of the block.
    pub attribute: AttributeId,
    /// The attribute modifier. For PortInfo it is only the port's number, without bit 31.
    pub modifier: u32,
}

impl Subnet {
    /// The last known content of a device's block; attributes shorter than 64 bytes are padded with zeros. `None`
    /// if the content is unknown.
    #[must_use]
    pub fn block(&self, of: Block) -> Option<[u8; 64]> {
        let port = || self.port(of.port);
        let switch = || self.switch(of.port.node);
        Some(match of.attribute {
            SwitchInfo::ID => padded(switch()?.info()?.as_bytes()),
            PortInfo::ID => padded(port()?.info()?.as_bytes()),
            MlnxExtPortInfo::ID => padded(port()?.vendor_speeds()?.as_bytes()),
            LinearForwardingTable::ID => *switch()?.lft().block(low_half(of.modifier))?,
            MulticastForwardingTable::ID => {
                *switch()?.mft().get(&MftModifier::from_bits(of.modifier))?
            }
            PartitionKeyTable::ID => {
                let modifier = PKeyModifier::from_bits(of.modifier)?;
                *port()?.p_key_table().block(modifier.block)?
            }
            SlToVlMappingTable::ID => match SlToVlModifier::from_bits(of.modifier)? {
                SlToVlModifier::Pair { input, output } if switch().is_some() => {
                    padded(switch()?.sl_to_vl().get(&(input, output))?.as_bytes())
                }
                SlToVlModifier::Pair { .. } => padded(port()?.sl_to_vl()?.as_bytes()),
                SlToVlModifier::AllInputs { output } => padded(
                    switch()?
                        .sl_to_vl()
                        .get(&(PortNum::MANAGEMENT, output))?
                        .as_bytes(),
                ),
                SlToVlModifier::All => padded(
                    switch()?
                        .sl_to_vl()
                        .get(&(PortNum::MANAGEMENT, of.port.port))?
                        .as_bytes(),
                ),
                _ => return None,
            },
            VlArbitrationTable::ID => {
                let modifier = VlArbitrationModifier::from_bits(of.modifier)?;
                *port()?
                    .vl_arbitration()
                    .block(arbitration_block(modifier.half))?
            }
            _ => return None,
        })
    }

    /// Records the content of a device from its response to a Get or a Set. Attributes that a subnet does not
    /// store change nothing.
    pub fn record(&mut self, of: Block, data: &[u8; 64]) {
        match of.attribute {
            SwitchInfo::ID => {
                if let (Ok((info, _)), Some(switch)) =
                    (SwitchInfo::parse(data, 0), self.switch_mut(of.port.node))
                {
                    switch.set_info(*info);
                }
            }
            PortInfo::ID => {
                if let Some(port) = self.port_mut(of.port) {
                    port.set_info(PortInfo::from_bytes(*data));
                }
            }
            MlnxExtPortInfo::ID => {
                if let Some(port) = self.port_mut(of.port) {
                    port.set_vendor_speeds(MlnxExtPortInfo::from_bytes(*data));
                }
            }
            LinearForwardingTable::ID => {
                if let Some(switch) = self.forwarding_mut(of.port.node) {
                    switch.lft_mut().set(low_half(of.modifier), *data);
                }
            }
            MulticastForwardingTable::ID => {
                if let Some(switch) = self.forwarding_mut(of.port.node) {
                    switch.set_mft_block(MftModifier::from_bits(of.modifier), *data);
                }
            }
            PartitionKeyTable::ID => {
                if let (Some(modifier), Some(port)) =
                    (PKeyModifier::from_bits(of.modifier), self.port_mut(of.port))
                {
                    port.p_key_table_mut().set(modifier.block, *data);
                }
            }
            SlToVlMappingTable::ID => {
                if let (Some(modifier), Ok((table, _))) = (
                    SlToVlModifier::from_bits(of.modifier),
                    SlToVlMappingTable::parse(data, 0),
                ) {
                    self.record_sl_to_vl(of.port, modifier, table);
                }
            }
            VlArbitrationTable::ID => {
                if let (Some(modifier), Some(port)) = (
                    VlArbitrationModifier::from_bits(of.modifier),
                    self.port_mut(of.port),
                ) {
                    port.vl_arbitration_mut()
                        .set(arbitration_block(modifier.half), *data);
                }
            }
            _ => {}
        }
    }

    /// Makes a block unknown: a Set of it had no response, so the Set may or may not have arrived.
    pub fn forget(&mut self, of: Block) {
        match of.attribute {
            LinearForwardingTable::ID => {
                if let Some(switch) = self.forwarding_mut(of.port.node) {
                    switch.lft_mut().forget(low_half(of.modifier));
                }
            }
            MulticastForwardingTable::ID => {
                if let Some(switch) = self.forwarding_mut(of.port.node) {
                    switch.forget_mft_block(MftModifier::from_bits(of.modifier));
                }
            }
            SlToVlMappingTable::ID => {
                if let Some(switch) = self.switch_mut(of.port.node) {
                    let all = of.modifier == SlToVlModifier::All.bits();
                    switch.forget_sl_to_vl((!all).then_some(of.port.port));
                } else if let Some(port) = self.port_mut(of.port) {
                    port.set_sl_to_vl(None);
                }
            }
            VlArbitrationTable::ID => {
                if let (Some(modifier), Some(port)) = (
                    VlArbitrationModifier::from_bits(of.modifier),
                    self.port_mut(of.port),
                ) {
                    port.vl_arbitration_mut()
                        .forget(arbitration_block(modifier.half));
                }
            }
            PartitionKeyTable::ID => {
                if let (Some(modifier), Some(port)) =
                    (PKeyModifier::from_bits(of.modifier), self.port_mut(of.port))
                {
                    port.p_key_table_mut().forget(modifier.block);
                }
            }
            _ => {}
        }
    }

    fn record_sl_to_vl(
        &mut self,
        port: PortId,
        modifier: SlToVlModifier,
        table: &SlToVlMappingTable,
    ) {
        let Some(node) = self.node_mut(port.node) else {
            return;
        };
        let num_ports = node.info().num_ports();
        match (node.switch_mut(), modifier) {
            (Some(switch), SlToVlModifier::Pair { input, output }) => {
                switch.set_sl_to_vl(input, output, *table);
            }
            (Some(switch), SlToVlModifier::AllInputs { output }) => {
                for input in (0..=num_ports).map(PortNum) {
                    switch.set_sl_to_vl(input, output, *table);
                }
            }
            (Some(switch), SlToVlModifier::All) => {
                for input in (0..=num_ports).map(PortNum) {
                    for output in (0..=num_ports).map(PortNum) {
                        switch.set_sl_to_vl(input, output, *table);
                    }
                }
            }
            (None, SlToVlModifier::Pair { .. }) => {
                if let Some(port) = self.port_mut(port) {
                    port.set_sl_to_vl(Some(*table));
                }
            }
            _ => {}
        }
    }
}

/// The number of a half of a VL arbitration table among the four blocks of a port: 0 and 1 low priority, 2 and 3
/// high priority.
#[must_use]
pub const fn arbitration_block(half: VlArbitrationHalf) -> u16 {
    (half as u16).saturating_sub(1)
}

/// Blocks of linear tables have 16-bit numbers.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the upper half is zero by definition"
)]
const fn low_half(modifier: u32) -> u16 {
    modifier as u16
}
