//! `status` and `portstatus`: what the manager does, and the ports of the subnet by state, width and speed.

use std::fmt::Display;

use ib_mad::Instant;
use ib_sm::{InstalledRoutes, SubnetManager};
use ib_smp::NodeType;
use ib_subnet::PortSummary;
use serde_json::{Value, json};

use super::{Reply, ports::named};
use crate::output::table::Table;

pub(super) fn status(sm: &SubnetManager, now: Instant) -> Reply {
    let status = sm.status();
    let summary = sm.summary();
    let phase = status.phase.map_or("waiting", |phase| phase.name());
    let engine = status.engine.map(|engine| engine.to_string());
    let ago = now.since(status.sweep_started).as_secs_f64();
    let others: Vec<Value> = status
        .others
        .iter()
        .map(|(at, info)| {
            json!({
                "port": at.to_string(), "guid": info.guid(), "priority": info.priority(),
                "state": info.sm_state().to_string(),
            })
        })
        .collect();
    let fabric = summary.fabric;
    let json = json!({
        "state": status.state.to_string(),
        "priority": status.priority,
        "port_guid": status.port_guid,
        "up": status.up,
        "phase": phase,
        "requests": status.requests,
        "sweep_age": ago,
        "engine": engine,
        "topology": sm.installed().map(InstalledRoutes::version),
        "fabric": {
            "switches": fabric.switches, "cas": fabric.cas, "routers": fabric.routers,
            "links": fabric.links, "lids": fabric.lids,
        },
        "ports": {
            "active": summary.ports.active, "not_active": summary.ports.not_active,
        },
        "errors": summary.errors,
        "silent": summary.unresponsive.len(),
        "mads": {
            "sent": status.mads.sent, "received": status.mads.received,
            "retried": status.mads.retried, "timed_out": status.mads.timed_out,
        },
        "groups": status.registered.groups,
        "memberships": status.registered.memberships,
        "services": status.registered.services,
        "subscriptions": status.registered.subscriptions,
        "others": others,
    });
    let mut table = Table::new(["manager", ""]);
    let mut row = |name: &str, value: &dyn Display| {
        table.row([name.to_owned(), value.to_string()]);
    };
    row("state", &status.state);
    row("priority", &status.priority);
    row("port GUID", &status.port_guid);
    row("subnet", &if status.up { "up" } else { "NOT up" });
    row("at work", &phase);
    row("requests", &status.requests);
    row("last sweep began", &format_args!("{ago:.1} s ago"));
    row("engine", &engine.as_deref().unwrap_or("-"));
    row(
        "fabric",
        &format_args!(
            "{} switches, {} CAs, {} routers, {} links, {} LIDs",
            fabric.switches, fabric.cas, fabric.routers, fabric.links, fabric.lids
        ),
    );
    row(
        "ports",
        &format_args!(
            "{} active, {} not",
            summary.ports.active, summary.ports.not_active
        ),
    );
    row("silent", &summary.unresponsive.len());
    row("errors", &summary.errors);
    row(
        "MADs",
        &format_args!(
            "{} sent, {} received, {} retried, {} timed out",
            status.mads.sent, status.mads.received, status.mads.retried, status.mads.timed_out
        ),
    );
    row(
        "kept",
        &format_args!(
            "{} groups with {} memberships, {} services, {} subscriptions",
            status.registered.groups,
            status.registered.memberships,
            status.registered.services,
            status.registered.subscriptions
        ),
    );
    for (at, info) in &status.others {
        row(
            "other manager",
            &format_args!("{at}, priority {}, {}", info.priority(), info.sm_state()),
        );
    }
    Reply::table(&table, json)
}

pub(super) fn port_status(sm: &SubnetManager, only: Option<NodeType>) -> Reply {
    let port_summary = PortSummary::of(sm.subnet(), only);
    let mut table = Table::new(["ports", ""]);
    table.row(["in all".to_owned(), port_summary.ports.to_string()]);
    let mut counts = serde_json::Map::new();
    let mut add = |kind: &str, each: Vec<(String, usize)>| {
        let mut object = serde_json::Map::new();
        for (name, count) in each {
            table.row([name.clone(), count.to_string()]);
            object.insert(name, count.into());
        }
        counts.insert(kind.to_owned(), object.into());
    };
    let text = |count: (&dyn Display, &usize)| (count.0.to_string(), *count.1);
    add(
        "states",
        port_summary
            .states
            .iter()
            .map(|(k, v)| text((k, v)))
            .collect(),
    );
    add(
        "widths",
        port_summary
            .widths
            .iter()
            .map(|(k, v)| text((k, v)))
            .collect(),
    );
    add(
        "speeds",
        port_summary
            .speeds
            .iter()
            .map(|(k, v)| text((k, v)))
            .collect(),
    );
    counts.insert("nodes".to_owned(), port_summary.nodes.into());
    counts.insert("ports".to_owned(), port_summary.ports.into());
    let lists = [
        ("disabled", &port_summary.disabled),
        ("narrow", &port_summary.narrow),
        ("slow", &port_summary.slow),
        ("unanswered", &port_summary.unanswered),
    ];
    for (kind, ports) in lists {
        let ports: Vec<String> = ports.iter().map(|at| named(sm, *at)).collect();
        for port in &ports {
            table.row([kind.to_owned(), port.clone()]);
        }
        counts.insert(kind.to_owned(), ports.into());
    }
    Reply::table(&table, counts.into())
}
