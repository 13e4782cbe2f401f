//! Work: what takes longer than a call of an engine may, as data that the host runs where it likes.

use alloc::sync::Arc;

use ib_routing::VerifyReport;

use crate::{
    policy::routing::{RoutingResult, RoutingTask},
    reconcile::tables::{MovePlan, MoveTask},
};

/// A computation that a manager waits for: routes, their verification, or the order of their writes.
///
/// It is self-contained, so that it can run on another thread. Give its result back by
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
    /// Repairs the routes in force, or asks the engines after the first so many.
    Route(Arc<RoutingTask>, usize),
    /// Verifies what a search came to.
    Verify(Arc<RoutingTask>, Arc<ib_routing::Routes>),
    /// Orders the writes of entries that work.
    Move(Arc<MoveTask>),
}

#[derive(Debug)]
pub(crate) enum Outcome {
    Routed(RoutingResult),
    Verified(VerifyReport),
    Ordered(MovePlan),
}

impl Work {
    pub(crate) const fn new(number: u64, task: Task) -> Self {
        Self { number, task }
    }

    /// Computes the result.
    #[must_use]
    pub fn run(self) -> Done {
        Done {
            number: self.number,
            outcome: match self.task {
                Task::Route(task, tried) => Outcome::Routed(task.route(tried)),
                Task::Verify(task, routes) => Outcome::Verified(task.verify(&routes)),
                Task::Move(task) => Outcome::Ordered(task.run()),
            },
        }
    }
}

impl Done {
    /// The number of the work, and its result.
    pub(crate) fn into_parts(self) -> (u64, Outcome) {
        (self.number, self.outcome)
    }
}
