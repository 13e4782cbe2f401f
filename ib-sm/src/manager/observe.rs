//! Observing: the reads of a sweep, and the consequences of their answers.

use alloc::{collections::BTreeSet, sync::Arc};

use ib_mad::Instant;
use ib_routing::RouteError;
use ib_smp::{PortInfo, PortState, SmInfo, SmState};
use ib_subnet::{NodeId, PortId, ReadTarget, Scope, Walk, WalkFinding, WalkOptions, WalkOutcome};
use ib_wire::Lid;

use super::{Mode, Purpose, SubnetManager, later};
use crate::{
    decision::Question,
    election::{ElectionAction, ElectionInput},
    event::{Event, Phase, SweepCause, SweepKind},
    policy::{Situation, lids::Assignment},
    reconcile::Stage,
};

impl SubnetManager {
    pub(super) fn walk_options(&self) -> WalkOptions {
        WalkOptions {
            m_key: self.config.m_key,
            tables: true,
            managers: true,
            boundary: match &self.config.cluster {
                Some(role) => role.boundary().clone(),
                None => Default::default(),
            },
            vendor_speeds: self.config.fdr10 != 0,
            ..WalkOptions::default()
        }
    }

    /// Returns true if a partial sweep is possible: the rest of the subnet is known and configured.
    pub(super) const fn reads_parts(&self) -> bool {
        self.history.up && self.history.served
    }

    /// Begins the sweep that is due by the timer.
    pub(super) fn begin_timed_sweep(&mut self, now: Instant) {
        if self.begin_pending(now) {
            return;
        }
        if !self.history.up {
            self.begin_sweep(now, SweepCause::Retry);
        } else if self.config.force_heavy_sweep {
            self.begin_sweep(now, SweepCause::Timer);
        } else {
            self.begin_light_sweep(now);
        }
    }

    /// Begins a sweep over the marked ports; the rest of the subnet is assumed to be unchanged.
    pub(super) fn begin_partial_sweep(&mut self, now: Instant, cause: SweepCause) {
        let options = self.walk_options();
        let marked = core::mem::take(&mut self.pending.marked);
        self.begin(now, cause, SweepKind::Partial);
        let walk = Walk::ports(&mut self.subnet, marked, options);
        self.mode = Mode::Observing(alloc::boxed::Box::new(walk));
    }

    /// Begins a light sweep, which only detects changes.
    pub(super) fn begin_light_sweep(&mut self, now: Instant) {
        self.next_sweep = None;
        self.sweep.phase_started = now;
        self.events.push_back(Event::SweepStarted {
            kind: SweepKind::Light,
            cause: SweepCause::Timer,
        });
        let options = self.walk_options();
        let managers: alloc::vec::Vec<PortId> = self.others.iter().map(|&(port, _)| port).collect();
        let walk = Walk::changes(&mut self.subnet, &managers, options);
        self.mode = Mode::Observing(alloc::boxed::Box::new(walk));
    }

    /// Sends requests again whose directed route has broken meanwhile: waiting for their time-outs would cost
    /// seconds.
    pub(super) fn follow_broken_routes(&mut self) {
        let Mode::Observing(walk) = &mut self.mode else {
            return;
        };
        let moved = walk.refresh_paths(&mut self.subnet);
        if moved.is_empty() {
            return;
        }
        let moved: alloc::collections::BTreeSet<NodeId> = moved.into_iter().collect();
        let mut again = alloc::vec::Vec::new();
        self.window.retain(|purpose| match purpose {
            Purpose::Read(read) => {
                let port = match read.target {
                    ReadTarget::Port(port) | ReadTarget::Behind(port) => Some(port),
                    ReadTarget::OwnNode => None,
                };
                let stays = port.is_none_or(|port| !moved.contains(&port.node));
                if !stays {
                    again.push(*read);
                }
                stays
            }
            Purpose::Apply(_) | Purpose::Peer(_) => true,
        });
        for read in again {
            walk.read_again(read);
        }
    }

    /// Turns the findings of a walk into events.
    pub(super) fn report_findings(&mut self) {
        loop {
            let Mode::Observing(walk) = &mut self.mode else {
                return;
            };
            let scope = walk.scope();
            let Some(finding) = walk.poll_finding() else {
                return;
            };
            self.report_finding(scope, finding);
        }
    }

