//! Lanes for chosen trees, in the order of the trees.
//!
//! The paths between CAs come first. Paths from a switch without CAs join those of their tree where that needs no new
//! dependency; where they cannot, they get their lanes when all other trees have theirs.

use alloc::vec::Vec;

use super::Run;
use crate::{
    algo::{balance::Balance, lanes::Lanes, shortest_path_dag::Tree, tree_lanes::TreeLanes},
    index::SwitchIdx,
};

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

/// Gives lanes to the trees of a balance.
pub(super) struct Layering<'a> {
    run: &'a Run<'a>,
    balance: &'a Balance<'a>,
    lanes: Lanes<'a>,
    lanes_of_trees: TreeLanes,
    /// Trees in which a switch without CAs has no lane yet.
    open: Vec<usize>,
}

impl<'a> Layering<'a> {
    pub(super) fn new(run: &'a Run<'a>, balance: &'a Balance<'a>) -> Self {
        Self {
            run,
            balance,
            lanes: run.lanes(),
            lanes_of_trees: TreeLanes::new(run.demands.trees.len()),
            open: Vec::new(),
        }
    }

    /// The number of lanes in use, and those of all paths; `None` if the lanes do not suffice.
    pub(super) fn layer(mut self) -> Option<(u8, TreeLanes)> {
        let trees = self.run.demands.trees.iter().enumerate();
        let jobs = trees.map(|(number, demand)| Job {
            number,
            from: if demand.is_to_cas {
                From::Cas
            } else {
                From::All
            },
        });
        let jobs: Vec<Job> = jobs.collect();
        self.layer_all(&jobs)?;
        let open = core::mem::take(&mut self.open).into_iter();
        let jobs = open.map(|number| Job {
            number,
            from: From::Switches,
        });
        let jobs: Vec<Job> = jobs.collect();
        self.layer_all(&jobs)?;
        Some((self.lanes.used(), self.lanes_of_trees))
    }

    /// Gives lanes to trees, one after the other; `None` if the lanes do not suffice.
    fn layer_all(&mut self, jobs: &[Job]) -> Option<()> {
        let mut tree = Tree::default();
        jobs.iter().try_for_each(|&job| {
            self.balance.read(job.number, &mut tree);
            self.layer_tree(job, &tree)
        })
    }

    /// Gives lanes to one tree.
    fn layer_tree(&mut self, job: Job, tree: &Tree) -> Option<()> {
        let fits = self.lanes.layer(tree, self.run.sends(job.from));
        self.check(job, fits)?;
        if job.from == From::Cas && !self.lanes.join(tree) {
            self.open.push(job.number);
        }
        self.lanes_of_trees.note(job.number, self.lanes.of_tree());
        Some(())
    }

    /// Returns `None` if lanes do not suffice for paths that must fit.
    ///
    /// Where they do not suffice for the little traffic from and to switches, it shares the first: the routes still arrive,
    /// and the verification names the cycle.
    fn check(&self, job: Job, fits: Result<(), usize>) -> Option<()> {
        let must_fit = job.from == From::Cas || self.run.config.with_switches;
        (fits.is_ok() || !must_fit).then_some(())
    }
}

impl Run<'_> {
    /// Says whether the paths from a switch shall get lanes.
    fn sends(&self, from: From) -> impl Fn(SwitchIdx) -> bool + '_ {
        let senders = &self.demands.senders;
        move |switch| match from {
            From::Cas => senders[switch] > 0,
            From::Switches => senders[switch] == 0,
            From::All => true,
        }
    }
}
