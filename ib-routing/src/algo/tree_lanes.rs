//! The lanes of the paths of many trees.

use alloc::{boxed::Box, vec, vec::Vec};

use ib_wire::{Lid, Sl};

use crate::{
    algo::{lanes::NO_LANE, parallel},
    index::{Idx, IdxVec, SwitchIdx},
};

/// The lane of each path in each of many trees.
///
/// Most trees have one lane, the first: such a tree takes no memory.
#[derive(Clone, Debug)]
pub struct TreeLanes {
    /// For each tree the lanes by switch; empty where all paths have the first lane.
    lanes: Vec<Box<[u8]>>,
}

impl TreeLanes {
    /// All paths of so many trees have the first lane.
    #[must_use]
    pub fn new(trees: usize) -> Self {
        Self {
            lanes: vec![Box::default(); trees],
        }
    }

    /// Takes the lanes of the paths of a tree. Where a switch has [`NO_LANE`], the lane stays as it is.
    pub fn note(&mut self, tree: usize, lane: &IdxVec<SwitchIdx, u8>) {
        let Some(noted) = self.lanes.get_mut(tree) else {
            return;
        };
        if noted.is_empty() {
            if lane.iter().all(|&lane| lane == 0 || lane == NO_LANE) {
                return;
            }
            *noted = vec![0; lane.len()].into();
        }
        for (noted, &lane) in noted.iter_mut().zip(lane.iter()) {
            if lane != NO_LANE {
                *noted = lane;
            }
        }
    }

    /// The service levels of all paths by switch and LID, in rows of `row_len`, on as many threads as `threads` says: a
    /// path on the first lane has the level `start`. `lids` names the LIDs of each tree.
    #[must_use]
    pub fn service_levels<'a>(
        &self,
        threads: usize,
        start: Sl,
        switches: usize,
        row_len: usize,
        lids: impl Iterator<Item = &'a [Lid]>,
    ) -> Vec<Sl> {
        let columns: Vec<(usize, &[u8])> = self
            .lanes
            .iter()
            .zip(lids)
            .filter(|(lanes, _)| !lanes.is_empty())
            .flat_map(|(lanes, lids)| lids.iter().map(|lid| (usize::from(lid.0), &lanes[..])))
            .collect();
        let mut sls = vec![start; row_len * switches];
        let mut rows: Vec<SwitchIdx> = (0..switches).map(SwitchIdx::new).collect();
        parallel::rows(threads, &mut rows, &mut sls, row_len, |&mut switch, row| {
            parallel::count(columns.len());
            for &(lid, lanes) in &columns {
                if let (Some(sl), Some(lane)) = (row.get_mut(lid), lanes.get(switch.at())) {
                    *sl = Sl::try_new(start.bits() + lane).unwrap_or_default();
                }
            }
        });
        sls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_without_a_lane_keeps_the_one_noted_before() {
        let mut trees = TreeLanes::new(3);
        trees.note(0, &vec![0, NO_LANE, 0].into());
        trees.note(1, &vec![0, 2, 1].into());
        trees.note(1, &vec![NO_LANE, 0, NO_LANE].into());
        trees.note(3, &vec![1, 1, 1].into());
        let lids: [&[Lid]; 3] = [&[Lid(1)], &[Lid(2), Lid(4)], &[Lid(3)]];
        let sl = |level| Sl::try_new(level).unwrap();
        for threads in [1, 2] {
            let sls = trees.service_levels(threads, sl(5), 3, 8, lids.into_iter());
            let expected = |at: usize| match at {
                // LIDs 2 and 4 at the last switch.
                18 | 20 => sl(6),
                _ => sl(5),
            };
            assert!(sls.into_iter().eq((0..24).map(expected)));
        }
    }
}
