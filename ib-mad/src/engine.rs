//! The shape of every state machine in these crates: no clock, no thread, no socket inside.

use crate::Instant;

/// A state machine without I/O: its host feeds it inputs and polls it for datagrams, timers and events.
///
/// After every `handle_*` call or command the host drains [`poll_transmit`](Self::poll_transmit) and
/// [`poll_event`](Self::poll_event) to `None`, then sleeps until [`poll_timeout`](Self::poll_timeout)
/// or the next input. `now` never goes back. A `handle_timeout` before its time does nothing. Each
/// call is bounded work. The same inputs at the same times give the same bytes out.
pub trait Engine {
    /// An input.
    type Input<'a>;
    /// A datagram to send.
    type Transmit;
    /// An event for the host.
    type Event;

    /// Takes in what happened.
    fn handle_input(&mut self, now: Instant, input: Self::Input<'_>);

    /// Does what is due at `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// The next thing to send; its time-out starts now.
    #[must_use]
    fn poll_transmit(&mut self, now: Instant) -> Option<Self::Transmit>;

    /// Time of the next call of [`handle_timeout`](Self::handle_timeout); `None` if none is due.
    #[must_use]
    fn poll_timeout(&self) -> Option<Instant>;

    /// The next thing to report.
    #[must_use]
    fn poll_event(&mut self) -> Option<Self::Event>;
}
