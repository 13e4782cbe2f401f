//! `ib links`: every link once, with both ends.

use std::io;

use ib_diag::{Contents, LinkEnd, LinkView, Snapshot};
use serde_json::{Map, Value, json};

use crate::{
    error::{CliError, Verdict},
    output::{
        json,
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
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib links
  ib links --narrow --slow                   what to look at first
  ib links 'leaf 3' --down --json";

pub fn run(args: LinksArgs, as_json: bool) -> Result<Verdict, CliError> {
    let snapshot = args.source.snapshot(Contents::empty())?;
    let wanted = args
        .of
        .as_deref()
        .map(|text| find(&snapshot, text))
        .transpose()?;
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
    let members = [
        ("state", shown(end.state)),
        ("physical_state", shown(end.physical_state)),
        ("width_supported", shown(end.width)),
        ("speed_supported", shown(end.speed)),
        ("mtu", LinkState::of(snapshot, end.port).mtu),
    ];
    map.extend(members.map(|(name, value)| (name.to_owned(), value)));
    map
}
