//! `ib trace`: the path of a packet by the installed tables, and beside it the one that the SA gives.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use ib_diag::{Contents, MulticastPath, Path, PathEnd, Snapshot};
use ib_routing::PortRef;
use ib_smp::DrPath;
use ib_wire::{Lid, Sl, text::TextError};
use serde_json::{Value, json};

use crate::{
    commands::query::route,
    error::{CliError, Verdict},
    files,
    output::{json, place, table::Table},
    source::{Source, SourceArgs, find},
};

mod sa_path;

use self::sa_path::SaPath;

/// Show the path from A to B in the installed tables, and the path that subnet administration gives.
///
/// Only reads. Status 1 if the path does not arrive.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TraceArgs {
    /// Start of the packet: a node or NODE:PORT, where NODE is a name, GUID, LID, GID or directed route
    #[arg(value_name = "A", required_unless_present_any = ["direct", "pairs"])]
    start: Option<String>,
    /// Destination of the packet, in the same form; not needed with --mlid
    #[arg(value_name = "B", required_unless_present_any = ["mlid", "direct", "pairs"])]
    to: Option<String>,
    /// Service level of the packet, 0 to 15
    #[arg(long, value_name = "N", default_value = "0", value_parser = service_level)]
    sl: Sl,
    /// Instead show which ports get a packet to this multicast LID
    #[arg(long, value_name = "MLID", value_parser = mlid, conflicts_with = "to")]
    mlid: Option<Lid>,
    /// Instead name the nodes on this directed route: 0 is the local node, then the output ports
    #[arg(long, value_name = "0,P,P...", value_parser = route, conflicts_with_all = ["start", "to", "mlid", "sl"])]
    direct: Option<DrPath>,
    /// Instead show the paths of all pairs that a file lists, A and B on each line, after one reading of the subnet. Names with
    /// blanks are in double quotes; - is standard input
    #[arg(long, value_name = "FILE", visible_alias = "ports-file", conflicts_with_all = ["start", "to", "mlid", "direct"])]
    pairs: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib trace node01 node17
  ib trace 12 'leaf 3:0' --from monday.ibsnap
  ib trace node01 --mlid 0xc001
  ib trace --pairs suspects.txt              a pair a line: node01 node17
  ib trace --direct 0,1,4                    the nodes on a route that a warning names";

pub fn service_level(text: &str) -> Result<Sl, String> {
    let sl = text.parse().ok().and_then(|sl| Sl::try_new(sl).ok());
    sl.ok_or_else(|| format!("{text:?} is no service level, expected 0 to 15"))
}

fn mlid(text: &str) -> Result<Lid, String> {
    let lid = text.parse().ok().filter(|lid: &Lid| lid.is_multicast());
    lid.ok_or_else(|| format!("{text:?} is no multicast LID, expected 0xc000 to 0xfffe"))
}

pub fn run(args: TraceArgs, as_json: bool) -> Result<Verdict, CliError> {
    let pairs = args.pairs.as_deref();
    let pairs = pairs.map(|file| Ok::<_, CliError>((file, files::read_list(file, read_pairs)?)));
    let pairs = pairs.transpose()?;
    let source = args.source.open()?;
    if let Some(route) = &args.direct {
        return on_route(&source.snapshot(Contents::empty())?, route, as_json);
    }
    let snapshot = source.snapshot_of_routes(Contents::FORWARDING | Contents::QOS)?;
    if let Some((file, pairs)) = pairs {
        let file = file.display();
        let traced = pairs.iter().map(|(line, from, to)| {
            let traced = Traced::of(&snapshot, from, to, args.sl);
            traced.map_err(|error| CliError::at(format_args!("{file}:{line}"), error))
        });
        let traced = traced.collect::<Result<Vec<_>, _>>()?;
        return all(&source, &snapshot, &traced, as_json);
    }
    let start = args.start.as_deref().unwrap_or_default();
    let mut out = io::stdout().lock();
    if let Some(mlid) = args.mlid {
        let from = find(&snapshot, start)?.port_of(&snapshot);
        let path = snapshot.multicast_path(from, mlid);
        match as_json {
            true => json::print(&mut out, &multicast_document(&snapshot, from, mlid, &path))?,
            false => print_multicast(&mut out, &snapshot, mlid, &path)?,
        }
        return Ok(Verdict::of(
            !path.reached.is_empty() && path.again.is_empty(),
        ));
    }
    let text = args.to.as_deref().unwrap_or_default();
    let traced = Traced::of(&snapshot, start, text, args.sl)?;
    for sa in sa_path::ask(&source, &snapshot, &[(traced.from, traced.path.dlid)])? {
        if as_json {
            json::print(&mut out, &traced.document(&snapshot, &sa))?;
        } else {
            print(&mut out, &snapshot, &traced.path)?;
            sa.print(&mut out)?;
        }
    }
    Ok(Verdict::of(traced.path.end == PathEnd::Arrived))
}

