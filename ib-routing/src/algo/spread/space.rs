//! How the candidates of one choice share its LIDs, and the room that a worker needs for that.

use alloc::vec::Vec;
use core::ops::Range;

use super::{
    bundle::Bundle,
    desk::Choice,
    flows::{LANES, Pen, in_each, lanes_of, sum_of, words_of},
    ring::Ring,
};
use crate::index::SwitchIdx;

/// Room that a worker needs, whatever the switch.
pub(super) struct Space<'a> {
    pub(super) worker: usize,
    /// The bundles that lead to some destination.
    pub(super) leads: Vec<Lead<'a>>,
    pub(super) ring: Ring,
    /// The port that each column got.
    pub(super) row: Vec<u8>,
    /// Switches that other LIDs of the same port go through.
    pub(super) used: Vec<SwitchIdx>,
}

impl<'a> Space<'a> {
    pub(super) fn new(worker: usize) -> Self {
        Self {
            worker,
            leads: Vec::new(),
            ring: Ring::new(),
            row: Vec::new(),
            used: Vec::new(),
        }
    }
}

/// A bundle, and the destinations that it leads to.
#[derive(Clone, Copy)]
pub(super) struct Lead<'a> {
    pub(super) bundle: &'a Bundle,
    pub(super) set: u64,
}

impl Space<'_> {
    #[inline]
    pub(super) fn fill(&mut self, columns: Range<usize>, port: u8) {
        match self.row.get_mut(columns) {
            // Mostly the LID of one switch.
            Some([entry]) => *entry = port,
            Some(entries) => entries.fill(port),
            None => {}
        }
    }

    /// Gives each LID to the candidate that is then the least loaded; `flow` routes go to each.
    #[inline]
    pub(super) fn deal_alike(
        &mut self,
        weight: u16,
        flow: u16,
        pen: Option<Pen<'_>>,
        columns: Range<usize>,
    ) {
        if weight == 0 {
            // No CA's packet comes by: any will do.
            let port = self.ring.first().port;
            return self.fill(columns, port);
        }
        if self.ring.len() == 1 {
            let weight = u64::from(weight) * columns.len() as u64;
            return self.deal_to_only(Some(weight), pen, columns, |_| in_each(flow));
        }
        let row = self.row.get_mut(columns.clone()).unwrap_or_default();
        let step = usize::from(self.ring.len());
        let all_alike = self
            .ring
            .take_turns(row.len(), weight, flow, |turn, port, to| {
                if let Some(entry) = row.get_mut(turn) {
                    *entry = port;
                }
                if let Some(pen) = pen {
                    pen.add_each(to, columns.start + turn..columns.end, step, flow);
                }
            });
        if all_alike {
            return repeat(row, step);
        }
        for (column, entry) in columns.zip(row) {
            let (port, to) = self.ring.take(weight, flow);
            *entry = port;
            if let Some(pen) = pen {
                pen.add(to, column, flow);
            }
        }
    }

    /// The same, where each LID has its own number of routes.
    pub(super) fn deal_mixed(
        &mut self,
        choice: &Choice<'_>,
        pen: Option<Pen<'_>>,
        columns: Range<usize>,
    ) {
        let count_only = choice.plan.count_only;
        if self.ring.len() == 1 {
            let weight = count_only.then_some(columns.len() as u64);
            return self.deal_to_only(weight, pen, columns, |word| choice.flows(word));
        }
        let port = self.ring.first().port;
        self.fill(columns.clone(), port);
        for (word, mask) in words_of(columns) {
            let flows = choice.flows(word) & mask;
            let counted = if count_only { mask } else { flows };
            for (lane, flow) in lanes_of(counted, flows) {
                let (port, to) = self.ring.take(choice.plan.weight(true, flow), flow);
                let column = word * LANES + lane;
                if let Some(entry) = self.row.get_mut(column) {
                    *entry = port;
                }
                if let Some(pen) = pen {
                    pen.add(to, column, flow);
                }
            }
        }
    }

    /// Gives all LIDs to the only candidate, which is then heavier by `weight`, or by the routes.
    #[inline]
    fn deal_to_only(
        &mut self,
        weight: Option<u64>,
        pen: Option<Pen<'_>>,
        columns: Range<usize>,
        flows: impl Fn(usize) -> u64,
    ) {
        let only = self.ring.first();
        let mut sent = 0;
        for (word, mask) in words_of(columns.clone()) {
            let flow = flows(word) & mask;
            sent += sum_of(flow);
            if let Some(pen) = pen.filter(|_| flow != 0) {
                pen.add_word(only.row + word, flow);
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
