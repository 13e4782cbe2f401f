//! One cluster as its manager sees it: its own nodes, and routers that represent everything beyond the boundary.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    vec::Vec,
};

use ib_wire::{Guid, PortNum};

use super::config::{ClusterConfig, SwitchPort};
use crate::{
    error::TopologyError,
    fabric::{Fabric, FabricBuilder, NewNode, NodeType, PortRef},
    index::NodeIdx,
};

/// Part of a fabric up to a cluster's boundary.
#[derive(Clone, Debug)]
pub struct ClusterView {
    config: ClusterConfig,
    own: Fabric,
    with_remote: Fabric,
    remote: Vec<RemoteRouter>,
}

/// The representation of the part of the fabric beyond a boundary port whose cable is up.
#[derive(Clone, Copy, Debug)]
pub struct RemoteRouter {
    /// The boundary port.
    pub place: SwitchPort,
    /// The router that represents the other clusters, in [`ClusterView::with_remote`].
    pub end: PortRef,
}

impl ClusterView {
    /// Walks from the cluster's switches to its boundary, as its manager's discovery does, and keeps the nodes that it
    /// finds. The walk examines nothing of `fabric` beyond the boundary.
    ///
    /// # Errors
    /// None for a part of a fabric; the type is that of the builder.
    pub fn discover(fabric: &Fabric, config: &ClusterConfig) -> Result<Self, TopologyError> {
        let ends_at = |end: PortRef| config.ends_at(fabric.node(end.node).guid, end.port);
        let members = reach(fabric, starts(fabric, config), ends_at);
        let mut builder = FabricBuilder::new();
        let mut numbers = BTreeMap::new();
        for &node in &members {
            numbers.insert(node, copy_node(&mut builder, fabric, node)?);
        }
        for (one, other) in fabric.links() {
            let inside = numbers.get(&one.node).zip(numbers.get(&other.node));
            if let Some((&here, &there)) = inside.filter(|_| !ends_at(one) && !ends_at(other)) {
                let (one, other) = (
                    PortRef { node: here, ..one },
                    PortRef {
                        node: there,
                        ..other
                    },
                );
                builder.add_link(one, other)?;
            }
        }
        Self::new(builder.build(), config, |place| {
            let switch = fabric.switch_by_guid(place.switch);
            switch.is_some_and(|switch| {
                let node = fabric.switches()[switch];
                let port = place.port;
                cable_is_up(fabric, PortRef { node, port })
            })
        })
    }

    /// The view of a manager that has discovered its own nodes and nothing else.
    ///
    /// `own` has no cable at the boundary ports of `config`; `is_up` returns whether such a port has a cable whose link
    /// is up.
    ///
    /// # Errors
    /// [`TopologyError`] if `own` has a cable at such a port, or no such port.
    pub fn new(
        own: Fabric,
        config: &ClusterConfig,
        is_up: impl Fn(&SwitchPort) -> bool,
    ) -> Result<Self, TopologyError> {
        let mut builder = own.to_builder();
        let remote = add_remote(&mut builder, config, is_up)?;
        Ok(Self {
            config: config.clone(),
            own,
            with_remote: builder.build(),
            remote,
        })
    }

    /// The cluster's configuration.
    #[must_use]
    pub const fn config(&self) -> &ClusterConfig {
        &self.config
    }

    /// The cluster's own nodes; boundary ports have no cable.
    #[must_use]
    pub const fn own(&self) -> &Fabric {
        &self.own
    }

    /// The cluster's own nodes with a router at every boundary port whose cable is up. Own nodes and all switches have
    /// the same indices as in [`ClusterView::own`].
    #[must_use]
    pub const fn with_remote(&self) -> &Fabric {
        &self.with_remote
    }

    /// The routers beyond the boundary, in the order of switches' GUIDs and ports.
    #[must_use]
    pub fn remote_routers(&self) -> &[RemoteRouter] {
        &self.remote
    }

