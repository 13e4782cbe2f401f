//! Checks all configurations against each other and against the fabric, which no single cluster can do.

use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};

use ib_wire::{Guid, Lid};

use super::{
    config::{ClusterConfig, Declaration, SwitchPort},
    fault::{ClusterFault, ClusterFaultKind as Kind},
    route::{ClusterRoutes, route},
    view::{ClusterView, cable_is_up, reach, starts},
};
use crate::{
    engine::SharedEngine,
    error::RouteError,
    fabric::{Fabric, PortRef},
    index::{IdxVec, SwitchIdx},
    lid::LidOptions,
    options::RouteOptions,
};

/// The clusters of a fabric, whose configurations agree.
#[derive(Clone, Debug)]
pub struct Clusters {
    views: Vec<ClusterView>,
}

impl Clusters {
    /// Checks the configurations against the fabric and against each other.
    ///
    /// # Errors
    /// Every fault, not only the first: see [`ClusterFaultKind`](super::ClusterFaultKind). Consequences of transit and
    /// multicast are checked only if the boundaries are correct.
    pub fn validate(fabric: &Fabric, configs: &[ClusterConfig]) -> Result<Self, Vec<ClusterFault>> {
        let mut validator = Validator::new(fabric, configs);
        validator.check_names(|_| true);
        validator.check_ranges();
        validator.check_places(|_| true);
        validator.assign_owners();
        if validator.faults.is_empty() {
            validator.check_boundaries();
        }
        if validator.faults.is_empty() {
            validator.check_transit();
            validator.check_multicast();
        }
        if !validator.faults.is_empty() {
            return Err(validator.faults);
        }
        let views = configs
            .iter()
            .filter_map(|config| ClusterView::discover(fabric, config).ok())
            .collect();
        Ok(Self { views })
    }

    /// The clusters, in the order of their configurations.
    #[must_use]
    pub fn views(&self) -> &[ClusterView] {
        &self.views
    }

    /// The declarations of the other clusters for the cluster at place `index`, with the LIDs in use according to a
    /// database of all devices.
    #[must_use]
    pub fn declared_to(&self, index: usize, database: &BTreeMap<Guid, Lid>) -> Vec<Declaration> {
        let others = self.views.iter().enumerate();
        let others = others.filter(|&(at, _)| at != index);
        others
            .map(|(_, view)| view.config().declaration().with_database(database))
            .collect()
    }

    /// Routes every cluster from its own knowledge: see [`route()`]. LIDs are taken from the database of `lids` if it
    /// has them.
    ///
    /// # Errors
    /// The name of the first cluster that cannot be routed, and the reason.
    pub fn route(
        &self,
        chain: &[SharedEngine],
        no_fallback: bool,
        lids: &LidOptions,
        options: &RouteOptions,
    ) -> Result<Vec<ClusterRoutes>, (String, RouteError)> {
        let all = self.views.iter().enumerate();
        all.map(|(index, view)| {
            let others = self.declared_to(index, &lids.database);
            route(view, &others, chain, no_fallback, lids, options)
                .map_err(|error| (view.config().name.clone(), error))
        })
        .collect()
    }
}

/// Checks the configuration at place `own` as the manager of that cluster can by itself: against the cluster's own part
/// of the fabric, and against the declarations of the others.
///
/// # Errors
/// Every fault, not only the first.
pub fn validate_own(
    part: &Fabric,
    configs: &[ClusterConfig],
    own: usize,
) -> Result<(), Vec<ClusterFault>> {
    let mut validator = Validator::new(part, configs);
    validator.check_names(|index| index == own);
    validator.check_ranges();
    validator.check_places(|index| index == own);
    if let Some(from) = configs.get(own) {
        for place in &from.boundary {
            if validator.across(place).is_some() {
                let (switch, port) = (place.switch, place.port);
                validator.report(own, place.line, Kind::BoundaryInside { switch, port });
            }
        }
        for (_, to) in validator.each().filter(|&(index, _)| index != own) {
            if !from.transit.iter().any(|way| way.leads_to(&to.name)) {
                let to = to.name.clone();
                validator.report(own, from.line, Kind::NoTransit { to });
            }
        }
    }
    match validator.faults.is_empty() {
        true => Ok(()),
        false => Err(validator.faults),
    }
}

