//! Error counters over their thresholds, and counters that are at all ones.

use alloc::{format, string::ToString as _};

use ib_mad::CounterDelta;
use ib_routing::PortRef;

use super::{Check, Checker, Finding, Severity};
use crate::{
    counters::CounterReadings,
    snapshot::{Snapshot, SnapshotPort},
};

pub(super) fn check(checker: &mut Checker<'_>, earlier: Option<&Snapshot>) {
    let snapshot = checker.snapshot;
    for (at, node, port) in snapshot.ports() {
        if port.counters.is_empty() {
            continue;
        }
        checker.looked_at(Check::Counter, 1);
        checker.looked_at(Check::CounterSaturated, 1);
        let before = earlier.and_then(|earlier| {
            let node = earlier.node_by_guid(node.guid())?;
            earlier.port(PortRef { node, ..at })
        });
        match (earlier, before) {
            (None, _) => totals(checker, at, port),
            (Some(earlier), Some(before)) => {
                let seconds = snapshot.taken_at.saturating_sub(earlier.taken_at) / 1000;
                increments(checker, at, port, before, seconds);
            }
            // The earlier snapshot does not have the port.
            (Some(_), None) => {}
        }
        saturated(checker, at, port);
    }
}

/// The advice in a finding about a counter above its threshold.
fn action(counter: &str) -> &'static str {
    match counter {
        "symbol_error_counter"
        | "link_error_recovery_counter"
        | "link_downed_counter"
        | "port_rcv_errors"
        | "local_link_integrity_errors" => {
            "clean or replace the cable or transceiver at both ends of the link"
        }
        "port_rcv_remote_physical_errors" => {
            "look for the faulty link earlier on the path: a switch there marked the packet as bad"
        }
        "port_rcv_switch_relay_errors" => {
            "compare routes and multicast tables: the switch received packets that it cannot relay"
        }
        "port_xmit_discards" => {
            "look for congestion behind the port, and for hosts that do not take their packets"
        }
        "port_xmit_constraint_errors" | "port_rcv_constraint_errors" => {
            "compare the partitions of the port and of the other end"
        }
        "vl15_dropped" | "qp1_dropped" => {
            "look for programs that flood the device with management datagrams"
        }
        _ => "look at the port, its cable and the other end",
    }
}

fn totals(checker: &mut Checker<'_>, at: PortRef, port: &SnapshotPort) {
    let values = port.counters.values(port.perf_class_port_info.as_ref());
    for (name, counter) in values.iter() {
        let limit = checker.options.thresholds.limit(name);
        let Some(limit) = limit.filter(|&limit| counter.value > limit) else {
            continue;
        };
        let message = format!(
            "{name} is {} since it was cleared, over the threshold of {limit}",
            counter.value
        );
        let place = checker.place(at);
        let finding = Finding::new(
            Check::Counter,
            Severity::Warning,
            place,
            message,
            action(name),
        );
        checker.add(finding.value(counter.value).limit(limit));
    }
}

fn increments(
    checker: &mut Checker<'_>,
    at: PortRef,
    port: &SnapshotPort,
    before: &SnapshotPort,
    seconds: u64,
) {
    let deltas = port
        .counters
        .since(&before.counters, port.perf_class_port_info.as_ref());
    for (name, delta) in deltas {
        let count = delta.at_least();
        let limit = checker.options.thresholds.limit(name);
        let Some(limit) = limit.filter(|&limit| count > limit) else {
            continue;
        };
        let exactness = match delta {
            CounterDelta::Exactly(_) => "",
            CounterDelta::AtLeast(_) => "at least ",
            CounterDelta::SinceCleared(_) => "since it was cleared at least ",
        };
        let message = format!(
            "{name} grew by {exactness}{count} in {seconds} s, over the threshold of {limit}"
        );
        let place = checker.place(at);
        let finding = Finding::new(
            Check::Counter,
            Severity::Error,
            place,
            message,
            action(name),
        );
        checker.add(finding.value(count).limit(limit));
    }
}

fn saturated(checker: &mut Checker<'_>, at: PortRef, port: &SnapshotPort) {
    let info = port.perf_class_port_info.as_ref();
    for name in port.counters.values(info).saturated() {
        if checker.options.thresholds.is_ignored(name) {
            continue;
        }
        let severity = match CounterReadings::counts_errors(name) {
            true => Severity::Warning,
            false => Severity::Info,
        };
        let message = format!("{name} has reached its highest value, so its true value is unknown");
        let action = "clear it (ib perf --reset), and read it again after a while";
        let place = checker.place(at);
        let finding = Finding::new(Check::CounterSaturated, severity, place, message, action);
        checker.add(finding.value(name.to_string()));
    }
}
