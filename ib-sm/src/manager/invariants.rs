//! The invariants between the parts of a manager that hold between two calls.

use ib_smp::SmState;
use thiserror::Error;

use super::{MAX_ANSWERS, Mode, Purpose, SubnetManager};
use crate::{apply::StageRequest, reconcile::Stage};

/// Two parts of a manager contradict each other: a defect of this crate, never of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvariantError {
    /// A request is open, but no part waits for its answer.
    #[error("a request of a sweep is open, and the sweep is not at a step that waits for it")]
    RequestWithoutStep,
    /// A part waits, but no request is open: it would wait for ever.
    #[error("a sweep reads or writes, and no request is open")]
    StepWithoutRequest,
    /// More requests are on the wire than the window allows.
    #[error("{in_flight} requests are in flight, at most {limit} may be")]
    WindowExceeded {
        /// Number of requests on the wire.
        in_flight: u32,
        /// Maximum number that the configuration allows.
        limit: u32,
    },
    /// A sweep is reading while the timer for the next sweep runs.
    #[error("a sweep reads, and the timer for the next one runs")]
    TimerWhileObserving,
    /// A manager that is not in STANDBY polls another one.
    #[error("another manager is polled in the state {0}")]
    PollsWithoutStandby(SmState),
    /// The subnet is reported to be up although no sweep has ended.
    #[error("the subnet is up, and no sweep has ended")]
    UpWithoutSweep,
    /// Detours are kept although no stage writes them.
    #[error("entries that lead round a failure are kept beyond their stage")]
    DetoursLeft,
    /// The routes in force were computed for another fabric.
    #[error("the routes in force have {routes} switches, and their fabric has {fabric}")]
    RoutesOfAnotherFabric {
        /// Number of switches in the routes.
        routes: usize,
        /// Number of switches in the fabric.
        fabric: usize,
    },
    /// More answers are queued than the limit allows.
    #[error("{0} answers are queued, more than the limit allows")]
    TooManyAnswers(usize),
}

impl SubnetManager {
    /// Returns true if mode, window, queues and plan are consistent, as they must be between any two calls.
    ///
    /// For tests, fuzzers and hosts that check themselves. Inspects each open request once.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn check_invariants(&self) -> Result<(), InvariantError> {
        let fits = |purpose: &Purpose| match (purpose, &self.mode) {
            (Purpose::Peer(_) | Purpose::Apply(StageRequest::Disable(_)), _)
            | (Purpose::Read(_), Mode::Observing(_))
            | (Purpose::Apply(_), Mode::Applying(_)) => true,
            (Purpose::Read(_) | Purpose::Apply(_), _) => false,
        };
        if !self.window.contexts().all(fits) {
            return Err(InvariantError::RequestWithoutStep);
        }
        let waits = matches!(self.mode, Mode::Observing(_) | Mode::Applying(_));
        if waits && self.window.is_empty() {
            return Err(InvariantError::StepWithoutRequest);
        }
        let (in_flight, limit) = (self.window.in_flight(), self.max_in_flight());
        if in_flight > limit {
            return Err(InvariantError::WindowExceeded { in_flight, limit });
        }
        if matches!(self.mode, Mode::Observing(_)) && self.next_sweep.is_some() {
            return Err(InvariantError::TimerWhileObserving);
        }
        if self.polling.due().is_some() && self.state() != SmState::STANDBY {
            return Err(InvariantError::PollsWithoutStandby(self.state()));
        }
        if self.history.up && !self.history.swept {
            return Err(InvariantError::UpWithoutSweep);
        }
        let leads_round = matches!(&self.mode, Mode::Applying(apply) if matches!(apply.stage(), Stage::LanesAhead | Stage::Detour));
        if !leads_round && self.plan.has_detours() {
            return Err(InvariantError::DetoursLeft);
        }
        if let Some(installed) = self.plan.installed() {
            let routes = installed.routes().num_switches();
            let fabric = installed.topology().fabric().num_switches();
            if routes != fabric && routes != 0 {
                return Err(InvariantError::RoutesOfAnotherFabric { routes, fabric });
            }
        }
        if self.answers.len() > MAX_ANSWERS {
            return Err(InvariantError::TooManyAnswers(self.answers.len()));
        }
        Ok(())
    }

    /// Maximum number of requests on the wire.
    fn max_in_flight(&self) -> u32 {
        let config = &self.config;
        u32::try_from(config.max_wire_smps.max(config.max_wire_smps2.into()))
            .unwrap_or(u32::MAX)
            .max(4)
    }
}
