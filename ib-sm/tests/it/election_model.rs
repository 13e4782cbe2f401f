//! The election, model-checked: every interleaving of two and of three managers, with lost answers and orders, a
//! manager that dies, and an operator who disables one.
//!
//! From every reachable state the managers must still be able to agree: a continuation in which nothing more is
//! lost must end with exactly one master, for which all others are in STANDBY.

use ib_mad::SmKey;
use ib_sm::election::{Election, ElectionAction, ElectionInput};
use ib_smp::{SmControl, SmInfo, SmState};
use ib_wire::Guid;
use stateright::{Checker, Model, Property};

/// One manager.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Manager {
    election: Election,
    alive: bool,
    /// The answers that its discovery has read so far, in the order of the managers; `None` for a manager that
    /// did not answer.
    found: Vec<Option<(u8, SmState)>>,
    /// The master for which it is in STANDBY.
    polls: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    managers: Vec<Manager>,
    /// SMInfo Sets that have not arrived: from, to, control.
    orders: Vec<(usize, usize, u32)>,
    losses: u8,
    deaths: u8,
    disables: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Move {
    /// A discovery reads the next manager's SMInfo, or gets no answer.
    Read(usize, bool),
    /// A discovery is over.
    Decide(usize),
    /// A standby polls; `false`: no try is answered.
    Poll(usize, bool),
    /// The oldest order arrives, or gets lost.
    Deliver(bool),
    /// A master disables a standby.
    Disable(usize, usize),
    Die(usize),
}

struct Managers {
    priorities: Vec<u8>,
    losses: u8,
    deaths: u8,
    disables: u8,
}

impl Manager {
    fn discovers(&self) -> bool {
        matches!(
            self.election.state(),
            SmState::DISCOVERING | SmState::MASTER
        )
    }
}

impl World {
    fn info(&self, index: usize, state: SmState, priority: u8) -> SmInfo {
        let mut info = SmInfo::default();
        info.set_guid(Guid(index as u64 + 1))
            .set_priority(priority)
            .set_sm_state(state);
        info
    }

    fn current(&self, index: usize) -> SmInfo {
        self.managers[index].election.current()
    }

    fn handle(&mut self, index: usize, input: ElectionInput<'_>) {
        // A refused order changes nothing.
        let Ok(action) = self.managers[index].election.handle(input) else {
            return;
        };
        let manager = &mut self.managers[index];
        match action {
            ElectionAction::None | ElectionAction::Configure => {}
            ElectionAction::Sweep => {
                manager.found.clear();
                manager.polls = None;
            }
            ElectionAction::StopPolling => manager.polls = None,
            ElectionAction::Poll(guid) => manager.polls = Some(guid.0 as usize - 1),
            ElectionAction::HandOver(guid) => {
                let to = guid.0 as usize - 1;
                manager.polls = Some(to);
                self.orders.push((index, to, SmControl::HANDOVER.0));
            }
        }
        if self.managers[index].election.state() == SmState::MASTER {
            self.managers[index].polls = None;
        }
    }

    fn decide(&mut self, index: usize) {
        let others = (0..self.managers.len()).filter(|&other| other != index);
        let found: Vec<_> = others
            .zip(&self.managers[index].found)
            .filter_map(|(other, found)| Some((other, (*found)?)))
            .map(|(other, (priority, state))| self.info(other, state, priority))
            .collect();
        self.managers[index].found.clear();
        self.handle(index, ElectionInput::Discovered(&found));
    }

    /// The manager that a discovery asks next; `None` after the last one.
    fn next_other(&self, index: usize) -> Option<usize> {
        let mut others = (0..self.managers.len()).filter(|&other| other != index);
        others.nth(self.managers[index].found.len())
    }

    fn read(&mut self, index: usize, answered: bool) {
        if let Some(other) = self.next_other(index) {
            let info = self.current(other);
            let answers = answered && self.managers[other].alive;
            let answer = answers.then(|| (info.priority(), info.sm_state()));
            self.managers[index].found.push(answer);
        }
    }

    fn poll(&mut self, index: usize, answered: bool) {
        let polled = self.managers[index]
            .polls
            .filter(|&polled| self.managers[polled].alive);
        match polled.filter(|_| answered) {
            Some(polled) => {
                let info = self.current(polled);
                self.handle(index, ElectionInput::PollAnswered(&info));
            }
            None => self.handle(index, ElectionInput::PollFailed),
        }
    }

    fn deliver(&mut self) {
        let (from, to, order) = self.orders.remove(0);
        if self.managers[to].alive {
            // Orders carry the state in which they were given.
            let sender = self.info(from, SmState::MASTER, self.current(from).priority());
            let order = SmControl(order);
            self.handle(
                to,
                ElectionInput::Control {
                    order,
                    sender: &sender,
                },
            );
        }
    }

