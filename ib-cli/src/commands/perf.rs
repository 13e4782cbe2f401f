//! `ib perf`: the counters of every port.

mod table;
mod watch;

use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    time::{Duration, Instant},
};

use ib_diag::{
    CollectorConfig, Contents, CounterReadings, CounterScope, CounterValues, Named, Snapshot,
    SnapshotPort, Thresholds, UnreadReason,
};
use ib_routing::PortRef;
use serde_json::{Map, Value, json};

use self::table::Rates;
use crate::{
    error::{CliError, Verdict},
    output::{count, json, place, stderr},
    source::{Live, Source, SourceArgs, ThresholdArgs, elapsed, find},
};

/// Show the counters of all ports, or of some: 64-bit ones where the device has them.
///
/// Only reads, unless --reset is given. A counter that could not be read is listed as missing, never as 0.
/// Status 1 if the counters of a port could not be read, or a device does not respond.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PerfArgs {
    /// Only these nodes or ports [default: all]
    #[arg(value_name = "NODE[:PORT]")]
    of: Vec<String>,
    /// Read the counters every SECONDS until Ctrl-C, and show the growth per second. The subnet is walked again once a minute, and
    /// when a port no longer answers or a link was down. With --json each reading is one document on a line of its own
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    watch: Option<Duration>,
    /// With --watch: end after this many readings [default: until Ctrl-C]
    #[arg(long, value_name = "N", requires = "watch")]
    count: Option<u64>,
    /// Set the counters to 0 after they were read
    #[arg(long, conflicts_with = "watch")]
    reset: bool,
    /// Show only ports with an error counter above its threshold, which is 0 unless --thresholds is given
    #[arg(long)]
    errors: bool,
    #[command(flatten)]
    thresholds: ThresholdArgs,
    /// Show only the N ports with the most traffic, or with --errors the most errors
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Print Prometheus' text format, with the metric names of infiniband_exporter
    #[arg(long, conflicts_with_all = ["watch", "reset", "errors", "top", "of"])]
    prometheus: bool,
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib perf
  ib perf 'leaf 3:7'                         every counter of one port
  ib perf --errors --top 10
  ib perf --errors --thresholds /etc/infiniband-diags/error_thresholds --ignore VL15Dropped
  ib perf --watch 1 --top 20
  ib perf --reset 'leaf 3'";

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text
        .parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds
        .filter(|seconds| !seconds.is_zero())
        .ok_or_else(|| format!("{text:?} is no time, expected seconds above 0"))
}

/// Counters of the chosen ports, as they were read.
struct Reading<'a> {
    snapshot: &'a Snapshot,
    /// The thresholds by which the ports were chosen; `None` if all ports are shown.
    over: Option<&'a Thresholds>,
    ports: Vec<(PortRef, &'a SnapshotPort)>,
    /// Ports that were asked for and whose counters could not be read, whatever is shown of the others.
    unread: Vec<(PortRef, UnreadReason)>,
}

pub fn run(args: PerfArgs, as_json: bool) -> Result<Verdict, CliError> {
    let over = args.thresholds.read(Thresholds::zero())?;
    if args.thresholds.is_given() && (!args.errors || args.watch.is_some()) {
        return Err(CliError::input(
            "--thresholds and --ignore: what is shown has no thresholds, expected --errors without --watch",
        ));
    }
    let source = args.source.open()?;
    if args.watch.is_some() || args.reset {
        source.live(if args.reset { "--reset" } else { "--watch" })?;
    }
    if let Some(interval) = args.watch {
        return watch::watch(&args, &source, interval, as_json);
    }
    let began = Instant::now();
    // What is not shown need not be read.
    let scope = match args.errors {
        true => CounterScope::Errors,
        false => CounterScope::All,
    };
    let snapshot = read(&args, &source, scope)?;
    let mut out = io::stdout().lock();
    if args.prometheus {
        if as_json {
            return Err(CliError::input(
                "--prometheus: prints no JSON, expected one of --prometheus and --json",
            ));
        }
        out.write_all(snapshot.prometheus(elapsed(began)).as_bytes())?;
        return Ok(verdict(&snapshot));
    }
    let over = args.errors.then_some(&over);
    let reading = Reading::new(&snapshot, &args, None, over)?;
    if as_json {
        json::print(&mut out, &reading.document())?;
    } else if let ([(at, port)], false) = (reading.ports.as_slice(), args.of.is_empty()) {
        table::one(&mut out, &snapshot, *at, port)?;
    } else if args.errors && reading.ports.is_empty() {
        stderr::info(match args.thresholds.is_given() {
            true => "no port has an error counter above its threshold",
            false => "no port has an error counter above 0",
        });
    } else {
        table::all(&mut out, &reading, over)?;
    }
    if args.reset {
        reset(source.live("--reset")?, &reading)?;
    }
    for (at, reason) in &reading.unread {
        let place = place::text(&snapshot, *at);
        stderr::warn(format_args!(
            "{place}: counters not read: {}",
            reason.text()
        ));
    }
    // If ports are named, devices that do not respond are not among them.
    let silent = snapshot.silent.iter().filter(|_| args.of.is_empty());
    let mut is_whole = reading.unread.is_empty();
    for silent in silent {
        stderr::warn(place::silent(&snapshot, silent));
        is_whole = false;
    }
    Ok(Verdict::of(is_whole))
}

