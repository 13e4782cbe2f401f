//! Events of the manager that a person should know of: one line each on stderr.

use ib_sm::{Event, EventSeverity, SubnetManager};

/// The warning for an event, if it is anything to worry about. A sweep that failed is reported by the caller.
pub fn of(event: &Event) -> Option<String> {
    let serious = event.severity() <= EventSeverity::Warning;
    let reported = matches!(event, Event::SweepFailed(_) | Event::RoutesVerified { .. });
    (serious && !reported).then(|| event.to_string())
}

/// The warning for options that the routes in place override.
pub fn of_overridden(sm: &SubnetManager) -> Option<String> {
    let routes = sm.routes()?;
    let ignored = sm.config().qos.chooses_lanes() && routes.vls() > 1;
    ignored.then(|| {
        format!(
            "qos_sl2vl is not in effect: {} keeps packets from deadlock by lanes of its own",
            routes.engine()
        )
    })
}
