//! Finds the entries to a LID that do not arrive, and for each the switch over which the new routes heal it.

use alloc::vec::Vec;

use ib_wire::{Lid, PortNum};

use super::Changes;
use crate::{
    fabric::Fabric,
    index::{Idx, IdxVec, SwitchIdx},
    lid::Destination,
    routes::BlockReader,
};

/// An entry to write, and the broken switch whose write it waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) switch: SwitchIdx,
    pub(super) lid: Lid,
    pub(super) port: PortNum,
    pub(super) after: Option<SwitchIdx>,
}

/// The state of a switch's entry for the LID that is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The switch is on the path that is being followed.
    Visited,
    /// A packet arrives by the installed tables.
    Arrives,
    /// A packet does not arrive by the installed tables.
    Broken,
    /// The switch is on the new path that is being followed.
    VisitedAgain,
    /// The new path does not arrive either.
    Unreachable,
    /// The entry arrives once this switch is written. It is the same switch or one further along the path.
    Healed(SwitchIdx),
}

/// Finds broken entries, LID by LID.
pub(super) struct Finder<'a, E> {
    pub(super) fabric: &'a Fabric,
    /// The port by which a switch sends packets to a LID.
    installed: E,
    changes: Changes<'a>,
    /// By switch: a bit for each port with a cable to another switch. Empty until it is needed.
    joined: IdxVec<SwitchIdx, [u64; 4]>,
    /// The state of each switch, and the LID that it was found for.
    states: IdxVec<SwitchIdx, (Lid, State)>,
    pub(super) broken: Vec<SwitchIdx>,
    path: Vec<SwitchIdx>,
    /// The entries found since the list was last emptied.
    pub(super) found: Vec<Found>,
    /// Pairs that the new tables do not connect either.
    pub(super) unreachable: u64,
}

impl<'a, E: Fn(SwitchIdx, Lid) -> PortNum> Finder<'a, E> {
    pub(super) fn new(fabric: &'a Fabric, installed: E, changes: Changes<'a>) -> Self {
        Self {
            fabric,
            installed,
            changes,
            joined: IdxVec::new(),
            // LID 0 is not a destination, so this state belongs to no LID.
            states: IdxVec::filled(fabric.num_switches(), (Lid(0), State::Visited)),
            broken: Vec::new(),
            path: Vec::new(),
            found: Vec::new(),
            unreachable: 0,
        }
    }

    /// Adds the entries for `lid`, which `target` owns, that are to be written so that `new` is followed.
    pub(super) fn find(&mut self, lid: Lid, target: &Destination, new: &BlockReader<'_>) {
        let Some(last) = target.switch else { return };
        self.broken.clear();
        if self.port(last, lid) == target.exit {
            self.find_broken(lid, last);
        } else {
            // If the last switch does not deliver, no other switch arrives either.
            for switch in self.fabric.switches().indices() {
                self.set(switch, lid, State::Broken);
                self.broken.push(switch);
            }
        }
        let broken = core::mem::take(&mut self.broken);
        for &switch in &broken {
            self.heal(switch, lid, target, new);
        }
        self.broken = broken;
    }

    /// As [`find`](Self::find), if the switches whose entry does not arrive are known.
    pub(super) fn find_lost(
        &mut self,
        lid: Lid,
        target: &Destination,
        broken: &[SwitchIdx],
        new: &BlockReader<'_>,
    ) {
        for &switch in broken {
            self.set(switch, lid, State::Broken);
        }
        for &switch in broken {
            self.heal(switch, lid, target, new);
        }
    }

    /// Lists the switches whose entry for `lid`, which leaves switch `last` for its owner, does not arrive.
    pub(super) fn find_broken(&mut self, lid: Lid, last: SwitchIdx) {
        self.broken.clear();
        self.set(last, lid, State::Arrives);
        for &switch in self.changes.other {
            self.walk(switch, lid, last);
        }
        for &switch in self.changes.lost {
            self.look(switch, lid);
        }
        self.climb(lid);
    }

    /// The installed entry.
    pub(super) fn port(&self, switch: SwitchIdx, lid: Lid) -> PortNum {
        (self.installed)(switch, lid)
    }

    pub(super) fn state(&self, switch: SwitchIdx, lid: Lid) -> Option<State> {
        let &(of, state) = self.states.find(switch)?;
        (of == lid).then_some(state)
    }

    pub(super) fn set(&mut self, switch: SwitchIdx, lid: Lid, state: State) {
        if let Some(entry) = self.states.find_mut(switch) {
            *entry = (lid, state);
        }
    }

