//! The stages of the changes: their order, their writes, and the evaluation of the answers.

use alloc::{boxed::Box, vec::Vec};
use core::time::Duration;

use ib_mad::{Attribute as _, Instant, Mad};
use ib_smp::{
    GuidInfo, MlnxExtPortInfo, PortInfo, PortState, SlToVlMappingTable, SmState, SmpDirected,
};
use ib_subnet::{Block, PortId, Unresponsive};
use ib_wire::Guid;

use super::{Conduct, DetourState, Mode, SubnetManager, later, next_stage};
use crate::{
    apply::{self, Apply, StageRequest},
    decision::{Question, StageSteps},
    event::{Event, SweepCause},
    plan::Detours,
    policy::{
        alias_guids, lanes, links,
        multicast::{self, Scope},
        settled::Settled,
        switches,
    },
    reconcile::{
        self, Change, Stage, Step,
        tables::{self, TableUpdate},
    },
};

/// The least time between two writes of trees after hosts joined or left groups. What changes meanwhile is written
/// together, so that many joins cost few datagrams; a single one waits for nothing.
const BETWEEN_GROUP_CHANGES: Duration = Duration::from_millis(1);

impl SubnetManager {
    /// Begins a stage.
    pub(super) fn start_stage(&mut self, now: Instant, stage: Stage) {
        match stage {
            Stage::Detour => return self.lead_round(now, self.detours_from),
            Stage::Heal => return self.heal(now),
            Stage::Tables => self.expect_tables(),
            Stage::Lanes => self.plan_trees(Scope::All),
            // The first of the stages that examine the ports.
            Stage::Partitions if self.conduct != Conduct::Observe => {
                let settled = Settled::new(self.situation(), self.config.share());
                self.sweep.settled = Some(settled);
            }
            Stage::GroupLanes => {
                self.plan_trees(Scope::Changed);
                if !lanes::are_managed(self.situation()) {
                    return self.start_stage(now, Stage::Groups);
                }
            }
            _ => {}
        }
        self.decide(now, Question::Steps(stage));
    }

    /// Prepares the observed tables of switches that have just been started for the routes in force.
    fn expect_tables(&mut self) {
        let Some(installed) = self.plan.installed() else {
            return;
        };
        let index = installed.topology().index();
        let switches: Vec<_> = self.subnet.switches().map(|(node, _)| node).collect();
        for node in switches {
            let row = index.switch(node);
            if let Some(row) = row.and_then(|row| installed.routes().shared_lft(row)) {
                self.subnet.expect_lft(node, row);
            }
        }
    }

    /// Begins to write the steps of a stage.
    pub(super) fn on_steps(&mut self, found: StageSteps) {
        let StageSteps {
            stage,
            steps,
            unwritable,
            confirmed,
        } = found;
        if let Some(version) = confirmed {
            self.plan.confirm_topology(version);
        }
        for reconcile::Unwritable { at } in unwritable {
            self.note_error();
            let at = self.subnet.port_at(at);
            self.events.push_back(Event::PKeyTableFull { at });
        }
        self.mode = Mode::Applying(Apply::of_steps(stage, steps));
        if self.conduct == Conduct::Observe {
            self.report_changes();
        }
    }

    /// Ends a stage: its changes are answered or given up.
    pub(super) fn end_stage(&mut self, now: Instant) {
        let Mode::Applying(apply) = &self.mode else {
            return;
        };
        let stage = apply.stage();
        if stage == Stage::AliasGuids {
            self.keep_unwritten_alias_guids();
        }
        self.after(now, stage);
    }

    /// Continues after a stage.
    fn after(&mut self, now: Instant, stage: Stage) {
        match stage {
            Stage::LanesAhead => self.write_healing(),
            Stage::Detour => {
                self.plan.set_detours(Default::default());
                match self.sweep.detours {
                    DetourState::Unrepairable => self.plan_routes(now),
                    DetourState::NotNeeded | DetourState::Written => {
                        self.start_stage(now, Stage::Addresses);
                    }
                }
            }
            Stage::Addresses => self.plan_routes(now),
            Stage::Tables if self.tables.is_live() => self.start_stage(now, Stage::LowerTops),
            Stage::Activate if self.history.provisional => self.improve_routes(now),
            Stage::Activate if self.tables.is_live() => self.plan_remaining_moves(now),
            Stage::Move if self.tables.has_more() => {
                self.tables.drop_waiting();
                if self.tables.must_settle() {
                    let wait = tables::packet_lifetime(self.situation());
                    self.mode = Mode::Settling(later(now, wait));
                } else {
                    self.write_next_stage_of_entries(now);
                }
            }
            Stage::LowerTops => self.end_sweep(now),
            Stage::Groups if !self.plan.regroup().moves_top() => self.end_regroup(now),
            Stage::GroupTops => self.end_regroup(now),
            Stage::LaneTables => {
                self.mode = Mode::Idle;
                self.sa.end_lane_tables(now, &self.subnet);
            }
            _ => match next_stage(stage) {
                Some(next) => self.start_stage(now, next),
                None => self.mode = Mode::Idle,
            },
        }
    }

