//! Alias GUIDs: further GUIDs of a port, for the virtual functions of an adapter
//! (IBA vol. 1, 14.2.5.5 and 15.2.5.8).
//!
//! A host requests them by Set(GUIDInfoRecord); an entry of zero leaves the choice to the manager. Entry 0
//! of block 0 is the port's own GUID and cannot be an alias of another port.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use ib_mad::SaStatus;
use ib_sa::{ComponentMask, GuidInfoComponents, GuidInfoRecord};
use ib_smp::GuidInfo;
use ib_wire::Guid;

use super::View;
use ib_subnet::PortId;

use crate::registrations::GuidRegistration;

/// Bit of the first entry in a component mask; the other seven follow.
const FIRST_ENTRY: u8 = 4;

/// The alias GUIDs of all ports.
#[derive(Debug, Default)]
pub(crate) struct AliasGuids {
    /// Alias GUIDs by port GUID and block, without the port's own GUID.
    blocks: BTreeMap<(Guid, u8), GuidInfo>,
    taken: BTreeSet<Guid>,
    /// Number of alias GUIDs that the manager has chosen.
    chosen: u64,
    /// Blocks that their ports do not hold yet.
    unwritten: BTreeSet<(Guid, u8)>,
}

impl AliasGuids {
    /// A block of a port's GUIDs, the port's own included.
    pub(crate) fn block(&self, port: Guid, block: u8) -> GuidInfo {
        let known = self.blocks.get(&(port, block)).copied();
        let mut guids = known.unwrap_or_default();
        if block == 0 {
            let _ = guids.set_guid_block(0, port);
        }
        guids
    }

    /// Returns true if there are blocks that their ports do not hold yet.
    pub(crate) fn have_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Takes out the blocks that their ports do not hold yet; from now on they count as held.
    pub(crate) fn take_unwritten(&mut self) -> Vec<(Guid, u8, GuidInfo)> {
        let unwritten = core::mem::take(&mut self.unwritten);
        let blocks = unwritten.into_iter();
        blocks
            .map(|(port, block)| (port, block, self.block(port, block)))
            .collect()
    }

    /// Notes that a block may not have reached its port.
    pub(crate) fn write_again(&mut self, port: Guid, block: u8) {
        self.unwritten.insert((port, block));
    }

    /// Notes that a port has appeared: it may have lost its alias GUIDs.
    pub(crate) fn write_all_again(&mut self, port: Guid) {
        let blocks = self.blocks.range((port, 0)..=(port, u8::MAX));
        self.unwritten.extend(blocks.map(|(&at, _)| at));
    }

    /// All blocks that hosts requested.
    pub(crate) fn registrations(&self) -> Vec<GuidRegistration> {
        let blocks = self.blocks.keys().map(|&(port_guid, block)| {
            let mut record = GuidInfoRecord::default();
            record
                .set_block_num(block)
                .set_guid_info(&self.block(port_guid, block));
            GuidRegistration { port_guid, record }
        });
        blocks.collect()
    }

    /// Restores blocks from before a restart. A GUID that is in two of them is kept in the first.
    pub(crate) fn restore(&mut self, kept: &[GuidRegistration]) {
        for block in kept {
            let (port, number) = (block.port_guid, block.record.block_num());
            let mut guids = *block.record.guid_info();
            for entry in 0..GuidInfo::ENTRIES {
                let guid = guids.guid_block(entry.into()).unwrap_or_default();
                let own = number == 0 && entry == 0;
                if own || (guid != Guid::NONE && !self.taken.insert(guid)) {
                    let _ = guids.set_guid_block(entry.into(), Guid::NONE);
                }
            }
            self.blocks.insert((port, number), guids);
            self.unwritten.insert((port, number));
        }
    }

