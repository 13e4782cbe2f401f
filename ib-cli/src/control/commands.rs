//! The commands of the console, with the names that OpenSM's console uses.
//!
//! [`lines`] has the form of a line and of its answer.

mod balance;
mod partition;
mod perf;
mod ports;
mod reload;
mod status;

use std::{fmt::Display, path::Path, time::Duration};

use ib_mad::Instant;
use ib_sm::{SmConfig, SubnetManager};
use ib_smp::NodeType;
use serde_json::{Value, json};

use super::{
    Companions,
    lines::{self, Request},
    metrics,
};
use crate::{
    files,
    log::Log,
    output::{stderr::printable, table::Table},
    sm_args::SmArgs,
};

/// A command of the console.
pub struct ConsoleCommand {
    /// Its word.
    pub name: &'static str,
    /// The values that follow, for people.
    pub values: &'static str,
    /// One sentence on its effect.
    pub help: &'static str,
}

macro_rules! commands {
    ($($name:literal $values:literal $help:literal;)*) => {
        /// All commands, in the order in which `help` lists them.
        pub const COMMANDS: &[ConsoleCommand] = &[
            $(ConsoleCommand { name: $name, values: $values, help: $help },)*
        ];
    };
}

commands! {
    "status" "" "what the manager does and keeps; `ib ctl status loop` repeats it";
    "portstatus" "[ca|switch|router]" "ports by state, width and speed; links below what both ends can do";
    "dump_portguid" "REGEX..." "end ports of nodes whose description matches one of these";
    "querylid" "LID" "who owns a LID, and the state of the node's ports";
    "switchbalance" "[verbose] [GUID]" "routes by port, of switches that spread them unevenly (verbose: of all)";
    "lidbalance" "[GUID]" "hosts whose LIDs a switch forwards unevenly over neighbours or ports";
    "resweep" "[heavy|light]" "sweep now (heavy if nothing is said)";
    "reroute" "" "sweep, and compute all routes anew";
    "update_desc" "" "read the descriptions of all nodes again, with a heavy sweep";
    "reload" "" "read the configuration again, as SIGHUP does, and sweep";
    "partition" "[add RULE | remove NAME|P_KEY [PORT_GUID]]" "partitions; changes act at once, until the configuration is read again";
    "priority" "[N]" "show or change the priority in the election";
    "sweep" "[on|off|SECONDS]" "sweep at intervals and after traps, not at all, or at this interval";
    "dump" "" "write the dump files, as SIGUSR1 does";
    "dump_conf" "" "the configuration in effect, as an option file";
    "loglevel" "[LEVEL|SPEC|FLAGS]" "show or set what is logged, as `debug`, `info,routing=trace` or OpenSM's 0x07";
    "permodlog" "" "what is logged, by module";
    "logflush" "[on|off]" "write the log to the disk and open its file again; on: after each line from now on";
    "perfmgr" "[COMMAND]" "the performance manager; `perfmgr help` lists its commands";
    "pm" "[COMMAND]" "the same";
    "metrics" "" "numbers for Prometheus";
    "version" "" "this program's version";
    "help" "[COMMAND]" "this list";
    "json" "COMMAND" "the answer of COMMAND as JSON";
}

