//! The agent's state of one port.

use alloc::{boxed::Box, vec::Vec};

use ib_mad::Instant;
use ib_wire::{Guid, LinkSpeed, LinkWidth, PKey, PortNum, Sl, Vl};

use super::switch::identity;
use crate::attr::fastest;
use crate::{
    GuidInfo, HierarchyInfo, LedInfo, LinkSpeedsExt, MlnxExtPortInfo, PartitionKeyTable, PortInfo,
    PortInfoExtended, SlToVlMappingTable, VlArbitrationEntry, VlArbitrationHalf,
    VlArbitrationTable,
};

/// A port as its agent knows it: PortInfo, the port GUID, and tables that take no memory until they
/// are written.
#[derive(Clone, Debug)]
pub struct SmaPort {
    pub(super) info: PortInfo,
    pub(super) guid: Guid,
    tables: Option<Box<PortTables>>,
}

#[derive(Clone, Debug)]
struct PortTables {
    /// End of the M_Key's lease, while a violation lets it run.
    lease_ends: Option<Instant>,
    p_keys: Vec<PKey>,
    guids: Vec<Guid>,
    sl_to_vl: SlToVlMappingTable,
    vl_arbitration: [VlArbitrationTable; 4],
    led: LedInfo,
    extended: PortInfoExtended,
    mlnx: MlnxExtPortInfo,
    hierarchy: HierarchyInfo,
}

impl SmaPort {
    /// A port with this PortInfo and this GUID, which is [`Guid::NONE`] for external ports of a switch.
    #[must_use]
    pub fn new(info: PortInfo, guid: Guid) -> Self {
        Self {
            info,
            guid,
            tables: None,
        }
    }

    /// Gives the port a PortInfoExtended.
    #[must_use]
    pub fn with_extended(mut self, extended: PortInfoExtended) -> Self {
        self.tables_mut().extended = extended;
        self
    }

    /// Gives the port a MlnxExtPortInfo.
    #[must_use]
    pub fn with_mlnx_ext_port_info(mut self, mlnx: MlnxExtPortInfo) -> Self {
        self.tables_mut().mlnx = mlnx;
        self
    }

    /// PortInfo as the agent keeps it: `local_port_num` is the port's own number.
    #[inline]
    #[must_use]
    pub const fn info(&self) -> &PortInfo {
        &self.info
    }

    /// Port GUID; none for the external ports of a switch.
    #[inline]
    #[must_use]
    pub const fn guid(&self) -> Guid {
        self.guid
    }

    /// The P_Key at an index of the port's table; 0 is an empty entry.
    #[inline]
    #[must_use]
    pub fn p_key(&self, index: u16) -> PKey {
        let written = self.tables.as_ref().map(|tables| &tables.p_keys);
        match written.and_then(|keys| keys.get(usize::from(index))) {
            Some(&key) => key,
            None => self.initial_p_key(index),
        }
    }

