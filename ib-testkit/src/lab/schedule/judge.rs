//! The faults of a subnet, as seen from outside: the devices, a verifier, and a manager that only looks.

use std::{collections::BTreeMap, ops::ControlFlow};

use ib_mad::{Attribute as _, TransactionId};
use ib_routing::{PortRef, SlTable, verify, verify::Permission};
use ib_sm::{Change, Conduct, Event, SubnetManager};
use ib_smp::{LinearForwardingTable, PortInfo, PortState, SmState};
use ib_transport::{Clock as _, drive};
use ib_wire::{Lid, PortNum};

use super::Bed;

impl Bed {
    /// Every fault of the subnet, a line for each; empty if it is whole.
    pub(super) fn judge(&mut self) -> Vec<String> {
        let mut faults = self.judge_manager();
        faults.extend(self.judge_ports());
        faults.extend(self.judge_tables());
        faults.extend(self.ask_observer());
        faults
    }

    fn judge_manager(&self) -> Vec<String> {
        let sm = &self.running.sm;
        let mut faults = Vec::new();
        if sm.state() != SmState::MASTER {
            faults.push(format!("the manager is {}", sm.state()));
        }
        if !sm.is_up() {
            faults.push("the manager's last sweep failed".to_owned());
        }
        faults
    }

    /// Ports: all links are Active, every end port has a LID of its own and knows the manager.
    fn judge_ports(&self) -> Vec<String> {
        let mut faults = Vec::new();
        self.running.sim.with(|sim| {
            let mut owners: BTreeMap<Lid, PortRef> = BTreeMap::new();
            let sm_lid = sim.port(self.own).map(|port| port.info().lid());
            for node in sim.nodes().indices() {
                let is_switch = sim.nodes()[node].is_switch();
                for port in sim.ports_of(node) {
                    let (at, info) = (port.at(), port.info());
                    let is_linked = sim.peer(at).is_some();
                    if is_linked && info.port_state() != PortState::ACTIVE {
                        faults.push(format!("{at:?} is {}", info.port_state()));
                    }
                    let is_end = is_switch == (at.port == PortNum::MANAGEMENT);
                    if !is_end || (!is_switch && !is_linked) {
                        continue;
                    }
                    if info.lid() == Lid::NONE {
                        faults.push(format!("{at:?} has no LID"));
                    } else if let Some(other) = owners.insert(info.lid(), at) {
                        faults.push(format!("{at:?} and {other:?} have LID {}", info.lid()));
                    }
                    if Some(info.master_sm_lid()) != sm_lid {
                        let lid = info.master_sm_lid();
                        faults.push(format!("{at:?} takes LID {lid} for the manager's"));
                    }
                }
            }
        });
        faults
    }

    /// The tables that stand in switches, as the verifier judges them. No switch holds the service levels that the manager
    /// gives to paths, so only the manager's own report tells whether traffic can deadlock.
    fn judge_tables(&self) -> Vec<String> {
        let fabric = &self.fabric;
        let (lids, routes) = self.running.sim.with(|sim| sim.installed(fabric));
        let report = verify::verify(fabric, &lids, &routes);
        let levels_unknown = Permission {
            deadlock: true,
            ..Permission::default()
        };
        let mut verdicts = vec![report.verdict(levels_unknown)];
        let own = self.running.sm.report();
        verdicts.extend(own.map(|report| report.verdict(Permission::default())));
        let refused = verdicts.iter().filter(|verdict| !verdict.may_install());
        let mut faults: Vec<String> = refused.map(|verdict| format!("{verdict:?}")).collect();
        if report.unreachable > 0 {
            faults.push(format!("{} pairs are unreachable", report.unreachable));
        }
        faults
    }

    /// The changes that a fresh manager on the same port would make.
    fn ask_observer(&mut self) -> Vec<String> {
        let mut config = self.config.clone();
        config.first_transaction_id = TransactionId(u64::from(u32::MAX) << 20);
        config.sweep_interval = None;
        let mut faults = Vec::new();
        // A fresh manager cannot know the service levels that the routes need, so it computes its own routes.
        let sls = self.running.sm.routes().map(ib_routing::Routes::sls);
        let has_levels = !matches!(sls, Some(SlTable::Uniform(_)));
        let is_expected = |change: &Change| {
            is_registration(change)
                || (has_levels && change.attribute_id == LinearForwardingTable::ID)
        };
        let now = self.running.sim.now();
        let mut observer = SubnetManager::new(config, now).with_conduct(Conduct::Observe);
        let end = drive(
            &mut observer,
            &mut self.running.transport,
            &self.running.sim,
            |_, event| {
                match event {
                    Event::SubnetUp(_) => return ControlFlow::Break(true),
                    Event::SweepFailed(_) => return ControlFlow::Break(false),
                    Event::ChangePlanned(ref change) if !is_expected(change) => {
                        faults.push(format!("a fresh manager: {event}"));
                    }
                    _ => {}
                }
                ControlFlow::Continue(())
            },
        );
        if end.unwrap() != Some(true) {
            faults.push("a fresh manager fails".to_owned());
        }
        faults
    }
}

/// Returns true if a change only asks a host to register again, as every new manager does.
fn is_registration(change: &Change) -> bool {
    let (Some(from), PortInfo::ID) = (change.from, change.attribute_id) else {
        return false;
    };
    let from = PortInfo::from_bytes(from);
    let mut to = PortInfo::from_bytes(change.to);
    let asks = to.client_reregister();
    // In a Set, 0 leaves these as they are.
    to.set_client_reregister(false)
        .set_port_state(from.port_state())
        .set_port_physical_state(from.port_physical_state())
        .set_link_down_default_state(from.link_down_default_state())
        .set_link_width_enabled(from.link_width_enabled())
        .set_link_speed_enabled(from.link_speed_enabled())
        .set_link_speed_ext_enabled(from.link_speed_ext_enabled())
        .set_operational_vls(from.operational_vls());
    asks && to == from
}
