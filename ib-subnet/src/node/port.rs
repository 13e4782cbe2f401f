//! One port of a node, as far as it is known.

use alloc::boxed::Box;

use ib_smp::{MlnxExtPortInfo, PortInfo, PortState, SlToVlMappingTable, VendorLinkSpeeds};
use ib_wire::{Guid, Mtu, PKey, PortNum, Rate, addr::LidRange};

use crate::{
    KnownTable, PortId,
    route::{Reach, StoredReach},
};

/// One port of a node.
#[derive(Clone, Debug, Default)]
pub struct SubnetPort {
    info: Option<PortInfo>,
    /// The MTU and the rate that `info` says, because each path through the port needs them.
    mtu: Mtu,
    rate: Option<Rate>,
    peer: Option<PortId>,
    neighbor_silent: bool,
    was_active: bool,
    fdr10: bool,
    reregistered: bool,
    /// Number of the walk in which PortInfo was last read.
    read_in: u32,
    /// Number of the walk in which PortInfo was last requested.
    asked_in: u32,
    /// Number of the walk in which the cable was last confirmed.
    linked_in: u32,
    /// None until any of it is known. Of most external ports of switches none ever is, and most ports are these.
    more: Option<Box<More>>,
}

/// Facts of end ports, and of external ports of switches where the configuration needs them.
#[derive(Clone, Debug, Default)]
struct More {
    guid: Guid,
    /// The route to the port of a CA or router.
    reach: Option<StoredReach>,
    lids: Option<LidRange>,
    vendor_speeds: Option<Box<MlnxExtPortInfo>>,
    sl_to_vl: Option<SlToVlMappingTable>,
    vl_arbitration: KnownTable,
    p_key_table: KnownTable,
}

/// A table of which no block is known.
static UNKNOWN: KnownTable = KnownTable::new();

impl SubnetPort {
    /// PortInfo; `None` until it is known. ClientReregister is cleared in it, because devices return the bit as
    /// it was written.
    #[must_use]
    pub const fn info(&self) -> Option<&PortInfo> {
        self.info.as_ref()
    }

    /// The MTU of packets through the port: the smaller of MTUCap and NeighborMTU; the code 0 if either is not set.
    #[must_use]
    pub const fn mtu(&self) -> Mtu {
        self.mtu
    }

    /// The rate of the link by PortInfo's active width and speed; `None` without PortInfo, or where a code has no meaning.
    #[must_use]
    pub const fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// The port's GUID; zero for the external ports of a switch.
    #[must_use]
    pub fn guid(&self) -> Guid {
        self.more.as_ref().map_or(Guid::NONE, |more| more.guid)
    }

    /// The port at the other end of the cable, if it is known.
    #[must_use]
    pub const fn peer(&self) -> Option<PortId> {
        self.peer
    }

    /// Returns true if the link is up although the node at its other end does not answer.
    #[must_use]
    pub const fn is_neighbor_silent(&self) -> bool {
        self.neighbor_silent
    }

    /// The LIDs that were assigned to an end port.
    #[must_use]
    pub fn lids(&self) -> Option<LidRange> {
        self.more.as_ref()?.lids
    }

    /// Returns true if the host on the port has been asked to subscribe and join again since the port came up.
    #[must_use]
    pub const fn is_reregistered(&self) -> bool {
        self.reregistered
    }

    /// Returns true if the port was Active when it was first seen: a manager has configured it before, so its tables
    /// are worth reading.
    #[must_use]
    pub const fn was_active(&self) -> bool {
        self.was_active
    }

    /// Returns true if the link runs at FDR10 by the vendor's attribute; PortInfo shows FDR10 as QDR.
    #[must_use]
    pub const fn is_fdr10(&self) -> bool {
        self.fdr10
    }

    /// The vendor's attribute with FDR10; `None` if it was not read.
    #[must_use]
    pub fn vendor_speeds(&self) -> Option<&MlnxExtPortInfo> {
        self.more.as_ref()?.vendor_speeds.as_deref()
    }

