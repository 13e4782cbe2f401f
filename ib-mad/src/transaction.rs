//! The transaction window: requests that wait for an answer (IBA vol. 1, 13.4.6.3 and 13.4.7).
//!
//! A window of requests: a request goes out, is matched with its answer by the transaction ID and the
//! class, is sent again after a time-out and given up in the end. The window also limits the requests on
//! the wire, in all and per destination, because devices drop what they cannot buffer. Pitfall: an answer
//! may arrive after its time-out, or twice; the window distinguishes it from requests of others.

mod attempt;
mod config;
mod destination;
mod limit;
mod outcome;
mod round_trip;
mod slab;
#[cfg(test)]
mod tests;
mod timers;

use alloc::collections::VecDeque;
use core::fmt;

pub use self::{
    config::{Backoff, EarlyRepeat, InFlight, Overflow, RequestOptions, WindowConfig},
    outcome::{
        Answer, FailureReason, MadMatch, RequestFailure, WindowCounters, WindowEvent, WindowFull,
    },
};
use self::{
    destination::Destinations,
    limit::Limit,
    round_trip::RoundTrips,
    slab::{Entry, Fifo, Index, Slab, State},
    timers::Timers,
};
use crate::{Engine, Input, Instant, Mad, MadHeader, Method, MgmtClass, TransactionId};

/// Outstanding requests: matching, time-outs, repetitions, limits.
///
/// `C` is what the caller keeps for each request: what it asked and why. It comes back with the
/// answer or with the [`RequestFailure`].
///
/// It can be used in two forms. As an [`Engine`] it is complete and reports [`WindowEvent`]s. Inside
/// another engine call [`handle_mad`](Self::handle_mad) with each datagram, which classifies it at once and
/// copies nothing, and [`poll_failure`](Self::poll_failure) after everything else.
///
/// Each operation takes constant time, but for the timers' O(log(in flight)); nothing is allocated
/// once the tables have grown to the largest number of requests.
///
/// ```
/// use ib_mad::{
///     Engine, Instant, Mad, MadAddress, Method, MgmtClass, MadMatch, TransactionWindow,
///     WindowConfig,
/// };
/// use ib_wire::Lid;
///
/// let mut window = TransactionWindow::new(WindowConfig::default());
/// let mut mad = Mad::new(MadAddress::smi(Lid(7)));
/// mad.header_mut()
///     .set_base_version(1)
///     .set_class_version(1)
///     .set_mgmt_class(MgmtClass::SUBN_LID)
///     .set_method(Method::GET);
/// window.request(&mad, "who is LID 7?")?;
///
/// let now = Instant::ZERO;
/// let sent = window.poll_transmit(now).expect("one request is open");
/// let mut answer = sent;
/// answer.header_mut().set_method(Method::GET_RESP);
/// match window.handle_mad(now, &answer) {
///     MadMatch::Answer(answer) => assert_eq!(answer.context, "who is LID 7?"),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TransactionWindow<C> {
    config: WindowConfig,
    next_id: TransactionId,
    slab: Slab<C>,
    timers: Timers,
    destinations: Destinations,
    limit: Limit,
    round_trips: RoundTrips,
    /// On the wire, or about to be sent again.
    in_flight: u32,
    /// The time at which the last new request was sent or answered, for [`Overflow`].
    progress_at: Instant,
    /// Counted in `in_flight`, to be sent again.
    resend: Fifo,
    /// Allowed by their destination's limit.
    ready: Fifo,
    failed: Fifo,
    /// Events of the [`Engine`] interface.
    events: VecDeque<WindowEvent<C>>,
    counters: WindowCounters,
}

impl<C> TransactionWindow<C> {
    /// An empty window.
    #[must_use]
    pub fn new(config: WindowConfig) -> Self {
        let config = WindowConfig {
            max_requests: config.max_requests.min(Index::MAX_ENTRIES),
            ..config
        };
        Self {
            next_id: config.first_transaction_id,
            slab: Slab::new(),
            timers: Timers::new(),
            destinations: Destinations::new(config.per_destination),
            limit: Limit::new(config.in_flight),
            round_trips: RoundTrips::default(),
            in_flight: 0,
            progress_at: Instant::ZERO,
            resend: Fifo::EMPTY,
            ready: Fifo::EMPTY,
            failed: Fifo::EMPTY,
            events: VecDeque::new(),
            counters: WindowCounters::default(),
            config,
        }
    }

