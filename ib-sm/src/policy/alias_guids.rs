//! Alias GUIDs: all entries of GUIDInfo except the port's own GUID (IBA vol. 1, 14.2.5.5).

use ib_smp::GuidInfo;
use ib_wire::Guid;

/// The alias GUIDs in a block of GUIDInfo of the port with GUID `owner`.
pub(crate) fn in_block(block: &GuidInfo, owner: Guid) -> impl Iterator<Item = Guid> + '_ {
    let guids = (0..GuidInfo::ENTRIES).filter_map(|entry| block.guid_block(entry.into()));
    guids.filter(move |&guid| guid != Guid::NONE && guid != owner)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn alias_guids_are_all_but_the_empty_entries_and_the_ports_own() {
        let mut block = GuidInfo::default();
        for (entry, guid) in [(0, 7), (2, 8), (7, 9)] {
            let _ = block.set_guid_block(entry, Guid(guid));
        }
        let aliases: Vec<Guid> = in_block(&block, Guid(7)).collect();
        assert_eq!(aliases, [Guid(8), Guid(9)]);
    }
}
