//! Every order of a few events among three managers: registrations, lost datagrams, the death of the master, a handover.
//!
//! The managers are the engines themselves. Whichever manager becomes the master holds what the one before it had
//! replicated, and after a handover everything.

use std::collections::BTreeSet;

use super::{
    Duration, Registrations, members, own,
    trio::{Trio, address, guid},
};

/// Events in a row.
const DEPTH: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// A host registers.
    Register,
    /// The host that registered last goes.
    Leave,
    /// The next datagram will be lost.
    Lose,
    /// Two datagrams arrive.
    Pass,
    /// Time enough for everything to arrive.
    Settle,
    Die,
    HandOver,
}

const ACTIONS: [Action; 7] = [
    Action::Register,
    Action::Leave,
    Action::Lose,
    Action::Pass,
    Action::Settle,
    Action::Die,
    Action::HandOver,
];

/// Three managers, the first living of which is next.
struct World {
    trio: Trio,
    master: usize,
    version: u64,
    /// Members that the master has; member 1 registered first.
    count: u64,
    /// The numbers of members since everything last arrived: a master that dies leaves one of these.
    recent: BTreeSet<u64>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            trio: Trio::new(),
            master: 0,
            version: 0,
            count: 2,
            recent: BTreeSet::new(),
        };
        world.begin();
        world.settle();
        world
    }

    /// The master begins to replicate to the others.
    fn begin(&mut self) {
        let master = self.master;
        let others = (0..3).filter(|&other| other != master && self.trio.is_alive[other]);
        let others: Vec<usize> = others.collect();
        for &other in &others {
            self.trio.engines[other].stand_by_for(self.trio.now, guid(master));
        }
        let found = others.iter().map(|&other| (guid(other), address(other)));
        self.trio.engines[master].set_peers(self.trio.now, &found.collect());
        self.tell();
    }

    /// The master's registrations have changed.
    fn tell(&mut self) {
        self.version += 1;
        self.recent.insert(self.count);
        let (now, own) = (self.trio.now, own(guid(self.master), 5));
        self.trio.engines[self.master].update(now, own, self.version, &members(self.count));
    }

    fn settle(&mut self) {
        self.trio.run(Duration::from_secs(30), usize::MAX);
        self.recent = BTreeSet::from([self.count]);
    }

    /// The next manager in line.
    fn next(&self) -> Option<usize> {
        (0..3).find(|&at| at != self.master && self.trio.is_alive[at])
    }

    /// The next manager becomes the master with the members that it holds.
    fn take_over(&mut self, next: usize) -> Option<Registrations> {
        let kept = self.trio.engines[next].take_replica(self.trio.now);
        self.master = next;
        kept
    }

    fn act(&mut self, action: Action, history: &[Action]) {
        match action {
            Action::Register | Action::Leave => {
                self.count = match action {
                    Action::Register => self.count + 1,
                    _ => self.count.saturating_sub(1).max(1),
                };
                self.tell();
            }
            Action::Lose => self.trio.to_lose += 1,
            Action::Pass => self.trio.run(Duration::from_millis(150), 2),
            Action::Settle => self.settle(),
            Action::Die => {
                let Some(next) = self.next() else { return };
                self.trio.is_alive[self.master] = false;
                let kept = self.take_over(next);
                let mut possible = self.recent.iter();
                let found = possible.find(|&&count| kept == Some(members(count)));
                let found = found.unwrap_or_else(|| panic!("{history:?}: {kept:?}"));
                self.count = *found;
                self.begin();
            }
            Action::HandOver => {
                let Some(next) = self.next() else { return };
                let (now, own, master) = (self.trio.now, own(guid(self.master), 5), self.master);
                self.trio.engines[master].update(now, own, self.version, &members(self.count));
                self.trio.engines[master].flush(now, own, guid(next));
                self.trio.engines[master].retire(now);
                self.trio.run(Duration::from_secs(10), usize::MAX);
                let kept = self.take_over(next);
                assert_eq!(kept, Some(members(self.count)), "{history:?}");
                self.begin();
            }
        }
    }
}

#[test]
fn no_order_of_events_loses_a_membership_that_was_replicated() {
    let number = ACTIONS.len();
    for which in 0..number.pow(DEPTH) {
        let history: Vec<Action> = (0..DEPTH)
            .map(|at| ACTIONS[which / number.pow(at) % number])
            .collect();
        let mut world = World::new();
        for &action in &history {
            world.act(action, &history);
        }
        // In the end every living standby holds what the master has.
        world.settle();
        for at in (0..3).filter(|&at| at != world.master && world.trio.is_alive[at]) {
            let held = world.trio.engines[at].take_replica(world.trio.now);
            assert_eq!(
                held,
                Some(members(world.count)),
                "{history:?}, manager {at}"
            );
        }
    }
}
