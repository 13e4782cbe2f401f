//! Work on every item, on one thread or on all: the results do not depend on the number of threads.
//!
//! Each step is divided into a few parts a thread, so that threads that are done take parts of those that are not.
//! [`count`] says how much work is done. Tests add it up, and find how much of it is done one after the other and how
//! long 16 or 64 threads would work, on whatever machine they run (`plan`).

mod lockstep;
#[cfg(test)]
mod plan;

use alloc::vec::Vec;
#[cfg(feature = "std")]
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
#[cfg(feature = "std")]
use std::sync::{Mutex, PoisonError};

pub(crate) use self::lockstep::Lockstep;
use crate::fabric::Fabric;

/// Items below which threads cost more than they bring.
#[cfg(feature = "std")]
const FEW: usize = 64;

/// Parts of its rows that a thread works on one after the other. Rows differ in their work, and the last part of a
/// step keeps the other threads waiting.
#[cfg(feature = "std")]
const PARTS: usize = 64;

/// Most threads that work together: more wait for each other, and each costs memory.
#[cfg(feature = "std")]
const MOST: usize = 256;

/// Counts work that is done here. A unit is about one look-up in a table, or a line of a cache that is filled.
///
/// Only tests count.
#[inline(always)]
pub(crate) fn count(units: usize) {
    #[cfg(test)]
    plan::count(units);
    let _ = units;
}

/// Runs `work` where `threads` threads help it, so that each of its parallel steps finds them awake:
/// 1 means the caller's alone, 0 all that there are, as in [`RouteOptions`](crate::RouteOptions).
pub(crate) fn install<R: Send>(threads: usize, fabric: &Fabric, work: impl Fn() -> R + Sync) -> R {
    #[cfg(feature = "std")]
    if is_divided(threads, fabric.num_switches()) {
        let mut result = None;
        on_threads(threads, &mut || result = Some(work()));
        return result.unwrap_or_else(work);
    }
    let _ = (threads, fabric);
    work()
}

/// Maps `0..count` by `work`: the results come in the order of the numbers.
pub(crate) fn map<T: Send>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> T + Sync + Send,
) -> Vec<T> {
    #[cfg(test)]
    if plan::is_made() && threads != 1 {
        let mut step = plan::Step::begin();
        return (0..count).map(|at| step.part(|| work(at))).collect();
    }
    #[cfg(feature = "std")]
    if threads != 1 && count > 1 {
        use rayon::prelude::*;
        let mut results = Vec::new();
        on_threads(threads, &mut || {
            results = (0..count).into_par_iter().map(&work).collect();
        });
        return results;
    }
    let _ = threads;
    (0..count).map(work).collect()
}

/// As [`map`], for items of little work each: a part of the step is many of them.
pub(crate) fn map_many<T: Send>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> T + Sync + Send,
) -> Vec<T> {
    #[cfg(test)]
    if plan::is_made() && threads != 1 && count >= FEW {
        let mut step = plan::Step::begin();
        let part = part_of(count, threads);
        let parts = (0..count).step_by(part).map(|at| at..count.min(at + part));
        let results = parts.flat_map(|part| step.part(|| part.map(&work).collect::<Vec<T>>()));
        return results.collect();
    }
    #[cfg(feature = "std")]
    if is_divided(threads, count) {
        use rayon::prelude::*;
        let mut results = Vec::new();
        on_threads(threads, &mut || {
            let part = part_of(count, rayon::current_num_threads());
            let items = (0..count).into_par_iter().with_min_len(part);
            results = items.map(&work).collect();
        });
        return results;
    }
    let _ = threads;
    (0..count).map(work).collect()
}

/// The largest number of threads that work on [`rows`] at the same time.
#[must_use]
pub(crate) fn workers(threads: usize, items: usize) -> usize {
    #[cfg(test)]
    if plan::is_made() {
        return if items < FEW { 1 } else { threads };
    }
    #[cfg(feature = "std")]
    if is_divided(threads, items) {
        let mut workers = 1;
        on_threads(threads, &mut || workers = rayon::current_num_threads());
        return workers;
    }
    let _ = (threads, items);
    1
}

/// Memory of each worker of [`rows_with`], kept from one step to the next.
pub(crate) struct Spaces<W> {
    own: W,
    #[cfg(feature = "std")]
    others: Vec<W>,
}

impl<W> Spaces<W> {
    /// A space for each of `workers`, made by `space` for a number below that.
    pub(crate) fn new(workers: usize, space: impl Fn(usize) -> W) -> Self {
        let _ = workers;
        Self {
            own: space(0),
            #[cfg(feature = "std")]
            others: (1..workers).map(space).collect(),
        }
    }
}

/// Gives every item of `items`, with the `len` entries of `data` that belong to it, to `work`.
pub(crate) fn rows<S: Send, T: Send>(
    threads: usize,
    items: &mut [S],
    data: &mut [T],
    len: usize,
    work: impl Fn(&mut S, &mut [T]) + Sync + Send,
) {
    let workers = workers(threads, items.len());
    let mut spaces = Spaces::new(workers, |_| ());
    rows_with(threads, items, data, len, &mut spaces, |(), item, row| {
        work(item, row);
    });
}

