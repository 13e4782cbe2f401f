//! Balanced trees of shortest paths, for fabrics where these close hardly any cycle, such as fat trees.
//!
//! Threads choose such trees together, and each takes a fraction of the time of a search. All that the paths of CAs depend
//! on is admitted at once. A search is left for the trees with a dependency that was refused, and for those to switches,
//! whose shortest paths do close cycles.

use alloc::{sync::Arc, vec::Vec};

use crate::{
    algo::{
        balance::Balance,
        channel_graph::{ChannelGraph, DependencyLayout},
        choices::Choices,
        demands::{Demand, Demands},
        parallel,
        shortest_path_dag::ShortestPathDag,
        tree_dependencies::{DependencySets, TreeDependencies},
    },
    fabric::Fabric,
    index::{ChannelIdx, IdxVec},
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
    /// Chooses trees, and lets the lane admit what the paths of CAs depend on.
    pub(in crate::engine::nue) fn new(
        threads: usize,
        fabric: &Fabric,
        dag: &ShortestPathDag,
        demands: &Demands,
        layout: &Arc<DependencyLayout>,
        lane: &mut ChannelGraph,
    ) -> Self {
        let workers = parallel::workers(threads, fabric.num_switches());
        let balance = Balance::new(workers, fabric, dag, demands);
        let load = balance.load();
        let choices = balance.into_choices();
        let trees = TreeDependencies::new(fabric, dag, demands, &choices);
        let carries = |demand: &Demand| demand.weight > 0;
        let DependencySets { of_cas, others } = trees.sets(threads, layout, carries);
        let mut fits_all = lane.admit_all(&of_cas);
        // Paths without load shall not be in the way of those to switches, so no order is changed for them.
        fits_all &= lane.admit_in_order(&others);
        let lane = &*lane;
        let fits = parallel::map_many(threads, demands.trees.len(), |number| {
            let demand = demands.trees.get(number).filter(|demand| carries(demand));
            let Some(demand) = demand else {
                return Fit::Nothing;
            };
            let mut fit = Fit::Everything;
            if !fits_all {
                let mut passed = trees.passed();
                trees.of_tree(number, demand, &mut passed, |is_of_cas, from, to| {
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
