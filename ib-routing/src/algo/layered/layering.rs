//! Lanes for chosen trees, in the order of the trees.
//!
//! The paths between CAs come first. Paths from a switch without CAs join those of their tree where that needs no new
//! dependency; where they cannot, they get their lanes when all other trees have theirs. Several threads
//! [forecast](Lanes::forecast) the lanes of many trees side by side.

use alloc::vec::Vec;
use core::mem;

use super::{Layers, Run, limits::Limits};
use crate::{
    algo::{
        balance::Balance,
        lanes::{Forecast, ForecastSpace, Lanes},
        parallel::{self, Spaces},
        shortest_path_dag::Tree,
        tree_lanes::TreeLanes,
    },
    index::SwitchIdx,
};

/// Trees that a thread forecasts before the first of them gets its lanes.
const BATCH: usize = 64;

/// The switches whose paths shall get lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// Those with CAs; those of others may join.
    Cas,
    /// Those without.
    Switches,
    All,
}

/// A tree whose paths shall get lanes.
#[derive(Clone, Copy, Debug)]
struct Job {
    number: usize,
    from: From,
}

/// The jobs to give lanes to paths of these trees.
fn jobs(from: From, trees: impl Iterator<Item = usize>) -> Vec<Job> {
    trees.map(|number| Job { number, from }).collect()
}

/// A tree, and the forecast of its lanes.
struct Work {
    job: Job,
    tree: Tree,
    forecast: Forecast,
}

/// Gives lanes to the trees of a balance.
pub(super) struct Layering<'a> {
    run: &'a Run<'a>,
    balance: &'a Balance<'a>,
    limits: &'a Limits,
    lanes: Lanes<'a>,
    lanes_of_trees: TreeLanes,
    /// Trees in which a switch without CAs has no lane yet.
    open: Vec<usize>,
}

impl<'a> Layering<'a> {
    pub(super) fn new(run: &'a Run<'a>, balance: &'a Balance<'a>, limits: &'a Limits) -> Self {
        Self {
            run,
            balance,
            limits,
            lanes: run.lanes(),
            lanes_of_trees: TreeLanes::new(run.demands.trees.len()),
            open: Vec::new(),
        }
    }

    /// The lanes of all paths; `None` if the lanes do not suffice, or if the result becomes needless.
    pub(super) fn layer(mut self) -> Option<Layers> {
        let (run, trees) = (self.run, self.run.demands.trees.iter().enumerate());
        let (to_cas, others): (Vec<_>, Vec<_>) = trees.partition(|(_, demand)| demand.is_to_cas);
        let numbers = |trees: Vec<(usize, _)>| trees.into_iter().map(|(number, _)| number);
        self.layer_all(&jobs(From::Cas, numbers(to_cas)))?;
        let of_cas = self.lanes.used();
        self.layer_all(&jobs(From::All, numbers(others)))?;
        let open = mem::take(&mut self.open);
        self.layer_all(&jobs(From::Switches, open.into_iter()))?;
        let used = self.lanes.used();
        Some(Layers {
            counted: if run.config.with_switches {
                used
            } else {
                of_cas
            },
            used,
            of_trees: self.lanes_of_trees,
        })
    }

    /// Gives lanes to trees, one after the other; `None` as for [`layer`](Self::layer).
    fn layer_all(&mut self, mut jobs: &[Job]) -> Option<()> {
        let switches = self.run.fabric.num_switches();
        let workers = parallel::workers(self.run.threads, jobs.len());
        // Threads that look at other strategies do not help.
        let has_help = workers > self.run.num_side_by_side();
        let mut spaces = Spaces::new(workers, |_| Space {
            forecast: ForecastSpace::new(switches),
            senders: Senders::default(),
        });
        let (mut tree, mut senders) = (Tree::default(), Senders::default());
        let mut batch: Vec<Work> = Vec::new();
        // A forecast fails if a dependency that it assumed is refused. While that is likely, it is not worth its time.
        let mut is_likely = true;
        while !jobs.is_empty() {
            let count = if is_likely { BATCH } else { BATCH * workers };
            let (now, later) = jobs.split_at(count.min(jobs.len()));
            jobs = later;
            let mut refused = 0;
            if is_likely {
                for &job in now {
                    self.balance.read(job.number, &mut tree);
                    let before = self.lanes.refusals();
                    self.layer_tree(job, &tree, senders.of(self.run, job))?;
                    refused += usize::from(self.lanes.refusals() > before);
                }
            } else {
                refused = self.layer_batch(now, &mut batch, &mut spaces, &mut senders)?;
            }
            is_likely = !has_help || refused * 8 > now.len();
        }
        Some(())
    }