    fn report_finding(&mut self, scope: Scope, finding: WalkFinding) {
        let event = match finding {
            WalkFinding::NodeFound(node) => {
                let node = self.subnet.node(node);
                let Some(node) = node else { return };
                Event::NodeAppeared {
                    node_guid: node.info().node_guid(),
                }
            }
            WalkFinding::Unresponsive { device, .. } => {
                self.sweep.summary.unresponsive.push(device);
                // A link may stay up for ever although the node at its other end never answers, so this is no
                // error.
                if !device.neighbor {
                    self.note_error();
                }
                Event::Unresponsive(device)
            }
            WalkFinding::OutOfReach { at } => {
                self.sweep.out_of_reach.insert(at);
                return;
            }
            WalkFinding::DuplicateGuid { node_guid, behind } => {
                self.note_error();
                Event::DuplicateGuid {
                    node_guid,
                    found_via: behind,
                }
            }
            WalkFinding::InvalidNodeInfo {
                behind,
                node_guid,
                field,
            } => {
                self.note_error();
                Event::InvalidNodeInfo {
                    found_via: behind,
                    node_guid,
                    field,
                }
            }
            WalkFinding::GuidChanged {
                behind,
                before,
                now,
                ..
            } => {
                self.note_error();
                Event::GuidChanged {
                    found_via: behind,
                    before,
                    now,
                }
            }
            WalkFinding::Refused {
                at,
                attribute_id,
                status,
            } => {
                if scope == Scope::Changes {
                    return;
                }
                self.note_error();
                Event::Refused {
                    at,
                    attribute_id,
                    status,
                }
            }
            WalkFinding::Manager { port, info } => {
                self.note_manager(scope, port, info);
                return;
            }
            _ => return,
        };
        self.events.push_back(event);
    }

    /// Notes that another manager answered. A second master, or a standby of higher priority, calls for an
    /// election, which follows a sweep of the whole subnet.
    fn note_manager(&mut self, scope: Scope, port: PortId, info: SmInfo) {
        match self.others.iter_mut().find(|(at, _)| *at == port) {
            Some((_, known)) => *known = info,
            None => self.others.push((port, info)),
        }
        if self.election.differs_in_key(&info) {
            let at = self.subnet.port_at(port);
            let state = info.sm_state();
            self.events.push_back(Event::SmKeyMismatch { at, state });
        }
        if scope == Scope::Everything {
            return;
        }
        let is_higher = info.is_higher_than(&self.election.current());
        let matters = match info.sm_state() {
            SmState::MASTER => true,
            SmState::STANDBY => is_higher,
            _ => scope == Scope::Ports,
        };
        if matters && self.election.hears(&info) {
            self.pending.everything = Some(SweepCause::Change);
        }
    }

    /// Ends a walk: all reads are answered or given up.
    pub(super) fn end_walk(&mut self, now: Instant) {
        let Mode::Observing(walk) = core::mem::replace(&mut self.mode, Mode::Idle) else {
            return;
        };
        let scope = walk.scope();
        let outcome = walk.finish(&mut self.subnet);
        if scope == Scope::Changes {
            self.end_light_sweep(now, outcome);
            return;
        }
        if outcome.inconsistent {
            self.begin_sweep(now, SweepCause::Change);
            return;
        }
        for &node_guid in &outcome.vanished {
            self.events.push_back(Event::NodeVanished { node_guid });
        }
        if !outcome.unreachable.is_empty() {
            self.events.push_back(Event::NodesUnreachable {
                unreachable: outcome.unreachable.into_iter().collect(),
                missing: outcome.vanished,
            });
        }
        self.note_restored_hosts();
        if self.may_configure(now) {
            self.take_over_replica(now);
            self.decide_lids(now, scope == Scope::Ports);
        } else if !matches!(self.mode, Mode::Observing(_)) {
            self.mode = Mode::Idle;
        }
    }

    /// Reports the cables that lead further than the manager reaches.
    pub(super) fn name_out_of_reach(&mut self) {
        for at in core::mem::take(&mut self.sweep.out_of_reach) {
            self.events.push_back(Event::OutOfReach { at });
        }
    }

