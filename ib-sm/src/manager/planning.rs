//! Planning: routes are repaired or computed, then verified, then the order of their writes is determined. Each
//! step is [`Work`], which runs in place or wherever the host runs it.

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::Vec,
};

use ib_mad::{AttributeId, Instant};
use ib_routing::{
    Routes, VerifyReport,
    update::heal::Healing,
    verify::{LostPaths, PathCounts},
};
use ib_subnet::PortId;

use super::{Conduct, DetourState, Mode, SMALL_SUBNET, SubnetManager};
use crate::{
    decision::{Decided, Decision, Question},
    event::{Event, Phase},
    plan::{InstalledRoutes, Loss},
    policy::{
        lids::Assignment,
        routing::{RoutingResult, RoutingTask},
        switches,
    },
    reconcile::{
        self, Stage,
        tables::{MovePlan, MoveTask},
    },
    work::{Done, Outcome, Task, Work},
};

/// A wait for work.
#[derive(Debug)]
pub(super) struct Planning {
    step: Awaited,
    /// Time at which the work became ready to run.
    due: Instant,
    /// True if the host has taken it.
    taken: bool,
}

/// The result that is awaited.
#[derive(Clone, Debug)]
enum Awaited {
    Route {
        task: Arc<RoutingTask>,
        tried: usize,
    },
    Verify {
        task: Arc<RoutingTask>,
        tried: usize,
        routes: Arc<Routes>,
        /// The paths that a repair found to be lost.
        lost: Option<Arc<LostPaths>>,
    },
    Move(Arc<MoveTask>),
    Decide(Arc<Decision>),
}

impl Planning {
    /// Time at which the work is to be run in place; `None` if the host has taken it.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.taken).then_some(self.due)
    }

    /// Returns true if a mark ends the wait, because the fabric has changed that the result is for.
    pub(super) fn may_be_dropped(&self) -> bool {
        match &self.step {
            Awaited::Decide(decision) => decision.may_be_dropped(),
            Awaited::Route { .. } | Awaited::Verify { .. } | Awaited::Move(_) => true,
        }
    }
}

impl SubnetManager {
    /// Lets the host take work by [`poll_work`](Self::poll_work); from now on it is not run in place any more.
    pub fn hand_out_work(&mut self) {
        self.work.handed_out = true;
    }

    /// The work that the manager waits for, handed out once; `None` if there is none or if it was taken already.
    #[must_use]
    pub fn poll_work(&mut self) -> Option<Work> {
        let planning = match &mut self.mode {
            Mode::Planning(planning) => planning,
            Mode::Idle => return self.uncounted(),
            _ => return None,
        };
        if core::mem::replace(&mut planning.taken, true) {
            return None;
        }
        self.work.number = self.work.number.wrapping_add(1);
        let task = match &planning.step {
            Awaited::Route { task, tried } => Task::Route(Arc::clone(task), *tried),
            Awaited::Verify {
                task, routes, lost, ..
            } => Task::Verify(Arc::clone(task), Arc::clone(routes), lost.clone()),
            Awaited::Move(task) => Task::Move(Arc::clone(task)),
            Awaited::Decide(decision) => Task::Decide(Arc::clone(decision)),
        };
        Some(Work::new(self.work.number, task))
    }

    /// The count of the paths of the routes in force, handed out once for each of their versions, and only to a host that
    /// takes work: it is not worth a pause.
    fn uncounted(&mut self) -> Option<Work> {
        let installed = self.plan.installed().filter(|_| self.work.handed_out)?;
        let version = installed.version();
        if installed.counts().is_some() || self.work.counted == version {
            return None;
        }
        let task = Task::Count(Box::new(installed.clone()));
        self.work.counted = version;
        self.work.number = self.work.number.wrapping_add(1);
        Some(Work::new(self.work.number, task))
    }

    /// Accepts the result of work. A result that is outdated, because the fabric has changed meanwhile, changes
    /// nothing.
    pub fn handle_done(&mut self, now: Instant, done: Done) {
        self.take_in(now, done);
        self.run(now);
    }

    /// Runs the pending work in place, unless the host takes it.
    pub(super) fn run_work_in_place(&mut self, now: Instant) {
        let is_due = match &self.mode {
            Mode::Planning(planning) => planning.due().is_some_and(|due| due <= now),
            _ => false,
        };
        if is_due
            && !self.work.handed_out
            && let Some(work) = self.poll_work()
        {
            self.take_in(now, work.run());
        }
    }

