//! The console: ibsim's commands, one a line, names in any case, and `Silent`, which ibsim does not have.
//!
//! The output of a command has ibsim's columns, for scripts that read it. An error is a line that begins with `#`; a
//! comment is printed as it is.

mod admin;
mod dump;
mod route;
mod words;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use ib_transport::Clock;

use super::input::{InputLine, MAX_LINE};
use super::{Server, ServerError};
use words::{Words, number};

/// Most files that read one another: deeper is a loop.
const MAX_DEPTH: u8 = 9;

/// Most bytes of a file of commands.
const MAX_FILE: u64 = 1 << 24;

const HELP: &str = "\
Start                                      serve the clients
Dump [\"id\"]                                print the fabric, or one node
Route FROMLID TOLID                        follow the forwarding tables
Link \"id\"[port] \"id\"[port]                 plug a cable in
Unlink \"id\"[[port]]                        pull a cable, or all of a node
ReLink \"id\"[[port]]                        plug pulled cables in again
Clear \"id\"[[port]]                         pull cables and forget LIDs
Guid \"id\"[[port]] GUID                     change a GUID
Error \"id\"[[port]] PERCENT [ATTRIBUTE]     drop requests to the agents
Silent \"id\" [off|MILLISECONDS]             leave requests to a node unanswered; they come back as timed
                                           out after so long, or never
PerformanceSet \"id\"[port] ATTRIBUTE.FIELD=VALUE
                                           set a counter
Baselid \"id\"[port] LID [LMC]               change a LID
Attached                                   list the clients
X SLOT                                     disconnect a client
Verbose [LEVEL]                            print or set the level
Wait SECONDS                               do nothing for a while
Help, ?                                    this text
Quit                                       end the server
!FILE                                      commands from a file
#                                          a comment
";

/// The effect of a command on the server's loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Continue,
    Quit,
}

/// A line to carry out.
#[derive(Clone, Debug)]
pub(super) struct ConsoleCommand {
    text: InputLine,
    /// Depth of the file that the line is from: 1 for a file that a typed command named; 0 for a typed line.
    depth: u8,
}

impl ConsoleCommand {
    pub(super) fn is_from_file(&self) -> bool {
        self.depth > 0
    }
}

/// The console's own state.
#[derive(Clone, Debug, Default)]
pub(super) struct Console {
    verbose: u32,
    /// Lines of files that are still to be carried out: they come before what was typed after them.
    pending: VecDeque<ConsoleCommand>,
}

/// The reason why a command was not carried out; it is printed after `# `.
type Refusal = String;

impl Console {
    /// The next line to carry out: one of a file, else one that was typed.
    pub(super) fn next_line(
        &mut self,
        typed: Option<&Receiver<InputLine>>,
    ) -> Option<ConsoleCommand> {
        self.pending.pop_front().or_else(|| {
            let text = typed?.try_recv().ok()?;
            Some(ConsoleCommand { text, depth: 0 })
        })
    }

    /// Carries one line out.
    pub(super) fn execute(
        &mut self,
        server: &mut Server,
        line: ConsoleCommand,
        output: &mut dyn Write,
    ) -> Result<Outcome, ServerError> {
        let ConsoleCommand { text, depth } = line;
        let text = match text {
            InputLine::Text(text) => text,
            InputLine::NotUtf8 => {
                show(output, b"# the line is not UTF-8: skipped\n");
                return Ok(Outcome::Continue);
            }
            InputLine::TooLong => {
                let text = format!("# the line is longer than {MAX_LINE} bytes: skipped\n");
                show(output, text.as_bytes());
                return Ok(Outcome::Continue);
            }
        };
        let line = text.trim();
        if line.is_empty() {
            return Ok(Outcome::Continue);
        }
        if let Some(file) = line.strip_prefix('!') {
            self.read_file(file.trim(), depth, output);
            return Ok(Outcome::Continue);
        }
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let mut words = Words(rest.trim());
        let mut text = Vec::new();
        let mut outcome = Outcome::Continue;
        let sim = &mut server.sim;
        let done = match name.to_ascii_lowercase().as_str() {
            comment if comment.starts_with('#') => {
                print(&mut text, |text| writeln!(text, "{line}"));
                Ok(())
            }
            "quit" => {
                print(&mut text, |text| {
                    writeln!(text, "Exiting network simulator.")
                });
                outcome = Outcome::Quit;
                Ok(())
            }
            "start" => {
                if !server.started {
                    server.start()?;
                }
                Ok(())
            }
            "help" | "?" => {
                print(&mut text, |text| text.write_all(HELP.as_bytes()));
                Ok(())
            }
            "dump" => dump::dump(sim, &mut words, &mut text),
            "route" => route::route(sim, &mut words, &mut text),
            "link" => admin::link(sim, &mut words),
            "unlink" => admin::unlink(sim, &mut words),
            "relink" => admin::relink(sim, &mut words),
            "clear" => admin::clear(sim, &mut words),
            "guid" => admin::guid(sim, &mut words),
            "error" => admin::error(sim, &mut words),
            "silent" => admin::silent(server, &mut words),
            "performanceset" => admin::performance_set(sim, &mut words, &mut text),
            "baselid" => admin::base_lid(sim, &mut words),
            "attached" => attached(server, &mut text),
            "x" => disconnect(server, &mut words),
            "verbose" => self.set_verbose(&mut words, &mut text),
            "wait" => wait(server, &mut words),
            _ => {
                print(&mut text, |text| {
                    writeln!(text, "command '{line}' unknown - skipped")
                });
                Ok(())
            }
        };
        if let Err(refusal) = done {
            text.extend(format!("# {name}: {refusal}\n").bytes());
        }
        show(output, &text);
        Ok(outcome)
    }

