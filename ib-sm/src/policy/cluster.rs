//! Logical clusters: the LIDs of one's own range, and the topology that routes are computed for.

use ib_routing::{
    LidMap, LidOptions, RouteError,
    cluster::{ClusterView, SwitchPort},
};
use ib_subnet::{FabricIndex, PortId};

use super::Situation;
use crate::{cluster::ClusterRole, plan::Topology};

/// How the LIDs of the cluster's own ports are assigned: predefined ones first, all of them from its range.
pub(crate) fn lid_options(role: &ClusterRole, mut options: LidOptions) -> LidOptions {
    let predefined = role.predefined_lids().iter();
    options
        .database
        .extend(predefined.map(|(&guid, &lid)| (guid, lid)));
    role.config().lid_options(&options)
}

/// The LIDs that a policy chose, if all of them are the cluster's.
///
/// # Errors
/// [`RouteError::BadLid`] for the first that is not: another cluster's manager may have assigned it.
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

/// The cluster's own part of the fabric, with a router behind each boundary port whose link is up, and the LIDs of
/// the other clusters at those.
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
            Topology::of_cluster(index, own, lids.all, view)
        }
        // No cable of `index` ends at a boundary port, so routers can be added there.
        Err(_) => Topology::new(index, own),
    }
}
