//! The manager's part in replication: the master keeps the replicas of its standby managers up to date, and a
//! standby that takes over begins with its own replica.

use alloc::collections::BTreeMap;

use ib_mad::{Instant, MadAddress};
use ib_smp::SmState;
use ib_subnet::PortId;
use ib_wire::{Guid, Sl};

use super::SubnetManager;
use crate::{
    election::ElectionAction,
    replication::{Own, registration},
};

impl SubnetManager {
    /// This manager's identity to its peers, and the master for which it is in STANDBY, if there is one.
    pub(super) fn replication_parties(&self) -> (Own, Option<Guid>) {
        let own = Own {
            guid: self.election.current().guid(),
            sm_key: self.config.sm_key,
        };
        let master = self.replication.last_master();
        (own, master.filter(|_| !self.history.served))
    }

    /// Passes the standby managers that the last sweep found and that take replicas to the replication.
    fn find_standbys(&mut self, now: Instant) {
        let own_lid = self.view().own_lid();
        let address = |port: PortId| {
            let lid = self.subnet.port(port)?.lids()?.base();
            let sl = self.plan.routes().map(|routes| routes.sl(own_lid, lid));
            Some(MadAddress::gsi(lid, sl.unwrap_or(Sl::ZERO)))
        };
        let others = self.others.iter().filter(|(_, info)| {
            self.election.hears(info) && self.sa.has_service(registration::SERVICE_ID, info.guid())
        });
        let found: BTreeMap<Guid, MadAddress> = others
            .filter_map(|&(port, info)| Some((info.guid(), address(port)?)))
            .collect();
        self.replication.set_peers(now, &found);
    }

    /// Notes that registrations may have changed. It is called for each answer, so a manager that is alone does nothing.
    pub(super) fn note_registrations(&mut self, now: Instant) {
        let is_alone = self.others.is_empty() && !self.replication.has_peers();
        if !is_alone && self.state() == SmState::MASTER && self.history.served {
            self.find_standbys(now);
            self.replication.note_version(now, self.sa.version());
        }
    }

    /// Performs replication tasks that are due.
    pub(super) fn replicate(&mut self, now: Instant) {
        let (own, master) = self.replication_parties();
        if self.replication.wants_registrations(now) {
            let (version, all) = (self.sa.version(), self.sa.registrations(now));
            self.replication.update(now, own, version, &all);
        }
        self.replication.handle_timeout(now, own, master);
    }

    /// Before a handover, sends the new master the changes since the last message.
    pub(super) fn hand_over_registrations(&mut self, now: Instant, action: ElectionAction) {
        if let ElectionAction::HandOver(to) = action {
            let (own, _) = self.replication_parties();
            let (version, all) = (self.sa.version(), self.sa.registrations(now));
            self.replication.update(now, own, version, &all);
            self.replication.flush(now, own, to);
        }
        self.replication.retire(now);
    }

    /// Applies the registrations that the previous master replicated, before any table is written. Hosts are
    /// asked to register again all the same, because the last of their changes may not have arrived.
    pub(super) fn take_over_replica(&mut self, now: Instant) {
        if self.history.served || self.state() != SmState::MASTER {
            return;
        }
        if let Some(kept) = self.replication.take_replica(now) {
            self.sa.restore(now, &kept);
        }
    }
}
