//! The nodes of the fabric: what their agents know, and what a test may look at.
//!
//! Tables that most nodes never write (SLtoVL, VL arbitration, P_Keys past the first block, forwarding
//! entries past the last LID) take no memory until then: 48k LIDs fit in a laptop.

use std::collections::BTreeMap;

use ib_mad::AttributeId;
use ib_routing::index::Idx;
use ib_routing::{NodeIdx, PortRef};
use ib_smp::{
    NodeDescription, NodeInfo, PartitionKeyTable, PortInfo, PortPhysicalState, PortState,
    SlToVlMappingTable, SwitchInfo, VlArbitrationTable,
};
use ib_wire::{Guid, Lid, PKey, PortNum, Sl, Vl};

use crate::fault::Behaviour;
use crate::pma::Counters;

/// Place of a port in the flat vector of all ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PortIdx(pub(crate) u32);

impl Idx for PortIdx {
    #[inline(always)]
    fn new(at: usize) -> Self {
        Self(at as u32)
    }

    #[inline(always)]
    fn at(self) -> usize {
        self.0 as usize
    }
}

/// A simulated switch, CA or router.
#[derive(Clone, Debug)]
pub struct SimNode {
    pub(crate) name: String,
    pub(crate) info: NodeInfo,
    pub(crate) description: NodeDescription,
    pub(crate) switch_info: Option<SwitchInfo>,
    pub(crate) first_port: PortIdx,
    pub(crate) num_ports: u8,
    /// Ports by LID, as far as written.
    pub(crate) lft: Vec<PortNum>,
    /// Masks of 16 ports by position and MLID - 0xc000, as far as written.
    pub(crate) mft: Vec<Vec<u16>>,
    /// By (input, output), where it differs from SL = VL.
    pub(crate) sl_to_vl: BTreeMap<(u8, u8), SlToVlMappingTable>,
    pub(crate) behaviour: Behaviour,
    /// Whether the node is there at all.
    pub(crate) powered: bool,
    pub(crate) smps_answered: u64,
}

impl SimNode {
    /// The name in the fabric it was built from.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// NodeInfo, but for the fields that depend on the port of arrival.
    #[must_use]
    pub fn node_info(&self) -> &NodeInfo {
        &self.info
    }

    /// The text that people know the node by.
    #[must_use]
    pub fn description(&self) -> &NodeDescription {
        &self.description
    }

    /// SwitchInfo, on a switch.
    #[must_use]
    pub fn switch_info(&self) -> Option<&SwitchInfo> {
        self.switch_info.as_ref()
    }

    /// Node GUID.
    #[must_use]
    pub fn guid(&self) -> Guid {
        self.info.node_guid()
    }

    /// Whether it forwards packets.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.switch_info.is_some()
    }

    /// Number of ports, port 0 not counted.
    #[must_use]
    pub fn num_ports(&self) -> u8 {
        self.num_ports
    }

    /// How many requests its SMA has answered.
    #[must_use]
    pub fn smps_answered(&self) -> u64 {
        self.smps_answered
    }

    /// Whether it is switched on.
    #[must_use]
    pub fn is_powered(&self) -> bool {
        self.powered
    }

    /// The linear forwarding table by LID, up to the last block that was written.
    #[must_use]
    pub fn lft(&self) -> &[PortNum] {
        &self.lft
    }

    /// Where the switch sends a unicast LID: `None` where it drops it.
    #[must_use]
    pub fn lft_port(&self, lid: Lid) -> Option<PortNum> {
        let info = self.switch_info.as_ref()?;
        if lid > info.linear_fdb_top() {
            return None;
        }
        let port = *self.lft.get(usize::from(lid.0))?;
        (port != PortNum::UNREACHABLE).then_some(port)
    }

    /// The ports that the switch copies a multicast LID to.
    pub fn mft_ports(&self, mlid: Lid) -> impl Iterator<Item = PortNum> + '_ {
        let at = usize::from(mlid.0 & 0x3fff);
        let masks = self.mft.iter().map(move |position| {
            let mask = position.get(at).copied();
            mask.filter(|_| mlid.is_multicast()).unwrap_or(0)
        });
        (0u8..).step_by(16).zip(masks).flat_map(|(first, mask)| {
            (0..16u8)
                .filter(move |bit| mask >> bit & 1 == 1)
                .map(move |bit| PortNum(first.saturating_add(bit)))
        })
    }

    /// The lane that a service level takes from an input port to an output port.
    #[must_use]
    pub fn vl(&self, input: PortNum, output: PortNum, sl: Sl) -> Vl {
        let table = self.sl_to_vl.get(&(input.0, output.0));
        table.map_or_else(|| default_vl(sl), |table| table.vl(sl))
    }

    /// Loses what a subnet manager wrote.
    pub(crate) fn forget(&mut self) {
        self.lft = Vec::new();
        self.mft = Vec::new();
        self.sl_to_vl.clear();
        if let Some(info) = &mut self.switch_info {
            info.set_linear_fdb_top(Lid::NONE)
                .set_multicast_fdb_top(Lid::NONE)
                .set_port_state_change(true);
        }
    }

    pub(crate) fn port_idx(&self, port: PortNum) -> Option<PortIdx> {
        (port.0 <= self.num_ports)
            .then(|| PortIdx(self.first_port.0.saturating_add(u32::from(port.0))))
    }
}

