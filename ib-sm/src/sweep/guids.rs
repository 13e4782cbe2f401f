//! Alias GUIDs in the devices: the blocks of GUIDInfo that hosts asked for (IBA vol. 1, 14.2.5.5).

use alloc::vec::Vec;

use ib_smp::GuidInfo;
use ib_wire::Guid;

use super::Sweep;
use crate::{request::Request, subnet::PortRef};

impl Sweep {
    /// Queues blocks of alias GUIDs, by port GUID, for the ports to hold. Who is gone gets its own when it
    /// comes back.
    pub(crate) fn queue_guid_infos(&mut self, blocks: impl Iterator<Item = (Guid, u8, GuidInfo)>) {
        for (port, block, guids) in blocks {
            if let Some(at) = self.subnet.find_port(port) {
                self.guid_blocks.insert((at, block), guids);
                self.queue.push_back(Request::SetGuidInfo(at, block));
            }
        }
    }

    /// The blocks that no port has confirmed, by port GUID: another sweep begins.
    pub(crate) fn take_unwritten_guids(&mut self) -> Vec<(Guid, u8)> {
        let blocks = core::mem::take(&mut self.guid_blocks);
        let keys = blocks.into_keys();
        keys.filter_map(|(port, block)| Some((self.subnet.port(port)?.guid, block)))
            .collect()
    }

    /// Takes in what a port holds now; by these it can be found. False if it is not what it was told.
    pub(super) fn on_guid_info_set(&mut self, at: PortRef, block: u8, held: GuidInfo) -> bool {
        let Some(owner) = self.subnet.port(at).map(|port| port.guid) else {
            return false;
        };
        let aliases = &mut self.plan.aliases;
        aliases.retain(|_, of| *of != (owner, block));
        let guids = (0..GuidInfo::ENTRIES).filter_map(|entry| held.guid_block(entry.into()));
        let new = guids.filter(|&guid| guid != Guid::NONE && guid != owner);
        aliases.extend(new.map(|guid| (guid, (owner, block))));
        self.guid_blocks
            .remove(&(at, block))
            .is_some_and(|wanted| wanted == held)
    }
}
