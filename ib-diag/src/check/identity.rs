//! GUIDs and LIDs that two devices claim, or that a device lacks.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use ib_routing::PortRef;
use ib_smp::PortState;
use ib_wire::{Guid, Lid, Sl};

use super::{Check, Checker, Finding, Location, Severity};
use crate::{snapshot::SnapshotPort, trace::PathEnd};

pub(super) fn check(checker: &mut Checker<'_>) {
    guids(checker);
    lids(checker);
}

fn guids(checker: &mut Checker<'_>) {
    let snapshot = checker.snapshot;
    for check in [Check::DuplicateGuid, Check::NoGuid] {
        checker.looked_at(check, snapshot.nodes.len());
    }
    for duplicate in &snapshot.duplicates {
        let guid = duplicate.node_guid;
        let known = snapshot.node_by_guid(guid);
        let place = match duplicate.behind {
            Some(behind) => checker.place(behind),
            None => known.map_or_else(Location::default, |node| Location::of_node(snapshot, node)),
        };
        let message = match (duplicate.before, known) {
            (Some(before), _) => format!(
                "the device at {} first reported GUID {before}, and now {guid}",
                duplicate.path
            ),
            (None, Some(other)) => format!(
                "the device at {} has GUID {guid}, which {} has too",
                duplicate.path,
                snapshot.name(other)
            ),
            (None, None) => format!("more than one device has GUID {guid}"),
        };
        let action =
            "give the device a GUID of its own: burn its firmware with the GUID on its label";
        let finding = Finding::new(
            Check::DuplicateGuid,
            Severity::Error,
            place,
            message,
            action,
        );
        checker.add(finding.value(guid.to_string()));
    }
    if let Some(node) = snapshot.node_by_guid(Guid::NONE) {
        let place = Location::of_node(snapshot, node);
        let message = "the node has no GUID".into();
        let action = "burn the firmware of the device with the GUID on its label";
        let check = Check::NoGuid;
        let finding = Finding::new(check, Severity::Error, place, message, action);
        checker.add(finding.value(Guid::NONE.to_string()));
    }
    let mut ports: BTreeMap<Guid, Vec<PortRef>> = BTreeMap::new();
    for (at, node, port) in snapshot.ports() {
        if node.managing_port(at.port) == at.port && port.info.is_some() && port.is_link_up() {
            ports.entry(port.guid).or_default().push(at);
        }
    }
    for (guid, ports) in ports {
        let is_none = guid == Guid::NONE;
        let others = ports.iter().skip(usize::from(!is_none));
        for &at in others {
            // Port 0 of a switch has the GUID of the node; on some switches a base port 0 has no GUID.
            let is_switch = snapshot.node(at.node).is_some_and(|node| node.is_switch());
            if is_none && is_switch {
                continue;
            }
            let first = ports
                .first()
                .filter(|_| !is_none)
                .map(|&first| checker.text(first));
            let (check, message) = match first {
                Some(first) => (
                    Check::DuplicateGuid,
                    format!("the port has GUID {guid}, which {first} has too"),
                ),
                None => (Check::NoGuid, "the port has no GUID".into()),
            };
            let action = "set the GUID of the port (of a virtual function: its configured GUID)";
            let place = checker.place(at);
            let finding = Finding::new(check, Severity::Error, place, message, action);
            checker.add(finding.value(guid.to_string()));
        }
    }
}

fn lids(checker: &mut Checker<'_>) {
    let snapshot = checker.snapshot;
    let mut owners: BTreeMap<Lid, PortRef> = BTreeMap::new();
    for (at, node, port) in snapshot.ports() {
        if node.managing_port(at.port) != at.port {
            continue;
        }
        if port.state() == Some(PortState::ACTIVE) {
            checker.looked_at(Check::NoLid, 1);
        }
        let Some(range) = port.lids() else {
            without_lid(checker, at, port);
            continue;
        };
        // A port whose link is down keeps its last LID.
        if !node.is_switch() && !port.is_link_up() {
            continue;
        }
        checker.looked_at(Check::DuplicateLid, 1);
        let mut taken = None;
        for lid in range.iter() {
            let owner = *owners.entry(lid).or_insert(at);
            if owner != at {
                taken.get_or_insert((lid, owner));
            }
        }
        if let Some((lid, owner)) = taken {
            let mut message = format!("LID {lid} is also that of {}", checker.text(owner));
            if let Some(reached) = reached(checker, lid) {
                message.push_str("; packets to it from this host reach ");
                message.push_str(&reached);
            }
            let action = "let the subnet manager assign LIDs anew (opensm -r), and look for a second manager or merged subnets";
            let place = checker.place(at);
            let finding =
                Finding::new(Check::DuplicateLid, Severity::Error, place, message, action);
            checker.add(finding.value(u64::from(lid.0)));
        }
    }
}

/// A port that a manager has configured needs a LID, or no packets reach it.
fn without_lid(checker: &mut Checker<'_>, at: PortRef, port: &SnapshotPort) {
    let Some(info) = port
        .info
        .filter(|_| port.state() == Some(PortState::ACTIVE))
    else {
        return;
    };
    let lid = info.lid();
    let message = format!("the port is Active and has LID {lid}, so no packets reach it");
    let action =
        "let the subnet manager sweep the subnet anew, and see what its log says of the port";
    let place = checker.place(at);
    let finding = Finding::new(Check::NoLid, Severity::Error, place, message, action);
    checker.add(finding.value(u64::from(lid.0)));
}

/// The port that packets from the own port to a LID reach, as text; `None` if they reach none, or do not leave the port.
fn reached(checker: &Checker<'_>, lid: Lid) -> Option<String> {
    let own = checker.snapshot.own_port?;
    let path = checker.snapshot.path(own, lid, Sl::ZERO);
    let is_sent = path.hops.len() > 1 && path.end == PathEnd::Arrived;
    let last = path.hops.last().filter(|_| is_sent)?;
    Some(checker.text(last.input))
}
