//! A batch of datagrams: sends all of them, many in flight at a time, and keeps the responses.
//!
//! Every change of a device is made here, for example clearing its counters or enabling a port.

use alloc::{collections::VecDeque, vec::Vec};

use ib_mad::{Engine, FailureReason, Input, Instant, Mad, TransactionWindow, WindowConfig};

/// The outcome of one request of a batch: the response, or the reason why there is none.
pub type BatchOutcome = Result<Mad, FailureReason>;

/// Sends requests and collects the responses, in the order of the requests.
///
/// Drive it until its event, then take the outcomes with [`finish`](Self::finish). A response may carry a status by
/// which the device refuses the request: the caller judges it.
#[derive(Debug)]
pub struct Batch {
    window: TransactionWindow<usize>,
    waiting: VecDeque<(usize, Mad)>,
    outcomes: Vec<Option<BatchOutcome>>,
    is_done: bool,
    is_reported: bool,
}

impl Batch {
    /// Creates a batch of these requests.
    #[must_use]
    pub fn new(window: WindowConfig, requests: Vec<Mad>) -> Self {
        Self {
            window: TransactionWindow::new(window),
            outcomes: requests.iter().map(|_| None).collect(),
            waiting: requests.into_iter().enumerate().collect(),
            is_done: false,
            is_reported: false,
        }
    }

    /// The outcome of each request, in the order of the requests. A request that has not ended yet counts as timed out.
    #[must_use]
    pub fn finish(self) -> Vec<BatchOutcome> {
        let outcomes = self.outcomes.into_iter();
        outcomes
            .map(|outcome| outcome.unwrap_or(Err(FailureReason::TimedOut)))
            .collect()
    }

    fn end(&mut self, request: usize, outcome: BatchOutcome) {
        if let Some(slot) = self.outcomes.get_mut(request) {
            *slot = Some(outcome);
        }
    }

    fn run(&mut self) {
        while let Some(failure) = self.window.poll_failure() {
            self.end(failure.context, Err(failure.reason));
        }
        let room = usize::try_from(self.window.limit()).unwrap_or(usize::MAX);
        while self.window.len() < room {
            let Some((request, mad)) = self.waiting.pop_front() else {
                break;
            };
            // The loop condition guarantees that the window has room.
            let _ = self
                .window
                .request_with(&mad, ib_mad::RequestOptions::default(), request);
        }
        self.is_done = self.waiting.is_empty() && self.window.is_empty();
    }
}

impl Engine for Batch {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = ();

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        if let Some((context, mad)) = self.window.handle_answer(now, input) {
            self.end(context, Ok(*mad));
        }
        self.run();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.window.handle_timeout(now);
        self.run();
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        self.run();
        self.window.poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.window.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<()> {
        (self.is_done && !core::mem::replace(&mut self.is_reported, true)).then_some(())
    }
}