    /// Queues a request with the window's own time-out and repetitions; see
    /// [`request_with`](Self::request_with).
    ///
    /// # Errors
    /// [`WindowFull`] with the context.
    pub fn request(&mut self, mad: &Mad, context: C) -> Result<TransactionId, WindowFull<C>> {
        self.request_with(mad, RequestOptions::default(), context)
    }

    /// Queues a request. The window gives it a transaction ID of its own, whatever `mad` says.
    ///
    /// It goes out from [`poll_transmit`](Engine::poll_transmit) once the limits allow, in the order of
    /// the requests to a destination. A Trap is a request that a TrapRepress answers; a Send is one
    /// only where the class has an answer to it (baseboard management).
    ///
    /// # Errors
    /// [`WindowFull`] with the context, if [`max_requests`](WindowConfig::max_requests) are open.
    pub fn request_with(
        &mut self,
        mad: &Mad,
        options: RequestOptions,
        context: C,
    ) -> Result<TransactionId, WindowFull<C>> {
        if self.slab.len() >= self.config.max_requests {
            return Err(WindowFull(context));
        }
        let id = self.fresh_id();
        let destination = options.destination.or_else(|| {
            let lid = mad.address.lid;
            lid.is_unicast().then_some(u64::from(lid.0))
        });
        let entry = Entry::new(
            options.timeout.unwrap_or(self.config.timeout),
            options.retries.unwrap_or(self.config.retries),
        );
        let index = self.slab.insert(entry, id, mad, context);
        self.direct(index, destination);
        Ok(id)
    }

    /// Takes in a datagram and says what it is.
    pub fn handle_mad(&mut self, now: Instant, mad: &Mad) -> MadMatch<C> {
        self.counters.received = self.counters.received.wrapping_add(1);
        let header = mad.header();
        let Some(index) = self.asked(&header) else {
            return if header.method().is_response() {
                self.counters.stale = self.counters.stale.wrapping_add(1);
                MadMatch::Stale
            } else {
                self.counters.unsolicited = self.counters.unsolicited.wrapping_add(1);
                MadMatch::Unsolicited
            };
        };
        let status = header.status();
        if status.is_busy() && self.wait_for_busy(now, index)
            || status.is_redirect() && self.follow_redirect(index, mad)
        {
            return MadMatch::Pending;
        }
        match self.answered(now, index) {
            Some(answer) => MadMatch::Answer(answer),
            None => MadMatch::Stale,
        }
    }

