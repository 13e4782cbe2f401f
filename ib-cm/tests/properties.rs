//! The properties over generated inputs, and over inputs that once broke one.

use ib_cm::properties;
use proptest::{collection::vec, prelude::*};

ib_testkit::properties! {
    few_losses_leave_both_connected(vec(any::<u8>(), 0..200));
    any_link_leaves_agreement(vec(any::<u8>(), 0..400));
    any_cm_messages_stay_within_bounds(vec(any::<u8>(), 0..4000));
}
