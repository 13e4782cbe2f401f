//! Fabrics whose switches of one height have equally many channels up.

use alloc::{collections::BTreeMap, vec::Vec};

use crate::{
    algo::bfs,
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
};

/// Returns true if all switches of one height have equally many channels to higher ones.
///
/// The height of a switch is its distance from the nearest one with senders. Whole fat trees are regular. One that lacks a
/// cable is not, and one that lacks a leaf with all its cables is.
#[must_use]
pub fn is_regular(fabric: &Fabric, senders: &IdxVec<SwitchIdx, u64>) -> bool {
    let switches = fabric.switches().indices();
    let leaves: Vec<SwitchIdx> = switches.clone().filter(|&leaf| senders[leaf] > 0).collect();
    let height = bfs::distances(fabric, &leaves);
    // For each height the channels up of the first switch there.
    let mut of_height: BTreeMap<u16, usize> = BTreeMap::new();
    let mut reached = switches.filter(|&switch| height[switch] != bfs::UNREACHED);
    reached.all(|switch| {
        let here = height[switch];
        let channels = fabric.channels_from(switch);
        let up = channels.filter(|(_, channel)| height[channel.to] > here);
        let up = up.count();
        *of_height.entry(here).or_insert(up) == up
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algo::shortest_path_dag::senders,
        generate::{FabricSpec, remove_links},
        lid::{LidMap, LidOptions},
    };

    #[test]
    fn whole_fat_trees_are_regular_and_damaged_ones_are_not() {
        for spec in [
            "fat-tree:radix=8,levels=3",
            "fat-tree:radix=12,levels=3,pods=7",
            "fat-tree:radix=16,levels=3,oversub=3,parallel=2",
        ] {
            let whole = spec.parse::<FabricSpec>().unwrap().build().unwrap();
            let is_regular = |fabric: &Fabric| {
                let lids = LidMap::assign(fabric, &LidOptions::default()).unwrap();
                is_regular(fabric, &senders(fabric, &lids))
            };
            assert!(is_regular(&whole), "{spec}");
            assert!(!is_regular(&remove_links(&whole, 2.0, 1)), "{spec}");
        }
    }
}