    /// Applies Set or Delete(GUIDInfoRecord) to the entries whose bits are set.
    pub(super) fn change(
        &mut self,
        view: View<'_>,
        wanted: &GuidInfoRecord,
        mask: ComponentMask,
        delete: bool,
    ) -> Result<GuidInfoRecord, SaStatus> {
        use GuidInfoComponents as C;
        let given = GuidInfoComponents::from_bits_retain(mask.0);
        if !given.contains(C::LID | C::BLOCK_NUM) {
            return Err(SaStatus::REQ_INSUFFICIENT_COMPONENTS);
        }
        let at: PortId = view.port_with(wanted.lid()).ok_or(SaStatus::NO_RECORDS)?;
        let port = view.subnet.port(at).ok_or(SaStatus::NO_RECORDS)?;
        let (guid, block) = (port.guid(), wanted.block_num());
        let room = port.info().map_or(0, |info| info.guid_cap());
        let mut guids = self.block(guid, block);
        // Applied only if every entry is acceptable.
        let mut taken = self.taken.clone();
        for entry in 0..GuidInfo::ENTRIES {
            if !mask.has(FIRST_ENTRY.saturating_add(entry)) {
                continue;
            }
            let number = u16::from(block)
                .saturating_mul(GuidInfo::ENTRIES.into())
                .saturating_add(entry.into());
            if number == 0 || number >= u16::from(room) {
                return Err(SaStatus::REQ_INVALID);
            }
            let old = guids.guid_block(entry.into()).unwrap_or_default();
            let asked = wanted.guid_info().guid_block(entry.into());
            let new = match (delete, asked.unwrap_or_default()) {
                (true, _) => Guid::NONE,
                (false, Guid::NONE) => self.choose(view, &taken),
                (false, asked) => asked,
            };
            if new == old {
                continue;
            }
            let is_port = view.subnet.find_port(new).is_some();
            if new != Guid::NONE && (is_port || !taken.insert(new)) {
                return Err(SaStatus::REQ_INVALID);
            }
            taken.remove(&old);
            let _ = guids.set_guid_block(entry.into(), new);
        }
        self.taken = taken;
        self.blocks.insert((guid, block), guids);
        self.unwritten.insert((guid, block));
        let mut record = *wanted;
        record.set_guid_info(&guids);
        Ok(record)
    }

    /// A free GUID of the manager's range (`sm_assigned_guid`): the range's first byte, then a count.
    fn choose(&mut self, view: View<'_>, taken: &BTreeSet<Guid>) -> Guid {
        loop {
            self.chosen = self.chosen.wrapping_add(1);
            let range = u64::from(view.config.sm_assigned_guid) << 56;
            let guid = Guid(range | self.chosen & 0x00ff_ffff_ffff_ffff);
            if !taken.contains(&guid) && view.subnet.find_port(guid).is_none() {
                return guid;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(port: u64, block: u8, guids: [u64; 3]) -> GuidRegistration {
        let mut info = GuidInfo::default();
        for (entry, guid) in guids.into_iter().enumerate() {
            let _ = info.set_guid_block(entry, Guid(guid));
        }
        let mut record = GuidInfoRecord::default();
        record.set_block_num(block).set_guid_info(&info);
        GuidRegistration {
            port_guid: Guid(port),
            record,
        }
    }

    fn first(guids: &AliasGuids, port: u64, block: u8) -> [u64; 3] {
        let info = guids.block(Guid(port), block);
        [0, 1, 2].map(|entry| info.guid_block(entry).unwrap().0)
    }

    #[test]
    fn restored_guids_belong_to_one_port_each_and_are_written_again() {
        let mut guids = AliasGuids::default();
        guids.restore(&[
            kept(1, 0, [1, 0x11, 0]),
            kept(1, 1, [0x12, 0, 0x13]),
            kept(2, 0, [2, 0x11, 0x21]),
            kept(2, 1, [0, 0x13, 0x22]),
        ]);
        assert_eq!(first(&guids, 1, 0), [1, 0x11, 0]);
        assert_eq!(first(&guids, 1, 1), [0x12, 0, 0x13]);
        assert_eq!(first(&guids, 2, 0), [2, 0, 0x21], "0x11 has an owner");
        assert_eq!(first(&guids, 2, 1), [0, 0, 0x22], "0x13 has an owner");
        assert_eq!(guids.take_unwritten().len(), 4);
        assert!(!guids.have_unwritten());
        guids.write_again(Guid(1), 1);
        guids.write_all_again(Guid(2));
        let again = guids.take_unwritten().into_iter();
        let again: Vec<_> = again.map(|(port, block, _)| (port.0, block)).collect();
        assert_eq!(again, [(1, 1), (2, 0), (2, 1)]);
    }
}
