//! A recording, played back.

use std::{collections::VecDeque, ops::ControlFlow};

use ib_mad::{Engine, Input, Instant, Mad};

use crate::{Direction, RecordedMad, TransportError};

/// Feeds an engine from a recording, and checks that the engine sends what was recorded.
///
/// Time is the recording's. [`drive`](crate::drive) gives an engine only moments that are in a recording or follow from
/// it, so the same engine makes the same decisions again.
///
/// ```
/// use core::{convert::Infallible, ops::ControlFlow};
/// use ib_mad::{Call, Client, ClientConfig, ClientEvent, Instant, Mad, MadAddress, Method, MgmtClass, PortCounters};
/// use ib_mad::Engine as _;
/// use ib_transport::{Direction, RecordedMad, Replay};
/// use ib_wire::{Lid, Sl};
///
/// // What a client sent, and the answer that it got.
/// let call = || Call::<PortCounters>::get(MgmtClass::PERF, 0).to(MadAddress::gsi(Lid(7), Sl::ZERO));
/// let mut client = Client::new(ClientConfig::default());
/// client.ask(call())?;
/// let sent = client.poll_transmit(Instant::ZERO).ok_or("nothing was sent")?;
/// let mut answer = sent;
/// answer.header_mut().set_method(Method::GET_RESP);
/// let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
/// let mut replay = Replay::new([
///     RecordedMad { at: at(1), direction: Direction::Sent, mad: sent },
///     RecordedMad { at: at(3), direction: Direction::Received, mad: answer },
/// ]);
///
/// let mut second = Client::new(ClientConfig::default());
/// second.ask(call())?;
/// let ended = replay.drive(&mut second, |_, event| match event {
///     ClientEvent::Ended { .. } => ControlFlow::Break(()),
///     ClientEvent::Unsolicited(_) => ControlFlow::Continue(()),
/// })?;
/// assert_eq!((ended, replay.now(), replay.left()), (Some(()), at(3), 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Replay {
    records: VecDeque<RecordedMad>,
    now: Instant,
}

impl Replay {
    /// A player of `records`, which are in the order of time.
    #[must_use]
    pub fn new(records: impl IntoIterator<Item = RecordedMad>) -> Self {
        let records: VecDeque<RecordedMad> = records.into_iter().collect();
        // The recording's clock may have been running for long: time starts with it.
        let now = records.front().map_or(Instant::ZERO, |first| first.at);
        Self { records, now }
    }

    /// The moment that was reached; at first that of the first record.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Records that have not been played yet.
    #[must_use]
    pub fn left(&self) -> usize {
        self.records.len()
    }

    /// Runs `engine` on the recording until `on_event` breaks, and returns what it broke with.
    ///
    /// Returns `None` once the engine waits for nothing: no timer runs and the recording has ended.
    ///
    /// # Errors
    /// [`Diverged`](TransportError::Diverged) if the engine sends what the recording does not have there, or sends
    /// after its end.
    pub fn drive<E, B>(
        &mut self,
        engine: &mut E,
        mut on_event: impl FnMut(&mut E, E::Event) -> ControlFlow<B>,
    ) -> Result<Option<B>, TransportError>
    where
        E: for<'a> Engine<Input<'a> = Input<'a>, Transmit = Mad>,
    {
        loop {
            while let Some(mad) = engine.poll_transmit(self.sending()) {
                self.now = self.sending();
                if self.play_sent(&mad)? == Direction::Refused {
                    engine.handle_input(self.now, Input::SendFailed(&mad));
                }
            }
            while let Some(event) = engine.poll_event() {
                if let ControlFlow::Break(value) = on_event(engine, event) {
                    return Ok(Some(value));
                }
            }
            let deadline = engine.poll_timeout();
            let arrived = self.play_arrival(deadline);
            let Some(at) = arrived.map(|record| record.at).or(deadline) else {
                return Ok(None);
            };
            self.now = at.max(self.now);
            match arrived {
                Some(record) if record.direction == Direction::Returned => {
                    engine.handle_input(self.now, Input::Returned(&record.mad));
                }
                Some(record) => engine.handle_input(self.now, Input::Mad(&record.mad)),
                None => engine.handle_timeout(self.now),
            }
        }
    }

    /// Time at which the engine sends, if it sends now.
    fn sending(&self) -> Instant {
        let next = self.records.front();
        let next = next.filter(|record| record.direction == Direction::Sent);
        next.map_or(self.now, |record| record.at.max(self.now))
    }

    /// Takes the next record if it is one that `fits`.
    fn take(&mut self, fits: impl FnOnce(&RecordedMad) -> bool) -> Option<RecordedMad> {
        let record = *self.records.front().filter(|record| fits(record))?;
        self.records.pop_front();
        Some(record)
    }

    /// Compares what the engine sends. Returns whether it was sent or refused.
    fn play_sent(&mut self, mad: &Mad) -> Result<Direction, TransportError> {
        let sent = self.take(|record| record.direction == Direction::Sent && record.mad == *mad);
        if sent.is_none() {
            let mut expected = self.records.iter();
            let expected = expected.find(|record| record.direction == Direction::Sent);
            return Err(TransportError::Diverged {
                sent: Box::new(*mad),
                expected: expected.map(|record| Box::new(record.mad)),
            });
        }
        let refused = self.take(|record| record.direction == Direction::Refused);
        Ok(refused.map_or(Direction::Sent, |_| Direction::Refused))
    }

    /// Takes the next record if it arrived until `deadline`. Where the engine sent next, its timer had run out.
    fn play_arrival(&mut self, deadline: Option<Instant>) -> Option<RecordedMad> {
        let until = deadline.map(|deadline| deadline.max(self.now));
        self.take(|record| {
            record.direction != Direction::Sent && until.is_none_or(|until| record.at <= until)
        })
    }
}

#[cfg(test)]
mod tests;
