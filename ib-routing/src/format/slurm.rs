//! Slurm's `topology.conf`: which hosts are near to each other, for the plugins topology/tree and topology/block.
//!
//! A host is called by the first word of its description, as hosts are in Slurm; a host with several ports stands at
//! the switch of its first one. Slurm knows one parent of a switch, and a fat tree has several: what is above the
//! leaf switches of a subtree stands for all of its switches, as `levelN-M`. Source: Slurm, topology.conf(5).

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt::Write;

use crate::{
    fabric::Fabric,
    index::{NodeIdx, SwitchIdx},
    layout::{Hosts, Labels, natural_order, rows::subtrees_of_tree},
};

/// The leaf switches with the names of their hosts, in the order of the switches' names.
struct Leaf {
    switch: SwitchIdx,
    name: String,
    hosts: Vec<String>,
}

/// The lines of topology/tree.
#[must_use]
pub fn tree(fabric: &Fabric) -> String {
    let hosts = Hosts::of(fabric);
    let labels = Labels::new(fabric);
    let order = labels.order_of_switches(fabric);
    let leaves = leaves(fabric, &hosts, &labels, &order);
    let mut out = String::from("# Slurm topology.conf for TopologyPlugin=topology/tree\n");
    // Writing to a string does not fail.
    for leaf in &leaves {
        let names = host_list(&leaf.hosts);
        let _ = writeln!(out, "SwitchName={} Nodes={names}", leaf.name);
    }
    // Children that have no parent yet: by one of their leaf switches.
    let mut open: Vec<(SwitchIdx, String)> = leaves
        .iter()
        .map(|leaf| (leaf.switch, leaf.name.clone()))
        .collect();
    let subtrees = subtrees_of_tree(fabric, &hosts.at, &order).unwrap_or_default();
    let parts = fabric.parts();
    for (height, part) in subtrees.iter().chain([&parts]).enumerate() {
        let mut children: BTreeMap<u32, Vec<(SwitchIdx, String)>> = BTreeMap::new();
        for child in open {
            children.entry(part[child.0]).or_default().push(child);
        }
        open = Vec::new();
        for (number, (_, children)) in children.into_iter().enumerate() {
            if children.len() < 2 {
                open.extend(children);
                continue;
            }
            let name = format!("level{height}-{number}");
            let names: Vec<String> = children.iter().map(|(_, name)| name.clone()).collect();
            let _ = writeln!(out, "SwitchName={name} Switches={}", host_list(&names));
            open.extend(children.first().map(|(switch, _)| (*switch, name)));
        }
    }
    out
}

/// The lines of topology/block: the hosts of a leaf switch are a block. The size of blocks is that of the smallest.
#[must_use]
pub fn block(fabric: &Fabric) -> String {
    let hosts = Hosts::of(fabric);
    let labels = Labels::new(fabric);
    let order = labels.order_of_switches(fabric);
    let leaves = leaves(fabric, &hosts, &labels, &order);
    let mut out = String::from("# Slurm topology.conf for TopologyPlugin=topology/block\n");
    for leaf in &leaves {
        let names = host_list(&leaf.hosts);
        // Writing to a string does not fail.
        let _ = writeln!(out, "BlockName={} Nodes={names}", leaf.name);
    }
    if let Some(size) = leaves.iter().map(|leaf| leaf.hosts.len()).min() {
        let _ = writeln!(out, "BlockSizes={size}");
    }
    out
}

fn leaves(fabric: &Fabric, hosts: &Hosts, labels: &Labels, order: &[SwitchIdx]) -> Vec<Leaf> {
    let mut seen = BTreeSet::new();
    let mut leaves = Vec::new();
    for &switch in order {
        let names = hosts.at[switch].iter();
        let mut names: Vec<String> = names.map(|&host| host_name(fabric, host)).collect();
        names.retain(|name| seen.insert(name.clone()));
        names.sort_by_cached_key(|name| natural_order(name));
        if !names.is_empty() {
            leaves.push(Leaf {
                switch,
                name: plain(&labels.name(fabric.switch(switch))),
                hosts: names,
            });
        }
    }
    leaves
}

/// The first word of a description; the GUID where there is none.
fn host_name(fabric: &Fabric, host: NodeIdx) -> String {
    let node = fabric.node(host);
    let word = node.description.split_whitespace().next();
    word.map_or_else(|| format!("{:016x}", node.guid.0), plain)
}

/// A name without what has a meaning in a list of hosts.
fn plain(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    let letters = name.chars();
    letters
        .map(|letter| if is_plain(letter) { letter } else { '_' })
        .collect()
}

