//! Two sides that connect to each other at the same time (IBA vol. 1, 12.10): one REQ counts.

use super::{CommunicationManager, Connection};
use crate::Req;
use ib_mad::Mad;

impl CommunicationManager {
    /// The REQ of the other side of a peer-to-peer connection, while ours is not answered.
    ///
    /// Both sides compare the same two pairs of CA and queue pair: the greater stays active and waits
    /// for the answer to its REQ, the smaller gives its own up and answers.
    pub(super) fn handle_peer_req(&mut self, id: u32, mad: &Mad, req: &Req) {
        let Some(entry) = self.connections.get(id) else {
            return;
        };
        let ours = (self.config.ca_guid, entry.local_qpn);
        let theirs = (req.local_ca_guid(), req.local_qpn());
        if ours >= theirs {
            return;
        }
        let passive = Connection {
            local_qpn: entry.local_qpn,
            peer: entry.peer,
            is_queued: entry.is_queued,
            ..self.requested(mad, req, entry.round_trip)
        };
        self.timers.stop(id);
        self.connections.replace(id, passive);
        self.ask_consumer(id, mad, req);
    }
}
