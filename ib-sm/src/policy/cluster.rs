//! Logical clusters: LIDs from the cluster's own range, and the topology for which routes are computed.

use alloc::sync::Arc;

use ib_routing::{
    LidMap, LidOptions, RouteError,
    cluster::{ClusterView, SwitchPort},
};
use ib_subnet::{FabricIndex, PortId};

use super::Situation;
use crate::{cluster::ClusterRole, plan::Topology};

/// Assigns LIDs to the cluster's own ports: predefined LIDs first, and only LIDs of its range.
pub(crate) fn lid_options(role: &ClusterRole, mut options: LidOptions) -> LidOptions {
    let predefined = role.predefined_lids().iter();
    options
        .database
        .extend(predefined.map(|(&guid, &lid)| (guid, lid)));
    role.config().lid_options(&options)
}

/// Returns the LIDs that a policy chose if all of them belong to the cluster.
///
/// # Errors
/// [`RouteError::BadLid`] for the first one that does not: another cluster's manager may have assigned it.
pub(crate) fn confined(role: &ClusterRole, lids: LidMap) -> Result<LidMap, RouteError> {
    let mut all = lids.destinations().iter();
    let foreign = all.find(|port| !role.owns(port.range.base()) || !role.owns(port.range.last()));
    match foreign {
        Some(port) => Err(RouteError::BadLid {
            port: port.guid,
            lid: port.range.base(),
            what: "expected LIDs of the cluster's range",
        }),
        None => Ok(lids),
    }
}

/// The cluster's own part of the fabric, with a virtual router at each boundary port whose link is up. The LIDs
/// of the other clusters belong to these routers.
pub(crate) fn topology(
    at: Situation<'_>,
    role: &ClusterRole,
    index: FabricIndex,
    own: LidMap,
) -> Topology {
    let is_up = |place: &SwitchPort| {
        let node = at.subnet().find(place.switch);
        let port = place.port;
        node.is_some_and(|node| at.is_linked(PortId { node, port }))
    };
    match ClusterView::new(index.fabric().clone(), role.config(), is_up) {
        Ok(view) => {
            let lids = view.lids(&own, &role.declarations());
            let version = at.subnet().version();
            Topology::of_cluster(index, own, lids.all, view, version)
        }
        // In `index` no cable ends at a boundary port, so routers can be attached there.
        Err(_) => Topology::new(index, Arc::new(own), at.subnet().version()),
    }
}
