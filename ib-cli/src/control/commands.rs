//! The commands of the console, with the names that OpenSM's console uses.
//!
//! A line is one command. Its answer is text that ends with an empty line; after `json ` it is one JSON
//! document on one line.

mod perf;
mod ports;
mod status;

use std::{fmt::Display, path::Path};

use ib_mad::Instant;
use ib_sm::{SmConfig, SubnetManager};
use ib_smp::NodeType;
use serde_json::{Value, json};

use super::{Companions, metrics};
use crate::{
    files,
    log::Log,
    output::{stderr::printable, table::Table},
    sm_args::SmArgs,
};

const HELP: &str = "\
status                       what the manager does and keeps
portstatus [ca|switch|router]  ports by state, width and speed; links below what both ends can do
dump_portguid TEXT           end ports of nodes whose description contains TEXT
querylid LID                 who owns a LID
resweep [heavy|light]        sweep now (heavy if nothing is said)
reroute                      sweep, and compute all routes anew
reload                       read the configuration again, as SIGHUP does, and sweep
priority N                   change the priority in the election
sweep on|off                 sweep at intervals, or not
dump                         write the dump files, as SIGUSR1 does
dump_conf                    the configuration in effect, as an option file
loglevel [LEVEL|SPEC]        show or set what is logged, as `debug` or `info,routing=trace`
logflush                     write the log to the disk, and open its file again
perfmgr [COMMAND]             the performance manager; `perfmgr help` lists its commands
metrics                      numbers for Prometheus
version                      this program's version
help                         this list
json COMMAND                 the answer of COMMAND as JSON";

/// An answer in both forms: text and JSON.
struct Answer {
    text: String,
    json: Value,
}

impl Answer {
    /// The answer to a command that is unknown or was refused.
    fn refused(text: impl Display) -> Self {
        let text = text.to_string();
        let json = json!({ "message": text, "refused": true });
        let text = format!("error: {text}");
        Self { text, json }
    }

    /// An answer that consists of one sentence.
    fn said(text: impl Display) -> Self {
        let text = text.to_string();
        let json = json!({ "message": text });
        Self { text, json }
    }

    fn table(table: &Table, json: Value) -> Self {
        let mut out = Vec::new();
        // Writing to a vector cannot fail.
        let _ = table.print(&mut out);
        let text = String::from_utf8_lossy(&out).trim_end().to_owned();
        Self { text, json }
    }
}

/// Executes one command line and returns the text to print.
pub fn execute(
    sm: &mut SubnetManager,
    companions: &mut Companions,
    args: &SmArgs,
    log: &Log,
    now: Instant,
    line: &str,
) -> String {
    match line.strip_prefix("json ") {
        Some(command) => {
            let answer = answer(sm, companions, args, log, now, command.trim());
            format!("{}\n", answer.json)
        }
        None => {
            let answer = answer(sm, companions, args, log, now, line);
            format!("{}\n\n", answer.text.trim_end())
        }
    }
}

