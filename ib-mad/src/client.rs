//! The client: typed requests of one datagram or of many, and their typed answers (IBA vol. 1, 13.4.6
//! and 13.6).
//!
//! A [`Request`] builds its datagram and reads its answer. The client gives it a transaction ID, keeps the
//! limits, repeats it, waits while a responder is busy, follows redirections, and puts an answer of many
//! segments together. Pitfall: a GetTable is one datagram, its answer is a transfer; the time-out of the
//! request must not run while the answer arrives, and the transfer has time-outs of its own.

mod request;
#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use core::{fmt, time::Duration};

use bytes::Bytes;

pub use self::request::{Request, Response};
use crate::{
    CallError, ClassTable, Engine, FailureReason, Input, Instant, Mad, MadHeader, MadMatch,
    MgmtClass, RequestFailure, Rmpp, RmppConfig, RmppError, RmppEvent, RmppHeader, RmppKey,
    RmppType, TransactionId, TransactionWindow, WindowConfig, WindowCounters,
};

/// Time-outs and limits of a [`Client`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientConfig {
    /// Of the requests.
    pub window: WindowConfig,
    /// Of messages of many segments.
    pub rmpp: RmppConfig,
    /// Classes whose methods and attributes are known: what they do not have is refused before it is
    /// sent. Requests of other classes pass.
    pub classes: &'static [&'static [ClassTable]],
}

/// Asks typed requests and reports their typed answers.
///
/// `R` is one request type or an enum of several; `(R, C)` is a request with a context of the
/// caller's. Each request that [`ask`](Self::ask) takes ends once, with [`ClientEvent::Ended`].
///
/// ```
/// use ib_mad::{
///     Call, Client, ClientConfig, ClientEvent, Engine, Input, Instant, MadAddress, Method, MgmtClass,
///     PortCounters,
/// };
/// use ib_wire::{Lid, Sl};
///
/// let mut client = Client::new(ClientConfig::default());
/// let address = MadAddress::gsi(Lid(7), Sl::ZERO);
/// client.ask(Call::<PortCounters>::get(MgmtClass::PERF, 0).to(address))?;
///
/// let now = Instant::ZERO;
/// let mut answer = client.poll_transmit(now).expect("one request is open");
/// // The answer comes from a transport; here the request itself plays it.
/// answer.header_mut().set_method(Method::GET_RESP);
/// client.handle_input(now, Input::Mad(&answer));
/// let Some(ClientEvent::Ended { outcome, .. }) = client.poll_event() else {
///     panic!("no answer");
/// };
/// assert_eq!(outcome?.port_rcv_errors(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Client<R: Request> {
    window: TransactionWindow<Open<R>>,
    rmpp: Rmpp,
    config: ClientConfig,
    events: VecDeque<ClientEvent<R>>,
}

/// A request that has not ended.
struct Open<R> {
    request: R,
    /// The data of a request of many segments.
    data: Option<Bytes>,
    /// Time that the answer to such a request may take once it has arrived.
    patience: Duration,
    /// The transfer of that data.
    sending: Option<RmppKey>,
    /// The transfer that brings the answer; of two that claim to, the first counts.
    answer: Option<RmppKey>,
}

impl<R> Open<R> {
    /// Leaves nothing of its transfers.
    fn end(self, rmpp: &mut Rmpp) -> R {
        for key in [self.sending, self.answer].into_iter().flatten() {
            rmpp.forget(key);
        }
        self.request
    }
}

/// An event of a [`Client`].
#[allow(
    clippy::large_enum_variant,
    reason = "an event lives until it is polled; a box would cost an allocation for each answer"
)]
pub enum ClientEvent<R: Request> {
    /// A request has ended.
    Ended {
        /// The request, as it was handed in.
        request: R,
        /// Its answer, or why there is none.
        outcome: Result<R::Output, R::Error>,
    },
    /// A request, a trap or another message that answers nothing.
    Unsolicited(Mad),
}

/// A request that the client rejected, and why: nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Rejected<R> {
    /// The request, returned to its owner.
    pub request: R,
    /// The reason.
    pub error: CallError,
}

/// A time-out that never comes: the transfer has its own.
const NEVER: Duration = Duration::MAX;

impl<R: Request> Client<R> {
    /// A client without requests.
    #[must_use]
    pub fn new(config: ClientConfig) -> Self {
        Self {
            window: TransactionWindow::new(config.window),
            rmpp: Rmpp::new(config.rmpp),
            config,
            events: VecDeque::new(),
        }
    }

