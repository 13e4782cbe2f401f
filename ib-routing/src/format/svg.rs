//! A fabric as a picture: switches in rows by their distance from the hosts, hosts below.
//!
//! A switch is labelled with the last two digits of its GUID. The redder a link, the more routes it
//! carries.

use alloc::{collections::BTreeMap, string::String, vec, vec::Vec};
use core::fmt::Write;

use crate::{
    fabric::{Fabric, Node},
    index::{IdxVec, NodeIdx, SwitchIdx},
};

const ROW: usize = 120;
const GAP: usize = 26;
const MARGIN: usize = 40;

/// Writes a picture. `load` gives the routes on each directed link, for its colour; empty for none.
#[must_use]
pub fn write(fabric: &Fabric, load: &[u64]) -> String {
    let rows = rows(fabric);
    let widest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = widest * GAP + 2 * MARGIN;
    let height = rows.len() * ROW + MARGIN;
    let mut place: BTreeMap<NodeIdx, (usize, usize)> = BTreeMap::new();
    for (row, nodes) in rows.iter().enumerate() {
        for (at, &node) in nodes.iter().enumerate() {
            let x = MARGIN + (2 * at + 1) * widest * GAP / (2 * nodes.len().max(1));
            place.insert(node, (x, height - MARGIN - row * ROW));
        }
    }
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"9\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
    );
    let most = load.iter().copied().max().unwrap_or(0).max(1);
    let mut parallel: BTreeMap<(NodeIdx, NodeIdx), usize> = BTreeMap::new();
    for (one, other) in fabric.links() {
        let (Some(&(x1, y1)), Some(&(x2, y2))) = (place.get(&one.node), place.get(&other.node))
        else {
            continue;
        };
        let channel = fabric
            .switch_of(one.node)
            .and_then(|switch| fabric.channel_at(switch, one.port));
        let routes = channel.map_or(0, |channel| {
            let of =
                |channel: crate::ChannelIdx| load.get(channel.0 as usize).copied().unwrap_or(0);
            of(channel).max(of(fabric.channel(channel).reverse))
        });
        let red = 255 * routes / most;
        // Links of one pair fan out; a link within a row bows over the switches between its ends.
        let pair = (one.node.min(other.node), one.node.max(other.node));
        let before = parallel.entry(pair).or_default();
        let bow = match y1 == y2 {
            // A curve rises to half its bow; above the top row there is the room of a row.
            true => (x1.abs_diff(x2) / 2 + 12 * *before).min(2 * (ROW - 20)),
            false => 12 * *before,
        };
        *before += 1;
        let (bend_x, bend_y) = if y1 == y2 {
            ((x1 + x2) / 2, y1.saturating_sub(bow))
        } else {
            ((x1 + x2) / 2 + bow, (y1 + y2) / 2)
        };
        let _ = writeln!(
            out,
            "<path d=\"M{x1} {y1}Q{bend_x} {bend_y} {x2} {y2}\" fill=\"none\" stroke=\"rgb({red},{0},{0})\" stroke-opacity=\"0.6\"/>",
            (255 - red) / 2
        );
    }
    for (node, (x, y)) in place {
        let entry = fabric.node(node);
        let title = title(entry);
        let _ = if entry.type_.is_switch() {
            writeln!(
                out,
                "<g><title>{title}</title><rect x=\"{}\" y=\"{}\" width=\"18\" height=\"14\" rx=\"2\" fill=\"#2b6cb0\"/><text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" fill=\"white\">{:02x}</text></g>",
                x.saturating_sub(9),
                y.saturating_sub(7),
                y + 3,
                entry.guid.0 & 0xff
            )
        } else {
            writeln!(
                out,
                "<g><title>{title}</title><circle cx=\"{x}\" cy=\"{y}\" r=\"5\" fill=\"#444\"/></g>"
            )
        };
    }
    out.push_str("</svg>\n");
    out
}

/// Nodes by row: hosts first, then switches by their distance from the nearest host.
fn rows(fabric: &Fabric) -> Vec<Vec<NodeIdx>> {
    let mut rank: IdxVec<SwitchIdx, usize> = IdxVec::filled(fabric.num_switches(), usize::MAX);
    let mut queue: Vec<SwitchIdx> = Vec::new();
    let mut hosts = Vec::new();
    let mut placed: IdxVec<NodeIdx, bool> = IdxVec::filled(fabric.nodes().len(), false);
    for switch in fabric.switches().indices() {
        let before = hosts.len();
        for (_, port) in fabric.switch(switch).ports() {
            let host = port
                .peer
                .map(|peer| peer.node)
                .filter(|&node| fabric.switch_of(node).is_none());
            hosts.extend(host.filter(|&host| !core::mem::replace(&mut placed[host], true)));
        }
        if hosts.len() > before {
            rank[switch] = 1;
            queue.push(switch);
        }
    }
    let mut next = 0;
    // A part of the fabric without hosts begins at its first switch.
    let mut starts = fabric.switches().indices();
    loop {
        while let Some(&switch) = queue.get(next) {
            next += 1;
            for (_, channel) in fabric.channels_from(switch) {
                if rank[channel.to] == usize::MAX {
                    rank[channel.to] = rank[switch] + 1;
                    queue.push(channel.to);
                }
            }
        }
        let Some(start) = starts.find(|&switch| rank[switch] == usize::MAX) else {
            break;
        };
        rank[start] = 1;
        queue.push(start);
    }
    // Hosts that no cable joins to a switch.
    let alone = fabric.nodes().iter_enumerated();
    let alone = alone.filter(|&(index, node)| !node.type_.is_switch() && !placed[index]);
    hosts.extend(alone.map(|(index, _)| index));
    let mut rows = vec![hosts];
    for switch in queue {
        if rows.len() <= rank[switch] {
            rows.push(Vec::new());
        }
        if let Some(row) = rows.get_mut(rank[switch]) {
            row.push(fabric.switches()[switch]);
        }
    }
    rows
}

fn title(node: &Node) -> String {
    let text = alloc::format!("{} ({})", node.description, node.name);
    text.replace('&', "&amp;").replace('<', "&lt;")
}
