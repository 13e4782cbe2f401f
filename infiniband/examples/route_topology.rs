//! Routes a topology of one's own, two switches with two cables and a host each, and proves the result.

use std::error::Error;

use infiniband::{
    routing::{FabricBuilder, NewNode, NodeType, PortRef, verify},
    wire::{Guid, PortNum},
};

#[rustfmt::skip]
fn main() -> Result<(), Box<dyn Error>> {
    let mut builder = FabricBuilder::new();
    let mut add = |type_, guid, num_ports| {
        builder.add_node(NewNode { type_, guid: Guid(guid), num_ports, ..NewNode::default() })
    };
    let (left, right) = (add(NodeType::SWITCH, 0x10, 8)?, add(NodeType::SWITCH, 0x20, 8)?);
    let (a, b) = (add(NodeType::CA, 0x11, 1)?, add(NodeType::CA, 0x21, 1)?);
    let at = |node, port| PortRef { node, port: PortNum(port) };
    builder.add_link(at(left, 1), at(right, 1))?;
    builder.add_link(at(left, 2), at(right, 2))?;
    builder.add_link(at(a, 1), at(left, 3))?;
    builder.add_link(at(b, 1), at(right, 3))?;
    let fabric = builder.build();
    let routed = infiniband::route(&fabric, "updn")?;
    let report = verify(&fabric, &routed.lids, &routed.routes);
    println!("{} pairs, {} unreachable, {} hops at most", report.pairs, report.unreachable, report.max_hops);
    assert!(report.deadlock_free && report.unreachable == 0);
    Ok(())
}
