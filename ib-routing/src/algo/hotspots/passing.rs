//! The switches that routes pass in each tree.

use alloc::vec::Vec;

use crate::{
    algo::{
        choices::{Choices, TreeChoices},
        demands::{Demand, Demands},
        parallel,
    },
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
};

/// Trees of a block: a bit each.
const BLOCK: usize = u64::BITS as usize;

/// For each switch the trees whose routes pass it.
///
/// In a tree of a fat tree most roots pass on nothing, since its routes meet at few of them. So to know this beforehand spares
/// most of the work. After a reroute some switches may be marked that no routes pass any longer.
#[derive(Debug)]
pub(super) struct Passing {
    blocks: Vec<IdxVec<SwitchIdx, u64>>,
}

impl Passing {
    /// Marks all switches in all trees with routes that `demands` count: so no route is missed before it is known what they
    /// pass.
    pub(super) fn everywhere(fabric: &Fabric, demands: &Demands) -> Self {
        let blocks = demands.trees.chunks(BLOCK);
        let blocks = blocks.map(|trees| IdxVec::filled(fabric.num_switches(), with_routes(trees)));
        Self {
            blocks: blocks.collect(),
        }
    }

    /// Marks what these routes pass, on up to `threads` threads.
    pub(super) fn new(
        threads: usize,
        fabric: &Fabric,
        demands: &Demands,
        choices: &Choices,
    ) -> Self {
        let senders = demands.senders.iter_enumerated();
        let senders = senders.filter(|&(_, &senders)| senders > 0);
        let senders: Vec<SwitchIdx> = senders.map(|(switch, _)| switch).collect();
        if senders.len() == fabric.num_switches() {
            return Self::everywhere(fabric, demands);
        }
        let blocks: Vec<&[Demand]> = demands.trees.chunks(BLOCK).collect();
        let blocks = parallel::map(threads, blocks.len(), |number| {
            let trees = blocks.get(number).copied().unwrap_or_default();
            let mut block = IdxVec::filled(fabric.num_switches(), 0);
            for &sender in &senders {
                block[sender] = with_routes(trees);
            }
            let trees = (number * BLOCK..).zip(trees);
            for (tree, demand) in trees.filter(|(_, demand)| demand.weight > 0) {
                parallel::count(senders.len());
                let choices = choices.of_tree(tree);
                for &sender in senders.iter().filter(|&&sender| sender != demand.target) {
                    if let Some(channel) = choices.channel(sender) {
                        let next = fabric.channel(channel).to;
                        mark(fabric, choices, &mut block, bit(tree), demand.target, next);
                    }
                }
            }
            block
        });
        Self { blocks }
    }

    /// The first tree whose routes pass a switch, from number `first` on.
    #[inline]
    pub(super) fn next_tree(&self, first: usize, switch: SwitchIdx) -> Option<usize> {
        let mut trees = u64::MAX << (first % BLOCK);
        for (number, block) in self.blocks.iter().enumerate().skip(first / BLOCK) {
            trees &= block[switch];
            if trees != 0 {
                return Some(number * BLOCK + trees.trailing_zeros() as usize);
            }
            trees = u64::MAX;
        }
        None
    }

    /// The switches that routes of a tree pass.
    #[inline]
    pub(super) fn of_tree(&self, tree: usize) -> PassingOf<'_> {
        PassingOf {
            block: self.blocks.get(tree / BLOCK),
            bit: bit(tree),
        }
    }

    /// Marks the path from a switch.
    pub(super) fn mark_path(
        &mut self,
        fabric: &Fabric,
        choices: &Choices,
        tree: usize,
        target: SwitchIdx,
        switch: SwitchIdx,
    ) {
        if let Some(block) = self.blocks.get_mut(tree / BLOCK) {
            let choices = choices.of_tree(tree);
            mark(fabric, choices, block, bit(tree), target, switch);
        }
    }
}

/// The switches that routes of one tree pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassingOf<'a> {
    block: Option<&'a IdxVec<SwitchIdx, u64>>,
    bit: u64,
}

impl PassingOf<'_> {
    #[inline]
    pub(super) fn contains(self, switch: SwitchIdx) -> bool {
        self.block
            .is_some_and(|block| block[switch] & self.bit != 0)
    }
}

/// The trees of a block that have routes.
fn with_routes(trees: &[Demand]) -> u64 {
    let bits = (0..).zip(trees).filter(|(_, demand)| demand.weight > 0);
    bits.fold(0, |all, (tree, _)| all | bit(tree))
}

/// The bit of a tree in its block.
#[inline]
fn bit(tree: usize) -> u64 {
    1 << (tree % BLOCK)
}

/// Marks the path from a switch with the bit of a tree. What follows a marked switch is marked, too.
#[inline]
fn mark(
    fabric: &Fabric,
    choices: TreeChoices<'_>,
    block: &mut IdxVec<SwitchIdx, u64>,
    bit: u64,
    target: SwitchIdx,
    mut switch: SwitchIdx,
) {
    while switch != target && block[switch] & bit == 0 {
        block[switch] |= bit;
        match choices.channel(switch) {
            Some(channel) => switch = fabric.channel(channel).to,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algo::{balance::Balance, shortest_path_dag::ShortestPathDag},
        generate::{FabricSpec, remove_links},
        lid::{LidMap, LidOptions},
        options::RouteOptions,
    };

    /// The reference follows the path of each sender. The other one marks too much, but no tree without routes.
    #[test]
    fn a_switch_is_marked_in_the_trees_whose_routes_pass_it() {
        for spec in ["fat-tree:radix=8,levels=3", "ring:switches=5,hosts=2"] {
            let whole = spec.parse::<FabricSpec>().unwrap().build().unwrap();
            let fabric = remove_links(&whole, 5.0, 1);
            let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
            let demands = Demands::new(&fabric, &lids, false);
            let dag = ShortestPathDag::new(&fabric, &RouteOptions::default());
            let choices = Balance::new(1, &fabric, &dag, &demands).into_choices();
            let everywhere = Passing::everywhere(&fabric, &demands);
            for threads in [1, 2] {
                let passing = Passing::new(threads, &fabric, &demands, &choices);
                for switch in fabric.switches().indices() {
                    let mut next = 0;
                    for (tree, demand) in demands.trees.iter().enumerate() {
                        let is_passed = passes(&fabric, &demands, &choices, tree, switch);
                        if switch != demand.target {
                            assert_eq!(passing.of_tree(tree).contains(switch), is_passed);
                        }
                        let is_any = everywhere.of_tree(tree).contains(switch);
                        assert_eq!(is_any, demand.weight > 0);
                        if passing.of_tree(tree).contains(switch) {
                            assert_eq!(passing.next_tree(next, switch), Some(tree));
                            next = tree + 1;
                        }
                    }
                    assert_eq!(passing.next_tree(next, switch), None);
                }
            }
        }
    }

    /// Returns true if routes of a tree pass a switch or start there.
    fn passes(
        fabric: &Fabric,
        demands: &Demands,
        choices: &Choices,
        tree: usize,
        switch: SwitchIdx,
    ) -> bool {
        let demand = &demands.trees[tree];
        let mut senders = demands.senders.iter_enumerated();
        demand.weight > 0
            && senders.any(|(sender, &senders)| {
                let mut at = sender;
                while at != switch && at != demand.target {
                    match choices.channel(tree, at) {
                        Some(channel) => at = fabric.channel(channel).to,
                        None => return false,
                    }
                }
                senders > 0 && at == switch
            })
    }
}
