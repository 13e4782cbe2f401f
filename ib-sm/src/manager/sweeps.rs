//! The begin and the end of a sweep, and its phases.

use alloc::boxed::Box;

use ib_mad::Instant;
use ib_subnet::Walk;

use super::{
    Changed, Mode, Purpose, QUICK_RETRIES, SubnetManager, SweepRecord, TableUpdate, later,
};
use crate::event::{Event, Phase, SweepCause, SweepKind};

impl SubnetManager {
    /// Begins a sweep over everything.
    pub(super) fn begin_sweep(&mut self, now: Instant, cause: SweepCause) {
        let options = self.walk_options();
        self.pending.everything = None;
        self.pending.marked.clear();
        self.others.clear();
        self.begin(now, cause, SweepKind::Heavy);
        self.mode = Mode::Observing(Box::new(Walk::everything(&mut self.subnet, options)));
    }

    pub(super) fn begin(&mut self, now: Instant, cause: SweepCause, kind: SweepKind) {
        // The requests in flight belong to a sweep that ends here.
        self.window
            .retain(|purpose| matches!(purpose, Purpose::Peer(_)));
        self.keep_unwritten_alias_guids();
        self.next_sweep = None;
        self.tables = TableUpdate::default();
        if kind == SweepKind::Heavy {
            self.plan.set_settled(None);
        }
        self.sweep = SweepRecord::new(now, self.mads());
        self.events.push_back(Event::SweepStarted { kind, cause });
        self.events.push_back(Event::PhaseStarted(Phase::Discover));
    }

    /// Begins the sweep that was requested meanwhile, if any. Returns whether there was one.
    pub(super) fn begin_pending(&mut self, now: Instant) -> bool {
        if let Some(cause) = self.pending.everything {
            self.begin_sweep(now, cause);
            return true;
        }
        if self.pending.marked.is_empty() {
            return false;
        }
        if self.reads_parts() {
            self.begin_partial_sweep(now, SweepCause::Trap);
        } else {
            self.begin_sweep(now, SweepCause::Trap);
        }
        true
    }

    /// Enters the next phase and records the duration of the previous one.
    pub(super) fn enter_phase(&mut self, now: Instant, phase: Phase) {
        let before = core::mem::replace(&mut self.sweep.phase, phase);
        if before != phase {
            self.close_phase(now, before);
            self.events.push_back(Event::PhaseStarted(phase));
        }
    }

    pub(super) fn close_phase(&mut self, now: Instant, phase: Phase) {
        let took = now.since(self.sweep.phase_started);
        self.sweep.summary.phases.add(phase, took);
        self.sweep.phase_started = now;
    }

    pub(super) fn note_error(&mut self) {
        self.sweep.summary.errors = self.sweep.summary.errors.saturating_add(1);
    }

    pub(super) fn end_sweep(&mut self, now: Instant) {
        self.close_phase(now, self.sweep.phase);
        self.mode = Mode::Idle;
        let fabric = self.plan.topology().counts();
        let mads = self.mads().since(self.sweep.mads_before);
        let ports = self.report_port_states();
        let engine = self.engine();
        let summary = &mut self.sweep.summary;
        summary.fabric = fabric;
        summary.engine = engine;
        summary.ports = ports;
        summary.mads = mads;
        self.serve_what_was_found();
        self.history.swept = true;
        self.summary = self.sweep.summary.clone();
        let summary = Box::new(self.summary.clone());
        let failed = summary.errors > 0;
        self.history.up = !failed;
        let settled = self.sweep.settled.take();
        if failed {
            self.plan.set_settled(None);
        } else if settled.is_some() {
            self.plan.set_settled(settled);
        }
        // One node that refuses a Set must not deprive all others of the administrator.
        self.history.served |= self.plan.installed().is_some();
        self.next_sweep = self.config.sweep_interval.map(|wait| later(now, wait));
        if failed {
            if let Some(left) = self.history.quick_retries_left.checked_sub(1) {
                self.history.quick_retries_left = left;
                self.next_sweep = Some(now);
            }
            self.name_out_of_reach();
            self.events.push_back(Event::SweepFailed(summary));
        } else {
            self.history.quick_retries_left = QUICK_RETRIES;
            self.changed = Changed::default();
            self.begin_sharing(now);
            let goes_on = self.goes_on_further();
            self.name_out_of_reach();
            if !goes_on {
                self.events.push_back(Event::SubnetUp(summary));
            }
        }
    }
}
