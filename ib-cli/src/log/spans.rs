//! The spans of a log line: the sweep of the manager, the phase of it, or the transaction that the line belongs to.
//!
//! Each is a span of `tracing`. A line has the names and fields of the spans that it is in, so one sweep or one
//! transaction can be picked out of the log.

use std::{collections::BTreeMap, time::Duration};

use ib_mad::{Instant, Mad, Method, MgmtClass, TransactionId};
use ib_sm::Event;
use ib_smp::PortAddress;
use ib_text::dissect::attribute_name;
use tracing::{Level, Span};

/// The module of the log that has one line for each datagram of a transaction.
const TRANSACTION: &str = "transaction";

/// Transactions that are open at a time at most; further ones are logged without a span.
const MAX_OPEN: usize = 65_536;

/// After this time a transaction without an answer is forgotten if there are too many.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// The spans of the sweep that is going on.
pub(super) struct SweepSpans {
    sweep: Span,
    phase: Span,
    /// The number of the latest sweep, from 1.
    number: u64,
}

impl Default for SweepSpans {
    fn default() -> Self {
        Self {
            sweep: Span::none(),
            phase: Span::none(),
            number: 0,
        }
    }
}

impl SweepSpans {
    /// Opens the spans that begin with an event, and runs `log` within all that it belongs to. The last event of a sweep
    /// closes its spans afterwards.
    pub(super) fn within(&mut self, event: &Event, log: impl FnOnce()) {
        match event {
            Event::SweepStarted { kind, cause } => {
                self.number = self.number.saturating_add(1);
                let number = self.number;
                self.phase = Span::none();
                self.sweep = tracing::info_span!(target: "sweep", "sweep", number, kind = %kind, cause = %cause);
            }
            Event::PhaseStarted(phase) => {
                let (sweep, phase) = (&self.sweep, phase.name());
                self.phase = tracing::info_span!(target: "sweep", parent: sweep, "phase", phase);
            }
            _ => {}
        }
        let innermost = if self.phase.is_none() {
            &self.sweep
        } else {
            &self.phase
        };
        innermost.in_scope(log);
        let is_last = matches!(
            event,
            Event::SubnetUp(_) | Event::SweepFailed(_) | Event::LightSweepDone { .. }
        );
        if is_last {
            self.phase = Span::none();
            self.sweep = Span::none();
        }
    }
}

/// The transactions that have begun and not ended.
#[derive(Default)]
pub struct Transactions {
    open: BTreeMap<Key, Open>,
}

/// The fields that a request and its response have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// True if this host sent the request.
    ours: bool,
    class: MgmtClass,
    id: TransactionId,
    /// The requester of another host, to whom its transaction IDs belong.
    from: u16,
}

struct Open {
    span: Span,
    began: Instant,
    /// Number of times that the request was seen.
    attempts: u32,
}

impl Transactions {
    /// Returns true if transactions are logged. If not, this check is the only cost of a datagram.
    fn are_logged() -> bool {
        tracing::enabled!(target: TRANSACTION, Level::TRACE)
    }

    /// Logs a datagram that is sent.
    pub fn sent(&mut self, now: Instant, mad: &Mad) {
        if Self::are_logged() {
            self.log(now, mad, true);
        }
    }

    /// Logs a datagram that arrived.
    pub fn received(&mut self, now: Instant, mad: &Mad) {
        if Self::are_logged() {
            self.log(now, mad, false);
        }
    }

    /// Logs a request of this host that the layer below returned because no answer came, or because it could not be sent.
    pub fn returned(&mut self, now: Instant, mad: &Mad) {
        if !Self::are_logged() {
            return;
        }
        let Some(open) = self.open.remove(&Key::new(mad, true)) else {
            return;
        };
        let us = micros(now, open.began);
        let _within = open.span.enter();
        tracing::trace!(target: TRANSACTION, us, attempts = open.attempts, "no answer");
    }

    fn log(&mut self, now: Instant, mad: &Mad, is_sent: bool) {
        let header = mad.header();
        let method = header.method();
        let is_response = method.is_response() || method == Method::TRAP_REPRESS;
        let key = Key::new(mad, is_sent != is_response);
        if is_response {
            let status = header.status();
            let Some(open) = self.open.remove(&key) else {
                tracing::trace!(
                    target: TRANSACTION, method = %method, id = %header.transaction_id(), status = %status,
                    "an answer to no request that is open"
                );
                return;
            };
            let us = micros(now, open.began);
            let _within = open.span.enter();
            let attempts = open.attempts;
            tracing::trace!(target: TRANSACTION, method = %method, status = %status, us, attempts, "answered");
            return;
        }
        if self.open.len() >= MAX_OPEN {
            self.open
                .retain(|_, open| now.since(open.began) < FORGET_AFTER);
        }
        let mut open = self.open.remove(&key).unwrap_or_else(|| Open {
            span: span_of(mad, is_sent),
            began: now,
            attempts: 0,
        });
        open.attempts = open.attempts.saturating_add(1);
        open.span.in_scope(|| match (is_sent, open.attempts) {
            (true, 1) => tracing::trace!(target: TRANSACTION, "sent"),
            (true, attempts) => tracing::trace!(target: TRANSACTION, attempts, "sent again"),
            (false, 1) => tracing::trace!(target: TRANSACTION, "received"),
            (false, attempts) => tracing::trace!(target: TRANSACTION, attempts, "received again"),
        });
        // A datagram without a response ends its transaction, but for a trap, which is repressed.
        let has_response = !matches!(method, Method::SEND);
        if has_response && self.open.len() < MAX_OPEN {
            self.open.insert(key, open);
        }
    }
}

impl Key {
    fn new(mad: &Mad, ours: bool) -> Self {
        let header = mad.header();
        Self {
            ours,
            class: header.mgmt_class(),
            id: header.transaction_id(),
            from: if ours { 0 } else { mad.address.lid.0 },
        }
    }
}

/// The span of a transaction that begins with this request.
fn span_of(mad: &Mad, is_sent: bool) -> Span {
    let header = mad.header();
    let (class, id) = (header.mgmt_class(), header.attribute_id());
    let attribute = attribute_name(class, id).map_or_else(|| id.to_string(), str::to_owned);
    tracing::trace_span!(
        target: TRANSACTION, "transaction",
        id = %header.transaction_id(),
        from = if is_sent { "here" } else { "there" },
        peer = %PortAddress::of(mad),
        method = %header.method(),
        attribute,
        modifier = header.attribute_modifier(),
    )
}

fn micros(now: Instant, began: Instant) -> u64 {
    u64::try_from(now.since(began).as_micros()).unwrap_or(u64::MAX)
}
