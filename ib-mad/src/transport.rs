//! The loop that joins a state machine, a transport and a clock; it needs no operating system.
//!
//! An adapter, a simulator or a radio link implements [`MadTransport`]; [`drive`] runs an [`Engine`] over it
//! until the host has what it wants. `ib-transport` has the transports of an operating system.

use core::{convert::Infallible, ops::ControlFlow};

#[cfg(feature = "alloc")]
use crate::{CallError, Client, ClientEvent, FailureReason, Request};
use crate::{Engine, Input, Instant, Mad};

/// Sends and receives management datagrams: an adapter, a simulator, a link with faults.
///
/// A transport has no clock: whoever uses it reads the time and passes it. `now` never goes back.
pub trait MadTransport {
    /// Why the transport refuses a datagram or cannot go on.
    type Error: TransportFailure;

    /// Sends one datagram at `now`; does not wait for an answer.
    ///
    /// The transport may keep it back, to send several together. It leaves at the latest when [`recv`](Self::recv) finds
    /// no datagram, in [`wait`](Self::wait), in [`flush`](Self::flush) and when the transport is dropped. Datagrams leave in
    /// the order of their calls.
    ///
    /// # Errors
    /// An error that is [unreachable](TransportFailure::is_unreachable) if this datagram cannot go out while
    /// others may; any other error ends the use of the transport.
    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), Self::Error>;

    /// The next datagram that has arrived at `now`; does not wait.
    ///
    /// # Errors
    /// The error ends the use of the transport.
    fn recv(&mut self, now: Instant) -> Result<Option<Received>, Self::Error>;

    /// Waits from `now` until a datagram may be there, or until `until`; without one, until a datagram may be there.
    ///
    /// It may return earlier; the caller reads the time again. Returns `false` if no datagram can ever arrive, as in
    /// a simulated fabric in which nothing is under way.
    ///
    /// # Errors
    /// The error ends the use of the transport.
    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, Self::Error>;

    /// Sends at `now` what [`send`](Self::send) has kept back: for a caller that does something else next. Does nothing
    /// by default, for transports that keep nothing back.
    ///
    /// # Errors
    /// The error ends the use of the transport.
    fn flush(&mut self, now: Instant) -> Result<(), Self::Error> {
        let _ = now;
        Ok(())
    }
}

