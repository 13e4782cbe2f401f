//! Commands for the performance manager, with the names of the subcommands of OpenSM's `perfmgr`.

use ib_diag::{PerfManager, PortHistory};
use ib_mad::Instant;
use ib_sm::{PortAt, SubnetManager};
use serde_json::{Map, Value, json};

use super::{Companions, Reply};
use crate::output::{stderr::printable, table::Table};

const HELP: &str = "\
perfmgr                      what the performance manager does
perfmgr enable|disable       switch it on or off, until the configuration is read again
perfmgr sweep                read the counters now
perfmgr sweep_time [SECONDS] show or set the time between two sweeps
perfmgr print_counters [TEXT]  totals of ports whose node's name or GUID contains TEXT; also pc
perfmgr print_errors [TEXT]  the same, error counters above 0 alone; also pe
perfmgr dump_counters        write the totals to event_db_dump_file
perfmgr clear_counters       set all totals to 0; the counters of the devices stay
perfmgr clear_inactive       forget ports that are no longer in the subnet
perfmgr set_rm_nodes|clear_rm_nodes  forget such ports at each sweep, or keep them
perfmgr set_query_cpi|clear_query_cpi  ask agents which counters they have, or read PortCounters alone
perfmgr help                 this list";

pub(super) fn answer(
    companions: &mut Companions,
    sm: &SubnetManager,
    now: Instant,
    command: &str,
) -> Reply {
    let (word, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let rest = rest.trim();
    match (word, rest) {
        ("enable", "") => {
            companions.enable_perf(sm.config(), true, now);
            return Reply::said("the performance manager is on");
        }
        ("disable", "") => {
            companions.enable_perf(sm.config(), false, now);
            return Reply::said("the performance manager is off");
        }
        ("help", "") => return Reply::said(HELP),
        ("dump_counters", "") if companions.perf().is_some() => {
            return match companions.dump_now() {
                Ok(file) => Reply::said(format_args!("wrote {}", file.display())),
                Err(error) => Reply::refused(error),
            };
        }
        _ => {}
    }
    let Some(perf) = companions.perf_mut() else {
        return Reply::refused("the performance manager is off; `perfmgr enable` switches it on");
    };
    match (word, rest) {
        ("" | "status", "") => status(perf),
        ("sweep", "") => {
            perf.sweep_now(now);
            Reply::said("a sweep of the counters begins")
        }
        ("sweep_time", "") => interval(perf),
        ("sweep_time", text) => match text.parse() {
            Ok(seconds) if seconds > 0 => {
                let mut config = perf.config().clone();
                config.sweep_interval = std::time::Duration::from_secs(seconds);
                perf.reconfigure(now, config);
                interval(perf)
            }
            _ => Reply::refused("expected `perfmgr sweep_time SECONDS`"),
        },
        ("set_rm_nodes" | "clear_rm_nodes", "") => {
            let mut config = perf.config().clone();
            config.remove_nodes = word == "set_rm_nodes";
            let what = if config.remove_nodes {
                "forgotten"
            } else {
                "kept"
            };
            perf.reconfigure(now, config);
            Reply::said(format_args!("ports that leave the subnet are {what}"))
        }
        ("set_query_cpi" | "clear_query_cpi", "") => {
            let mut config = perf.config().clone();
            config.class_port_info = word == "set_query_cpi";
            let what = match config.class_port_info {
                true => "agents are asked which counters they have",
                false => "PortCounters alone is read",
            };
            perf.reconfigure(now, config);
            Reply::said(what)
        }
        ("clear_inactive", "") => {
            let ports = perf.forget_inactive();
            Reply::said(format_args!("{ports} ports forgotten"))
        }
        ("dump_redir" | "clear_redir", _) => Reply::refused(
            "there is no table of redirections: each request follows those that it meets (perfmgr_redir)",
        ),
        ("pc" | "print_counters", text) => counters(perf, text, false),
        ("pe" | "print_errors", text) => counters(perf, text, true),
        ("clear_counters", "") => {
            perf.clear_totals(now);
            Reply::said("all totals are 0")
        }
        _ => Reply::refused("no such command of perfmgr; `perfmgr help` lists them"),
    }
}

fn interval(perf: &PerfManager) -> Reply {
    let seconds = perf.config().sweep_interval.as_secs();
    Reply::said(format_args!("counters are read every {seconds} s"))
}

fn status(perf: &PerfManager) -> Reply {
    let config = perf.config();
    let (ports, active) = perf
        .ports()
        .fold((0usize, 0usize), |(all, active), (_, port)| {
            (all + 1, active + usize::from(port.is_active()))
        });
    let errors = perf
        .ports()
        .filter(|(_, port)| errors(port).next().is_some());
    let errors = errors.count();
    let seconds = config.sweep_interval.as_secs();
    let mut table = Table::new(["performance manager", ""]);
    let mut row = |name: &str, value: String| {
        table.row([name.to_owned(), value]);
    };
    row("sweep", format!("every {seconds} s"));
    row("ports", format!("{ports}, {active} of them in the subnet"));
    row("ports with errors", errors.to_string());
    let rm_nodes = if config.remove_nodes {
        "forgotten"
    } else {
        "kept"
    };
    row("ports that left", rm_nodes.to_owned());
    row(
        "asks for ClassPortInfo",
        if config.class_port_info { "yes" } else { "no" }.to_owned(),
    );
    let json = json!({
        "sweep_time": seconds, "ports": ports, "active": active, "ports_with_errors": errors,
        "rm_nodes": config.remove_nodes, "query_cpi": config.class_port_info,
    });
    Reply::table(&table, json)
}

/// The error counters of a port that are above 0.
fn errors(port: &PortHistory) -> impl Iterator<Item = (&'static str, u64)> + '_ {
    let totals = port.totals();
    totals.filter(|(name, total)| ib_diag::CounterReadings::counts_errors(name) && *total > 0)
}

/// The totals of the ports that `text` names. With `errors_alone`, only the error counters above 0.
fn counters(perf: &PerfManager, text: &str, errors_alone: bool) -> Reply {
    let mut table = Table::new(["port", "node", "counter", "total"]);
    let mut list = Vec::new();
    let is_named = |at: &PortAt, port: &PortHistory| {
        port.name().contains(text) || at.to_string().contains(text)
    };
    for (at, port) in perf.ports().filter(|(at, port)| is_named(at, port)) {
        let totals: Vec<_> = match errors_alone {
            true => errors(port).collect(),
            false => port.totals().collect(),
        };
        if totals.is_empty() {
            continue;
        }
        let mut counted = Map::new();
        for (name, total) in totals {
            table.row([
                at.to_string(),
                printable(port.name()).to_string(),
                name.to_owned(),
                total.to_string(),
            ]);
            counted.insert(name.to_owned(), total.into());
        }
        list.push(json!({
            "node_guid": at.node_guid, "port": at.port_num.0, "name": port.name(),
            "active": port.is_active(), "counters": Value::Object(counted),
        }));
    }
    Reply::table(&table, list.into())
}
