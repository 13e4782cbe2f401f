//! Each check, on a subnet that has exactly the defect of the check.

use std::{
    string::{String, ToString as _},
    vec::Vec,
};

use ib_mad::PortCounters;
use ib_routing::{NodeIdx, PortRef, format::ibnetdiscover};
use ib_sa::{JoinState, McMemberRecord};
use ib_smp::{
    DrPath, LinkWidthActive, MftModifier, MulticastForwardingTable, PartitionKeyTable, PortState,
    SmInfo, SmState,
};
use ib_wire::{Gid, GidPrefix, Guid, Lid, Mtu, PKey, PortNum, Vl};

use super::{Check, CheckOptions, Finding, Severity, check};
use crate::{
    snapshot::{DuplicateGuid, SilentDevice, Snapshot},
    testing::{brought_up, fabric},
};

/// A ring of switches with hosts as a manager left it, with that manager as master.
fn clean() -> Snapshot {
    let mut snapshot = brought_up("gen-ft-48-broken10");
    let own = snapshot.own_port.unwrap();
    let mut manager = SmInfo::default();
    manager
        .set_priority(8)
        .set_sm_state(SmState::MASTER)
        .set_guid(Guid(1));
    snapshot.port_mut(own).unwrap().sm_info = Some(manager);
    snapshot
}

fn findings(snapshot: &Snapshot) -> Vec<Finding> {
    check(snapshot, None, &CheckOptions::default()).findings
}

/// Returns the findings of one check, whatever others find.
fn found_by(snapshot: &Snapshot, which: Check) -> Vec<Finding> {
    let findings = findings(snapshot).into_iter();
    findings.filter(|finding| finding.check == which).collect()
}

/// Returns the findings of one check, and asserts that no other check finds an error.
fn only(snapshot: &Snapshot, which: Check) -> Vec<Finding> {
    let findings = findings(snapshot);
    let (found, others): (Vec<_>, Vec<_>) = findings
        .into_iter()
        .partition(|finding| finding.check == which);
    let errors: Vec<String> = others
        .iter()
        .filter(|finding| finding.severity > Severity::Info)
        .map(|finding| finding.message.clone())
        .collect();
    assert_eq!(errors, [""; 0], "{which}");
    assert!(!found.is_empty(), "{which}");
    found
}

/// A cable between two switches.
fn trunk(snapshot: &Snapshot) -> (PortRef, PortRef) {
    let is_switch = |at: PortRef| snapshot.node(at.node).unwrap().is_switch();
    let found = snapshot
        .cables()
        .find(|&(a, b)| is_switch(a) && is_switch(b));
    found.unwrap()
}

/// The ports of two hosts.
fn hosts(snapshot: &Snapshot) -> (PortRef, PortRef) {
    let mut ends = snapshot
        .ports()
        .filter(|(_, node, port)| !node.is_switch() && port.lid().is_unicast())
        .map(|(at, _, _)| at);
    (ends.next().unwrap(), ends.last().unwrap())
}

#[test]
fn a_subnet_as_a_manager_leaves_it_has_no_errors_and_everything_is_looked_at() {
    let report = check(&clean(), None, &CheckOptions::default());
    let bad: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.severity > Severity::Info)
        .collect();
    assert!(bad.is_empty(), "{bad:#?}");
    for (&which, &count) in &report.checked {
        let is_judged = !matches!(
            which,
            Check::PKeyMismatch | Check::Multicast | Check::Expected
        );
        assert_eq!(count > 0, is_judged, "{which}");
    }
}

#[test]
fn two_ports_with_one_lid_are_found() {
    let mut snapshot = clean();
    let (a, b) = hosts(&snapshot);
    let lid = snapshot.port(a).unwrap().lid();
    snapshot
        .port_mut(b)
        .unwrap()
        .info
        .as_mut()
        .unwrap()
        .set_lid(lid);
    let found = found_by(&snapshot, Check::DuplicateLid);
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].place.node_guid,
        Some(snapshot.node(b.node).unwrap().guid())
    );
    assert!(
        found[0].message.contains(&snapshot.name(a.node)),
        "{}",
        found[0].message
    );
}