/// The path between two ports.
struct Traced {
    from: PortRef,
    to: PortRef,
    path: Path,
}

impl Traced {
    fn of(snapshot: &Snapshot, from: &str, to: &str, sl: Sl) -> Result<Self, CliError> {
        let from = find(snapshot, from)?.port_of(snapshot);
        let path = path_to(snapshot, from, to, sl)?;
        let (to, _) = target(snapshot, to)?;
        Ok(Self { from, to, path })
    }

    fn document(&self, snapshot: &Snapshot, sa: &SaPath) -> Value {
        let mut document = document(snapshot, &self.path);
        if let Value::Object(map) = &mut document {
            map.insert("from".to_owned(), place::port(snapshot, self.from).into());
            map.insert("to".to_owned(), place::port(snapshot, self.to).into());
            map.insert("sa".to_owned(), sa.document());
        }
        document
    }
}

/// Prints the paths of many pairs.
fn all(
    source: &Source,
    snapshot: &Snapshot,
    traced: &[Traced],
    as_json: bool,
) -> Result<Verdict, CliError> {
    let asked: Vec<(PortRef, Lid)> = traced
        .iter()
        .map(|traced| (traced.from, traced.path.dlid))
        .collect();
    let answers = sa_path::ask(source, snapshot, &asked)?;
    let all = || traced.iter().zip(&answers);
    let arrived = traced
        .iter()
        .filter(|traced| traced.path.end == PathEnd::Arrived);
    let arrived = arrived.count();
    let mut out = io::stdout().lock();
    if as_json {
        let paths = all().map(|(traced, sa)| traced.document(snapshot, sa));
        let paths: Vec<Value> = paths.collect();
        json::print(&mut out, &json!({ "paths": paths, "arrived": arrived }))?;
    } else {
        for (traced, sa) in all() {
            let [from, to] = [traced.from, traced.to].map(|at| place::text(snapshot, at));
            writeln!(out, "from {from} to {to}")?;
            print(&mut out, snapshot, &traced.path)?;
            sa.print(&mut out)?;
            writeln!(out)?;
        }
        writeln!(out, "{arrived} of {} paths arrive", traced.len())?;
    }
    Ok(Verdict::of(arrived == traced.len()))
}

/// The pairs of a file, each with the number of its line.
fn read_pairs(text: &str) -> Result<Vec<(usize, String, String)>, TextError> {
    // A name may have a #, so only a whole line is a comment.
    let lines = (1..).zip(text.lines().map(str::trim));
    let lines = lines.filter(|(_, entry)| !entry.is_empty() && !entry.starts_with('#'));
    let pairs = lines.map(|(line, entry)| {
        let pair = (|| {
            let (from, rest) = first_word(entry)?;
            let (to, rest) = first_word(rest)?;
            rest.is_empty()
                .then(|| (line, from.to_owned(), to.to_owned()))
        })();
        let expected = "two nodes or ports, names with blanks in double quotes";
        pair.ok_or_else(|| TextError::new(line, entry, expected))
    });
    pairs.collect()
}

