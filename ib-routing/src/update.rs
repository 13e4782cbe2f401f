//! The update from old routes to new ones: the differences, and an order of writes in which no packet loops.
//!
//! Switches are written one block of 64 LIDs at a time, so for a while some forward by the old table and
//! some by the new. If, for a LID, all entries old and new together close no loop, any order will do.
//! Otherwise a switch must wait for those that its new route leads through: then a packet that meets a new
//! entry meets only new ones from there on. Where the LIDs of a block ask for opposite orders there is
//! none, and the traffic to those LIDs has to be drained first. [`transition`] adds the stages that keep
//! packets from deadlocking meanwhile; [`check`] simulates an order. After a failure [`heal`](heal::heal)
//! comes first: it writes what carries no traffic any more, without waiting.

pub mod check;
pub mod heal;
pub mod transition;

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use ib_wire::Lid;

use crate::{
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
    lid::LidMap,
    routes::Routes,
};

/// LIDs in one block of a forwarding table.
const BLOCK: u16 = 64;

/// The differences between two route sets of one fabric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoutesDifference {
    /// Number of entries that differ, counting only LIDs that ports own.
    pub entries: u64,
    /// Number of blocks of 64 entries with at least one such entry. Each of them has to be sent.
    pub blocks: u64,
    /// Number of switches with at least one such block.
    pub switches: u64,
}

/// A block of a switch's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockRef {
    /// The switch to write to.
    pub switch: SwitchIdx,
    /// Number of the block: its first LID is 64 times that.
    pub block: u16,
}

/// The order of the writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateOrder {
    /// The blocks that differ, in an order in which no packet loops.
    pub steps: Vec<BlockRef>,
    /// LIDs for which no order is safe: drain their traffic before the first step.
    pub drain: Vec<Lid>,
}

/// Compares two route sets.
#[must_use]
pub fn difference(fabric: &Fabric, lids: &LidMap, old: &Routes, new: &Routes) -> RoutesDifference {
    let mut difference = RoutesDifference::default();
    for switch in fabric.switches().indices() {
        let changed: Vec<Lid> = changed_lids(lids, old, new, switch).collect();
        let blocks: BTreeSet<u16> = changed.iter().map(|lid| lid.0 / BLOCK).collect();
        difference.entries += changed.len() as u64;
        difference.blocks += blocks.len() as u64;
        difference.switches += u64::from(!blocks.is_empty());
    }
    difference
}

/// The LIDs of ports to which a switch sends by different ports, in order.
pub fn changed_lids<'a>(
    lids: &'a LidMap,
    old: &'a Routes,
    new: &'a Routes,
    switch: SwitchIdx,
) -> impl Iterator<Item = Lid> + 'a {
    let changed = old.changed_lids(new, switch);
    changed.filter(|&lid| lids.owner_index(lid).is_some())
}

/// Orders the blocks that differ. No packet loops in the new routes.
#[must_use]
pub fn order(fabric: &Fabric, lids: &LidMap, old: &Routes, new: &Routes) -> UpdateOrder {
    // For each block, the switches to write and the LIDs that change at any of them.
    let mut blocks: BTreeMap<u16, (BTreeSet<SwitchIdx>, BTreeSet<Lid>)> = BTreeMap::new();
    for switch in fabric.switches().indices() {
        for lid in changed_lids(lids, old, new, switch) {
            let (switches, changed) = blocks.entry(lid.0 / BLOCK).or_default();
            switches.insert(switch);
            changed.insert(lid);
        }
    }
    let mut update = UpdateOrder::default();
    let mut loops = Loops::new(fabric, old, new);
    for (block, (switches, changed)) in blocks {
        // Pairs (first, then) of switches, with the LID that requires this order.
        let mut before: BTreeSet<(SwitchIdx, SwitchIdx, Lid)> = BTreeSet::new();
        for lid in changed {
            let differ = |&&switch: &&SwitchIdx| old.port(switch, lid) != new.port(switch, lid);
            let later: Vec<SwitchIdx> = switches.iter().filter(differ).copied().collect();
            if loops.closes(lid, later.clone()) {
                for switch in later {
                    let mut path = new
                        .path(fabric, switch, lid)
                        .skip(1)
                        .map(|(switch, _)| switch);
                    let first = path.find(|&switch| old.port(switch, lid) != new.port(switch, lid));
                    before.extend(first.map(|first| (first, switch, lid)));
                }
            }
        }
        sort(block, switches, before, &mut update);
    }
    update.drain.sort_unstable();
    update
}