    /// Takes a request; [`poll_transmit`](Engine::poll_transmit) sends it once the limits allow.
    ///
    /// A request of many segments is not repeated as a whole: its segments are, and a busy responder
    /// ends it.
    ///
    /// # Errors
    /// [`NotInClass`](CallError::NotInClass) for a method that the class does not have for the
    /// attribute, [`TooManyOpen`](CallError::TooManyOpen) if the window is full.
    pub fn ask(&mut self, request: R) -> Result<TransactionId, Rejected<R>> {
        let mad = request.mad();
        if let Err(error) = self.check(&mad.header()) {
            return Err(Rejected { request, error });
        }
        let data = request.data();
        let mut options = request.options();
        let timeout = options.timeout.unwrap_or(self.config.window.timeout);
        let retries = options.retries.unwrap_or(self.config.window.retries);
        if data.is_some() {
            options.retries = Some(0);
        }
        let open = Open {
            request,
            data,
            patience: timeout.saturating_mul(retries.saturating_add(1)),
            sending: None,
            answer: None,
        };
        self.window
            .request_with(&mad, options, open)
            .map_err(|full| Rejected {
                request: full.0.request,
                error: CallError::TooManyOpen,
            })
    }

    /// Gives up a request without an event. A late answer is dropped.
    pub fn cancel(&mut self, class: MgmtClass, id: TransactionId) -> Option<R> {
        let open = self.window.cancel(class, id)?;
        Some(open.end(&mut self.rmpp))
    }

    /// Requests that have not ended.
    #[must_use]
    pub fn open(&self) -> usize {
        self.window.len()
    }

    /// Counts of datagrams so far; segments beyond the first of a message are not counted.
    #[must_use]
    pub fn counters(&self) -> WindowCounters {
        self.window.counters()
    }

    fn check(&self, header: &MadHeader) -> Result<(), CallError> {
        let (class, method, attribute) =
            (header.mgmt_class(), header.method(), header.attribute_id());
        let mut tables = self.config.classes.iter().copied().flatten();
        match tables.find(|table| table.class == class) {
            Some(table) if !table.allows(method, attribute) => Err(CallError::NotInClass {
                class,
                method,
                attribute,
            }),
            _ => Ok(()),
        }
    }

    fn handle_mad(&mut self, now: Instant, mad: &Mad) {
        let header = mad.header();
        let (class, id, status) = (
            header.mgmt_class(),
            header.transaction_id(),
            header.status(),
        );
        let open = self.window.context_mut(class, id);
        // A multi-segment request is not retried in the same transaction, so BUSY ends it.
        if status.is_busy() && open.as_ref().is_some_and(|open| open.data.is_some()) {
            let error = CallError::Unanswered(FailureReason::Busy);
            return self.give_up(class, id, error);
        }
        let has_begun = open.is_some_and(|open| open.answer.is_some());
        match mad.rmpp() {
            Some(rmpp)
                if !status.is_busy()
                    && !status.is_redirect()
                    && (has_begun || !is_unsegmented(rmpp)) =>
            {
                self.handle_segment(now, mad, rmpp.rmpp_type());
            }
            _ => match self.window.handle_mad(now, mad) {
                MadMatch::Answer(answer) => self.answered(answer.context, Response::Single(*mad)),
                MadMatch::Unsolicited => self.events.push_back(ClientEvent::Unsolicited(*mad)),
                MadMatch::Pending | MadMatch::Stale => {}
            },
        }
    }

    fn handle_segment(&mut self, now: Instant, mad: &Mad, kind: RmppType) {
        let header = mad.header();
        let (class, id) = (header.mgmt_class(), header.transaction_id());
        let key = RmppKey::of_data(mad);
        let is_answer = header.method().is_response();
        match (kind, self.window.context_mut(class, id)) {
            (RmppType::DATA, Some(open)) if is_answer => {
                let is_first = open.answer.is_none_or(|answer| answer == key);
                if is_first && self.window.is_sent(class, id) {
                    self.rmpp.handle_mad(now, mad);
                    self.note_answer(now, id, key);
                }
            }
            _ if self.rmpp.knows(mad) => {
                self.rmpp.handle_mad(now, mad);
            }
            // The responder gives up before its first segment has come.
            (RmppType::STOP | RmppType::ABORT, Some(_)) if is_answer => {
                let status = mad
                    .rmpp()
                    .map(|rmpp| rmpp.rmpp_status())
                    .unwrap_or_default();
                let error = RmppError::EndedByPeer { status };
                self.give_up(class, id, error.into());
            }
            _ if !is_answer => self.events.push_back(ClientEvent::Unsolicited(*mad)),
            _ => {}
        }
    }

    /// Notes that the answer to a request arrives, so that its time-out is stopped. A segment that has
    /// begun no transfer leaves the request to its time-out: nothing else would end it.
    fn note_answer(&mut self, now: Instant, id: TransactionId, key: RmppKey) {
        if self.rmpp.receives(key)
            && let Some(open) = self.window.context_mut(key.class, id)
        {
            open.answer = Some(key);
            self.window
                .extend_deadline(key.class, id, now.saturating_add(NEVER));
        }
    }

