//! `ib links`: every link once, with both ends.

use std::io::{self, Write as _};

use ib_diag::{Contents, LinkEnd, LinkView, Named, Snapshot};
use ib_routing::PortRef;
use ib_wire::Lid;
use serde_json::{Map, Value, json};

use crate::{
    error::{CliError, Verdict},
    output::{
        count, json,
        place::{self, LinkState, shown},
        stderr,
        table::Table,
    },
    source::{SourceArgs, find},
};

/// List every link once: both ends, width, speed, and the best that both ends support.
///
/// Only reads. Without an option that chooses, links that are up are listed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct LinksArgs {
    /// Only links of this node, or of this port [default: all]
    #[arg(value_name = "NODE[:PORT]")]
    of: Option<String>,
    /// List ports without a link
    #[arg(long)]
    down: bool,
    /// List links that are narrower than both ends support
    #[arg(long)]
    narrow: bool,
    /// List links that are slower than both ends support
    #[arg(long)]
    slow: bool,
    /// With NODE:PORT: list the end ports to which each end of the link forwards packets over it, by the installed tables
    #[arg(long, requires = "of", conflicts_with_all = ["down", "narrow", "slow"])]
    through: bool,
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib links
  ib links 'leaf 3:17' --through             the end ports that lose a path with this cable
  ib links --narrow --slow                   links below the best that both ends support
  ib links 'leaf 3' --down --json";

pub fn run(args: LinksArgs, as_json: bool) -> Result<Verdict, CliError> {
    let contents = match args.through {
        true => Contents::FORWARDING,
        false => Contents::empty(),
    };
    let snapshot = args.source.snapshot(contents)?;
    let wanted = args
        .of
        .as_deref()
        .map(|text| find(&snapshot, text))
        .transpose()?;
    if let (true, Some(wanted)) = (args.through, wanted) {
        return through(&snapshot, wanted, as_json);
    }
    let has_choice = args.down || args.narrow || args.slow;
    let mut links = snapshot.links();
    links.retain(|link| {
        let is_of = |end: &LinkEnd| {
            wanted.is_none_or(|wanted| {
                wanted.node == end.port.node && wanted.port.is_none_or(|port| port == end.port.port)
            })
        };
        let is_chosen = match has_choice {
            true => {
                args.down && link.is_down()
                    || args.narrow && link.is_narrow()
                    || args.slow && link.is_slow()
            }
            false => !link.is_down() || link.b.is_some(),
        };
        is_chosen && (is_of(&link.a) || link.b.as_ref().is_some_and(is_of))
    });
    let mut out = io::stdout().lock();
    if as_json {
        let links: Vec<Value> = links.iter().map(|link| document(&snapshot, link)).collect();
        json::print(&mut out, &json!({ "links": links }))?;
        return Ok(Verdict::Holds);
    }
    if links.is_empty() {
        stderr::info("no link is as asked for");
        return Ok(Verdict::Holds);
    }
    let mut table = Table::new(["from", "to", "state", "width", "speed", "could"]);
    for link in &links {
        let could = match link.is_narrow() || link.is_slow() {
            true => could(link).unwrap_or_default(),
            false => String::new(),
        };
        table.row([
            place::text(&snapshot, link.a.port),
            match link.b {
                Some(end) => place::text(&snapshot, end.port),
                None if link.is_down() => String::new(),
                None => "(does not respond)".to_owned(),
            },
            state(&link.a),
            link.width
                .map_or_else(String::new, |width| width.to_string()),
            link.speed
                .map_or_else(String::new, |speed| speed.to_string()),
            could,
        ]);
    }
    table.print(&mut out)?;
    Ok(Verdict::Holds)
}

/// Prints the end ports to which each end of the link of a port forwards packets over it.
fn through(snapshot: &Snapshot, wanted: Named, as_json: bool) -> Result<Verdict, CliError> {
    let at = PortRef {
        node: wanted.node,
        port: wanted
            .port
            .ok_or_else(|| CliError::input("--through: expected a port, as NODE:PORT"))?,
    };
    let peer = snapshot.port(at).and_then(|port| port.peer);
    let mut out = io::stdout().lock();
    if as_json {
        let lids = |lids: Vec<Lid>| -> Vec<u16> { lids.into_iter().map(|lid| lid.0).collect() };
        let ends = [Some(at), peer].into_iter().flatten().map(|end| {
            let forwarded = snapshot.forwarded_by(end).into_iter().map(|(to, by)| {
                let mut map = place::port(snapshot, to);
                map.insert("lids".to_owned(), json!(lids(by)));
                Value::Object(map)
            });
            json!({
                "port": place::port(snapshot, end),
                "forwards_to": forwarded.collect::<Vec<_>>(),
            })
        });
        json::print(&mut out, &json!({ "ends": ends.collect::<Vec<_>>() }))?;
        return Ok(Verdict::Holds);
    }
    for end in [Some(at), peer].into_iter().flatten() {
        let forwarded = snapshot.forwarded_by(end);
        let names = forwarded.iter().map(|(to, _)| place::text(snapshot, *to));
        let names: Vec<String> = names.collect();
        let count = count(names.len(), "end port", "end ports");
        writeln!(out, "{} forwards to {count}", place::text(snapshot, end))?;
        for name in names {
            writeln!(out, "  {name}")?;
        }
    }
    Ok(Verdict::Holds)
}

/// Logical state, or the physical one where the link is down.
fn state(end: &LinkEnd) -> String {
    match (end.state, end.physical_state) {
        (Some(ib_smp::PortState::DOWN), Some(physical)) => format!("Down/{physical}"),
        (Some(state), _) => state.to_string(),
        (None, _) => "unknown".to_owned(),
    }
}

/// The best that both ends support.
fn could(link: &LinkView) -> Option<String> {
    Some(format!("{} {}", link.best_width?, link.best_speed?))
}

fn document(snapshot: &Snapshot, link: &LinkView) -> Value {
    json!({
        "a": end(snapshot, &link.a),
        "b": link.b.as_ref().map(|far| end(snapshot, far)),
        "width": shown(link.width),
        "speed": shown(link.speed),
        "could": could(link),
    })
}

fn end(snapshot: &Snapshot, end: &LinkEnd) -> Map<String, Value> {
    let mut map = place::port(snapshot, end.port);
    let [guid, _] = place::end_port(snapshot, end.port);
    let members = [
        guid,
        ("state", shown(end.state)),
        ("physical_state", shown(end.physical_state)),
        ("width_supported", shown(end.width)),
        ("speed_supported", shown(end.speed)),
        ("mtu", LinkState::of(snapshot, end.port).mtu),
    ];
    map.extend(members.map(|(name, value)| (name.to_owned(), value)));
    map
}
