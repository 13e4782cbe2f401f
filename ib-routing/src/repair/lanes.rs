//! The dependencies of each lane, kept free of cycles while a repair adds paths.

use alloc::{sync::Arc, vec::Vec};

use crate::{
    algo::{
        channel_graph::{ChannelGraph, DependencyLayout},
        dependency::{DependencyGraph, Vertex},
    },
    fabric::lost::LostChannels,
    index::ChannelIdx,
    lid::Destination,
    vl::lanes_in,
};

/// Virtual lanes that an SLtoVL table can name.
const LANES: usize = 16;

/// The traffic that must not deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protected {
    /// No traffic: it can deadlock already, or the verifier judges afterwards.
    Nothing,
    /// Traffic between CAs.
    BetweenCas,
    /// Traffic from and to CAs: between CAs, and between CAs and switches.
    OfCas,
    /// All traffic, including that between switches.
    All,
}

impl Protected {
    /// The kinds of traffic that can be protected, the most first.
    pub(crate) const KINDS: [Self; 3] = [Self::All, Self::OfCas, Self::BetweenCas];

    /// Number of protected kinds of traffic, in this order: between CAs, between CAs and switches, between switches.
    pub(crate) const fn count(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::BetweenCas => 1,
            Self::OfCas => 2,
            Self::All => 3,
        }
    }
}

/// The dependencies of each lane.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    layout: Arc<DependencyLayout>,
    /// The initial topological order of a lane without dependencies.
    order: Arc<[ChannelIdx]>,
    graphs: Vec<Option<ChannelGraph>>,
    protected: Protected,
    /// The channels that the fabric has lost since the layout was made. Callers name channels by the numbers after that.
    lost: LostChannels,
    /// The changes that [`Lanes::undo`] undoes; `None` if changes are not recorded.
    journal: Option<Vec<Change>>,
}

/// A change of a lane's dependencies: the lane, and the channels at both ends.
#[derive(Clone, Copy, Debug)]
enum Change {
    Admitted(usize, ChannelIdx, ChannelIdx),
    Refused(usize, ChannelIdx, ChannelIdx),
    Removed(usize, ChannelIdx, ChannelIdx),
}

impl Lanes {
    /// Lanes on which anything may wait for anything.
    pub(crate) fn unprotected(layout: &Arc<DependencyLayout>, order: &Arc<[ChannelIdx]>) -> Self {
        Self {
            layout: Arc::clone(layout),
            order: Arc::clone(order),
            graphs: Vec::new(),
            protected: Protected::Nothing,
            lost: LostChannels::default(),
            journal: None,
        }
    }

    /// Lanes with the dependencies that are there; `None` if these form a cycle.
    pub(crate) fn new(
        layout: &Arc<DependencyLayout>,
        order: &Arc<[ChannelIdx]>,
        dependencies: &DependencyGraph,
        protected: Protected,
    ) -> Option<Self> {
        let topological = dependencies.order().ok()?;
        let mut lanes = Self::ordered(layout, order, &topological, protected);
        for (from, to) in dependencies.edges() {
            lanes.admit(1 << from.lane, from.channel, to.channel);
        }
        Some(lanes)
    }

    /// Lanes without dependencies. Those that lead forward in the order `topological` are admitted quickly.
    pub(crate) fn ordered(
        layout: &Arc<DependencyLayout>,
        order: &Arc<[ChannelIdx]>,
        topological: &[Vertex],
        protected: Protected,
    ) -> Self {
        let mut by_lane: Vec<Vec<ChannelIdx>> = alloc::vec![Vec::new(); LANES];
        for vertex in topological {
            if let Some(order) = by_lane.get_mut(usize::from(vertex.lane)) {
                order.push(vertex.channel);
            }
        }
        let graphs = by_lane.iter().map(|topological| {
            let is_used = topological.len() == order.len() && !order.is_empty();
            is_used.then(|| ChannelGraph::new(layout, topological))
        });
        Self {
            graphs: graphs.collect(),
            protected,
            ..Self::unprotected(layout, order)
        }
    }

    /// The same dependencies, for the protection of other traffic: these are all that it has.
    pub(crate) fn protecting(self, protected: Protected) -> Self {
        Self { protected, ..self }
    }

    /// The same lanes for a fabric that has lost channels since the layout was made, by its numbers of channels.
    pub(crate) fn after_losing(self, lost: LostChannels) -> Self {
        let mut lanes = self;
        let gone: Vec<ChannelIdx> = lost.iter().collect();
        lanes.detach(&gone);
        lanes.lost = lost;
        lanes
    }

    /// A topological order of all dependencies on the lanes below `lanes`: every channel of the layout on each of them.
    pub(crate) fn topological(&self, lanes: u8) -> Vec<Vertex> {
        let (mut all, mut backwards) = (Vec::new(), Vec::new());
        for lane in 0..lanes {
            let vertex = |&channel: &ChannelIdx| Vertex { channel, lane };
            match self.graphs.get(usize::from(lane)) {
                Some(Some(graph)) => {
                    graph.list_backwards(&mut backwards);
                    all.extend(backwards.iter().rev().map(vertex));
                }
                _ => all.extend(self.order.iter().map(vertex)),
            }
        }
        all
    }

