//! Breadth-first search over switches.

use alloc::vec::Vec;

use crate::{
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
};

/// The distance of a switch that no path leads to.
pub const UNREACHED: u16 = u16::MAX;

/// Hops from every switch to the nearest of `targets`, or [`UNREACHED`].
#[must_use]
pub fn distances(fabric: &Fabric, targets: &[SwitchIdx]) -> IdxVec<SwitchIdx, u16> {
    let mut distance = IdxVec::filled(fabric.num_switches(), UNREACHED);
    spread_out(fabric, targets, &mut distance);
    distance
}

/// Hops between all switches: first by target, then by the switch from which they are counted.
#[must_use]
pub fn all_distances(fabric: &Fabric) -> IdxVec<SwitchIdx, IdxVec<SwitchIdx, u16>> {
    let targets = fabric.switches().indices();
    targets.map(|target| distances(fabric, &[target])).collect()
}

/// Hops to the nearest of `targets`, for all switches whose entry is [`UNREACHED`] and that a path of
/// such switches joins to one of them.
pub fn spread_out(fabric: &Fabric, targets: &[SwitchIdx], distance: &mut IdxVec<SwitchIdx, u16>) {
    let mut queue = Vec::from(targets);
    for &target in targets {
        distance[target] = 0;
    }
    let mut next = 0;
    while let Some(&switch) = queue.get(next) {
        next += 1;
        let hops = distance[switch] + 1;
        for (_, channel) in fabric.channels_from(switch) {
            if distance[channel.to] == UNREACHED {
                distance[channel.to] = hops;
                queue.push(channel.to);
            }
        }
    }
}
