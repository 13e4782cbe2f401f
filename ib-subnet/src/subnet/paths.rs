//! Derives directed routes from cables.
//!
//! A search goes breadth-first from the own node, ports in order. Each node so gets, of its shortest routes, the one whose
//! list of ports comes first: the result depends on the cables alone. After a loss only those nodes whose routes used a
//! lost cable lack one, and only those near a new cable can have a better one. Their routes are found as in Dijkstra's
//! algorithm, the first in that order first, and are the same as those of a search.

use alloc::{
    collections::{BTreeSet, BinaryHeap, VecDeque},
    vec,
    vec::Vec,
};
use core::{cmp::Reverse, mem};

use ib_smp::DrPath;
use ib_wire::PortNum;

use super::{NodeId, PathChanges, PortId, Subnet};
use crate::{SubnetNode, route::Reach};

/// Most differences from the routes of a search that are noted. Beyond it, a new search costs hardly more.
const MAX_NOTED: usize = 1024;

/// Divisor of the number of nodes: if a larger part of them lacks a route, a new search costs less.
const MANY: usize = 4;

/// The differences of the directed routes from those that a search would find, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    /// True if the next refresh has to do anything.
    stale: bool,
    /// True if other differences than the noted ones are possible, so that a search is necessary.
    unknown: bool,
    /// True if a route may begin with a LID-routed part. Then the length of its directed part does not show how far a node
    /// is.
    has_starts: bool,
    /// Nodes to which the last cable of the route was lost.
    lost: Vec<NodeId>,
    /// Ports from which a new cable leads to a node by a better route than before.
    gained: Vec<PortId>,
    /// Nodes to which no cables led when the routes were derived last: the stored routes are broken.
    cut_off: BTreeSet<NodeId>,
}

impl Paths {
    /// Makes the next refresh derive routes.
    pub(super) const fn set_stale(&mut self) {
        self.stale = true;
    }

    /// Records that routes were changed in a way that nothing noted describes.
    pub(super) fn lose_track(&mut self) {
        self.unknown = true;
        self.lost.clear();
        self.gained.clear();
    }

    /// Records that routes may begin with a LID-routed part.
    pub(super) fn permit_starts(&mut self) {
        self.has_starts = true;
        self.lose_track();
    }

    /// Records that the last cable on the route to a node was lost.
    pub(super) fn note_lost(&mut self, id: NodeId) {
        if self.has_room() {
            self.lost.push(id);
        }
    }

    /// Records that the cable at a port leads to a node by a better route.
    fn note_gained(&mut self, via: PortId) {
        if self.has_room() {
            self.gained.push(via);
        }
    }

    fn has_room(&mut self) -> bool {
        if self.lost.len().saturating_add(self.gained.len()) >= MAX_NOTED {
            self.lose_track();
        }
        !self.unknown
    }

    /// Records that a node is not part of the subnet any more.
    pub(super) fn forget(&mut self, id: NodeId) {
        self.cut_off.remove(&id);
    }

    pub(super) fn is_cut_off(&self, id: NodeId) -> bool {
        self.cut_off.contains(&id)
    }
}

/// A route to a node. The first one in this order is that of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    path: DrPath,
    via: PortId,
    to: NodeId,
}

/// The nodes to which a route is looked for.
struct Open {
    ids: Vec<NodeId>,
    /// True for the nodes in `ids` that have no new route yet, by number.
    is_open: Vec<bool>,
}

impl Open {
    /// Adds a node, if it is not there yet.
    fn add(&mut self, id: NodeId) {
        if let Some(is_open) = self.is_open.get_mut(id.index())
            && !mem::replace(is_open, true)
        {
            self.ids.push(id);
        }
    }

    fn contains(&self, id: NodeId) -> bool {
        self.is_open.get(id.index()) == Some(&true)
    }

    fn close(&mut self, id: NodeId) {
        if let Some(is_open) = self.is_open.get_mut(id.index()) {
            *is_open = false;
        }
    }
}