    /// The router beyond a boundary port; `None` if the port's cable is not up.
    #[must_use]
    pub fn remote_end(&self, place: &SwitchPort) -> Option<PortRef> {
        let found = self.remote.iter().find(|remote| remote.place.is(place));
        found.map(|remote| remote.end)
    }
}

/// The switches that both a configuration names and the fabric contains.
pub(super) fn starts(fabric: &Fabric, config: &ClusterConfig) -> Vec<NodeIdx> {
    let named = config.switches.iter().map(|&(guid, _)| guid);
    let boundary = config.boundary.iter().map(|place| place.switch);
    named
        .chain(boundary)
        .filter_map(|guid| Some(fabric.switches()[fabric.switch_by_guid(guid)?]))
        .collect()
}

/// All nodes that cables lead to without passing one of the ports and without passing through a CA.
pub(super) fn reach(
    fabric: &Fabric,
    starts: Vec<NodeIdx>,
    ends_at: impl Fn(PortRef) -> bool,
) -> BTreeSet<NodeIdx> {
    let mut members: BTreeSet<NodeIdx> = starts.iter().copied().collect();
    let mut open = starts;
    while let Some(node) = open.pop() {
        for (port, end) in fabric.node(node).ports() {
            let Some(peer) = end.peer.filter(|_| !ends_at(PortRef { node, port })) else {
                continue;
            };
            if members.insert(peer.node) && fabric.switch_of(peer.node).is_some() {
                open.push(peer.node);
            }
        }
    }
    members
}

fn copy_node(
    builder: &mut FabricBuilder,
    fabric: &Fabric,
    node: NodeIdx,
) -> Result<NodeIdx, TopologyError> {
    let entry = fabric.node(node);
    let copy = builder.add_node(NewNode {
        type_: entry.type_,
        guid: entry.guid,
        num_ports: entry.num_ports(),
        system_image_guid: entry.system_image_guid,
        vendor_id: entry.vendor_id,
        device_id: entry.device_id,
        description: entry.description.clone(),
        name: entry.name.clone(),
        enhanced_port_0: entry.enhanced_port_0,
    })?;
    for (port, end) in entry.ports() {
        if let Some(place) = builder.port_mut(PortRef { node: copy, port }) {
            *place = *end;
            place.peer = None;
        }
    }
    Ok(copy)
}

/// Adds a router at the far end of each boundary cable that is up. Its GUID does not depend on the other cables.
fn add_remote(
    builder: &mut FabricBuilder,
    config: &ClusterConfig,
    is_up: impl Fn(&SwitchPort) -> bool,
) -> Result<Vec<RemoteRouter>, TopologyError> {
    let mut places = config.boundary.clone();
    places.sort_by_key(|place| (place.switch, place.port));
    places.dedup_by(|one, other| one.is(other));
    let mut remote = Vec::new();
    let mut next = u64::MAX;
    for place in places {
        while builder.node_by_guid(Guid(next)).is_some() {
            next = next.wrapping_sub(1);
        }
        let guid = Guid(next);
        next = next.wrapping_sub(1);
        let Some(switch) = builder.node_by_guid(place.switch).filter(|_| is_up(&place)) else {
            continue;
        };
        let node = builder.add_node(NewNode {
            type_: NodeType::ROUTER,
            guid,
            num_ports: 1,
            description: format!("outside of {} port {}", place.switch, place.port),
            ..NewNode::default()
        })?;
        let end = PortRef {
            node,
            port: PortNum(1),
        };
        if let Some(port) = builder.port_mut(end) {
            port.guid = guid;
        }
        let here = PortRef {
            node: switch,
            port: place.port,
        };
        builder.add_link(here, end)?;
        remote.push(RemoteRouter { place, end });
    }
    Ok(remote)
}

/// Returns true if a port has a cable and neither end is disabled.
pub(super) fn cable_is_up(fabric: &Fabric, end: PortRef) -> bool {
    let up = |end: PortRef| fabric.port(end).filter(|port| !port.disabled);
    up(end).and_then(|port| up(port.peer?)).is_some()
}
