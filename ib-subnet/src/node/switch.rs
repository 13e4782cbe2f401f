//! SwitchInfo and tables of a switch, as far as they are known.

use alloc::collections::BTreeMap;

use ib_smp::{MftModifier, SlToVlMappingTable, SwitchInfo};
use ib_wire::{Lid, PortNum};

use crate::KnownTable;

/// SwitchInfo and tables of a switch.
#[derive(Clone, Debug, Default)]
pub struct SubnetSwitch {
    info: Option<SwitchInfo>,
    lft: KnownTable,
    mft: BTreeMap<MftModifier, [u8; 64]>,
    is_fresh: bool,
    /// True if routes to nodes further away may begin with a LID-routed part to this switch.
    is_start: bool,
    /// True if PortStateChange was cleared after the ports were read: a change in between has left no mark.
    ports_unsure: bool,
    sl_to_vl: BTreeMap<(PortNum, PortNum), SlToVlMappingTable>,
}

impl SubnetSwitch {
    /// SwitchInfo; `None` until it is known.
    #[must_use]
    pub const fn info(&self) -> Option<&SwitchInfo> {
        self.info.as_ref()
    }

    /// The known blocks of the switch's linear forwarding table.
    #[must_use]
    pub const fn lft(&self) -> &KnownTable {
        &self.lft
    }

    /// The known blocks of the switch's multicast forwarding table, by block and position.
    #[must_use]
    pub const fn mft(&self) -> &BTreeMap<MftModifier, [u8; 64]> {
        &self.mft
    }

    /// Returns true if the switch had just been started when it was first seen: blocks that have not been written since
    /// are empty then.
    #[must_use]
    pub const fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// The known SLtoVL tables by input and output port.
    #[must_use]
    pub const fn sl_to_vl(&self) -> &BTreeMap<(PortNum, PortNum), SlToVlMappingTable> {
        &self.sl_to_vl
    }
}

/// Changes by [`Subnet`](crate::Subnet) and [`Walk`](crate::Walk).
impl SubnetSwitch {
    /// Records SwitchInfo as the switch has it.
    pub(crate) const fn set_info(&mut self, info: SwitchInfo) {
        self.info = Some(info);
    }

    /// Records SwitchInfo that a walk read. A switch that was restarted has lost its top, and with it the content of
    /// its tables.
    pub(crate) fn observe(&mut self, info: SwitchInfo) {
        let top = info.linear_fdb_top();
        let known_top = self.info.map(|known| known.linear_fdb_top());
        if known_top != Some(top) {
            self.forget_tables();
            self.is_fresh = top == Lid::NONE;
        }
        self.info = Some(info);
    }

    /// Records that the switch was restarted: its tables are unknown, and no route may begin there.
    pub(crate) fn note_restart(&mut self) {
        self.forget_tables();
        self.is_start = false;
    }

    /// Makes the content of all tables unknown.
    fn forget_tables(&mut self) {
        self.lft = KnownTable::default();
        self.mft.clear();
        self.sl_to_vl.clear();
    }

    pub(crate) const fn lft_mut(&mut self) -> &mut KnownTable {
        &mut self.lft
    }

    pub(crate) fn set_mft_block(&mut self, at: MftModifier, block: [u8; 64]) {
        self.mft.insert(at, block);
    }

    /// Makes a block of the multicast table unknown. What has not been written need not be empty from then on.
    pub(crate) fn forget_mft_block(&mut self, at: MftModifier) {
        self.mft.remove(&at);
        self.is_fresh = false;
    }

    pub(crate) fn set_sl_to_vl(
        &mut self,
        input: PortNum,
        output: PortNum,
        table: SlToVlMappingTable,
    ) {
        self.sl_to_vl.insert((input, output), table);
    }

    /// Makes the SLtoVL tables of an output port unknown, or those of all ports.
    pub(crate) fn forget_sl_to_vl(&mut self, output: Option<PortNum>) {
        self.sl_to_vl
            .retain(|&(_, other), _| output.is_some_and(|output| output != other));
    }

    /// Returns true if routes may begin with a LID-routed part to this switch.
    pub(crate) const fn is_start(&self) -> bool {
        self.is_start
    }

    pub(crate) const fn permit_start(&mut self) {
        self.is_start = true;
    }

    /// Returns true if a port may have changed without a mark: PortStateChange was cleared after the ports were read.
    pub(crate) const fn are_ports_unsure(&self) -> bool {
        self.ports_unsure
    }

    pub(crate) const fn set_ports_unsure(&mut self, unsure: bool) {
        self.ports_unsure = unsure;
    }
}
