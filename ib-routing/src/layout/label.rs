//! Names short enough for a box, and the order in which people expect names.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};

use crate::{
    fabric::{Fabric, Node},
    index::{NodeIdx, SwitchIdx},
};

/// The names of a fabric's nodes. A description that several nodes share names none of them.
#[derive(Clone, Debug)]
pub struct Labels {
    uses: BTreeMap<String, u32>,
}

impl Labels {
    /// Counts the nodes with each description.
    #[must_use]
    pub fn new(fabric: &Fabric) -> Self {
        let mut uses: BTreeMap<String, u32> = BTreeMap::new();
        for node in fabric.nodes().iter() {
            *uses.entry(plain(node).to_string()).or_default() += 1;
        }
        Self { uses }
    }

    /// The name of a node: its description if no other node has it, else its GUID in 16 digits.
    #[must_use]
    pub fn name(&self, node: &Node) -> String {
        let text = plain(node);
        match self.uses.get(text) {
            Some(1) if !text.is_empty() => text.to_string(),
            _ => format!("{:016x}", node.guid.0),
        }
    }

    /// The name in at most `max` characters; an ellipsis replaces the middle of a longer name.
    #[must_use]
    pub fn short(&self, node: &Node, max: usize) -> String {
        let name = self.name(node);
        let count = name.chars().count();
        if count <= max {
            return name;
        }
        // The end of a name distinguishes the nodes of one rack.
        let tail = max / 2;
        let head = max.saturating_sub(tail + 1);
        let start = name.chars().take(head);
        let end = name.chars().skip(count - tail);
        start.chain(['…']).chain(end).collect()
    }

    /// The switches in the order of their names.
    pub(crate) fn order_of_switches(&self, fabric: &Fabric) -> Vec<SwitchIdx> {
        let mut order: Vec<SwitchIdx> = fabric.switches().indices().collect();
        let name = |node: NodeIdx| natural_order(&self.name(fabric.node(node)));
        order.sort_by_cached_key(|&switch| name(fabric.switches()[switch]));
        order
    }
}

/// The part of a description that is the node's own. A managed switch of Mellanox has `MF0;NAME:MODEL/U1`.
fn plain(node: &Node) -> &str {
    let text = node.description.trim();
    let managed = text.strip_prefix("MF0;");
    let named = managed.and_then(|text| Some(text.split_once(':')?.0));
    named.unwrap_or(text)
}

/// A name cut into text and numbers, so that node 10 comes after node 9.
#[must_use]
pub fn natural_order(name: &str) -> Vec<(String, u64)> {
    let mut parts = vec![(String::new(), 0u64)];
    let mut in_number = false;
    for letter in name.chars() {
        let digit = letter.to_digit(10);
        if digit.is_none() && in_number {
            parts.push((String::new(), 0));
        }
        in_number = digit.is_some();
        if let Some((text, number)) = parts.last_mut() {
            match digit {
                Some(digit) => *number = number.saturating_mul(10).saturating_add(digit.into()),
                None => text.push(letter),
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::natural_order;

    #[test]
    fn numbers_in_names_are_compared_as_numbers() {
        let mut names = ["leaf 10", "leaf 9", "leaf 9b", "core", "leaf"];
        names.sort_by_key(|name| natural_order(name));
        assert_eq!(names, ["core", "leaf", "leaf 9", "leaf 9b", "leaf 10"]);
    }
}