    /// The traffic that must not deadlock.
    pub(crate) fn protected(&self) -> Protected {
        self.protected
    }

    /// Returns true if traffic from CAs (or else a switch alone) to a port must not come to deadlock.
    pub(crate) fn protects(&self, from_cas: bool, to: &Destination) -> bool {
        match self.protected {
            Protected::Nothing => false,
            Protected::BetweenCas => from_cas && !to.is_switch(),
            Protected::OfCas => from_cas || !to.is_switch(),
            Protected::All => true,
        }
    }

    /// Makes `to` a dependency of `from` on each lane in `mask`; false if that closes a cycle.
    pub(crate) fn admit(&mut self, mask: u16, from: ChannelIdx, to: ChannelIdx) -> bool {
        lanes_in(mask).all(|lane| self.admit_on(lane.into(), from, to))
    }

    /// Adds the dependencies of a path, channel by channel, on each lane in `mask`; false if one of them would close a
    /// cycle.
    pub(crate) fn admit_path(
        &mut self,
        mask: u16,
        mut path: impl Iterator<Item = ChannelIdx>,
    ) -> bool {
        if mask == 0 {
            return true;
        }
        let mut before = None;
        path.all(|next| match before.replace(next) {
            Some(from) => self.admit(mask, from, next),
            None => true,
        })
    }

    fn admit_on(&mut self, lane: usize, from: ChannelIdx, to: ChannelIdx) -> bool {
        let Some(graph) = self.graphs.get_mut(lane) else {
            return true;
        };
        let (from, to) = (self.lost.before(from), self.lost.before(to));
        let graph = graph.get_or_insert_with(|| ChannelGraph::new(&self.layout, &self.order));
        let Some(journal) = &mut self.journal else {
            return graph.admit(from, to);
        };
        let is_known = graph.contains(from, to) || graph.refuses(from, to);
        let admitted = graph.admit(from, to);
        if !is_known {
            journal.push(if admitted {
                Change::Admitted(lane, from, to)
            } else {
                Change::Refused(lane, from, to)
            });
        }
        admitted
    }

    /// Takes the dependency of `from` on `to` back, by the numbers of the layout. What was refused stays refused.
    pub(crate) fn remove(&mut self, lane: u8, from: ChannelIdx, to: ChannelIdx) {
        let lane = usize::from(lane);
        let Some(Some(graph)) = self.graphs.get_mut(lane) else {
            return;
        };
        if graph.contains(from, to) {
            graph.remove(from, to);
            if let Some(journal) = &mut self.journal {
                journal.push(Change::Removed(lane, from, to));
            }
        }
    }

    /// Forgets that the dependency of `from` on `to` closed a cycle, by the numbers of the layout: others have been taken
    /// back since.
    pub(crate) fn reconsider(&mut self, lane: u8, from: ChannelIdx, to: ChannelIdx) {
        if let Some(Some(graph)) = self.graphs.get_mut(usize::from(lane)) {
            graph.reconsider(from, to);
        }
    }

    /// Records every change from now on, for [`Lanes::undo`].
    pub(crate) fn record(&mut self) {
        self.journal = Some(Vec::new());
    }

    /// Removes all dependencies from and to these channels, by the numbers of the layout.
    pub(crate) fn detach(&mut self, channels: &[ChannelIdx]) {
        let mut removed = Vec::new();
        for (lane, graph) in self.graphs.iter_mut().enumerate() {
            let Some(graph) = graph else { continue };
            removed.clear();
            for &channel in channels {
                graph.detach(channel, &mut removed);
            }
            if let Some(journal) = &mut self.journal {
                let removed = removed.iter();
                journal.extend(removed.map(|&(from, to)| Change::Removed(lane, from, to)));
            }
        }
    }

    /// Undoes the changes since [`Lanes::record`].
    pub(crate) fn undo(&mut self) {
        let Some(mut journal) = self.journal.take() else {
            return;
        };
        // Added dependencies are removed first. The dependencies that were there before have no cycle.
        for change in &journal {
            match *change {
                Change::Admitted(lane, from, to) => {
                    if let Some(Some(graph)) = self.graphs.get_mut(lane) {
                        graph.remove(from, to);
                    }
                }
                Change::Refused(lane, from, to) => {
                    if let Some(Some(graph)) = self.graphs.get_mut(lane) {
                        graph.reconsider(from, to);
                    }
                }
                Change::Removed(..) => {}
            }
        }
        for change in &journal {
            if let Change::Removed(lane, from, to) = *change
                && let Some(Some(graph)) = self.graphs.get_mut(lane)
            {
                graph.admit(from, to);
            }
        }
        journal.clear();
        self.journal = Some(journal);
    }
}
