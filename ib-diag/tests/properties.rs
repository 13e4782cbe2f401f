//! The properties over generated inputs, and over inputs that violated one in the past.

use ib_diag::properties;
use proptest::{collection::vec, prelude::*};

ib_testkit::properties! {
    any_file_is_a_snapshot_or_an_error(vec(any::<u8>(), 0..200));
    any_body_can_be_judged(vec(any::<u8>(), 0..40));
}
