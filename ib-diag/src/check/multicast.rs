//! Multicast groups as the switches forward them: members that cannot reach each other, loops, empty groups.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::ToString as _,
    vec::Vec,
};

use ib_routing::{PortRef, SwitchIdx, mcast::Tree};
use ib_wire::{Lid, PortNum};

use super::{Check, Checker, Finding, Severity};

const ACTION: &str =
    "let the subnet manager build the group anew (a heavy sweep), and see what its log says of it";

pub(super) fn check(checker: &mut Checker<'_>) {
    let trees = core::mem::take(&mut checker.trees);
    for (&mlid, tree) in &trees {
        checker.looked_at(Check::Multicast, 1);
        group(checker, mlid, tree);
    }
    checker.trees = trees;
}

fn group(checker: &mut Checker<'_>, mlid: Lid, tree: &Tree) {
    let first = tree
        .ports
        .keys()
        .next()
        .and_then(|&switch| checker.fabric.switches().find(switch));
    let Some(&first) = first else { return };
    let first = PortRef {
        node: first,
        port: PortNum::MANAGEMENT,
    };
    let members = checker.snapshot.members(&checker.fabric, tree);
    let mut place = checker.place(first);
    place.port = None;
    if members.is_empty() {
        let message = format!(
            "group {mlid:#} has entries in {} switches and no member",
            tree.ports.len()
        );
        let finding = Finding::new(
            Check::Multicast,
            Severity::Warning,
            place.clone(),
            message,
            ACTION,
        );
        checker.add(finding.value(mlid.to_string()));
    }
    let (parts, extra) = parts(checker, tree);
    let with_members: BTreeSet<usize> = members
        .iter()
        .filter_map(|&member| {
            let switch = match checker.fabric.switch_of(member.node) {
                Some(switch) => switch,
                None => checker.fabric.attachment(member)?.0,
            };
            parts.get(&switch).copied()
        })
        .collect();
    if with_members.len() > 1 {
        let message = format!(
            "the {} members of group {mlid:#} are in {} parts that do not reach each other",
            members.len(),
            with_members.len()
        );
        let finding = Finding::new(
            Check::Multicast,
            Severity::Error,
            place.clone(),
            message,
            ACTION,
        );
        checker.add(finding.value(with_members.len()).limit(1usize));
    }
    if extra > 0 {
        let message = format!(
            "the tables of group {mlid:#} hold {extra} links more than a tree: its packets circulate"
        );
        let finding = Finding::new(Check::Multicast, Severity::Error, place, message, ACTION);
        checker.add(finding.value(extra).limit(0usize));
    }
}

/// The connected parts of the group by switch, and the number of links in excess of a tree. A link joins two switches
/// if each forwards the group to the other.
fn parts(checker: &Checker<'_>, tree: &Tree) -> (BTreeMap<SwitchIdx, usize>, usize) {
    let fabric = &checker.fabric;
    let neighbors = |switch: SwitchIdx| -> Vec<(SwitchIdx, PortNum)> {
        let Some(ports) = tree.ports.get(&switch) else {
            return Vec::new();
        };
        let channels = fabric.channels_from(switch);
        let used = channels.filter(|(_, channel)| {
            let back = tree.ports.get(&channel.to);
            ports.contains(channel.port) && back.is_some_and(|back| back.contains(channel.to_port))
        });
        used.map(|(_, channel)| (channel.to, channel.port))
            .collect()
    };
    let mut parts: BTreeMap<SwitchIdx, usize> = BTreeMap::new();
    let (mut count, mut ends) = (0usize, 0usize);
    for &start in tree.ports.keys() {
        if parts.contains_key(&start) {
            continue;
        }
        let mut open = Vec::from([start]);
        parts.insert(start, count);
        while let Some(switch) = open.pop() {
            for (to, _) in neighbors(switch) {
                ends = ends.saturating_add(1);
                if parts.insert(to, count).is_none() {
                    open.push(to);
                }
            }
        }
        count = count.saturating_add(1);
    }
    // A forest of s switches in p parts has s - p links, each seen from both ends.
    let links = ends / 2;
    let in_forest = parts.len().saturating_sub(count);
    (parts, links.saturating_sub(in_forest))
}
