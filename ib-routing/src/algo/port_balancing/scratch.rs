//! Assigns the LIDs of one choice to its candidates, in memory that a worker uses again.

use alloc::vec::Vec;
use core::ops::Range;

use super::{
    bundle::Bundle,
    candidate_queue::CandidateQueue,
    choice::Choice,
    flows::FlowWriter,
    packed::{COLUMNS, columns_of, in_each, sum_of, words_of},
};
use crate::{algo::parallel, index::SwitchIdx};

/// Memory of one worker, for whichever switch it works on.
pub(super) struct Scratch<'a> {
    pub(super) worker: usize,
    /// The bundles that lead to at least one destination.
    pub(super) next_hops: Vec<NextHopSet<'a>>,
    pub(super) queue: CandidateQueue,
    /// The port that each column got.
    pub(super) row: Vec<u8>,
    /// Switches that other LIDs of the same port take.
    pub(super) used: Vec<SwitchIdx>,
}

impl<'a> Scratch<'a> {
    pub(super) fn new(worker: usize) -> Self {
        Self {
            worker,
            next_hops: Vec::new(),
            queue: CandidateQueue::new(),
            row: Vec::new(),
            used: Vec::new(),
        }
    }
}

/// A bundle, and the destinations to which it leads nearer.
#[derive(Clone, Copy)]
pub(super) struct NextHopSet<'a> {
    pub(super) bundle: &'a Bundle,
    pub(super) set: u64,
}

impl Scratch<'_> {
    #[inline]
    pub(super) fn fill(&mut self, columns: Range<usize>, port: u8) {
        match self.row.get_mut(columns) {
            // Mostly the LID of one switch.
            Some([entry]) => *entry = port,
            Some(entries) => entries.fill(port),
            None => {}
        }
    }

    /// Gives each LID to the least loaded candidate; each LID has `weight` and `flow` routes.
    #[inline]
    pub(super) fn assign_uniform(
        &mut self,
        weight: u16,
        flow: u16,
        writer: Option<FlowWriter<'_>>,
        columns: Range<usize>,
    ) {
        if weight == 0 {
            // No CA's packets pass here: any candidate will do.
            let port = self.queue.first().port;
            return self.fill(columns, port);
        }
        parallel::count(columns.len());
        if self.queue.len() == 1 {
            let weight = u64::from(weight) * columns.len() as u64;
            return self.assign_to_only(Some(weight), writer, columns, |_| in_each(flow));
        }
        let row = self.row.get_mut(columns.clone()).unwrap_or_default();
        let step = usize::from(self.queue.len());
        let all_alike = self
            .queue
            .take_turns(row.len(), weight, flow, |turn, port, to| {
                if let Some(entry) = row.get_mut(turn) {
                    *entry = port;
                }
                if let Some(writer) = writer {
                    writer.add_each(to, columns.start + turn..columns.end, step, flow);
                }
            });
        if all_alike {
            return repeat(row, step);
        }
        for (column, entry) in columns.zip(row) {
            let (port, to) = self.queue.take(weight, flow);
            *entry = port;
            if let Some(writer) = writer {
                writer.add(to, column, flow);
            }
        }
    }

    /// Gives each LID to the least loaded candidate, where each LID has its own number of routes.
    pub(super) fn assign_weighted(
        &mut self,
        choice: &Choice<'_>,
        writer: Option<FlowWriter<'_>>,
        columns: Range<usize>,
    ) {
        let count_only = choice.inputs.count_only;
        if self.queue.len() == 1 {
            let weight = count_only.then_some(columns.len() as u64);
            return self.assign_to_only(weight, writer, columns, |word| choice.flows_of(word));
        }
        let port = self.queue.first().port;
        self.fill(columns.clone(), port);
        for (word, mask) in words_of(columns) {
            let flows = choice.flows_of(word) & mask;
            parallel::count(COLUMNS);
            let counted = if count_only { mask } else { flows };
            for (at, flow) in columns_of(counted, flows) {
                let (port, to) = self.queue.take(choice.inputs.weight(true, flow), flow);
                let column = word * COLUMNS + at;
                if let Some(entry) = self.row.get_mut(column) {
                    *entry = port;
                }
                if let Some(writer) = writer {
                    writer.add(to, column, flow);
                }
            }
        }
    }

    /// Gives all LIDs to the only candidate, whose load grows by `weight`, or else by the routes.
    #[inline]
    fn assign_to_only(
        &mut self,
        weight: Option<u64>,
        writer: Option<FlowWriter<'_>>,
        columns: Range<usize>,
        flows: impl Fn(usize) -> u64,
    ) {
        let only = self.queue.first();
        let mut sent = 0;
        for (word, mask) in words_of(columns.clone()) {
            parallel::count(1);
            let flow = flows(word) & mask;
            sent += sum_of(flow);
            if let Some(writer) = writer.filter(|_| flow != 0) {
                writer.add_word(only.row + word, flow);
            }
        }
        only.sent += sent;
        if !only.ignored {
            only.load += weight.unwrap_or(sent);
        }
        let port = only.port;
        self.fill(columns, port);
    }
}

/// Repeats the first `step` entries to the end.
fn repeat(row: &mut [u8], step: usize) {
    let mut done = step;
    while done < row.len() {
        let more = done.min(row.len() - done);
        row.copy_within(..more, done);
        done += more;
    }
}
