//! Work: computations that take longer than one call of an engine may, as data that the host runs where it likes.

use alloc::sync::Arc;

use ib_routing::VerifyReport;

use crate::{
    decision::{Decided, Decision},
    policy::routing::{RoutingResult, RoutingTask},
    reconcile::tables::{MovePlan, MoveTask},
};

/// A computation that a manager waits for: routes, their verification, the order of their writes, and in a large
/// subnet every decision that looks at all of it.
///
/// It is self-contained, so it can run on another thread. Pass its result to
/// [`SubnetManager::handle_done`](crate::SubnetManager::handle_done).
#[derive(Debug)]
pub struct Work {
    number: u64,
    task: Task,
}

/// The result of a [`Work`].
#[derive(Debug)]
pub struct Done {
    number: u64,
    outcome: Outcome,
}

#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// Repairs the routes in force, or tries the engines after the first `tried`.
    Route(Arc<RoutingTask>, usize),
    /// Verifies the result of a search for routes.
    Verify(Arc<RoutingTask>, Arc<ib_routing::Routes>),
    /// Determines the order in which working entries are moved.
    Move(Arc<MoveTask>),
    /// Makes a decision about the whole subnet.
    Decide(Arc<Decision>),
}

#[derive(Debug)]
pub(crate) enum Outcome {
    Routed(RoutingResult),
    Verified(VerifyReport),
    Ordered(MovePlan),
    Decided(Decided),
}

impl Work {
    pub(crate) const fn new(number: u64, task: Task) -> Self {
        Self { number, task }
    }

    /// Runs the work and returns its result.
    #[must_use]
    pub fn run(self) -> Done {
        Done {
            number: self.number,
            outcome: match self.task {
                Task::Route(task, tried) => Outcome::Routed(task.route(tried)),
                Task::Verify(task, routes) => Outcome::Verified(task.verify(&routes)),
                Task::Move(task) => Outcome::Ordered(task.run()),
                Task::Decide(decision) => Outcome::Decided(decision.run()),
            },
        }
    }
}

impl Done {
    /// Takes out the number of the work and its result.
    pub(crate) fn into_parts(self) -> (u64, Outcome) {
        (self.number, self.outcome)
    }
}