impl Subnet {
    /// Derives the directed routes from the cables again if a cable was removed since the last time, or if a node was
    /// connected to which no cables led. They are then those of a search, breadth-first from the own node, ports in order.
    pub fn refresh_paths(&mut self) -> PathChanges {
        let mut changes = PathChanges::default();
        if !mem::take(&mut self.paths.stale) || self.own.is_none() {
            return changes;
        }
        self.note_change();
        let open = if self.paths.unknown {
            None
        } else {
            self.nodes_without_route()
        };
        changes.moved = match open {
            Some(open) => self.repair_paths(open),
            None => self.search_paths(),
        };
        changes.unreachable.extend(&self.paths.cut_off);
        changes
    }

    /// Returns true if no cables led to a node when the routes were derived last.
    pub(crate) fn is_cut_off(&self, id: NodeId) -> bool {
        self.paths.is_cut_off(id)
    }

    /// Records the cable from a port to another for routes: the node there may now have a better one.
    pub(super) fn note_cable(&mut self, via: PortId, to: PortId) {
        if self.paths.is_cut_off(to.node) {
            self.paths.set_stale();
        }
        if !self.paths.unknown && self.is_gain(via, to) {
            self.paths.note_gained(via);
        }
    }

    /// Records that a cable from a port to another is removed. Routes to switches that lead over other cables stay as they
    /// are.
    pub(super) fn note_removed_cable(&mut self, via: PortId, to: PortId) {
        let far = self.node(to.node);
        if far.is_some_and(|far| far.found_via() == Some(via)) {
            self.paths.note_lost(to.node);
            self.paths.set_stale();
        } else if !far.is_some_and(SubnetNode::is_switch) {
            self.paths.set_stale();
        }
    }

    /// Returns true if the cable from a port to another changes a route to the node there.
    fn is_gain(&self, via: PortId, to: PortId) -> bool {
        let ends = || {
            let (here, far) = (self.node(via.node)?, self.node(to.node)?);
            let is_used = here.is_switch() || self.own == Some(via);
            Some(is_used && !self.is_own(to.node) && far.gains_behind(here, via.port, to.port))
        };
        ends().unwrap_or(false)
    }

    fn is_own(&self, id: NodeId) -> bool {
        self.own.is_some_and(|own| own.node == id)
    }

    /// The routes that a search finds. Returns the nodes whose routes have changed.
    fn search_paths(&mut self) -> Vec<NodeId> {
        let mut moved = Vec::new();
        let Some(own) = self.own else {
            return moved;
        };
        let mut reached = vec![false; self.nodes.len()];
        if let Some(own) = reached.get_mut(own.node.index()) {
            *own = true;
        }
        let mut queue = VecDeque::from([own.node]);
        let mut cables: Vec<(PortNum, PortId)> = Vec::new();
        while let Some(id) = queue.pop_front() {
            let Some(node) = self.node(id) else { continue };
            let forwards = node.is_switch();
            if !forwards && id != own.node {
                continue;
            }
            cables.clear();
            let from = node
                .ports()
                .filter(|&(port, _)| forwards || port == own.port);
            cables.extend(from.filter_map(|(port, record)| Some((port, record.peer()?))));
            for &(port, peer) in &cables {
                let via = PortId { node: id, port };
                let Some(far) = self.node(peer.node) else {
                    continue;
                };
                let is_reached = reached.get(peer.node.index()) == Some(&true);
                if far.is_switch() && is_reached {
                    continue;
                }
                let is_kept = self
                    .node(id)
                    .is_some_and(|here| far.is_behind(here, port, peer.port));
                // Only the routes that change are made anew.
                let next = match is_kept {
                    true => None,
                    false => match self.reach_behind(via) {
                        Some(next) => Some(next),
                        None => continue,
                    },
                };
                let Some(far) = self.route_mut(peer.node) else {
                    continue;
                };
                if let Some(next) = next
                    && !far.is_switch()
                    && peer.node != own.node
                    && let Some(port) = far.port_mut(peer.port)
                {
                    port.set_reach(next);
                }
                if is_reached {
                    continue;
                }
                match next {
                    Some(next) if far.set_reach(next, Some(via)) => moved.push(peer.node),
                    Some(_) => {}
                    None => far.set_found_via(via),
                }
                if let Some(reached) = reached.get_mut(peer.node.index()) {
                    *reached = true;
                }
                queue.push_back(peer.node);
            }
        }
        let nodes = (0..).map(NodeId).zip(&self.nodes).zip(reached);
        let cut_off = nodes.filter(|((_, node), reached)| node.is_some() && !reached);
        self.paths.cut_off = cut_off.map(|((id, _), _)| id).collect();
        self.paths.lost.clear();
        self.paths.gained.clear();
        self.paths.unknown = self.paths.has_starts;
        moved
    }

