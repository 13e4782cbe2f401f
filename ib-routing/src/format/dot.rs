//! A fabric as a Graphviz graph, its nodes where [`FabricLayout`] puts them.
//!
//! `neato -n` draws the nodes at their places; other programs of Graphviz lay the graph out anew.

use alloc::string::String;
use core::fmt::Write;

use crate::{
    fabric::{Fabric, NodeType},
    layout::{FabricLayout, Labels},
};

/// Writes an undirected graph: switches as boxes, all else as ellipses, a line per cable.
#[must_use]
pub fn write(fabric: &Fabric) -> String {
    let layout = FabricLayout::new(fabric);
    let labels = Labels::new(fabric);
    let mut out = String::from("graph fabric {\n  node [fontname=\"sans-serif\", fontsize=9];\n");
    for (index, node) in fabric.nodes().iter_enumerated() {
        let shape = if node.type_ == NodeType::SWITCH {
            "box"
        } else {
            "ellipse"
        };
        let place = layout.places.find(index).copied().unwrap_or_default();
        // Graphviz counts from the lower edge.
        let y = layout.height.saturating_sub(place.y);
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "  \"{}\" [label=\"{}\", tooltip=\"{}\", shape={shape}, pos=\"{},{y}\"];",
            escape(&node.name),
            escape(&labels.name(node)),
            escape(&node.description),
            place.x
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
