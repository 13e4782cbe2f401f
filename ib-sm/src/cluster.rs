//! The role of a manager in a logical cluster: the boundary of its subnet, its own LIDs, and the LIDs of the
//! other clusters.
//!
//! A manager with a [`ClusterRole`] addresses nothing beyond the boundary ports of its cluster. Its LIDs come
//! from the cluster's range. Packets to LIDs that other clusters declare leave by the transit ports
//! ([`ib_routing::cluster`]). Managers of other clusters are no rivals: the manager ignores their SMInfo and
//! every other management datagram that crosses the boundary. Source: Basalov, "MCSM".

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use ib_mad::{Mad, MgmtClass};
use ib_routing::cluster::{ClusterConfig, Declaration};
use ib_smp::SmpDirected;
use ib_subnet::{PortId, Subnet};
use ib_wire::{Guid, Lid, Lmc, PortNum, addr::LidRange};

/// Confines a manager to a logical cluster.
///
/// ```
/// use ib_routing::cluster;
/// use ib_sm::{ClusterRole, SmConfig};
///
/// let text = "cluster a\nlids 1 99\nboundary 0x10 24\ntransit 0x10 24\ncluster b\nlids 100 199";
/// let mut clusters = cluster::read(text)?.into_iter();
/// let own = clusters.next().expect("the file has two");
/// let config = SmConfig {
///     cluster: Some(ClusterRole::new(own, clusters)),
///     ..SmConfig::default()
/// };
/// # Ok::<(), ib_routing::TopologyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClusterRole {
    config: ClusterConfig,
    others: Vec<ClusterConfig>,
    predefined: BTreeMap<Guid, Lid>,
    boundary: BTreeSet<(Guid, PortNum)>,
}

impl ClusterRole {
    /// The role of the manager of the cluster `config`. Of the `others`, only names, LIDs and LMCs are used.
    #[must_use]
    pub fn new(config: ClusterConfig, others: impl IntoIterator<Item = ClusterConfig>) -> Self {
        let boundary = config.boundary.iter();
        Self {
            boundary: boundary.map(|place| (place.switch, place.port)).collect(),
            others: others.into_iter().collect(),
            predefined: BTreeMap::new(),
            config,
        }
    }

    /// Sets base LIDs by port GUID, for the devices of all clusters; none by default.
    ///
    /// Devices of this cluster get these LIDs if they are in its range. A port without one is reported as
    /// [`Event::NoPredefinedLid`](crate::Event::NoPredefinedLid), unless no LIDs are predefined at all. Paths to
    /// GIDs of other clusters are resolved by these LIDs.
    #[must_use]
    pub fn with_predefined_lids(self, predefined: BTreeMap<Guid, Lid>) -> Self {
        Self { predefined, ..self }
    }

    /// The cluster's configuration.
    #[must_use]
    pub const fn config(&self) -> &ClusterConfig {
        &self.config
    }

    /// Base LIDs by port GUID, for the devices of all clusters.
    #[must_use]
    pub const fn predefined_lids(&self) -> &BTreeMap<Guid, Lid> {
        &self.predefined
    }

    /// Returns true if some LIDs are predefined, but none for this port.
    pub(crate) fn lacks(&self, port_guid: Guid) -> bool {
        !self.predefined.is_empty() && !self.predefined.contains_key(&port_guid)
    }

    /// The boundary ports of the cluster.
    pub(crate) const fn boundary(&self) -> &BTreeSet<(Guid, PortNum)> {
        &self.boundary
    }

    pub(crate) fn ends_at(&self, switch: Guid, port: PortNum) -> bool {
        self.boundary.contains(&(switch, port))
    }

    /// The declarations of the other clusters; the LIDs in use are known only where they are predefined.
    pub(crate) fn declarations(&self) -> Vec<Declaration> {
        let others = self.others.iter().map(ClusterConfig::declaration);
        others
            .map(|other| other.with_database(&self.predefined))
            .collect()
    }

    /// Returns true if a LID is one of the cluster's range.
    pub(crate) fn owns(&self, lid: Lid) -> bool {
        (self.config.first..=self.config.last).contains(&lid)
    }

    /// The other cluster that a LID belongs to; `None` if no other cluster declares it.
    pub(crate) fn other_of(&self, lid: Lid) -> Option<&ClusterConfig> {
        let mut others = self.others.iter();
        others.find(|other| (other.first..=other.last).contains(&lid))
    }

    /// The LIDs of a port of another cluster, if they are predefined.
    pub(crate) fn remote_lids(&self, port_guid: Guid, lmc: Lmc) -> Option<LidRange> {
        let base = *self.predefined.get(&port_guid)?;
        let other = self.other_of(base)?;
        LidRange::try_new(base, other.lmc.unwrap_or(lmc))
            .or_else(|_| LidRange::try_new(base, Lmc::ZERO))
            .ok()
    }

    /// The port of another cluster for which a LID is predefined.
    pub(crate) fn remote_port(&self, lid: Lid, lmc: Lmc) -> Option<Guid> {
        self.other_of(lid)?;
        let mut guids = self.predefined.keys().copied();
        guids.find(|&guid| {
            self.remote_lids(guid, lmc)
                .is_some_and(|range| range.contains(lid))
        })
    }

    /// Returns true if a datagram came from a port inside the cluster, or answers a subnet management request, which
    /// never leaves the cluster.
    ///
    /// The return path of a directed route is followed from the manager's own port and must not leave the
    /// cluster. A path that is not known yet counts as outside; the sender repeats its request.
    pub(crate) fn is_from_inside(&self, subnet: &Subnet, mad: &Mad) -> bool {
        let header = mad.header();
        if header.mgmt_class() != MgmtClass::SUBN_DIRECTED {
            return mad.address.lid == Lid::NONE || self.owns(mad.address.lid);
        }
        if header.method().is_response() {
            return true;
        }
        let Ok((smp, _)) = SmpDirected::parse(&mad.bytes, 0) else {
            return false;
        };
        if !smp.dr_slid().is_permissive() && !self.owns(smp.dr_slid()) {
            return false;
        }
        let Some(mut at) = subnet.own_port().map(|own| own.node) else {
            return false;
        };
        let hops = usize::from(smp.hop_count());
        let exits = smp.return_path().get(1..=hops).unwrap_or_default();
        exits.iter().rev().all(|&exit| {
            let exit = PortId {
                node: at,
                port: PortNum(exit),
            };
            let place = subnet.port_at(exit);
            let peer = subnet.port(exit).and_then(|port| port.peer());
            if let Some(peer) = peer {
                at = peer.node;
            }
            peer.is_some() && !self.ends_at(place.node_guid, place.port_num)
        })
    }
}
