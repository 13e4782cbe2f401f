//! Parts of the manager that work in progress may read while the manager goes on.

use alloc::sync::Arc;
use core::ops::{Deref, DerefMut};

/// A value that can be shared with work. A change while work holds it makes a copy; the work keeps the value as it
/// was.
#[derive(Debug, Default)]
pub(crate) struct Shared<T>(Arc<T>);

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// The present value, for work.
    pub(crate) fn share(&self) -> Arc<T> {
        Arc::clone(&self.0)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_keeps_the_value_that_it_was_given() {
        let mut value = Shared::new(1);
        let before = value.share();
        *value = 2;
        assert_eq!((*before, *value), (1, 2));
    }

    #[test]
    fn a_value_that_nothing_else_holds_is_changed_in_place() {
        let mut value = Shared::new(1);
        let place = Arc::as_ptr(&value.share());
        *value = 2;
        assert_eq!(Arc::as_ptr(&value.share()), place);
    }
}
