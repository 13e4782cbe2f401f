//! The console: ibsim's commands, one a line, names in any case.
//!
//! What is wrong with a command is a line that begins with `#`.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::Duration;

use ib_mad::AttributeId;
use ib_routing::{NodeIdx, PortRef};
use ib_smp::{PortPhysicalState, PortState};
use ib_transport::Clock;
use ib_wire::{Guid, Lid, Lmc, PortNum};

use crate::event::SimError;
use crate::sim::Sim;

use super::{Server, ServerError};

/// Files that read files that read files: deeper is a loop.
const MAX_DEPTH: u8 = 9;

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

/// Whether the server goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Continue,
    Quit,
}

/// A line to carry out.
#[derive(Clone, Debug)]
pub(super) struct Line {
    text: String,
    /// How many files read files until this line was read; 0: it was typed.
    depth: u8,
}

impl Line {
    pub(super) fn is_from_file(&self) -> bool {
        self.depth > 0
    }
}

/// The console's own state.
#[derive(Clone, Debug, Default)]
pub(super) struct Console {
    verbose: u32,
    /// What is still to be carried out. The lines of a file stand before those that were typed after it.
    pending: VecDeque<Line>,
}

/// Why a command was not carried out: printed behind `# `.
type Refusal = String;

impl Console {
    /// Takes in lines that were typed.
    pub(super) fn enter(&mut self, lines: impl IntoIterator<Item = String>) {
        let lines = lines.into_iter().map(|text| Line { text, depth: 0 });
        self.pending.extend(lines);
    }

    pub(super) fn next_line(&mut self) -> Option<Line> {
        self.pending.pop_front()
    }

    /// Carries one line out.
    pub(super) fn execute(
        &mut self,
        server: &mut Server,
        line: Line,
        output: &mut dyn Write,
    ) -> Result<Outcome, ServerError> {
        let Line { text, depth } = line;
        let line = text.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(Outcome::Continue);
        }
        if let Some(file) = line.strip_prefix('!') {
            self.read_file(file.trim(), depth, output);
            return Ok(Outcome::Continue);
        }
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let mut words = Words(rest.trim());
        let mut text = Vec::new();
        let done = match name.to_ascii_lowercase().as_str() {
            "quit" => return Ok(Outcome::Quit),
            "start" => {
                if !server.started {
                    server.start()?;
                }
                Ok(())
            }
            "help" | "?" => {
                text.extend(HELP.bytes());
                Ok(())
            }
            "dump" => dump(&server.sim, &mut words, &mut text),
            "route" => route(&server.sim, &mut words, &mut text),
            "link" => link(&mut server.sim, &mut words),
            "unlink" => unlink(&mut server.sim, &mut words),
            "relink" => relink(&mut server.sim, &mut words),
            "clear" => clear(&mut server.sim, &mut words),
            "guid" => guid(&mut server.sim, &mut words),
            "error" => error(&mut server.sim, &mut words),
            "performanceset" => performance_set(&mut server.sim, &mut words),
            "baselid" => base_lid(&mut server.sim, &mut words),
            "attached" => attached(server, &mut text),
            "x" => disconnect(server, &mut words),
            "verbose" => self.set_verbose(&mut words, &mut text),
            "wait" => wait(server, &mut words),
            _ => {
                text.extend(format!("command '{name}' unknown - skipped\n").bytes());
                Ok(())
            }
        };
        if let Err(refusal) = done {
            text.extend(format!("# {name}: {refusal}\n").bytes());
        }
        // A console that cannot be written to is no reason to stop serving.
        let _ = output.write_all(&text).and_then(|()| output.flush());
        Ok(Outcome::Continue)
    }

    /// Queues the lines of a file: one that waits keeps the next ones waiting too.
    fn read_file(&mut self, file: &str, depth: u8, output: &mut dyn Write) {
        if depth >= MAX_DEPTH {
            let _ = writeln!(output, "# {file}: files are nested too deep");
            return;
        }
        let depth = depth.saturating_add(1);
        match std::fs::read_to_string(file) {
            Ok(text) => {
                for line in text.lines().rev() {
                    let text = line.to_owned();
                    self.pending.push_front(Line { text, depth });
                }
            }
            Err(error) => {
                let _ = writeln!(output, "# {file}: {error}");
            }
        }
    }

    fn set_verbose(&mut self, words: &mut Words<'_>, text: &mut Vec<u8>) -> Result<(), Refusal> {
        match words.next() {
            Some(level) => self.verbose = number(Some(level), "a level")?,
            None => text.extend(format!("simverbose is {}\n", self.verbose).bytes()),
        }
        Ok(())
    }
}

