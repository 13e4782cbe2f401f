//! Changes of path counts that are tried and undone: the failures of many cables, one at a time.

use alloc::vec::Vec;

use super::{Edge, Edges, PathCounts, lengths::PathLengths};
use crate::{
    index::{ChannelIdx, IdxVec},
    repair::lanes::{Lanes, Protected},
};

impl PathCounts {
    /// A copy whose changes can be undone. It shares what does not change.
    pub(crate) fn on_trial(&self) -> Self {
        let mut counts = self.clone();
        counts.verdicts.record();
        counts
    }

    /// Undoes all changes since `before`, from which these counts were made, was copied.
    pub(crate) fn undo(&mut self, before: &Self) {
        let load = before.load.as_slice();
        self.load.as_mut_slice().copy_from_slice(load);
        self.hops.clone_from(&before.hops);
        self.by_lane = before.by_lane;
        for (users, before) in self.users.iter_mut().zip(&before.users) {
            users.revert_to(before);
        }
        self.verdicts.undo();
    }

    /// Returns true if traffic between CAs cannot deadlock after dependencies have changed; `None` if all of them have to be
    /// examined to find out.
    pub(crate) fn deadlock_free_after(&mut self, edges: &Edges) -> Option<bool> {
        let same = self.verdicts.update(&self.users, edges);
        (same > 0).then(|| self.verdicts.is_free(1))
    }

    /// Returns true if what forms a cycle is known to form one without these channels too: then the loss of the channels
    /// leaves all verdicts about the other dependencies as they are.
    pub(crate) fn keeps_cycles_without(&self, channels: &[ChannelIdx]) -> bool {
        let mut cyclic = (1..=self.users.len()).filter(|&kinds| !self.verdicts.is_free(kinds));
        cyclic.all(|kinds| self.has_cycle_without(kinds, |channel| channels.contains(&channel)))
    }

    /// The dependencies of traffic between CAs from one channel on another for which `is_listed` returns true.
    pub(crate) fn between_cas(
        &self,
        is_listed: impl Fn(ChannelIdx, ChannelIdx) -> bool,
    ) -> Vec<Edge> {
        let mut listed = Vec::new();
        let [between_cas, ..] = &self.users;
        between_cas.for_each(|from, to, lane, _| {
            if is_listed(from, to) {
                listed.push((from, to, lane));
            }
        });
        listed
    }

    /// Returns true if traffic between CAs has one of these dependencies.
    pub(crate) fn has_any_between_cas(&self, edges: &[Edge]) -> bool {
        let [between_cas, ..] = &self.users;
        let mut edges = edges.iter();
        edges.any(|&(from, to, lane)| between_cas.contains(from, to, lane))
    }

    /// Number of lanes that are counted.
    pub(crate) const fn lanes(&self) -> u8 {
        self.lanes
    }

    /// CA-pair routes on each channel.
    pub(crate) const fn load(&self) -> &IdxVec<ChannelIdx, u32> {
        &self.load
    }

    /// The lengths of all paths.
    pub(crate) const fn lengths(&self) -> &PathLengths {
        &self.lengths
    }

    /// Lanes with the dependencies of the protected traffic; `None` if they form a cycle.
    pub(crate) fn lanes_with(&self, protected: Protected) -> Option<Lanes> {
        self.verdicts.lanes_with(protected, &self.users, self.lanes)
    }
}
