//! Balanced trees of shortest paths, for fabrics where these close hardly any cycle, such as fat trees.
//!
//! Threads choose such trees together, and each takes a fraction of the time of a search. All that they depend on is
//! admitted at once. A search is left for the trees with a dependency that was refused, and for those to switches, whose
//! shortest paths do close cycles.

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
    /// By the number of a tree: true if it carries load and fits the lane, so that it is kept.
    pub(super) fits: Vec<bool>,
}

impl BalancedTrees {
    /// Chooses trees to the `targets`, and lets the lane admit what they depend on.
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
            choices: &choices,
        };
        let carries = |tree: usize| demands.trees.get(tree).is_some_and(|tree| tree.weight > 0);
        let sets = parallel::gather(
            threads,
            targets.len(),
            || DependencySet::new(layout),
            |set, number| {
                let Some(target) = targets.get(number) else {
                    return;
                };
                for tree in (target.first..target.end).filter(|&tree| carries(tree)) {
                    paths.all_dependencies(target.switch, tree, |from, to| {
                        set.insert(from, to);
                        true
                    });
                }
            },
        );
        let mut needed = DependencySet::new(layout);
        for set in &sets {
            needed.extend(set);
        }
        let mut fit_all = true;
        for (from, to) in needed.iter() {
            parallel::count(1);
            fit_all &= lane.admit(from, to);
        }
        let fits = if fit_all {
            (0..demands.trees.len()).map(carries).collect()
        } else {
            let lane = &*lane;
            parallel::map_many(threads, demands.trees.len(), |tree| {
                let target = demands.trees.get(tree).map(|demand| demand.target);
                carries(tree)
                    && target.is_some_and(|target| {
                        paths.all_dependencies(target, tree, |from, to| lane.contains(from, to))
                    })
            })
        };
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
    choices: &'a Choices,
}

impl TreePaths<'_> {
    /// Returns true if `holds` holds for all dependencies of a tree; ends at the first for which it does not.
    fn all_dependencies(
        &self,
        target: SwitchIdx,
        tree: usize,
        mut holds: impl FnMut(ChannelIdx, ChannelIdx) -> bool,
    ) -> bool {
        parallel::count(self.fabric.num_switches());
        let mut switches = self.dag.towards(target).switches();
        switches.all(|switch| {
            let Some(from) = self.choices.channel(tree, switch) else {
                return true;
            };
            let next = self.fabric.channel(from).to;
            let to = self.choices.channel(tree, next);
            to.is_none_or(|to| holds(from, to))
        })
    }
}
