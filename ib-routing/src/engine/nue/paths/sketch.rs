//! A sketch of all paths: one tree for all CAs at a switch instead of one for each.
//!
//! The first trees to be routed choose among dependencies that later ones find taken, and know nothing of
//! their load. So both are found out before, by far fewer trees: the lanes keep what a sketch depends on, and its
//! load is there until the trees of a target take its place.

use super::Paths;
use crate::{
    algo::{
        balance::max_load, channel_graph::ChannelGraph, choices::Choices,
        shortest_path_dag::ShortestPathDag,
    },
    engine::nue::Target,
    index::{ChannelIdx, IdxVec},
};

/// One tree for all CAs at each switch.
pub(in crate::engine::nue) struct Sketch {
    pub(super) choices: Choices,
    /// Routes on each channel.
    pub(super) load: IdxVec<ChannelIdx, u64>,
    /// Routes on the busiest channel.
    pub(in crate::engine::nue) max: u64,
}

impl Paths<'_> {
    /// Finds one tree to each of the `targets`; the demands have to be those of whole switches. `None` as
    /// soon as a channel bears `limit` routes.
    pub(in crate::engine::nue) fn sketch(
        mut self,
        dag: &ShortestPathDag,
        targets: &[Target],
        lanes: &mut [ChannelGraph],
        limit: u64,
    ) -> Option<Sketch> {
        let demands = self.demands;
        let mut choices = Choices::new(self.fabric, &demands.trees);
        for (turn, target) in targets.iter().enumerate() {
            let number = turn % lanes.len().max(1);
            let demand = demands.trees.get(target.number);
            let (Some(lane), Some(demand)) = (lanes.get_mut(number), demand) else {
                break;
            };
            if demand.weight == 0 {
                continue;
            }
            self.find(dag.towards(demand.target), lane, demand);
            self.change_load(|load, routes| *load += routes * demand.weight);
            for &switch in self.settled.iter().skip(1) {
                let channel = self.from[switch].channel;
                if self.load[channel] >= limit {
                    return None;
                }
                choices.set(target.number, switch, channel);
            }
        }
        let max = max_load(&self.load);
        let load = self.load;
        Some(Sketch { choices, load, max })
    }
}
