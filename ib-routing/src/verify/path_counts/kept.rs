//! The rest of routes of whose cables some are gone, by their path counts: the starting point of a repair.

use alloc::vec::Vec;

use super::{
    Edge, PathCounts, Update,
    changes::{affected, same_places},
    has_new, renumbered,
};
use crate::{
    algo::{
        channel_graph::DependencyLayout,
        dependency::{DependencyGraph, Vertex},
    },
    fabric::Fabric,
    index::{ChannelIdx, IdxVec},
    repair::{
        RoutesInUse,
        lanes::{Lanes, Protected},
        repairer::CutOff,
    },
};

/// Index of the order of the dependencies of all traffic among [`PathCounts::orders`].
const ALL: usize = 2;

/// The rest of routes of whose cables some are gone.
pub(crate) struct Kept {
    /// The counts of the paths that still arrive, without orders.
    counts: PathCounts,
    /// The dependencies that only paths had which do not arrive any more, by kind of traffic.
    removed: [Vec<Edge>; 3],
    /// For traffic between CAs, and for all traffic: a topological order of the dependencies of all old routes on the
    /// channels that are left; `None` if they form a cycle.
    orders: [Option<Vec<Vertex>>; 2],
    cut_off: Vec<CutOff>,
}

impl PathCounts {
    /// The rest of the old routes in `new`: routes that are the old ones without the entries over cables that are
    /// gone. `None` as for [`updated`](Self::updated).
    pub(crate) fn kept(&self, old: RoutesInUse<'_>, new: RoutesInUse<'_>) -> Option<Kept> {
        let channels = same_places(old, new)?;
        let mut counts = self.renumbered(new.fabric, &channels);
        let orders = [0, ALL].map(|level| self.kept_order(level, &counts, new.fabric, &channels));
        let mut update = Update::new(&mut counts);
        let renumber = |channel| channels.find(channel).copied().flatten();
        let mut cut_off = Vec::new();
        for (lid, owner, mut switches) in affected(old, new, &channels, self.lanes)? {
            for &switch in &switches {
                update.path(old, switch, lid, owner, false, renumber)?;
            }
            switches.sort_unstable();
            cut_off.push(CutOff { lid, switches });
        }
        let removed = update.removed;
        Some(Kept {
            counts,
            removed,
            orders,
            cut_off,
        })
    }

    /// A topological order of the dependencies up to a kind of traffic without those of channels that are gone; `None` if
    /// they form a cycle. `now` are these counts by the channels of `fabric`.
    fn kept_order(
        &self,
        level: usize,
        now: &Self,
        fabric: &Fabric,
        channels: &IdxVec<ChannelIdx, Option<ChannelIdx>>,
    ) -> Option<Vec<Vertex>> {
        match self.orders.get(level)? {
            Ok(order) if !has_new(fabric, channels) => Some(renumbered(order, channels)),
            Err(cycle) if renumbered(cycle, channels).len() == cycle.len() => None,
            _ => now.graph(fabric, level).order().ok(),
        }
    }
}

impl Kept {
    /// CA-pair routes on each channel.
    pub(crate) const fn load(&self) -> &IdxVec<ChannelIdx, u32> {
        &self.counts.load
    }

    /// The paths that do not arrive any more, in the order of LIDs.
    pub(crate) fn cut_off(&self) -> &[CutOff] {
        &self.cut_off
    }

    /// The dependencies of traffic between CAs on the paths that still arrive.
    pub(crate) fn between_cas(&self, fabric: &Fabric) -> DependencyGraph {
        self.counts.graph(fabric, 0)
    }

    /// Lanes with the dependencies that all old routes have on the channels that are left; `None` if those of the
    /// protected traffic form a cycle.
    pub(crate) fn lanes<'g>(
        &self,
        layout: &'g DependencyLayout,
        order: &'g [ChannelIdx],
        protected: Protected,
    ) -> Option<Lanes<'g>> {
        let [between_cas, all] = &self.orders;
        let (topological, kinds) = match protected {
            Protected::Nothing => return Some(Lanes::unprotected(layout, order)),
            Protected::BetweenCas => (between_cas, 1),
            Protected::All => (all, ALL + 1),
        };
        let users = self.counts.users.iter().zip(&self.removed).take(kinds);
        let edges = users.flat_map(|(users, removed)| {
            let used = users.edges().map(|(from, to, lane, _)| (from, to, lane));
            used.chain(removed.iter().copied())
        });
        let topological = topological.as_ref()?;
        Some(Lanes::ordered(layout, order, topological, edges, protected))
    }
}
