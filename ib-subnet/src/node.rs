//! Nodes and ports of a subnet, as far as they are known.

use alloc::{collections::BTreeMap, vec, vec::Vec};

use ib_smp::{
    DrPath, MftModifier, MlnxExtPortInfo, NodeDescription, NodeInfo, NodeType, PortInfo, PortState,
    SlToVlMappingTable, SwitchInfo,
};
use ib_wire::{Guid, PKey, PortNum, addr::LidRange};

use crate::{KnownTable, PortId, route::Reach};

/// One node of a subnet.
#[derive(Clone, Debug)]
pub struct Node {
    pub(crate) info: NodeInfo,
    pub(crate) description: NodeDescription,
    pub(crate) switch: Option<Switch>,
    pub(crate) reach: Reach,
    pub(crate) found_via: Option<PortId>,
    pub(crate) trust: Trust,
    pub(crate) all_speeds: AllSpeeds,
    pub(crate) silent: bool,
    /// Number of the walk in which the node was last read.
    pub(crate) read_in: u32,
    pub(crate) ports: Vec<Port>,
}

/// Whether a node's GUID can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trust {
    /// No answer contradicts the GUID.
    #[default]
    Given,
    /// A cable from the node seems to end where another cable already does, so the node's NodeInfo is read once
    /// more.
    Checked,
    /// The second NodeInfo had another GUID, so the node is not trusted.
    Lost,
}

/// Whether a device is asked for speeds beyond HDR, by bit 31 of PortInfo's modifier.
///
/// Older devices refuse the bit, so it is set only for those that announce such speeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AllSpeeds {
    /// The device has announced no such speeds; the bit is not set.
    #[default]
    Unasked,
    /// The device announced such speeds; the bit is set.
    Asked,
    /// The device announced such speeds but refused the bit; the bit is not set.
    Refused,
}

/// SwitchInfo and tables of a switch.
#[derive(Clone, Debug, Default)]
pub struct Switch {
    pub(crate) info: Option<SwitchInfo>,
    pub(crate) lft: KnownTable,
    pub(crate) mft: BTreeMap<MftModifier, [u8; 64]>,
    pub(crate) is_fresh: bool,
    /// Whether routes to nodes further away may begin with a LID-routed part to this switch.
    pub(crate) is_start: bool,
    /// Whether PortStateChange was cleared after the ports were read: a change in between has left no mark.
    pub(crate) ports_unsure: bool,
    pub(crate) sl_to_vl: BTreeMap<(PortNum, PortNum), SlToVlMappingTable>,
}

impl Switch {
    /// Makes the content of all tables unknown.
    pub(crate) fn forget_tables(&mut self) {
        self.lft = KnownTable::default();
        self.mft.clear();
        self.sl_to_vl.clear();
    }
}

/// One port of a node.
#[derive(Clone, Debug, Default)]
pub struct Port {
    pub(crate) info: Option<PortInfo>,
    pub(crate) guid: Guid,
    pub(crate) peer: Option<PortId>,
    pub(crate) reach: Option<Reach>,
    pub(crate) neighbor_silent: bool,
    pub(crate) lids: Option<LidRange>,
    pub(crate) reregistered: bool,
    pub(crate) was_active: bool,
    pub(crate) fdr10: bool,
    pub(crate) vendor_speeds: Option<MlnxExtPortInfo>,
    pub(crate) sl_to_vl: Option<SlToVlMappingTable>,
    pub(crate) vl_arbitration: KnownTable,
    pub(crate) p_key_table: KnownTable,
    /// Number of the walk in which PortInfo was last read.
    pub(crate) read_in: u32,
    /// Number of the walk in which PortInfo was last requested.
    pub(crate) asked_in: u32,
    /// Number of the walk in which the cable was last confirmed.
    pub(crate) linked_in: u32,
}

impl Node {
    pub(crate) fn new(info: NodeInfo, reach: Reach) -> Self {
        let is_switch = info.node_type() == NodeType::SWITCH;
        Self {
            switch: is_switch.then(Switch::default),
            ports: vec![Port::default(); usize::from(info.num_ports()).saturating_add(1)],
            description: NodeDescription::default(),
            info,
            reach,
            found_via: None,
            trust: Trust::Given,
            all_speeds: AllSpeeds::Unasked,
            silent: false,
            read_in: 0,
        }
    }

    /// NodeInfo as the first port that answered reported it.
    #[must_use]
    pub const fn info(&self) -> &NodeInfo {
        &self.info
    }

    /// NodeDescription; zeros until it is known.
    #[must_use]
    pub const fn description(&self) -> &NodeDescription {
        &self.description
    }

    /// SwitchInfo and tables of a switch; `None` for a CA or router.
    #[must_use]
    pub const fn switch(&self) -> Option<&Switch> {
        self.switch.as_ref()
    }

    /// The directed route to the node; its directed part if it [begins with a LID-routed part](crate::SmpRoute::start).
    #[must_use]
    pub const fn path(&self) -> &DrPath {
        &self.reach.path
    }

    /// The port from which the cable leads to the node on [`path`](Self::path); `None` for the own node.
    #[must_use]
    pub const fn found_via(&self) -> Option<PortId> {
        self.found_via
    }

    /// Whether the node left a request unanswered since the last walk began.
    #[must_use]
    pub const fn is_silent(&self) -> bool {
        self.silent
    }

