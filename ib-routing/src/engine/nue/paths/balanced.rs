//! Balanced trees of shortest paths, for fabrics where these close hardly any cycle, such as fat trees.
//!
//! Threads choose such trees together, and each takes a fraction of the time of a search. All that the paths of CAs depend
//! on is admitted at once. A search is left for the trees with a dependency that was refused, and for those to switches,
//! whose shortest paths do close cycles.

use alloc::{sync::Arc, vec::Vec};

use crate::{
    algo::{
        balance::Balance,
        channel_graph::{ChannelGraph, DependencyLayout, DependencySet},
        choices::Choices,
        demands::Demands,
        parallel,
        shortest_path_dag::ShortestPathDag,
    },
    engine::nue::Target,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// The trees that carry load, chosen by it.
pub(in crate::engine::nue) struct BalancedTrees {
    /// The choices of all trees, those included that a search makes anew.
    pub(super) choices: Choices,
    /// Routes on each channel.
    pub(super) load: IdxVec<ChannelIdx, u64>,
    /// The part of each tree that fits the lane, by the number of the tree.
    pub(super) fits: Vec<Fit>,
}

/// The part of a tree whose dependencies the lane has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// Not even all paths of CAs: a search makes the tree anew. So it does with trees that carry no load.
    Nothing,
    /// The paths of all CAs. Those of some switches that no CA sends over are left to be found: cables that are missing
    /// make them lead down and up again.
    PathsOfCas,
    /// All paths.
    Everything,
}

impl BalancedTrees {
    /// Chooses trees to the `targets`, and lets the lane admit what the paths of CAs depend on.
    pub(in crate::engine::nue) fn new(
        threads: usize,
        fabric: &Fabric,
        dag: &ShortestPathDag,
        demands: &Demands,
        targets: &[Target],
        layout: &Arc<DependencyLayout>,
        lane: &mut ChannelGraph,
    ) -> Self {
        let workers = parallel::workers(threads, fabric.num_switches());
        let balance = Balance::new(workers, fabric, dag, demands);
        let load = balance.load();
        let choices = balance.into_choices();
        let paths = TreePaths {
            fabric,
            dag,
            demands,
            choices: &choices,
        };
        let carries = |tree: usize| demands.trees.get(tree).is_some_and(|tree| tree.weight > 0);
        let sets = parallel::gather(
            threads,
            targets.len(),
            || {
                let empty = || DependencySet::new(layout);
                (empty(), empty(), paths.passed())
            },
            |(of_cas, others, passed), number| {
                let Some(target) = targets.get(number) else {
                    return;
                };
                for tree in (target.first..target.end).filter(|&tree| carries(tree)) {
                    paths.depend(target.switch, tree, passed, |is_of_cas, from, to| {
                        let set = if is_of_cas {
                            &mut *of_cas
                        } else {
                            &mut *others
                        };
                        set.insert(from, to);
                    });
                }
            },
        );
        let (mut of_cas, mut others) = (DependencySet::new(layout), DependencySet::new(layout));
        for (of_cas_here, others_here, _) in &sets {
            of_cas.extend(of_cas_here);
            others.extend(others_here);
        }
        let mut fits_all = true;
        for (from, to) in of_cas.iter() {
            parallel::count(1);
            fits_all &= lane.admit(from, to);
        }
        // Paths without load shall not be in the way of those to switches, so no order is changed for them.
        for (from, to) in others.iter() {
            parallel::count(1);
            fits_all &= lane.place(from) < lane.place(to) && lane.admit(from, to);
        }
        let lane = &*lane;
        let fits = parallel::map_many(threads, demands.trees.len(), |tree| {
            let demand = demands.trees.get(tree).filter(|_| carries(tree));
            let Some(demand) = demand else {
                return Fit::Nothing;
            };
            let mut fit = Fit::Everything;
            if !fits_all {
                let mut passed = paths.passed();
                paths.depend(demand.target, tree, &mut passed, |is_of_cas, from, to| {
                    if !lane.contains(from, to) {
                        fit = fit.min(if is_of_cas {
                            Fit::Nothing
                        } else {
                            Fit::PathsOfCas
                        });
                    }
                });
            }
            fit
        });
        Self {
            choices,
            load,
            fits,
        }
    }
}

/// The paths of chosen trees.
struct TreePaths<'a> {
    fabric: &'a Fabric,
    dag: &'a ShortestPathDag,
    demands: &'a Demands,
    choices: &'a Choices,
}

impl TreePaths<'_> {
    /// Room for a flag for each switch.
    fn passed(&self) -> IdxVec<SwitchIdx, bool> {
        IdxVec::filled(self.fabric.num_switches(), false)
    }

    /// Calls `depend` with all that a tree depends on, and whether routes of CAs take that path. `passed` gets the switches
    /// where CAs are or that routes of CAs pass.
    fn depend(
        &self,
        target: SwitchIdx,
        tree: usize,
        passed: &mut IdxVec<SwitchIdx, bool>,
        mut depend: impl FnMut(bool, ChannelIdx, ChannelIdx),
    ) {
        parallel::count(self.fabric.num_switches());
        passed.refill(self.demands.senders.iter().map(|&senders| senders > 0));
        for switch in self.dag.towards(target).switches().rev() {
            let Some(from) = self.choices.channel(tree, switch) else {
                continue;
            };
            let (next, is_of_cas) = (self.fabric.channel(from).to, passed[switch]);
            passed[next] |= is_of_cas;
            if let Some(to) = self.choices.channel(tree, next) {
                depend(is_of_cas, from, to);
            }
        }
    }
}
