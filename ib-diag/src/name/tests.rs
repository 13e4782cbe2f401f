//! Every form of a node's name, on a simulated subnet.

use std::string::ToString as _;

use ib_wire::{Gid, GidPrefix, PortNum};

use super::{NameError, NodeNameMap};
use crate::testing::brought_up;

#[test]
fn a_node_is_found_by_lid_guid_gid_route_and_name() {
    let snapshot = brought_up("gen-ring-5");
    let (at, node, port) = snapshot
        .ports()
        .find(|(_, node, port)| !node.is_switch() && port.lid().is_unicast())
        .unwrap();
    let gid = Gid::new(GidPrefix(0xfe80_0000_0000_0000), port.guid);
    let texts = [
        port.lid().to_string(),
        std::format!("{:#x}", port.lid().0),
        node.guid().to_string(),
        port.guid.to_string(),
        gid.to_string(),
        node.path.to_string(),
        node.name(),
        std::format!("H-{:016x}", node.guid().0),
        node.name().to_uppercase(),
    ];
    for text in texts {
        assert_eq!(
            snapshot.find(&text).unwrap().port_of(&snapshot),
            at,
            "{text}"
        );
        let with_port = std::format!("{text}:1");
        let found = snapshot.find(&with_port).unwrap();
        assert_eq!(
            (found.node, found.port),
            (at.node, Some(PortNum(1))),
            "{with_port}"
        );
        let missing = snapshot.find(&std::format!("{text}:9"));
        assert!(
            matches!(missing, Err(NameError::NoSuchPort { .. })),
            "{missing:?}"
        );
    }
    for text in [
        "",
        "nothing",
        "60000",
        "0x1234567890",
        "fe80::1",
        "0,99",
        "nothing:1",
    ] {
        let missing = snapshot.find(text);
        assert!(
            matches!(missing, Err(NameError::Unknown { .. })),
            "{text}: {missing:?}"
        );
    }
}

#[test]
fn a_name_that_fits_several_nodes_lists_them() {
    let mut snapshot = brought_up("gen-ring-5");
    let hosts: Vec<_> = snapshot
        .nodes
        .iter()
        .filter(|node| !node.is_switch())
        .map(|node| node.guid())
        .collect();
    let text = std::format!(
        "{} \"twin\"\n# comment\n\n{} \"twin\" # other\n",
        hosts[0],
        hosts[1]
    );
    snapshot.rename(&NodeNameMap::read(&text).unwrap());
    let Err(NameError::Ambiguous { nodes, .. }) = snapshot.find("twin") else {
        panic!("two nodes have the name");
    };
    assert_eq!(nodes.len(), 2);
    let error = snapshot.find("twin:1").unwrap_err().to_string();
    assert!(
        error.contains(&hosts[0].to_string()) && error.contains(&hosts[1].to_string()),
        "{error}"
    );
}

#[test]
fn a_line_that_is_no_name_is_an_error_with_its_line() {
    let error = NodeNameMap::read("0x1 \"one\"\n0x2 two\n").unwrap_err();
    assert_eq!(error.line, 2);
}