/// Reads the counters of the ports that are named, or of all ports if none is.
fn read(args: &PerfArgs, source: &Source, scope: CounterScope) -> Result<Snapshot, CliError> {
    let adjust = |config: &mut CollectorConfig| {
        // The exporter's text has facts of the ports too.
        config.one_end = !args.prometheus;
        config.counters = scope;
    };
    if args.of.is_empty() || !source.is_live() {
        return source.snapshot_with(Contents::COUNTERS, adjust);
    }
    let walked = source.snapshot_with(Contents::empty(), adjust)?;
    let ports = chosen(&walked, args)?;
    source.live("NODE")?.counters(walked, ports, scope)
}

/// The ports that the arguments name; `None` if there are no arguments, which means all ports.
fn chosen(snapshot: &Snapshot, args: &PerfArgs) -> Result<Option<BTreeSet<PortRef>>, CliError> {
    if args.of.is_empty() {
        return Ok(None);
    }
    let named = named(snapshot, args)?;
    let ports = snapshot.ports().map(|(at, _, _)| at);
    Ok(Some(ports.filter(|at| is_named(&named, *at)).collect()))
}

/// The nodes and ports that the arguments name.
fn named(snapshot: &Snapshot, args: &PerfArgs) -> Result<Vec<Named>, CliError> {
    args.of.iter().map(|text| find(snapshot, text)).collect()
}

fn is_named(named: &[Named], at: PortRef) -> bool {
    let fits =
        |named: &Named| named.node == at.node && named.port.is_none_or(|port| port == at.port);
    named.iter().any(fits)
}

fn verdict(snapshot: &Snapshot) -> Verdict {
    Verdict::of(
        snapshot
            .ports()
            .all(|(_, _, port)| port.counters.unread.is_none()),
    )
}

impl<'a> Reading<'a> {
    fn new(
        snapshot: &'a Snapshot,
        args: &PerfArgs,
        rates: Option<&Rates<'_>>,
        over: Option<&'a Thresholds>,
    ) -> Result<Self, CliError> {
        let named = named(snapshot, args)?;
        let is_wanted = |at: PortRef| named.is_empty() || is_named(&named, at);
        let mut ports: Vec<(PortRef, &SnapshotPort)> = Vec::new();
        for (index, node) in place::by_name(snapshot) {
            for (number, port) in node.ports().filter(|(number, _)| number.0 > 0) {
                let at = PortRef {
                    node: index,
                    port: number,
                };
                // A port of an adapter without a LID and without a cable counts nothing.
                let is_counted = node.is_switch() || port.is_link_up() || !port.counters.is_empty();
                if is_counted && is_wanted(at) {
                    ports.push((at, port));
                }
            }
        }
        // The names of an adapter's port may fit its only port too.
        let sum = |names: &dyn Fn(&str) -> bool, at: PortRef, port: &SnapshotPort| -> u64 {
            let values = match rates {
                Some(rates) => rates.of(at, snapshot, port),
                None => {
                    let values = values(port);
                    let named = values.iter().map(|(name, counter)| (name, counter.value));
                    named.collect()
                }
            };
            let chosen = values.iter().filter(|(name, _)| names(name));
            chosen.fold(0u64, |sum, (_, value)| sum.saturating_add(*value))
        };
        let errors = |at, port: &SnapshotPort| sum(&CounterReadings::counts_errors, at, port);
        let traffic =
            |at, port: &SnapshotPort| sum(&|name: &str| name.ends_with("_data"), at, port);
        let unread = ports
            .iter()
            .filter_map(|(at, port)| Some((*at, port.counters.unread?)));
        let unread = unread.collect();
        if args.errors {
            ports.retain(|(at, port)| match over {
                Some(over) => !errors_over(port, over).is_empty(),
                None => errors(*at, port) > 0,
            });
        }
        if let Some(top) = args.top {
            ports.sort_by_cached_key(|(at, port)| {
                let most = match args.errors {
                    true => errors(*at, port),
                    false => traffic(*at, port),
                };
                std::cmp::Reverse(most)
            });
            ports.truncate(top);
        }
        Ok(Self {
            snapshot,
            over,
            ports,
            unread,
        })
    }

