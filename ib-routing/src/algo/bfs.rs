//! Breadth-first search over switches.

use alloc::vec::Vec;

use crate::{
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
};

/// The distance of a switch that no path leads to.
pub const UNREACHED: u16 = u16::MAX;

/// Hops from every switch to `target`, or [`UNREACHED`].
#[must_use]
pub fn distances(fabric: &Fabric, target: SwitchIdx) -> IdxVec<SwitchIdx, u16> {
    let mut distance = IdxVec::filled(fabric.num_switches(), UNREACHED);
    let mut queue = Vec::with_capacity(fabric.num_switches());
    distance[target] = 0;
    queue.push(target);
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
    distance
}
