//! Splits routes evenly over next hops.

use alloc::vec::Vec;

use crate::{
    algo::shortest_path_dag::DagTo,
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// Bits of a reciprocal: enough for the 254 ports of a switch.
const RECIPROCAL_BITS: u32 = 24;

/// The reciprocal of each number of next hops: a division takes longer than to look it up.
#[allow(
    clippy::indexing_slicing,
    reason = "the compiler computes it, and indexes below the length"
)]
static RECIPROCALS: [u32; 256] = {
    let mut reciprocals = [0; 256];
    let mut count: usize = 1;
    while count < reciprocals.len() {
        reciprocals[count] = (1 << RECIPROCAL_BITS) / count as u32;
        count += 1;
    }
    reciprocals
};

/// An even share of routes for each of `count` next hops.
#[inline(always)]
pub(super) fn share(routes: u64, count: usize) -> u64 {
    match count {
        1 => routes,
        2 => routes >> 1,
        _ => {
            // A switch has 254 ports at most, and one without next hops is not listed.
            let reciprocal = RECIPROCALS.get(count).copied().unwrap_or_default();
            (routes * u64::from(reciprocal)) >> RECIPROCAL_BITS
        }
    }
}

/// Splits the routes that pass each switch evenly over its next hops, and adds them to the load of these. Returns the
/// share of each next hop of a switch, the farthest switch first.
pub(super) fn split_evenly(
    towards: DagTo<'_>,
    load: &mut IdxVec<ChannelIdx, u64>,
    passing: &mut IdxVec<SwitchIdx, u64>,
) -> Vec<u64> {
    let mut shares = Vec::with_capacity(towards.switches().len());
    for switch in towards.switches().rev() {
        let next_hops = towards.next_hops(switch);
        let share = share(passing[switch], next_hops.len());
        shares.push(share);
        for next_hop in next_hops {
            load[next_hop.channel] += share;
            passing[next_hop.to()] += share;
        }
    }
    shares
}
