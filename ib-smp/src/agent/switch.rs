//! The state of a switch's agent beside its ports: forwarding tables and SLtoVL.

use alloc::{boxed::Box, collections::BTreeMap, sync::Arc, vec};

use ib_wire::{Lid, PortNum, Sl, Vl};

use super::linear_table::LinearTable;
use crate::{
    LinearForwardingTable, MftModifier, MulticastForwardingTable, RandomForwardingTable,
    SlToVlMappingTable, SlToVlModifier, SwitchInfo,
};

/// Tables of a switch. Blocks that were never written take no memory.
#[derive(Clone, Debug)]
pub struct SwitchTables {
    pub(super) info: SwitchInfo,
    num_ports: u8,
    linear: LinearTable,
    random: BTreeMap<u16, RandomForwardingTable>,
    multicast: BTreeMap<MftModifier, MulticastForwardingTable>,
    sl_to_vl: SlToVl,
    /// All SLtoVL tables after a reset.
    initial_sl_to_vl: SlToVlMappingTable,
}

/// Most fabrics map all pairs of ports alike: then one table is enough.
#[derive(Clone, Debug)]
enum SlToVl {
    Uniform(SlToVlMappingTable),
    /// By input port, then output port; both from 0 on.
    PerPair(Box<[SlToVlMappingTable]>),
}

impl SwitchTables {
    pub(super) fn new(info: SwitchInfo, num_ports: u8) -> Self {
        Self {
            info,
            num_ports,
            linear: LinearTable::default(),
            random: BTreeMap::new(),
            multicast: BTreeMap::new(),
            sl_to_vl: SlToVl::Uniform(identity()),
            initial_sl_to_vl: identity(),
        }
    }

    /// The tables after a reset. `info` is SwitchInfo then.
    pub(super) fn reset(&mut self, info: SwitchInfo) {
        let table = self.initial_sl_to_vl;
        *self = Self::new(info, self.num_ports);
        self.set_initial_sl_to_vl(table);
    }

    pub(super) fn set_initial_sl_to_vl(&mut self, table: SlToVlMappingTable) {
        (self.sl_to_vl, self.initial_sl_to_vl) = (SlToVl::Uniform(table), table);
    }

    /// SwitchInfo.
    #[inline]
    #[must_use]
    pub const fn info(&self) -> &SwitchInfo {
        &self.info
    }

