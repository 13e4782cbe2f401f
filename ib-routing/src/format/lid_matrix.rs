//! The LID matrix: OpenSM's `opensm-lid-matrix.dump`, the hops from every switch through each of its
//! ports to every switch LID.

use alloc::string::String;
use core::fmt::Write;

use crate::{
    algo::bfs,
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
    lid::LidMap,
};

/// Writes the matrix of shortest paths.
#[must_use]
pub fn write(fabric: &Fabric, lids: &LidMap) -> String {
    let distances: IdxVec<SwitchIdx, _> = fabric
        .switches()
        .indices()
        .map(|target| bfs::distances(fabric, target))
        .collect();
    let mut out = String::new();
    // Writing to a string does not fail.
    for switch in fabric.switches().indices() {
        let _ = writeln!(out, "Switch: guid {}", fabric.switch_guid(switch));
        for destination in lids
            .destinations()
            .iter()
            .filter(|destination| destination.is_switch())
        {
            let Some(target) = destination.switch else {
                continue;
            };
            let hops = |hops: u16| hops.min(0xff);
            for lid in destination.range.iter() {
                let _ = write!(
                    out,
                    "0x{:04x}: {:02x}",
                    lid.0,
                    hops(distances[target][switch])
                );
                for (port, _) in fabric.switch(switch).ports().filter(|(port, _)| port.0 > 0) {
                    let next = fabric
                        .channel_at(switch, port)
                        .map(|channel| fabric.channel(channel).to);
                    let far = next.map_or(bfs::UNREACHED, |next| {
                        distances[target][next].saturating_add(1)
                    });
                    let _ = write!(out, " {:02x}", hops(far));
                }
                let _ = writeln!(out, " # portguid {}", destination.guid);
            }
        }
    }
    out
}
