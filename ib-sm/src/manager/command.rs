//! Commands from the host while the manager runs: sweeps, new options, a new priority.
//!
//! A command only queues work. A manager in STANDBY leaves the subnet to the master and does not sweep.

use alloc::vec::Vec;
use core::time::Duration;

use ib_mad::Instant;
use ib_smp::SmState;

use super::{Conduct, Mode, SubnetManager, later};
use crate::{
    Partitions, SmConfig,
    event::{Phase, SweepCause, SweepKind},
    reconcile::Stage,
    shared::Shared,
};

impl SubnetManager {
    /// Reads the whole subnet again as soon as the running sweep is over.
    pub fn resweep(&mut self, now: Instant) {
        if !self.may_sweep() {
            return;
        }
        self.pending.everything = Some(SweepCause::Command);
        self.run(now);
    }

    /// Asks every switch whether anything changed, and reads the changes. Does nothing if a sweep is running.
    pub fn light_sweep(&mut self, now: Instant) {
        let is_idle = matches!(self.mode, Mode::Idle);
        if self.state() == SmState::MASTER && self.history.up && is_idle {
            self.begin_light_sweep(now);
            self.run(now);
        }
    }

    /// Reads the whole subnet again and computes all routes anew, including those that are still valid.
    pub fn reroute(&mut self, now: Instant) {
        self.history.reroute = true;
        self.resweep(now);
    }

    /// Changes the priority in the election. The master takes it into account at its next sweep.
    pub fn set_priority(&mut self, now: Instant, priority: u8) {
        self.config.sm_priority = priority.min(15);
        self.election.set_priority(self.config.sm_priority);
        self.resweep(now);
    }

    /// Applies new options, then reads the whole subnet again so that all of them take effect.
    ///
    /// Returns the names of the changed options that need a restart; they keep their present values.
    pub fn reconfigure(&mut self, now: Instant, config: SmConfig) -> Vec<&'static str> {
        let mut config = config;
        let names = config.keep_fixed(&self.config);
        let routes_differ = config.routing_engines != self.config.routing_engines
            || config.no_fallback != self.config.no_fallback
            || config.route_options != self.config.route_options
            || config.route_tables != self.config.route_tables;
        self.history.reroute |= routes_differ;
        self.election.set_priority(config.sm_priority);
        self.election
            .set_rules(config.sm_key, config.ignore_other_sm);
        self.config = Shared::new(config);
        self.resweep(now);
        names
    }

    /// Changes when the manager sweeps without a command: at intervals (`None`: it does not), and after traps. The running
    /// sweep and the state of the subnet stay as they are. The next [`reconfigure`](Self::reconfigure) overrides both.
    pub fn set_sweeping(&mut self, now: Instant, interval: Option<Duration>, on_trap: bool) {
        self.config.sweep_interval = interval;
        self.config.sweep_on_trap = on_trap;
        // A sweep that failed is tried again soon, whatever the interval is.
        if matches!(self.mode, Mode::Idle) && self.history.up {
            self.next_sweep = interval.map(|wait| later(now, wait));
        }
    }

    /// Replaces the partitions of a running manager. Ports whose keys differ get their tables at once, without a walk of the
    /// subnet; groups of new partitions are created and those of old ones end. The next
    /// [`reconfigure`](Self::reconfigure) overrides this.
    ///
    /// While a sweep is running, or before the first one has succeeded, a sweep of everything follows instead. A standby only
    /// remembers the partitions.
    pub fn set_partitions(&mut self, now: Instant, partitions: Partitions) {
        self.config.partitions = partitions;
        let is_idle = matches!(self.mode, Mode::Idle)
            && self.history.up
            && self.window.is_empty()
            && self.pending.everything.is_none()
            && self.pending.marked.is_empty();
        let writes = self.state() == SmState::MASTER && self.conduct == Conduct::Manage;
        if !is_idle || !writes {
            return self.resweep(now);
        }
        self.begin(now, SweepCause::Command, SweepKind::Partial);
        self.enter_phase(now, Phase::Program);
        self.start_stage(now, Stage::Partitions);
        self.run(now);
    }

    /// Returns true if this manager sweeps: it is the master, or may become it.
    fn may_sweep(&self) -> bool {
        matches!(self.state(), SmState::MASTER | SmState::DISCOVERING)
    }
}
