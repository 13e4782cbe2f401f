//! Work on every item, on one thread or on all: the results come in the order of the items.

use alloc::vec::Vec;

/// Maps `0..count` by `work`, where `threads` is as in [`RouteOptions`](crate::RouteOptions): 1 means
/// the caller's alone, 0 all that there are.
pub fn map<T: Send>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> T + Sync + Send,
) -> Vec<T> {
    #[cfg(feature = "std")]
    if threads != 1 && count > 1 {
        use rayon::prelude::*;
        return on_threads(threads, || (0..count).into_par_iter().map(&work).collect());
    }
    let _ = threads;
    (0..count).map(work).collect()
}

/// Gives every item of `items`, with the `len` entries of `data` that belong to it, to `work`.
pub fn rows<S: Send, T: Send>(
    threads: usize,
    items: &mut [S],
    data: &mut [T],
    len: usize,
    work: impl Fn(&mut S, &mut [T]) + Sync + Send,
) {
    let len = len.max(1);
    #[cfg(feature = "std")]
    if threads != 1 && items.len() >= 64 {
        use rayon::prelude::*;
        return on_threads(threads, || {
            let rows = items
                .par_iter_mut()
                .zip(data.par_chunks_mut(len))
                .with_min_len(16);
            rows.for_each(|(item, row)| work(item, row));
        });
    }
    let _ = threads;
    items
        .iter_mut()
        .zip(data.chunks_mut(len))
        .for_each(|(item, row)| work(item, row));
}

/// Runs on a pool of `threads`, or on the global one for 0.
#[cfg(feature = "std")]
fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    if threads == 0 {
        return work();
    }
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(work),
        // No thread to be had: the global pool falls back to the caller's.
        Err(_) => work(),
    }
}