/// As [`rows`], with a space to work in: no two threads have the same one at the same time. There is one for each of
/// [`workers`].
pub(crate) fn rows_with<S: Send, T: Send, W: Send>(
    threads: usize,
    items: &mut [S],
    data: &mut [T],
    len: usize,
    spaces: &mut Spaces<W>,
    work: impl Fn(&mut W, &mut S, &mut [T]) + Sync + Send,
) {
    let len = len.max(1);
    #[cfg(test)]
    if plan::is_made() && threads != 1 && items.len() >= FEW {
        let mut step = plan::Step::begin();
        let part = part_of(items.len(), threads);
        for (items, rows) in items.chunks_mut(part).zip(data.chunks_mut(part * len)) {
            step.part(|| {
                for (item, row) in items.iter_mut().zip(rows.chunks_mut(len)) {
                    work(&mut spaces.own, item, row);
                }
            });
        }
        return;
    }
    #[cfg(feature = "std")]
    if is_divided(threads, items.len()) {
        return on_threads(threads, &mut || share_rows(items, data, len, spaces, &work));
    }
    let _ = threads;
    for (item, row) in items.iter_mut().zip(data.chunks_mut(len)) {
        work(&mut spaces.own, item, row);
    }
}

/// Does [`rows_with`] on the threads of this pool. Each space begins with an equal share of the rows: the same one in each
/// step of as many rows, because the memory of a row is then mostly in the caches of the processor that works on it. A worker
/// that is done with its share goes on with those of others.
#[cfg(feature = "std")]
fn share_rows<S: Send, T: Send, W: Send>(
    items: &mut [S],
    data: &mut [T],
    len: usize,
    spaces: &mut Spaces<W>,
    work: impl Fn(&mut W, &mut S, &mut [T]) + Sync + Send,
) {
    use rayon::prelude::*;
    let mut spaces: Vec<&mut W> = core::iter::once(&mut spaces.own)
        .chain(&mut spaces.others)
        .collect();
    let part = part_of(items.len(), spaces.len());
    let parts = items.chunks_mut(part).zip(data.chunks_mut(part * len));
    let parts: Vec<_> = parts.map(|part| Mutex::new(Some(part))).collect();
    let share = parts.len().div_ceil(spaces.len()).max(1);
    let shares: Vec<_> = parts
        .chunks(share)
        .map(|parts| (parts, AtomicUsize::new(0)))
        .collect();
    let workers = spaces.par_iter_mut().enumerate().with_max_len(1);
    workers.for_each(|(own, space)| {
        let from_own = shares.iter().cycle().skip(own);
        for (parts, next) in from_own.take(shares.len()) {
            while let Some(part) = parts.get(next.fetch_add(1, Relaxed)) {
                let part = part.lock().unwrap_or_else(PoisonError::into_inner).take();
                let (items, rows) = part.unwrap_or_default();
                for (item, row) in items.iter_mut().zip(rows.chunks_mut(len)) {
                    work(space, item, row);
                }
            }
        }
    });
}

/// Divides the numbers of `0..count` between workers, each of which has a space of its own for its results. A worker that
/// is done with a number takes the lowest one that is left. Returns the spaces, one at least. The division differs from
/// run to run, but each worker gets its numbers in ascending order.
pub(crate) fn gather<W: Send>(
    threads: usize,
    count: usize,
    space: impl Fn() -> W + Sync + Send,
    work: impl Fn(&mut W, usize) + Sync + Send,
) -> Vec<W> {
    #[cfg(test)]
    if plan::is_made() && threads != 1 {
        return plan::gather(threads, count, space, work);
    }
    #[cfg(feature = "std")]
    if threads != 1 && count > 1 {
        let mut workers = 1;
        on_threads(threads, &mut || workers = rayon::current_num_threads());
        let next = AtomicUsize::new(0);
        let take = || Some(next.fetch_add(1, Relaxed)).filter(|&at| at < count);
        let gathered = map(threads, workers.min(count), |_| {
            // A worker that finds no number left needs no space.
            let mut at = take()?;
            let mut space = space();
            loop {
                work(&mut space, at);
                match take() {
                    Some(next) => at = next,
                    None => return Some(space),
                }
            }
        });
        return gathered.into_iter().flatten().collect();
    }
    let _ = threads;
    let mut only = space();
    (0..count).for_each(|at| work(&mut only, at));
    Vec::from([only])
}

/// Rows in a part.
#[cfg(feature = "std")]
const fn part_of(rows: usize, threads: usize) -> usize {
    let parts = PARTS.saturating_mul(threads);
    if parts < rows {
        rows.div_ceil(parts)
    } else {
        1
    }
}

/// Returns true if threads share work on so many items.
#[cfg(feature = "std")]
const fn is_divided(threads: usize, items: usize) -> bool {
    threads != 1 && items >= FEW
}

/// Runs `work` once, on a pool of `threads`, or on the global one for 0; where that is already the case, at once.
///
/// A pool of the calling thread's, or the global one, serves if it has as many: new threads take time to start, and most
/// often share a processor before the system distributes them.
///
/// It is compiled once for all kinds of work, because rayon's code for a pool is longer than most of them.
#[cfg(feature = "std")]
fn on_threads(threads: usize, work: &mut (dyn FnMut() + Send)) {
    #[cfg(test)]
    if plan::is_made() {
        return work();
    }
    let threads = threads.min(MOST);
    if threads == 0 || threads == rayon::current_num_threads() {
        return match rayon::current_thread_index() {
            Some(_) => work(),
            None => rayon::scope(|_| work()),
        };
    }
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(work),
        // No thread to be had: the global pool falls back to the caller's.
        Err(_) => rayon::scope(|_| work()),
    }
}

#[cfg(all(test, feature = "std"))]
mod tests;