    fn take_in(&mut self, now: Instant, done: Done) {
        let (number, outcome) = match done.into_parts() {
            (_, Outcome::Counted(version, counts)) => {
                if let Some(counts) = counts {
                    self.plan.set_counts(version, counts);
                }
                return;
            }
            awaited => awaited,
        };
        let is_awaited = match &self.mode {
            Mode::Planning(planning) => planning.taken && number == self.work.number,
            _ => false,
        };
        if !is_awaited {
            return;
        }
        // The step is dropped before its result is used: a change of what it shares would make a copy.
        let Mode::Planning(Planning { step, .. }) = core::mem::replace(&mut self.mode, Mode::Idle)
        else {
            return;
        };
        match (step, outcome) {
            (Awaited::Route { task, .. }, Outcome::Routed(result)) => {
                self.on_routes(now, task, result)
            }
            (
                Awaited::Verify {
                    task,
                    tried,
                    routes,
                    lost,
                },
                Outcome::Verified(report, counts),
            ) => {
                let loss = lost.and_then(|lost| task.loss(lost));
                self.on_report(now, &task, tried, (routes, loss), (report, counts));
            }
            (Awaited::Move(_), Outcome::Ordered(plan)) => self.on_order(now, plan),
            (Awaited::Decide(decision), Outcome::Decided(decided)) => {
                drop(decision);
                self.on_decided(now, decided);
            }
            _ => {}
        }
    }

    /// Computes the answer to a question. The call itself computes it if the question concerns few nodes or the subnet
    /// is small; otherwise the host gets it as work.
    pub(super) fn decide(&mut self, now: Instant, question: Question) {
        let (config, subnet, plan) = (self.config.share(), self.subnet.share(), self.plan.share());
        let few = match question {
            Question::Steps(Stage::GroupLanes | Stage::Groups) => plan.regroup().num_switches(),
            _ => None,
        };
        let is_small = few.is_some_and(|number| number <= SMALL_SUBNET)
            || subnet.nodes().nth(SMALL_SUBNET).is_none();
        let decision = Decision::new(config, subnet, plan, question);
        if is_small {
            let decided = decision.run();
            drop(decision);
            self.on_decided(now, decided);
        } else {
            self.wait_for(now, Awaited::Decide(Arc::new(decision)));
        }
    }

    fn on_decided(&mut self, now: Instant, decided: Decided) {
        match decided {
            Decided::Lids(lids) => self.on_lids(now, *lids),
            Decided::Detour(detour) => self.on_detour(now, detour),
            Decided::Heal(healing) => self.on_healing(now, healing),
            Decided::Steps(steps) => self.on_steps(steps),
        }
    }

    /// Applies the chosen LIDs.
    pub(super) fn take_lids(&mut self, assignment: Assignment) {
        if !assignment.is_kept {
            self.assign_lids(&assignment);
        }
        self.plan.set_topology(Arc::new(assignment.topology));
        self.report_small_tables(switches::small_linear_tables(self.situation()));
    }

    fn assign_lids(&mut self, assignment: &Assignment) {
        let assigned: BTreeSet<PortId> = assignment.ports.iter().map(|&(port, ..)| port).collect();
        let stale: Vec<PortId> = self
            .subnet
            .ports()
            .filter(|(id, _, port)| port.lids().is_some() && !assigned.contains(id))
            .map(|(id, ..)| id)
            .collect();
        for port in stale {
            self.subnet.assign_lids(port, None);
        }
        for &(port, guid, lids) in &assignment.ports {
            self.subnet.assign_lids(port, Some(lids));
            let role = self.config.cluster.as_ref();
            if role.is_some_and(|role| role.lacks(guid))
                && !self.plan.remembered().contains_key(&guid)
            {
                self.events.push_back(Event::NoPredefinedLid {
                    port_guid: guid,
                    lid: lids.base(),
                });
            }
            self.plan.remember(guid, lids.base());
            let info = self.subnet.port(port).and_then(|port| port.info());
            if info.is_none_or(|info| info.lid() != lids.base()) {
                self.events.push_back(Event::LidAssigned {
                    port_guid: guid,
                    lid: lids.base(),
                });
            }
        }
        for &node_guid in &assignment.excluded {
            self.events.push_back(Event::Excluded { node_guid });
        }
    }

    pub(super) fn report_small_tables(&mut self, tables: alloc::vec::Vec<switches::SmallTable>) {
        let events = tables.into_iter().map(|table| Event::TableTooSmall {
            node_guid: table.node_guid,
            table: table.table,
            entries: table.entries,
            needed: table.needed,
        });
        self.events.extend(events);
    }

    /// Begins to repair or compute routes.
    pub(super) fn plan_routes(&mut self, now: Instant) {
        self.enter_phase(now, Phase::Route);
        let reroute = core::mem::take(&mut self.history.reroute);
        let mut task = RoutingTask::new(self.situation(), reroute);
        match self.sweep.detours {
            DetourState::NotNeeded if self.conduct == Conduct::Manage => {
                task.stop_if_unrepairable()
            }
            DetourState::NotNeeded | DetourState::Written => {}
            DetourState::Unrepairable => task.compute_anew(),
        }
        let task = Arc::new(task);
        self.wait_for(now, Awaited::Route { task, tried: 0 });
    }

    /// Begins to compute all routes anew, now that every port is served by repaired routes.
    pub(super) fn improve_routes(&mut self, now: Instant) {
        self.enter_phase(now, Phase::Route);
        let task = Arc::new(RoutingTask::new(self.situation(), true));
        self.wait_for(now, Awaited::Route { task, tried: 0 });
    }

