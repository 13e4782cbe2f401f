//! The channel that each switch takes in each of many trees: one byte each.

use alloc::{vec, vec::Vec};

use crate::{
    algo::{demands::Demand, shortest_path_dag::ShortestPathDag},
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
    routes::Routes,
};

/// The choice of a switch that has none.
const NO_CHOICE: u8 = u8::MAX;

/// A table of trees by switches: the place of the channel among those of the switch.
#[derive(Clone, Debug)]
pub struct Choices {
    places: Vec<u8>,
    /// The first channel of every switch.
    first: IdxVec<SwitchIdx, ChannelIdx>,
}

impl Choices {
    /// No switch has chosen yet.
    #[must_use]
    pub fn new(fabric: &Fabric, trees: usize) -> Self {
        let first = fabric.switches().indices();
        Self {
            places: vec![NO_CHOICE; trees * fabric.num_switches()],
            first: first.map(|switch| fabric.channel_range(switch).0).collect(),
        }
    }

    /// Number of choices to make.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is no tree, or no switch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The channel that `switch` takes in a tree, if it has a path there.
    #[inline]
    #[must_use]
    pub fn channel(&self, tree: usize, switch: SwitchIdx) -> Option<ChannelIdx> {
        match self.places.get(tree * self.first.len() + switch.at()) {
            None | Some(&NO_CHOICE) => None,
            Some(&place) => Some(ChannelIdx(self.first[switch].0 + u32::from(place))),
        }
    }

    /// Lets a switch take one of its channels.
    #[inline]
    pub fn set(&mut self, tree: usize, switch: SwitchIdx, channel: ChannelIdx) {
        let place = channel.0 - self.first[switch].0;
        let at = tree * self.first.len() + switch.at();
        if let Some(choice) = self.places.get_mut(at) {
            // A switch has 254 ports at most.
            *choice = place as u8;
        }
    }

    /// The places of all switches in a tree.
    #[inline]
    #[must_use]
    pub fn row(&self, tree: usize) -> &[u8] {
        let len = self.first.len();
        let row = self.places.get(tree * len..(tree + 1) * len);
        row.unwrap_or_default()
    }

    /// The places of all switches in a tree, to change.
    #[inline]
    pub fn row_mut(&mut self, tree: usize) -> &mut [u8] {
        let len = self.first.len();
        let row = self.places.get_mut(tree * len..(tree + 1) * len);
        row.unwrap_or_default()
    }

    /// Writes the ports of all trees into the tables.
    pub fn install(
        &self,
        fabric: &Fabric,
        dag: &ShortestPathDag,
        trees: &[Demand],
        routes: &mut Routes,
    ) {
        let mut first = 0;
        // All trees of a target at once: their LIDs are neighbours in the tables.
        for trees in trees.chunk_by(|one, next| one.target == next.target) {
            let targets = trees.first().map(|tree| dag.towards(tree.target));
            for visit in targets.iter().flat_map(|towards| towards.nodes()) {
                let lft = routes.lft_mut(visit.switch);
                for (number, tree) in (first..).zip(trees) {
                    let Some(channel) = self.channel(number, visit.switch) else {
                        continue;
                    };
                    for lid in &tree.lids {
                        if let Some(entry) = lft.get_mut(usize::from(lid.0)) {
                            *entry = fabric.channel(channel).port.0;
                        }
                    }
                }
            }
            first += trees.len();
        }
    }
}
