//! Peers for the cases: our manager in virtual time, and a transport that corrupts arriving datagrams.

use std::time::Duration;

use ib_mad::{Engine as _, Input, Instant, Mad};
use ib_routing::PortRef;
use ib_sim::{SharedSim, Sim, SimClock, SimOptions, SimTransport};
use ib_sm::{SmConfig, SubnetManager};
use ib_transport::{Clock as _, MadTransport, Received, TransportError};

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
            manager: SubnetManager::new(SmConfig::default(), sim.clock().now()),
            theirs: sim.attach(manager_at).unwrap(),
            sim,
        };
        let up = both.clock().now().saturating_add(Duration::from_secs(5));
        // The manager reads SMInfo from our port, but no case is running yet to answer.
        while both.recv(Some(up)).unwrap().is_some() {}
        both
    }

    pub(super) fn clock(&self) -> SimClock {
        self.sim.clock()
    }

    /// Lets the manager do the work that is due; returns when it wants to be called again.
    fn work(&mut self) -> Option<Instant> {
        let clock = self.clock();
        loop {
            let now = clock.now();
            while let Some(mad) = self.manager.poll_transmit(now) {
                self.theirs.send(&mad).unwrap();
            }
            while self.manager.poll_event().is_some() {}
            match self.theirs.recv(Some(now)).unwrap() {
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

    fn send(&mut self, mad: &Mad) -> Result<(), TransportError> {
        self.own.send(mad)
    }

    fn recv(&mut self, deadline: Option<Instant>) -> Result<Option<Received>, TransportError> {
        let deadline = deadline.unwrap();
        loop {
            let wake = self.work();
            let now = self.clock().now();
            if let Some(received) = self.own.recv(Some(now))? {
                return Ok(Some(received));
            }
            if now >= deadline {
                return Ok(None);
            }
            // Time advances no further than to the next event, which may be the manager's.
            let events = [wake, self.sim.next_at()];
            let next = events.into_iter().flatten().min();
            let until = next.map_or(deadline, |next| next.min(deadline)).max(now);
            self.sim.advance(until);
        }
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

    fn send(&mut self, mad: &Mad) -> Result<(), T::Error> {
        self.inner.send(mad)
    }

    fn recv(&mut self, deadline: Option<Instant>) -> Result<Option<Received>, T::Error> {
        Ok(self.inner.recv(deadline)?.map(|received| match received {
            Received::Mad(mut mad) => {
                (self.spoil)(&mut mad);
                Received::Mad(mad)
            }
            returned => returned,
        }))
    }
}
