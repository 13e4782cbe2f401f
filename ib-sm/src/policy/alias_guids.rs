//! Alias GUIDs: all entries of GUIDInfo except the port's own GUID (IBA vol. 1, 14.2.5.5).

use ib_smp::GuidInfo;
use ib_wire::Guid;

/// The alias GUIDs in a block of GUIDInfo of the port with GUID `owner`.
pub(crate) fn in_block(block: &GuidInfo, owner: Guid) -> impl Iterator<Item = Guid> + '_ {
    let guids = (0..GuidInfo::ENTRIES).filter_map(|entry| block.guid_block(entry.into()));
    guids.filter(move |&guid| guid != Guid::NONE && guid != owner)
}
