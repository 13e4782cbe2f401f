//! Healing: immediate new entries for the switches that a failure left without a path.
//!
//! After a failure a forwarding entry is in one of three states. It is *broken* if a packet that follows the installed
//! tables from its switch does not arrive over the working cables. It is *moved* if the packet arrives, but the new
//! routes use another port. Otherwise it is good. Broken entries carry no traffic that a write could disturb, so
//! nothing has to be drained or waited for: [`heal`] lists the writes that give each of them its new port, and leaves
//! all others as they are. Moved entries are left for [`transition`](super::transition), starting from the tables that
//! [`Healing::apply`] produces.
//!
//! # Why no packet loops and no path is lost
//!
//! Consider one LID. An entry is written only when the entry at its new next hop arrives. An entry that arrives is
//! never written, and a packet in flight passes only such entries, so a path that works keeps working: the number of
//! pairs without a path never grows. A loop would consist of entries that do not arrive, which are still the installed
//! ones, so no write can close a loop. The new next hop may hold an old entry that differs from the new routes. That
//! does no harm: if it arrives, it arrives over switches that arrive, and the switch to be written is not one of them.
//! All broken entries are reached as well: the new path of a broken switch leads over broken switches to the first
//! switch that arrives, or to the destination, and they are written from there backwards.
//!
//! A device takes 64 entries in one write. Entries of one block may wait for different switches; they are written
//! together as soon as the last of them may be written. If two blocks wait for each other, one of them is written
//! twice.
//!
//! Pitfall: old and new routes that are each free of deadlock can close a cycle of channels together. Healing does not
//! prevent that, because a destination without a path is worse than a cycle that ends with the head-of-queue lifetime.
//! To detect it, verify the tables after [`Healing::apply`].
//!
//! Time O(LIDs * switches that changed) to find what broke, times the hops where cables came or moved, and
//! O(ports of a switch) for each broken entry.

mod broken;
mod nearest;
mod schedule;

use alloc::{vec, vec::Vec};
use core::ops::Range;

use ib_wire::{Lid, PortNum};

use self::{broken::Finder, nearest::Search, schedule::Schedule};
use super::{BLOCK, BlockRef};
use crate::{
    fabric::Fabric,
    index::SwitchIdx,
    lid::{Destination, LidMap},
    routes::{BlockReader, Routes},
    verify::LostPaths,
};

/// An entry to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealedEntry {
    /// The switch to write to.
    pub switch: SwitchIdx,
    /// The destination LID of the entry.
    pub lid: Lid,
    /// The new output port.
    pub port: PortNum,
    /// The number of the first write that contains the entry.
    pub write: usize,
}

/// A block to write to a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealingWrite {
    /// The switch and the block.
    pub step: BlockRef,
    /// Length of the longest chain of writes that must be answered before this one; 0 if it waits for none.
    pub stage: u32,
    /// The entries of this switch and block, written now or later.
    entries: Range<usize>,
    /// The writes that must be answered first.
    after: Range<usize>,
}

/// The writes after a failure, and their order.
///
/// Writes are numbered from 0, each after those that it waits for. [`HealingProgress`] reports the writes that may be
/// sent as answers arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Healing {
    /// The entries in the order of block, switch and LID.
    entries: Vec<HealedEntry>,
    writes: Vec<HealingWrite>,
    after: Vec<usize>,
    unreachable: u64,
}

/// The switches at which something may have changed since the installed tables connected every pair that cables joined.
///
/// Switches that have left the fabric need not be listed, and neither do LIDs whose port is new or has moved. A switch
/// may be in both lists. Pitfall: an entry that broke at a switch that no list contains is not found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes<'a> {
    /// Switches at which ports went down.
    pub lost: &'a [SwitchIdx],
    /// Switches that are new, at which a port came up or leads elsewhere, or whose last writes were not
    /// answered or not sent. The path of each of their entries is followed, which takes longer.
    pub other: &'a [SwitchIdx],
}

/// Finds the entries of `installed` that no longer arrive and orders the writes that mend them.
///
/// `fabric` and `lids` describe the current state; both `installed` and `new` are tables by the indices of its
/// switches. If the changes are not known, all switches of the fabric belong in [`Changes::other`]. Pairs that `new`
/// does not connect are left as they are, and counted as [`unreachable`](Healing::unreachable).
#[must_use]
pub fn heal(
    fabric: &Fabric,
    lids: &LidMap,
    installed: &Routes,
    new: &Routes,
    changes: Changes<'_>,
) -> Healing {
    let (installed, new) = (BlockReader::new(installed), BlockReader::new(new));
    let entries = |switch, lid| installed.port(switch, lid);
    let finder = Finder::new(fabric, entries, changes);
    find(all(lids), finder, |finder, lid, target| {
        finder.find(lid, target, &new);
    })
}

