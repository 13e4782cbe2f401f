//! The data from which the administrator answers, and the part of it that a requester may access.

use ib_mad::SmKey;
use ib_smp::SmInfo;
use ib_wire::{Gid, GidPrefix, Guid, Lid, PKey};

use ib_subnet::{PortId, Subnet, SubnetPort};

use crate::{SmConfig, plan::Plan};

/// The subnet as the last sweep left it, and the requester.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) config: &'a SmConfig,
    pub(crate) subnet: &'a Subnet,
    pub(crate) plan: &'a Plan,
    pub(crate) own_port: Option<PortId>,
    pub(crate) own: SmInfo,
    pub(crate) others: &'a [(PortId, SmInfo)],
    pub(crate) requester: Requester,
}

/// The sender of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Requester {
    /// The sender is no port of the subnet.
    #[default]
    Unknown,
    /// A port of the subnet: it may access ports that share a partition with it.
    Port(PortId),
    /// The request carries the right SM_Key: it may access everything.
    Trusted(Option<PortId>),
}

impl<'a> View<'a> {
    /// The view for a requester with this LID and key. `None` with a wrong key: such a request is dropped
    /// (C15-0.1.5).
    pub(super) fn requested_by(self, lid: Lid, sm_key: SmKey) -> Option<Self> {
        let port = self.port_with(lid);
        let requester = match (port, sm_key) {
            (Some(port), SmKey(0)) => Requester::Port(port),
            (None, SmKey(0)) => Requester::Unknown,
            (port, key) if key == self.config.sa_key => Requester::Trusted(port),
            _ => return None,
        };
        Some(Self { requester, ..self })
    }

    /// The port that owns a LID.
    pub(crate) fn port_with(self, lid: Lid) -> Option<PortId> {
        let (guid, place) = self.plan.owner_of(lid)?;
        // Nearly always the port is where it was, which costs less than a search for its GUID.
        let is_there = |at: PortId| {
            let port = self.subnet.port(at)?;
            (port.guid() == guid).then_some((at, port))
        };
        let found = || {
            let at = self.subnet.find_port(guid)?;
            Some((at, self.subnet.port(at)?))
        };
        let (at, port) = place.and_then(is_there).or_else(found)?;
        port.lids()?.contains(lid).then_some(at)
    }

    /// The port that answers to a GID. Every port also answers to the default prefix and to its alias GUIDs.
    pub(crate) fn port_of(self, gid: Gid) -> Option<PortId> {
        let prefixes = [self.config.subnet_prefix, GidPrefix::DEFAULT];
        let named = prefixes.contains(&gid.prefix());
        let owner = self.plan.owner_of_alias(gid.guid());
        let guid = owner.unwrap_or(gid.guid());
        let port = self.subnet.find_port(guid).filter(|_| named)?;
        self.subnet.port(port)?.lids().map(|_| port)
    }

    /// The port at the other end of a cable. Where none is observed it is the cable of the routes in force: while a
    /// failure is repaired, the paths that it broke are answered as they were, because the repair keeps their LIDs.
    pub(super) fn peer(self, here: PortId) -> Option<PortId> {
        let observed = self.subnet.port(here).and_then(SubnetPort::peer);
        observed.or_else(|| self.plan.peer(here))
    }

    /// The GID of a port.
    pub(crate) fn gid(self, port: &SubnetPort) -> Gid {
        Gid::new(self.config.subnet_prefix, port.guid())
    }

    /// The manager's own LID.
    pub(crate) fn own_lid(self) -> Lid {
        let own = self.own_port.and_then(|own| self.subnet.port(own));
        let lids = own.and_then(SubnetPort::lids);
        lids.map_or(Lid::NONE, |lids| lids.base())
    }

    /// The manager's own GID.
    pub(crate) fn own_gid(self) -> Gid {
        let own = self.own_port.and_then(|own| self.subnet.port(own));
        own.map_or(Gid::default(), |port| self.gid(port))
    }

    /// The GID of the requester, if it is a port of the subnet.
    pub(super) fn requester_gid(self) -> Option<Gid> {
        self.requester_port().map(|port| self.gid(port))
    }

    /// The port whose quota a registration counts against. A trusted requester has no limit: GUID 0. All senders
    /// that are no port of the subnet share one quota.
    pub(super) fn requester_guid(self) -> Guid {
        match self.requester {
            Requester::Trusted(_) => Guid::NONE,
            _ => self
                .requester_port()
                .map_or(Guid(u64::MAX), |port| port.guid()),
        }
    }

    /// Returns true if the request carries the right key.
    pub(super) const fn is_trusted(self) -> bool {
        matches!(self.requester, Requester::Trusted(_))
    }

    /// Returns true if the requester may access records of this port.
    pub(super) fn may_access(self, port: PortId) -> bool {
        match self.requester {
            Requester::Trusted(_) => true,
            Requester::Unknown => false,
            Requester::Port(requester) if requester == port => true,
            Requester::Port(requester) => {
                let ports = (self.subnet.port(requester), self.subnet.port(port));
                let (Some(requester), Some(port)) = ports else {
                    return false;
                };
                requester.shared_p_key(port, None).is_some()
            }
        }
    }

    /// Returns true if the requester is in this partition.
    pub(super) fn requester_has(self, p_key: PKey) -> bool {
        let has = |port: &SubnetPort| p_key.base() == 0 || port.has_p_key(p_key);
        self.is_trusted() || self.requester_port().is_some_and(has)
    }

    fn requester_port(self) -> Option<&'a SubnetPort> {
        match self.requester {
            Requester::Port(port) | Requester::Trusted(Some(port)) => self.subnet.port(port),
            Requester::Unknown | Requester::Trusted(None) => None,
        }
    }
}
