//! Transports over a shared fabric and its virtual clock, for engines that run in the same process.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use ib_mad::{Engine, Instant, Mad};
use ib_routing::PortRef;
use ib_transport::{Clock, MadTransport, Received, TransportError};

use crate::event::SimError;
use crate::frame::FrameIdx;
use crate::node::PortIdx;
use crate::sim::Sim;

/// A fabric that several transports share, and its virtual clock. Clones are the same fabric.
///
/// Time passes only while a caller waits in [`SimTransport`]'s `wait`, or by [`advance`](Self::advance).
#[derive(Clone, Debug)]
pub struct SharedSim(Rc<RefCell<Shared>>);

#[derive(Debug)]
struct Shared {
    sim: Sim,
    /// Datagrams that have arrived at ports with transports; their frames are still in the fabric.
    inboxes: Vec<Inbox>,
}

#[derive(Debug)]
struct Inbox {
    port: PortIdx,
    arrived: VecDeque<FrameIdx>,
}

impl Sim {
    /// Makes the fabric one that transports can be attached to.
    #[must_use]
    pub fn share(self) -> SharedSim {
        SharedSim(Rc::new(RefCell::new(Shared {
            sim: self,
            inboxes: Vec::new(),
        })))
    }
}

impl SharedSim {
    /// Reads or changes the fabric.
    ///
    /// `look` must not use this handle or its transports: they are the same fabric, which is borrowed meanwhile.
    pub fn with<T>(&self, look: impl FnOnce(&mut Sim) -> T) -> T {
        look(&mut self.0.borrow_mut().sim)
    }

    /// A transport at a port. A second one at the same port shares its inbox.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`], or [`SimError::NoHost`] for a port that has none.
    pub fn attach(&self, port: PortRef) -> Result<SimTransport, SimError> {
        let mut shared = self.0.borrow_mut();
        shared.sim.attach(port, false)?;
        let index = shared.sim.port_idx(port);
        let index = index.ok_or(SimError::NoSuchPort { port })?;
        let own = shared.inboxes.iter().position(|inbox| inbox.port == index);
        let inbox = own.unwrap_or(shared.inboxes.len());
        if own.is_none() {
            shared.inboxes.push(Inbox {
                port: index,
                arrived: VecDeque::new(),
            });
        }
        Ok(SimTransport {
            shared: self.clone(),
            port,
            inbox,
        })
    }

    /// The next moment at which something happens by itself, if any.
    #[must_use]
    pub fn next_at(&self) -> Option<Instant> {
        self.0.borrow().sim.poll_timeout()
    }

    /// Lets time pass until `now`.
    pub fn advance(&self, now: Instant) {
        self.0.borrow_mut().advance(now);
    }
}

impl Shared {
    fn advance(&mut self, now: Instant) {
        self.sim.advance(now);
        self.sort();
    }

    /// Moves the datagrams that have arrived into the inboxes.
    fn sort(&mut self) {
        while let Some((port, frame)) = self.sim.outbox.pop_front() {
            match self.inboxes.iter_mut().find(|inbox| inbox.port == port) {
                Some(inbox) => inbox.arrived.push_back(frame),
                None => self.sim.frames.release(frame),
            }
        }
    }

    /// Lets the next thing happen, if it happens until `until`. Returns whether it did.
    fn step(&mut self, until: Option<Instant>) -> bool {
        let next = self.sim.poll_timeout();
        let next = next.filter(|&next| until.is_none_or(|until| next <= until));
        if let Some(next) = next {
            self.advance(next);
        }
        next.is_some()
    }

    /// Returns true if an inbox has a datagram.
    fn has_arrived(&self, inbox: usize) -> bool {
        let inbox = self.inboxes.get(inbox);
        inbox.is_some_and(|inbox| !inbox.arrived.is_empty())
    }

    /// The next datagram of an inbox.
    fn take(&mut self, inbox: usize) -> Option<Mad> {
        let frame = self.inboxes.get_mut(inbox)?.arrived.pop_front()?;
        Some(self.sim.unpack(frame))
    }
}

impl Clock for SharedSim {
    fn now(&self) -> Instant {
        self.0.borrow().sim.now()
    }
}

/// A host's port of the simulated fabric: a transport in virtual time.
///
/// Waiting costs no real time: `wait` lets the fabric run until something arrives or the moment is reached. Without
/// one it ends when nothing can ever arrive.
#[derive(Debug)]
pub struct SimTransport {
    shared: SharedSim,
    port: PortRef,
    /// Number of the port's inbox.
    inbox: usize,
}

impl SimTransport {
    /// The port that it is attached to.
    #[must_use]
    pub fn port(&self) -> PortRef {
        self.port
    }
}

impl MadTransport for SimTransport {
    type Error = TransportError;

    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), TransportError> {
        let mut shared = self.shared.0.borrow_mut();
        if shared.sim.now() < now {
            shared.advance(now);
        }
        shared.sim.send(self.port, mad);
        Ok(())
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, TransportError> {
        let mut shared = self.shared.0.borrow_mut();
        while !shared.has_arrived(self.inbox) && shared.step(Some(now)) {}
        Ok(shared.take(self.inbox).map(Received::Mad))
    }

    fn wait(&mut self, _: Instant, until: Option<Instant>) -> Result<bool, TransportError> {
        let mut shared = self.shared.0.borrow_mut();
        while !shared.has_arrived(self.inbox) {
            if shared.step(until) {
                continue;
            }
            let Some(until) = until else {
                return Ok(false);
            };
            shared.advance(until);
            return Ok(true);
        }
        Ok(true)
    }
}
