//! Lanes for chosen trees, in the order of the trees.
//!
//! The paths between CAs come first. On most networks that are not direct they all fit the first lane: then it gets their
//! dependencies at once, and with them those of paths from switches without CAs, as far as these agree with its order.
//! Otherwise each tree gets its lanes after the one before, and several threads [forecast](Lanes::forecast) the lanes of many
//! trees side by side. Paths from switches without CAs that have no lane then get one when all other trees have theirs.

use alloc::vec::Vec;

use super::{Layers, Run, limits::Limits};
use crate::{
    algo::{
        balance::Balance,
        demands::Demand,
        lanes::{Forecast, ForecastSpace, Lanes},
        parallel::{self, Spaces},
        shortest_path_dag::Tree,
        tree_dependencies::{DependencySets, TreeDependencies},
        tree_lanes::TreeLanes,
    },
    index::SwitchIdx,
};

/// Trees that a thread forecasts before the first of them gets its lanes.
const BATCH: usize = 64;

/// The switches whose paths shall get lanes.
#[derive(Clone, Copy, Debug)]
enum From<'a> {
    /// Those with CAs.
    Cas,
    /// Those without.
    Others,
    All,
    /// These, the nearest first.
    Only(&'a [SwitchIdx]),
}

/// A tree whose paths shall get lanes.
#[derive(Clone, Copy, Debug)]
struct Job<'a> {
    number: usize,
    from: From<'a>,
}

/// A tree, and its switches whose paths have no lane yet, the nearest first.
type Left = (usize, Vec<SwitchIdx>);

/// A tree, and the forecast of its lanes.
struct Work<'a> {
    job: Job<'a>,
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
}

impl<'a> Layering<'a> {
    pub(super) fn new(run: &'a Run<'a>, balance: &'a Balance<'a>, limits: &'a Limits) -> Self {
        Self {
            run,
            balance,
            limits,
            lanes: run.lanes(),
            lanes_of_trees: TreeLanes::new(run.demands.trees.len()),
        }
    }

    /// The lanes of all paths; `None` if the lanes do not suffice, or if the result becomes needless.
    pub(super) fn layer(mut self) -> Option<Layers> {
        if self.limits.is_needless() {
            return None;
        }
        let run = self.run;
        let trees = run.demands.trees.iter().enumerate();
        let jobs = |to_cas: bool, from| {
            let trees = trees
                .clone()
                .filter(|(_, demand)| demand.is_to_cas == to_cas);
            trees
                .map(|(number, _)| Job { number, from })
                .collect::<Vec<_>>()
        };
        let left = self.layer_at_once();
        if left.is_none() {
            self.layer_all(&jobs(true, From::Cas))?;
        }
        let of_cas = self.lanes.used();
        self.layer_all(&jobs(false, From::All))?;
        if let Some(left) = left {
            let left = left.iter().filter(|(_, switches)| !switches.is_empty());
            let left = left.map(|(number, switches)| Job {
                number: *number,
                from: From::Only(switches),
            });
            self.layer_all(&left.collect::<Vec<_>>())?;
        } else if run.demands.senders.iter().any(|&senders| senders == 0) {
            self.layer_all(&jobs(true, From::Others))?;
        }
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

    /// Puts all paths between CAs on the first lane. Returns what is left in the trees to CAs; `None`, and no path has a
    /// lane, if paths between CAs close a cycle, or if that is likely.
    fn layer_at_once(&mut self) -> Option<Vec<Left>> {
        let run = self.run;
        if run.demands.is_direct(run.fabric) {
            return None;
        }
        let choices = self.balance.choices();
        let trees = TreeDependencies::new(run.fabric, &run.dag, &run.demands, choices);
        let is_wanted = |demand: &Demand| demand.is_to_cas;
        let DependencySets { of_cas, others } = trees.sets(run.threads, &run.layout, is_wanted);
        if !self.lanes.begin_with(&of_cas) {
            return None;
        }
        let lane = self.lanes.first()?;
        if lane.admit_in_order(&others) {
            return Some(Vec::new());
        }
        let lane = &*lane;
        let left = parallel::map_many(run.threads, run.demands.trees.len(), |number| {
            let demand = run.demands.trees.get(number);
            let demand = demand.filter(|demand| is_wanted(demand))?;
            let has = |from, to| lane.contains(from, to);
            let lacking = trees.lacking(number, demand, &mut trees.passed(), has);
            Some((number, lacking))
        });
        Some(left.into_iter().flatten().collect())
    }

    /// Gives lanes to trees, one after the other; `None` as for [`layer`](Self::layer).
    fn layer_all<'j>(&mut self, mut jobs: &[Job<'j>]) -> Option<()> {
        let switches = self.run.fabric.num_switches();
        let workers = parallel::workers(self.run.threads, jobs.len());
        // Threads that look at other strategies do not help.
        let has_help = workers > self.run.num_side_by_side();
        let mut spaces = Spaces::new(workers, |_| Space {
            forecast: ForecastSpace::new(switches),
            senders: Senders::default(),
        });
        let (mut tree, mut senders) = (Tree::default(), Senders::default());
        let mut batch: Vec<Work<'j>> = Vec::new();
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
    fn layer_batch<'j>(
        &mut self,
        jobs: &[Job<'j>],
        batch: &mut Vec<Work<'j>>,
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
                let senders = space.senders.of(run, *job);
                lanes.forecast(tree, senders, &mut space.forecast, forecast);
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
            self.lanes_of_trees.note(job.number, self.lanes.of_tree());
        }
        Some(failed)
    }

    /// Gives lanes to one tree.
    fn layer_tree(&mut self, job: Job<'_>, tree: &Tree, senders: &[SwitchIdx]) -> Option<()> {
        if self.limits.is_needless() {
            return None;
        }
        let fits = self.lanes.layer(tree, senders);
        self.check(job, fits)?;
        self.lanes_of_trees.note(job.number, self.lanes.of_tree());
        Some(())
    }

    /// Returns `None` if lanes do not suffice for paths that must fit.
    ///
    /// Traffic from and to switches, which is little, shares the first lane if the lanes do not suffice: the routes still
    /// arrive, and the verification names the cycle.
    fn check(&self, job: Job<'_>, fits: Result<(), usize>) -> Option<()> {
        let must_fit = matches!(job.from, From::Cas) || self.run.config.with_switches;
        (fits.is_ok() || !must_fit).then_some(())
    }
}

/// The switches of a tree whose paths shall get lanes.
#[derive(Default)]
struct Senders {
    /// The target of the tree, and which of its switches are listed: trees with the same target mostly have the same.
    of: Option<(SwitchIdx, [bool; 2])>,
    list: Vec<SwitchIdx>,
}

impl Senders {
    /// Those of a tree, the nearest first.
    fn of<'s>(&'s mut self, run: &Run<'_>, job: Job<'s>) -> &'s [SwitchIdx] {
        let [cas, others] = match job.from {
            From::Cas => [true, false],
            From::Others => [false, true],
            From::All => [true, true],
            From::Only(switches) => return switches,
        };
        let Some(demand) = run.demands.trees.get(job.number) else {
            return &[];
        };
        let of = Some((demand.target, [cas, others]));
        if self.of != of {
            let switches = run.dag.towards(demand.target).switches();
            let is_wanted = |switch: &SwitchIdx| match run.demands.senders[*switch] {
                0 => others,
                _ => cas,
            };
            self.of = of;
            self.list.clear();
            self.list.extend(switches.filter(is_wanted));
        }
        &self.list
    }
}

/// Room in which a thread makes forecasts.
struct Space {
    forecast: ForecastSpace,
    senders: Senders,
}
