//! The tree as seen from a group of targets: who goes down to them, who goes up, and who can do neither.

use alloc::{collections::BTreeMap, vec::Vec};
use core::cmp::Reverse;

use super::tree::Tree;
use crate::index::{ChannelIdx, IdxVec, SwitchIdx};

/// Hops of a switch that no path up and then down joins to the target.
const ILLEGAL: u16 = u16::MAX;

/// The next hop of a switch for packets to the targets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    /// Nothing: it is the target, or nothing leads there.
    Stay,
    /// By this channel, to whichever target.
    By(ChannelIdx),
    /// By its channel down to the target.
    ToTarget,
    /// Up, by a channel that [`View::leads_nearer`].
    Up,
}

/// Paths to targets that have the same switches above them.
pub(super) struct View {
    /// Hops by a path up and then down.
    hops: IdxVec<SwitchIdx, u16>,
    pub(super) moves: IdxVec<SwitchIdx, Move>,
    /// True if a CA's route has to turn from down to up.
    pub(super) turns_back: bool,
    /// The CAs' switch whose route goes up most often after it went down, and how often: where the
    /// caller limits that, and routes turn back.
    pub(super) most_reverse_hops: Option<(u16, SwitchIdx)>,
}

impl View {
    /// The view from the targets of a group. Routes of CAs that have to turn back do so with as few
    /// hops up as can be if these are `limited`, else like all others, at a hub.
    pub(super) fn from(tree: &Tree<'_>, targets: &[SwitchIdx], hubs: &Hubs, limited: bool) -> Self {
        let mut this = Self::legal(tree, targets);
        let lost = |this: &Self, switch: SwitchIdx| {
            this.hops[switch] == ILLEGAL
                && targets
                    .first()
                    .is_some_and(|&target| hubs.part[target] == hubs.part[switch])
        };
        let switches = tree.fabric.switches().indices();
        let all: Vec<_> = switches.filter(|&switch| lost(&this, switch)).collect();
        let has_ca = |switch: &SwitchIdx| tree.senders[*switch] > 0;
        this.turns_back = targets.iter().any(has_ca) && all.iter().any(has_ca);
        let by_hub = |this: &Self, switch: SwitchIdx| {
            hubs.hub[switch].is_some_and(|hub| this.hops[hub] != ILLEGAL)
        };
        let counts = limited && this.turns_back;
        if !counts && all.iter().all(|&switch| by_hub(&this, switch)) {
            for switch in all {
                this.moves[switch] = hubs.next[switch].map_or(Move::Stay, Move::By);
            }
        } else {
            let hops = targets
                .first()
                .map(|&target| this.find_way_back(tree, target));
            let with_ca = hops.iter().flat_map(|hops| hops.iter_enumerated());
            let with_ca = with_ca.filter(|(switch, _)| has_ca(switch));
            this.most_reverse_hops = with_ca
                .map(|(switch, &hops)| (hops, switch))
                .max_by_key(|&(hops, switch)| (hops, Reverse(switch)))
                .filter(|_| counts);
        }
        this
    }

    /// Paths that go up and then down: from the targets outwards, nearest first.
    fn legal(tree: &Tree<'_>, targets: &[SwitchIdx]) -> Self {
        let size = tree.fabric.num_switches();
        let mut this = Self {
            hops: IdxVec::filled(size, ILLEGAL),
            moves: IdxVec::filled(size, Move::Stay),
            turns_back: false,
            most_reverse_hops: None,
        };
        let Some((&first, others)) = targets.split_first() else {
            return this;
        };
        this.hops[first] = 0;
        // First all that have the target below them.
        let mut queue = Vec::from([first]);
        let mut at = 0;
        while let Some(&switch) = queue.get(at) {
            let hops = this.hops[switch] + 1;
            for &up in tree.up.of(switch) {
                let higher = tree.to(up);
                if this.hops[higher] == ILLEGAL {
                    this.hops[higher] = hops;
                    this.moves[higher] = match at {
                        0 => Move::ToTarget,
                        _ => Move::By(tree.fabric.channel(up).reverse),
                    };
                    queue.push(higher);
                }
            }
            at += 1;
        }
        // Switches below one of them go up, to the nearest.
        let (above, mut below) = (queue, Vec::new());
        let (mut next_above, mut next_below) = (0, 0);
        loop {
            let (above, lower) = (above.get(next_above), below.get(next_below));
            let switch: SwitchIdx = match (above, lower) {
                (Some(&above), Some(&lower)) if this.hops[lower] >= this.hops[above] => above,
                (_, Some(&lower)) => lower,
                (Some(&above), None) => above,
                (None, None) => break,
            };
            if lower == Some(&switch) {
                next_below += 1;
            } else {
                next_above += 1;
            }
            for &down in tree.down.of(switch) {
                let to = tree.to(down);
                if this.hops[to] == ILLEGAL {
                    (this.hops[to], this.moves[to]) = (this.hops[switch] + 1, Move::Up);
                    below.push(to);
                }
            }
        }
        if !others.is_empty() {
            // To the others the first is as near as they are to it.
            (this.hops[first], this.moves[first]) = (2, Move::Up);
        }
        this
    }