/// Names as a list of hosts: names that differ in a number at their end are one entry, as `node[001-003,007]`.
fn host_list(names: &[String]) -> String {
    // By what stands before the digits, and how many digits there are.
    let mut groups: Vec<((&str, usize), Vec<u64>)> = Vec::new();
    for name in names {
        let start = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let digits = name.get(start.len()..).unwrap_or_default();
        let number = digits.parse::<u64>().ok();
        // A number without leading zeros has any length.
        let width = match digits.starts_with('0') && digits.len() > 1 {
            true => digits.len(),
            false => 0,
        };
        let (key, number) = match number {
            Some(number) => ((start, width), Some(number)),
            None => ((name.as_str(), 0), None),
        };
        let fits = |group: &&mut ((&str, usize), Vec<u64>)| {
            let has_room = width != 0 || group.0.1 == 0 || digits.len() == group.0.1;
            !group.1.is_empty()
                && group.0.0 == key.0
                && has_room
                && (group.0.1 == key.1 || width == 0)
        };
        match groups
            .iter_mut()
            .rev()
            .find(fits)
            .filter(|_| number.is_some())
        {
            Some(group) => group.1.extend(number),
            None => groups.push((key, number.into_iter().collect())),
        }
    }
    let entries: Vec<String> = groups
        .into_iter()
        .map(|((start, width), numbers)| entry(start, width, &numbers))
        .collect();
    entries.join(",")
}

/// One entry of a list of hosts.
fn entry(start: &str, width: usize, numbers: &[u64]) -> String {
    if numbers.is_empty() {
        return start.to_string();
    }
    if let &[only] = numbers {
        return format!("{start}{only:0width$}");
    }
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let texts: Vec<String> = ranges
        .into_iter()
        .map(|(first, last)| match first == last {
            true => format!("{first:0width$}"),
            false => format!("{first:0width$}-{last:0width$}"),
        })
        .collect();
    format!("{start}[{}]", texts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::FabricSpec;

    fn generated(spec: &str) -> Fabric {
        let spec: FabricSpec = spec.parse().expect("a specification");
        spec.build().expect("a fabric")
    }

    #[test]
    fn the_leaves_of_a_tree_have_their_hosts_and_one_parent() {
        let text = tree(&generated("fat-tree:radix=4,levels=2"));
        let expected = "# Slurm topology.conf for TopologyPlugin=topology/tree\n\
            SwitchName=L1-0.0 Nodes=host[00000-00001]\n\
            SwitchName=L1-1.0 Nodes=host[00002-00003]\n\
            SwitchName=L1-2.0 Nodes=host[00004-00005]\n\
            SwitchName=L1-3.0 Nodes=host[00006-00007]\n\
            SwitchName=level1-0 Switches=L1-0.0,L1-1.0,L1-2.0,L1-3.0\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_pods_of_three_levels_are_switches_between() {
        let text = tree(&generated("fat-tree:radix=4,levels=3"));
        for line in [
            "SwitchName=level1-0 Switches=L1-0.0,L1-1.0",
            "SwitchName=level1-3 Switches=L1-6.0,L1-7.0",
            "SwitchName=level2-0 Switches=level1-[0-3]",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}: {text}");
        }
        // Each switch but the top one is a child once.
        assert_eq!(text.matches("SwitchName=").count(), 8 + 4 + 1);
    }

    #[test]
    fn a_fabric_that_is_no_tree_has_one_switch_above_its_switches() {
        let text = tree(&generated("torus:3x3,hosts=1"));
        assert_eq!(text.matches("Nodes=").count(), 9);
        assert_eq!(text.matches("Switches=").count(), 1);
    }

    #[test]
    fn blocks_are_the_hosts_of_leaf_switches() {
        let text = block(&generated("fat-tree:radix=4,levels=2"));
        assert!(
            text.contains("BlockName=L1-0.0 Nodes=host[00000-00001]\n"),
            "{text}"
        );
        assert!(text.ends_with("BlockSizes=2\n"), "{text}");
    }

    #[test]
    fn names_are_joined_to_lists() {
        let list = |names: &str| {
            let names: Vec<String> = names.split(' ').map(Into::into).collect();
            host_list(&names)
        };
        for (names, expected) in [
            ("n1 n2 n3 n5", "n[1-3,5]"),
            ("n01 n02 n10", "n[01-02,10]"),
            ("n8 n9 n10 n11", "n[8-11]"),
            ("login login2 a-b", "login,login2,a-b"),
            ("n1", "n1"),
            ("n001", "n001"),
            ("n1 n01", "n1,n01"),
        ] {
            assert_eq!(list(names), expected);
        }
    }
}