/// The places in the list of the clusters that are configured: what others declare of them is left out.
///
/// # Errors
/// Declarations with other LIDs than the configuration of that name has.
pub fn without_declarations(configs: &[ClusterConfig]) -> Result<Vec<usize>, Vec<ClusterFault>> {
    let (mut kept, mut faults) = (Vec::new(), Vec::new());
    for (index, config) in configs.iter().enumerate() {
        let mut all = configs.iter().filter(|_| config.is_declaration());
        let meant = all.find(|other| !other.is_declaration() && other.name == config.name);
        match meant {
            None => kept.push(index),
            Some(meant) if (meant.first, meant.last) != (config.first, config.last) => {
                faults.push(ClusterFault {
                    cluster: config.name.clone(),
                    index,
                    line: config.line,
                    kind: Kind::DeclaredOtherwise {
                        first: meant.first,
                        last: meant.last,
                    },
                });
            }
            Some(_) => {}
        }
    }
    match faults.is_empty() {
        true => Ok(kept),
        false => Err(faults),
    }
}

struct Validator<'a> {
    fabric: &'a Fabric,
    configs: &'a [ClusterConfig],
    faults: Vec<ClusterFault>,
    /// The configuration that each switch belongs to.
    cluster_of: IdxVec<SwitchIdx, Option<usize>>,
}

impl<'a> Validator<'a> {
    fn new(fabric: &'a Fabric, configs: &'a [ClusterConfig]) -> Self {
        Self {
            fabric,
            configs,
            faults: Vec::new(),
            cluster_of: IdxVec::filled(fabric.num_switches(), None),
        }
    }

    fn report(&mut self, index: usize, line: usize, kind: Kind) {
        let cluster = self.name(index);
        self.faults.push(ClusterFault {
            cluster,
            index,
            line,
            kind,
        });
    }

    fn name(&self, index: usize) -> String {
        let config = self.configs.get(index);
        config.map_or_else(String::new, |config| config.name.clone())
    }

