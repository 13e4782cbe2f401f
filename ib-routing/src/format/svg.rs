//! A fabric as a picture: see [`FabricLayout`] for where its nodes stand.
//!
//! The redder a link, the more routes it carries beyond the least loaded one.

use alloc::{collections::BTreeMap, string::String};
use core::fmt::Write;

use crate::{
    fabric::{Fabric, Node, PortRef},
    index::NodeIdx,
    layout::{FabricLayout, Labels},
};

/// Characters of a name that fit into a box.
const LABEL: usize = 15;

/// Writes a picture. `load` gives the routes on each directed link, for its colour; empty for none.
#[must_use]
pub fn write(fabric: &Fabric, load: &[u64]) -> String {
    let layout = FabricLayout::new(fabric);
    let labels = Labels::new(fabric);
    let (width, height) = (layout.width, layout.height);
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
    );
    let routes_of = |end: PortRef| {
        let switch = fabric.switch_of(end.node)?;
        let channel = fabric.channel_at(switch, end.port)?;
        let of = |channel: crate::ChannelIdx| load.get(channel.0 as usize).copied();
        of(channel).max(of(fabric.channel(channel).reverse))
    };
    let loads = || fabric.links().filter_map(|(one, _)| routes_of(one));
    let (least, most) = (
        loads().min().unwrap_or_default(),
        loads().max().unwrap_or_default(),
    );
    // Loads that hardly differ are even: full red is at least half as much again as the least.
    let range = most.saturating_sub(least).max(least / 2).max(1);
    let mut parallel: BTreeMap<(NodeIdx, NodeIdx), u32> = BTreeMap::new();
    for (one, other) in fabric.links() {
        let nth = parallel
            .entry((one.node.min(other.node), one.node.max(other.node)))
            .or_default();
        let bend = layout.bend(one.node, other.node, *nth);
        *nth += 1;
        let (Some(from), Some(to)) = (layout.places.find(one.node), layout.places.find(other.node))
        else {
            continue;
        };
        let above_least = routes_of(one).unwrap_or(least).saturating_sub(least);
        let red = 255 * above_least / range;
        let grey = (255 - red) / 2;
        let _ = writeln!(
            out,
            "<path d=\"M{} {}Q{} {} {} {}\" fill=\"none\" stroke=\"rgb({red},{grey},{grey})\" stroke-opacity=\"0.6\"/>",
            from.x, from.y, bend.x, bend.y, to.x, to.y
        );
    }
    for (index, place) in layout.places.iter_enumerated() {
        let node = fabric.node(index);
        let is_switch = node.type_.is_switch();
        let (width, height) = layout.size(is_switch);
        let (left, top) = (
            place.x.saturating_sub(width / 2),
            place.y.saturating_sub(height / 2),
        );
        let (fill, ink) = match is_switch {
            true => ("#2b6cb0", "white"),
            false => ("#e2e8f0", "black"),
        };
        let fill = match is_switch || layout.hosts_are_named {
            true => fill,
            false => "#4a5568",
        };
        let _ = write!(
            out,
            "<g><title>{}</title><rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"2\" fill=\"{fill}\"/>",
            title(node)
        );
        if is_switch || layout.hosts_are_named {
            let label = labels.short(node, LABEL);
            let size = text_size(&label, width, height);
            let _ = write!(
                out,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"{size}\" fill=\"{ink}\">{}</text>",
                place.x,
                place.y + size / 3,
                escape(&label)
            );
        }
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// The size of a text that fits into a box: letters are about six tenths as wide as the text is high.
fn text_size(text: &str, width: u32, height: u32) -> u32 {
    const SMALLEST: u32 = 9;
    let letters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    let widest = width.saturating_mul(10) / letters.saturating_mul(6).max(1);
    widest.min(height * 2 / 3).max(SMALLEST)
}

fn title(node: &Node) -> String {
    escape(&alloc::format!("{} ({})", node.description, node.name))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
