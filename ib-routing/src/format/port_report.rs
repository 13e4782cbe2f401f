//! A report of ports as `ibnetdiscover -p` prints it: one port a line, with the other end of its cable.

use alloc::string::{String, ToString as _};
use core::fmt::Write;

use ib_wire::{Guid, Lid, PortNum};

use crate::{
    fabric::{Fabric, NodeType, Port, PortRef},
    index::NodeIdx,
};

/// The external ports of the nodes in the given order. Ports without a cable have no other end. A width or speed
/// that is unknown is `???`; ibnetdiscover prints there what the last link had, or the port's initial value.
#[must_use]
pub fn write(fabric: &Fabric, nodes: &[NodeIdx]) -> String {
    let mut out = String::new();
    for &index in nodes {
        // Writing to a string does not fail.
        let _ = write_node(&mut out, fabric, index);
    }
    out
}

fn write_node(out: &mut String, fabric: &Fabric, index: NodeIdx) -> core::fmt::Result {
    let node = fabric.node(index);
    // A walk does not read the other ports of an adapter that it comes to.
    let is_known =
        |port: &Port| node.type_.is_switch() || port.peer.is_some() || port.guid != Guid::NONE;
    let external = node
        .ports()
        .filter(|(number, port)| number.0 > 0 && is_known(port));
    for (number, port) in external {
        let here = PortRef {
            node: index,
            port: number,
        };
        let unknown = || "???".to_string();
        let width = port.width.map_or_else(unknown, |width| width.to_string());
        let speed = port.speed.map_or_else(unknown, |speed| speed.to_string());
        write!(out, "{} {width} {speed}", End::of(fabric, here))?;
        match port.peer {
            Some(peer) => writeln!(
                out,
                " - {} ( '{}' - '{}' )",
                End::of(fabric, peer),
                node.description,
                fabric.node(peer.node).description
            )?,
            None => writeln!(out, "{:36}'{}'", "", node.description)?,
        }
    }
    Ok(())
}

/// One end of a cable.
struct End {
    kind: &'static str,
    lid: Lid,
    port: PortNum,
    guid: Guid,
}

impl End {
    fn of(fabric: &Fabric, end: PortRef) -> Self {
        let node = fabric.node(end.node);
        let (kind, managing) = match node.type_ {
            NodeType::SWITCH => ("SW", PortNum::MANAGEMENT),
            NodeType::ROUTER => ("RT", end.port),
            _ => ("CA", end.port),
        };
        let guid = node.port(end.port).map_or(Guid::NONE, |port| port.guid);
        Self {
            kind,
            lid: node.port(managing).map_or(Lid::NONE, |port| port.lid),
            port: end.port,
            // External ports of a switch share its GUID.
            guid: match node.type_.is_switch() {
                true => node.guid,
                false => guid,
            },
        }
    }
}

impl core::fmt::Display for End {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (lid, port) = (self.lid.0, self.port.0);
        write!(f, "{} {lid:>5} {port:>2} {:#018x}", self.kind, self.guid.0)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::format::ibnetdiscover;

    #[test]
    fn a_line_has_both_ends_of_a_cable() {
        let text = "switchguid=0x21(21)\nSwitch 2 \"S-21\" # \"sw\" base port 0 lid 7 lmc 0\n[2] \"H-22\"[1](23) # \"host\" lid 9 4xEDR\n\n\
                    caguid=0x22\nCa 1 \"H-22\" # \"host\"\n[1](23) \"S-21\"[2] # lid 9 lmc 0 \"sw\" lid 7 4xEDR\n";
        let fabric = ibnetdiscover::read(text).expect("a fabric").fabric;
        let nodes: Vec<NodeIdx> = fabric.nodes().indices().collect();
        let expected = "SW     7  1 0x0000000000000021 ??? ???                                    'sw'\n\
                        SW     7  2 0x0000000000000021 4x EDR - CA     9  1 0x0000000000000023 ( 'sw' - 'host' )\n\
                        CA     9  1 0x0000000000000023 4x EDR - SW     7  2 0x0000000000000021 ( 'host' - 'sw' )\n";
        assert_eq!(write(&fabric, &nodes), expected);
    }
}
