//! Every order of a few events among three managers: registrations, lost datagrams, the death of the master, a handover.
//!
//! The managers are the engines themselves. Whichever manager becomes the master holds what the one before it had
//! replicated, and after a handover everything.

use std::collections::BTreeSet;

use ib_wire::Lid;

use super::{Duration, Instant, MadAddress, Registrations, Replication, Sl, engine, members, own};
use crate::replication::Guid;

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
    engines: [Replication; 3],
    is_alive: [bool; 3],
    master: usize,
    now: Instant,
    version: u64,
    /// Members that the master has; member 1 registered first.
    count: u64,
    /// The numbers of members since everything last arrived: a master that dies leaves one of these.
    recent: BTreeSet<u64>,
    to_lose: usize,
}

fn guid(manager: usize) -> Guid {
    Guid(manager as u64 + 1)
}

fn address(manager: usize) -> MadAddress {
    MadAddress::gsi(Lid(manager as u16 + 1), Sl::ZERO)
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            engines: [engine(), engine(), engine()],
            is_alive: [true; 3],
            master: 0,
            now: Instant::ZERO,
            version: 0,
            count: 2,
            recent: BTreeSet::new(),
            to_lose: 0,
        };
        world.begin();
        world.settle();
        world
    }

    /// The master begins to replicate to the others.
    fn begin(&mut self) {
        let master = self.master;
        let others = (0..3).filter(|&other| other != master && self.is_alive[other]);
        let others: Vec<usize> = others.collect();
        for &other in &others {
            self.engines[other].stand_by_for(self.now, guid(master));
        }
        let found = others.iter().map(|&other| (guid(other), address(other)));
        self.engines[master].set_peers(self.now, &found.collect());
        self.tell();
    }

    /// The master's registrations have changed.
    fn tell(&mut self) {
        self.version += 1;
        self.recent.insert(self.count);
        let (now, own) = (self.now, own(guid(self.master), 5));
        self.engines[self.master].update(now, own, self.version, &members(self.count));
    }

    /// Passes up to `limit` datagrams within some time.
    fn run(&mut self, time: Duration, mut limit: usize) {
        let end = self.now.saturating_add(time);
        loop {
            let mut has_moved = false;
            for from in (0..3).filter(|&from| self.is_alive[from]) {
                while limit > 0
                    && let Some(mut mad) = self.engines[from].poll_transmit(self.now)
                {
                    (has_moved, limit) = (true, limit - 1);
                    let to = usize::from(mad.address.lid.0) - 1;
                    if self.to_lose > 0 {
                        self.to_lose -= 1;
                    } else if self.is_alive[to] {
                        mad.address.lid = address(from).lid;
                        let master = self.engines[to].last_master();
                        self.engines[to].handle_mad(self.now, own(guid(to), 5), master, &mad);
                    }
                }
            }
            if has_moved {
                continue;
            }
            let living = (0..3).filter(|&at| self.is_alive[at]);
            let due = living
                .filter_map(|at| self.engines[at].poll_timeout())
                .min();
            match due.filter(|at| *at <= end && limit > 0) {
                Some(at) => self.now = at.max(self.now),
                None => break,
            }
            for at in (0..3).filter(|&at| self.is_alive[at]) {
                let master = self.engines[at].last_master();
                self.engines[at].handle_timeout(self.now, own(guid(at), 5), master);
            }
        }
        self.now = end;
    }

    fn settle(&mut self) {
        self.run(Duration::from_secs(30), usize::MAX);
        self.recent = BTreeSet::from([self.count]);
    }

    /// The next manager in line.
    fn next(&self) -> Option<usize> {
        (0..3).find(|&at| at != self.master && self.is_alive[at])
    }

    /// The next manager becomes the master with the members that it holds.
    fn take_over(&mut self, next: usize) -> Option<Registrations> {
        let kept = self.engines[next].take_replica(self.now);
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
            Action::Lose => self.to_lose += 1,
            Action::Pass => self.run(Duration::from_millis(150), 2),
            Action::Settle => self.settle(),
            Action::Die => {
                let Some(next) = self.next() else { return };
                self.is_alive[self.master] = false;
                let kept = self.take_over(next);
                let mut possible = self.recent.iter();
                let found = possible.find(|&&count| kept == Some(members(count)));
                let found = found.unwrap_or_else(|| panic!("{history:?}: {kept:?}"));
                self.count = *found;
                self.begin();
            }
            Action::HandOver => {
                let Some(next) = self.next() else { return };
                let (now, own, master) = (self.now, own(guid(self.master), 5), self.master);
                self.engines[master].update(now, own, self.version, &members(self.count));
                self.engines[master].flush(now, own, guid(next));
                self.engines[master].retire(now);
                self.run(Duration::from_secs(10), usize::MAX);
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
        for at in (0..3).filter(|&at| at != world.master && world.is_alive[at]) {
            let held = world.engines[at].take_replica(world.now);
            assert_eq!(
                held,
                Some(members(world.count)),
                "{history:?}, manager {at}"
            );
        }
    }
}
