//! The lanes of trees, found side by side before their turn comes.
//!
//! Dependencies are only added to lanes, so most answers cannot change any more: a lane that has a dependency keeps it, and
//! one that refused it refuses it again. A forecast is made from these answers alone and assumes that a lane admits any
//! other dependency. When the tree's turn comes, the lanes are asked for what was assumed, in the same order in which the
//! tree itself would ask. If they admit all of it, the forecast has come true. At the first refusal the lanes have been asked
//! for nothing that the tree would not ask for, so it is given its lanes as if there had been no forecast.

use alloc::vec::Vec;

use super::{
    Lanes,
    walk::{Layered, Walk},
};
use crate::{
    algo::{parallel, shortest_path_dag::Tree},
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// Room to make forecasts in.
#[derive(Clone, Debug)]
pub(crate) struct ForecastSpace(Walk);

impl ForecastSpace {
    /// Room for the trees of a fabric with so many switches.
    #[must_use]
    pub(crate) fn new(switches: usize) -> Self {
        Self(Walk::new(switches))
    }
}

/// The lanes of a tree, if lanes admit what is assumed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forecast {
    lane: IdxVec<SwitchIdx, u8>,
    found: Layered,
    /// Dependencies that are neither on their lane nor refused there.
    assumed: Vec<(usize, ChannelIdx, ChannelIdx)>,
}

impl Lanes<'_> {
    /// Forecasts what [`layer`](Self::layer) will do.
    pub(crate) fn forecast(
        &self,
        tree: &Tree,
        senders: &[SwitchIdx],
        ForecastSpace(walk): &mut ForecastSpace,
        forecast: &mut Forecast,
    ) {
        parallel::count(tree.order().len());
        let assumed = &mut forecast.assumed;
        assumed.clear();
        let graph = |lane: usize| self.graphs.get(lane);
        forecast.found = walk.layer(&self.to, tree, self.max, senders, |lane, from, to| {
            if graph(lane).is_some_and(|graph| graph.contains(from, to)) {
                return true;
            }
            if graph(lane).is_some_and(|graph| graph.refuses(from, to)) {
                return false;
            }
            assumed.push((lane, from, to));
            true
        });
        forecast.lane.copy_from(walk.lane.as_slice());
    }

    /// As [`layer`](Self::layer), by a forecast; `None` if the forecast does not come true.
    pub(crate) fn confirm(&mut self, forecast: &Forecast) -> Option<Result<(), usize>> {
        parallel::count(forecast.assumed.len());
        let mut assumed = forecast.assumed.iter();
        if !assumed.all(|&(lane, from, to)| self.admit(lane, from, to)) {
            return None;
        }
        self.walk.lane.copy_from(forecast.lane.as_slice());
        Some(self.layered(forecast.found))
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use super::*;
    use crate::{
        LidMap, LidOptions, RouteOptions,
        algo::{
            balance::Balance,
            channel_graph::{ChannelGraph, DependencyLayout},
            demands::Demands,
            lanes::LaneOrders,
            shortest_path_dag::ShortestPathDag,
        },
        generate::FabricSpec,
        index::Idx,
    };

    /// Forecasts of all trees at once, before any has its lanes: on a torus most of them fail.
    #[test]
    fn trees_get_the_same_lanes_with_forecasts_and_without() {
        for (spec, has_failures) in [
            ("fat-tree:radix=4,levels=3", false),
            ("torus:4x5,hosts=2", true),
            ("random:switches=20,links=40,hosts=1,seed=4", true),
        ] {
            let fabric = spec.parse::<FabricSpec>().unwrap().build().unwrap();
            let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
            let demands = Demands::new(&fabric, &lids, false);
            let dag = ShortestPathDag::new(&fabric, &RouteOptions::default());
            let balance = Balance::new(1, &fabric, &dag, &demands);
            let layout = Arc::new(DependencyLayout::new(&fabric));
            let orders = LaneOrders::new(&fabric, &demands.senders);
            let mut direct = Lanes::new(&fabric, &layout, &orders, 8);
            let mut forecast = direct.clone();
            let mut space = ForecastSpace::new(fabric.num_switches());
            let works = (0..demands.trees.len()).map(|number| {
                let mut tree = Tree::default();
                balance.read(number, &mut tree);
                let sends = |switch: &&SwitchIdx| demands.senders[**switch] > 0;
                let senders: Vec<SwitchIdx> = tree.order().iter().filter(sends).copied().collect();
                let mut work = Forecast::default();
                direct.forecast(&tree, &senders, &mut space, &mut work);
                (tree, senders, work)
            });
            let works: Vec<_> = works.collect();
            let mut failed = 0;
            for (number, (tree, senders, work)) in works.iter().enumerate() {
                let fits = direct.layer(tree, senders);
                let confirmed = forecast.confirm(work);
                failed += usize::from(confirmed.is_none());
                let fits_too = confirmed.unwrap_or_else(|| forecast.layer(tree, senders));
                assert_eq!(fits, fits_too, "{spec}, tree {number}");
                assert_eq!(direct.used(), forecast.used(), "{spec}, tree {number}");
                let same = direct.of_tree().iter().eq(forecast.of_tree().iter());
                assert!(same, "{spec}, tree {number}");
                for (one, other) in direct.graphs.iter().zip(&forecast.graphs) {
                    let places = |graph: &ChannelGraph| {
                        let all = fabric.channels().len();
                        let all = (0..all).map(ChannelIdx::new);
                        all.map(|channel| graph.place(channel)).collect::<Vec<_>>()
                    };
                    assert_eq!(places(one), places(other), "{spec}, tree {number}");
                }
            }
            assert_eq!(failed > 0, has_failures, "{spec}: {failed}");
        }
    }
}
