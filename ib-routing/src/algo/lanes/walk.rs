//! The lanes of the paths of one tree.

use alloc::vec::Vec;
use core::mem;

use super::NO_LANE;
use crate::{
    algo::shortest_path_dag::Tree,
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// The lanes of the paths of the tree at hand, and room to find them.
#[derive(Clone, Debug, Default)]
pub(super) struct Walk {
    /// Lane of each switch's path, or [`NO_LANE`].
    pub(super) lane: IdxVec<SwitchIdx, u8>,
    /// True if a switch's path fits on the lane at hand, as far as is known.
    fit: IdxVec<SwitchIdx, Fit>,
    /// The switches whose paths fit on no lane so far.
    left: Vec<SwitchIdx>,
    path: Vec<SwitchIdx>,
}

/// True if a path fits on a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    Unknown,
    Yes,
    No,
}

/// The result of [`Walk::layer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Layered {
    /// Number of paths that fit on no lane.
    pub(super) left: usize,
    /// One more than the highest lane that a path has; 0 if there is no path.
    pub(super) used: u8,
}

impl Walk {
    pub(super) fn new(switches: usize) -> Self {
        Self {
            lane: IdxVec::filled(switches, NO_LANE),
            fit: IdxVec::filled(switches, Fit::Unknown),
            left: Vec::new(),
            path: Vec::new(),
        }
    }

    /// Gives each path of a tree that begins at one of `senders`, the nearest first, the lowest of `max` lanes on which it
    /// fits.
    ///
    /// `admit` says whether a lane takes a dependency. It is asked for those of one path after the other, from the target
    /// outwards, and for one only if the path from there on fits. `to` has the switch at the end of each channel.
    pub(super) fn layer(
        &mut self,
        to: &IdxVec<ChannelIdx, SwitchIdx>,
        tree: &Tree,
        max: usize,
        senders: &[SwitchIdx],
        mut admit: impl FnMut(usize, ChannelIdx, ChannelIdx) -> bool,
    ) -> Layered {
        self.lane.fill(NO_LANE);
        let mut left = mem::take(&mut self.left);
        left.clear();
        left.extend_from_slice(senders);
        let mut used = 0;
        for lane in 0..max {
            let before = left.len();
            if before == 0 {
                break;
            }
            self.fill(lane as u8, to, tree, &mut left, |from, to| {
                admit(lane, from, to)
            });
            if left.len() < before {
                used = lane as u8 + 1;
            }
        }
        let layered = Layered {
            left: left.len(),
            used,
        };
        self.left = left;
        layered
    }

    /// Puts as many of the paths from the switches `left` on one lane as fit there.
    fn fill(
        &mut self,
        lane: u8,
        to: &IdxVec<ChannelIdx, SwitchIdx>,
        tree: &Tree,
        left: &mut Vec<SwitchIdx>,
        mut admit: impl FnMut(ChannelIdx, ChannelIdx) -> bool,
    ) {
        let target = tree.target();
        self.fit.fill(Fit::Unknown);
        self.fit[target] = Fit::Yes;
        left.retain(|&switch| {
            // Up to the first switch of which it is known, and back.
            let mut here = switch;
            while self.fit[here] == Fit::Unknown {
                self.path.push(here);
                here = to[tree.channel(here)];
            }
            let mut fits = self.fit[here] == Fit::Yes;
            while let Some(switch) = self.path.pop() {
                fits = fits && (here == target || admit(tree.channel(switch), tree.channel(here)));
                self.fit[switch] = if fits { Fit::Yes } else { Fit::No };
                here = switch;
            }
            if fits {
                self.lane[switch] = lane;
            }
            !fits
        });
    }
}