/// The words of a command; a name in quotes is one word with the brackets behind it.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        let mut quoted = false;
        let end = text.find(|c: char| {
            quoted ^= c == '"';
            !quoted && c.is_whitespace()
        });
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }

    /// A node, and its port if one is named in brackets.
    fn node(&mut self, sim: &Sim) -> Result<(NodeIdx, Option<PortNum>), Refusal> {
        let word = self.next().ok_or("expected \"id\" or \"id\"[port]")?;
        let (name, port) = match word.strip_prefix('"') {
            Some(rest) => rest
                .rsplit_once('"')
                .ok_or_else(|| format!("{word}: no closing quote"))?,
            None => match word.find('[') {
                Some(at) => word.split_at(at),
                None => (word, ""),
            },
        };
        let node = sim
            .find(name)
            .ok_or_else(|| format!("nodeid \"{name}\" not found"))?;
        if port.is_empty() {
            return Ok((node, None));
        }
        let digits = port
            .strip_prefix('[')
            .and_then(|port| port.strip_suffix(']'));
        let port = PortNum(number(digits, "a port in brackets")?);
        let at = PortRef { node, port };
        sim.port(at)
            .ok_or_else(|| format!("nodeid \"{name}\" has no port {port}"))?;
        Ok((node, Some(port)))
    }

    fn port(&mut self, sim: &Sim) -> Result<PortRef, Refusal> {
        match self.node(sim)? {
            (node, Some(port)) => Ok(PortRef { node, port }),
            (_, None) => Err("expected \"id\"[port]".to_owned()),
        }
    }

    /// The ports that are named: one, or all external ones of a node.
    fn ports(&mut self, sim: &Sim) -> Result<Vec<PortRef>, Refusal> {
        let (node, port) = self.node(sim)?;
        Ok(match port {
            Some(port) => vec![PortRef { node, port }],
            None => {
                let ports = sim.ports_of(node).map(|port| port.at());
                ports.filter(|at| at.port != PortNum::MANAGEMENT).collect()
            }
        })
    }
}

/// A number in C's notation: `0x` hexadecimal, a leading 0 octal.
fn number<T: TryFrom<u64>>(word: Option<&str>, what: &str) -> Result<T, Refusal> {
    let expected = || match word {
        Some(word) => format!("{word}: expected {what}"),
        None => format!("expected {what}"),
    };
    let word = word.ok_or_else(expected)?;
    let lower = word.to_ascii_lowercase();
    let value = match (lower.strip_prefix("0x"), lower.strip_prefix('0')) {
        (Some(hex), _) => u64::from_str_radix(hex, 16),
        (None, Some(octal)) if !octal.is_empty() => u64::from_str_radix(octal, 8),
        _ => lower.parse(),
    };
    let value = value.map_err(|_| expected())?;
    T::try_from(value).map_err(|_| expected())
}

fn refused(error: SimError) -> Refusal {
    error.to_string()
}

fn link(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    let (from, to) = (words.port(sim)?, words.port(sim)?);
    sim.link(from, to).map_err(refused)
}

fn unlink(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    let mut ports = words.ports(sim)?.into_iter();
    ports.try_for_each(|port| sim.unlink(port).map_err(refused))
}

fn relink(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    let ports = words.ports(sim)?;
    let single = ports.len() == 1;
    for port in ports {
        match sim.relink(port) {
            Ok(true) => {}
            Ok(false) if single => return Err("the port has no cable to plug in again".to_owned()),
            Err(error) if single => return Err(refused(error)),
            _ => {}
        }
    }
    Ok(())
}

fn clear(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    for port in words.ports(sim)? {
        sim.unlink(port).map_err(refused)?;
        sim.set_lid(port, Lid::NONE, Lmc::ZERO).map_err(refused)?;
    }
    Ok(())
}

fn guid(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    let (node, port) = words.node(sim)?;
    let guid = Guid(number(words.next(), "a GUID")?);
    match port {
        Some(port) => sim.set_port_guid(PortRef { node, port }, guid),
        None => sim.set_guid(node, guid),
    }
    .map_err(refused)
}

fn error(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    let ports = words.ports(sim)?;
    let percent = number::<u8>(words.next(), "a percentage from 0 to 100")?;
    if percent > 100 {
        return Err(format!("{percent}: expected a percentage from 0 to 100"));
    }
    let attribute = words.next().map(|word| number(Some(word), "an attribute"));
    let attribute = attribute.transpose()?.map(AttributeId);
    for port in ports {
        sim.set_drop_rate(port, f64::from(percent) / 100.0, attribute)
            .map_err(refused)?;
    }
    Ok(())
}

fn performance_set(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    let port = words.port(sim)?;
    let expected = "expected ATTRIBUTE.FIELD=VALUE";
    let word = words.next().ok_or(expected)?;
    let (name, value) = word.split_once('=').ok_or(expected)?;
    let (attribute, field) = name.split_once('.').ok_or(expected)?;
    let value = number(Some(value), "a value")?;
    sim.set_counter(port, attribute, field, value)
        .ok_or_else(|| format!("{name}: no such counter"))
}