#[test]
fn an_active_port_without_a_lid_and_a_node_without_a_guid_are_found() {
    let mut snapshot = clean();
    let (host, _) = hosts(&snapshot);
    let info = snapshot.port_mut(host).unwrap().info.as_mut();
    info.unwrap().set_lid(Lid::NONE);
    let found = found_by(&snapshot, Check::NoLid);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Error);
    assert!(
        found[0].message.contains("has LID 0"),
        "{}",
        found[0].message
    );
    // A port that no manager has configured yet is another finding.
    let info = snapshot.port_mut(host).unwrap().info.as_mut();
    info.unwrap().set_port_state(PortState::INITIALIZE);
    assert!(
        findings(&snapshot)
            .iter()
            .all(|finding| finding.check != Check::NoLid)
    );
    let mut snapshot = clean();
    let first = snapshot.nodes.iter_mut().next().unwrap();
    first.info.set_node_guid(Guid::NONE);
    let found = only(&snapshot, Check::NoGuid);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains("no GUID"), "{found:?}");
    let mut snapshot = clean();
    let (host, _) = hosts(&snapshot);
    snapshot.port_mut(host).unwrap().guid = Guid::NONE;
    assert_eq!(only(&snapshot, Check::NoGuid).len(), 1);
}

#[test]
fn guids_that_two_devices_claim_are_found() {
    let mut snapshot = clean();
    let (a, b) = hosts(&snapshot);
    let guid = snapshot.port(a).unwrap().guid;
    snapshot.port_mut(b).unwrap().guid = guid;
    let behind = trunk(&snapshot).0;
    snapshot.duplicates.push(DuplicateGuid {
        node_guid: snapshot.node(a.node).unwrap().guid(),
        path: DrPath::OWN_NODE,
        behind: Some(behind),
        before: None,
    });
    let found = only(&snapshot, Check::DuplicateGuid);
    assert_eq!(found.len(), 2);
    assert!(found[0].place.peer.is_some());
}

#[test]
fn a_link_below_what_both_ends_enable_is_a_warning() {
    let mut snapshot = clean();
    let (a, b) = trunk(&snapshot);
    for end in [a, b] {
        snapshot
            .port_mut(end)
            .unwrap()
            .info
            .as_mut()
            .unwrap()
            .set_link_width_active(LinkWidthActive::X1);
    }
    let found = only(&snapshot, Check::LinkWidth);
    let warned: Vec<_> = found
        .iter()
        .filter(|finding| finding.severity == Severity::Warning)
        .collect();
    assert_eq!(warned.len(), 1);
    assert_eq!(warned[0].value, Some("1x".into()));
    assert_eq!(warned[0].place.port, Some(a.port));
}

#[test]
fn a_port_with_a_link_that_is_not_active_is_an_error() {
    let mut snapshot = clean();
    let (a, _) = hosts(&snapshot);
    snapshot
        .port_mut(a)
        .unwrap()
        .info
        .as_mut()
        .unwrap()
        .set_port_state(PortState::INITIALIZE);
    let found = only(&snapshot, Check::PortInactive);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Error));
    assert_eq!(found[0].value, Some("Initialize".into()));
}

