//! Routes one cluster on what its manager knows.

use alloc::vec::Vec;

use ib_wire::{Guid, Lmc, addr::LidRange};

use super::{
    config::{Declaration, Place},
    territory::ClusterView,
    transit,
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

/// The LIDs and tables of one cluster. Its forwarding tables answer every LID that the others declare.
#[derive(Clone, Debug)]
pub struct ClusterRoutes {
    /// The LIDs of the cluster's own ports, on [`ClusterView::own`].
    pub lids: LidMap,
    /// The tables, by the switches of [`ClusterView::own`].
    pub routes: Routes,
    /// Engines that could not route it, and why.
    pub failed: Vec<(SharedEngine, RouteError)>,
    /// How many LIDs of others leave by each transit port whose cable is up.
    pub transit: Vec<(Place, usize)>,
}

/// Hands out the cluster's LIDs, deals those of the others to its transit ports, and routes all of them.
///
/// The engines and the LMC of the cluster's configuration come before those of the arguments; a root in
/// `options` that is in another cluster does not count here.
///
/// # Errors
/// LIDs that do not suffice, and what the engines complain about.
pub fn route(
    territory: &ClusterView,
    others: &[Declaration],
    chain: &[SharedEngine],
    no_fallback: bool,
    lids: &LidOptions,
    options: &RouteOptions,
) -> Result<ClusterRoutes, RouteError> {
    let config = territory.config();
    let own = territory.own();
    let lids = LidMap::assign(
        own,
        &LidOptions {
            lmc: config.lmc.unwrap_or(lids.lmc),
            first: config.first,
            last: config.last,
            ..lids.clone()
        },
    )?;
    let ways: Vec<_> = ways(territory);
    let dealt = transit::deal(others, ways.len(), |way, other| {
        ways.get(way).is_some_and(|way| way.leads_to(&other.name))
    });
    let mut counts: Vec<(Place, usize)> = ways.iter().map(|way| (way.place, 0)).collect();
    let mut ranges: Vec<(PortRef, LidRange)> = Vec::with_capacity(dealt.len());
    for (&lid, &way) in &dealt {
        let range = LidRange::try_new(lid, Lmc::ZERO).ok();
        if let (Some(way), Some(range)) = (ways.get(way), range) {
            ranges.push((way.end, range));
        }
        if let Some((_, count)) = counts.get_mut(way) {
            *count = count.saturating_add(1);
        }
    }
    let own_ranges = lids.destinations().iter();
    ranges.extend(own_ranges.map(|port| (port.end, port.range)));
    let all = LidMap::of_ranges(territory.with_outside(), ranges);

    let chain = if config.engines.is_empty() {
        chain
    } else {
        &config.engines
    };
    let options = own_options(territory, chain, options);
    let Chosen { routes, failed } =
        chain::route(chain, no_fallback, territory.with_outside(), &all, &options)?;
    Ok(ClusterRoutes {
        lids,
        routes,
        failed,
        transit: counts,
    })
}

/// A transit port whose cable is up.
struct Way<'a> {
    place: Place,
    /// The router that stands for the outside.
    end: PortRef,
    /// The lines about this port.
    lines: Vec<&'a super::config::Transit>,
}

impl Way<'_> {
    fn leads_to(&self, cluster: &str) -> bool {
        self.lines.iter().any(|line| line.leads_to(cluster))
    }
}

fn ways(territory: &ClusterView) -> Vec<Way<'_>> {
    let ways = territory.outside().iter().map(|outside| {
        let lines = territory.config().transit.iter();
        Way {
            place: outside.place,
            end: outside.end,
            lines: lines.filter(|line| line.place.is(&outside.place)).collect(),
        }
    });
    ways.filter(|way| !way.lines.is_empty()).collect()
}

/// The caller's options as far as they are about this cluster.
fn own_options(
    territory: &ClusterView,
    chain: &[SharedEngine],
    options: &RouteOptions,
) -> RouteOptions {
    let mut options = options.clone();
    let own = territory.own();
    let is_own =
        |guid: &Guid| own.node_by_guid(*guid).is_some() || own.port_by_guid(*guid).is_some();
    options.roots.retain(is_own);
    // A fat tree is known by its leaves: a cable to the outside makes none of a switch.
    if chain.contains(&FTREE) && options.compute_nodes.is_empty() {
        let ports = own.nodes().iter().filter(|node| !node.type_.is_switch());
        let ports = ports.flat_map(|node| node.end_ports());
        options.compute_nodes = ports.map(|(_, port)| port.guid).collect();
    }
    options
}
