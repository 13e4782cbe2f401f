//! Even splits of trees that are not chosen yet, added up by several threads.

use alloc::{vec, vec::Vec};

use super::tree_chooser::{TreeChooser, Visit};
use crate::algo::parallel;

/// The even splits that one thread has added up.
struct Splits {
    /// Its load is that of these splits alone.
    chooser: TreeChooser,
    /// The number of each visit, and the share of each next hop of a switch.
    shares: Vec<(usize, Vec<u64>)>,
}

/// Adds the load that all trees make if every switch splits its routes evenly. Returns what [`TreeChooser::expect`] returns
/// for each visit.
pub(super) fn expect(
    threads: usize,
    chooser: &mut TreeChooser,
    visits: &[Visit<'_>],
) -> Vec<Vec<u64>> {
    let before = &*chooser;
    let splits = parallel::gather(
        threads,
        visits.len(),
        || Splits {
            chooser: before.without_load(),
            shares: Vec::new(),
        },
        |Splits { chooser, shares }, number| {
            if let Some(&visit) = visits.get(number) {
                shares.push((number, chooser.expect(visit)));
            }
        },
    );
    let mut all = vec![Vec::new(); visits.len()];
    for Splits {
        chooser: other,
        shares,
    } in splits
    {
        chooser.add_load(&other);
        for (number, shares) in shares {
            if let Some(of_visit) = all.get_mut(number) {
                *of_visit = shares;
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algo::{
            balance::tree_chooser::grouped,
            choices::Choices,
            demands::Demands,
            shortest_path_dag::{BatchFans, ShortestPathDag},
        },
        generate::FabricSpec,
        lid::{LidMap, LidOptions},
        options::RouteOptions,
    };

    /// The load and the shares are those of one chooser that expects all trees one after the other, and what was there
    /// before stays.
    #[test]
    fn several_threads_expect_what_one_chooser_does() {
        for spec in ["dragonfly:a=4,p=2,h=2", "torus:4x5,hosts=3"] {
            let fabric = spec.parse::<FabricSpec>().unwrap().build().unwrap();
            let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
            let demands = Demands::new(&fabric, &lids, false);
            let dag = ShortestPathDag::new(&fabric, &RouteOptions::default());
            let mut choices = Choices::new(&fabric, &demands.trees);
            let choices = choices.shared();
            let fans = BatchFans::default();
            let groups = grouped(&fabric, &demands.trees, 4);
            let visits = groups.iter().map(|&group| Visit {
                group,
                towards: dag.towards(group.target),
                fans: &fans,
                choices: choices.block(group.first, group.count),
            });
            let visits: Vec<Visit<'_>> = visits.collect();
            let mut one = TreeChooser::new(&fabric, &demands.senders, true);
            one.expect(visits[0]);
            let several = one.clone();
            let expected: Vec<Vec<u64>> = visits.iter().map(|&visit| one.expect(visit)).collect();
            for threads in [1, 2, 3] {
                let mut several = several.clone();
                assert_eq!(expect(threads, &mut several, &visits), expected, "{spec}");
                assert_eq!(several.load(), one.load(), "{spec}, {threads} threads");
                assert!(several.load().iter().any(|&load| load > 0));
            }
        }
    }
}