    /// Takes in any input. The result is the context of the request that a datagram answers, with the datagram.
    ///
    /// It is for engines that only ask: datagrams that answer no request, such as traps, are passed over.
    pub fn handle_answer<'a>(&mut self, now: Instant, input: Input<'a>) -> Option<(C, &'a Mad)> {
        match input {
            Input::Mad(mad) => match self.handle_mad(now, mad) {
                MadMatch::Answer(answer) => return Some((answer.context, mad)),
                MadMatch::Pending | MadMatch::Unsolicited | MadMatch::Stale => {}
            },
            Input::SendFailed(mad) => self.handle_send_failed(mad),
            Input::Returned(mad) => self.handle_returned(mad),
        }
        None
    }

    /// Ends a request that was answered by other means: by a message of many datagrams, which has been
    /// put together.
    pub fn complete(
        &mut self,
        now: Instant,
        class: MgmtClass,
        id: TransactionId,
    ) -> Option<Answer<C>> {
        let index = self.slab.find(id.low(), class)?;
        self.answered(now, index)
    }

    /// Takes in that a datagram could not be sent: its time-out is over at once.
    pub fn handle_send_failed(&mut self, mad: &Mad) {
        self.attempt_lost(mad, FailureReason::NotSent);
    }

    /// The layer below waited for the answer in vain: the attempt timed out, early by our own clock.
    pub fn handle_returned(&mut self, mad: &Mad) {
        self.attempt_lost(mad, FailureReason::TimedOut);
    }

    /// The next request that was given up.
    #[must_use]
    pub fn poll_failure(&mut self) -> Option<RequestFailure<C>> {
        let index = self.slab.pop(&mut self.failed)?;
        let request = *self.slab.mad(index)?;
        let (entry, context) = self.slab.free(index)?;
        let reason = match entry.state {
            State::Failed(reason) => reason,
            // The list has no other entries.
            _ => FailureReason::TimedOut,
        };
        Some(RequestFailure {
            context,
            request,
            reason,
            attempts: entry.attempts,
        })
    }

    /// As [`poll_transmit`](Engine::poll_transmit), without a copy.
    #[must_use]
    pub fn poll_transmit_ref(&mut self, now: Instant) -> Option<&Mad> {
        let index = self.next_to_send(now)?;
        let entry = self.slab.get_mut(index)?;
        if entry.attempts == 0 {
            entry.first_sent_at = now;
            self.progress_at = now;
        } else {
            self.counters.retried = self.counters.retried.wrapping_add(1);
        }
        entry.state = State::InFlight;
        let whole = self.config.backoff.wait(entry.timeout, entry.in_a_row);
        let is_last = entry.in_a_row >= entry.retries;
        let early = self.config.early_repeat.filter(|_| !is_last);
        let wait = early
            .and_then(|early| self.round_trips.wait(early))
            .map_or(whole, |early| early.min(whole));
        entry.attempts = entry.attempts.saturating_add(1);
        entry.in_a_row = entry.in_a_row.saturating_add(1);
        self.timers.insert(index, now.saturating_add(wait));
        self.counters.sent = self.counters.sent.wrapping_add(1);
        self.slab.mad(index)
    }

    /// Gives up a request without a [`RequestFailure`] and returns its context. An answer that still comes
    /// is [`Stale`](MadMatch::Stale).
    pub fn cancel(&mut self, class: MgmtClass, id: TransactionId) -> Option<C> {
        let index = self.slab.find(id.low(), class)?;
        let (_, context) = self.finish(index)?;
        Some(context)
    }

    /// Gives up every request whose context `keep` refuses, without a [`RequestFailure`].
    pub fn retain(&mut self, mut keep: impl FnMut(&C) -> bool) {
        for index in self.slab.indices() {
            if self
                .slab
                .context(index)
                .is_some_and(|context| !keep(context))
            {
                self.finish(index);
            }
        }
    }

    /// Moves the time-out of a request that was sent to `until`: its answer is arriving, in many
    /// packets. Returns whether there is such a request.
    pub fn extend_deadline(&mut self, class: MgmtClass, id: TransactionId, until: Instant) -> bool {
        let Some(index) = self.slab.find(id.low(), class) else {
            return false;
        };
        match self.slab.state(index) {
            Some(State::InFlight) => self.timers.remove(index),
            // The answer came just when it was to be asked for again.
            Some(State::Resend) => {
                self.slab.unlink(&mut self.resend, index);
                if let Some(entry) = self.slab.get_mut(index) {
                    entry.state = State::InFlight;
                }
            }
            _ => return false,
        }
        self.timers.insert(index, until);
        true
    }

    /// Returns true if an open request is on the wire, or about to be sent again.
    pub(crate) fn is_sent(&self, class: MgmtClass, id: TransactionId) -> bool {
        let index = self.slab.find(id.low(), class);
        let state = index.and_then(|index| self.slab.state(index));
        matches!(state, Some(State::InFlight | State::Resend))
    }

    /// The context of an open request.
    #[must_use]
    pub fn context(&self, class: MgmtClass, id: TransactionId) -> Option<&C> {
        self.slab.context(self.slab.find(id.low(), class)?)
    }

    /// The datagram of an open request, as it is sent.
    #[must_use]
    pub fn datagram(&self, class: MgmtClass, id: TransactionId) -> Option<&Mad> {
        self.slab.mad(self.slab.find(id.low(), class)?)
    }

    /// The contexts of all open requests, in no particular order.
    pub fn contexts(&self) -> impl Iterator<Item = &C> {
        let indices = self.slab.indices();
        indices.filter_map(|index| self.slab.context(index))
    }

    /// The context of an open request, to change what is kept there.
    #[must_use]
    pub fn context_mut(&mut self, class: MgmtClass, id: TransactionId) -> Option<&mut C> {
        self.slab.context_mut(self.slab.find(id.low(), class)?)
    }

    /// Requests on the wire, or about to be sent again.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Largest number of requests on the wire now: what [`InFlight::Adaptive`] has come to.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.limit.get()
    }

    /// Requests that are open, in the queue or on the wire, and failures not yet polled.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Returns true if nothing is open and no failure waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slab.len() == 0
    }

    /// Number of further requests that the window takes.
    #[must_use]
    pub fn room(&self) -> usize {
        self.config.max_requests.saturating_sub(self.slab.len())
    }

    /// Counts of datagrams so far.
    #[must_use]
    pub fn counters(&self) -> WindowCounters {
        self.counters
    }

    /// The next transaction ID whose place in the table is free; 0 is left out.
    fn fresh_id(&mut self) -> TransactionId {
        self.slab.make_room();
        loop {
            let id = self.next_id;
            let low = id.low().wrapping_add(1);
            self.next_id = id.with_low(low);
            // Half of the table is free: this ends.
            if id.low() != 0 && self.slab.is_free(id.low()) {
                return id;
            }
        }
    }

    /// The open request that this datagram answers.
    fn asked(&self, header: &MadHeader) -> Option<Index> {
        let method = header.method();
        let index = self
            .slab
            .find(header.transaction_id().low(), header.mgmt_class())?;
        // A request that was never sent has no answer: this one is of an older request, or forged.
        if self.slab.get(index)?.attempts == 0 {
            return None;
        }
        let request = self.slab.mad(index)?.header();
        let answers = match method {
            Method::TRAP_REPRESS => request.method() == Method::TRAP,
            Method::SEND => {
                // Baseboard management answers a Send with a Send whose modifier is 1.
                request.method() == Method::SEND
                    && header.mgmt_class() == MgmtClass::BM
                    && header.attribute_modifier() == 1
                    && request.attribute_modifier() == 0
            }
            _ => method.is_response(),
        };
        answers.then_some(index)
    }
}

