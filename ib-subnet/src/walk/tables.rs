//! Answers to SwitchInfo and to P_Key tables: the blocks of tables to read.

use alloc::vec::Vec;

use ib_mad::Attribute;
use ib_smp::{LinearForwardingTable, PKeyModifier, PartitionKeyTable, SwitchInfo};
use ib_wire::{Lid, PortNum};

use super::Walk;
use crate::{Block, NodeId, PortId, ReadTarget, Subnet};

impl Walk {
    pub(super) fn on_switch_info(&mut self, subnet: &mut Subnet, id: NodeId, info: &SwitchInfo) {
        let Some(switch) = subnet.switch_mut(id) else {
            return;
        };
        switch.observe(*info);
        self.read_unknown_blocks(subnet, id);
    }

    /// Queues the reads of the blocks of a switch's linear table that are in use and unknown.
    pub(super) fn read_unknown_blocks(&mut self, subnet: &mut Subnet, id: NodeId) {
        let Some(switch) = subnet.switch(id) else {
            return;
        };
        let top = switch
            .info()
            .map_or(Lid::NONE, |info| info.linear_fdb_top());
        if !self.options.tables || top == Lid::NONE {
            return;
        }
        // Entries above the top have no meaning.
        let (last, _) = LinearForwardingTable::block_of(top);
        let unknown: Vec<u16> = (0..=last)
            .filter(|&block| switch.lft().block(block).is_none())
            .collect();
        subnet.reserve_lft(id, last.saturating_add(1));
        for block in unknown {
            let target = ReadTarget::Port(PortId::management(id));
            self.ask(target, LinearForwardingTable::ID, block.into());
        }
    }

    /// Records a block of a switch's linear table. Once its page is complete, it is in memory only once.
    pub(super) fn on_forwarding_table(
        &mut self,
        subnet: &mut Subnet,
        port: PortId,
        modifier: u32,
        data: &[u8; 64],
    ) {
        let block = Block {
            port,
            attribute: LinearForwardingTable::ID,
            modifier,
        };
        subnet.record(block, data);
        if let Ok(number) = u16::try_from(modifier) {
            subnet.merge_lft_page(port.node, number, &mut self.pages);
        }
    }

    /// Records a block of a P_Key table. Tables are filled from the front: if a block ends with a free entry, the
    /// blocks after it are empty.
    pub(super) fn on_p_key_table(
        &mut self,
        subnet: &mut Subnet,
        port: PortId,
        modifier: u32,
        data: &[u8; 64],
    ) {
        let Some(at) = PKeyModifier::from_bits(modifier) else {
            return;
        };
        let entries = subnet
            .node(port.node)
            .map_or(0, |node| match node.switch() {
                Some(switch) if port.port != PortNum::MANAGEMENT => switch
                    .info()
                    .map_or(0, |info| info.partition_enforcement_cap()),
                _ => node.info().partition_cap(),
            });
        let attribute = PartitionKeyTable::ID;
        subnet.record(
            Block {
                port,
                attribute,
                modifier,
            },
            data,
        );
        let next = at.block.saturating_add(1);
        if !data.ends_with(&[0, 0]) && next < entries.div_ceil(PartitionKeyTable::ENTRIES) {
            let next = PKeyModifier { block: next, ..at };
            self.ask(ReadTarget::Port(port), attribute, next.bits());
        }
    }
}