fn base_lid(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    let port = words.port(sim)?;
    let lid = Lid(number(words.next(), "a LID")?);
    if lid != Lid::NONE && !lid.is_unicast() {
        return Err(format!("{lid}: expected a unicast LID"));
    }
    let lmc = match words.next() {
        Some(word) => {
            let bits = number(Some(word), "an LMC from 0 to 7")?;
            Lmc::try_new(bits).map_err(|error| error.to_string())?
        }
        None => Lmc::ZERO,
    };
    sim.set_lid(port, lid, lmc).map_err(refused)
}

fn wait(server: &mut Server, words: &mut Words<'_>) -> Result<(), Refusal> {
    let seconds = number(words.next(), "seconds")?;
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
        let sm = if client.is_sm { " issm" } else { "" };
        print(text, |text| {
            writeln!(
                text,
                "Client {slot}: pid {} connected at \"{name}\" port {}{sm}",
                client.id, client.port.port
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
    server.disconnect(slot);
    Ok(())
}

/// Follows the forwarding tables from one LID to another.
fn route(sim: &Sim, words: &mut Words<'_>, text: &mut Vec<u8>) -> Result<(), Refusal> {
    let mut lid = || number(words.next(), "a LID").map(Lid);
    let (from, to) = (lid()?, lid()?);
    let find = |lid| {
        sim.find_lid(lid)
            .ok_or_else(|| format!("lid {lid} not found"))
    };
    let (mut here, target) = (find(from)?, find(to)?);
    let name = |port: PortRef| {
        sim.node(port.node)
            .map_or("", |node| node.name())
            .to_owned()
    };
    print(text, |text| {
        writeln!(
            text,
            "From node \"{}\" port {} lid {from}",
            name(here),
            here.port
        )
    });
    for _ in 0..=sim.nodes().len() {
        if here.node == target.node {
            print(text, |text| {
                writeln!(
                    text,
                    "To node \"{}\" port {} lid {to}",
                    name(target),
                    target.port
                )
            });
            return Ok(());
        }
        let node = sim.node(here.node).ok_or("the route ends")?;
        let out = if node.is_switch() {
            node.lft_port(to)
                .ok_or_else(|| format!("\"{}\" has no entry for lid {to}", node.name()))?
        } else {
            here.port
        };
        let out = PortRef {
            node: here.node,
            port: out,
        };
        let next = sim
            .peer(out)
            .ok_or_else(|| format!("\"{}\" port {} has no link", node.name(), out.port))?;
        print(text, |text| {
            let (out, port) = (out.port, next.port);
            writeln!(text, "[{out}] -> \"{}\"[{port}]", name(next))
        });
        here = next;
    }
    Err("the tables lead in a circle".to_owned())
}

/// Prints nodes and ports.
fn dump(sim: &Sim, words: &mut Words<'_>, text: &mut Vec<u8>) -> Result<(), Refusal> {
    let nodes: Vec<NodeIdx> = match words.0.is_empty() {
        true => sim.nodes().indices().collect(),
        false => vec![words.node(sim)?.0],
    };
    for node in nodes {
        dump_node(sim, node, text);
    }
    Ok(())
}

fn dump_node(sim: &Sim, index: NodeIdx, text: &mut Vec<u8>) {
    let Some(node) = sim.node(index) else { return };
    let kind = match node.node_info().node_type() {
        ib_smp::NodeType::SWITCH => "Switch",
        ib_smp::NodeType::ROUTER => "Rt",
        _ => "Ca",
    };
    print(text, |text| {
        writeln!(text, "\n{kind} {} \"{}\"", node.num_ports(), node.name())?;
        writeln!(text, "\tnodeguid {}", node.guid())?;
        writeln!(
            text,
            "\tsysimgguid {}",
            node.node_info().system_image_guid()
        )?;
        writeln!(
            text,
            "\tdescription \"{}\"",
            node.description().node_string()
        )
    });
    for port in sim.ports_of(index) {
        let number = port.at().port;
        if number == PortNum::MANAGEMENT && !node.is_switch() {
            continue;
        }
        let info = port.info();
        let state = match info.port_state() {
            PortState::DOWN => "Down",
            PortState::INITIALIZE => "Init",
            PortState::ARMED => "Armed",
            PortState::ACTIVE => "Active",
            _ => "?",
        };
        let physical = match info.port_physical_state() {
            PortPhysicalState::LINK_UP => "LinkUp",
            PortPhysicalState::DISABLED => "Disabled",
            _ => "Polling",
        };
        let peer = sim.peer(port.at());
        print(text, |text| {
            write!(text, "[{number}]\t")?;
            if let Some(peer) = peer {
                let name = sim.node(peer.node).map_or("", |node| node.name());
                write!(text, "\"{name}\"[{}]\t", peer.port)?;
            }
            writeln!(
                text,
                "lid {} lmc {} smlid {} {state}/{physical} guid {}",
                info.lid(),
                info.lmc().bits(),
                info.master_sm_lid(),
                port.guid()
            )
        });
    }
}

/// Writes to memory, which does not fail.
fn print(text: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
    let _ = write(text);
}
