//! The dependencies of chosen trees between channels.

use alloc::{sync::Arc, vec::Vec};

use crate::{
    algo::{
        channel_graph::{DependencyLayout, DependencySet},
        choices::Choices,
        demands::{Demand, Demands},
        parallel,
        shortest_path_dag::ShortestPathDag,
    },
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// The dependencies of trees whose channels are chosen.
pub struct TreeDependencies<'a> {
    dag: &'a ShortestPathDag,
    demands: &'a Demands,
    choices: &'a Choices,
    /// The switch at the end of each channel.
    to: IdxVec<ChannelIdx, SwitchIdx>,
}

/// All dependencies of some trees.
pub struct DependencySets {
    /// Those of paths between CAs.
    pub of_cas: DependencySet,
    /// Those that only paths from other switches have, by the tree: another tree may have them for CAs.
    pub others: DependencySet,
}

impl<'a> TreeDependencies<'a> {
    /// The dependencies of trees that are a choice among the paths of `dag`.
    #[must_use]
    pub fn new(
        fabric: &Fabric,
        dag: &'a ShortestPathDag,
        demands: &'a Demands,
        choices: &'a Choices,
    ) -> Self {
        let to = fabric.channels().iter().map(|channel| channel.to);
        Self {
            dag,
            demands,
            choices,
            to: to.collect(),
        }
    }

    /// The dependencies of all trees that `is_wanted`, collected by as many threads as `threads` says.
    #[must_use]
    pub fn sets(
        &self,
        threads: usize,
        layout: &Arc<DependencyLayout>,
        is_wanted: impl Fn(&Demand) -> bool + Sync,
    ) -> DependencySets {
        let empty = || DependencySet::new(layout);
        let sets = parallel::gather(
            threads,
            self.demands.trees.len(),
            || (empty(), empty(), self.passed()),
            |(of_cas, others, passed), number| {
                let demand = self.demands.trees.get(number);
                let Some(demand) = demand.filter(|demand| is_wanted(demand)) else {
                    return;
                };
                self.of_tree(number, demand, passed, |is_of_cas, from, to| {
                    let set = if is_of_cas {
                        &mut *of_cas
                    } else {
                        &mut *others
                    };
                    set.insert(from, to);
                });
            },
        );
        let (mut of_cas, mut others) = (empty(), empty());
        for (of_cas_here, others_here, _) in &sets {
            of_cas.extend(of_cas_here);
            others.extend(others_here);
        }
        DependencySets { of_cas, others }
    }

    /// Room for [`of_tree`](Self::of_tree): a flag for each switch.
    #[must_use]
    pub fn passed(&self) -> IdxVec<SwitchIdx, bool> {
        IdxVec::filled(self.demands.senders.len(), false)
    }

    /// Calls `depend` with each dependency of tree `number`, and whether routes of CAs take that path. `passed` gets the
    /// switches where CAs are or that routes of CAs pass.
    pub fn of_tree(
        &self,
        number: usize,
        demand: &Demand,
        passed: &mut IdxVec<SwitchIdx, bool>,
        mut depend: impl FnMut(bool, ChannelIdx, ChannelIdx),
    ) {
        parallel::count(self.demands.senders.len());
        passed.refill(self.demands.senders.iter().map(|&senders| senders > 0));
        let choices = self.choices.of_tree(number);
        for switch in self.dag.towards(demand.target).switches().rev() {
            let Some(from) = choices.channel(switch) else {
                continue;
            };
            let (next, is_of_cas) = (self.to[from], passed[switch]);
            passed[next] |= is_of_cas;
            if let Some(to) = choices.channel(next) {
                depend(is_of_cas, from, to);
            }
        }
    }

    /// The switches whose paths in tree `number` have a dependency that `has` denies, the nearest first. `lacks` is room
    /// for a flag for each switch.
    #[must_use]
    pub fn lacking(
        &self,
        number: usize,
        demand: &Demand,
        lacks: &mut IdxVec<SwitchIdx, bool>,
        has: impl Fn(ChannelIdx, ChannelIdx) -> bool,
    ) -> Vec<SwitchIdx> {
        parallel::count(self.demands.senders.len());
        lacks[demand.target] = false;
        let choices = self.choices.of_tree(number);
        let switches = self.dag.towards(demand.target).switches();
        let lacking = switches.filter(|&switch| {
            let Some(from) = choices.channel(switch) else {
                return false;
            };
            let next = self.to[from];
            let to = choices.channel(next);
            lacks[switch] = lacks[next] || to.is_some_and(|to| !has(from, to));
            lacks[switch]
        });
        lacking.collect()
    }
}
