//! Work on every item, on one thread or on all: the results come in the order of the items.

use alloc::vec::Vec;

use crate::fabric::Fabric;

/// Items below which threads cost more than they bring.
#[cfg(feature = "std")]
const FEW: usize = 64;

/// Parts of its rows that a thread works on one after the other.
#[cfg(feature = "std")]
const PARTS: usize = 4;

/// Most threads that work together: more wait for each other, and each costs memory.
#[cfg(feature = "std")]
const MOST: usize = 256;

/// Runs `work` where `threads` threads help it, so that each of its parallel steps finds them awake:
/// 1 means the caller's alone, 0 all that there are, as in [`RouteOptions`](crate::RouteOptions).
pub fn install<R: Send>(threads: usize, fabric: &Fabric, work: impl Fn() -> R + Sync) -> R {
    #[cfg(feature = "std")]
    if threads != 1 && fabric.num_switches() >= FEW {
        let mut result = None;
        on_threads(threads, &mut || result = Some(work()));
        return result.unwrap_or_else(work);
    }
    let _ = (threads, fabric);
    work()
}

/// Maps `0..count` by `work`.
pub fn map<T: Send>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> T + Sync + Send,
) -> Vec<T> {
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

/// The largest number of threads that work on [`rows`] at the same time.
#[must_use]
pub fn workers(threads: usize, items: usize) -> usize {
    #[cfg(feature = "std")]
    if threads != 1 && items >= FEW {
        let mut workers = 1;
        on_threads(threads, &mut || workers = rayon::current_num_threads());
        return workers;
    }
    let _ = (threads, items);
    1
}

/// Gives every item of `items`, with the `len` entries of `data` that belong to it, to `work`, with a
/// space to work in: `own` where the caller works alone, else one that `space` makes for the worker of
/// a number below [`workers`].
pub fn rows<S: Send, T: Send, W>(
    threads: usize,
    items: &mut [S],
    data: &mut [T],
    len: usize,
    own: &mut W,
    space: impl Fn(usize) -> W + Sync + Send,
    work: impl Fn(&mut W, &mut S, &mut [T]) + Sync + Send,
) {
    let len = len.max(1);
    #[cfg(feature = "std")]
    if threads != 1 && items.len() >= FEW {
        use rayon::prelude::*;
        return on_threads(threads, &mut || {
            // Each part has its own space: more than a few a thread would cost more than they even out.
            let part = items.len() / (PARTS * rayon::current_num_threads()).max(1);
            let rows = items
                .par_iter_mut()
                .zip(data.par_chunks_mut(len))
                .with_min_len(part.max(16));
            rows.for_each_init(
                || space(rayon::current_thread_index().unwrap_or(0)),
                |space, (item, row)| work(space, item, row),
            );
        });
    }
    let _ = (threads, &space);
    for (item, row) in items.iter_mut().zip(data.chunks_mut(len)) {
        work(own, item, row);
    }
}

/// Runs `work` once, on a pool of `threads`, or on the global one for 0; where that is already the case, at once.
///
/// It is compiled once for all kinds of work, because rayon's code for a pool is longer than most of them.
#[cfg(feature = "std")]
fn on_threads(threads: usize, work: &mut (dyn FnMut() + Send)) {
    let threads = threads.min(MOST);
    let here = rayon::current_thread_index().is_some();
    if here && (threads == 0 || threads == rayon::current_num_threads()) {
        return work();
    }
    if threads == 0 {
        return rayon::scope(|_| work());
    }
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(work),
        // No thread to be had: the global pool falls back to the caller's.
        Err(_) => rayon::scope(|_| work()),
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_keyboard_starts_no_million_threads() {
        assert_eq!(workers(1_000_000, FEW), MOST);
        assert_eq!(workers(3, FEW), 3);
    }
}
