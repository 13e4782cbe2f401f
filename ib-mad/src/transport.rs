//! The loop that joins a state machine, a transport and a clock; it needs no operating system.
//!
//! An adapter, a simulator or a radio link implements [`MadTransport`]; [`drive`] runs an [`Engine`] over it
//! until the host has what it wants. `ib-transport` has the transports of an operating system.

use core::{convert::Infallible, ops::ControlFlow};

#[cfg(feature = "alloc")]
use crate::{CallError, Client, ClientEvent, FailureReason, Request};
use crate::{Engine, Input, Instant, Mad};

/// Sends and receives management datagrams: an adapter, a simulator, a replayed capture.
pub trait MadTransport {
    /// Why the transport refuses a datagram or cannot go on.
    type Error: TransportFailure;

    /// Sends one datagram; does not wait for anything.
    ///
    /// # Errors
    /// An error that is [unreachable](TransportFailure::is_unreachable) if this datagram cannot go out while
    /// others may; any other error ends the use of the transport.
    fn send(&mut self, mad: &Mad) -> Result<(), Self::Error>;

    /// Waits for the next datagram until `deadline`, or for ever without one.
    ///
    /// `None` at the deadline. With a moment that has passed it returns what is there already.
    ///
    /// # Errors
    /// The error ends the use of the transport.
    fn recv(&mut self, deadline: Option<Instant>) -> Result<Option<Received>, Self::Error>;
}

impl<T: MadTransport + ?Sized> MadTransport for &mut T {
    type Error = T::Error;

    fn send(&mut self, mad: &Mad) -> Result<(), T::Error> {
        (**self).send(mad)
    }

    fn recv(&mut self, deadline: Option<Instant>) -> Result<Option<Received>, T::Error> {
        (**self).recv(deadline)
    }
}

/// An error of a transport.
pub trait TransportFailure: core::error::Error {
    /// Whether only this datagram could not be sent: the transport works on for others.
    #[must_use]
    fn is_unreachable(&self) -> bool;
}

impl TransportFailure for Infallible {
    fn is_unreachable(&self) -> bool {
        match *self {}
    }
}

/// A datagram that a transport received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// A datagram from the fabric.
    Mad(Mad),
    /// The layer below returned a datagram of ours: no answer came, or there is no path.
    Returned(Mad),
}

/// Tells the time. The simulator's is virtual.
pub trait Clock {
    /// This moment; never before an earlier answer.
    fn now(&self) -> Instant;

    /// The moment at which the last transmit was polled.
    fn sent(&self) -> Instant {
        self.now()
    }

    /// Records that a wait until `deadline` ended, with a datagram or without one, and returns the moment
    /// at which it did, for the engine.
    fn wake(&self, deadline: Option<Instant>, arrived: bool) -> Instant {
        let _ = (deadline, arrived);
        self.now()
    }
}

/// Runs `engine` over `transport` until `on_event` breaks, and returns what it broke with.
///
/// Returns `None` once the engine waits for nothing: no timer runs and the transport has nothing.
///
/// ```
/// use core::{convert::Infallible, ops::ControlFlow};
/// use ib_mad::transport::{Clock, MadTransport, Received, drive};
/// use ib_mad::{Call, Client, ClientConfig, ClientEvent, Instant, Mad, MadAddress, Method, MgmtClass, PortCounters};
/// use ib_wire::{Lid, Sl};
///
/// /// A link whose other end answers each Get with its own bytes.
/// struct Echo(Option<Mad>);
///
/// impl MadTransport for Echo {
///     type Error = Infallible;
///     fn send(&mut self, mad: &Mad) -> Result<(), Infallible> {
///         let mut answer = *mad;
///         answer.header_mut().set_method(Method::GET_RESP);
///         self.0 = Some(answer);
///         Ok(())
///     }
///     fn recv(&mut self, _deadline: Option<Instant>) -> Result<Option<Received>, Infallible> {
///         Ok(self.0.take().map(Received::Mad))
///     }
/// }
///
/// struct Timer;
///
/// impl Clock for Timer {
///     fn now(&self) -> Instant {
///         Instant::ZERO
///     }
/// }
///
/// let mut client = Client::new(ClientConfig::default());
/// let address = MadAddress::gsi(Lid(7), Sl::ZERO);
/// client.ask(Call::<PortCounters>::get(MgmtClass::PERF, 0).to(address))?;
/// let counters = drive(&mut client, &mut Echo(None), &Timer, |_, event| match event {
///     ClientEvent::Ended { outcome, .. } => ControlFlow::Break(outcome),
///     ClientEvent::Unsolicited(_) => ControlFlow::Continue(()),
/// })?;
/// assert!(matches!(counters, Some(Ok(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The transport's. A datagram that alone cannot be sent goes back to the engine instead.
pub fn drive<E, T, C, B>(
    engine: &mut E,
    transport: &mut T,
    clock: &C,
    mut on_event: impl FnMut(&mut E, E::Event) -> ControlFlow<B>,
) -> Result<Option<B>, T::Error>
where
    E: for<'a> Engine<Input<'a> = Input<'a>, Transmit = Mad>,
    T: MadTransport,
    C: Clock,
{
    loop {
        while let Some(mad) = engine.poll_transmit(clock.now()) {
            match transport.send(&mad) {
                Ok(()) => {}
                Err(error) if error.is_unreachable() => {
                    engine.handle_input(clock.now(), Input::SendFailed(&mad));
                }
                Err(error) => return Err(error),
            }
        }
        while let Some(event) = engine.poll_event() {
            if let ControlFlow::Break(value) = on_event(engine, event) {
                return Ok(Some(value));
            }
        }
        let deadline = engine.poll_timeout();
        match transport.recv(deadline)? {
            Some(Received::Mad(mad)) => engine.handle_input(clock.now(), Input::Mad(&mad)),
            Some(Received::Returned(mad)) => {
                engine.handle_input(clock.now(), Input::Returned(&mad));
            }
            None if deadline.is_none() => return Ok(None),
            None => engine.handle_timeout(clock.now()),
        }
    }
}

/// Sends one request and waits for its answer: for a tool that wants one thing at a time.
///
/// Messages that others send meanwhile are dropped.
///
/// # Errors
/// The transport's. The outcome of the request itself is inside.
#[cfg(feature = "alloc")]
pub fn ask<R, T, C>(
    client: &mut Client<R>,
    request: R,
    transport: &mut T,
    clock: &C,
) -> Result<Result<R::Output, R::Error>, T::Error>
where
    R: Request,
    T: MadTransport,
    C: Clock,
{
    if let Err(refused) = client.ask(request) {
        return Ok(Err(refused.error.into()));
    }
    let outcome = drive(client, transport, clock, |_, event| match event {
        ClientEvent::Ended { outcome, .. } => ControlFlow::Break(outcome),
        ClientEvent::Unsolicited(_) => ControlFlow::Continue(()),
    })?;
    // A transport that has nothing more is as good as silent.
    Ok(outcome.unwrap_or_else(|| Err(CallError::Unanswered(FailureReason::TimedOut).into())))
}
