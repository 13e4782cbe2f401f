//! Decisions that look at the whole subnet: LIDs, the entries that a failure broke, and the differences that a stage
//! writes.
//!
//! In a large subnet one of these takes longer than a call of an engine may, so it is
//! [`Work`](crate::Work) on a snapshot of the situation.

use alloc::{boxed::Box, sync::Arc, vec::Vec};

use ib_routing::{LidPolicy, RouteError};
use ib_subnet::Subnet;

use crate::{
    SmConfig,
    plan::{Detours, Plan},
    policy::{
        Situation,
        lids::{self, Assignment},
    },
    reconcile::{
        self, Stage, Steps, Unwritable,
        tables::{self, Changed, TableUpdate},
    },
};

/// A question about the whole subnet.
#[derive(Clone, Debug)]
pub(crate) enum Question {
    /// The LIDs of all ports. With `reassign`, the present ones are not kept. `is_partial` says that only marked ports were
    /// read, so that the configuration is that of the previous decision.
    Lids {
        policy: Arc<dyn LidPolicy>,
        reassign: bool,
        is_partial: bool,
    },
    /// Entries that a failure broke, led over neighbours. `from` is the size of the subnet, in entries of all
    /// forwarding tables, from which this is worth while. `repairs` says that a repair of the routes follows, which may be
    /// as quick.
    Detour {
        changed: Changed,
        from: usize,
        repairs: bool,
    },
    /// Entries that a failure broke, by the routes in force.
    Heal { changed: Changed },
    /// The differences that a stage writes.
    Steps(Stage),
}

/// A question and the situation that it is about.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    config: Arc<SmConfig>,
    subnet: Arc<Subnet>,
    plan: Arc<Plan>,
    question: Question,
}

/// The answer to a question.
#[derive(Debug)]
pub(crate) enum Decided {
    /// The LIDs, or the reason why there are none.
    Lids(Box<Result<Assignment, RouteError>>),
    /// The writes that lead broken entries over neighbours, and their content; `None` if there are none.
    Detour(Option<Box<(TableUpdate, Detours)>>),
    /// The writes that heal broken entries; `None` if no table carries traffic.
    Heal(Option<Box<TableUpdate>>),
    /// The steps of a stage.
    Steps(StageSteps),
}

/// The steps of a stage, and what was found on the way.
#[derive(Debug)]
pub(crate) struct StageSteps {
    pub(crate) stage: Stage,
    pub(crate) steps: Steps,
    /// The content that cannot be written.
    pub(crate) unwritable: Vec<Unwritable>,
    /// The version of the subnet, if the last stage found that its topology is still the planned one. All ports change while
    /// a subnet comes up; with this version the decision after the first failure compares only what changed later.
    pub(crate) confirmed: Option<u64>,
}

impl Decision {
    pub(crate) const fn new(
        config: Arc<SmConfig>,
        subnet: Arc<Subnet>,
        plan: Arc<Plan>,
        question: Question,
    ) -> Self {
        Self {
            config,
            subnet,
            plan,
            question,
        }
    }

    /// Returns true if the changes of a trap are better read before the answer is used.
    pub(crate) const fn may_be_dropped(&self) -> bool {
        !matches!(self.question, Question::Steps(_))
    }

    pub(crate) fn run(&self) -> Decided {
        let at = Situation::new(&self.config, &self.subnet, &self.plan);
        match &self.question {
            Question::Lids {
                policy,
                reassign,
                is_partial,
            } => {
                let lids = lids::assign(at, &**policy, *reassign, *is_partial);
                Decided::Lids(Box::new(lids))
            }
            Question::Detour {
                changed,
                from,
                repairs,
            } => {
                let is_due = !(*repairs && tables::is_repaired_quickly(at));
                let detour = is_due.then(|| TableUpdate::detour(at, changed, *from));
                Decided::Detour(detour.flatten().map(Box::new))
            }
            Question::Heal { changed } => {
                Decided::Heal(TableUpdate::healing(at, changed).map(Box::new))
            }
            Question::Steps(stage) => {
                let mut unwritable = Vec::new();
                let steps = reconcile::steps(at, *stage, &mut unwritable);
                let is_last = *stage == Stage::LowerTops;
                Decided::Steps(StageSteps {
                    stage: *stage,
                    steps,
                    unwritable,
                    confirmed: is_last.then(|| lids::confirmed(at)).flatten(),
                })
            }
        }
    }
}
