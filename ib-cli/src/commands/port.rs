//! `ib port`: changes a port, and checks that it took the change.

use std::{
    io::{self, Write as _},
    thread,
    time::{Duration, Instant},
};

use ib_diag::{Contents, PortAction, PortChange, Snapshot};
use ib_mad::Mad;
use ib_routing::PortRef;
use ib_smp::PortInfo;
use ib_subnet::active_speed;
use ib_wire::MKey;
use serde_json::{Map, Value, json};

use crate::{
    error::{CliError, Verdict},
    output::{json, place},
    source::{Live, SourceArgs, find},
};

/// Change a port: enable, disable, reset, speed, width, lanes, MTU, LID or M_Key.
///
/// First prints the port and the change, and afterwards reads the port again. A change that would cut this host off is
/// refused. Status 1 if the port did not take the change.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PortArgs {
    /// The port to change
    #[arg(value_name = "NODE:PORT")]
    place: String,
    /// enable, disable, reset, down, arm, active, speed=SPEED, width=WIDTH, vls=N, mtu=BYTES; of an end port also
    /// lid=LID, lmc=N, smlid=LID, mkey=KEY, mkeylease=SECONDS, mkeyprot=LEVEL. A running subnet manager may overwrite
    /// these settings
    #[arg(value_name = "ACTION", required = true, value_parser = action)]
    actions: Vec<PortAction>,
    /// Only print the change, and do not make it
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib port 'leaf 3:7' disable --dry-run
  ib port 'leaf 3:7' reset
  ib port 'leaf 3:7' width=4x speed=EDR";

fn action(text: &str) -> Result<PortAction, String> {
    text.parse()
        .map_err(|error: ib_diag::PortActionError| error.to_string())
}

pub fn run(args: PortArgs, as_json: bool) -> Result<Verdict, CliError> {
    let source = args.source.open()?;
    let live = source.live("ib port")?;
    let snapshot = source.snapshot(Contents::empty())?;
    let named = find(&snapshot, &args.place)?;
    let at = PortRef {
        node: named.node,
        port: named.port.ok_or_else(|| {
            CliError::input(format_args!(
                "{:?} names a node, expected NODE:PORT",
                args.place
            ))
        })?,
    };
    let change = snapshot
        .port_change(at, &args.actions)
        .map_err(CliError::input)?;
    let m_key = args.source.m_key;
    let read = live.send(vec![change.read_request(m_key)])?.pop();
    let before = read.and_then(Result::ok).and_then(|mad| change.read(&mad));
    let before = before.ok_or_else(|| {
        CliError::input(format_args!("{}: the port does not respond", args.place))
    })?;
    let vendor = vendor_speeds_request(live, &change, m_key)?;
    let seen = Seen {
        snapshot: &snapshot,
        at,
        actions: &args.actions,
        before,
    };
    if args.dry_run && as_json {
        seen.print_document(None)?;
    } else if !as_json {
        seen.announce(args.dry_run)?;
    }
    if args.dry_run {
        return Ok(Verdict::Holds);
    }
    let mut taken = true;
    for request in vendor.into_iter().chain(change.requests(&before, m_key)) {
        let outcome = live.send(vec![request])?.pop();
        match outcome {
            Some(Ok(mad)) if mad_status(&mad).is_ok() => {}
            Some(Ok(mad)) => {
                let status = mad_status(&mad);
                return Err(CliError::input(format_args!(
                    "{} refused with status {status}",
                    args.place
                )));
            }
            Some(Err(reason)) => {
                return Err(CliError::input(format_args!("{}: {reason}", args.place)));
            }
            None => taken = false,
        }
    }
    let after = read_back(live, &change, &before, change.m_key_after(m_key))?;
    taken &= after
        .as_ref()
        .is_some_and(|info| change.is_taken(&before, info));
    match as_json {
        true => seen.print_document(Some((after, taken)))?,
        false => seen.conclude(after, taken)?,
    }
    Ok(Verdict::of(taken))
}

/// The Set of the vendor attribute that enables or disables FDR10, if the change needs it.
fn vendor_speeds_request(
    live: &Live,
    change: &PortChange,
    m_key: MKey,
) -> Result<Option<Mad>, CliError> {
    let Some(read) = change.vendor_read_request(m_key) else {
        return Ok(None);
    };
    let answer = live.send(vec![read])?.pop().and_then(Result::ok);
    let before = answer.and_then(|mad| change.read_vendor(&mad));
    let request = change.vendor_request(before.as_ref(), m_key);
    request.map_err(CliError::input)
}

