//! LIDs: computes the LIDs that ports are to have from those that they have (IBA vol. 1, 14.4.3).
//!
//! A [`LidPolicy`] chooses; the built-in policy keeps every valid LID. A node that cannot take part is left out
//! of the fabric and reported by an event: a switch that did not answer with the sizes of its tables, or that has
//! no linear table.

use alloc::{sync::Arc, vec::Vec};

use ib_routing::{LidMap, LidOptions, LidPolicy, RouteError};
use ib_subnet::{FabricIndex, NodeId, PortId, SubnetNode};
use ib_wire::{Guid, Lid, Lmc, addr::LidRange};

use super::{Situation, cluster, links, switches};
use crate::plan::Topology;

/// LIDs for the ports of a subnet.
#[derive(Debug)]
pub(crate) struct Assignment {
    /// The fabric with the chosen LIDs.
    pub(crate) topology: Topology,
    /// The LIDs of each end port.
    pub(crate) ports: Vec<(PortId, Guid, LidRange)>,
    /// Nodes that take no part.
    pub(crate) excluded: Vec<Guid>,
    /// True if every port keeps what it was assigned before; then `ports` is empty.
    pub(crate) is_kept: bool,
}

/// Chooses the LIDs. With `reassign`, the present LIDs of ports are not kept.
///
/// `is_partial` says that the configuration is that of the previous topology. If only cables between switches were lost
/// since, the LIDs stay, and the policy is not asked.
///
/// # Errors
/// There are fewer LIDs than ports.
pub(crate) fn assign(
    at: Situation<'_>,
    policy: &dyn LidPolicy,
    reassign: bool,
    is_partial: bool,
) -> Result<Assignment, RouteError> {
    let subnet = at.subnet();
    let (takes_part, is_link) = (takes_part_in(at), is_link_in(at));
    if is_partial && !reassign && is_simple(at) {
        let before = at.plan().topology();
        let since = at.plan().topology_version();
        if let Some(index) = before
            .index()
            .after_losing(subnet, since, &takes_part, &is_link)
        {
            return Ok(Assignment {
                topology: before.with_index(index, subnet.version()),
                ports: Vec::new(),
                excluded: Vec::new(),
                is_kept: true,
            });
        }
    }
    let (takes_part, is_link) = (&takes_part, &is_link);
    let mut index = FabricIndex::build(subnet, takes_part, is_link);
    if at.config().avoid_throttled_links {
        let faster = FabricIndex::build(subnet, takes_part, |port| {
            is_link(port) && !links::is_throttled(at, port)
        });
        let parts = |index: &FabricIndex| index.fabric().parts().iter().max().copied();
        // A slow path is better than none.
        if parts(&faster) == parts(&index) {
            index = faster;
        }
    }
    let nodes = subnet.nodes();
    let excluded = nodes.filter(|&(id, _)| index.node(id).is_none());
    let excluded = excluded.map(|(_, node)| node.info().node_guid()).collect();
    let lids = choose(at, policy, &index, reassign)?;
    let mut ports = Vec::new();
    for destination in lids.destinations().iter() {
        let guid = index.fabric().node(destination.end.node).guid;
        if let Some(node) = subnet.find(guid) {
            let port = PortId {
                node,
                port: destination.end.port,
            };
            ports.push((port, destination.guid, destination.range));
        }
    }
    Ok(Assignment {
        topology: match &at.config().cluster {
            Some(role) => cluster::topology(at, role, index, lids),
            None => {
                // Otherwise the first loss of a cable would find that every port has a LID by now.
                index.set_lids(&lids);
                Topology::new(index, Arc::new(lids), subnet.version())
            }
        },
        ports,
        excluded,
        is_kept: false,
    })
}

/// The version of the subnet, if the topology is still that of the subnet.
pub(crate) fn confirmed(at: Situation<'_>) -> Option<u64> {
    let (subnet, plan) = (at.subnet(), at.plan());
    let is_current = is_simple(at)
        && plan.topology().index().is_current(
            subnet,
            plan.topology_version(),
            takes_part_in(at),
            is_link_in(at),
        );
    is_current.then(|| subnet.version())
}

/// Returns true if the topology follows from nodes and cables alone.
fn is_simple(at: Situation<'_>) -> bool {
    let config = at.config();
    config.cluster.is_none() && !config.avoid_throttled_links && at.subnet().is_trusted()
}

/// The condition under which a node takes part.
fn takes_part_in(at: Situation<'_>) -> impl Fn(NodeId, &SubnetNode) -> bool {
    move |id, node| takes_part(node) && at.subnet().is_steady(id)
}

/// The condition under which the cable of a port is a link within the fabric.
fn is_link_in(at: Situation<'_>) -> impl Fn(PortId) -> bool {
    move |port| {
        let peer = at.subnet().port(port).and_then(|port| port.peer());
        let crosses = at.leads_out(port) || peer.is_some_and(|peer| at.leads_out(peer));
        at.subnet().is_link(port) && !crosses
    }
}

fn choose(
    at: Situation<'_>,
    policy: &dyn LidPolicy,
    index: &FabricIndex,
    reassign: bool,
) -> Result<LidMap, RouteError> {
    let config = at.config();
    let own = at.subnet().own_port();
    let own = own.and_then(|own| at.subnet().port(own));
    let mut options = LidOptions {
        lmc: config.lmc,
        switch_lmc: match config.lmc_esp0 {
            true => config.lmc,
            false => Lmc::ZERO,
        },
        reassign,
        database: match reassign {
            true => Default::default(),
            false => at.plan().remembered().clone(),
        },
        manager: own.map(|port| port.guid()),
        last: last_lid(at, index),
        ..LidOptions::default()
    };
    let mut last = LidOptions::default().last;
    if let Some(role) = &config.cluster {
        options = cluster::lid_options(role, options);
        last = role.config().last;
    }
    let assigned = policy.assign(index.fabric(), &options).or_else(|_| {
        // A switch that cannot reach every port is better than no subnet.
        policy.assign(index.fabric(), &LidOptions { last, ..options })
    })?;
    match &config.cluster {
        Some(role) => cluster::confined(role, assigned),
        None => Ok(assigned),
    }
}

/// The highest LID that fits in the linear tables of all switches.
fn last_lid(at: Situation<'_>, index: &FabricIndex) -> Lid {
    let routed = at.subnet().switches();
    let routed = routed.filter(|&(id, _)| index.node(id).is_some());
    let last = routed.map(|(id, _)| switches::last_lid(at, id));
    last.min().unwrap_or(Lid::UNICAST_MAX)
}

fn takes_part(node: &SubnetNode) -> bool {
    match node.switch() {
        Some(switch) => switch.info().is_some_and(|info| info.linear_fdb_cap() > 0),
        None => true,
    }
}