    /// The SLtoVL table of a CA or router port; `None` if it is unknown.
    #[must_use]
    pub fn sl_to_vl(&self) -> Option<&SlToVlMappingTable> {
        self.more.as_ref()?.sl_to_vl.as_ref()
    }

    /// The known blocks of the VL arbitration table: 0 and 1 are the low-priority halves, 2 and 3 the
    /// high-priority halves.
    #[must_use]
    pub fn vl_arbitration(&self) -> &KnownTable {
        let more = self.more.as_ref();
        more.map_or(&UNKNOWN, |more| &more.vl_arbitration)
    }

    /// The known blocks of the P_Key table.
    #[must_use]
    pub fn p_key_table(&self) -> &KnownTable {
        let more = self.more.as_ref();
        more.map_or(&UNKNOWN, |more| &more.p_key_table)
    }

    /// The keys of the partitions of the port. A table that was never read counts as holding the default key, as
    /// after a reset.
    pub fn p_keys(&self) -> impl Iterator<Item = PKey> + '_ {
        let blocks = self.p_key_table().blocks();
        let known = blocks.flat_map(|(_, bytes)| bytes.as_chunks().0);
        let known = known.map(|&key| PKey(u16::from_be_bytes(key)));
        let default = self.p_key_table().is_empty().then_some(PKey::DEFAULT_FULL);
        known.filter(|key| key.base() != 0).chain(default)
    }

    /// Returns true if the port is a full or limited member of the partition of a key.
    #[must_use]
    pub fn has_p_key(&self, p_key: PKey) -> bool {
        self.p_keys().any(|own| own.base() == p_key.base())
    }

    /// The key by which packets pass between two ports: that of the partition of `wanted` if one is given,
    /// otherwise the first that both ports have. The membership bit is that of this port.
    #[must_use]
    pub fn shared_p_key(&self, other: &Self, wanted: Option<PKey>) -> Option<PKey> {
        // Mostly the first keys of both tables match, and the first key of this port is the answer then.
        if let (None, Some(own), Some(theirs)) = (wanted, self.first_p_key(), other.first_p_key())
            && theirs.matches(own)
        {
            return Some(own);
        }
        self.p_keys().find(|own| {
            wanted.is_none_or(|wanted| wanted.base() == own.base())
                && other.p_keys().any(|key| key.matches(*own))
        })
    }

    /// The key at index 0 of the table; `None` if there is none, or if the table was never read.
    fn first_p_key(&self) -> Option<PKey> {
        let key = self.p_key_table().block(0)?.first_chunk()?;
        let key = PKey(u16::from_be_bytes(*key));
        (key.base() != 0).then_some(key)
    }

    /// Logical state as it was last seen; Down if PortInfo is unknown.
    #[must_use]
    pub fn state(&self) -> PortState {
        self.info.map_or(PortState::DOWN, |info| info.port_state())
    }

    /// Returns true if the link is up: Initialize, Armed or Active.
    #[must_use]
    pub fn is_up(&self) -> bool {
        matches!(
            self.state(),
            PortState::INITIALIZE | PortState::ARMED | PortState::ACTIVE
        )
    }
}

/// Changes by [`Subnet`](crate::Subnet) and [`Walk`](crate::Walk).
impl SubnetPort {
    /// Records PortInfo as the device has it.
    pub(crate) fn set_info(&mut self, mut info: PortInfo) {
        info.set_client_reregister(false);
        self.mtu = info.mtu_cap().min(info.neighbor_mtu());
        self.rate = info.rate();
        self.info = Some(info);
    }

    /// Records PortInfo that a walk read. A port that is not Active may have been restarted, so its tables become
    /// unknown.
    pub(crate) fn observe(&mut self, info: PortInfo) {
        let is_active = info.port_state() == PortState::ACTIVE;
        if !is_active {
            self.forget_tables();
        }
        self.was_active |= self.info.is_none() && is_active;
        self.fdr10 &= is_active;
        self.set_info(info);
    }

    /// Makes all values unknown that a restart of the port changes.
    pub(crate) fn forget_tables(&mut self) {
        self.reregistered = false;
        self.was_active = false;
        if let Some(more) = &mut self.more {
            more.sl_to_vl = None;
            (more.vl_arbitration, more.p_key_table) = (KnownTable::new(), KnownTable::new());
        }
    }