fn answer(
    sm: &mut SubnetManager,
    companions: &mut Companions,
    args: &SmArgs,
    log: &Log,
    now: Instant,
    command: &str,
) -> Answer {
    let (word, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let rest = rest.trim();
    match (word, rest) {
        ("status", "") => status::status(sm, now),
        ("portstatus", "") => status::port_status(sm, None),
        ("portstatus", "ca") => status::port_status(sm, Some(NodeType::CA)),
        ("portstatus", "switch") => status::port_status(sm, Some(NodeType::SWITCH)),
        ("portstatus", "router") => status::port_status(sm, Some(NodeType::ROUTER)),
        ("dump_portguid", text) if !text.is_empty() => ports::port_guids(sm, text),
        ("querylid", text) => match ports::lid(text) {
            Some(lid) => ports::owner(sm, lid),
            None => Answer::refused("expected `querylid LID`"),
        },
        ("resweep", "" | "heavy") => {
            sm.resweep(now);
            Answer::said("a heavy sweep begins")
        }
        ("resweep", "light") => {
            sm.light_sweep(now);
            Answer::said("a light sweep begins")
        }
        ("reroute", "") => {
            sm.reroute(now);
            Answer::said("a heavy sweep begins; all routes are computed anew")
        }
        ("reload", "") => Answer::said(reload(sm, companions, args, log, now)),
        ("perfmgr" | "pm", command) => perf::answer(companions, sm, now, command),
        ("priority", text) => match text.parse() {
            Ok(priority @ 0..=15) => {
                sm.set_priority(now, priority);
                Answer::said(format_args!("the priority is {priority}"))
            }
            _ => Answer::refused("expected `priority N`, 0 to 15"),
        },
        ("dump", "") => Answer::said(dump(sm, args)),
        ("dump_conf", "") => configuration(sm),
        ("sweep", "on" | "off") => {
            let mut config = sm.config().clone();
            config.sweep_interval = (rest == "on")
                .then(|| {
                    let default = SmConfig::default().sweep_interval;
                    args.config()
                        .map_or(default, |config| config.sweep_interval)
                })
                .flatten();
            let interval = config.sweep_interval;
            sm.reconfigure(now, config);
            match interval {
                Some(interval) => {
                    Answer::said(format_args!("sweeps every {} s", interval.as_secs()))
                }
                None => Answer::said("no sweeps at intervals; traps and commands still start one"),
            }
        }
        ("loglevel", "") => Answer::said(log.level()),
        ("loglevel", spec) => match log.set_level(spec) {
            Ok(()) => Answer::said(format_args!("the log shows {spec}")),
            Err(reason) => Answer::refused(reason),
        },
        ("logflush", "") => {
            log.reopen();
            Answer::said("the log is on the disk")
        }
        ("metrics", "") => {
            let text = metrics::text_of(sm);
            let json = json!({ "message": text });
            Answer { text, json }
        }
        ("version", "") => Answer::said(env!("CARGO_PKG_VERSION")),
        ("help" | "", "") => Answer::said(HELP),
        _ => Answer::refused(format_args!(
            "`{}` is no command; `help` lists them",
            printable(command)
        )),
    }
}

/// Reads the configuration file again. If it cannot be read, the configuration does not change.
pub fn reload(
    sm: &mut SubnetManager,
    companions: &mut Companions,
    args: &SmArgs,
    log: &Log,
    now: Instant,
) -> String {
    match args.config() {
        Ok(config) => {
            let changed: Vec<String> = sm
                .config()
                .changes(&config)
                .iter()
                .map(|change| {
                    let restart = if change.is_live {
                        ""
                    } else {
                        " (needs a restart)"
                    };
                    format!("{} {} -> {}{restart}", change.key, change.from, change.to)
                })
                .collect();
            let files = [
                ("partitions", config.partitions != sm.config().partitions),
                ("QoS policy", config.qos_policy != sm.config().qos_policy),
                (
                    "prefix routes",
                    config.prefix_routes != sm.config().prefix_routes,
                ),
            ];
            let files = files.into_iter().filter(|(_, differs)| *differs);
            let changed: Vec<String> = changed
                .into_iter()
                .chain(files.map(|(name, _)| format!("{name} changed")))
                .collect();
            sm.reconfigure(now, config);
            companions.reconfigure(sm.config(), now);
            log.follow(sm.config().host.log_flags);
            let what = match changed.as_slice() {
                [] => "no option differs".to_owned(),
                changed => changed.join(", "),
            };
            format!("the configuration was read again: {what}; a heavy sweep begins")
        }
        Err(error) => format!("nothing changes: {error}"),
    }
}

/// Writes the dump files, if the command line or the configuration names a directory for them.
pub fn dump(sm: &SubnetManager, args: &SmArgs) -> String {
    let configured = sm.config().files.dump_files_dir.as_deref().map(Path::new);
    let directory = args.dump_dir.as_deref().or(configured);
    let (Some(directory), Some(routes)) = (directory, sm.routes()) else {
        return "nothing to write: no --dump-dir or dump_files_dir, or no routes yet".to_owned();
    };
    match files::dump(directory, sm.fabric(), sm.lids(), routes, sm.multicast()) {
        Ok(()) => format!("wrote the dump files to {}", directory.display()),
        Err(error) => error.to_string(),
    }
}

/// The configuration in effect.
fn configuration(sm: &SubnetManager) -> Answer {
    let mut options = serde_json::Map::new();
    for option in SmConfig::options().filter(|option| option.no_effect().is_none()) {
        options.insert(option.key().to_owned(), option.value(sm.config()).into());
    }
    Answer {
        text: sm.config().to_text().replace("\n\n", "\n"),
        json: options.into(),
    }
}
