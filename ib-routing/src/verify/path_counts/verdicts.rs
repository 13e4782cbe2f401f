//! Cycles of dependencies, kept up to date: one graph, with a topological order as the proof that it has none.

use alloc::{sync::Arc, vec::Vec};

use crate::{
    algo::{
        channel_graph::DependencyLayout,
        dependency::{DependencyCounts, DependencyGraph, Vertex},
        lanes::up_down_order,
        shortest_path_dag::senders,
    },
    fabric::Fabric,
    index::ChannelIdx,
    lid::LidMap,
    repair::lanes::{Lanes, Protected},
};

/// A dependency: two channels and the lane.
pub(crate) type Edge = (ChannelIdx, ChannelIdx, u8);

/// The dependencies that came into use or went out of it, by kind of traffic. A dependency can be in both lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edges {
    pub(super) added: [Vec<Edge>; 3],
    pub(super) removed: [Vec<Edge>; 3],
}

impl Edges {
    pub(crate) fn clear(&mut self) {
        for edges in self.added.iter_mut().chain(&mut self.removed) {
            edges.clear();
        }
    }
}

/// The verdict for the first kind of traffic, for the first two together, and for all three together.
#[derive(Clone, Debug)]
pub(super) struct Verdicts {
    layout: Arc<DependencyLayout>,
    /// The order of channels from which a lane without dependencies starts.
    order: Arc<[ChannelIdx]>,
    /// Number of verdicts, from the first on, that no cycle exists. What all kinds of traffic together do not form, fewer
    /// do not form either.
    free: usize,
    /// The dependencies of the first `free` kinds of traffic.
    graph: Lanes,
    /// A cycle for each of the other verdicts.
    cycles: [Vec<Vertex>; 3],
}

impl Verdicts {
    /// Nothing is found yet.
    pub(super) fn new(fabric: &Fabric, lids: &LidMap) -> Self {
        let layout = Arc::new(DependencyLayout::new(fabric));
        let order = Arc::from(up_down_order(fabric, &senders(fabric, lids)));
        Self {
            graph: Lanes::unprotected(&layout, &order),
            layout,
            order,
            free: 0,
            cycles: [const { Vec::new() }; 3],
        }
    }

    /// Finds all verdicts by the dependencies of each kind of traffic.
    pub(super) fn find(&mut self, users: &[DependencyCounts; 3]) {
        self.free = 0;
        self.graph = Lanes::unprotected(&self.layout, &self.order);
        for kinds in (1..=users.len()).rev() {
            let users = users.get(..kinds).unwrap_or_default();
            let found = DependencyCounts::graph(users).map(|graph| graph.order());
            match found {
                Some(Ok(topological)) => {
                    self.free = kinds;
                    self.graph = self.lanes(&topological, users, Protected::All);
                    return;
                }
                Some(Err(cycle)) => {
                    if let Some(known) = self.cycles.get_mut(kinds - 1) {
                        *known = cycle;
                    }
                }
                None => return,
            }
        }
    }

    /// Finds the verdicts from number `same` on, after an [`update`](Self::update) by `edges` that returned this number.
    pub(super) fn find_from(&mut self, same: usize, users: &[DependencyCounts; 3], edges: &Edges) {
        if same < self.free && !self.lower(users, edges) {
            return self.find(users);
        }
        // The neighbors of a cycle that is gone often form another one, so the search starts there.
        for level in same..users.len() {
            let users_of_level = users.get(..=level).unwrap_or_default();
            let Some(cycle) = self.cycles.get_mut(level).filter(|_| level >= self.free) else {
                continue;
            };
            if is_cycle_of(users_of_level, cycle) {
                continue;
            }
            match DependencyCounts::cycle_near(users_of_level, cycle, |_| false) {
                Some(other) => *cycle = other,
                None => return self.find(users),
            }
        }
    }

    /// Takes kinds of traffic out of the graph, the last first, until the rest has no cycle, after an
    /// [`update`](Self::update) found one. The cycles of those that were taken out are known then. Returns false if a cycle was not
    /// found again.
    fn lower(&mut self, users: &[DependencyCounts; 3], edges: &Edges) -> bool {
        while let Err((_, refused)) = self.admit_added(users, edges) {
            let (from, to, lane) = refused;
            let Some(level) = self.free.checked_sub(1) else {
                return false;
            };
            let start = Vertex {
                channel: from,
                lane,
            };
            let users_of_level = users.get(..=level).unwrap_or_default();
            let Some(cycle) = DependencyCounts::cycle_near(users_of_level, &[start], |_| false)
            else {
                return false;
            };
            if let Some(known) = self.cycles.get_mut(level) {
                *known = cycle;
            }
            self.free = level;
            self.graph.reconsider(lane, from, to);
            if let Some((last, left)) = users_of_level.split_last() {
                last.for_each_only(left, |from, to, lane| self.graph.remove(lane, from, to));
            }
        }
        true
    }

