//! The one loop that joins a state machine, a transport and a clock.

use std::ops::ControlFlow;

use ib_mad::{CallError, Client, ClientEvent, Engine, FailureReason, Input, Instant, Mad, Request};

use crate::{MadTransport, Received, TransportError};

/// Tells the time. The simulator's is virtual.
pub trait Clock {
    /// This moment; never before an earlier answer.
    fn now(&self) -> Instant;

    /// The moment at which the engine sent, which has just been asked what it sends.
    fn sent(&self) -> Instant {
        self.now()
    }

    /// Takes in that a wait until `deadline` ended, with a datagram or without one; the moment at which it
    /// did, for the engine.
    fn wake(&self, deadline: Option<Instant>, arrived: bool) -> Instant {
        let _ = (deadline, arrived);
        self.now()
    }
}

/// The system's monotonic clock; its epoch is its creation.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock(std::time::Instant);

impl MonotonicClock {
    /// A clock that starts now.
    #[must_use]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Instant {
        Instant::ZERO + self.0.elapsed()
    }
}

/// Runs `engine` over `transport` until `on_event` breaks, and returns what it broke with.
///
/// Returns `None` once the engine waits for nothing: no timer runs and the transport has nothing.
///
/// # Errors
/// The transport's. A datagram that alone cannot be sent goes back to the engine instead.
pub fn drive<E, T, C, B>(
    engine: &mut E,
    transport: &mut T,
    clock: &C,
    mut on_event: impl FnMut(&mut E, E::Event) -> ControlFlow<B>,
) -> Result<Option<B>, TransportError>
where
    E: for<'a> Engine<Input<'a> = Input<'a>, Transmit = Mad>,
    T: MadTransport,
    C: Clock,
{
    loop {
        while let Some(mad) = engine.poll_transmit(clock.now()) {
            match transport.send(&mad) {
                Ok(()) => {}
                Err(TransportError::Unreachable { .. }) => {
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

/// Asks one request and waits for its answer: what a tool does that wants one thing at a time.
///
/// Messages that others send meanwhile are dropped.
///
/// # Errors
/// The transport's. What the call itself ends with is inside.
pub fn ask<R, T, C>(
    client: &mut Client<R>,
    request: R,
    transport: &mut T,
    clock: &C,
) -> Result<Result<R::Answer, R::Error>, TransportError>
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