    /// All configurations with their places in the list.
    fn each(&self) -> impl Iterator<Item = (usize, &'a ClusterConfig)> + use<'a> {
        self.configs.iter().enumerate()
    }

    /// Every cluster has a name of its own, those that `chosen` picks a place, and transit leads to others.
    fn check_names(&mut self, chosen: impl Fn(usize) -> bool) {
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for (index, config) in self.each() {
            if !names.insert(&config.name) {
                self.report(index, config.line, Kind::NameTwice);
            }
            if config.is_declaration() && chosen(index) {
                self.report(index, config.line, Kind::NoSwitch);
            }
        }
        for (index, config) in self.each().filter(|&(index, _)| chosen(index)) {
            for transit in &config.transit {
                for name in &transit.to {
                    if *name == config.name || !names.contains(name.as_str()) {
                        let name = name.clone();
                        self.report(index, transit.place.line, Kind::UnknownCluster { name });
                    }
                }
            }
        }
    }

    fn check_ranges(&mut self) {
        for (index, config) in self.each() {
            for (_, other) in self.each().take(index) {
                let first = config.first.max(other.first);
                let last = config.last.min(other.last);
                if first <= last {
                    let other = other.name.clone();
                    self.report(
                        index,
                        config.line,
                        Kind::RangesOverlap { other, first, last },
                    );
                }
            }
        }
    }

    /// Every GUID is a switch's, every port there, and transit and multicast take boundary ports.
    fn check_places(&mut self, chosen: impl Fn(usize) -> bool) {
        for (index, config) in self.each().filter(|&(index, _)| chosen(index)) {
            for &(guid, line) in &config.switches {
                if self.fabric.switch_by_guid(guid).is_none() {
                    self.report(index, line, Kind::UnknownSwitch { guid });
                }
            }
            for place in &config.boundary {
                let (switch, port) = (place.switch, place.port);
                let Some(end) = self.end_of(place) else {
                    self.report(index, place.line, Kind::UnknownSwitch { guid: switch });
                    continue;
                };
                let num_ports = self.fabric.node(end.node).num_ports();
                if port.0 > num_ports || port.0 == 0 {
                    let kind = Kind::NoSuchPort {
                        switch,
                        port,
                        num_ports,
                    };
                    self.report(index, place.line, kind);
                }
                let peer = self.fabric.port(end).and_then(|port| port.peer);
                if peer.is_some_and(|peer| self.fabric.switch_of(peer.node).is_none()) {
                    self.report(index, place.line, Kind::BoundaryToHost { switch, port });
                }
            }
            let bounded = |place: &SwitchPort| config.ends_at(place.switch, place.port);
            for place in config.transit.iter().map(|transit| &transit.place) {
                let (switch, port) = (place.switch, place.port);
                if !bounded(place) {
                    self.report(index, place.line, Kind::TransitNotBoundary { switch, port });
                }
            }
            for place in config.multicast.iter().filter(|place| !bounded(place)) {
                let (switch, port) = (place.switch, place.port);
                self.report(
                    index,
                    place.line,
                    Kind::MulticastNotBoundary { switch, port },
                );
            }
        }
    }

    /// Assigns each switch to its cluster. No cluster extends across a cable that one side configures as its boundary,
    /// so that a one-sided boundary results in one fault and not in many.
    fn assign_owners(&mut self) {
        let cut: BTreeSet<PortRef> = self
            .each()
            .flat_map(|(_, config)| &config.boundary)
            .filter_map(|place| self.end_of(place))
            .flat_map(|end| [Some(end), self.fabric.port(end).and_then(|port| port.peer)])
            .flatten()
            .collect();
        for (index, config) in self.each() {
            let nodes = reach(self.fabric, starts(self.fabric, config), |end| {
                cut.contains(&end)
            });
            for switch in nodes.iter().filter_map(|&node| self.fabric.switch_of(node)) {
                match self.cluster_of[switch] {
                    None => self.cluster_of[switch] = Some(index),
                    Some(other) => {
                        let switch = self.fabric.switch_guid(switch);
                        let other = self.name(other);
                        self.report(index, config.line, Kind::SharedSwitch { switch, other });
                        // All other switches that both clusters reach would give the same fault.
                        break;
                    }
                }
            }
        }
    }

    /// Both ends of a boundary cable are boundaries, of two clusters.
    fn check_boundaries(&mut self) {
        for (index, config) in self.each() {
            for place in &config.boundary {
                let (switch, port) = (place.switch, place.port);
                let Some((peer, there)) = self.across(place) else {
                    continue;
                };
                let kind = match self.cluster_of[there] {
                    None => Kind::Unclaimed {
                        switch: self.fabric.switch_guid(there),
                    },
                    Some(other) if other == index => Kind::BoundaryInside { switch, port },
                    Some(other) => {
                        let guid = self.fabric.switch_guid(there);
                        let theirs = self.configs.get(other);
                        if theirs.is_some_and(|theirs| theirs.ends_at(guid, peer.port)) {
                            continue;
                        }
                        Kind::OneSided {
                            switch,
                            port,
                            peer: guid,
                            peer_port: peer.port,
                            other: self.name(other),
                        }
                    }
                };
                self.report(index, place.line, kind);
            }
        }
        // A part of the fabric that no cable joins to any cluster.
        let mut switches = self.cluster_of.indices();
        let unclaimed = switches.find(|&switch| self.cluster_of[switch].is_none());
        if let Some(switch) = unclaimed.filter(|_| self.faults.is_empty()) {
            let switch = self.fabric.switch_guid(switch);
            let line = self.configs.first().map_or(0, |config| config.line);
            self.report(0, line, Kind::Unclaimed { switch });
        }
    }

    /// To every other cluster there is transit, and it comes nearer with every cluster on the path.
    fn check_transit(&mut self) {
        for (target, config) in self.each() {
            let next: Vec<BTreeSet<usize>> = self
                .each()
                .map(|(_, from)| self.next_clusters(from, &config.name))
                .collect();
            for (index, from) in self.each().filter(|&(index, _)| index != target) {
                if next.get(index).is_some_and(BTreeSet::is_empty) {
                    let to = config.name.clone();
                    self.report(index, from.line, Kind::NoTransit { to });
                }
            }
            if let Some(cycle) = cycle(&next, target) {
                let through = cycle.iter().map(|&index| self.name(index)).collect();
                let index = cycle.first().copied().unwrap_or(target);
                let line = self.configs.get(index).map_or(0, |config| config.line);
                let to = config.name.clone();
                self.report(index, line, Kind::TransitCycle { to, through });
            }
        }
    }

    /// The clusters beyond the ports by which LIDs of `target` leave.
    fn next_clusters(&self, from: &ClusterConfig, target: &str) -> BTreeSet<usize> {
        let transits = from
            .transit
            .iter()
            .filter(|transit| transit.leads_to(target));
        transits
            .filter_map(|transit| {
                let end = self.end_of(&transit.place)?;
                let (_, there) = self.across(&transit.place)?;
                self.cluster_of[there].filter(|_| cable_is_up(self.fabric, end))
            })
            .collect()
    }

    /// Joints of multicast trees are named by both sides and make a forest of clusters.
    fn check_multicast(&mut self) {
        let mut tree_of: BTreeMap<usize, usize> =
            self.each().map(|(index, _)| (index, index)).collect();
        let mut done: BTreeSet<PortRef> = BTreeSet::new();
        for (index, config) in self.each() {
            for place in &config.multicast {
                let (switch, port) = (place.switch, place.port);
                let Some((peer, there)) = self.across(place) else {
                    continue;
                };
                let Some(other) = self.cluster_of[there] else {
                    continue;
                };
                let back = (self.fabric.switch_guid(there), peer.port);
                let theirs = self
                    .configs
                    .get(other)
                    .map(|theirs| theirs.multicast.iter());
                let both = theirs
                    .into_iter()
                    .flatten()
                    .any(|place| (place.switch, place.port) == back);
                if !both {
                    self.report(index, place.line, Kind::MulticastOneSided { switch, port });
                    continue;
                }
                if done.contains(&peer) || !self.end_of(place).is_some_and(|end| done.insert(end)) {
                    continue;
                }
                let (one, two) = (tree_of.get(&index).copied(), tree_of.get(&other).copied());
                if one == two {
                    self.report(index, place.line, Kind::MulticastCycle { switch, port });
                }
                for tree in tree_of.values_mut().filter(|tree| Some(**tree) == two) {
                    *tree = one.unwrap_or(*tree);
                }
            }
        }
    }

    fn end_of(&self, place: &SwitchPort) -> Option<PortRef> {
        let node = self.fabric.switches()[self.fabric.switch_by_guid(place.switch)?];
        Some(PortRef {
            node,
            port: place.port,
        })
    }

    /// The other end of a boundary cable, and the switch there.
    fn across(&self, place: &SwitchPort) -> Option<(PortRef, SwitchIdx)> {
        let peer = self.fabric.port(self.end_of(place)?)?.peer?;
        Some((peer, self.fabric.switch_of(peer.node)?))
    }
}

/// A cycle in a graph of clusters, beside its sink `target`.
fn cycle(next: &[BTreeSet<usize>], target: usize) -> Option<Vec<usize>> {
    // What leads nowhere but to the target and to what is safe is safe.
    let mut safe = BTreeSet::from([target]);
    loop {
        let found = next.iter().enumerate().find(|(index, next)| {
            !safe.contains(index) && next.iter().all(|next| safe.contains(next))
        });
        match found {
            Some((index, _)) => safe.insert(index),
            None => break,
        };
    }
    let unsafe_next = |from: usize| {
        let successors = next.get(from).into_iter().flatten();
        successors.copied().find(|next| !safe.contains(next))
    };
    // From what is not safe, one always comes to what is not safe, and so at last to a cycle.
    let mut walk = Vec::from([(0..next.len()).find(|index| !safe.contains(index))?]);
    loop {
        let next = unsafe_next(*walk.last()?)?;
        if let Some(start) = walk.iter().position(|&seen| seen == next) {
            return walk.get(start..).map(ToOwned::to_owned);
        }
        walk.push(next);
    }
}