/// As [`heal`] after a loss of cables alone, in less time: `lost` are the paths that it took from `installed`, which
/// connected every pair before.
#[must_use]
pub fn heal_lost(
    fabric: &Fabric,
    lids: &LidMap,
    installed: &Routes,
    new: &Routes,
    lost: &LostPaths,
) -> Healing {
    let (installed, new) = (BlockReader::new(installed), BlockReader::new(new));
    let entries = |switch, lid| installed.port(switch, lid);
    let finder = Finder::new(fabric, entries, Changes::default());
    let lost = lost.cut_off().iter().map(|lost| (lost.lid, lost));
    find(lost, finder, |finder, lid, lost| {
        if let Some(target) = lids.owner(lid) {
            finder.find_lost(lid, target, &lost.switches, &new);
        }
    })
}

/// Finds the entries of `installed` that no longer arrive, and sends each over the nearest neighbour whose entry
/// arrives. These writes are possible before new routes exist.
///
/// Neighbours are chosen by the hops that are left from them; among equal ones an entry keeps its port if it can,
/// and the others are spread over them. `installed` gives the port by which a switch sends packets to a LID,
/// [`PortNum::UNREACHABLE`] where that is unknown. LIDs that do not leave their last switch by the right port are
/// left alone: their ports are new or moved, and carry no traffic. The switches of `empty` hold no entries yet: they
/// get none, and nothing is led over them. The detours obey no engine's rule, so that routes that were free of
/// deadlock can close a cycle with them: new routes have to follow.
///
/// Time O(LIDs * switches that changed), and O(ports * log broken entries of the LID) for each broken entry.
#[must_use]
pub fn detour(
    fabric: &Fabric,
    lids: &LidMap,
    installed: &dyn Fn(SwitchIdx, Lid) -> PortNum,
    changes: Changes<'_>,
    empty: &[SwitchIdx],
) -> Healing {
    let mut search = Search::new(fabric, empty);
    find(
        all(lids),
        Finder::new(fabric, installed, changes),
        |finder, lid, target| search.find(finder, lid, target),
    )
}

/// All LIDs with their owners, in order.
fn all(lids: &LidMap) -> impl Iterator<Item = (Lid, &Destination)> {
    let targets = lids.destinations().iter();
    targets.flat_map(|target| target.range.iter().map(move |lid| (lid, target)))
}

/// Finds broken entries LID by LID, in order, and orders the writes of each block.
fn find<'a, E: Fn(SwitchIdx, Lid) -> PortNum, T>(
    lids: impl Iterator<Item = (Lid, T)>,
    mut finder: Finder<'a, E>,
    mut of_lid: impl FnMut(&mut Finder<'a, E>, Lid, T),
) -> Healing {
    let mut schedule = Schedule::default();
    let mut block = 0;
    for (lid, target) in lids {
        if lid.0 / BLOCK != block {
            schedule.close_block(&mut finder.found);
            block = lid.0 / BLOCK;
        }
        of_lid(&mut finder, lid, target);
    }
    schedule.close_block(&mut finder.found);
    Healing {
        unreachable: finder.unreachable,
        ..schedule.healing
    }
}

impl Healing {
    /// Returns true if nothing is to be written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// The writes by number, each after those that it waits for.
    #[must_use]
    pub fn writes(&self) -> &[HealingWrite] {
        &self.writes
    }

    /// The numbers of the writes that must be answered before write `number` is sent, in order.
    #[must_use]
    pub fn after(&self, number: usize) -> &[usize] {
        let write = self.writes.get(number);
        write
            .and_then(|write| self.after.get(write.after.clone()))
            .unwrap_or_default()
    }

    /// All entries to write, by block, switch and LID.
    #[must_use]
    pub fn entries(&self) -> &[HealedEntry] {
        &self.entries
    }

