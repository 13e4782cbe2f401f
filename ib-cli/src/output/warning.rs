//! What a person should know of a manager's events: one line each on stderr.

use ib_sm::{Event, PortAt};

/// What to warn of, if the event is anything to worry about.
pub fn of(event: &Event) -> Option<String> {
    let near = |port: &Option<PortAt>| match port {
        Some(port) => port.to_string(),
        None => "the manager's own port".to_owned(),
    };
    Some(match event {
        Event::Silent(silent) => format!("no answer from {}", near(&silent.at)),
        Event::RoutingFallback { reason, .. } => format!("{reason}; the next engine is tried"),
        Event::RepairFailed(reason) => format!("all routes computed anew: {reason}"),
        Event::LidsExhausted(error) => error.to_string(),
        Event::DuplicateGuid { node_guid, .. } => {
            format!("GUID {node_guid} is claimed by two nodes")
        }
        Event::Implausible {
            behind,
            node_guid,
            field,
        } => format!(
            "node {node_guid} at {} is left out: its {field} cannot be",
            near(behind)
        ),
        Event::GuidChanged {
            behind,
            before,
            now,
        } => format!(
            "the node at {} is left out: it was {before} and says {now} now",
            near(behind)
        ),
        Event::LeftOut { node_guid } => {
            format!("node {node_guid} takes no part: it has no forwarding table, or did not tell")
        }
        Event::PKeyTableFull { at } => {
            format!("the P_Key table of {at} has no room for its partitions")
        }
        Event::MulticastCutOff { mgid, port_guid } => {
            format!(
                "port {port_guid} is cut off from group {mgid}: no switch on the way has multicast"
            )
        }
        Event::TableTooSmall {
            node_guid,
            table,
            entries,
            needed,
        } => format!(
            "switch {node_guid} has {entries} entries in its {table}, and {needed} are needed: it does not \
             forward to the LIDs beyond"
        ),
        Event::Refused {
            at,
            attribute_id,
            status,
        } => format!("{} refused {attribute_id}: {status}", near(at)),
        _ => return None,
    })
}