    /// The entries of the linear forwarding table by LID, up to the last block that was written with a port;
    /// [`PortNum::UNREACHABLE`] for those without one.
    pub fn lft(&self) -> impl Iterator<Item = PortNum> + '_ {
        self.linear.ports()
    }

    /// Output port of packets to a unicast LID; `None` drops them.
    #[inline]
    #[must_use]
    pub fn unicast_port(&self, lid: Lid) -> Option<PortNum> {
        if lid > self.info.linear_fdb_top() {
            return None;
        }
        let port = self.linear.port(lid);
        (port != PortNum::UNREACHABLE).then_some(port)
    }

    /// The ports that packets to a multicast LID are copied to, in order; the port of arrival is to be
    /// left out. Without an entry there is none: the default ports of SwitchInfo apply.
    pub fn multicast_ports(&self, mlid: Lid) -> impl Iterator<Item = PortNum> + '_ {
        let place = MulticastForwardingTable::block_of(mlid);
        (0..=15u8)
            .filter_map(move |position| {
                let (block, index) = place?;
                let table = self.multicast.get(&MftModifier { position, block })?;
                Some((position, table.port_mask_block(index)?))
            })
            .flat_map(|(position, mask)| {
                (0..MulticastForwardingTable::PORTS)
                    .filter(move |bit| mask >> bit & 1 != 0)
                    .map(move |bit| PortNum(position << 4 | bit))
            })
    }

    /// The lane of a service level between two ports; VL15 drops.
    #[must_use]
    pub fn vl(&self, input: PortNum, output: PortNum, sl: Sl) -> Vl {
        self.sl_to_vl(input, output).vl(sl)
    }

    /// Takes in what a Set may write; `None` if a value is not legal.
    pub(super) fn set_info(&mut self, wanted: &SwitchInfo) -> Option<()> {
        let top = wanted.linear_fdb_top();
        if top != Lid::NONE && (top.0 >= self.info.linear_fdb_cap() || !top.is_unicast()) {
            return None;
        }
        let top = wanted.multicast_fdb_top();
        let highest =
            u32::from(Lid::UNICAST_MAX.0).saturating_add(u32::from(self.info.multicast_fdb_cap()));
        let top_range = u32::from(Lid::UNICAST_MAX.0)..=highest;
        if top != Lid::NONE && !top_range.contains(&u32::from(top.0)) {
            return None;
        }
        let defaults = [
            wanted.default_port(),
            wanted.default_multicast_primary_port(),
            wanted.default_multicast_not_primary_port(),
        ];
        let known = |port: &PortNum| port.0 <= self.num_ports || *port == PortNum::UNREACHABLE;
        if !defaults.iter().all(known) {
            return None;
        }
        if wanted.port_state_change() {
            self.info.set_port_state_change(false);
        }
        self.info
            .set_linear_fdb_top(wanted.linear_fdb_top())
            .set_default_port(wanted.default_port())
            .set_default_multicast_primary_port(wanted.default_multicast_primary_port())
            .set_default_multicast_not_primary_port(wanted.default_multicast_not_primary_port())
            .set_life_time_value(wanted.life_time_value())
            .set_multicast_fdb_top(wanted.multicast_fdb_top());
        Some(())
    }

    /// A block of the linear table; `None` past its capacity.
    pub(super) fn linear_block(&self, modifier: u32) -> Option<LinearForwardingTable> {
        Some(self.linear.block(self.linear_number(modifier)?))
    }

    /// Writes a block of the linear table; `None` past its capacity.
    pub(super) fn set_linear_block(
        &mut self,
        modifier: u32,
        block: &LinearForwardingTable,
    ) -> Option<()> {
        let number = self.linear_number(modifier)?;
        self.linear.set(number, block, self.info.linear_fdb_top());
        Some(())
    }

    /// Replaces the memory of a block of the linear table by that which `share` returns for it.
    pub(super) fn share_linear_block(
        &mut self,
        modifier: u32,
        share: impl FnOnce(&Arc<LinearForwardingTable>) -> Arc<LinearForwardingTable>,
    ) {
        if let Some(number) = self.linear_number(modifier) {
            self.linear.share(number, share);
        }
    }

    /// The number of a block of the linear table; `None` past its capacity.
    fn linear_number(&self, modifier: u32) -> Option<u16> {
        let first = modifier.checked_mul(LinearForwardingTable::ENTRIES.into())?;
        let legal = modifier < LinearForwardingTable::BLOCKS.into()
            && first < self.info.linear_fdb_cap().into();
        u16::try_from(modifier).ok().filter(|_| legal)
    }

    /// Returns true if the modifier names a block of the random table.
    pub(super) fn random_block(&self, modifier: u32) -> Option<RandomForwardingTable> {
        let block = self.random_index(modifier)?;
        Some(self.random.get(&block).copied().unwrap_or_default())
    }

    pub(super) fn set_random_block(
        &mut self,
        modifier: u32,
        table: &RandomForwardingTable,
    ) -> Option<()> {
        let block = self.random_index(modifier)?;
        self.random.insert(block, *table);
        Some(())
    }

    fn random_index(&self, modifier: u32) -> Option<u16> {
        let first = modifier.checked_mul(RandomForwardingTable::ENTRIES.into())?;
        if first >= self.info.random_fdb_cap().into() {
            return None;
        }
        u16::try_from(modifier).ok()
    }

    /// A block of the multicast table; `None` past its capacity or the switch's ports.
    pub(super) fn multicast_block(&self, modifier: u32) -> Option<MulticastForwardingTable> {
        let key = self.multicast_key(modifier)?;
        Some(self.multicast.get(&key).copied().unwrap_or_default())
    }

    pub(super) fn set_multicast_block(
        &mut self,
        modifier: u32,
        table: &MulticastForwardingTable,
    ) -> Option<()> {
        let key = self.multicast_key(modifier)?;
        if *table == MulticastForwardingTable::default() {
            self.multicast.remove(&key);
        } else {
            self.multicast.insert(key, *table);
        }
        Some(())
    }

    fn multicast_key(&self, modifier: u32) -> Option<MftModifier> {
        let key = MftModifier::from_bits(modifier);
        let first = key.block.checked_mul(MulticastForwardingTable::ENTRIES)?;
        let legal = first < self.info.multicast_fdb_cap()
            && key.position <= self.num_ports / MulticastForwardingTable::PORTS
            && key.bits() == modifier;
        legal.then_some(key)
    }

    /// The table that a modifier names, the first one where it names many; `None` for ports that the
    /// switch does not have.
    pub(super) fn sl_to_vl_block(&self, modifier: SlToVlModifier) -> Option<SlToVlMappingTable> {
        let first = PortNum::MANAGEMENT;
        let (input, output) = match modifier {
            SlToVlModifier::Pair { input, output } => (input, output),
            SlToVlModifier::AllInputs { output } => (first, output),
            SlToVlModifier::AllOutputs { input } => (input, first),
            SlToVlModifier::All => (first, first),
        };
        (input.0 <= self.num_ports && output.0 <= self.num_ports)
            .then(|| *self.sl_to_vl(input, output))
    }

    /// Writes the tables that a modifier names; `None` for ports that the switch does not have, and
    /// for an optimised form that it does not take.
    pub(super) fn set_sl_to_vl(
        &mut self,
        modifier: SlToVlModifier,
        table: &SlToVlMappingTable,
    ) -> Option<()> {
        let optimised = !matches!(modifier, SlToVlModifier::Pair { .. });
        if optimised && self.info.optimized_sl_to_vl_mapping_programming() == 0 {
            return None;
        }
        self.sl_to_vl_block(modifier)?;
        if modifier == SlToVlModifier::All {
            self.sl_to_vl = SlToVl::Uniform(*table);
            return Some(());
        }
        let side = usize::from(self.num_ports).saturating_add(1);
        if let SlToVl::Uniform(old) = self.sl_to_vl {
            if old == *table {
                return Some(());
            }
            let pairs = side.checked_mul(side)?;
            self.sl_to_vl = SlToVl::PerPair(vec![old; pairs].into_boxed_slice());
        }
        let SlToVl::PerPair(tables) = &mut self.sl_to_vl else {
            return Some(());
        };
        for (input, row) in tables.chunks_mut(side).enumerate() {
            for (output, entry) in row.iter_mut().enumerate() {
                let named = match modifier {
                    SlToVlModifier::Pair {
                        input: i,
                        output: o,
                    } => usize::from(i.0) == input && usize::from(o.0) == output,
                    SlToVlModifier::AllInputs { output: o } => usize::from(o.0) == output,
                    SlToVlModifier::AllOutputs { input: i } => usize::from(i.0) == input,
                    SlToVlModifier::All => true,
                };
                if named {
                    *entry = *table;
                }
            }
        }
        Some(())
    }

    fn sl_to_vl(&self, input: PortNum, output: PortNum) -> &SlToVlMappingTable {
        const NONE: &SlToVlMappingTable = &SlToVlMappingTable::from_bytes([0xff; 8]);
        match &self.sl_to_vl {
            SlToVl::Uniform(table) => table,
            SlToVl::PerPair(tables) => {
                let side = usize::from(self.num_ports).saturating_add(1);
                let index = usize::from(input.0)
                    .saturating_mul(side)
                    .saturating_add(output.0.into());
                tables.get(index).unwrap_or(NONE)
            }
        }
    }
}

/// The mapping after a reset: each SL has the VL of its number; SL 15 shares VL 7, as VL15 is not for
/// data.
pub(super) fn identity() -> SlToVlMappingTable {
    SlToVlMappingTable::from_bytes([0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xe7])
}
