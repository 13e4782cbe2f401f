//! Devices that do not respond, and identical devices with different revisions.

use alloc::{collections::BTreeMap, format, string::ToString as _, vec::Vec};

use ib_routing::NodeIdx;

use super::{Check, Checker, Finding, Location, Severity};
use crate::difference::{NodeChange, difference};

pub(super) fn check(checker: &mut Checker<'_>) {
    silent(checker);
    firmware(checker);
    expected(checker);
}

fn silent(checker: &mut Checker<'_>) {
    let snapshot = checker.snapshot;
    let devices = snapshot.nodes.len();
    checker.looked_at(Check::Silent, devices.saturating_add(snapshot.silent.len()));
    for silent in &snapshot.silent {
        let known = silent
            .node_guid
            .and_then(|guid| snapshot.node_by_guid(guid));
        let (place, message) = match known {
            Some(node) => (
                Location::of_node(snapshot, node),
                format!("the device at {} stopped responding", silent.path),
            ),
            None => {
                let in_front = snapshot.in_front_of(&silent.path);
                let place = in_front.map_or_else(Location::default, |at| checker.place(at));
                let message = format!("the device at {} does not respond", silent.path);
                (place, message)
            }
        };
        let action = "see whether the device has power and has booted; reset it, or look at the M_Key that guards it";
        let finding = Finding::new(Check::Silent, Severity::Error, place, message, action);
        checker.add(finding.value(silent.path.to_string()));
    }
}

fn firmware(checker: &mut Checker<'_>) {
    let snapshot = checker.snapshot;
    // For each vendor and device: the nodes of each revision.
    let mut kinds: BTreeMap<(u32, u16), BTreeMap<u32, Vec<NodeIdx>>> = BTreeMap::new();
    for (index, node) in snapshot.nodes.iter_enumerated() {
        let info = &node.info;
        let kind = (info.vendor_id(), info.device_id());
        kinds
            .entry(kind)
            .or_default()
            .entry(info.revision())
            .or_default()
            .push(index);
    }
    checker.looked_at(Check::Firmware, snapshot.nodes.len());
    for ((_, device), revisions) in kinds {
        let most = revisions.iter().max_by_key(|(_, nodes)| nodes.len());
        let Some((&usual, usual_nodes)) = most else {
            continue;
        };
        for (&revision, nodes) in revisions.iter().filter(|(revision, _)| **revision != usual) {
            for &node in nodes {
                let message = format!(
                    "revision {revision:#x} of device {device}, of which {} others have {usual:#x}",
                    usual_nodes.len()
                );
                let action = "update all devices of this type to one revision";
                let place = Location::of_node(snapshot, node);
                let finding = Finding::new(Check::Firmware, Severity::Info, place, message, action);
                checker.add(finding.value(u64::from(revision)).limit(u64::from(usual)));
            }
        }
    }
}

fn expected(checker: &mut Checker<'_>) {
    let Some(expected) = &checker.options.expected else {
        return;
    };
    let changes = difference(expected, &checker.fabric);
    let looked_at = expected.nodes().len().saturating_add(expected.num_links());
    checker.looked_at(Check::Expected, looked_at);
    let missing = "compare the cabling with the plan: power, cable, port";
    let surplus = "see whether it belongs here; if it does, add it to the expected topology";
    let mut findings = Vec::new();
    for (node, severity, text, action) in changes
        .nodes_removed
        .iter()
        .map(|node| {
            (
                node,
                Severity::Error,
                "the expected node is missing",
                missing,
            )
        })
        .chain(changes.nodes_added.iter().map(|node| {
            (
                node,
                Severity::Warning,
                "the node is present, but not expected",
                surplus,
            )
        }))
    {
        let place = Location {
            node_guid: Some(node.guid),
            name: node.name.clone(),
            ..Location::default()
        };
        findings.push(Finding::new(
            Check::Expected,
            severity,
            place,
            text.into(),
            action,
        ));
    }
    for NodeChange {
        node,
        what,
        before,
        after,
    } in &changes.nodes_changed
    {
        let place = Location {
            node_guid: Some(node.guid),
            name: node.name.clone(),
            ..Location::default()
        };
        let text = format!("{what} is {after}, expected {before}");
        let finding = Finding::new(Check::Expected, Severity::Info, place, text, surplus);
        findings.push(finding.value(after.clone()).limit(before.clone()));
    }
    for (link, severity, text, action) in changes
        .links_removed
        .iter()
        .map(|link| {
            (
                link,
                Severity::Error,
                "the expected link is missing",
                missing,
            )
        })
        .chain(changes.links_added.iter().map(|link| {
            (
                link,
                Severity::Warning,
                "the link is present, but not expected",
                surplus,
            )
        }))
    {
        let place = Location {
            node_guid: Some(link.a.node.guid),
            port: Some(link.a.port),
            name: link.a.node.name.clone(),
            peer: Some(link.b.to_string()),
        };
        findings.push(Finding::new(
            Check::Expected,
            severity,
            place,
            text.into(),
            action,
        ));
    }
    for finding in findings {
        checker.add(finding);
    }
}