/// The first word of a line, or what its quotes enclose, and the rest of the line.
fn first_word(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => {
            let end = text.find(char::is_whitespace).unwrap_or(text.len());
            text.split_at(end)
        }
    };
    let is_whole = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (is_whole && !word.is_empty()).then_some((word, rest.trim_start()))
}

/// Prints the nodes on a directed route.
fn on_route(snapshot: &Snapshot, route: &DrPath, as_json: bool) -> Result<Verdict, CliError> {
    let nodes = snapshot.nodes_on(route);
    let is_whole = nodes.last().is_some_and(|(_, output)| output.is_none());
    let mut out = io::stdout().lock();
    if as_json {
        let hops = nodes.iter().map(|(input, output)| {
            let mut map = place::port(snapshot, *input);
            map.shift_remove("port");
            map.insert("input".to_owned(), json!(input.port.0));
            map.insert("output".to_owned(), json!(output.map(|port| port.0)));
            Value::Object(map)
        });
        let hops: Vec<Value> = hops.collect();
        json::print(
            &mut out,
            &json!({ "direct": route.to_string(), "hops": hops, "arrived": is_whole }),
        )?;
        return Ok(Verdict::of(is_whole));
    }
    let mut table = Table::new(["hop", "node", "guid", "in", "out"]);
    for (number, (input, output)) in nodes.iter().enumerate() {
        let guid = snapshot
            .node(input.node)
            .map(|node| node.guid().to_string());
        table.row([
            number.to_string(),
            snapshot.name(input.node),
            guid.unwrap_or_default(),
            input.port.to_string(),
            output.map_or_else(String::new, |port| port.to_string()),
        ]);
    }
    table.print(&mut out)?;
    if let (false, Some((input, Some(port)))) = (is_whole, nodes.last()) {
        let place = place::text(
            snapshot,
            PortRef {
                port: *port,
                ..*input
            },
        );
        writeln!(out, "{place} leads to no device that responds")?;
    }
    Ok(Verdict::of(is_whole))
}

/// The port that a text names, and the LID by which it is addressed.
pub fn target(snapshot: &Snapshot, text: &str) -> Result<(PortRef, Lid), CliError> {
    let named = find(snapshot, text)?;
    let at = named.port_of(snapshot);
    let managing = snapshot
        .node(at.node)
        .map(|node| node.managing_port(at.port));
    let at = PortRef {
        port: managing.unwrap_or(at.port),
        ..at
    };
    let own = snapshot
        .port(at)
        .map(|port| port.lid())
        .filter(|lid| lid.is_unicast());
    let lid = named.lid.or(own);
    lid.map(|lid| (at, lid)).ok_or_else(|| {
        CliError::input(format_args!(
            "{} has no LID, expected a port that a subnet manager has configured",
            place::text(snapshot, at)
        ))
    })
}

/// The path from a port to the port or LID that a text names. A LID is reached at any port that has it.
pub fn path_to(snapshot: &Snapshot, from: PortRef, text: &str, sl: Sl) -> Result<Path, CliError> {
    let (to, dlid) = target(snapshot, text)?;
    Ok(match find(snapshot, text)?.lid {
        Some(lid) => snapshot.path(from, lid, sl),
        None => snapshot.path_to(from, to, dlid, sl),
    })
}

/// The end of a path in words, with the port that the packet reaches instead of the one that was meant.
pub fn end_text(snapshot: &Snapshot, path: &Path) -> String {
    match (path.end, path.hops.last()) {
        (PathEnd::OtherOwner, Some(last)) => {
            let reached = place::text(snapshot, last.input);
            format!("the packet reaches {reached}, which has the same LID")
        }
        (end, _) => end.text().to_owned(),
    }
}