    /// The P_Keys of the table, empty entries left out.
    pub fn p_keys(&self) -> impl Iterator<Item = PKey> + '_ {
        let written = self.tables.as_ref().map_or(0, |tables| tables.p_keys.len());
        // Entry 0 is there even before anything was written.
        let len = u16::try_from(written.max(1)).unwrap_or(u16::MAX);
        (0..len)
            .map(|index| self.p_key(index))
            .filter(|key| key.base() != 0)
    }

    /// The lane of a service level on the port of a CA or a router.
    #[must_use]
    pub fn vl(&self, sl: Sl) -> Vl {
        self.sl_to_vl().vl(sl)
    }

    /// Half of an arbitration table.
    #[must_use]
    pub fn vl_arbitration(&self, half: VlArbitrationHalf) -> VlArbitrationTable {
        let [low, low2, high, high2] = match &self.tables {
            Some(tables) => tables.vl_arbitration,
            None => initial_vl_arbitration(),
        };
        match half {
            VlArbitrationHalf::LowFirst => low,
            VlArbitrationHalf::LowSecond => low2,
            VlArbitrationHalf::HighFirst => high,
            VlArbitrationHalf::HighSecond => high2,
        }
    }

    pub(super) fn set_vl_arbitration(&mut self, half: VlArbitrationHalf, to: &VlArbitrationTable) {
        let [low, low2, high, high2] = &mut self.tables_mut().vl_arbitration;
        *match half {
            VlArbitrationHalf::LowFirst => low,
            VlArbitrationHalf::LowSecond => low2,
            VlArbitrationHalf::HighFirst => high,
            VlArbitrationHalf::HighSecond => high2,
        } = *to;
    }

    /// Returns true if the table has entries in this half.
    pub(super) fn has_half(&self, half: VlArbitrationHalf) -> bool {
        let low = self.info.vl_arbitration_low_cap();
        let high = self.info.vl_arbitration_high_cap();
        match half {
            VlArbitrationHalf::LowFirst => low > 0,
            VlArbitrationHalf::LowSecond => low > 32,
            VlArbitrationHalf::HighFirst => high > 0,
            VlArbitrationHalf::HighSecond => high > 32,
        }
    }

    pub(super) fn sl_to_vl(&self) -> SlToVlMappingTable {
        self.tables
            .as_ref()
            .map_or_else(identity, |tables| tables.sl_to_vl)
    }

    pub(super) fn set_sl_to_vl(&mut self, table: &SlToVlMappingTable) {
        if self.sl_to_vl() != *table {
            self.tables_mut().sl_to_vl = *table;
        }
    }

    /// A block of a table of `cap` P_Keys; `None` past its end.
    pub(super) fn p_key_block(&self, block: u16, cap: u16) -> Option<PartitionKeyTable> {
        let first = block.checked_mul(PartitionKeyTable::ENTRIES)?;
        if first >= cap {
            return None;
        }
        let mut table = PartitionKeyTable::default();
        for (at, index) in (first..cap).take(32).enumerate() {
            table.set_p_key_block(at, self.p_key(index));
        }
        Some(table)
    }

    pub(super) fn set_p_key_block(
        &mut self,
        block: u16,
        cap: u16,
        table: &PartitionKeyTable,
    ) -> Option<()> {
        let first = block.checked_mul(PartitionKeyTable::ENTRIES)?;
        if first >= cap {
            return None;
        }
        if self.p_key_block(block, cap) == Some(*table) {
            return Some(());
        }
        let end = cap.min(first.saturating_add(PartitionKeyTable::ENTRIES));
        let initial = self.initial_p_key(0);
        let keys = &mut self.tables_mut().p_keys;
        if keys.is_empty() {
            keys.push(initial);
        }
        if keys.len() < usize::from(end) {
            keys.resize(end.into(), PKey(0));
        }
        for (at, key) in keys.iter_mut().skip(first.into()).take(32).enumerate() {
            *key = table.p_key_block(at).unwrap_or_default();
        }
        Some(())
    }

    /// A block of the port's GUIDs; `None` past GUIDCap.
    pub(super) fn guid_block(&self, modifier: u32) -> Option<GuidInfo> {
        let first = self.first_guid(modifier)?;
        let mut table = GuidInfo::default();
        for (at, index) in (first..self.info.guid_cap()).take(8).enumerate() {
            let written = self.tables.as_ref().map(|tables| &tables.guids);
            let alias = written.and_then(|guids| guids.get(usize::from(index)).copied());
            let guid = if index == 0 {
                self.guid
            } else {
                alias.unwrap_or_default()
            };
            table.set_guid_block(at, guid);
        }
        Some(table)
    }

    /// Writes a block of GUIDs; the first of all is the port's own and stays.
    pub(super) fn set_guid_block(&mut self, modifier: u32, table: &GuidInfo) -> Option<()> {
        let first = self.first_guid(modifier)?;
        let cap = self.info.guid_cap();
        let guids = &mut self.tables_mut().guids;
        guids.resize(
            guids.len().max(cap.min(first.saturating_add(8)).into()),
            Guid::NONE,
        );
        for (at, guid) in guids.iter_mut().skip(first.into()).take(8).enumerate() {
            *guid = table.guid_block(at).unwrap_or_default();
        }
        Some(())
    }

    fn first_guid(&self, modifier: u32) -> Option<u8> {
        let block = u8::try_from(modifier).ok()?;
        let first = block.checked_mul(GuidInfo::ENTRIES)?;
        (first < self.info.guid_cap()).then_some(first)
    }

    pub(super) fn led(&self) -> LedInfo {
        self.tables
            .as_ref()
            .map_or_else(LedInfo::default, |tables| tables.led)
    }

    pub(super) fn set_led(&mut self, led: &LedInfo) {
        self.tables_mut().led.set_led_mask(led.led_mask());
    }

    pub(super) fn extended(&self) -> PortInfoExtended {
        self.tables
            .as_ref()
            .map_or_else(PortInfoExtended::default, |tables| tables.extended)
    }

    /// Writes the FEC modes that the port may use; `None` if it cannot do one of them.
    pub(super) fn set_extended(&mut self, wanted: &PortInfoExtended) -> Option<()> {
        let now = self.extended();
        let pairs = [
            (wanted.fdr_fec_mode_enabled(), now.fdr_fec_mode_supported()),
            (wanted.edr_fec_mode_enabled(), now.edr_fec_mode_supported()),
            (wanted.hdr_fec_mode_enabled(), now.hdr_fec_mode_supported()),
            (wanted.ndr_fec_mode_enabled(), now.ndr_fec_mode_supported()),
        ];
        if pairs
            .iter()
            .any(|(enabled, supported)| enabled & !supported != 0)
        {
            return None;
        }
        self.tables_mut()
            .extended
            .set_fdr_fec_mode_enabled(wanted.fdr_fec_mode_enabled())
            .set_edr_fec_mode_enabled(wanted.edr_fec_mode_enabled())
            .set_hdr_fec_mode_enabled(wanted.hdr_fec_mode_enabled())
            .set_ndr_fec_mode_enabled(wanted.ndr_fec_mode_enabled());
        Some(())
    }

    /// The vendor's speeds of the port; all zero where it has none.
    #[must_use]
    pub fn mlnx(&self) -> MlnxExtPortInfo {
        self.tables
            .as_ref()
            .map_or_else(MlnxExtPortInfo::default, |tables| tables.mlnx)
    }

    /// Writes the vendor's speeds that the port may use; `None` if it cannot do one of them.
    pub(super) fn set_mlnx(&mut self, wanted: &MlnxExtPortInfo) -> Option<()> {
        let speeds = wanted.link_speed_enabled();
        if !self.mlnx().link_speed_supported().contains(speeds) {
            return None;
        }
        self.tables_mut()
            .mlnx
            .set_state_change_enable(wanted.state_change_enable())
            .set_link_speed_enabled(speeds);
        Some(())
    }

    pub(super) fn hierarchy(&self) -> HierarchyInfo {
        self.tables
            .as_ref()
            .map_or_else(HierarchyInfo::default, |tables| tables.hierarchy)
    }

    pub(super) fn set_hierarchy(&mut self, wanted: &HierarchyInfo) {
        self.tables_mut().hierarchy = *wanted;
    }

    /// After a reset an end port is in the default partition; external ports of a switch are in none.
    fn initial_p_key(&self, index: u16) -> PKey {
        if index == 0 && self.guid != Guid::NONE {
            PKey::DEFAULT_FULL
        } else {
            PKey(0)
        }
    }

    /// End of the M_Key's lease, while a violation lets it run.
    #[inline]
    pub(super) fn lease_ends(&self) -> Option<Instant> {
        self.tables.as_ref()?.lease_ends
    }

    pub(super) fn set_lease_ends(&mut self, end: Option<Instant>) {
        if self.lease_ends() != end {
            self.tables_mut().lease_ends = end;
        }
    }

    fn tables_mut(&mut self) -> &mut PortTables {
        self.tables.get_or_insert_with(|| {
            Box::new(PortTables {
                lease_ends: None,
                p_keys: Vec::new(),
                guids: Vec::new(),
                sl_to_vl: identity(),
                vl_arbitration: initial_vl_arbitration(),
                led: LedInfo::default(),
                extended: PortInfoExtended::default(),
                mlnx: MlnxExtPortInfo::default(),
                hierarchy: HierarchyInfo::default(),
            })
        })
    }
}

