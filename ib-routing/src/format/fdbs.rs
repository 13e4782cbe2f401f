//! Forwarding tables with their hops: OpenSM's `opensm.fdbs`, which [`lfts::read`](super::lfts::read)
//! reads too.
//!
//! A LID of a CA is one hop farther than its switch. Where a route is longer than it need be, the table
//! names a port of a shortest one.

use alloc::string::String;
use core::fmt::{self, Write};

use ib_wire::{Lid, PortNum};

use crate::{
    algo::bfs,
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
    routes::Routes,
};

/// Writes `opensm.fdbs`.
#[must_use]
pub fn write(fabric: &Fabric, lids: &LidMap, routes: &Routes) -> String {
    let distances = bfs::all_distances(fabric);
    let mut out = String::new();
    // Writing to a string does not fail.
    for switch in fabric.switches().indices() {
        let guid = fabric.switch_guid(switch);
        let _ = writeln!(
            out,
            "dump_ucast_routes: Switch {guid}\nLID    : Port : Hops : Optimal"
        );
        for lid in (1..=lids.max_lid().0).map(Lid) {
            let _ = entry(&mut out, fabric, lids, routes, &distances, switch, lid);
        }
    }
    out
}

fn entry(
    out: &mut String,
    fabric: &Fabric,
    lids: &LidMap,
    routes: &Routes,
    distances: &IdxVec<SwitchIdx, IdxVec<SwitchIdx, u16>>,
    switch: SwitchIdx,
    lid: Lid,
) -> fmt::Result {
    write!(out, "0x{:04X} : ", lid.0)?;
    let port = routes.port(switch, lid);
    let owner = lids.owner(lid).filter(|_| port != PortNum::UNREACHABLE);
    let Some((owner, target)) = owner.and_then(|owner| Some((owner, owner.switch?))) else {
        return writeln!(out, "UNREACHABLE");
    };
    let to = &distances[target];
    let next = |port: PortNum| {
        let channel = fabric.channel_at(switch, port)?;
        Some(to[fabric.channel(channel).to]).filter(|&hops| hops != bfs::UNREACHED)
    };
    let hops = match (target == switch, next(port)) {
        (true, _) => Some(0),
        (false, next) => next.map(|hops| hops.saturating_add(1)),
    };
    let Some(hops) = hops else {
        return writeln!(out, "{:03}  : HOPS UNKNOWN", port.0);
    };
    let last = u16::from(!owner.is_switch());
    let (hops, best) = (hops + last, to[switch].saturating_add(last));
    write!(out, "{:03}  : {hops:02}   : ", port.0)?;
    if hops == best {
        return writeln!(out, "yes");
    }
    let shortest = |port: &PortNum| next(*port).is_some_and(|hops| hops + 1 + last == best);
    let mut ports = fabric.switch(switch).ports().map(|(port, _)| port);
    let better = ports.find(shortest).map_or(exit(owner), |port| port.0);
    writeln!(out, "No {best} hop path possible via port {better}!")
}

/// The port at the destination's own switch.
fn exit(owner: &Destination) -> u8 {
    owner.exit.0
}
