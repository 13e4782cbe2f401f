//! A load that the busiest channel has at least, whatever paths are chosen.

use alloc::{vec, vec::Vec};

use crate::{
    algo::demands::Demands,
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
};

/// The least load of the busiest channel: the routes that begin or end at a switch share its channels.
///
/// Fat trees with few pods reach it at their leaves, where other channels bear less.
#[must_use]
pub(super) fn lower_bound(fabric: &Fabric, demands: &Demands) -> u64 {
    let mut wanted: IdxVec<SwitchIdx, u64> = IdxVec::filled(fabric.num_switches(), 0);
    for tree in &demands.trees {
        wanted[tree.target] += tree.weight;
    }
    let part_of = fabric.parts();
    let parts = part_of.iter().max().map_or(0, |&last| last as usize + 1);
    // The senders of each part of the fabric, and what they send to.
    let mut totals: Vec<(u64, u64)> = vec![(0, 0); parts];
    for (switch, &part) in part_of.iter_enumerated() {
        if let Some((senders, all_wanted)) = totals.get_mut(part as usize) {
            *senders += demands.senders[switch];
            *all_wanted += wanted[switch];
        }
    }
    let bound = |(switch, &part): (SwitchIdx, &u32)| {
        let (all_senders, all_wanted) = totals.get(part as usize).copied().unwrap_or_default();
        let (senders, wanted) = (demands.senders[switch], wanted[switch]);
        let begin = senders * (all_wanted - wanted);
        let end = wanted * (all_senders - senders);
        let channels = fabric.channels_from(switch).len() as u64;
        begin.max(end).div_ceil(channels.max(1))
    };
    part_of
        .iter_enumerated()
        .map(bound)
        .max()
        .unwrap_or_default()
}