#[test]
fn counters_are_judged_by_totals_or_by_what_they_counted_in_between() {
    let earlier = clean();
    let mut snapshot = earlier.clone();
    let (a, _) = hosts(&snapshot);
    let port = snapshot.port_mut(a).unwrap();
    let mut counters = PortCounters::default();
    counters
        .set_symbol_error_counter(11)
        .set_link_downed_counter(255);
    port.counters.classic = Some(counters);
    port.counters.extended = None;
    let found = only(&with_saturated_left_out(&snapshot), Check::Counter);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].limit, Some(10u64.into()));
    let report = check(&snapshot, None, &CheckOptions::default());
    let saturated = report
        .findings
        .iter()
        .find(|finding| finding.check == Check::CounterSaturated);
    assert_eq!(saturated.unwrap().value, Some("link_downed_counter".into()));
    // Errors that were counted before the earlier snapshot are no reason to act now.
    let report = check(&snapshot, Some(&snapshot), &CheckOptions::default());
    assert!(
        report
            .findings
            .iter()
            .all(|finding| finding.check != Check::Counter)
    );
    let mut before = snapshot.clone();
    before.port_mut(a).unwrap().counters.classic = Some(PortCounters::default());
    let report = check(&snapshot, Some(&before), &CheckOptions::default());
    let grown: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.check == Check::Counter)
        .collect();
    assert_eq!((grown.len(), grown[0].severity), (2, Severity::Error));
}

fn with_saturated_left_out(snapshot: &Snapshot) -> Snapshot {
    let mut snapshot = snapshot.clone();
    for node in snapshot.nodes.iter_mut() {
        for port in &mut node.ports {
            if let Some(counters) = &mut port.counters.classic {
                counters.set_link_downed_counter(0);
            }
        }
    }
    snapshot
}

#[test]
fn mtus_that_differ_over_a_link_are_an_error() {
    let mut snapshot = clean();
    let (a, _) = trunk(&snapshot);
    snapshot
        .port_mut(a)
        .unwrap()
        .info
        .as_mut()
        .unwrap()
        .set_neighbor_mtu(Mtu::MTU_256);
    let found = only(&snapshot, Check::MtuMismatch);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Error));
}

#[test]
fn a_switch_port_that_lacks_the_partition_of_its_host_is_an_error() {
    let mut snapshot = clean();
    let (host, _) = hosts(&snapshot);
    let leaf = snapshot.port(host).unwrap().peer.unwrap();
    let table = |keys: &[u16]| {
        let mut table = PartitionKeyTable::default();
        for (entry, &key) in keys.iter().enumerate() {
            table.set_p_key_block(entry, PKey(key));
        }
        [(0, table)].into_iter().collect()
    };
    snapshot.port_mut(host).unwrap().p_keys = table(&[0xffff, 0x8001]);
    let port = snapshot.port_mut(leaf).unwrap();
    port.p_keys = table(&[0x7fff]);
    // Without enforcement no packet is dropped.
    assert!(
        findings(&snapshot)
            .iter()
            .all(|finding| finding.check != Check::PKeyMismatch)
    );
    let port = snapshot.port_mut(leaf).unwrap();
    port.info
        .as_mut()
        .unwrap()
        .set_partition_enforcement_inbound(true);
    let found = only(&snapshot, Check::PKeyMismatch);
    assert_eq!(found[0].value, Some("0x8001".into()));
}

#[test]
fn managers_are_counted_and_ranked() {
    let mut snapshot = clean();
    let (a, b) = hosts(&snapshot);
    let other = if snapshot.own_port == Some(a) { b } else { a };
    let mut manager = SmInfo::default();
    manager
        .set_priority(9)
        .set_sm_state(SmState::STANDBY)
        .set_guid(Guid(2));
    snapshot.port_mut(other).unwrap().sm_info = Some(manager);
    assert_eq!(only(&snapshot, Check::SmPriority).len(), 1);
    manager.set_sm_state(SmState::MASTER);
    snapshot.port_mut(other).unwrap().sm_info = Some(manager);
    let found = only(&snapshot, Check::SmCount);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Error));
}

/// Makes a switch forward packets for a LID by another port.
fn divert(snapshot: &mut Snapshot, switch: NodeIdx, lid: Lid, port: PortNum) {
    let node = snapshot.nodes.find_mut(switch).unwrap();
    let (block, entry) = ib_smp::LinearForwardingTable::block_of(lid);
    node.lft
        .get_mut(&block)
        .unwrap()
        .set_port_block(entry, port);
}