    /// Queues the lines of a file: one that waits keeps the next ones waiting too.
    fn read_file(&mut self, file: &str, depth: u8, output: &mut dyn Write) {
        if depth >= MAX_DEPTH {
            let _ = writeln!(output, "# {file}: files are nested too deep");
            return;
        }
        let depth = depth.saturating_add(1);
        match read_bounded(file) {
            Ok(text) => {
                for line in text.lines().rev() {
                    let text = InputLine::Text(line.to_owned());
                    self.pending.push_front(ConsoleCommand { text, depth });
                }
            }
            Err(error) => {
                let _ = writeln!(output, "# {file}: {error}");
            }
        }
    }

    /// The level is kept for scripts that ask for it; the server says nothing by itself at any level.
    fn set_verbose(&mut self, words: &mut Words<'_>, text: &mut Vec<u8>) -> Result<(), Refusal> {
        if let Some(level) = words.next() {
            self.verbose = number(Some(level), "a level")?;
        }
        let level = self.verbose;
        print(text, |text| {
            writeln!(text, "simulator verbose level is {level}")
        });
        Ok(())
    }
}

/// The text of a file of at most [`MAX_FILE`] bytes.
fn read_bounded(file: &str) -> io::Result<String> {
    let mut text = String::new();
    let file = File::open(file)?;
    let read = file
        .take(MAX_FILE.saturating_add(1))
        .read_to_string(&mut text)?;
    if u64::try_from(read).is_ok_and(|read| read > MAX_FILE) {
        let reason = format!("the file is longer than {MAX_FILE} bytes");
        return Err(io::Error::other(reason));
    }
    Ok(text)
}

/// Shows a text on the console. A console that cannot be written to is no reason to stop serving.
fn show(output: &mut dyn Write, text: &[u8]) {
    let _ = output.write_all(text).and_then(|()| output.flush());
}

fn wait(server: &mut Server, words: &mut Words<'_>) -> Result<(), Refusal> {
    let seconds = number(words.next(), "seconds")?;
    if seconds == 0 {
        return Err("0: expected seconds".to_owned());
    }
    #[allow(
        clippy::arithmetic_side_effects,
        reason = "adding to an Instant stays at the end of time"
    )]
    let until = server.clock.now() + Duration::from_secs(seconds);
    server.asleep_until = Some(until);
    Ok(())
}

fn attached(server: &Server, text: &mut Vec<u8>) -> Result<(), Refusal> {
    for (slot, client) in server.clients.iter().enumerate() {
        let Some(client) = client else { continue };
        let node = server.sim.node(client.port.node);
        let name = node.map_or("", |node| node.name());
        let Some(port) = server.sim.port(client.port) else {
            continue;
        };
        print(text, |text| {
            writeln!(
                text,
                "Client {slot}: pid {} connected at \"{name}\" port {:#x}, lid {}, qp {} {}",
                client.id,
                port.guid().0,
                port.info().lid(),
                client.qp,
                if client.is_sm { "SM" } else { "" }
            )
        });
    }
    Ok(())
}

fn disconnect(server: &mut Server, words: &mut Words<'_>) -> Result<(), Refusal> {
    let slot: u16 = number(words.next(), "a slot")?;
    let slot = usize::from(slot);
    if !server.clients.get(slot).is_some_and(Option::is_some) {
        return Err(format!("there is no client {slot}"));
    }
    server.free_slot(slot);
    Ok(())
}

/// Writes to memory, which does not fail.
fn print(text: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
    let _ = write(text);
}
