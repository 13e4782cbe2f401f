//! Subnet managers: the number of masters, and whether the highest-ranking manager is the master.

use alloc::{format, string::ToString as _, vec::Vec};

use ib_routing::PortRef;
use ib_smp::{SmInfo, SmState};

use super::{Check, Checker, Finding, Severity};

pub(super) fn check(checker: &mut Checker<'_>) {
    let ports = checker.snapshot.ports();
    let managers: Vec<(PortRef, SmInfo)> = ports
        .filter_map(|(at, _, port)| Some((at, port.sm_info?)))
        .collect();
    checker.looked_at(Check::SmCount, managers.len().max(1));
    checker.looked_at(Check::SmPriority, managers.len());
    let is_master = |(_, info): &&(PortRef, SmInfo)| info.sm_state() == SmState::MASTER;
    let masters: Vec<&(PortRef, SmInfo)> = managers.iter().filter(is_master).collect();
    if masters.is_empty() {
        let place = checker.own_place();
        let message = format!(
            "no subnet manager is master, of {} that respond",
            managers.len()
        );
        let action = "start a subnet manager";
        let finding = Finding::new(Check::SmCount, Severity::Warning, place, message, action);
        checker.add(finding.value(0usize).limit(1usize));
    }
    if let [first, others @ ..] = masters.as_slice() {
        for (at, info) in others {
            let other = checker.text(first.0);
            let message = format!(
                "the manager with priority {} is master, and that on {other} is too",
                info.priority()
            );
            let action = "stop one of them, and look for the missing link or the different SM_Key that separates them";
            let place = checker.place(*at);
            let finding = Finding::new(Check::SmCount, Severity::Error, place, message, action);
            checker.add(finding.value(masters.len()).limit(1usize));
        }
        for (at, info) in managers.iter().filter(|manager| !is_master(manager)) {
            priority(checker, *at, info, &first.1);
        }
    }
}

fn priority(checker: &mut Checker<'_>, at: PortRef, info: &SmInfo, master: &SmInfo) {
    let place = checker.place(at);
    if info.sm_state() == SmState::STANDBY && info.is_higher_than(master) {
        let message = format!(
            "the manager ranks above the master (priority {} against {}) and is {}",
            info.priority(),
            master.priority(),
            info.sm_state()
        );
        let action = "wait for the handover; if it does not come, compare the SM_Keys of the two";
        let finding = Finding::new(Check::SmPriority, Severity::Warning, place, message, action);
        checker.add(
            finding
                .value(u64::from(info.priority()))
                .limit(u64::from(master.priority())),
        );
    } else if info.priority() == master.priority() {
        let message = format!(
            "the manager has the priority of the master, {}: their GUIDs decide which is master",
            info.priority()
        );
        let action = "give the manager that should be master a higher priority";
        let finding = Finding::new(Check::SmPriority, Severity::Info, place, message, action);
        checker.add(
            finding
                .value(u64::from(info.priority()))
                .limit(info.sm_state().to_string()),
        );
    }
}
