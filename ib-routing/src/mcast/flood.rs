//! The path of a packet through a multicast tree, for tests.

use alloc::vec::Vec;

use super::MulticastTree;
use crate::fabric::{Fabric, PortRef};

/// Floods a packet into the tree at a member and returns who else gets it, each time it does.
pub(crate) fn flood(fabric: &Fabric, tree: &MulticastTree, from: PortRef) -> Vec<PortRef> {
    let (switch, port) = fabric.attachment(from).expect("a switch");
    let mut open = Vec::from([(switch, port)]);
    let mut got = Vec::new();
    while let Some((switch, input)) = open.pop() {
        assert!(got.len() < 10_000, "the tree has a loop");
        for port in tree.ports[&switch].iter().filter(|&port| port != input) {
            match fabric.channel_at(switch, port) {
                Some(channel) => {
                    open.push((fabric.channel(channel).to, fabric.channel(channel).to_port))
                }
                None => got.extend(fabric.switch(switch).port(port).and_then(|port| port.peer)),
            }
        }
    }
    got.sort();
    got
}