/// Repeatedly takes the switches that wait for no other. If all remaining switches wait for each other, the LIDs that
/// hold back the first of them are given up.
fn sort(
    block: u16,
    mut left: BTreeSet<SwitchIdx>,
    mut before: BTreeSet<(SwitchIdx, SwitchIdx, Lid)>,
    update: &mut UpdateOrder,
) {
    while let Some(&first) = left.first() {
        let waiting: BTreeSet<SwitchIdx> = before.iter().map(|&(_, then, _)| then).collect();
        let free: Vec<SwitchIdx> = left.difference(&waiting).copied().collect();
        if free.is_empty() {
            let given_up: BTreeSet<Lid> = before
                .iter()
                .filter(|(_, then, _)| *then == first)
                .map(|&(_, _, lid)| lid)
                .collect();
            before.retain(|(_, _, lid)| !given_up.contains(lid));
            update.drain.extend(given_up);
        }
        for switch in free {
            left.remove(&switch);
            before.retain(|&(first, ..)| first != switch);
            update.steps.push(BlockRef { switch, block });
        }
    }
}

/// Finds the LIDs whose old and new entries together close a loop.
struct Loops<'a> {
    fabric: &'a Fabric,
    routes: [&'a Routes; 2],
    /// Number of entries that lead to each switch, among the switches that were reached.
    senders: IdxVec<SwitchIdx, u32>,
    is_reached: IdxVec<SwitchIdx, bool>,
}

impl<'a> Loops<'a> {
    fn new(fabric: &'a Fabric, old: &'a Routes, new: &'a Routes) -> Self {
        Self {
            fabric,
            routes: [old, new],
            senders: IdxVec::filled(fabric.num_switches(), 0),
            is_reached: IdxVec::filled(fabric.num_switches(), false),
        }
    }

    /// Returns true if the entries of a LID close a loop, which differ at the switches `changed`. Only what these lead
    /// to is examined: a loop without one of them would be one of the new routes alone.
    fn closes(&mut self, lid: Lid, changed: Vec<SwitchIdx>) -> bool {
        let (fabric, routes) = (self.fabric, self.routes);
        let next = |switch: SwitchIdx| {
            let channels = routes.map(|routes| fabric.channel_at(switch, routes.port(switch, lid)));
            let channels = channels.into_iter().flatten();
            channels.map(|channel| fabric.channel(channel).to)
        };
        let mut reached = changed;
        for &switch in &reached {
            self.is_reached[switch] = true;
        }
        let mut at = 0;
        while let Some(&switch) = reached.get(at) {
            at += 1;
            for to in next(switch) {
                self.senders[to] += 1;
                if !core::mem::replace(&mut self.is_reached[to], true) {
                    reached.push(to);
                }
            }
        }
        let sends_first = |switch: &SwitchIdx| self.senders[*switch] == 0;
        let mut open: Vec<SwitchIdx> = reached.iter().copied().filter(sends_first).collect();
        let mut done = 0;
        while let Some(switch) = open.pop() {
            done += 1;
            for to in next(switch) {
                self.senders[to] -= 1;
                if self.senders[to] == 0 {
                    open.push(to);
                }
            }
        }
        for &switch in &reached {
            self.senders[switch] = 0;
            self.is_reached[switch] = false;
        }
        done < reached.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two switches wait for each other, and a third one for the second: the LID that holds back the first of them is given
    /// up, and no other.
    #[test]
    fn where_switches_wait_for_each_other_the_lids_that_hold_back_the_first_are_given_up() {
        let [a, b, c] = [0, 1, 2].map(SwitchIdx);
        let before = [(b, a, Lid(7)), (a, b, Lid(8)), (b, c, Lid(9))];
        let mut update = UpdateOrder::default();
        sort(3, [a, b, c].into(), before.into(), &mut update);
        let block = 3;
        let expected = UpdateOrder {
            steps: [a, b, c].map(|switch| BlockRef { switch, block }).to_vec(),
            drain: Vec::from([Lid(7)]),
        };
        assert_eq!(update, expected);
    }
}
