//! Listening in: every datagram that passes a transport, with its time and direction.

#[cfg(feature = "capture")]
mod packet;

use ib_mad::{Instant, Mad, transport::TransportFailure as _};

#[cfg(feature = "capture")]
pub use packet::{RecordWriter, Recording, read_records};

use crate::{MadTransport, Received};

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
pub struct RecordedMad {
    /// The time at which it passed.
    pub at: Instant,
    /// Its direction.
    pub direction: Direction,
    /// The datagram and the other end's address.
    pub mad: Mad,
}

/// A transport that shows each datagram to `sink` before it passes it on.
///
/// A replay of the recording by [`Replay`](crate::Replay) brings an engine to the same decisions, if the engine was
/// driven by [`drive`](crate::drive).
#[derive(Debug)]
pub struct Tap<T, S> {
    transport: T,
    sink: S,
}

impl<T, S> Tap<T, S>
where
    T: MadTransport,
    S: FnMut(&RecordedMad),
{
    /// Wraps `transport`.
    pub const fn new(transport: T, sink: S) -> Self {
        Self { transport, sink }
    }

    /// The transport inside.
    pub fn into_inner(self) -> T {
        self.transport
    }

    fn show(&mut self, at: Instant, direction: Direction, mad: &Mad) {
        (self.sink)(&RecordedMad {
            at,
            direction,
            mad: *mad,
        });
    }
}

impl<T, S> MadTransport for Tap<T, S>
where
    T: MadTransport,
    S: FnMut(&RecordedMad),
{
    type Error = T::Error;

    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), T::Error> {
        self.show(now, Direction::Sent, mad);
        let sent = self.transport.send(now, mad);
        if sent.as_ref().is_err_and(|error| error.is_unreachable()) {
            self.show(now, Direction::Refused, mad);
        }
        sent
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, T::Error> {
        let received = self.transport.recv(now)?;
        match &received {
            Some(Received::Mad(mad)) => self.show(now, Direction::Received, mad),
            Some(Received::Returned(mad)) => self.show(now, Direction::Returned, mad),
            None => {}
        }
        Ok(received)
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, T::Error> {
        self.transport.wait(now, until)
    }

    fn flush(&mut self, now: Instant) -> Result<(), T::Error> {
        self.transport.flush(now)
    }
}
