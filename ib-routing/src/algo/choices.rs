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
///
/// The trees towards one target lie side by side, switch by switch: they are chosen and installed together.
#[derive(Clone, Debug)]
pub struct Choices {
    places: Vec<u8>,
    columns: Vec<Column>,
    /// The first channel of every switch.
    first: IdxVec<SwitchIdx, ChannelIdx>,
}

/// The positions of a tree's choices.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// The place of the first switch.
    start: usize,
    /// The trees with the same target, from one switch to the next.
    step: usize,
}

impl Choices {
    /// No switch has chosen yet.
    #[must_use]
    pub fn new(fabric: &Fabric, trees: &[Demand]) -> Self {
        let switches = fabric.num_switches();
        let mut columns = Vec::with_capacity(trees.len());
        for trees in trees.chunk_by(|one, next| one.target == next.target) {
            let start = columns.len() * switches;
            columns.extend((0..trees.len()).map(|number| Column {
                start: start + number,
                step: trees.len(),
            }));
        }
        let first = fabric.switches().indices();
        Self {
            places: vec![NO_CHOICE; trees.len() * switches],
            columns,
            first: first.map(|switch| fabric.channel_range(switch).0).collect(),
        }
    }

    /// Number of choices to make.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns true if there is no tree, or no switch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The place of a choice in the table; past its end for a tree that does not exist.
    #[inline]
    fn at(&self, tree: usize, switch: SwitchIdx) -> usize {
        let column = self.columns.get(tree);
        column.map_or(usize::MAX, |column| {
            column.start + switch.at() * column.step
        })
    }

    /// The channel that `switch` takes in a tree, if it has a path there.
    #[inline]
    #[must_use]
    pub fn channel(&self, tree: usize, switch: SwitchIdx) -> Option<ChannelIdx> {
        match self.places.get(self.at(tree, switch)) {
            None | Some(&NO_CHOICE) => None,
            Some(&place) => Some(ChannelIdx(self.first[switch].0 + u32::from(place))),
        }
    }

    /// Lets a switch take one of its channels.
    #[inline]
    pub fn set(&mut self, tree: usize, switch: SwitchIdx, channel: ChannelIdx) {
        let place = channel.0 - self.first[switch].0;
        let at = self.at(tree, switch);
        if let Some(choice) = self.places.get_mut(at) {
            // A switch has 254 ports at most.
            *choice = place as u8;
        }
    }

    /// The choices of `count` trees from `first` on, which all have the same target.
    pub fn block(&mut self, first: usize, count: usize) -> ChoiceBlock<'_> {
        let column = self.columns.get(first);
        let (start, step) = column.map_or((usize::MAX, 0), |column| (column.start, column.step));
        ChoiceBlock {
            places: self.places.get_mut(start..).unwrap_or_default(),
            step,
            count,
        }
    }

    /// Writes the ports of all trees into the tables.
    pub fn install(
        &self,
        fabric: &Fabric,
        dag: &ShortestPathDag,
        trees: &[Demand],
        routes: &mut Routes,
    ) {
        let ports: IdxVec<ChannelIdx, u8> = fabric
            .channels()
            .iter()
            .map(|channel| channel.port.0)
            .collect();
        let mut first = 0;
        // All trees of a target at once: their LIDs are neighbours in the tables.
        for trees in trees.chunk_by(|one, next| one.target == next.target) {
            let Some(target) = trees.first().map(|tree| tree.target) else {
                continue;
            };
            let lids: Vec<(usize, usize)> = (0..)
                .zip(trees)
                .flat_map(|(number, tree)| {
                    let lids = tree.lids.iter();
                    lids.map(move |lid| (number, usize::from(lid.0)))
                })
                .collect();
            for visit in dag.towards(target).nodes() {
                let at = self.at(first, visit.switch);
                let places = self.places.get(at..at + trees.len()).unwrap_or_default();
                let lft = routes.lft_mut(visit.switch);
                // A switch that is listed has a choice in every tree.
                let (first, end) = fabric.channel_range(visit.switch);
                let ports = ports.range(first, end);
                for &(number, lid) in &lids {
                    let place = places.get(number).copied().unwrap_or(NO_CHOICE);
                    if let (Some(&port), Some(entry)) =
                        (ports.get(usize::from(place)), lft.get_mut(lid))
                    {
                        *entry = port;
                    }
                }
            }
            first += trees.len();
        }
    }
}

/// The choices of neighbouring trees with the same target.
#[derive(Debug)]
pub struct ChoiceBlock<'a> {
    places: &'a mut [u8],
    step: usize,
    count: usize,
}

impl ChoiceBlock<'_> {
    /// The place of the channel that a switch takes in each tree.
    #[inline]
    pub fn of(&mut self, switch: SwitchIdx) -> &mut [u8] {
        let start = switch.at() * self.step;
        let places = self.places.get_mut(start..start + self.count);
        places.unwrap_or_default()
    }
}