/// The mapping that a port is born with: VL = SL, but for SL 15, as VL 15 carries no data.
fn default_vl(sl: Sl) -> Vl {
    Vl::from_low_bits(if sl.bits() == 15 { 7 } else { sl.bits() })
}

/// One table of [`default_vl`].
pub(crate) fn default_sl_to_vl() -> SlToVlMappingTable {
    let mut table = SlToVlMappingTable::default();
    for sl in 0..16u8 {
        let _ = table.set_sl_to_vl(usize::from(sl), default_vl(Sl::from_low_bits(sl)));
    }
    table
}

/// A port of a simulated node.
#[derive(Clone, Debug)]
pub struct SimPort {
    pub(crate) node: NodeIdx,
    pub(crate) number: PortNum,
    pub(crate) guid: Guid,
    pub(crate) info: PortInfo,
    /// MlnxExtPortInfo.link_speed_active: 1 is FDR10.
    pub(crate) mlnx_speed: u8,
    /// The cable's other end.
    pub(crate) peer: Option<PortIdx>,
    /// The cable that was there before it was pulled out.
    pub(crate) remembered_peer: Option<PortIdx>,
    /// Counts the trainings of the link: one that was broken off must not end later.
    pub(crate) training: u32,
    /// Whether a host listens here.
    pub(crate) hosted: bool,
    /// Share of the requests to the agents that get lost here, of one attribute or of all.
    pub(crate) drop_rate: Option<(f64, Option<AttributeId>)>,
    pub(crate) p_keys: Vec<PartitionKeyTable>,
    pub(crate) vl_arbitration: Option<Box<[VlArbitrationTable; 4]>>,
    pub(crate) counters: Counters,
}

impl SimPort {
    /// PortInfo as the SMA would show it.
    #[must_use]
    pub fn info(&self) -> &PortInfo {
        &self.info
    }

    /// Logical state.
    #[must_use]
    pub fn state(&self) -> PortState {
        self.info.port_state()
    }

    /// Whether the link works: a cable, and both ends trained.
    #[must_use]
    pub fn is_link_up(&self) -> bool {
        self.info.port_physical_state() == PortPhysicalState::LINK_UP
    }

    /// Port GUID.
    #[must_use]
    pub fn guid(&self) -> Guid {
        self.guid
    }

    /// Which port it is.
    #[must_use]
    pub fn at(&self) -> PortRef {
        PortRef {
            node: self.node,
            port: self.number,
        }
    }

    /// What has passed the port, and what went wrong there.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The P_Keys in the table, the unused entries left out.
    pub fn p_keys(&self) -> impl Iterator<Item = PKey> + '_ {
        let entries = self.p_keys.iter().flat_map(|block| {
            (0..usize::from(PartitionKeyTable::ENTRIES)).filter_map(|at| block.p_key_block(at))
        });
        entries.filter(|key| key.base() != 0)
    }

    /// The P_Key at an index of the table.
    #[must_use]
    pub fn p_key(&self, index: u16) -> Option<PKey> {
        let (block, at) = (
            index / PartitionKeyTable::ENTRIES,
            index % PartitionKeyTable::ENTRIES,
        );
        self.p_keys.get(usize::from(block))?.p_key_block(at.into())
    }

    /// Loses what a subnet manager wrote.
    pub(crate) fn forget(&mut self) {
        self.info
            .set_lid(Lid::NONE)
            .set_lmc(ib_wire::Lmc::ZERO)
            .set_master_sm_lid(Lid::NONE)
            .set_m_key(ib_wire::MKey(0))
            .set_client_reregister(false);
        self.p_keys.truncate(1);
        for block in &mut self.p_keys {
            *block = PartitionKeyTable::default();
            let _ = block.set_p_key_block(0, PKey::DEFAULT_FULL);
        }
        self.vl_arbitration = None;
    }

    /// Whether a packet with this LID is for the port: its LIDs by LMC.
    #[inline]
    #[must_use]
    pub fn has_lid(&self, lid: Lid) -> bool {
        let base = self.info.lid();
        base != Lid::NONE && lid.0 >> self.info.lmc().bits() == base.0 >> self.info.lmc().bits()
    }
}
