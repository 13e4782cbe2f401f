//! Counts how often nodes are looked at, so that a test can bound the work of a call by a number that does not depend
//! on the machine. Without the feature `count` nothing is counted.

#[cfg(feature = "count")]
use core::sync::atomic::{AtomicUsize, Ordering};

/// Number of times that a node was looked at.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    #[cfg(feature = "count")]
    count: AtomicUsize,
}

impl Looks {
    #[inline(always)]
    pub(crate) fn note(&self) {
        #[cfg(feature = "count")]
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    #[cfg(feature = "count")]
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

impl Clone for Looks {
    fn clone(&self) -> Self {
        Self {
            #[cfg(feature = "count")]
            count: AtomicUsize::new(self.count()),
        }
    }
}
