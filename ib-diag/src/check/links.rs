//! Links that run below the capabilities of both ends, ports that are not Active, and MTUs and P_Keys that do not
//! match.

use alloc::{collections::BTreeSet, format, string::ToString as _};

use ib_routing::PortRef;
use ib_smp::PortState;

use super::{Check, Checker, Finding, Severity};
use crate::{
    link::LinkView,
    snapshot::{Contents, SnapshotPort},
};

pub(super) fn check(checker: &mut Checker<'_>) {
    for link in checker.snapshot.links() {
        let Some(far) = link.b else { continue };
        rate(checker, &link);
        mtu(checker, link.a.port, far.port);
        if checker.snapshot.contents.contains(Contents::P_KEYS) {
            p_keys(checker, link.a.port, far.port);
            p_keys(checker, far.port, link.a.port);
        }
    }
    states(checker);
}

fn rate(checker: &mut Checker<'_>, link: &LinkView) {
    const REPLACE: &str = "reseat or replace the cable: the ends negotiated less than both enable";
    const ENABLE: &str = "no action is needed if this is intended; else enable more (ib port NODE:PORT width=.. or speed=..)";
    // How bad it is, what it says and what to do, for a value, what both ends enable above it, and what both support.
    let judge = |found: &str, enabled: Option<String>, best: &str| match enabled {
        Some(enabled) => (
            Severity::Warning,
            format!("the link runs at {found}, both ends enable {enabled}"),
            REPLACE,
        ),
        None => (
            Severity::Info,
            format!("the link runs at {found}: both ends support {best}, and one enables less"),
            ENABLE,
        ),
    };
    if let (Some(width), Some(best)) = (link.width, link.best_width) {
        checker.looked_at(Check::LinkWidth, 1);
        if link.is_narrow() {
            let enabled = link.enabled_width.filter(|enabled| *enabled > width);
            let text = enabled.map(|enabled| enabled.to_string());
            let (severity, message, action) = judge(&width.to_string(), text, &best.to_string());
            let best = enabled.unwrap_or(best);
            let place = checker.place(link.a.port);
            let finding = Finding::new(Check::LinkWidth, severity, place, message, action);
            checker.add(finding.value(width.to_string()).limit(best.to_string()));
        }
    }
    if let (Some(speed), Some(best)) = (link.speed, link.best_speed) {
        checker.looked_at(Check::LinkSpeed, 1);
        if link.is_slow() {
            let enabled = link.enabled_speed.filter(|enabled| *enabled > speed);
            let text = enabled.map(|enabled| enabled.to_string());
            let (severity, message, action) = judge(&speed.to_string(), text, &best.to_string());
            let best = enabled.unwrap_or(best);
            let place = checker.place(link.a.port);
            let finding = Finding::new(Check::LinkSpeed, severity, place, message, action);
            checker.add(finding.value(speed.to_string()).limit(best.to_string()));
        }
    }
}

fn states(checker: &mut Checker<'_>) {
    let snapshot = checker.snapshot;
    for (at, node, port) in snapshot.ports() {
        let is_own = node.is_switch() && at.port == ib_wire::PortNum::MANAGEMENT;
        if is_own || !port.is_link_up() {
            continue;
        }
        checker.looked_at(Check::PortInactive, 1);
        let Some(state) = port.state().filter(|&state| state != PortState::ACTIVE) else {
            continue;
        };
        let message = format!("the link is up and the port is {state}, so no data passes");
        let action = "see that a subnet manager runs and reaches the port; its log has the reason why the port is not active";
        let place = checker.place(at);
        let finding = Finding::new(Check::PortInactive, Severity::Error, place, message, action);
        checker.add(
            finding
                .value(state.to_string())
                .limit(PortState::ACTIVE.to_string()),
        );
    }
}

/// Returns true if a manager has configured the link of a port.
fn is_configured(port: &SnapshotPort) -> bool {
    matches!(port.state(), Some(PortState::ARMED | PortState::ACTIVE))
}

fn mtu(checker: &mut Checker<'_>, a: PortRef, b: PortRef) {
    let snapshot = checker.snapshot;
    let ends = snapshot.port(a).zip(snapshot.port(b));
    let Some((near, far)) = ends.filter(|(near, far)| is_configured(near) && is_configured(far))
    else {
        return;
    };
    let Some((near, far)) = near.info.zip(far.info) else {
        return;
    };
    checker.looked_at(Check::MtuMismatch, 1);
    let (here, there) = (near.neighbor_mtu(), far.neighbor_mtu());
    let best = near.mtu_cap().min(far.mtu_cap());
    let action = "let the subnet manager configure the link anew (bounce it, or a heavy sweep)";
    let (severity, value, message) = if here != there {
        let message = format!(
            "NeighborMTU is {here} here and {there} at the other end: larger packets are dropped"
        );
        (Severity::Error, here, message)
    } else if here > best {
        let message = format!("NeighborMTU is {here}, and an end of the link takes {best} at most");
        (Severity::Error, here, message)
    } else if here < best {
        let message = format!("NeighborMTU is {here}, both ends support {best}");
        (Severity::Warning, here, message)
    } else {
        return;
    };
    let place = checker.place(a);
    let finding = Finding::new(Check::MtuMismatch, severity, place, message, action);
    checker.add(finding.value(value.to_string()).limit(best.to_string()));
}

/// Checks whether the switch port `a` drops packets of a partition of which the end port `b` is a member.
fn p_keys(checker: &mut Checker<'_>, a: PortRef, b: PortRef) {
    let snapshot = checker.snapshot;
    let Some(((node, near), (other, far))) = snapshot
        .node(a.node)
        .zip(snapshot.port(a))
        .zip(snapshot.node(b.node).zip(snapshot.port(b)))
    else {
        return;
    };
    let Some(info) = near.info.filter(|_| node.is_switch()) else {
        return;
    };
    let enforces = info.partition_enforcement_inbound() || info.partition_enforcement_outbound();
    if !enforces || other.is_switch() || near.p_keys.is_empty() || far.p_keys.is_empty() {
        return;
    }
    checker.looked_at(Check::PKeyMismatch, 1);
    let passed: BTreeSet<u16> = near.p_keys().map(|key| key.base()).collect();
    let missing = far.p_keys().find(|key| !passed.contains(&key.base()));
    if let Some(key) = missing {
        let message = format!(
            "the port enforces partitions and lacks P_Key {key}, which the other end has: its packets are dropped"
        );
        let action = "let the subnet manager write the P_Key tables anew, and compare its partition configuration";
        let place = checker.place(a);
        let finding = Finding::new(Check::PKeyMismatch, Severity::Error, place, message, action);
        checker.add(finding.value(key.to_string()));
    }
}