    /// Leads entries that a failure broke over neighbours, if computing new routes takes longer: in a subnet whose tables
    /// have `from` entries or more.
    pub(super) fn lead_round(&mut self, now: Instant, from: usize) {
        if self.conduct == Conduct::Observe || self.plan.installed().is_none() {
            return self.after(now, Stage::Detour);
        }
        let is_requested = from == 0;
        let question = Question::Detour {
            changed: self.changed.clone(),
            from,
            repairs: self.config.use_ucast_cache && !self.history.reroute && !is_requested,
        };
        self.decide(now, question);
    }

    /// Begins to write detours, if there are any.
    pub(super) fn on_detour(&mut self, now: Instant, detour: Option<Box<(TableUpdate, Detours)>>) {
        let Some((update, detours)) = detour.map(|detour| *detour) else {
            return self.after(now, Stage::Detour);
        };
        self.plan.set_detours(detours);
        if self.sweep.detours == DetourState::NotNeeded {
            self.sweep.detours = DetourState::Written;
        }
        self.begin_healing(update);
    }

    /// Writes the entries that heal what a failure broke.
    fn heal(&mut self, now: Instant) {
        if self.conduct == Conduct::Observe {
            return self.on_healing(now, None);
        }
        let changed = self.changed.clone();
        self.decide(now, Question::Heal { changed });
    }

    /// Begins to write what heals, or all tables if none carries traffic.
    pub(super) fn on_healing(&mut self, now: Instant, healing: Option<Box<TableUpdate>>) {
        match healing {
            Some(update) => self.begin_healing(*update),
            None => {
                self.tables = TableUpdate::default();
                self.start_stage(now, Stage::Tables);
            }
        }
    }

    /// Begins to write detours or what heals. SLtoVL tables come first: a packet must not pass a pair of ports
    /// whose table was never written.
    fn begin_healing(&mut self, mut update: TableUpdate) {
        let entries = update.num_broken();
        if entries > 0 {
            self.events.push_back(Event::TablesHealed { entries });
        }
        let lanes = update.take_lanes();
        self.tables = update;
        if lanes.is_empty() {
            self.write_healing();
        } else {
            self.mode = Mode::Applying(Apply::of_steps(Stage::LanesAhead, lanes.into()));
        }
    }

    fn write_healing(&mut self) {
        let stage = match self.plan.has_detours() {
            true => Stage::Detour,
            false => Stage::Heal,
        };
        let mut apply = Apply::of_writes(stage, self.tables.first_healing());
        apply.push_steps(reconcile::steps(self.situation(), stage, &mut Vec::new()));
        self.mode = Mode::Applying(apply);
    }

    /// Begins to determine the order of the working entries that are to be moved.
    fn plan_remaining_moves(&mut self, now: Instant) {
        match self.tables.take_old() {
            Some((old, healing)) => self.plan_moves(now, old, healing),
            None => self.start_stage(now, Stage::Tables),
        }
    }

    /// Writes the next stage of the working entries that are moved, if there is one.
    pub(super) fn write_next_stage_of_entries(&mut self, now: Instant) {
        if !self.tables.has_more() {
            return self.start_stage(now, Stage::Tables);
        }
        let writes = self.tables.next_stage();
        self.mode = Mode::Applying(Apply::of_writes(Stage::Move, writes));
    }

    /// Computes the multicast trees of the groups that changed, and in a sweep those that lost a cable.
    fn plan_trees(&mut self, scope: Scope) {
        let known = self.plan.without_multicast().cloned();
        let known = known.filter(|_| scope == Scope::Changed);
        let without = known.unwrap_or_else(|| {
            let without = multicast::without_multicast(self.situation());
            self.plan.set_without_multicast(without.clone());
            without
        });
        let changes = multicast::trees(self.situation(), self.sa.groups(), scope, without);
        match scope {
            Scope::All => self.plan.set_trees(changes.trees),
            Scope::Changed => self.plan.change_trees(changes.trees),
        }
        self.sa.groups_mut().settle();
        for (mgid, port_guid) in changes.cut_off {
            let event = Event::MulticastCutOff { mgid, port_guid };
            self.events.push_back(event);
        }
        if scope == Scope::All || !self.plan.regroup().new_blocks().is_empty() {
            self.report_small_tables(switches::small_multicast_tables(self.situation()));
        }
    }

