//! Events of the manager that a person should know of: one line each on stderr.

use ib_sm::{Event, Severity};

/// The warning for an event, if it is anything to worry about. A sweep that failed is reported by the caller.
pub fn of(event: &Event) -> Option<String> {
    let serious = event.severity() <= Severity::Warning;
    let reported = matches!(event, Event::SweepFailed(_) | Event::RoutesVerified { .. });
    (serious && !reported).then(|| event.to_string())
}