    /// Whether PortInfo of this device is read with bit 31 of the modifier, which makes it show speeds beyond
    /// HDR.
    #[must_use]
    pub fn shows_all_speeds(&self) -> bool {
        self.all_speeds == AllSpeeds::Asked
    }

    /// A port by its number. A CA or router has no port 0.
    #[must_use]
    pub fn port(&self, port: PortNum) -> Option<&Port> {
        self.ports.get(usize::from(port.0))
    }

    /// All ports from 0, in order; port 0 of a CA is unused.
    pub fn ports(&self) -> impl Iterator<Item = (PortNum, &Port)> {
        (0..=u8::MAX).map(PortNum).zip(&self.ports)
    }

    /// Whether the node is a switch.
    #[must_use]
    pub const fn is_switch(&self) -> bool {
        self.switch.is_some()
    }
}

impl Switch {
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

    /// Whether the switch had just been started when it was first seen: blocks that have not been written since
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

impl Port {
    /// PortInfo; `None` until it is known. ClientReregister is cleared in it, because devices return the bit as
    /// it was written.
    #[must_use]
    pub const fn info(&self) -> Option<&PortInfo> {
        self.info.as_ref()
    }

    /// The port's GUID; zero for the external ports of a switch.
    #[must_use]
    pub const fn guid(&self) -> Guid {
        self.guid
    }

    /// The port at the other end of the cable, if it is known.
    #[must_use]
    pub const fn peer(&self) -> Option<PortId> {
        self.peer
    }

    /// Whether the link is up although the node at its other end does not answer.
    #[must_use]
    pub const fn is_neighbor_silent(&self) -> bool {
        self.neighbor_silent
    }

    /// The LIDs that were assigned to an end port.
    #[must_use]
    pub const fn lids(&self) -> Option<LidRange> {
        self.lids
    }

    /// Whether the host on the port has been asked to subscribe and join again since the port came up.
    #[must_use]
    pub const fn is_reregistered(&self) -> bool {
        self.reregistered
    }

    /// Whether the port was Active when it was first seen: a manager has configured it before, so its tables are
    /// worth reading.
    #[must_use]
    pub const fn was_active(&self) -> bool {
        self.was_active
    }

    /// Whether the link runs at FDR10 by the vendor's attribute; PortInfo shows FDR10 as QDR.
    #[must_use]
    pub const fn is_fdr10(&self) -> bool {
        self.fdr10
    }

    /// The vendor's attribute with FDR10; `None` if it was not read.
    #[must_use]
    pub const fn vendor_speeds(&self) -> Option<&MlnxExtPortInfo> {
        self.vendor_speeds.as_ref()
    }

    /// The SLtoVL table of a CA or router port; `None` if it is unknown.
    #[must_use]
    pub const fn sl_to_vl(&self) -> Option<&SlToVlMappingTable> {
        self.sl_to_vl.as_ref()
    }

    /// The known blocks of the VL arbitration table: 0 and 1 are the low-priority halves, 2 and 3 the
    /// high-priority halves.
    #[must_use]
    pub const fn vl_arbitration(&self) -> &KnownTable {
        &self.vl_arbitration
    }

    /// The known blocks of the P_Key table.
    #[must_use]
    pub const fn p_key_table(&self) -> &KnownTable {
        &self.p_key_table
    }

    /// Records PortInfo. A port that is not Active may have been restarted, so its tables become unknown.
    pub(crate) fn set_info(&mut self, mut info: PortInfo) {
        info.set_client_reregister(false);
        self.info = Some(info);
    }

    /// Makes all values unknown that a restart of the port changes.
    pub(crate) fn forget_tables(&mut self) {
        self.reregistered = false;
        self.was_active = false;
        self.sl_to_vl = None;
        self.vl_arbitration = KnownTable::default();
        self.p_key_table = KnownTable::default();
    }

    /// The keys of the partitions of the port. A table that was never read counts as holding the default key, as
    /// after a reset.
    pub fn p_keys(&self) -> impl Iterator<Item = PKey> + '_ {
        let blocks = self.p_key_table.blocks();
        let known = blocks.flat_map(|(_, bytes)| bytes.as_chunks().0);
        let known = known.map(|&key| PKey(u16::from_be_bytes(key)));
        let default = self.p_key_table.is_empty().then_some(PKey::DEFAULT_FULL);
        known.filter(|key| key.base() != 0).chain(default)
    }

    /// Whether the port is a full or limited member of the partition of a key.
    #[must_use]
    pub fn has_p_key(&self, p_key: PKey) -> bool {
        self.p_keys().any(|own| own.base() == p_key.base())
    }

    /// The key by which packets pass between two ports: that of the partition of `wanted` if one is given,
    /// otherwise the first that both ports have. The membership bit is that of this port.
    #[must_use]
    pub fn shared_p_key(&self, other: &Self, wanted: Option<PKey>) -> Option<PKey> {
        self.p_keys().find(|own| {
            wanted.is_none_or(|wanted| wanted.base() == own.base())
                && other.p_keys().any(|key| key.matches(*own))
        })
    }

    /// Logical state as it was last seen; Down if PortInfo is unknown.
    #[must_use]
    pub fn state(&self) -> PortState {
        self.info.map_or(PortState::DOWN, |info| info.port_state())
    }

    /// Whether the link is up: Initialize, Armed or Active.
    #[must_use]
    pub fn is_up(&self) -> bool {
        matches!(
            self.state(),
            PortState::INITIALIZE | PortState::ARMED | PortState::ACTIVE
        )
    }
}