    /// Marks the switches where directed routes end, so that the next sweep begins its requests there: their LIDs and
    /// tables are in place now. Returns whether there are any.
    pub(super) fn goes_on_further(&mut self) -> bool {
        if self.conduct == super::Conduct::Observe {
            return false;
        }
        self.sweep.out_of_reach.clear();
        let ends: BTreeSet<NodeId> = self.subnet.ends_of_reach().map(|end| end.node).collect();
        let mut goes_on = false;
        for switch in ends {
            if self.plan.switch(switch).is_some() {
                self.subnet.continue_from(switch);
                self.pending.marked.insert(PortId::management(switch));
                goes_on = true;
            }
        }
        goes_on
    }

    fn end_light_sweep(&mut self, now: Instant, outcome: WalkOutcome) {
        if outcome.inconsistent && self.pending.everything.is_none() {
            self.pending.everything = Some(SweepCause::Change);
        }
        let changed = !outcome.marked.is_empty() || self.pending.everything.is_some();
        self.events.push_back(Event::LightSweepDone { changed });
        self.pending.marked.extend(outcome.marked);
        if self.pending.everything.is_none() && !self.pending.marked.is_empty() {
            match self.reads_parts() {
                true => self.begin_partial_sweep(now, SweepCause::Change),
                false => self.begin_sweep(now, SweepCause::Change),
            }
        } else if !self.begin_pending(now) {
            self.next_sweep = self.config.sweep_interval.map(|wait| later(now, wait));
        }
    }

    /// Exempts hosts from registering again if they registered with this manager before a restart and have had no
    /// other manager since.
    fn note_restored_hosts(&mut self) {
        if !self.history.restored || self.history.swept {
            return;
        }
        let own = self.subnet.own_port().and_then(|own| self.subnet.port(own));
        let own = own.and_then(|own| own.info()).map(PortInfo::lid);
        let Some(own) = own.filter(|&lid| lid != Lid::NONE) else {
            return;
        };
        let ports = self.subnet.ports().filter(|(_, _, port)| {
            port.state() == PortState::ACTIVE
                && port.info().is_some_and(|info| info.master_sm_lid() == own)
        });
        let ports: alloc::vec::Vec<PortId> = ports.map(|(id, ..)| id).collect();
        for port in ports {
            self.subnet.set_reregistered(port);
        }
    }

    /// Decides, when a walk is over, whether this manager configures the subnet.
    fn may_configure(&mut self, now: Instant) -> bool {
        if self.subnet.own_port().is_none() {
            // Not even the own node answered.
            self.note_error();
            self.end_sweep(now);
            return false;
        }
        if !self.has_own_link() {
            self.lose_own_link(now);
            return false;
        }
        if self.conduct == super::Conduct::Observe {
            return true;
        }
        let others: alloc::vec::Vec<SmInfo> = self.others.iter().map(|&(_, info)| info).collect();
        self.elect(now, ElectionInput::Discovered(&others)) == ElectionAction::Configure
    }

    /// Returns true if the own port has a link. Port 0 of a switch has none and needs none.
    fn has_own_link(&self) -> bool {
        let own = self.subnet.own_port();
        own.is_some_and(|own| {
            let is_switch = self.subnet.switch(own.node).is_some();
            is_switch || self.subnet.port(own).is_some_and(|port| port.is_up())
        })
    }

    /// Handles a down link at the own port: there is no subnet to manage until the link comes back.
    fn lose_own_link(&mut self, now: Instant) {
        self.note_error();
        let _ = self.elect(now, ElectionInput::OwnPortDown);
        self.events.push_back(Event::OwnPortDown);
        self.history.quick_retries_left = 0;
        self.end_sweep(now);
    }

    /// Chooses the LIDs, and begins to assign them to the ports that are reached without a link.
    fn decide_lids(&mut self, now: Instant, is_partial: bool) {
        self.enter_phase(now, Phase::Lids);
        let reassign = self.config.reassign_lids && !self.history.swept;
        let policy = Arc::clone(&self.lid_policy);
        let question = Question::Lids {
            policy,
            reassign,
            is_partial,
        };
        self.decide(now, question);
    }

    /// Accepts the LIDs, or the reason why there are none.
    pub(super) fn on_lids(&mut self, now: Instant, lids: Result<Assignment, RouteError>) {
        match lids {
            Ok(assignment) => {
                let before = Arc::clone(self.plan.topology());
                self.take_lids(assignment);
                let at = Situation::new(&self.config, &self.subnet, &self.plan);
                self.changed.note(at, &before);
            }
            Err(error) => {
                self.note_error();
                self.events.push_back(Event::LidsExhausted(error));
            }
        }
        self.start_stage(now, Stage::Detour);
    }
}