/// The list of the commands, or the line of one of them; `None` if there is no such command.
fn help(of: &str) -> Option<String> {
    /// Column of the explanations.
    const COLUMN: usize = 30;
    let chosen = COMMANDS
        .iter()
        .filter(|command| of.is_empty() || command.name == of);
    let lines: Vec<String> = chosen
        .map(|command| {
            let usage = format!("{} {}", command.name, command.values);
            format!("{:<COLUMN$} {}", usage.trim_end(), command.help)
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The manager and what belongs to it: what a command acts on.
pub struct Host<'a> {
    pub sm: &'a mut SubnetManager,
    pub companions: &'a mut Companions,
    pub args: &'a SmArgs,
    pub log: &'a Log,
    pub now: Instant,
}

/// An answer in both forms: text and JSON.
struct Reply {
    text: String,
    json: Value,
}

impl Reply {
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

impl Host<'_> {
    /// Executes one command line and returns the text to print.
    pub fn execute(&mut self, line: &str) -> String {
        let request = Request::of_line(line);
        let reply = self.answer(request.command);
        match request.json {
            true => lines::json_answer(reply.json),
            false => lines::text_answer(&reply.text),
        }
    }

    fn answer(&mut self, command: &str) -> Reply {
        let (word, rest) = command
            .split_once(char::is_whitespace)
            .unwrap_or((command, ""));
        let (rest, now) = (rest.trim(), self.now);
        let sm = &mut *self.sm;
        match (word, rest) {
            ("status", "") => status::status(sm, now),
            ("portstatus", "") => status::port_status(sm, None),
            ("portstatus", "ca") => status::port_status(sm, Some(NodeType::CA)),
            ("portstatus", "switch") => status::port_status(sm, Some(NodeType::SWITCH)),
            ("portstatus", "router") => status::port_status(sm, Some(NodeType::ROUTER)),
            ("dump_portguid", patterns) if !patterns.is_empty() => ports::port_guids(sm, patterns),
            ("querylid", text) => match ports::lid(text) {
                Some(lid) => ports::owner(sm, lid),
                None => Reply::refused("expected `querylid LID`"),
            },
            ("switchbalance", values) => balance::of_switches(sm, values),
            ("lidbalance", guid) => balance::of_lids(sm, guid),
            ("resweep", "" | "heavy") => {
                sm.resweep(now);
                Reply::said("a heavy sweep begins")
            }
            ("resweep", "light") => {
                sm.light_sweep(now);
                Reply::said("a light sweep begins")
            }
            ("reroute", "") => {
                sm.reroute(now);
                Reply::said("a heavy sweep begins; all routes are computed anew")
            }
            ("update_desc", "") => {
                sm.resweep(now);
                Reply::said("a heavy sweep begins, which reads the descriptions of all nodes")
            }
            ("partition", values) => partition::answer(sm, now, values),
            ("reload", "") => match self.reload() {
                Ok(text) => Reply::said(text),
                Err(reason) => Reply::refused(reason),
            },
            ("perfmgr" | "pm", command) => perf::answer(self.companions, sm, now, command),
            ("priority", "") => {
                let priority = sm.status().priority;
                Reply::said(format_args!("the priority is {priority}"))
            }
            ("priority", text) => match text.parse() {
                Ok(priority @ 0..=15) => {
                    sm.set_priority(now, priority);
                    Reply::said(format_args!("the priority is {priority}"))
                }
                _ => Reply::refused("expected `priority N`, 0 to 15"),
            },
            ("dump", "") => Reply::said(self.dump()),
            ("dump_conf", "") => configuration(sm),
            ("sweep", how) => self.sweep(how),
            ("loglevel" | "permodlog", "") => Reply::said(self.log.level()),
            ("loglevel", spec) => match self.log.set_level(spec) {
                Ok(()) => Reply::said(format_args!("the log shows {}", self.log.level())),
                Err(reason) => Reply::refused(reason),
            },
            ("logflush", "") => {
                self.log.reopen();
                Reply::said("the log is on the disk")
            }
            ("logflush", "on" | "off") => {
                self.log.set_flush(rest == "on");
                let when = if rest == "on" {
                    "after each line"
                } else {
                    "when the system does it"
                };
                Reply::said(format_args!("the log goes to the disk {when}"))
            }
            ("metrics", "") => {
                let text = metrics::text_of(sm);
                let json = json!({ "message": text });
                Reply { text, json }
            }
            ("version", "") => Reply::said(env!("CARGO_PKG_VERSION")),
            ("help" | "", of) => match help(of) {
                Some(lines) => Reply::said(lines),
                None => Reply::refused(format_args!("`{}` is no command", printable(of))),
            },
            // A known word whose values do not fit.
            _ => match help(word) {
                Some(line) => Reply::refused(format_args!("expected `{}`", line.trim_end())),
                None => Reply::refused(format_args!(
                    "`{}` is no command; `help` lists them",
                    printable(command)
                )),
            },
        }
    }

    /// `sweep`: shows or changes when the manager sweeps by itself.
    fn sweep(&mut self, how: &str) -> Reply {
        let configured = || self.args.config().unwrap_or_default();
        let config = self.sm.config();
        let (interval, on_trap) = match how {
            "" => (config.sweep_interval, config.sweep_on_trap),
            "off" => (None, false),
            "on" => {
                let config = configured();
                (config.sweep_interval, config.sweep_on_trap)
            }
            seconds => match seconds.parse::<u32>() {
                Ok(0) => (None, config.sweep_on_trap),
                Ok(seconds) => {
                    let interval = Duration::from_secs(seconds.into());
                    (Some(interval), configured().sweep_on_trap)
                }
                Err(_) => {
                    return Reply::refused("expected `sweep on`, `sweep off` or `sweep SECONDS`");
                }
            },
        };
        if !how.is_empty() {
            self.sm.set_sweeping(self.now, interval, on_trap);
        }
        let traps = if on_trap {
            "traps start one"
        } else {
            "traps start none"
        };
        let text = match interval {
            Some(interval) => format!("sweeps every {} s; {traps}", interval.as_secs()),
            None => format!("no sweeps at intervals; {traps}; commands still do"),
        };
        let seconds = interval.map(|interval| interval.as_secs());
        let json = json!({ "message": text, "sweep_interval": seconds, "sweep_on_trap": on_trap });
        Reply { text, json }
    }

    /// Writes the dump files, if the command line or the configuration names a directory for them.
    pub fn dump(&self) -> String {
        let sm = &self.sm;
        let configured = sm.config().files.dump_files_dir.as_deref().map(Path::new);
        let directory = self.args.dump_dir.as_deref().or(configured);
        let (Some(directory), Some(routes)) = (directory, sm.routes()) else {
            return "nothing to write: no --dump-dir or dump_files_dir, or no routes yet"
                .to_owned();
        };
        match files::dump(directory, sm.fabric(), sm.lids(), routes, sm.multicast()) {
            Ok(()) => format!("wrote the dump files to {}", directory.display()),
            Err(error) => error.to_string(),
        }
    }
}

/// The configuration in effect.
fn configuration(sm: &SubnetManager) -> Reply {
    let mut options = serde_json::Map::new();
    for option in SmConfig::options().filter(|option| option.refused().is_none()) {
        options.insert(option.key().to_owned(), option.value(sm.config()).into());
    }
    Reply {
        text: sm.config().to_text(),
        json: options.into(),
    }
}