#[test]
fn a_lid_without_a_way_and_a_loop_are_errors() {
    let mut snapshot = clean();
    let (host, _) = hosts(&snapshot);
    let lid = snapshot.port(host).unwrap().lid();
    let leaf = snapshot.port(host).unwrap().peer.unwrap();
    let mut unroutable = snapshot.clone();
    divert(&mut unroutable, leaf.node, lid, PortNum::UNREACHABLE);
    let found = only(&unroutable, Check::LidUnroutable);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].message.contains("has no entry"),
        "{}",
        found[0].message
    );
    // Packets go from the leaf up to a spine, which sends them back down.
    let up = snapshot.node(leaf.node).unwrap().ports().find(|(_, port)| {
        port.peer
            .is_some_and(|peer| snapshot.node(peer.node).unwrap().is_switch())
    });
    let (up, peer) = up
        .map(|(number, port)| (number, port.peer.unwrap()))
        .unwrap();
    divert(&mut snapshot, leaf.node, lid, up);
    divert(&mut snapshot, peer.node, lid, peer.port);
    let loops = found_by(&snapshot, Check::RouteLoop);
    assert_eq!(loops.len(), 1);
}

#[test]
fn minimal_routes_on_a_ring_can_deadlock() {
    let snapshot = brought_up("gen-ring-8");
    let report = check(&snapshot, None, &CheckOptions::default());
    let found = report
        .findings
        .iter()
        .find(|finding| finding.check == Check::Deadlock);
    let found = found.expect("a ring of eight has a cycle");
    assert!(found.message.contains("in a cycle of"), "{}", found.message);
}

#[test]
fn a_service_level_that_is_mapped_to_vl15_is_found() {
    let mut snapshot = clean();
    let (a, _) = trunk(&snapshot);
    let node = snapshot.nodes.find_mut(a.node).unwrap();
    let tables = node
        .sl_to_vl
        .iter_mut()
        .filter(|((_, output), _)| *output == a.port);
    for (_, table) in tables {
        table.set_sl_to_vl(3, Vl::MANAGEMENT);
    }
    let found = only(&snapshot, Check::Sl2VlHole);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
    assert_eq!(found[0].value, Some("3".into()));
}

#[test]
fn members_of_a_group_that_no_tree_joins_are_an_error() {
    let mut snapshot = clean();
    let (a, b) = hosts(&snapshot);
    for host in [a, b] {
        serve(&mut snapshot, host);
    }
    let found = only(&snapshot, Check::Multicast);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Error));
}

/// The switch of a host sends it the packets of the first group.
fn serve(snapshot: &mut Snapshot, host: PortRef) {
    let leaf = snapshot.port(host).unwrap().peer.unwrap();
    let mut block = MulticastForwardingTable::default();
    let position = leaf.port.0 / 16;
    block.set_port_mask_block(0, 1 << (leaf.port.0 % 16));
    let node = snapshot.nodes.find_mut(leaf.node).unwrap();
    node.mft.insert(MftModifier { position, block: 0 }, block);
}

/// The administrator's record of a member of the first group; of the group alone if the GUID is 0.
fn member(guid: Guid, join_state: JoinState) -> McMemberRecord {
    let mut record = McMemberRecord::default();
    record
        .set_mlid(Lid::MULTICAST_MIN)
        .set_mgid("ff12:401b:ffff::ffff:ffff".parse().unwrap())
        .set_port_gid(Gid::new(GidPrefix::default(), guid))
        .set_join_state(join_state);
    record
}

fn of_groups(snapshot: &Snapshot, groups: Vec<McMemberRecord>) -> Vec<(Severity, Option<Guid>)> {
    let mut snapshot = snapshot.clone();
    snapshot.set_groups(groups);
    let report = check(&snapshot, None, &CheckOptions::default());
    assert!(report.checked[&Check::Multicast] <= 1);
    let found = report.findings.into_iter();
    found
        .filter(|finding| finding.check == Check::Multicast)
        .map(|finding| (finding.severity, finding.place.node_guid))
        .collect()
}