/// The status of an SMP; the top bit is the direction.
fn mad_status(mad: &ib_mad::Mad) -> ib_mad::MadStatus {
    ib_mad::MadStatus(mad.header().status().0 & 0x7fff)
}

/// Reads the port until it took the change, for two seconds: a link takes its time to train.
fn read_back(
    live: &Live,
    change: &PortChange,
    before: &PortInfo,
    m_key: MKey,
) -> Result<Option<PortInfo>, CliError> {
    let began = Instant::now();
    loop {
        let outcome = live.send(vec![change.read_request(m_key)])?.pop();
        let info = outcome
            .and_then(Result::ok)
            .and_then(|mad| change.read(&mad));
        let is_taken = info
            .as_ref()
            .is_some_and(|info| change.is_taken(before, info));
        if is_taken || began.elapsed() > Duration::from_secs(2) {
            return Ok(info);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// State, width and speed of a port.
fn state(info: &PortInfo) -> Map<String, Value> {
    let members = [
        ("state", json!(info.port_state().to_string())),
        (
            "physical_state",
            json!(info.port_physical_state().to_string()),
        ),
        ("width_enabled", json!(info.link_width_enabled().bits())),
        ("speed_enabled", json!(info.link_speed_enabled().bits())),
        (
            "speed_ext_enabled",
            json!(info.link_speed_ext_enabled().bits()),
        ),
        ("width_active", json!(info.link_width_active().to_string())),
    ];
    members
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
}

/// The port, what is to be done to it, and how it was before.
struct Seen<'a> {
    snapshot: &'a Snapshot,
    at: PortRef,
    actions: &'a [PortAction],
    before: PortInfo,
}

impl Seen<'_> {
    /// The document: the port, the change, and what came of it if it was made.
    fn print_document(&self, result: Option<(Option<PortInfo>, bool)>) -> Result<(), CliError> {
        let document = json!({
            "port": place::port(self.snapshot, self.at),
            "peer": self.peer().map(|peer| place::port(self.snapshot, peer)),
            "actions": self.actions.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "before": state(&self.before),
            "after": result.as_ref().and_then(|(info, _)| info.as_ref()).map(state),
            "taken": result.as_ref().map(|(_, taken)| *taken),
        });
        Ok(json::print(&mut io::stdout().lock(), &document)?)
    }

    /// Prints the change and the port, before anything is sent.
    fn announce(&self, is_dry_run: bool) -> Result<(), CliError> {
        let actions: Vec<String> = self.actions.iter().map(ToString::to_string).collect();
        let actions = actions.join(", ");
        let place = place::text(self.snapshot, self.at);
        let mut out = io::stdout().lock();
        match is_dry_run {
            true => writeln!(out, "would do {actions} at {place}")?,
            false => writeln!(out, "{actions} at {place}")?,
        }
        if let Some(peer) = self.peer() {
            writeln!(out, "other end: {}", place::text(self.snapshot, peer))?;
        }
        writeln!(out, "before: {}", self.line(&self.before))?;
        Ok(out.flush()?)
    }

    /// Prints how the port is now, and whether it took the change.
    fn conclude(&self, after: Option<PortInfo>, taken: bool) -> Result<(), CliError> {
        let after = after.map_or_else(|| "no answer".to_owned(), |info| self.line(&info));
        let mut out = io::stdout().lock();
        writeln!(out, "after: {after}")?;
        let verdict = if taken { "took" } else { "did not take" };
        Ok(writeln!(out, "the port {verdict} it")?)
    }

    fn peer(&self) -> Option<PortRef> {
        self.snapshot.port(self.at)?.peer
    }

    fn line(&self, info: &PortInfo) -> String {
        let node = self.snapshot.node(self.at.node);
        line(
            info,
            node.is_some_and(|node| node.has_extended_speeds(self.at.port)),
        )
    }
}

/// States, width and speed in a line.
fn line(info: &PortInfo, extended: bool) -> String {
    let (state, physical) = (info.port_state(), info.port_physical_state());
    let width = info.link_width_active();
    let speed = active_speed(info, extended);
    let speed = speed.map(|speed| format!(", speed {speed}"));
    let speed = speed.unwrap_or_default();
    format!("{state}/{physical}, width {width}{speed}")
}
