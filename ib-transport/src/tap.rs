//! Listening in: every datagram that passes a transport, with its time and direction.

mod clock;
#[cfg(feature = "capture")]
mod packet;

use ib_mad::{Instant, Mad, transport::TransportFailure as _};

pub use clock::TappedClock;
#[cfg(feature = "capture")]
pub use packet::{RecordWriter, Recording, read_records};

use crate::{Clock, MadTransport, Received};

/// Direction of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// We sent it.
    Sent,
    /// It came from the fabric.
    Received,
    /// The layer below gave it back to us: it was sent before, and no answer came.
    Returned,
    /// The layer below refused what we just sent: it never went out.
    Refused,
}

/// One datagram that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it passed.
    pub at: Instant,
    /// Its direction.
    pub direction: Direction,
    /// The datagram and the other end's address.
    pub mad: Mad,
}

/// A transport that shows each datagram to `sink` before it passes it on.
///
/// A replay of the recording by [`Replay`](crate::Replay) brings an engine to the same decisions: in
/// virtual time always, in real time if the engine was driven by a [`TappedClock`].
#[derive(Debug)]
pub struct Tap<T, C, S> {
    transport: T,
    clock: C,
    sink: S,
}

impl<T, C, S> Tap<T, C, S>
where
    T: MadTransport,
    C: Clock,
    S: FnMut(&Record),
{
    /// Wraps `transport`; `clock` is the one that the engine is driven by, or a clone of it.
    pub const fn new(transport: T, clock: C, sink: S) -> Self {
        Self {
            transport,
            clock,
            sink,
        }
    }

    /// The transport inside.
    pub fn into_inner(self) -> T {
        self.transport
    }

    fn show(&mut self, at: Instant, direction: Direction, mad: &Mad) {
        (self.sink)(&Record {
            at,
            direction,
            mad: *mad,
        });
    }
}

impl<T, C, S> MadTransport for Tap<T, C, S>
where
    T: MadTransport,
    C: Clock,
    S: FnMut(&Record),
{
    type Error = T::Error;

    fn send(&mut self, mad: &Mad) -> Result<(), T::Error> {
        let at = self.clock.sent();
        self.show(at, Direction::Sent, mad);
        let sent = self.transport.send(mad);
        if sent.as_ref().is_err_and(|error| error.is_unreachable()) {
            self.show(at, Direction::Refused, mad);
        }
        sent
    }

    fn recv(&mut self, deadline: Option<Instant>) -> Result<Option<Received>, T::Error> {
        let received = self.transport.recv(deadline)?;
        let at = self.clock.wake(deadline, received.is_some());
        match &received {
            Some(Received::Mad(mad)) => self.show(at, Direction::Received, mad),
            Some(Received::Returned(mad)) => self.show(at, Direction::Returned, mad),
            None => {}
        }
        Ok(received)
    }
}
