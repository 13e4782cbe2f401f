//! The lightest of many next hops, for each of some trees in turn.

use alloc::vec::Vec;

use super::tree_chooser::SIDE_BY_SIDE;
use crate::{
    algo::shortest_path_dag::{DagTo, Fan},
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// Low bits of a key, which hold the number of the next hop: a switch has 254 ports at most. So the least key says which
/// next hop it is of, and the first one is the least of those that weigh the same.
pub(super) const NUMBER_BITS: u32 = 8;

/// The number of a key.
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;

/// A bit that is set in every weight and key, above all sums of loads: those of all channels together are below 2^44, and
/// have [`NUMBER_BITS`] low bits more. So the bits of a key are those of a positive, normal floating-point number. Two such
/// numbers compare as their bits do, and all processors have the minimum of some pairs of them in one instruction.
const BASE: u64 = 1 << 62;

/// The weight of a target.
pub(super) const NO_LOAD: u64 = BASE;

/// The weight of a switch that is not nearer to the target: above all others, and with any load still the bits of a number.
pub(super) const NOT_NEARER: u64 = 0x7f << 56;

/// Next hops that are compared side by side: as many as 128 bits hold.
const LANES: usize = 2;

/// A key in each lane.
type Lanes = [f64; LANES];

/// Each tree takes one next hop, so that as many trees need no more than so many keys.
type Keys = [u64; SIDE_BY_SIDE];

/// The least keys at switches with many next hops.
///
/// The key of a next hop is the load along the lightest path that begins with it, and its number. The weight of a switch is
/// [`NO_LOAD`] and the load along its lightest path. Loads and weights have 0 in the [`NUMBER_BITS`] low bits.
#[derive(Clone, Debug)]
pub(super) struct Lightest {
    /// For each end of all fans its weight, and the number of the next hop.
    behind: Vec<u64>,
    /// For the first end of each fan the last level in which the ends were looked up.
    looked_up: Vec<u64>,
    /// The number of the level at hand: of the switches that are equally far from the target of a group.
    level: u64,
    /// Loads of next hops whose channels are no neighbours.
    loads: Vec<u64>,
    /// For each switch the keys of its lightest next hops, in order.
    least: IdxVec<SwitchIdx, Keys>,
}

impl Lightest {
    pub(super) fn new(switches: usize) -> Self {
        Self {
            behind: Vec::new(),
            looked_up: Vec::new(),
            level: 0,
            loads: Vec::new(),
            least: IdxVec::filled(switches, Keys::default()),
        }
    }

    /// Forgets the weights that were looked up for other switches than those of one level, for graphs with so many ends.
    pub(super) fn begin_level(&mut self, ends: usize) {
        self.level += 1;
        if self.behind.len() < ends {
            self.behind.resize(ends, 0);
            self.looked_up.resize(ends, 0);
        }
    }

    /// Finds the least keys of a switch from the weights of switches nearer to the target: as many as a group has trees.
    /// Returns the weight of the switch.
    #[inline(always)]
    pub(super) fn weigh<const TREES: usize>(
        &mut self,
        switch: SwitchIdx,
        fan: Fan<'_>,
        towards: DagTo<'_>,
        load: &IdxVec<ChannelIdx, u64>,
        weight: &IdxVec<SwitchIdx, u64>,
    ) -> u64 {
        self.look_up(fan, towards, weight);
        let behind = self.behind.get(fan.first_end..);
        let behind = behind.and_then(|behind| behind.get(..fan.ends.len()));
        let behind = behind.unwrap_or_default();
        let least = if let Some(load) = fan.neighbours(load) {
            least_keys::<TREES>(load, behind)
        } else {
            self.loads.clear();
            self.loads
                .extend(fan.channels().map(|channel| load[channel]));
            least_keys::<TREES>(&self.loads, behind)
        };
        self.least[switch] = least;
        let [lowest, ..] = least;
        lowest & !NUMBER
    }

    /// Looks up the weights behind the next hops of a fan, if no other fan of this level with the same ends came before.
    #[inline(always)]
    fn look_up(&mut self, fan: Fan<'_>, towards: DagTo<'_>, weight: &IdxVec<SwitchIdx, u64>) {
        let last = self.looked_up.get_mut(fan.first_end);
        if let Some(last) = last.filter(|last| **last != self.level) {
            *last = self.level;
            let behind = self.behind.iter_mut().skip(fan.first_end);
            for ((behind, &end), number) in behind.zip(fan.ends).zip(0..) {
                *behind = weight[end] | number;
            }
            if fan.is_limited {
                let behind = self.behind.iter_mut().skip(fan.first_end);
                for (behind, channel) in behind.zip(fan.channels()) {
                    if !towards.is_nearer_by(channel) {
                        *behind = NOT_NEARER;
                    }
                }
            }
        }
    }

    /// Sends the routes of one tree after the other from a switch over the lightest next hop, whose number `send` gets.
    #[inline(always)]
    pub(super) fn send(
        &self,
        switch: SwitchIdx,
        routes: impl Iterator<Item = u64>,
        mut send: impl FnMut(usize),
    ) {
        let mut least = self.least[switch];
        for routes in routes {
            let [lowest, two, three, four] = least;
            send((lowest & NUMBER) as usize);
            let (one, key) = in_order(two, lowest + routes);
            let (two, key) = in_order(three, key);
            let (three, four) = in_order(four, key);
            least = [one, two, three, four];
        }
    }
}

/// The least keys of next hops, in order: as many as there are trees, or more.
#[inline(always)]
fn least_keys<const TREES: usize>(loads: &[u64], behinds: &[u64]) -> Keys {
    match TREES {
        1 => [least_key(loads, behinds); SIDE_BY_SIDE],
        _ => least_keys_of_all(loads, behinds),
    }
}

/// The least key of next hops.
#[inline(always)]
fn least_key(loads: &[u64], behinds: &[u64]) -> u64 {
    let (pairs, last_load) = loads.as_chunks::<LANES>();
    let (behind_pairs, last_behind) = behinds.as_chunks::<LANES>();
    let mut least = [f64::INFINITY; LANES];
    for ([load, other_load], [behind, other_behind]) in pairs.iter().zip(behind_pairs) {
        let keys = [load + behind, other_load + other_behind].map(f64::from_bits);
        least = lower(least, keys);
    }
    let [one, other] = least.map(f64::to_bits);
    let last = match (last_load, last_behind) {
        ([load], [behind]) => load + behind,
        _ => u64::MAX,
    };
    one.min(other).min(last)
}

/// The least keys of next hops, in order, for [`SIDE_BY_SIDE`] trees.
#[inline(always)]
fn least_keys_of_all(loads: &[u64], behinds: &[u64]) -> Keys {
    let (pairs, last_load) = loads.as_chunks();
    let (behind_pairs, last_behind) = behinds.as_chunks();
    let [one, two, three, four] = least_of_lanes(pairs, behind_pairs);
    // The least keys are the first ones of the one lane, and as many of the other as are left.
    let lanes = [(one, four), (two, three), (three, two), (four, one)];
    let [one, two, three, four] =
        lanes.map(|([one, _], [_, other])| one.to_bits().min(other.to_bits()));
    // These rise and then fall, or begin anywhere in such a circle.
    let ((one, three), (two, four)) = (in_order(one, three), in_order(two, four));
    let ((one, two), (three, four)) = (in_order(one, two), in_order(three, four));
    let mut keys = [one, two, three, four];
    if let ([load], [behind]) = (last_load, last_behind) {
        let mut key = load + behind;
        for least in &mut keys {
            (*least, key) = in_order(*least, key);
        }
    }
    keys
}

/// The least keys of each lane, in order.
///
/// This has no loop in the loop, and is a function of its own, because the compiler then keeps the lanes in one register.
#[inline(never)]
fn least_of_lanes(loads: &[[u64; LANES]], behinds: &[[u64; LANES]]) -> [Lanes; SIDE_BY_SIDE] {
    let none = [f64::INFINITY; LANES];
    let (mut one, mut two, mut three, mut four) = (none, none, none, none);
    for ([load, other_load], [behind, other_behind]) in loads.iter().zip(behinds) {
        let keys = [load + behind, other_load + other_behind].map(f64::from_bits);
        let second = higher(one, keys);
        one = lower(one, keys);
        let third = higher(two, second);
        two = lower(two, second);
        let fourth = higher(three, third);
        three = lower(three, third);
        four = lower(four, fourth);
    }
    [one, two, three, four]
}

/// The lower key in each lane.
#[inline(always)]
fn lower([one, two]: Lanes, [other_one, other_two]: Lanes) -> Lanes {
    // The processors' own minimum is defined like this.
    let lower = |one, other| if one < other { one } else { other };
    [lower(one, other_one), lower(two, other_two)]
}

/// The higher key in each lane.
#[inline(always)]
fn higher([one, two]: Lanes, [other_one, other_two]: Lanes) -> Lanes {
    let higher = |one, other| if one > other { one } else { other };
    [higher(one, other_one), higher(two, other_two)]
}

/// Two keys, the lower one first.
#[inline(always)]
fn in_order(one: u64, other: u64) -> (u64, u64) {
    (one.min(other), one.max(other))
}

#[cfg(test)]
mod tests;
