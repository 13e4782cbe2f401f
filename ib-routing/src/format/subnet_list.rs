//! The subnet list: OpenSM's `opensm-subnet.lst`, every link from both ends.

use alloc::string::String;
use core::fmt::Write;

use crate::{
    fabric::{Fabric, LinkSpeed, NodeType, PortRef},
    lid::LidMap,
};

/// Writes the list.
#[must_use]
pub fn write(fabric: &Fabric, lids: &LidMap) -> String {
    let mut out = String::new();
    for (node, entry) in fabric.nodes().iter_enumerated() {
        for (port, end) in entry.ports() {
            let Some(peer) = end.peer else { continue };
            // Writing to a string does not fail.
            let _ = write_end(&mut out, fabric, lids, PortRef { node, port });
            out.push(' ');
            let _ = write_end(&mut out, fabric, lids, peer);
            let width = end.width.map_or(4, |width| width.lanes());
            let speed = match end.speed.unwrap_or(LinkSpeed::Sdr) {
                LinkSpeed::Sdr => "2.5",
                LinkSpeed::Ddr => "5",
                LinkSpeed::Qdr => "10",
                LinkSpeed::Fdr10 => "FDR10",
                LinkSpeed::Fdr => "14",
                LinkSpeed::Edr => "25",
                LinkSpeed::Hdr => "50",
                LinkSpeed::Ndr => "100",
                LinkSpeed::Xdr => "200",
            };
            let _ = writeln!(out, " PHY={width}x LOG=ACT SPD={speed}");
        }
    }
    out
}

fn write_end(out: &mut String, fabric: &Fabric, lids: &LidMap, end: PortRef) -> core::fmt::Result {
    let node = fabric.node(end.node);
    let kind = match node.type_ {
        NodeType::Switch => "SW",
        NodeType::Ca => "CA",
        NodeType::Router => "RT",
    };
    let guid = fabric.port(end).map_or(node.guid, |port| port.guid);
    let owner = match fabric.switch_of(end.node) {
        Some(switch) => lids
            .at_switch(switch)
            .find(|destination| destination.is_switch())
            .copied(),
        None => fabric.attachment(end).and_then(|(switch, exit)| {
            lids.at_switch(switch)
                .find(|destination| destination.exit == exit)
                .copied()
        }),
    };
    let lid = owner.map_or(0, |owner| owner.range.base().0);
    write!(
        out,
        "{{ {kind} Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} VenID:{:06X} DevID:{:04X} Rev:00000000 {{{}}} LID:{lid:04x} PN:{:02X} }}",
        node.num_ports(),
        node.system_image_guid.0,
        node.guid.0,
        guid.0,
        node.vendor_id,
        node.device_id,
        node.description,
        end.port.0
    )
}