impl<C> Engine for TransactionWindow<C> {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = WindowEvent<C>;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        match input {
            Input::Mad(mad) => {
                let event = match self.handle_mad(now, mad) {
                    MadMatch::Answer(answer) => WindowEvent::Answered {
                        answer,
                        response: *mad,
                    },
                    MadMatch::Unsolicited => WindowEvent::Unsolicited(*mad),
                    MadMatch::Stale => WindowEvent::Stale(*mad),
                    MadMatch::Pending => return,
                };
                self.events.push_back(event);
            }
            Input::SendFailed(mad) => self.handle_send_failed(mad),
            Input::Returned(mad) => self.handle_returned(mad),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(index) = self.timers.pop_due(now) {
            match self.slab.state(index) {
                Some(State::InFlight) => {
                    self.counters.timed_out = self.counters.timed_out.wrapping_add(1);
                    self.attempt_over(index, FailureReason::TimedOut);
                }
                Some(State::BusyWait) => {
                    if let Some(entry) = self.slab.get_mut(index) {
                        entry.state = State::Ready;
                        // A busy responder is not a silent one: its attempts start anew.
                        entry.in_a_row = 0;
                    }
                    self.slab.push_front(&mut self.ready, index);
                }
                _ => {}
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        self.poll_transmit_ref(now).copied()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timers = [self.timers.next(), self.overflow_at()];
        Instant::earliest(timers)
    }

    fn poll_event(&mut self) -> Option<WindowEvent<C>> {
        match self.events.pop_front() {
            Some(event) => Some(event),
            None => self.poll_failure().map(WindowEvent::Failed),
        }
    }
}

impl<C> fmt::Debug for TransactionWindow<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionWindow")
            .field("open", &self.slab.len())
            .field("in_flight", &self.in_flight)
            .field("limit", &self.limit.get())
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}