    /// The nodes that lack a route: those behind lost cables, and those that lacked one before. `None` if they are many.
    fn nodes_without_route(&self) -> Option<Open> {
        let mut open = Open {
            ids: Vec::new(),
            is_open: vec![false; self.nodes.len()],
        };
        for &id in self.paths.lost.iter().chain(&self.paths.cut_off) {
            if self.node(id).is_some() {
                open.add(id);
            }
        }
        let mut next = 0;
        while let Some(&id) = open.ids.get(next) {
            next = next.saturating_add(1);
            if open.ids.len() > self.num_nodes / MANY {
                return None;
            }
            let Some(node) = self.node(id).filter(|node| node.is_switch()) else {
                continue;
            };
            for (port, record) in node.ports() {
                let via = PortId { node: id, port };
                let peer = record
                    .peer()
                    .and_then(|peer| Some((peer, self.node(peer.node)?)));
                if let Some((peer, far)) = peer
                    && far.found_via() == Some(via)
                {
                    open.add(peer.node);
                }
            }
        }
        Some(open)
    }

    /// Gives the `open` nodes new routes, and all nodes to which new cables lead better ones. Returns the nodes whose
    /// routes have changed.
    fn repair_paths(&mut self, mut open: Open) -> Vec<NodeId> {
        let mut queue = BinaryHeap::new();
        self.paths.lost.clear();
        for via in mem::take(&mut self.paths.gained) {
            if !open.contains(via.node) {
                queue.extend(self.extend_path(via, &open).map(Reverse));
            }
        }
        let mut ends = Vec::new();
        for &id in &open.ids {
            ends.clear();
            let ports = self.node(id).into_iter().flat_map(SubnetNode::ports);
            ends.extend(ports.filter_map(|(_, record)| record.peer()));
            ends.retain(|via| !open.contains(via.node));
            // A neighbor that gets a better route itself offers its cables again.
            let routes = ends.iter().filter_map(|&via| self.extend_path(via, &open));
            queue.extend(routes.min().map(Reverse));
        }
        let mut moved = Vec::new();
        while let Some(Reverse(next)) = queue.pop() {
            let Some(node) = self.route_mut(next.to) else {
                continue;
            };
            if !open.contains(next.to) && node.path() <= next.path {
                continue;
            }
            open.close(next.to);
            let reach = Reach {
                start: None,
                path: next.path,
            };
            if node.set_reach(reach, Some(next.via)) {
                moved.push(next.to);
            }
            if !node.is_switch() {
                continue;
            }
            let cables = node.ports().filter(|(_, record)| record.peer().is_some());
            let ports: Vec<PortNum> = cables.map(|(port, _)| port).collect();
            for port in ports {
                let via = PortId {
                    node: next.to,
                    port,
                };
                queue.extend(self.extend_path(via, &open).map(Reverse));
            }
        }
        let without = open.ids.iter().copied();
        self.paths.cut_off = without.filter(|&id| open.contains(id)).collect();
        moved
    }

    /// The route over the cable at a port of a node that has its route. `None` if the node there has a better one or is the
    /// own node, or if none leads on from here. The port of a CA or router at the end gets the route in any case.
    fn extend_path(&mut self, via: PortId, open: &Open) -> Option<Candidate> {
        let peer = self.port(via)?.peer()?;
        let here = self.node(via.node)?;
        if self.is_own(peer.node) || !(here.is_switch() || self.own == Some(via)) {
            return None;
        }
        let is_gain = self.is_gain(via, peer);
        if !is_gain && !open.contains(peer.node) {
            return None;
        }
        let reach = self.reach_behind(via)?;
        let far = self.route_mut(peer.node)?;
        if !far.is_switch()
            && let Some(port) = far.port_mut(peer.port)
        {
            port.set_reach(reach);
        }
        Some(Candidate {
            path: reach.path,
            via,
            to: peer.node,
        })
    }
}

#[cfg(test)]
mod tests;