impl<T: MadTransport + ?Sized> MadTransport for &mut T {
    type Error = T::Error;

    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), T::Error> {
        (**self).send(now, mad)
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, T::Error> {
        (**self).recv(now)
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, T::Error> {
        (**self).wait(now, until)
    }

    fn flush(&mut self, now: Instant) -> Result<(), T::Error> {
        (**self).flush(now)
    }
}

/// An error of a transport.
pub trait TransportFailure: core::error::Error {
    /// Returns true if only this datagram could not be sent: the transport works on for others.
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

/// Tells the time: the only place of a program that reads it. The simulator's is virtual.
pub trait Clock {
    /// This moment; never before an earlier answer.
    fn now(&self) -> Instant;
}

/// Runs `engine` over `transport` until `on_event` breaks, and returns what it broke with.
///
/// Returns `None` once the engine waits for nothing: no timer runs and no datagram can arrive.
///
/// The engine sees only moments of events: the arrival of a datagram, the deadline of a timer, and the moment at which
/// it sends. A timer that is handled late is handled at its deadline, and a datagram that is found after the deadline
/// counts as received at it. So a recording of the datagrams holds all times that the engine has seen, but those of
/// polls that had no effect. The reading before a transmit is the real time, as the engine may have computed for long
/// and the time-out of a request starts when it is sent.
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
///     fn send(&mut self, _now: Instant, mad: &Mad) -> Result<(), Infallible> {
///         let mut answer = *mad;
///         answer.header_mut().set_method(Method::GET_RESP);
///         self.0 = Some(answer);
///         Ok(())
///     }
///     fn recv(&mut self, _now: Instant) -> Result<Option<Received>, Infallible> {
///         Ok(self.0.take().map(Received::Mad))
///     }
///     fn wait(&mut self, _now: Instant, _until: Option<Instant>) -> Result<bool, Infallible> {
///         Ok(self.0.is_some())
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
    let mut now = clock.now();
    loop {
        let sending = clock.now().max(now);
        while let Some(mad) = engine.poll_transmit(sending) {
            now = sending;
            match transport.send(now, &mad) {
                Ok(()) => {}
                Err(error) if error.is_unreachable() => {
                    engine.handle_input(now, Input::SendFailed(&mad));
                }
                Err(error) => return Err(error),
            }
        }
        let mut next = engine.poll_event();
        if next.is_some() {
            // The host may take its time over an event, or end the loop.
            transport.flush(sending)?;
        }
        while let Some(event) = next {
            if let ControlFlow::Break(value) = on_event(engine, event) {
                return Ok(Some(value));
            }
            next = engine.poll_event();
        }
        let deadline = engine.poll_timeout();
        let turn = Turn::wait(transport, clock, now, deadline)?;
        now = turn.at;
        match turn.received {
            Some(Received::Mad(mad)) => engine.handle_input(now, Input::Mad(&mad)),
            Some(Received::Returned(mad)) => engine.handle_input(now, Input::Returned(&mad)),
            None if turn.is_last && deadline.is_none() => return Ok(None),
            None => engine.handle_timeout(now),
        }
    }
}

/// Waits for the next datagram until `deadline`, or for ever without one: for a loop of one's own.
///
/// Returns the moment at which the wait ended as well. No datagram is returned at the deadline, and once none can
/// ever arrive.
///
/// # Errors
/// The transport's.
pub fn receive<T: MadTransport, C: Clock>(
    transport: &mut T,
    clock: &C,
    deadline: Option<Instant>,
) -> Result<(Instant, Option<Received>), T::Error> {
    let mut now = Instant::ZERO;
    loop {
        let turn = Turn::wait(transport, clock, now, deadline)?;
        now = turn.at;
        let is_due = deadline.is_some_and(|deadline| deadline <= now);
        if turn.received.is_some() || turn.is_last || is_due {
            return Ok((now, turn.received));
        }
    }
}

/// The event that ended a wait.
struct Turn {
    /// When: at the deadline at the latest.
    at: Instant,
    received: Option<Received>,
    /// No datagram can ever arrive.
    is_last: bool,
}

impl Turn {
    /// Waits once, if nothing is there: until something may be, or until `deadline`. Time is `now` at least.
    fn wait<T: MadTransport, C: Clock>(
        transport: &mut T,
        clock: &C,
        now: Instant,
        deadline: Option<Instant>,
    ) -> Result<Self, T::Error> {
        let moment = || {
            let reading = clock.now();
            deadline
                .map_or(reading, |deadline| deadline.min(reading))
                .max(now)
        };
        let at = moment();
        let received = transport.recv(at)?;
        if received.is_some() || deadline.is_some_and(|deadline| deadline <= at) {
            return Ok(Self {
                at,
                received,
                is_last: false,
            });
        }
        let may_arrive = transport.wait(at, deadline)?;
        let at = moment();
        let received = transport.recv(at)?;
        Ok(Self {
            at,
            received,
            is_last: !may_arrive && received.is_none(),
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MadAddress;

    /// Sends one datagram and reports one event.
    #[derive(Default)]
    struct Once {
        has_sent: bool,
        has_reported: bool,
    }

    impl Engine for Once {
        type Input<'a> = Input<'a>;
        type Transmit = Mad;
        type Event = ();

        fn handle_input(&mut self, _: Instant, _: Input<'_>) {}

        fn handle_timeout(&mut self, _: Instant) {}

        fn poll_transmit(&mut self, _: Instant) -> Option<Mad> {
            let is_first = !core::mem::replace(&mut self.has_sent, true);
            is_first.then(|| Mad::new(MadAddress::DIRECTED))
        }

        fn poll_timeout(&self) -> Option<Instant> {
            None
        }

        fn poll_event(&mut self) -> Option<()> {
            let is_first = !core::mem::replace(&mut self.has_reported, true);
            is_first.then_some(())
        }
    }

    /// Keeps everything back until it is flushed.
    #[derive(Default)]
    struct Keeping {
        kept: u32,
        sent: u32,
    }

    impl MadTransport for Keeping {
        type Error = Infallible;

        fn send(&mut self, _: Instant, _: &Mad) -> Result<(), Infallible> {
            self.kept += 1;
            Ok(())
        }

        fn recv(&mut self, _: Instant) -> Result<Option<Received>, Infallible> {
            Ok(None)
        }

        fn wait(&mut self, _: Instant, _: Option<Instant>) -> Result<bool, Infallible> {
            Ok(false)
        }

        fn flush(&mut self, _: Instant) -> Result<(), Infallible> {
            self.sent += core::mem::take(&mut self.kept);
            Ok(())
        }
    }

    struct Still;

    impl Clock for Still {
        fn now(&self) -> Instant {
            Instant::ZERO
        }
    }

    #[test]
    fn what_the_engine_sent_has_left_before_the_host_gets_an_event() {
        let mut transport = Keeping::default();
        let end = drive(&mut Once::default(), &mut transport, &Still, |_, ()| {
            ControlFlow::Break(())
        });
        assert_eq!(end, Ok(Some(())));
        assert_eq!((transport.kept, transport.sent), (0, 1));
    }
}