    /// Sends switches without a legal path by the shortest path, whatever its turns, and returns how many
    /// hops up the route of each has after one down.
    fn find_way_back(&mut self, tree: &Tree<'_>, target: SwitchIdx) -> IdxVec<SwitchIdx, u16> {
        let mut hops = self.hops.clone();
        let mut reverse = IdxVec::filled(hops.len(), 0);
        let mut by_hops: BTreeMap<u16, Vec<SwitchIdx>> = BTreeMap::new();
        for (switch, &hops) in hops.iter_enumerated().filter(|(_, hops)| **hops != ILLEGAL) {
            by_hops.entry(hops).or_default().push(switch);
        }
        while let Some((far, switches)) = by_hops.pop_first() {
            for switch in switches {
                for (_, channel) in tree.fabric.channels_from(switch) {
                    let from = channel.to;
                    let hops_up = match tree.level(from) < tree.level(switch) {
                        true => reverse[switch],
                        false => tree.hops_up(switch, target, far),
                    };
                    let better = (far + 1, hops_up) < (hops[from], reverse[from]);
                    if self.hops[from] == ILLEGAL && better {
                        (hops[from], reverse[from]) = (far + 1, hops_up);
                        self.moves[from] = Move::By(channel.reverse);
                        by_hops.entry(far + 1).or_default().push(from);
                    }
                }
            }
        }
        reverse
    }

    /// Returns true if a channel up leads to a switch with a shorter path.
    #[inline]
    pub(super) fn leads_nearer(&self, tree: &Tree<'_>, channel: ChannelIdx) -> bool {
        let channel = tree.fabric.channel(channel);
        self.hops[channel.to] < self.hops[channel.from]
    }
}

/// The leaves through which switches without a legal path send: one for each part of the fabric.
pub(super) struct Hubs {
    /// Part of the fabric that a switch belongs to.
    part: IdxVec<SwitchIdx, u32>,
    hub: IdxVec<SwitchIdx, Option<SwitchIdx>>,
    next: IdxVec<SwitchIdx, Option<ChannelIdx>>,
}

impl Hubs {
    /// The first leaf of each part is its hub; parts that a broken tree splits have several.
    pub(super) fn find(tree: &Tree<'_>, groups: &[Vec<SwitchIdx>]) -> Self {
        let size = tree.fabric.num_switches();
        let mut this = Self {
            part: tree.fabric.parts(),
            hub: IdxVec::filled(size, None),
            next: IdxVec::filled(size, None),
        };
        for &leaf in groups.iter().flatten() {
            if this.hub[leaf].is_some() {
                continue;
            }
            let view = View::legal(tree, &[leaf]);
            for switch in tree.fabric.switches().indices() {
                if view.hops[switch] == ILLEGAL || this.hub[switch].is_some() {
                    continue;
                }
                this.hub[switch] = Some(leaf);
                this.next[switch] = match view.moves[switch] {
                    Move::Stay => None,
                    Move::By(channel) => Some(channel),
                    Move::ToTarget => tree.down_to(switch, leaf),
                    Move::Up => {
                        let mut ups = tree.up.of(switch).iter().copied();
                        ups.find(|&up| view.leads_nearer(tree, up))
                    }
                };
            }
        }
        this
    }
}
