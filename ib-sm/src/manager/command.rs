//! Commands of the host while the manager runs: sweeps, other options, another priority.
//!
//! A command only queues work. A manager in STANDBY leaves the subnet to the master and does not sweep.

use alloc::vec::Vec;

use ib_mad::Instant;
use ib_smp::SmState;

use super::{Mode, SubnetManager};
use crate::{SmConfig, event::SweepCause};

impl SubnetManager {
    /// Reads the whole subnet again, as soon as the present sweep is over.
    pub fn resweep(&mut self, now: Instant) {
        if !self.may_sweep() {
            return;
        }
        self.pending.everything = Some(SweepCause::Command);
        self.run(now);
    }

    /// Asks every switch whether anything changed, unless a sweep is running; changes are read then.
    pub fn light_sweep(&mut self, now: Instant) {
        let is_idle = matches!(self.mode, Mode::Idle);
        if self.state() == SmState::MASTER && self.history.up && is_idle {
            self.begin_light_sweep(now);
            self.run(now);
        }
    }

    /// Reads the whole subnet again and computes all routes anew, those that still hold as well.
    pub fn reroute(&mut self, now: Instant) {
        self.history.reroute = true;
        self.resweep(now);
    }

    /// Changes the priority in the election. It counts from the next sweep of the master on.
    pub fn set_priority(&mut self, now: Instant, priority: u8) {
        self.config.sm_priority = priority.min(15);
        self.election.set_priority(self.config.sm_priority);
        self.resweep(now);
    }

    /// Takes over other options, then reads the whole subnet again so that all of them are in effect.
    ///
    /// Returns the names of the options that differ and need a restart: the ones in effect stay.
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
        self.config = config;
        self.resweep(now);
        names
    }

    /// Whether this manager is one that discovers: the master, or one that may become it.
    fn may_sweep(&self) -> bool {
        matches!(self.state(), SmState::MASTER | SmState::DISCOVERING)
    }
}
