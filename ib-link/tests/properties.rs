//! The properties over generated inputs, and over inputs that once broke one.

use ib_link::properties;
use proptest::{collection::vec, prelude::*};

ib_testkit::properties! {
    credits_overrun_no_buffer(vec(any::<u8>(), 0..600));
    an_arbiter_serves_who_waits(vec(any::<u8>(), 0..600));
}