    /// Records the port's GUID, and returns the one before.
    pub(crate) fn set_guid(&mut self, guid: Guid) -> Guid {
        core::mem::replace(&mut self.more_mut().guid, guid)
    }

    pub(crate) fn set_lids(&mut self, lids: Option<LidRange>) {
        if self.lids() != lids {
            self.more_mut().lids = lids;
        }
    }

    pub(crate) const fn set_reregistered(&mut self, reregistered: bool) {
        self.reregistered = reregistered;
    }

    /// Records the vendor's attribute with FDR10.
    pub(crate) fn set_vendor_speeds(&mut self, info: MlnxExtPortInfo) {
        self.fdr10 = info.link_speed_active().contains(VendorLinkSpeeds::FDR10);
        self.more_mut().vendor_speeds = Some(Box::new(info));
    }

    pub(crate) fn set_sl_to_vl(&mut self, table: Option<SlToVlMappingTable>) {
        self.more_mut().sl_to_vl = table;
    }

    pub(crate) fn vl_arbitration_mut(&mut self) -> &mut KnownTable {
        &mut self.more_mut().vl_arbitration
    }

    pub(crate) fn p_key_table_mut(&mut self) -> &mut KnownTable {
        &mut self.more_mut().p_key_table
    }

    fn more_mut(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    /// The stored route to the port of a CA or router.
    pub(crate) fn reach(&self) -> Option<Reach> {
        self.more.as_ref()?.reach.as_ref().map(StoredReach::reach)
    }

    /// Returns true if this is the stored route to the port.
    pub(crate) fn has_reach(&self, reach: &StoredReach) -> bool {
        let stored = self.more.as_ref().and_then(|more| more.reach.as_ref());
        stored == Some(reach)
    }

    /// Returns true if the stored route to the port is the one that leads to `here` and on by `port`.
    pub(crate) fn is_behind(&self, here: &StoredReach, port: PortNum) -> bool {
        let stored = self.more.as_ref().and_then(|more| more.reach.as_ref());
        stored.is_some_and(|stored| stored.is_behind(here, port))
    }

    pub(crate) fn set_reach(&mut self, reach: Reach) {
        self.more_mut().reach = Some(StoredReach::from(&reach));
    }

    /// Records the other end of the cable, as a walk found it.
    pub(crate) const fn connect(&mut self, peer: PortId, walk: u32) {
        self.peer = Some(peer);
        self.linked_in = walk;
        self.neighbor_silent = false;
    }

    /// Removes the cable from this end, and returns the other.
    pub(crate) const fn disconnect(&mut self) -> Option<PortId> {
        self.peer.take()
    }

    /// Records that a walk found the cable unchanged.
    pub(crate) const fn confirm_cable(&mut self, walk: u32) {
        self.linked_in = walk;
    }

    /// Returns true if the walk found the cable, or found it unchanged.
    pub(crate) const fn is_cable_confirmed_in(&self, walk: u32) -> bool {
        self.linked_in == walk
    }

    /// Records whether the node at the other end of a link that is up leaves requests unanswered.
    pub(crate) const fn set_neighbor_silent(&mut self, silent: bool) {
        self.neighbor_silent = silent;
    }

    /// Records that the walk has requested PortInfo. Returns whether it is the first time in this walk.
    pub(crate) const fn note_asked(&mut self, walk: u32) -> bool {
        core::mem::replace(&mut self.asked_in, walk) != walk
    }

    /// Returns true if the walk has requested PortInfo.
    pub(crate) const fn is_asked_in(&self, walk: u32) -> bool {
        self.asked_in == walk
    }

    /// Records that the walk has read PortInfo. Returns whether it is the first time in this walk.
    pub(crate) const fn note_read(&mut self, walk: u32) -> bool {
        core::mem::replace(&mut self.read_in, walk) != walk
    }

    /// Returns true if the walk has read PortInfo.
    pub(crate) const fn is_read_in(&self, walk: u32) -> bool {
        self.read_in == walk
    }
}
