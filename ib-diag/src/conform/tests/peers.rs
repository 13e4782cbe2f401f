//! Peers for the cases: our manager in virtual time, and a transport that corrupts arriving datagrams.

use std::time::Duration;

use ib_mad::{Engine as _, Input, Instant, Mad};
use ib_routing::PortRef;
use ib_sim::{SharedSim, Sim, SimOptions, SimTransport};
use ib_sm::{SmConfig, SubnetManager};
use ib_transport::{Clock as _, MadTransport, Received, TransportError, receive};

use crate::testing::fabric;

/// Two hosts: ours, and the host of a manager that works whenever a case waits.
pub(super) struct WithManager {
    sim: SharedSim,
    own: SimTransport,
    manager: SubnetManager,
    theirs: SimTransport,
}

impl WithManager {
    pub(super) fn new(name: &str) -> Self {
        let fabric = fabric(name);
        let sim = Sim::new(&fabric, SimOptions::default()).share();
        let nodes = fabric.nodes().iter_enumerated();
        let mut hosts = nodes.filter(|(_, node)| !node.type_.is_switch());
        let mut next = || {
            let (node, of) = hosts.next().unwrap();
            let (port, _) = of.ports().find(|(_, port)| port.peer.is_some()).unwrap();
            PortRef { node, port }
        };
        let (manager_at, own_at) = (next(), next());
        sim.with(|sim| {
            sim.set_is_sm(manager_at, true).unwrap();
            sim.set_is_sm(own_at, true).unwrap();
        });
        let mut both = Self {
            own: sim.attach(own_at).unwrap(),
            manager: SubnetManager::new(SmConfig::default(), sim.now()),
            theirs: sim.attach(manager_at).unwrap(),
            sim,
        };
        let clock = both.clock();
        let up = clock.now().saturating_add(Duration::from_secs(5));
        // The manager reads SMInfo from our port, but no case is running yet to answer.
        while receive(&mut both, &clock, Some(up)).unwrap().1.is_some() {}
        both
    }

    /// The virtual clock that the cases are run by.
    pub(super) fn clock(&self) -> SharedSim {
        self.sim.clone()
    }

    /// Lets the manager do the work that is due; returns when it wants to be called again.
    fn work(&mut self) -> Option<Instant> {
        loop {
            let now = self.sim.now();
            while let Some(mad) = self.manager.poll_transmit(now) {
                self.theirs.send(now, &mad).unwrap();
            }
            while self.manager.poll_event().is_some() {}
            match self.theirs.recv(now).unwrap() {
                Some(Received::Mad(mad)) => self.manager.handle_input(now, Input::Mad(&mad)),
                Some(Received::Returned(mad)) => {
                    self.manager.handle_input(now, Input::Returned(&mad));
                }
                None => match self.manager.poll_timeout() {
                    Some(at) if at <= now => self.manager.handle_timeout(now),
                    at => return at,
                },
            }
        }
    }
}

impl MadTransport for WithManager {
    type Error = TransportError;

    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), TransportError> {
        self.own.send(now, mad)
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, TransportError> {
        self.work();
        self.own.recv(now)
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, TransportError> {
        // Time advances no further than to the next event, which may be the manager's.
        let events = [self.work(), self.sim.next_at(), until];
        let next = events.into_iter().flatten().min();
        if let Some(next) = next {
            self.sim.advance(next.max(now));
        }
        Ok(next.is_some())
    }
}

/// A transport that lets a function corrupt every arriving datagram.
pub(super) struct Tampered<T> {
    inner: T,
    spoil: fn(&mut Mad),
}

impl<T> Tampered<T> {
    pub(super) fn new(inner: T, spoil: fn(&mut Mad)) -> Self {
        Self { inner, spoil }
    }
}

impl<T: MadTransport> MadTransport for Tampered<T> {
    type Error = T::Error;

    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), T::Error> {
        self.inner.send(now, mad)
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, T::Error> {
        self.inner.wait(now, until)
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, T::Error> {
        Ok(self.inner.recv(now)?.map(|received| match received {
            Received::Mad(mut mad) => {
                (self.spoil)(&mut mad);
                Received::Mad(mad)
            }
            returned => returned,
        }))
    }
}