#[test]
fn members_that_subnet_administration_knows_and_no_switch_serves_are_errors() {
    let mut snapshot = clean();
    let (a, b) = hosts(&snapshot);
    let guid = |at| snapshot.port(at).unwrap().guid;
    let (first, second) = (guid(a), guid(b));
    let node = snapshot.node(b.node).unwrap().guid();
    let full = JoinState::FULL_MEMBER;
    // A group that is there before its members is a note, and one with a single member is none.
    let own = snapshot
        .node(snapshot.own_port.unwrap().node)
        .unwrap()
        .guid();
    let empty = of_groups(
        &snapshot,
        Vec::from([member(Guid::NONE, JoinState::empty())]),
    );
    assert_eq!(empty, [(Severity::Info, Some(own))]);
    assert_eq!(of_groups(&snapshot, Vec::from([member(first, full)])), []);
    // One of two members is served.
    serve(&mut snapshot, a);
    let both = Vec::from([member(first, full), member(second, full)]);
    assert_eq!(of_groups(&snapshot, both), [(Severity::Error, Some(node))]);
    // Who only sends gets none of the packets.
    let sender = member(second, JoinState::SEND_ONLY_NON_MEMBER);
    assert_eq!(
        of_groups(&snapshot, Vec::from([member(first, full), sender])),
        []
    );
    // A member that has left the subnet without leaving the group.
    let gone = Vec::from([member(first, full), member(Guid(0xdead), full)]);
    assert_eq!(of_groups(&snapshot, gone), [(Severity::Error, Some(own))]);
}

#[test]
fn a_group_that_only_the_switches_know_is_a_warning() {
    let mut snapshot = clean();
    let (a, _) = hosts(&snapshot);
    serve(&mut snapshot, a);
    let own = snapshot
        .node(snapshot.own_port.unwrap().node)
        .unwrap()
        .guid();
    assert_eq!(
        of_groups(&snapshot, Vec::new()),
        [(Severity::Warning, Some(own))]
    );
    // Its members are hidden from an asker without the SM_Key: there is nothing to compare.
    let hidden = Vec::from([member(Guid::NONE, JoinState::empty())]);
    assert_eq!(of_groups(&snapshot, hidden), []);
}

#[test]
fn silent_devices_revisions_and_a_plan_are_compared() {
    let mut snapshot = clean();
    let (a, _) = hosts(&snapshot);
    let (b, _) = trunk(&snapshot);
    let path = snapshot.node(b.node).unwrap().path.then(b.port).unwrap();
    snapshot.silent.push(SilentDevice {
        path,
        node_guid: None,
    });
    let found = only(&snapshot, Check::Silent);
    assert_eq!(found[0].place.port, Some(b.port));
    snapshot.silent.clear();

    snapshot
        .nodes
        .find_mut(a.node)
        .unwrap()
        .info
        .set_revision(0x77);
    let found = only(&snapshot, Check::Firmware);
    assert_eq!(found.len(), 1);

    let options = CheckOptions {
        expected: Some(fabric("gen-ft-48-broken10")),
        ..CheckOptions::default()
    };
    let report = check(&snapshot, None, &options);
    assert!(
        report
            .findings
            .iter()
            .all(|finding| finding.check != Check::Expected)
    );
    // The expected topology has a cable that is missing.
    let mut text = ibnetdiscover::write(&snapshot.fabric(), None);
    let line = text
        .lines()
        .position(|line| line.starts_with("[1]\t\"S-"))
        .unwrap();
    text = text
        .lines()
        .enumerate()
        .filter(|(number, _)| *number != line)
        .map(|(_, line)| line.to_string() + "\n")
        .collect();
    let options = CheckOptions {
        expected: Some(ibnetdiscover::read(&text).unwrap().fabric),
        ..CheckOptions::default()
    };
    let _ = check(&snapshot, None, &options);
}