    /// Follows the installed tables from a switch, and records for all switches on the path whether they arrive.
    fn walk(&mut self, from: SwitchIdx, lid: Lid, last: SwitchIdx) {
        if from.at() >= self.fabric.num_switches() {
            return;
        }
        let mut here = from;
        let outcome = loop {
            match self.state(here, lid) {
                None => {}
                Some(State::Arrives) => break State::Arrives,
                // A switch that is found twice is on a loop.
                Some(_) => break State::Broken,
            }
            self.set(here, lid, State::Visited);
            self.path.push(here);
            let port = self.port(here, lid);
            match self.fabric.channel_at(here, port) {
                Some(channel) if here != last => here = self.fabric.channel(channel).to,
                _ => break State::Broken,
            }
        };
        for switch in core::mem::take(&mut self.path) {
            self.set(switch, lid, outcome);
            if outcome == State::Broken {
                self.broken.push(switch);
            }
        }
    }

    /// Notes a switch whose entry leads nowhere.
    fn look(&mut self, switch: SwitchIdx, lid: Lid) {
        let is_known = switch.at() < self.fabric.num_switches();
        if !is_known || self.state(switch, lid).is_some() {
            return;
        }
        let port = self.port(switch, lid);
        if self.fabric.channel_at(switch, port).is_none() {
            self.set(switch, lid, State::Broken);
            self.broken.push(switch);
        }
    }

    /// Adds the switches whose installed entry leads to a broken one, and their neighbours with an entry that
    /// leads nowhere: where a cable joins two parts of a fabric, all of one part has no path to the other.
    fn climb(&mut self, lid: Lid) {
        if self.changes.other.len() >= self.fabric.num_switches() {
            return;
        }
        if self.joined.is_empty() && !self.broken.is_empty() {
            let switches = self.fabric.switches().indices();
            self.joined = switches
                .map(|switch| joined_ports(self.fabric, switch))
                .collect();
        }
        let mut next = 0;
        while let Some(&switch) = self.broken.get(next) {
            next += 1;
            for (_, channel) in self.fabric.channels_from(switch) {
                let neighbour = channel.to;
                // Most neighbours send elsewhere, so their states are not looked up.
                let port = self.port(neighbour, lid);
                if (port == channel.to_port || !self.is_joined(neighbour, port))
                    && self.state(neighbour, lid).is_none()
                {
                    self.set(neighbour, lid, State::Broken);
                    self.broken.push(neighbour);
                }
            }
        }
    }

    /// Returns true if a port has a cable to another switch.
    fn is_joined(&self, switch: SwitchIdx, port: PortNum) -> bool {
        let ports = self.joined[switch].get(usize::from(port.0) / 64);
        ports.is_some_and(|ports| ports >> (port.0 % 64) & 1 == 1)
    }

    /// Follows the new tables from a broken switch to the first switch that arrives, and adds the entries of the
    /// switches on that path.
    fn heal(&mut self, from: SwitchIdx, lid: Lid, target: &Destination, new: &BlockReader<'_>) {
        let mut here = from;
        // The switch that is written before those on the path, or that they cannot be healed.
        let mut after = loop {
            match self.state(here, lid) {
                Some(State::Broken) => {}
                Some(State::Healed(switch)) => break Ok(Some(switch)),
                None | Some(State::Arrives) => break Ok(None),
                Some(State::Visited | State::VisitedAgain | State::Unreachable) => break Err(()),
            }
            self.set(here, lid, State::VisitedAgain);
            self.path.push(here);
            let port = new.port(here, lid);
            if target.switch == Some(here) {
                break if port == target.exit {
                    Ok(None)
                } else {
                    Err(())
                };
            }
            match self.fabric.channel_at(here, port) {
                Some(channel) => here = self.fabric.channel(channel).to,
                None => break Err(()),
            }
        };
        while let Some(switch) = self.path.pop() {
            let Ok(before) = after else {
                self.set(switch, lid, State::Unreachable);
                self.unreachable += 1;
                continue;
            };
            let port = new.port(switch, lid);
            if port != self.port(switch, lid) {
                self.found.push(Found {
                    switch,
                    lid,
                    port,
                    after: before,
                });
                after = Ok(Some(switch));
            }
            if let Ok(Some(healed)) = after {
                self.set(switch, lid, State::Healed(healed));
            }
        }
    }
}

/// A bit for each port of a switch that has a cable to another one.
fn joined_ports(fabric: &Fabric, switch: SwitchIdx) -> [u64; 4] {
    let mut joined = [0; 4];
    for (_, channel) in fabric.channels_from(switch) {
        if let Some(ports) = joined.get_mut(usize::from(channel.port.0) / 64) {
            *ports |= 1 << (channel.port.0 % 64);
        }
    }
    joined
}