    /// Collects the results of the transfers, and the requests that were not answered.
    fn settle(&mut self, now: Instant) {
        while let Some(event) = self.rmpp.poll_event() {
            match event {
                RmppEvent::Received(message) => {
                    let header = message.header();
                    let (class, id) = (header.mgmt_class(), header.transaction_id());
                    if let Some(answer) = self.window.complete(now, class, id) {
                        self.answered(answer.context, Response::Multi(message));
                    }
                }
                RmppEvent::Sent(key) => {
                    let id = TransactionId(key.transaction.into());
                    if let Some(open) = self.window.context(key.class, id)
                        && open.answer.is_none()
                    {
                        let until = now.saturating_add(open.patience);
                        self.window.extend_deadline(key.class, id, until);
                    }
                }
                RmppEvent::SendFailed { key, error } | RmppEvent::ReceiveFailed { key, error } => {
                    let id = TransactionId(key.transaction.into());
                    self.give_up(key.class, id, error.into());
                }
            }
        }
        while let Some(RequestFailure {
            context, reason, ..
        }) = self.window.poll_failure()
        {
            let request = context.end(&mut self.rmpp);
            self.ended(request, Err(CallError::Unanswered(reason).into()));
        }
    }

    fn answered(&mut self, mut open: Open<R>, response: Response) {
        if matches!(response, Response::Multi(_)) {
            // Its transfer is remembered, to be acknowledged again.
            open.answer = None;
        }
        let outcome = open.request.read(response);
        let request = open.end(&mut self.rmpp);
        self.ended(request, outcome);
    }

    fn give_up(&mut self, class: MgmtClass, id: TransactionId, error: CallError) {
        if let Some(request) = self.cancel(class, id) {
            self.ended(request, Err(error.into()));
        }
    }

    fn ended(&mut self, request: R, outcome: Result<R::Output, R::Error>) {
        self.events
            .push_back(ClientEvent::Ended { request, outcome });
    }
}

/// Returns true if a message was left for a kernel to cut into segments, and no kernel saw it: they count from 1.
///
/// ibsim is none. It passes the first 256 bytes of what OpenSM hands to it, where RMPP is active and of no
/// type; more does not come.
fn is_unsegmented(rmpp: &RmppHeader) -> bool {
    matches!(rmpp.rmpp_type(), RmppType::NONE | RmppType::DATA) && rmpp.data1() == 0
}

impl<R: Request> Engine for Client<R> {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = ClientEvent<R>;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        match input {
            Input::Mad(mad) => self.handle_mad(now, mad),
            // A lost segment is repeated by its transfer.
            Input::SendFailed(mad) | Input::Returned(mad) if mad.rmpp().is_some() => {}
            Input::SendFailed(mad) => self.window.handle_send_failed(mad),
            Input::Returned(mad) => self.window.handle_returned(mad),
        }
        self.settle(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.rmpp.handle_timeout(now);
        self.window.handle_timeout(now);
        self.settle(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        loop {
            if let Some(mad) = self.rmpp.poll_transmit(now) {
                return Some(mad);
            }
            let mad = *self.window.poll_transmit_ref(now)?;
            let (class, id) = (mad.header().mgmt_class(), mad.header().transaction_id());
            let open = self.window.context_mut(class, id);
            let Some((open, data)) = open.and_then(|open| {
                let data = open.data.clone()?;
                Some((open, data))
            }) else {
                return Some(mad);
            };
            // Of a request that was redirected the old responder gets no more.
            if let Some(elsewhere) = open.sending.take() {
                self.rmpp.forget(elsewhere);
            }
            match self.rmpp.send(now, &mad, data) {
                Ok(key) => {
                    open.sending = Some(key);
                    self.window
                        .extend_deadline(class, id, now.saturating_add(NEVER));
                }
                Err(error) => self.give_up(class, id, error.into()),
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timeouts = [self.window.poll_timeout(), self.rmpp.poll_timeout()];
        Instant::earliest(timeouts)
    }

    fn poll_event(&mut self) -> Option<ClientEvent<R>> {
        self.events.pop_front()
    }
}

impl<R: Request> fmt::Debug for Client<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("window", &self.window)
            .field("rmpp", &self.rmpp)
            .finish_non_exhaustive()
    }
}

impl<R> fmt::Debug for ClientEvent<R>
where
    R: Request + fmt::Debug,
    R::Output: fmt::Debug,
    R::Error: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended { request, outcome } => f
                .debug_struct("Ended")
                .field("request", request)
                .field("outcome", outcome)
                .finish(),
            Self::Unsolicited(mad) => f.debug_tuple("Unsolicited").field(mad).finish(),
        }
    }
}
