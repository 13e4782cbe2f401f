//! Proof of a route set, whoever made it: reachability, loops, hops, load and deadlock.
//!
//! Every switch's entry for every LID that somebody owns is followed to its end. Routes of CA pairs
//! are counted on every channel they cross, and what follows what on which virtual lane makes the
//! channel dependency graph: a cycle in it can deadlock (Dally and Seitz, 1987).

pub mod deadlock;
mod reach;

use alloc::vec::Vec;

use ib_wire::{Lid, Vl};

use crate::{
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::LidMap,
    routes::Routes,
};

/// What [`verify()`] found. Counts of pairs are of ordered pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerifyReport {
    /// Pairs of LIDs of different CA (or router) ports.
    pub pairs: u64,
    /// (source port, destination LID) pairs of all end ports without a route, though cables join them
    /// or not. `unreachable_ca` of them are between CA ports.
    pub unreachable: u64,
    /// Unreachable pairs of CA ports.
    pub unreachable_ca: u64,
    /// (switch, LID) pairs whose route never ends.
    pub loops: u64,
    /// Whether CA-to-CA traffic cannot deadlock.
    pub deadlock_free: bool,
    /// Whether traffic between all LIDs, switches' own included, cannot deadlock.
    pub all_deadlock_free: bool,
    /// A cycle of the channel dependency graph of CA-to-CA traffic: channels and their lanes.
    pub cycle: Option<Vec<(ChannelIdx, Vl)>>,
    /// A cycle that only traffic from or to switches closes.
    pub management_cycle: Option<Vec<(ChannelIdx, Vl)>>,
    /// Virtual lanes that CA-to-CA traffic uses.
    pub vls: u8,
    /// Most switch-to-switch links between a CA pair.
    pub max_hops: u32,
    /// Mean of the same over all CA pairs.
    pub mean_hops: f64,
    /// CA-pair routes on each directed switch-to-switch link.
    pub link_load: LinkLoad,
    /// The first few failures, for people.
    pub failures: Vec<Failure>,
}

impl VerifyReport {
    /// Whether every pair has a route and no route loops or, between CAs, deadlocks.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.unreachable == 0 && self.loops == 0 && self.deadlock_free
    }
}

/// Distribution of CA-pair routes over directed switch-to-switch links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkLoad {
    /// On the busiest link.
    pub max: u64,
    /// On the average, over all links.
    pub mean: f64,
    /// Standard deviation over all links.
    pub stdev: f64,
    /// By channel.
    pub by_channel: IdxVec<ChannelIdx, u64>,
}

/// One route that does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The switch it starts at.
    pub switch: SwitchIdx,
    /// The LID it should lead to.
    pub lid: Lid,
    /// The switch where it ends or comes by twice.
    pub at: SwitchIdx,
    /// Whether it goes round in a circle; otherwise it ends at a wrong or dead port.
    pub is_loop: bool,
}

/// Follows every route and counts.
#[must_use]
pub fn verify(fabric: &Fabric, lids: &LidMap, routes: &Routes) -> VerifyReport {
    let mut report = reach::follow(fabric, lids, routes);
    deadlock::judge(fabric, lids, routes, &mut report);
    report
}

/// Square root for targets without `std`: Newton's method from above.
pub(crate) fn square_root(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let mut root = if value < 1.0 { 1.0 } else { value };
    for _ in 0..1100 {
        let next = 0.5 * (root + value / root);
        if next >= root {
            break;
        }
        root = next;
    }
    root
}