    /// Begins to determine the order in which working entries are moved.
    pub(super) fn plan_moves(&mut self, now: Instant, old: Routes, healing: Healing) {
        let Some(installed) = self.plan.installed() else {
            return;
        };
        let task = MoveTask::new(installed, old, healing);
        self.wait_for(now, Awaited::Move(Arc::new(task)));
    }

    fn wait_for(&mut self, now: Instant, step: Awaited) {
        self.mode = Mode::Planning(Planning {
            step,
            due: now,
            taken: false,
        });
    }

    fn on_routes(&mut self, now: Instant, task: Arc<RoutingTask>, result: RoutingResult) {
        // Entries of earlier repairs still wait for the routes that are computed anew.
        self.history.provisional &= result.repaired.is_some();
        self.history.provisional |= result.is_provisional;
        if let Some(reason) = result.unrepairable {
            self.events.push_back(Event::RepairFailed(reason));
            if result.tried == 0 {
                // The engines have not been asked yet: they take longer than a repair.
                self.sweep.detours = DetourState::Unrepairable;
                return self.lead_round(now, 0);
            }
        }
        if let Some((broken, moved)) = result.repaired
            && moved > 0
        {
            self.events
                .push_back(Event::RoutesRepaired { broken, moved });
        }
        if let Some(entries) = result.differing {
            self.events.push_back(Event::RoutesKept { entries });
        }
        if let Some(reason) = result.not_kept {
            self.events.push_back(Event::RoutesReplaced { reason });
        }
        let last = result.failed.len().checked_sub(1);
        for (index, (engine, reason)) in result.failed.into_iter().enumerate() {
            let event = Event::RoutingFallback {
                engine,
                reason,
                is_last: result.routes.is_none() && Some(index) == last,
            };
            self.events.push_back(event);
        }
        self.enter_phase(now, Phase::Verify);
        let tried = result.tried;
        match (result.routes, result.report) {
            // No engine is left, so the switches keep their tables.
            (None, _) => {
                self.note_error();
                self.program(now);
            }
            (Some(routes), Some(report)) => {
                self.on_report(now, &task, tried, (routes, None), (report, None));
            }
            (Some(routes), None) => self.wait_for(
                now,
                Awaited::Verify {
                    task,
                    tried,
                    routes,
                    lost: result.lost_paths,
                },
            ),
        }
    }

    fn on_report(
        &mut self,
        now: Instant,
        task: &Arc<RoutingTask>,
        tried: usize,
        (routes, loss): (Arc<Routes>, Option<Loss>),
        (report, counts): (VerifyReport, Option<Arc<PathCounts>>),
    ) {
        let engine = routes.engine().name();
        let verdict = task.verdict(&report, tried);
        let installed = verdict.may_install();
        self.events.push_back(Event::RoutesVerified {
            engine,
            installed,
            defect: verdict.defect(),
        });
        if installed {
            let topology = Arc::clone(task.topology());
            let installed = InstalledRoutes::new(topology, routes, report, counts);
            self.plan.install(installed.after(loss));
            self.program(now);
        } else if task.has_more(tried) {
            self.enter_phase(now, Phase::Route);
            let mut task = Arc::clone(task);
            if tried == 0 {
                // These routes were repaired: to repair them again would end here again.
                Arc::make_mut(&mut task).compute_anew();
            }
            self.wait_for(now, Awaited::Route { task, tried });
        } else {
            self.note_error();
            self.program(now);
        }
    }

    /// Begins to write the decided configuration.
    fn program(&mut self, now: Instant) {
        self.enter_phase(now, Phase::Program);
        self.announce_takeover();
        self.start_stage(now, Stage::RaiseTops);
    }

    /// Reports what is about to be set in a subnet that a previous manager configured.
    fn announce_takeover(&mut self) {
        let at = self.situation();
        let mut ends = self.subnet.ports();
        let is_configured = ends.any(|(_, _, port)| port.was_active());
        let is_quiet = self.config.takeover || self.conduct == Conduct::Observe;
        if self.history.swept || !is_configured || is_quiet {
            return;
        }
        let stages = [
            Stage::RaiseTops,
            Stage::Tables,
            Stage::Lanes,
            Stage::Multicast,
            Stage::Partitions,
            Stage::Arm,
        ];
        let mut sets: BTreeMap<AttributeId, usize> = BTreeMap::new();
        for stage in stages {
            for step in reconcile::steps(at, stage, &mut Vec::new()) {
                if let reconcile::Step::Set(block) = step {
                    let count = sets.entry(block.attribute).or_default();
                    *count = count.saturating_add(1);
                }
            }
        }
        let events = sets
            .into_iter()
            .map(|(attribute_id, sets)| Event::TakeOver { attribute_id, sets });
        self.events.extend(events);
    }

    fn on_order(&mut self, now: Instant, plan: MovePlan) {
        if plan.entries > 0 {
            self.events.push_back(Event::TablesChange {
                entries: plan.entries,
                stages: plan.stages.len(),
                held_back: plan.held_back.len(),
                deadlock_free: plan.deadlock_free,
            });
        }
        self.tables.set_plan(plan);
        self.write_next_stage_of_entries(now);
    }
}