    fn document(&self) -> Value {
        let ports = self.ports.iter().map(|(at, port)| {
            let values = values(port);
            let counters: Map<String, Value> = values
                .iter()
                .map(|(name, counter)| (name.to_owned(), json!(counter.value)))
                .collect();
            let mut map = self.head(*at);
            map.insert("counters".to_owned(), Value::Object(counters));
            map.insert("missing".to_owned(), json!(values.missing()));
            map.insert("saturated".to_owned(), json!(values.saturated()));
            if let Some(over) = self.over {
                let errors = errors_over(port, over).into_iter();
                let errors = errors.map(|(name, value)| (name.to_owned(), json!(value)));
                map.insert("errors".to_owned(), Value::Object(errors.collect()));
                map.extend(end_port_guid(self.snapshot, *at));
                let peer = port.peer.map(|peer| {
                    let mut map = self.head(peer);
                    map.extend(end_port_guid(self.snapshot, peer));
                    Value::Object(map)
                });
                map.insert("peer".to_owned(), json!(peer));
            }
            Value::Object(map)
        });
        json!({ "ports": ports.collect::<Vec<_>>() })
    }

    /// Rates per second.
    fn document_of_rates(&self, rates: &Rates<'_>) -> Value {
        let ports = self.ports.iter().map(|(at, port)| {
            let values = values(port);
            let per_second: Map<String, Value> = rates
                .per_second(*at, self.snapshot, port)
                .into_iter()
                .map(|(name, value)| (name.to_owned(), json!(value)))
                .collect();
            let mut map = self.head(*at);
            map.insert("per_second".to_owned(), Value::Object(per_second));
            map.insert("missing".to_owned(), json!(values.missing()));
            map.insert("saturated".to_owned(), json!(values.saturated()));
            Value::Object(map)
        });
        json!({ "seconds": rates.seconds(), "ports": ports.collect::<Vec<_>>() })
    }

    fn head(&self, at: PortRef) -> Map<String, Value> {
        let mut map = place::port(self.snapshot, at);
        map.retain(|key, _| matches!(key.as_str(), "node_guid" | "port" | "name"));
        map
    }
}

/// The GUID of the port by whose LID the agents of a port are reached, as a member of a document.
fn end_port_guid(snapshot: &Snapshot, at: PortRef) -> Option<(String, Value)> {
    let [(name, guid), _] = place::end_port(snapshot, at);
    Some((name.to_owned(), guid))
}

/// The counters that were read.
fn values(port: &SnapshotPort) -> CounterValues {
    port.counters.values(port.perf_class_port_info.as_ref())
}

/// The counters of a port that are above their thresholds. An error counter without a threshold has the threshold 0. A
/// traffic counter without one is left out.
fn errors_over(port: &SnapshotPort, thresholds: &Thresholds) -> Vec<(&'static str, u64)> {
    let values = values(port);
    let over = values.iter().filter(|(name, counter)| {
        let without = CounterReadings::counts_errors(name).then_some(0);
        let limit = thresholds.limit(name).or(without);
        !thresholds.is_ignored(name) && limit.is_some_and(|limit| counter.value > limit)
    });
    over.map(|(name, counter)| (name, counter.value)).collect()
}

/// Clears what was read, and says which ports did not take it.
fn reset(live: &Live, reading: &Reading<'_>) -> Result<(), CliError> {
    let mut requests = Vec::new();
    let mut owners = Vec::new();
    for (at, _) in &reading.ports {
        let of_port = reading.snapshot.reset_requests(*at);
        owners.extend(of_port.iter().map(|_| *at));
        requests.extend(of_port);
    }
    let outcomes = live.send(requests)?;
    let mut cleared = owners.clone();
    for (at, outcome) in owners.iter().zip(outcomes) {
        let problem = match outcome {
            Ok(mad) if mad.header().status().is_ok() => continue,
            Ok(mad) => format!("refused with status {}", mad.header().status()),
            Err(reason) => reason.to_string(),
        };
        cleared.retain(|port| port != at);
        let place = place::text(reading.snapshot, *at);
        stderr::warn(format_args!("{place}: counters not cleared: {problem}"));
    }
    cleared.dedup();
    let cleared = count(cleared.len(), "port", "ports");
    stderr::info(format_args!("counters of {cleared} cleared"));
    Ok(())
}