    /// Lanes with the dependencies of some kinds of traffic, all of which lead forward in an order.
    fn lanes(
        &self,
        topological: &[Vertex],
        users: &[DependencyCounts],
        protected: Protected,
    ) -> Lanes {
        let mut lanes = Lanes::ordered(&self.layout, &self.order, topological, protected);
        for users in users {
            users.for_each(|from, to, lane, _| {
                lanes.admit(1 << lane, from, to);
            });
        }
        lanes
    }

    /// Takes in changed dependencies. Returns the number of verdicts, from the first on, that are the same as before; the
    /// others may have changed.
    pub(super) fn update(&mut self, users: &[DependencyCounts; 3], edges: &Edges) -> usize {
        let free = self.free;
        for edge in edges.removed.iter().take(free).flatten() {
            if !is_used(users, free, edge) {
                let &(from, to, lane) = edge;
                self.graph.remove(lane, from, to);
            }
        }
        if let Err((kind, _)) = self.admit_added(users, edges) {
            return kind;
        }
        let mut others = self.cycles.iter().enumerate().skip(free);
        let broken = others.find(|&(level, cycle)| {
            let users = users.get(..=level).unwrap_or_default();
            !is_cycle_of(users, cycle)
        });
        broken.map_or(self.cycles.len(), |(level, _)| level)
    }

    /// Adds the new dependencies of the first `free` kinds of traffic to the graph. The error is the first one that closes a
    /// cycle, with the number of the kind of traffic that it is new for.
    fn admit_added(
        &mut self,
        users: &[DependencyCounts; 3],
        edges: &Edges,
    ) -> Result<(), (usize, Edge)> {
        let free = self.free;
        for (kind, added) in edges.added.iter().take(free).enumerate() {
            for edge in added.iter().filter(|edge| is_used(users, free, edge)) {
                let &(from, to, lane) = edge;
                if !self.graph.admit(1 << lane, from, to) {
                    return Err((kind, *edge));
                }
            }
        }
        Ok(())
    }

    /// Returns true if there is no cycle in the first `kinds` kinds of traffic together.
    pub(super) const fn is_free(&self, kinds: usize) -> bool {
        kinds <= self.free
    }

    /// A cycle in the first `kinds` kinds of traffic together, if there is one.
    pub(super) fn cycle(&self, kinds: usize) -> Option<&[Vertex]> {
        let cycle = self.cycles.get(kinds.checked_sub(1)?)?;
        (!self.is_free(kinds)).then_some(cycle)
    }

    /// The topological order of the graph, if at least the first verdict is that no cycle exists.
    pub(super) fn topological(&self, lanes: u8) -> Option<Vec<Vertex>> {
        self.is_free(1).then(|| self.graph.topological(lanes))
    }

    /// Lanes with all dependencies of the protected traffic; `None` if they form a cycle.
    pub(super) fn lanes_with(
        &self,
        protected: Protected,
        users: &[DependencyCounts; 3],
        lanes: u8,
    ) -> Option<Lanes> {
        let kinds = protected.count();
        if kinds == 0 {
            return Some(Lanes::unprotected(&self.layout, &self.order));
        }
        let topological = || self.graph.topological(lanes);
        match self.is_free(kinds) {
            true if self.free == kinds => Some(self.graph.clone().protecting(protected)),
            true => Some(self.lanes(&topological(), users.get(..kinds)?, protected)),
            false => None,
        }
    }

    /// Lanes with the dependencies of a graph; `None` if they form a cycle.
    pub(super) fn lanes_of(&self, graph: &DependencyGraph, protected: Protected) -> Option<Lanes> {
        Lanes::new(&self.layout, &self.order, graph, protected)
    }

    /// Records changes from now on, for [`undo`](Self::undo).
    pub(super) fn record(&mut self) {
        self.graph.record();
    }

    /// Undoes the updates since [`record`](Self::record).
    pub(super) fn undo(&mut self) {
        self.graph.undo();
    }
}

/// Returns true if any of the first `kinds` kinds of traffic uses a dependency.
fn is_used(users: &[DependencyCounts; 3], kinds: usize, &(from, to, lane): &Edge) -> bool {
    let mut users = users.iter().take(kinds);
    users.any(|users| users.contains(from, to, lane))
}

/// Returns true if every dependency of a cycle is in use.
fn is_cycle_of(users: &[DependencyCounts], cycle: &[Vertex]) -> bool {
    let after = cycle.iter().cycle().skip(1);
    cycle.iter().zip(after).all(|(from, to)| {
        let mut kinds = users.iter();
        kinds.any(|users| users.contains(from.channel, to.channel, from.lane))
    })
}
