//! Work: computations that take longer than one call of an engine may, as data that the host runs where it likes.

use alloc::{boxed::Box, sync::Arc};

use ib_routing::{
    VerifyReport,
    verify::{LostPaths, PathCounts},
};

use crate::{
    decision::{Decided, Decision},
    plan::InstalledRoutes,
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
    /// Verifies the result of a search for routes, which may be a repair that found these lost paths.
    Verify(
        Arc<RoutingTask>,
        Arc<ib_routing::Routes>,
        Option<Arc<LostPaths>>,
    ),
    /// Determines the order in which working entries are moved.
    Move(Arc<MoveTask>),
    /// Makes a decision about the whole subnet.
    Decide(Arc<Decision>),
    /// Counts the paths of the routes in force, so that a repair of them is verified quickly.
    Count(Box<InstalledRoutes>),
}

#[derive(Debug)]
pub(crate) enum Outcome {
    Routed(RoutingResult),
    Verified(VerifyReport, Option<Arc<PathCounts>>),
    Ordered(MovePlan),
    Decided(Decided),
    /// The path counts of the routes of a version.
    Counted(u64, Option<Arc<PathCounts>>),
}

impl Work {
    pub(crate) const fn new(number: u64, task: Task) -> Self {
        Self { number, task }
    }

    /// Returns true if the manager does not wait for the result, so that a host should take other work meanwhile.
    #[must_use]
    pub const fn is_in_background(&self) -> bool {
        matches!(self.task, Task::Count(_))
    }

    /// Runs the work and returns its result.
    #[must_use]
    pub fn run(self) -> Done {
        Done {
            number: self.number,
            outcome: match self.task {
                Task::Route(task, tried) => Outcome::Routed(task.route(tried)),
                Task::Verify(task, routes, lost) => {
                    let (report, counts) = task.verify_repair(&routes, lost.as_deref());
                    Outcome::Verified(report, counts)
                }
                Task::Move(task) => Outcome::Ordered(task.run()),
                Task::Decide(decision) => Outcome::Decided(decision.run()),
                Task::Count(installed) => {
                    Outcome::Counted(installed.version(), installed.count().map(Arc::new))
                }
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
