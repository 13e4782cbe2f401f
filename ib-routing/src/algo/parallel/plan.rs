//! How long threads would work, by counting: nothing here depends on the machine or on a clock.
//!
//! The work is done on one thread, but divided as for many. The work of all parts is added up, and the span is the work
//! that has to be done one after the other: all that is in no parallel step, and the longest part of each step. A
//! scheduler that leaves no thread idle while a part is left needs at most `span + (work - span) / threads` (R. L.
//! Graham, "Bounds for certain multiprocessing anomalies", 1966).

use alloc::vec::Vec;
use core::cell::Cell;

std::thread_local! {
    static COUNTS: Cell<Option<Plan>> = const { Cell::new(None) };
}

/// Units of work, and those of them that have to be done one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) work: u64,
    pub(super) span: u64,
}

impl Plan {
    /// The plan of what `work` does on this thread, and its result.
    pub(super) fn of<R>(work: impl FnOnce() -> R) -> (Self, R) {
        COUNTS.set(Some(Self::default()));
        let result = work();
        (COUNTS.take().unwrap_or_default(), result)
    }

    /// Units of time on so many threads, at most.
    pub(super) fn time(self, threads: usize) -> f64 {
        let (work, span) = (self.work as f64, self.span as f64);
        span + (work - span) / threads as f64
    }
}

/// Returns true if this thread makes a plan.
pub(super) fn is_made() -> bool {
    COUNTS.get().is_some()
}

/// Counts units of work.
pub(super) fn count(units: usize) {
    if let Some(Plan { work, span }) = COUNTS.get() {
        let units = units as u64;
        let (work, span) = (work + units, span + units);
        COUNTS.set(Some(Plan { work, span }));
    }
}

/// A parallel step: of its parts only the longest adds to the span.
pub(super) struct Step {
    /// The span before the step, and with the longest part so far.
    before: u64,
    longest: u64,
}

impl Step {
    pub(super) fn begin() -> Self {
        let before = COUNTS.get().unwrap_or_default().span;
        Self {
            before,
            longest: before,
        }
    }

    /// Does one part.
    pub(super) fn part<R>(&mut self, part: impl FnOnce() -> R) -> R {
        set_span(self.before);
        let result = part();
        self.longest = self.longest.max(COUNTS.get().unwrap_or_default().span);
        set_span(self.longest);
        result
    }
}

/// Does some parts as if each had a thread of its own for all of its work. Then no thread takes parts of others, so the
/// longest part alone counts, as work too.
pub(super) fn abreast<P>(parts: &mut [P], mut work: impl FnMut(&mut P)) {
    let Some(before) = COUNTS.get() else {
        return;
    };
    let mut longest = before;
    for part in parts {
        COUNTS.set(Some(before));
        work(part);
        let after = COUNTS.get().unwrap_or_default();
        if after.work > longest.work {
            longest = after;
        }
    }
    COUNTS.set(Some(longest));
}

fn set_span(span: u64) {
    if let Some(plan) = COUNTS.get() {
        COUNTS.set(Some(Plan { span, ..plan }));
    }
}

/// Does the work of [`super::gather`] as so many threads would, where each takes a number when it has done less than the
/// others.
pub(super) fn gather<W>(
    threads: usize,
    count: usize,
    space: impl Fn() -> W,
    work: impl Fn(&mut W, usize),
) -> Vec<W> {
    let mut step = Step::begin();
    let mut workers: Vec<(u64, W)> = Vec::new();
    let done = || COUNTS.get().unwrap_or_default().work;
    // The space is made before the first number, so both are one part.
    for at in 0..count.min(threads).max(1) {
        let before = done();
        let worker = step.part(|| {
            let mut worker = space();
            if at < count {
                work(&mut worker, at);
            }
            worker
        });
        workers.push((done() - before, worker));
    }
    for at in workers.len()..count {
        let before = done();
        if let Some((busy, worker)) = workers.iter_mut().min_by_key(|(busy, _)| *busy) {
            step.part(|| work(worker, at));
            *busy += done() - before;
        }
    }
    workers.into_iter().map(|(_, worker)| worker).collect()
}
