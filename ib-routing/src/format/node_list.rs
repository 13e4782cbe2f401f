//! Lists of nodes as `ibnetdiscover -l`, `-H`, `-S` and `-R` print them: one node a line.

use alloc::{format, string::String};
use core::fmt::Write;

use crate::{
    fabric::{Fabric, NodeType},
    index::NodeIdx,
};

/// The kinds of nodes, with the word for each.
const KINDS: [(NodeType, &str); 3] = [
    (NodeType::CA, "Ca\t"),
    (NodeType::SWITCH, "Switch\t"),
    (NodeType::ROUTER, "Router\t"),
];

/// The nodes of these kinds: CAs, then switches, then routers, of each kind in the given order.
#[must_use]
pub fn write(fabric: &Fabric, nodes: &[NodeIdx], kinds: &[NodeType]) -> String {
    let mut out = String::new();
    for (kind, word) in KINDS {
        if !kinds.contains(&kind) {
            continue;
        }
        let nodes = nodes.iter().map(|&index| fabric.node(index));
        for node in nodes.filter(|node| node.type_ == kind) {
            // Writing to a string does not fail.
            let _ = writeln!(
                out,
                "{word} : {:#018x} ports {} devid {} vendid {} \"{}\"",
                node.guid.0,
                node.num_ports(),
                hexadecimal(node.device_id.into()),
                hexadecimal(node.vendor_id),
                node.description
            );
        }
    }
    out
}

/// A number as C's `%#x` prints it: zero has no prefix.
fn hexadecimal(number: u32) -> String {
    match number {
        0 => "0".into(),
        _ => format!("{number:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::format::ibnetdiscover;

    #[test]
    fn each_kind_is_listed_when_it_is_wanted() {
        let text = "vendid=0x2c9\ndevid=0xcb20\nswitchguid=0x21\nSwitch 2 \"S-21\" # \"sw\"\n[1] \"H-22\"[1]\n\n\
                    vendid=0x2c9\ndevid=0x0\ncaguid=0x22\nCa 1 \"H-22\" # \"host\"\n[1](23) \"S-21\"[1]\n";
        let fabric = ibnetdiscover::read(text).expect("a fabric").fabric;
        let nodes: Vec<NodeIdx> = fabric.nodes().indices().collect();
        let switch = "Switch\t : 0x0000000000000021 ports 2 devid 0xcb20 vendid 0x2c9 \"sw\"\n";
        let host = "Ca\t : 0x0000000000000022 ports 1 devid 0 vendid 0x2c9 \"host\"\n";
        assert_eq!(write(&fabric, &nodes, &[NodeType::SWITCH]), switch);
        let both = write(&fabric, &nodes, &[NodeType::SWITCH, NodeType::CA]);
        assert_eq!(both, String::from(host) + switch);
        assert_eq!(write(&fabric, &nodes, &[NodeType::ROUTER]), "");
    }
}
