//! Routes one cluster with the information that its manager has.

use alloc::vec::Vec;

use ib_wire::{Guid, Lmc, addr::LidRange};

use super::{
    config::{Declaration, SwitchPort},
    transit,
    view::ClusterView,
};
use crate::{
    engine::{
        FTREE, SharedEngine,
        chain::{self, Chosen},
    },
    error::RouteError,
    fabric::PortRef,
    lid::{LidMap, LidOptions},
    options::RouteOptions,
    routes::Routes,
};

/// The LIDs and tables of one cluster. Its forwarding tables have entries for every LID that the others declare.
#[derive(Clone, Debug)]
pub struct ClusterRoutes {
    /// The LIDs of the cluster's own ports, on [`ClusterView::own`].
    pub lids: LidMap,
    /// The tables, by the switches of [`ClusterView::own`].
    pub routes: Routes,
    /// Engines that could not route the cluster, with the reasons.
    pub failed: Vec<(SharedEngine, RouteError)>,
    /// Number of LIDs of other clusters that leave by each transit port whose cable is up.
    pub transit: Vec<(SwitchPort, usize)>,
}

/// Hands out the cluster's LIDs, assigns the LIDs of other clusters to its transit ports, and routes all of them.
///
/// The engines and the LMC of the cluster's configuration take precedence over those of the arguments. A root in
/// `options` that belongs to another cluster is ignored.
///
/// # Errors
/// Fails if the LIDs do not suffice, or if no engine can route the cluster.
pub fn route(
    view: &ClusterView,
    others: &[Declaration],
    chain: &[SharedEngine],
    no_fallback: bool,
    lids: &LidOptions,
    options: &RouteOptions,
) -> Result<ClusterRoutes, RouteError> {
    let lids = LidMap::assign(view.own(), &view.config().lid_options(lids))?;
    let ClusterLids { all, transit } = view.lids(&lids, others);
    let chain = view.engines(chain);
    let options = view.route_options(chain, options);
    let Chosen { routes, failed } =
        chain::route(chain, no_fallback, view.with_remote(), &all, &options)?;
    Ok(ClusterRoutes {
        lids,
        routes,
        failed,
        transit,
    })
}

/// The LIDs for which the tables of a cluster have entries.
#[derive(Clone, Debug, Default)]
pub struct ClusterLids {
    /// The LIDs of the cluster's own ports, and those of other clusters at the routers beyond transit ports, on
    /// [`ClusterView::with_remote`].
    pub all: LidMap,
    /// Number of LIDs of other clusters that leave by each transit port whose cable is up.
    pub transit: Vec<(SwitchPort, usize)>,
}

impl ClusterView {
    /// Adds to the cluster's `own` LIDs those that the others declare, each at the transit port it leaves by.
    #[must_use]
    pub fn lids(&self, own: &LidMap, others: &[Declaration]) -> ClusterLids {
        let exits: Vec<_> = exits(self);
        let assigned = transit::assign(others, exits.len(), |exit, other| {
            exits
                .get(exit)
                .is_some_and(|exit| exit.leads_to(&other.name))
        });
        let mut transit: Vec<(SwitchPort, usize)> =
            exits.iter().map(|exit| (exit.place, 0)).collect();
        let mut ranges: Vec<(PortRef, LidRange)> = Vec::with_capacity(assigned.len());
        for (&lid, &exit) in &assigned {
            let range = LidRange::try_new(lid, Lmc::ZERO).ok();
            if let (Some(exit), Some(range)) = (exits.get(exit), range) {
                ranges.push((exit.end, range));
            }
            if let Some((_, count)) = transit.get_mut(exit) {
                *count = count.saturating_add(1);
            }
        }
        let own_ranges = own.destinations().iter();
        ranges.extend(own_ranges.map(|port| (port.end, port.range)));
        ClusterLids {
            all: LidMap::of_ranges(self.with_remote(), ranges),
            transit,
        }
    }

    /// The engines that route the cluster: its own, if it has some, else those of `chain`.
    #[must_use]
    pub fn engines<'a>(&'a self, chain: &'a [SharedEngine]) -> &'a [SharedEngine] {
        match self.config().engines.as_slice() {
            [] => chain,
            own => own,
        }
    }

    /// The routing options that apply to this cluster: roots in other clusters are left out.
    #[must_use]
    pub fn route_options(&self, chain: &[SharedEngine], options: &RouteOptions) -> RouteOptions {
        let mut options = options.clone();
        let own = self.own();
        let is_own =
            |guid: &Guid| own.node_by_guid(*guid).is_some() || own.port_by_guid(*guid).is_some();
        options.roots.retain(is_own);
        // The engine recognises a fat tree by its leaves. A cable to another cluster must not make a switch a leaf.
        if chain.contains(&FTREE) && options.compute_nodes.is_empty() {
            let ports = own.nodes().iter().filter(|node| !node.type_.is_switch());
            let ports = ports.flat_map(|node| node.end_ports());
            options.compute_nodes = ports.map(|(_, port)| port.guid).collect();
        }
        options
    }
}

/// A transit port whose cable is up.
struct Exit<'a> {
    place: SwitchPort,
    /// The router that represents the other clusters.
    end: PortRef,
    /// The lines about this port.
    lines: Vec<&'a super::config::Transit>,
}

impl Exit<'_> {
    fn leads_to(&self, cluster: &str) -> bool {
        self.lines.iter().any(|line| line.leads_to(cluster))
    }
}

fn exits(view: &ClusterView) -> Vec<Exit<'_>> {
    let exits = view.remote_routers().iter().map(|remote| {
        let lines = view.config().transit.iter();
        Exit {
            place: remote.place,
            end: remote.end,
            lines: lines.filter(|line| line.place.is(&remote.place)).collect(),
        }
    });
    exits.filter(|exit| !exit.lines.is_empty()).collect()
}
