//! `Recorder`: a port of the simulated fabric that keeps what it sends.

use ib_mad::{Instant, Mad, MadHeader, Method};
use ib_routing::PortRef;
use ib_sim::{SharedSim, SimTransport};
use ib_transport::{MadTransport, Received, TransportError};

/// Changes a datagram on its way to the manager, as another device would have sent it. Returns false if it is lost.
pub type Alter = Box<dyn FnMut(&mut Mad) -> bool>;

/// Forwards every call and keeps the datagrams that were sent.
pub struct Recorder {
    /// The port of the transport.
    pub at: PortRef,
    inner: SimTransport,
    /// Every datagram so far.
    pub sent: Vec<Mad>,
    /// Changes each datagram that arrives; `None`: they arrive as they were sent.
    pub alter: Option<Alter>,
}

impl MadTransport for Recorder {
    type Error = TransportError;

    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), TransportError> {
        self.sent.push(*mad);
        self.inner.send(now, mad)
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, TransportError> {
        while let Some(received) = self.inner.recv(now)? {
            match (received, &mut self.alter) {
                (Received::Mad(mut mad), Some(alter)) => {
                    if alter(&mut mad) {
                        return Ok(Some(Received::Mad(mad)));
                    }
                }
                (received, _) => return Ok(Some(received)),
            }
        }
        Ok(None)
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, TransportError> {
        self.inner.wait(now, until)
    }
}

impl Recorder {
    /// A transport at a port of a simulated fabric that has sent nothing yet.
    pub fn new(sim: &SharedSim, at: PortRef) -> Self {
        Self {
            at,
            inner: sim.attach(at).unwrap(),
            sent: Vec::new(),
            alter: None,
        }
    }

    /// Sends from another port from now on; the datagrams so far are kept.
    pub fn move_to(&mut self, sim: &SharedSim, at: PortRef) {
        self.at = at;
        self.inner = sim.attach(at).unwrap();
    }

    /// Headers of the sent datagrams with this method.
    pub fn sent_with(&self, method: Method) -> Vec<MadHeader> {
        let headers = self.sent.iter().map(Mad::header);
        headers.filter(|header| header.method() == method).collect()
    }

    /// The sent datagrams that are not answers.
    #[must_use]
    pub fn num_requests(&self) -> usize {
        let requests = self.sent.iter();
        requests
            .filter(|mad| !mad.header().method().is_response())
            .count()
    }
}