/// The arbitration of a port before a manager writes any: VL 0 first, then the others by turns.
/// Vendors choose it; OpenSM writes the same as its default.
fn initial_vl_arbitration() -> [VlArbitrationTable; 4] {
    let mut halves = [VlArbitrationTable::default(); 4];
    let [low, _, high, _] = &mut halves;
    for vl in 0..15u8 {
        let at = usize::from(vl);
        let (low_weight, high_weight) = if vl == 0 { (0, 4) } else { (4, 0) };
        let lane = Vl::from_low_bits(vl);
        low.set_vl_weight_block(at, &VlArbitrationEntry::new(lane, low_weight));
        high.set_vl_weight_block(at, &VlArbitrationEntry::new(lane, high_weight));
    }
    halves
}

/// Width and speed that two ends of a link agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkMode {
    /// Lanes in use.
    pub width: LinkWidth,
    /// Speed of a lane.
    pub speed: LinkSpeed,
}

impl LinkMode {
    /// The widest and fastest mode that both ends may use; `None` if there is none and the link stays
    /// down.
    #[must_use]
    pub fn negotiate(a: &PortInfo, b: &PortInfo) -> Option<Self> {
        Some(Self {
            width: (a.link_width_enabled() & b.link_width_enabled()).widest()?,
            speed: fastest(
                a.link_speed_enabled() & b.link_speed_enabled(),
                ext_enabled(a) & ext_enabled(b),
                a.link_speed_ext_enabled2() & b.link_speed_ext_enabled2(),
            )?,
        })
    }
}

/// Extended speeds that a port may use; 30 means none although it has bits of some.
fn ext_enabled(port: &PortInfo) -> LinkSpeedsExt {
    let enabled = port.link_speed_ext_enabled();
    if enabled == LinkSpeedsExt::DISABLED {
        LinkSpeedsExt::empty()
    } else {
        enabled & port.link_speed_ext_supported()
    }
}

impl super::Sma {
    /// A port; 0 is port 0 of a switch, and none on other nodes.
    #[inline]
    #[must_use]
    pub fn port(&self, port: PortNum) -> Option<&SmaPort> {
        self.ports.get(self.port_index(port)?)
    }

    #[inline]
    pub(super) fn port_mut(&mut self, port: PortNum) -> Option<&mut SmaPort> {
        let index = self.port_index(port)?;
        self.ports.get_mut(index)
    }

    #[inline]
    fn port_index(&self, port: PortNum) -> Option<usize> {
        match self.switch {
            Some(_) => Some(port.0.into()),
            None => usize::from(port.0).checked_sub(1),
        }
    }
}