    /// Reports the changes of the present stage instead of making them.
    fn report_changes(&mut self) {
        let Mode::Applying(apply) = &mut self.mode else {
            return;
        };
        let stage = apply.stage();
        let blocks = apply.take_sets();
        for block in blocks {
            let at = self.situation();
            if let Some(to) = reconcile::desired(at, stage, block) {
                let change = Change {
                    at: self.subnet.port_at(block.port),
                    attribute_id: block.attribute,
                    attribute_modifier: block.modifier,
                    from: self.subnet.block(block),
                    to,
                    stage,
                };
                self.events
                    .push_back(Event::ChangePlanned(alloc::boxed::Box::new(change)));
            }
        }
    }

    /// Writes the trees of groups that changed, or alias GUIDs that hosts requested, or reads tables that hosts asked
    /// for, if this manager is the master. Returns whether there is something to do.
    pub(super) fn begin_small_stage(&mut self, now: Instant) -> bool {
        if !self.writes_small_stages() {
            return false;
        }
        if self.groups_due().is_some_and(|due| due <= now) {
            self.sweep.summary.errors = 0;
            self.start_stage(now, Stage::GroupLanes);
            return true;
        }
        if !self.sa.alias_guids().have_unwritten() {
            return self.begin_lane_tables();
        }
        let mut ready = Vec::new();
        for (guid, block, content) in self.sa.alias_guids_mut().take_unwritten() {
            // A port that is gone gets its alias GUIDs when it comes back.
            let Some(port) = self.subnet.find_port(guid) else {
                continue;
            };
            let request = StageRequest::AliasGuids(port, block);
            if apply::datagram(self.situation(), request, content.as_bytes()).is_some() {
                ready.push(((port, block), content));
            } else {
                // A port that cannot be asked now gets them after the sweep that finds it again.
                self.sa.alias_guids_mut().write_again(guid, block);
            }
        }
        if ready.is_empty() {
            return self.begin_lane_tables();
        }
        self.mode = Mode::Applying(Apply::of_alias_guids(ready));
        true
    }

    /// Returns true if the manager writes what hosts ask for between two sweeps.
    fn writes_small_stages(&self) -> bool {
        self.history.served && self.state() == SmState::MASTER && self.conduct != Conduct::Observe
    }

    /// The time from which the trees of groups that changed may be written; `None` if no group has changed.
    pub(super) fn groups_due(&self) -> Option<Instant> {
        let are_due = self.writes_small_stages() && self.sa.groups().have_changed();
        are_due.then_some(self.history.groups_from)
    }

    /// Begins to read SLtoVL and VL arbitration tables that queries named. Returns whether there are any.
    fn begin_lane_tables(&mut self) -> bool {
        let blocks = self.sa.lane_tables_mut().take_part();
        if blocks.is_empty() {
            return false;
        }
        let steps = blocks.into_iter().map(Step::Read).collect();
        self.mode = Mode::Applying(Apply::of_steps(Stage::LaneTables, steps));
        true
    }

    fn end_regroup(&mut self, now: Instant) {
        self.mode = Mode::Idle;
        self.history.groups_from = later(now, BETWEEN_GROUP_CHANGES);
        if self.sweep.summary.errors > 0 && self.pending.everything.is_none() {
            self.pending.everything = Some(SweepCause::Retry);
        }
    }

    /// Returns alias GUIDs that no port has confirmed to the administrator, which has them written again.
    pub(super) fn keep_unwritten_alias_guids(&mut self) {
        let Mode::Applying(apply) = &self.mode else {
            return;
        };
        for (port, block) in apply.unconfirmed_alias_guids() {
            if let Some(port) = self.subnet.port(port) {
                self.sa.alias_guids_mut().write_again(port.guid(), block);
            }
        }
    }

    /// The answer to a request whose data were `sent`.
    pub(super) fn on_apply_answer(&mut self, request: StageRequest, sent: &[u8; 64], mad: &Mad) {
        let Ok((smp, _)) = SmpDirected::parse(&mad.bytes, 0) else {
            return;
        };
        let block = request.block();
        let data = smp.smp_data();
        let is_ok = smp.status().is_ok() && smp.attribute_id() == block.attribute;
        if is_ok && self.take_in_answer(request, block, sent, data) {
            return;
        }
        let is_suppressed = self.config.suppress_sl2vl_mad_status_errors
            && block.attribute == SlToVlMappingTable::ID;
        // A query finds no record of a table that a device does not give.
        let is_asked_for = matches!(
            &self.mode,
            Mode::Applying(apply) if apply.stage() == Stage::LaneTables
        );
        // A device that lacks the vendor's attribute keeps its speed.
        if is_suppressed || is_asked_for || block.attribute == MlnxExtPortInfo::ID {
            return;
        }
        // A refused block is not sent again and again: it is written when its port appears anew.
        if let (StageRequest::AliasGuids(port, number), Mode::Applying(apply)) =
            (request, &mut self.mode)
        {
            let _ = apply.confirm_alias_guids(port, number);
        }
        self.note_error();
        self.events.push_back(Event::Refused {
            at: Some(self.subnet.port_at(block.port)),
            attribute_id: block.attribute,
            status: smp.status(),
        });
    }

