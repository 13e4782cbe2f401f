//! Connections that the other side has forgotten: it uses their queue pair for another one (IBA vol. 1,
//! 12.9.8).

use ib_wire::{Guid, Qpn};

use super::{CloseReason, CommunicationManager, ConnectionState};
use ib_mad::Instant;

impl CommunicationManager {
    /// The connection that this queue pair of another CA belongs to, as far as we know.
    pub(super) fn queue_pair_in_use(&self, guid: Guid, qpn: Qpn) -> Option<u32> {
        self.connections.by_remote_qpn(guid, qpn)
    }

    /// The other side has forgotten this connection: it is taken down. If it is established, a DREQ goes
    /// out, which the other side answers even without the connection.
    pub(super) fn forgotten_by_peer(&mut self, now: Instant, id: u32) {
        let Some(entry) = self.connections.get_mut(id) else {
            return;
        };
        match entry.state {
            ConnectionState::TimeWait | ConnectionState::DreqSent => {}
            ConnectionState::Established => {
                entry.is_stale = true;
                self.send_dreq(id, &crate::Dreq::default());
            }
            _ => self.close(now, id, CloseReason::Stale, None),
        }
    }
}