    /// The new entries that a switch has in the block after write `number`, by LID, including those of earlier writes
    /// to the same block.
    pub fn entries_of(&self, number: usize) -> impl Iterator<Item = HealedEntry> + '_ {
        let write = self.writes.get(number);
        let entries = write.and_then(|write| self.entries.get(write.entries.clone()));
        let entries = entries.unwrap_or_default().iter().copied();
        entries.filter(move |entry| entry.write <= number)
    }

    /// The content of the block in write `number`, if the switch held `installed` before the first write.
    #[must_use]
    pub fn block(&self, number: usize, installed: [u8; 64]) -> [u8; 64] {
        let mut block = installed;
        for entry in self.entries_of(number) {
            if let Some(port) = block.get_mut(usize::from(entry.lid.0 % BLOCK)) {
                *port = entry.port.0;
            }
        }
        block
    }

    /// The new port of an entry that is healed; `None` for an entry that does not change.
    #[must_use]
    pub fn port(&self, switch: SwitchIdx, lid: Lid) -> Option<PortNum> {
        let key = |entry: &HealedEntry| (entry.lid.0 / BLOCK, entry.switch, entry.lid);
        let wanted = (lid.0 / BLOCK, switch, lid);
        let at = self.entries.binary_search_by_key(&wanted, key).ok()?;
        self.entries.get(at).map(|entry| entry.port)
    }

    /// Changes the installed tables to those that the switches have after the last write.
    pub fn apply(&self, installed: &mut Routes) {
        for entry in &self.entries {
            installed.set_port(entry.switch, entry.lid, entry.port);
        }
    }

    /// (switch, LID) pairs that neither the installed nor the new tables connect.
    #[must_use]
    pub const fn unreachable(&self) -> u64 {
        self.unreachable
    }
}

/// The progress of a healing: the writes that may be sent.
///
/// ```
/// use std::collections::VecDeque;
/// use ib_routing::update::heal::{Healing, HealingProgress};
///
/// fn run(healing: &Healing, mut write: impl FnMut(usize)) {
///     let mut progress = HealingProgress::new(healing);
///     let mut queue: VecDeque<usize> = progress.first().collect();
///     while let Some(number) = queue.pop_front() {
///         write(number); // send it, wait for the answer
///         queue.extend(progress.answered(number));
///     }
/// }
/// run(&Healing::default(), |_| unreachable!());
/// ```
#[derive(Clone, Debug, Default)]
pub struct HealingProgress {
    /// Number of answers that each write waits for.
    waiting: Vec<u32>,
    /// Index of the first follower of each write, with one more entry at the end.
    first_follower: Vec<usize>,
    followers: Vec<usize>,
}

impl HealingProgress {
    /// Nothing is written yet.
    #[must_use]
    pub fn new(healing: &Healing) -> Self {
        let numbers = 0..healing.writes.len();
        let mut first_follower = vec![0; healing.writes.len() + 1];
        for &first in &healing.after {
            if let Some(count) = first_follower.get_mut(first + 1) {
                *count += 1;
            }
        }
        let mut total = 0;
        for count in &mut first_follower {
            total += *count;
            *count = total;
        }
        let mut next = first_follower.clone();
        let mut followers = vec![0; healing.after.len()];
        for number in numbers.clone() {
            for &first in healing.after(number) {
                if let Some(at) = next.get_mut(first) {
                    if let Some(follower) = followers.get_mut(*at) {
                        *follower = number;
                    }
                    *at += 1;
                }
            }
        }
        Self {
            waiting: numbers
                .map(|number| healing.after(number).len() as u32)
                .collect(),
            first_follower,
            followers,
        }
    }

    /// The writes that wait for no answer.
    pub fn first(&self) -> impl Iterator<Item = usize> + '_ {
        let numbered = self.waiting.iter().enumerate();
        numbered.filter_map(|(number, waiting)| (*waiting == 0).then_some(number))
    }

    /// Records that write `number` is answered, and returns the writes that may be sent now. Call it once for each
    /// write, and not for a write that failed: writes that wait for a failed one are never sent.
    pub fn answered(&mut self, number: usize) -> Vec<usize> {
        let range = match self.first_follower.get(number..) {
            Some(&[start, end, ..]) => start..end,
            _ => 0..0,
        };
        let followers = self.followers.get(range).unwrap_or_default();
        let mut ready = Vec::new();
        for &follower in followers {
            if let Some(waiting) = self.waiting.get_mut(follower) {
                *waiting = waiting.saturating_sub(1);
                ready.extend((*waiting == 0).then_some(follower));
            }
        }
        ready
    }
}
