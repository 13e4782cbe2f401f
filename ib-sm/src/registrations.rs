//! Registrations of hosts with the administrator, to be kept beyond its life: memberships of multicast groups,
//! services, subscriptions and alias GUIDs (IBA vol. 1, 15.4).
//!
//! A host that keeps [`SubnetManager::registrations`](crate::SubnetManager::registrations) and gives them back as
//! [`SmConfig::registrations`](crate::SmConfig::registrations) spares its hosts to join and subscribe again.
//! The text form is that of OpenSM's `opensm-sa.dump`, so a change-over from OpenSM keeps them too.

mod text;

use alloc::vec::Vec;

use ib_mad::MadAddress;
use ib_sa::{GuidInfoRecord, InformInfoRecord, McMemberRecord, ServiceRecord};
use ib_wire::Guid;

/// Registrations of hosts with the administrator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registrations {
    /// Multicast groups and who is in them.
    pub groups: Vec<GroupRegistration>,
    /// Subscriptions to notices.
    pub subscriptions: Vec<SubscriptionRegistration>,
    /// Services; the lease is what is left of it.
    pub services: Vec<ServiceRecord>,
    /// Blocks of alias GUIDs.
    pub guids: Vec<GuidRegistration>,
}

/// A multicast group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRegistration {
    /// Parameters that all its members share.
    pub group: McMemberRecord,
    /// A partition asks for it: it stays without members.
    pub well_known: bool,
    /// Its members: of each the port, the join states, and whether another joined for it.
    pub members: Vec<McMemberRecord>,
}

/// A subscription and where its Reports go.
#[derive(Clone, Debug, PartialEq)]
pub struct SubscriptionRegistration {
    /// The subscriber and the notices that it subscribed to.
    pub record: InformInfoRecord,
    /// Address of the subscriber.
    pub address: MadAddress,
}

/// A block of a port's alias GUIDs.
#[derive(Clone, Debug, PartialEq)]
pub struct GuidRegistration {
    /// The port's own GUID.
    pub port_guid: Guid,
    /// Block and GUIDs.
    pub record: GuidInfoRecord,
}

impl Registrations {
    /// Returns true if there is nothing to keep.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self {
            groups,
            subscriptions,
            services,
            guids,
        } = self;
        groups.is_empty() && subscriptions.is_empty() && services.is_empty() && guids.is_empty()
    }
}
