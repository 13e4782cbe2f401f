//! A fabric as a Graphviz graph.

use alloc::string::String;
use core::fmt::Write;

use crate::fabric::{Fabric, NodeType};

/// Writes an undirected graph: switches as boxes, all else as ellipses, a line per cable.
#[must_use]
pub fn write(fabric: &Fabric) -> String {
    let mut out = String::from("graph fabric {\n  node [fontname=\"sans-serif\"];\n");
    for node in fabric.nodes().iter() {
        let shape = if node.type_ == NodeType::SWITCH {
            "box"
        } else {
            "ellipse"
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "  \"{}\" [label=\"{}\", shape={shape}];",
            escape(&node.name),
            escape(&node.description)
        );
    }
    for (one, other) in fabric.links() {
        let (a, b) = (fabric.node(one.node), fabric.node(other.node));
        let _ = writeln!(
            out,
            "  \"{}\" -- \"{}\" [taillabel=\"{}\", headlabel=\"{}\"];",
            escape(&a.name),
            escape(&b.name),
            one.port,
            other.port
        );
    }
    out.push_str("}\n");
    out
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