/// A path as a document: its hops, and how it ends.
pub fn document(snapshot: &Snapshot, path: &Path) -> Value {
    let hops: Vec<Value> = path
        .hops
        .iter()
        .map(|hop| {
            let mut map = place::port(snapshot, hop.input);
            map.shift_remove("port");
            map.insert("input".to_owned(), json!(hop.input.port.0));
            map.insert("output".to_owned(), json!(hop.output.map(|port| port.0)));
            map.insert("vl".to_owned(), json!(hop.vl.map(|vl| vl.bits())));
            let end_port = place::end_port(snapshot, hop.input);
            map.extend(end_port.map(|(name, value)| (name.to_owned(), value)));
            Value::Object(map)
        })
        .collect();
    json!({
        "dlid": path.dlid.0,
        "sl": path.sl.bits(),
        "hops": hops,
        "arrived": path.end == PathEnd::Arrived,
        "end": end_text(snapshot, path),
    })
}

fn print(out: &mut impl Write, snapshot: &Snapshot, path: &Path) -> io::Result<()> {
    let mut table = Table::new(["hop", "node", "guid", "in", "out", "VL"]);
    for (number, hop) in path.hops.iter().enumerate() {
        let guid = snapshot
            .node(hop.input.node)
            .map(|node| node.guid().to_string());
        table.row([
            number.to_string(),
            snapshot.name(hop.input.node),
            guid.unwrap_or_default(),
            hop.input.port.to_string(),
            hop.output.map_or_else(String::new, |port| port.to_string()),
            hop.vl.map_or_else(String::new, |vl| vl.bits().to_string()),
        ]);
    }
    table.print(out)?;
    writeln!(out, "LID {}: {}", path.dlid, end_text(snapshot, path))
}

fn multicast_document(
    snapshot: &Snapshot,
    from: PortRef,
    mlid: Lid,
    path: &MulticastPath,
) -> Value {
    let hops: Vec<Value> = path
        .hops
        .iter()
        .map(|(input, outputs)| {
            let mut map = place::port(snapshot, *input);
            map.shift_remove("port");
            map.insert("input".to_owned(), json!(input.port.0));
            let outputs: Vec<u8> = outputs.iter().map(|port| port.0).collect();
            map.insert("outputs".to_owned(), json!(outputs));
            Value::Object(map)
        })
        .collect();
    let list = |ports: &[PortRef]| -> Vec<Value> {
        ports
            .iter()
            .map(|&at| place::port(snapshot, at).into())
            .collect()
    };
    json!({
        "mlid": mlid.0,
        "from": place::port(snapshot, from),
        "hops": hops,
        "reached": list(&path.reached),
        "again": list(&path.again),
    })
}

fn print_multicast(
    out: &mut impl Write,
    snapshot: &Snapshot,
    mlid: Lid,
    path: &MulticastPath,
) -> io::Result<()> {
    let mut table = Table::new(["node", "in", "out"]);
    for (input, outputs) in &path.hops {
        let outputs: Vec<String> = outputs.iter().map(|port| port.to_string()).collect();
        table.row([
            snapshot.name(input.node),
            input.port.to_string(),
            outputs.join(","),
        ]);
    }
    table.print(out)?;
    let reached: Vec<String> = path
        .reached
        .iter()
        .map(|&at| place::text(snapshot, at))
        .collect();
    writeln!(
        out,
        "group {mlid:#}: reaches {} ports: {}",
        reached.len(),
        reached.join(", ")
    )?;
    for &at in &path.again {
        writeln!(
            out,
            "the packet comes to {} again: it circulates",
            place::text(snapshot, at)
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_two_words_and_quotes_enclose_blanks() {
        let text = "# suspects\n\n 1  2\n\"leaf #3\" 0x10\nh1\t\"spine 1:4\"\n";
        let pair = |line, from: &str, to: &str| (line, from.to_owned(), to.to_owned());
        let pairs = [
            pair(3, "1", "2"),
            pair(4, "leaf #3", "0x10"),
            pair(5, "h1", "spine 1:4"),
        ];
        assert_eq!(read_pairs(text), Ok(pairs.to_vec()));
        for bad in ["1", "1 2 3", "\"1 2", "\"\" 2", "\"1\"2"] {
            let error = read_pairs(&format!("1 2\n{bad}")).unwrap_err();
            assert_eq!((error.line, error.found.as_str()), (2, bad));
        }
    }
}
