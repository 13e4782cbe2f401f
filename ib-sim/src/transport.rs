//! Transports and a clock over a shared fabric, for engines that run in the same process.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use ib_mad::{Engine, Instant, Mad};
use ib_routing::PortRef;
use ib_transport::{Clock, MadTransport, Received, TransportError};

use crate::sim::{Delivery, Sim, SimError};

/// A fabric that several transports and a clock share. Clones are the same fabric.
///
/// Time passes only while somebody waits in [`SimTransport`]'s `recv`, or by [`advance`](Self::advance).
#[derive(Clone, Debug)]
pub struct SharedSim(Rc<RefCell<Shared>>);

#[derive(Debug)]
struct Shared {
    sim: Sim,
    inboxes: BTreeMap<PortRef, VecDeque<Mad>>,
}

impl Sim {
    /// Makes the fabric one that transports can be attached to.
    #[must_use]
    pub fn share(self) -> SharedSim {
        SharedSim(Rc::new(RefCell::new(Shared {
            sim: self,
            inboxes: BTreeMap::new(),
        })))
    }
}

impl SharedSim {
    /// Looks at the fabric, or changes it.
    ///
    /// `look` must not use this handle or its transports: they are the same fabric.
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
        shared.inboxes.entry(port).or_default();
        Ok(SimTransport {
            shared: self.clone(),
            port,
        })
    }

    /// The clock of the fabric.
    #[must_use]
    pub fn clock(&self) -> SimClock {
        SimClock(self.clone())
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

    /// Puts what has arrived into the inboxes.
    fn sort(&mut self) {
        let now = self.sim.now();
        while let Some(Delivery { port, mad, .. }) = self.sim.poll_transmit(now) {
            if let Some(inbox) = self.inboxes.get_mut(&port) {
                inbox.push_back(mad);
            }
        }
    }
}

/// The virtual clock of a simulated fabric.
#[derive(Clone, Debug)]
pub struct SimClock(SharedSim);

impl Clock for SimClock {
    fn now(&self) -> Instant {
        self.0.0.borrow().sim.now()
    }
}

/// A host's way into the simulated fabric: a transport in virtual time.
///
/// Waiting costs no real time: `recv` lets the fabric run until something arrives or the deadline is reached. Without
/// a deadline it ends when nothing can ever arrive.
#[derive(Debug)]
pub struct SimTransport {
    shared: SharedSim,
    port: PortRef,
}

impl SimTransport {
    /// Where it is attached.
    #[must_use]
    pub fn port(&self) -> PortRef {
        self.port
    }
}

impl MadTransport for SimTransport {
    fn send(&mut self, mad: &Mad) -> Result<(), TransportError> {
        self.shared.0.borrow_mut().sim.send(self.port, mad);
        Ok(())
    }

    fn recv(&mut self, deadline: Option<Instant>) -> Result<Option<Received>, TransportError> {
        let mut shared = self.shared.0.borrow_mut();
        loop {
            let inbox = shared.inboxes.get_mut(&self.port);
            if let Some(mad) = inbox.and_then(VecDeque::pop_front) {
                return Ok(Some(Received::Mad(mad)));
            }
            let next = shared.sim.poll_timeout();
            let next = next.filter(|&next| deadline.is_none_or(|deadline| next <= deadline));
            match next {
                Some(next) => shared.advance(next),
                None => {
                    if let Some(deadline) = deadline {
                        shared.advance(deadline);
                        // What happened at this very moment has been looked at above.
                    }
                    return Ok(None);
                }
            }
        }
    }
}