    /// Gives lanes to some trees by forecasts. Returns the number of forecasts that did not come true.
    fn layer_batch(
        &mut self,
        jobs: &[Job],
        batch: &mut Vec<Work>,
        spaces: &mut Spaces<Space>,
        senders: &mut Senders,
    ) -> Option<usize> {
        batch.truncate(jobs.len());
        for (work, &job) in batch.iter_mut().zip(jobs) {
            work.job = job;
        }
        let more = jobs.get(batch.len()..).unwrap_or_default().iter();
        batch.extend(more.map(|&job| Work {
            job,
            tree: Tree::default(),
            forecast: Forecast::default(),
        }));
        let (run, balance, lanes) = (self.run, self.balance, &self.lanes);
        let mut nothing = alloc::vec![(); jobs.len()];
        parallel::rows_with(
            run.threads,
            batch,
            &mut nothing,
            1,
            spaces,
            |space, work, _| {
                let Work {
                    job,
                    tree,
                    forecast,
                } = work;
                balance.read(job.number, tree);
                let joins = job.from == From::Cas;
                let senders = space.senders.of(run, *job);
                lanes.forecast(tree, senders, joins, &mut space.forecast, forecast);
            },
        );
        let mut failed = 0;
        for work in &*batch {
            let (job, tree) = (work.job, &work.tree);
            let Some(fits) = self.lanes.confirm(&work.forecast) else {
                failed += 1;
                self.layer_tree(job, tree, senders.of(run, job))?;
                continue;
            };
            self.check(job, fits)?;
            if job.from == From::Cas && !self.lanes.join_by(&work.forecast, tree) {
                self.open.push(job.number);
            }
            self.lanes_of_trees.note(job.number, self.lanes.of_tree());
        }
        Some(failed)
    }

    /// Gives lanes to one tree.
    fn layer_tree(&mut self, job: Job, tree: &Tree, senders: &[SwitchIdx]) -> Option<()> {
        if self.limits.is_needless() {
            return None;
        }
        let fits = self.lanes.layer(tree, senders);
        self.check(job, fits)?;
        if job.from == From::Cas && !self.lanes.join(tree) {
            self.open.push(job.number);
        }
        self.lanes_of_trees.note(job.number, self.lanes.of_tree());
        Some(())
    }

    /// Returns `None` if lanes do not suffice for paths that must fit.
    ///
    /// Traffic from and to switches, which is little, shares the first lane if the lanes do not suffice: the routes still
    /// arrive, and the verification names the cycle.
    fn check(&self, job: Job, fits: Result<(), usize>) -> Option<()> {
        let must_fit = job.from == From::Cas || self.run.config.with_switches;
        (fits.is_ok() || !must_fit).then_some(())
    }
}

/// The switches of a tree whose paths shall get lanes. Trees with the same target have the same.
#[derive(Default)]
struct Senders {
    of: Option<(SwitchIdx, From)>,
    list: Vec<SwitchIdx>,
}

impl Senders {
    /// Those of a tree, the nearest first.
    fn of(&mut self, run: &Run<'_>, job: Job) -> &[SwitchIdx] {
        let Some(demand) = run.demands.trees.get(job.number) else {
            return &[];
        };
        let of = Some((demand.target, job.from));
        if self.of != of {
            let sends = |switch: &SwitchIdx| match job.from {
                From::Cas => run.demands.senders[*switch] > 0,
                From::Switches => run.demands.senders[*switch] == 0,
                From::All => true,
            };
            self.of = of;
            self.list.clear();
            self.list
                .extend(run.dag.towards(demand.target).switches().filter(sends));
        }
        &self.list
    }
}

/// Room in which a thread makes forecasts.
struct Space {
    forecast: ForecastSpace,
    senders: Senders,
}