    /// A run in which every manager gets its turn and nothing is lost.
    fn settle(mut self) -> Self {
        for _ in 0..12 {
            for index in 0..self.managers.len() {
                while !self.orders.is_empty() {
                    self.deliver();
                }
                let manager = &self.managers[index];
                if !manager.alive {
                    continue;
                }
                if manager.discovers() {
                    while self.next_other(index).is_some() {
                        self.read(index, true);
                    }
                    self.decide(index);
                } else if manager.election.state() == SmState::STANDBY {
                    self.poll(index, true);
                }
            }
        }
        self
    }

    fn masters(&self) -> Vec<usize> {
        let each = self.managers.iter().enumerate();
        let masters = each
            .filter(|(_, manager)| manager.alive && manager.election.state() == SmState::MASTER);
        masters.map(|(index, _)| index).collect()
    }

    /// Checks that there is one master, and that all others are in STANDBY for it or are disabled.
    fn is_agreed(&self) -> bool {
        let [master] = self.masters()[..] else {
            // None of the managers that are left may become the master.
            return self
                .managers
                .iter()
                .all(|manager| !manager.alive || manager.election.state() == SmState::NOT_ACTIVE);
        };
        self.managers.iter().enumerate().all(|(index, manager)| {
            let state = manager.election.state();
            index == master
                || !manager.alive
                || state == SmState::NOT_ACTIVE
                || (state == SmState::STANDBY && manager.polls == Some(master))
        })
    }
}

impl Model for Managers {
    type State = World;
    type Action = Move;

    fn init_states(&self) -> Vec<World> {
        let managers = self
            .priorities
            .iter()
            .enumerate()
            .map(|(index, &priority)| Manager {
                election: Election::new(Guid(index as u64 + 1), priority, SmKey(0), false),
                alive: true,
                found: Vec::new(),
                polls: None,
            });
        vec![World {
            managers: managers.collect(),
            orders: Vec::new(),
            losses: self.losses,
            deaths: self.deaths,
            disables: self.disables,
        }]
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        let lossy = world.losses > 0;
        for (index, manager) in world
            .managers
            .iter()
            .enumerate()
            .filter(|(_, manager)| manager.alive)
        {
            let others = (0..world.managers.len()).filter(|&other| other != index);
            if manager.discovers() {
                match world.next_other(index) {
                    None => moves.push(Move::Decide(index)),
                    Some(_) => {
                        moves.push(Move::Read(index, true));
                        moves.extend(lossy.then_some(Move::Read(index, false)));
                    }
                }
            }
            if manager.election.state() == SmState::STANDBY {
                moves.push(Move::Poll(index, true));
                if lossy {
                    moves.push(Move::Poll(index, false));
                }
            }
            if manager.election.state() == SmState::MASTER && world.disables > 0 {
                moves.extend(others.map(|other| Move::Disable(index, other)));
            }
            if world.deaths > 0 {
                moves.push(Move::Die(index));
            }
        }
        if !world.orders.is_empty() {
            moves.push(Move::Deliver(true));
            if lossy {
                moves.push(Move::Deliver(false));
            }
        }
    }

    fn next_state(&self, last: &World, action: Move) -> Option<World> {
        let mut world = last.clone();
        match action {
            Move::Read(index, answered) => {
                world.losses -= u8::from(!answered);
                world.read(index, answered);
            }
            Move::Decide(index) => world.decide(index),
            Move::Poll(index, answered) => {
                world.losses -= u8::from(!answered);
                world.poll(index, answered);
            }
            Move::Deliver(true) => world.deliver(),
            Move::Deliver(false) => {
                world.losses -= 1;
                world.orders.remove(0);
            }
            Move::Disable(from, to) => {
                world.disables -= 1;
                world.orders.push((from, to, SmControl::DISABLE.0));
            }
            Move::Die(index) => {
                world.deaths -= 1;
                world.managers[index].alive = false;
            }
        }
        Some(world)
    }

    fn within_boundary(&self, world: &World) -> bool {
        world.orders.len() <= 2
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(
                "the managers can still agree on one master",
                |_, world: &World| world.clone().settle().is_agreed(),
            ),
            Property::sometimes("two are masters at once for a while", |_, world: &World| {
                world.masters().len() > 1
            }),
            Property::sometimes(
                "the highest becomes the master",
                |model: &Self, world: &World| {
                    let highest =
                        (0..model.priorities.len()).max_by_key(|&index| model.priorities[index]);
                    world.masters() == Vec::from_iter(highest)
                },
            ),
        ]
    }
}

fn check(model: Managers) {
    let checker = model.checker().threads(2).spawn_bfs().join();
    println!("{} states", checker.unique_state_count());
    checker.assert_properties();
}

#[test]
fn two_managers_agree_whatever_gets_lost() {
    check(Managers {
        priorities: vec![1, 2],
        losses: 3,
        deaths: 1,
        disables: 1,
    });
    check(Managers {
        priorities: vec![0, 0],
        losses: 3,
        deaths: 1,
        disables: 1,
    });
}

#[test]
fn three_managers_agree_whatever_gets_lost() {
    check(Managers {
        priorities: vec![1, 2, 3],
        losses: 1,
        deaths: 1,
        disables: 0,
    });
    check(Managers {
        priorities: vec![2, 1, 2],
        losses: 1,
        deaths: 0,
        disables: 1,
    });
}
