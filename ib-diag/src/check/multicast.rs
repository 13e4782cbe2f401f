//! Multicast groups as the switches forward them and as subnet administration knows them: members that cannot reach each
//! other or get no packets, loops, groups without members, groups that only one of the two sides knows.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::ToString as _,
    vec::Vec,
};

use ib_routing::{PortRef, SwitchIdx, mcast::MulticastTree};
use ib_sa::{JoinState, McMemberRecord};
use ib_wire::{Gid, Guid, Lid, PortNum};

use super::{Check, Checker, Finding, Severity};

const ACTION: &str =
    "let the subnet manager build the group anew (a heavy sweep), and see what its log says of it";

pub(super) fn check(checker: &mut Checker<'_>) {
    let trees = core::mem::take(&mut checker.trees);
    for (&mlid, tree) in &trees {
        checker.looked_at(Check::Multicast, 1);
        group(checker, mlid, tree);
    }
    if let Some(records) = &checker.snapshot.groups {
        compare(checker, &trees, records);
    }
    checker.trees = trees;
}

/// Compares the groups of subnet administration with those that the switches forward. Groups may share a multicast LID.
fn compare(
    checker: &mut Checker<'_>,
    trees: &BTreeMap<Lid, MulticastTree>,
    records: &[McMemberRecord],
) {
    let mut groups: BTreeMap<Lid, Vec<&McMemberRecord>> = BTreeMap::new();
    for record in records {
        groups.entry(record.mlid()).or_default().push(record);
    }
    let ports = checker.snapshot.ports();
    let ends = ports.filter(|(at, node, _)| node.managing_port(at.port) == at.port);
    let by_guid: BTreeMap<Guid, PortRef> = ends.map(|(at, _, port)| (port.guid, at)).collect();
    for (&mlid, records) in &groups {
        let tree = trees.get(&mlid);
        if tree.is_none() {
            checker.looked_at(Check::Multicast, 1);
        }
        let served = tree.map_or_else(Vec::new, |tree| {
            checker.snapshot.members(&checker.fabric, tree)
        });
        not_served(checker, records, &served, &by_guid);
    }
    for (&mlid, tree) in trees {
        if groups.contains_key(&mlid) {
            continue;
        }
        let message = format!(
            "{} switches forward group {mlid:#}, which subnet administration does not know",
            tree.ports.len()
        );
        let place = checker.own_place();
        let finding = Finding::new(Check::Multicast, Severity::Warning, place, message, ACTION);
        checker.add(finding.value(mlid.to_string()));
    }
}

/// The members of the groups of one multicast LID that the switches do not serve, and the groups without members.
fn not_served(
    checker: &mut Checker<'_>,
    records: &[&McMemberRecord],
    served: &[PortRef],
    by_guid: &BTreeMap<Guid, PortRef>,
) {
    // Subnet administration hides the members from askers without the SM_Key.
    let members: BTreeSet<Gid> = records.iter().map(|record| record.port_gid()).collect();
    let members = members.into_iter().filter(|gid| gid.guid() != Guid::NONE);
    let members: Vec<Gid> = members.collect();
    let of = |record: &McMemberRecord| {
        let (mgid, mlid) = (record.mgid(), record.mlid());
        format!("group {mgid} (LID {mlid:#})")
    };
    if members.is_empty() && served.is_empty() {
        for record in records {
            let message = format!("{} has no member that a switch forwards to", of(record));
            let action = "no action is needed if hosts are still to join it";
            let place = checker.own_place();
            let finding = Finding::new(Check::Multicast, Severity::Info, place, message, action);
            checker.add(finding.value(record.mlid().to_string()));
        }
    }
    // Packets of a group with one member go nowhere else.
    for record in records.iter().filter(|_| members.len() > 1) {
        let receives = JoinState::FULL_MEMBER | JoinState::NON_MEMBER;
        let guid = record.port_gid().guid();
        if guid == Guid::NONE || !record.join_state().intersects(receives) {
            continue;
        }
        let (place, message) = match by_guid.get(&guid) {
            Some(at) if served.contains(at) => continue,
            Some(&at) => (
                checker.place(at),
                format!(
                    "the port is a member of {} and gets none of its packets",
                    of(record)
                ),
            ),
            None => (
                checker.own_place(),
                format!(
                    "port {guid}, a member of {}, is not in the subnet",
                    of(record)
                ),
            ),
        };
        let finding = Finding::new(Check::Multicast, Severity::Error, place, message, ACTION);
        checker.add(finding.value(record.mgid().to_string()));
    }
}

fn group(checker: &mut Checker<'_>, mlid: Lid, tree: &MulticastTree) {
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
fn parts(checker: &Checker<'_>, tree: &MulticastTree) -> (BTreeMap<SwitchIdx, usize>, usize) {
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
