//! The rest of routes of whose cables some are gone, by their path counts: the starting point of a repair.

use super::{
    PathCounts,
    changes::{LostPaths, has_same_lids},
    count_paths::{follow, for_each_run},
    joined_paths::{JoinedPaths, Sources},
    lane_of,
    lengths::PathLengths,
    lost_paths,
    verdicts::Edges,
};
use crate::{
    algo::dependency::{DependencyCounts, DependencyGraph, Vertex},
    fabric::{Fabric, lost::LostChannels},
    index::{ChannelIdx, IdxVec},
    lid::LidMap,
    repair::{
        RoutesInUse,
        lanes::{Lanes, Protected},
        repairer::CutOff,
    },
    routes::BlockReader,
};

/// The rest of routes of whose cables some are gone.
pub(crate) struct Kept<'c> {
    counts: &'c PathCounts,
    old: RoutesInUse<'c>,
    /// The channels that are gone since the fabric was counted first.
    lost: LostChannels,
    /// CA-pair routes on each channel that is left, of the paths that still arrive.
    load: IdxVec<ChannelIdx, u32>,
    paths: LostPaths,
}

impl PathCounts {
    /// Returns true if the first `kinds` kinds of traffic together form a cycle that no lost channel is on: the known one,
    /// or another one near it. There may be others if this returns false.
    pub(crate) fn has_cycle_without(
        &self,
        kinds: usize,
        is_lost: impl Fn(ChannelIdx) -> bool,
    ) -> bool {
        let users = self.users.get(..kinds).unwrap_or_default();
        self.verdicts.cycle(kinds).is_some_and(|cycle| {
            cycle.iter().all(|vertex| !is_lost(vertex.channel))
                || DependencyCounts::cycle_near(users, cycle, is_lost).is_some()
        })
    }

    /// The rest of the old routes after cables between switches have gone. `None` if anything else has changed, or if
    /// an old path does not arrive.
    pub(crate) fn kept<'c>(
        &'c self,
        old: RoutesInUse<'c>,
        fabric: &Fabric,
        lids: &LidMap,
    ) -> Option<Kept<'c>> {
        let gone = LostChannels::between(old.fabric, fabric)?;
        if !has_same_lids(old.lids, lids) {
            return None;
        }
        let lost = self.lost.and(&gone);
        let mut load = self.load.clone();
        let mut paths = JoinedPaths::new(old.fabric.num_switches());
        let entries = BlockReader::new(old.routes);
        let cut_off = lost_paths(old, &gone, &self.lengths, |channel, lid| {
            entries.port(channel.to, lid) == channel.to_port
        });
        for_each_run(old.lids, &cut_off, true, |run| {
            let owner = old.lids.owner(run.first()?.lid)?;
            let number = |channel| self.lost.before(channel);
            let arrive = follow(&mut paths, (old.fabric, &entries), (old.lids, run), number)?;
            if arrive && !owner.is_switch() {
                let number = run.len() as u32;
                let sources = |switch, _| Sources::at_switch(self.senders[switch]).times(number);
                paths.for_each_part(sources, |channel, _, sources| {
                    if let Some(load) = load.find_mut(channel) {
                        *load -= sources.lids;
                    }
                });
            }
            Some(arrive)
        })?;
        Some(Kept {
            counts: self,
            old,
            load: lost.left(&load),
            lost,
            paths: LostPaths { gone, cut_off },
        })
    }
}

impl Kept<'_> {
    /// CA-pair routes on each channel.
    pub(crate) const fn load(&self) -> &IdxVec<ChannelIdx, u32> {
        &self.load
    }

    /// The lengths of all old paths.
    pub(crate) const fn lengths(&self) -> &PathLengths {
        &self.counts.lengths
    }

    /// The paths that do not arrive any more, in the order of LIDs.
    pub(crate) fn cut_off(&self) -> &[CutOff] {
        &self.paths.cut_off
    }

    /// The same, to verify a repair.
    pub(crate) fn into_lost_paths(self) -> LostPaths {
        self.paths
    }

    /// The dependencies of traffic between CAs on the paths that still arrive, by the channels of `now`.
    pub(crate) fn between_cas(&self, now: &Fabric) -> DependencyGraph {
        let mut counts = self.counts.clone();
        let (mut edges, fabric) = (Edges::default(), self.old.fabric);
        let mut paths = JoinedPaths::new(fabric.num_switches());
        let entries = BlockReader::new(self.old.routes);
        for run in self.cut_off().chunks(1) {
            let Some((lid, owner)) = run
                .first()
                .and_then(|of| Some((of.lid, self.old.lids.owner(of.lid)?)))
            else {
                continue;
            };
            let number = |channel| self.counts.lost.before(channel);
            if follow(&mut paths, (fabric, &entries), (self.old.lids, run), number).is_some() {
                let lane = |switch| lane_of(self.old.routes, switch, lid);
                counts.count_paths(&mut paths, (owner, 1), lane, false, &mut edges);
            }
        }
        let mut graph = DependencyGraph::new(now, self.counts.lanes);
        let [between_cas, ..] = &counts.users;
        between_cas.for_each(|from, to, lane, _| {
            let vertex = |channel| {
                Some(Vertex {
                    channel: self.lost.now(channel)?,
                    lane,
                })
            };
            if let (Some(from), Some(to)) = (vertex(from), vertex(to)) {
                graph.add(from, to);
            }
        });
        graph
    }

    /// Lanes with the dependencies that all old routes have on the channels that are left; `None` if those of the
    /// protected traffic form a cycle.
    pub(crate) fn lanes(&self, protected: Protected) -> Option<Lanes> {
        self.counts.lanes_with(protected).map_or_else(
            // The cables that are gone may have been on every cycle.
            || self.lanes_without_lost(protected),
            |lanes| Some(lanes.after_losing(self.lost.clone())),
        )
    }

    /// As [`lanes`](Self::lanes), for dependencies that formed a cycle before the cables went.
    fn lanes_without_lost(&self, protected: Protected) -> Option<Lanes> {
        let counts = self.counts;
        let kinds = protected.count();
        if counts.has_cycle_without(kinds, |channel| self.lost.contains(channel)) {
            return None;
        }
        let mut graph = DependencyCounts::graph(counts.users.get(..kinds)?)?;
        graph.detach(self.lost.iter());
        let lanes = counts.verdicts.lanes_of(&graph, protected)?;
        Some(lanes.after_losing(self.lost.clone()))
    }
}
