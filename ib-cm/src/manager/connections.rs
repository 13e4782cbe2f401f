//! All connections, found by our number, by the other side's, and by the other side's queue pair.

use alloc::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use ib_wire::{Gid, Guid, Qpn};

use super::connection::Connection;

#[derive(Debug, Default)]
pub(super) struct Connections {
    by_id: BTreeMap<u32, Connection>,
    /// CA and number of the other side.
    by_remote_id: BTreeMap<(Guid, u32), u32>,
    /// CA and queue pair of the other side.
    by_remote_qpn: BTreeMap<(Guid, Qpn), u32>,
    /// Peer-to-peer connections whose REQ is not answered; those to one port and service may be many.
    peers: BTreeSet<(Gid, u64, u32)>,
    next_id: u32,
}

impl Connections {
    pub(super) fn new(first_id: u32) -> Self {
        Self {
            next_id: first_id,
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn get(&self, id: u32) -> Option<&Connection> {
        self.by_id.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Connection> {
        self.by_id.get_mut(&id)
    }

    /// The next number that no connection has; 0 says "not known" in messages.
    pub(super) fn fresh_id(&mut self) -> u32 {
        loop {
            let id = self.next_id;
            self.next_id = id.wrapping_add(1);
            if id != 0 && !self.by_id.contains_key(&id) {
                return id;
            }
        }
    }

    pub(super) fn insert(&mut self, id: u32, connection: Connection) {
        if let Some((gid, service)) = connection.peer {
            self.peers.insert((gid, service, id));
        }
        self.by_id.insert(id, connection);
    }

    /// Gives a connection that knows nothing of its other side yet another content.
    pub(super) fn replace(&mut self, id: u32, connection: Connection) {
        if let Some(entry) = self.by_id.get_mut(&id) {
            *entry = connection;
        }
    }

    pub(super) fn remove(&mut self, id: u32) {
        self.settle_peer(id);
        let Some(connection) = self.by_id.remove(&id) else {
            return;
        };
        let guid = connection.remote_guid;
        remove_own(&mut self.by_remote_id, (guid, connection.remote_id), id);
        remove_own(&mut self.by_remote_qpn, (guid, connection.remote_qpn), id);
    }

    /// Notes who the other side is, once it has said so.
    pub(super) fn set_remote(&mut self, id: u32, guid: Guid, remote_id: u32, qpn: Option<Qpn>) {
        let Some(connection) = self.by_id.get_mut(&id) else {
            return;
        };
        connection.remote_guid = guid;
        connection.remote_id = remote_id;
        self.by_remote_id.entry((guid, remote_id)).or_insert(id);
        if let Some(qpn) = qpn {
            connection.remote_qpn = qpn;
            self.by_remote_qpn.entry((guid, qpn)).or_insert(id);
        }
        self.settle_peer(id);
    }

    /// Notes that a peer-to-peer connection waits for no REQ any more.
    pub(super) fn settle_peer(&mut self, id: u32) {
        if let Some((gid, service)) = self.by_id.get(&id).and_then(|connection| connection.peer) {
            self.peers.remove(&(gid, service, id));
        }
    }

    pub(super) fn by_remote_id(&self, guid: Guid, remote_id: u32) -> Option<u32> {
        self.by_remote_id.get(&(guid, remote_id)).copied()
    }

    pub(super) fn by_remote_qpn(&self, guid: Guid, qpn: Qpn) -> Option<u32> {
        self.by_remote_qpn.get(&(guid, qpn)).copied()
    }

    /// A connection of ours to this port and service that waits for the other side's REQ or REP.
    pub(super) fn peer(&self, gid: Gid, service_id: u64) -> Option<u32> {
        let mut peers = self
            .peers
            .range((gid, service_id, 0)..=(gid, service_id, u32::MAX));
        peers.next().map(|&(_, _, id)| id)
    }
}

fn remove_own<K: Ord>(index: &mut BTreeMap<K, u32>, key: K, id: u32) {
    if let Entry::Occupied(entry) = index.entry(key)
        && *entry.get() == id
    {
        entry.remove();
    }
}