    /// Records a device's answer. Returns whether it shows the requested values.
    fn take_in_answer(
        &mut self,
        request: StageRequest,
        block: Block,
        sent: &[u8; 64],
        data: &[u8; 64],
    ) -> bool {
        let Mode::Applying(apply) = &self.mode else {
            // The stage ended meanwhile: a port can be disabled between sweeps.
            apply::record(&mut self.subnet, request, data);
            return true;
        };
        let stage = apply.stage();
        let is_done = match request {
            StageRequest::Read(_) | StageRequest::AliasGuids(..) => true,
            _ => reconcile::is_done(block.attribute, sent, data),
        };
        if let StageRequest::AliasGuids(port, number) = request {
            return self.confirm_alias_guids(port, number, data);
        }
        apply::record(&mut self.subnet, request, data);
        self.follow_up(stage, request, block, is_done);
        is_done
    }

    /// Queues the requests that follow an answer.
    fn follow_up(&mut self, stage: Stage, request: StageRequest, block: Block, is_done: bool) {
        if block.attribute == <PortInfo as ib_mad::Attribute>::ID && is_done {
            let port = self.subnet.port(block.port);
            if port.is_some_and(|port| port.state() == PortState::ACTIVE) {
                self.subnet.set_reregistered(block.port);
            }
        }
        let differs = match request {
            StageRequest::Read(block) if stage != Stage::LaneTables => {
                let at = self.situation();
                reconcile::desired(at, stage, block) != self.subnet.block(block)
            }
            _ => false,
        };
        let next: Vec<_> = match request {
            StageRequest::Entries(write) if is_done => match stage {
                Stage::Detour | Stage::Heal => self.tables.healed(write.number),
                _ => self.tables.follow(write.block).into_iter().collect(),
            },
            _ => Vec::new(),
        };
        if let Mode::Applying(apply) = &mut self.mode {
            if differs {
                apply.push_set(block);
            }
            for write in next {
                apply.push_write(write);
            }
        }
        if differs && self.conduct == Conduct::Observe {
            self.report_changes();
        }
    }

    /// Accepts a block of alias GUIDs that a port holds; from then on the port can be found by them. Returns
    /// false if the block differs from the one that was sent.
    fn confirm_alias_guids(&mut self, port: PortId, number: u8, data: &[u8; 64]) -> bool {
        let owner = self
            .subnet
            .port(port)
            .map_or(Guid::NONE, |port| port.guid());
        let held = GuidInfo::from_bytes(*data);
        let aliases = alias_guids::in_block(&held, owner);
        self.plan.set_aliases(owner, number, aliases);
        let Mode::Applying(apply) = &mut self.mode else {
            return false;
        };
        let wanted = apply.confirm_alias_guids(port, number);
        wanted.is_some_and(|wanted| wanted == held)
    }

    pub(super) fn on_apply_failure(&mut self, request: StageRequest) {
        self.note_error();
        let block = request.block();
        // A Set without a response may have arrived nevertheless.
        if !matches!(request, StageRequest::Read(_)) {
            self.subnet.forget(block);
            self.changed.note_unanswered(block.port.node);
        }
        if !self.subnet.set_silent(block.port.node) {
            return;
        }
        let unresponsive = Unresponsive {
            at: Some(self.subnet.port_at(block.port)),
            neighbor: false,
            attribute_id: block.attribute,
        };
        self.sweep.summary.unresponsive.push(unresponsive);
        self.events.push_back(Event::Unresponsive(unresponsive));
    }

    /// Disables a port immediately.
    pub(super) fn disable(&mut self, port: PortId) {
        let request = StageRequest::Disable(port);
        let at = self.situation();
        let mad =
            links::disable(at, port).and_then(|info| apply::datagram(at, request, info.as_bytes()));
        if let Some(mad) = mad {
            let purpose = super::Purpose::Apply(request);
            // A full window drops the request; the trap that caused it is repeated.
            let _ = self.window.request(&mad, purpose);
        }
    }
}
