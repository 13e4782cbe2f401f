//! Counters as tables for reading: of one port, of all, and per second.

use std::io::{self, IsTerminal as _, Write};

use ib_diag::{CounterReadings, CounterValues, Snapshot, SnapshotPort, Thresholds};
use ib_mad::CounterDelta;
use ib_routing::PortRef;

use super::{Reading, errors_over, values};
use crate::output::{
    place,
    table::{Table, scaled},
    terminal,
};

/// Increments of counters since an earlier reading.
pub(super) struct Rates<'a> {
    before: &'a Snapshot,
    seconds: f64,
}

impl<'a> Rates<'a> {
    pub(super) const fn new(before: &'a Snapshot, seconds: f64) -> Self {
        Self { before, seconds }
    }

    pub(super) const fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The least increment of each counter of a port.
    pub(super) fn of(
        &self,
        at: PortRef,
        snapshot: &Snapshot,
        port: &SnapshotPort,
    ) -> Vec<(&'static str, u64)> {
        let guid = snapshot.node(at.node).map(|node| node.guid());
        let node = guid.and_then(|guid| self.before.node_by_guid(guid));
        let before = node.and_then(|node| self.before.port(PortRef { node, ..at }));
        let Some(before) = before else {
            return Vec::new();
        };
        let deltas = port
            .counters
            .since(&before.counters, port.perf_class_port_info.as_ref());
        let in_order = CounterReadings::names().filter_map(|name| {
            let delta = deltas.get(name).copied().map(CounterDelta::at_least)?;
            Some((name, delta))
        });
        in_order.collect()
    }

    /// The increment of each counter of a port per second.
    pub(super) fn per_second(
        &self,
        at: PortRef,
        snapshot: &Snapshot,
        port: &SnapshotPort,
    ) -> Vec<(&'static str, f64)> {
        let counted = self.of(at, snapshot, port).into_iter();
        counted
            .map(|(name, count)| (name, count as f64 / self.seconds.max(f64::EPSILON)))
            .collect()
    }
}

/// Every counter of one port, a line each.
pub(super) fn one(
    out: &mut impl Write,
    snapshot: &Snapshot,
    at: PortRef,
    port: &SnapshotPort,
) -> io::Result<()> {
    let values = values(port);
    writeln!(out, "{}", place::text(snapshot, at))?;
    let mut table = Table::new(["counter", "value", ""]);
    for (name, counter) in values.iter() {
        let note = match counter.is_saturated() {
            true => "at its highest value",
            false => "",
        };
        table.row([name.to_owned(), counter.value.to_string(), note.to_owned()]);
    }
    table.print(out)?;
    let missing = values.missing();
    if !missing.is_empty() {
        writeln!(out, "not read: {}", missing.join(", "))?;
    }
    Ok(())
}

/// Traffic and errors of all ports, a line each. A terminal that is too narrow gets large numbers with three digits,
/// and notes below their ports. If `over` is given, only the error counters above these thresholds are listed.
pub(super) fn all(
    out: &mut impl Write,
    reading: &Reading<'_>,
    over: Option<&Thresholds>,
) -> io::Result<()> {
    print_fitting(out, |is_narrow| match over {
        Some(thresholds) => with_errors(reading, thresholds, is_narrow),
        None => traffic(reading, is_narrow),
    })
}

/// Prints the table that `table(false)` gives, or `table(true)` on a terminal that is too narrow for it.
fn print_fitting(out: &mut impl Write, table: impl Fn(bool) -> Table) -> io::Result<()> {
    let wide = table(false);
    match terminal::of_stdout().width {
        Some(width) if width < wide.width() => table(true).fitting(width).print(out),
        _ => wide.print(out),
    }
}

fn traffic(reading: &Reading<'_>, is_narrow: bool) -> Table {
    let mut table = match is_narrow {
        true => Table::new([
            "port", "xmit B", "rcv B", "x pkts", "r pkts", "x wait", "errors",
        ]),
        false => Table::new([
            "port",
            "xmit bytes",
            "rcv bytes",
            "xmit pkts",
            "rcv pkts",
            "xmit wait",
            "errors",
            "note",
        ]),
    };
    let number = |value: u64| match is_narrow {
        true => scaled(value),
        false => value.to_string(),
    };
    for (at, port) in &reading.ports {
        let values = values(port);
        let get = |name: &str| values.get(name).map(|counter| counter.value);
        let text = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), number);
        let bytes = |name| text(get(name).map(|words| words.saturating_mul(4)));
        let note = note(port, &values);
        let mut cells = vec![
            place::text(reading.snapshot, *at),
            bytes("port_xmit_data"),
            bytes("port_rcv_data"),
            text(get("port_xmit_pkts")),
            text(get("port_rcv_pkts")),
            text(get("port_xmit_wait")),
            text((!values.is_empty()).then(|| values.errors())),
        ];
        if is_narrow {
            table.row(cells).note(note);
        } else {
            cells.push(note);
            table.row(cells);
        }
    }
    table
}

/// Remarks on a port: why nothing was read, or which counters are at their highest value.
fn note(port: &SnapshotPort, values: &CounterValues) -> String {
    if let Some(reason) = port.counters.unread {
        return format!("not read: {}", reason.text());
    }
    let saturated = values.saturated();
    match saturated.is_empty() {
        true => String::new(),
        false => format!("saturated: {}", saturated.join(", ")),
    }
}

/// Returns a line for each error counter of any port that is above its threshold.
fn with_errors(reading: &Reading<'_>, thresholds: &Thresholds, is_narrow: bool) -> Table {
    let heads: &[&str] = match is_narrow {
        true => &["port", "counter", "value"],
        false => &["port", "counter", "value", "other end"],
    };
    let mut table = Table::new(heads.iter().copied());
    for (at, port) in &reading.ports {
        let peer = port
            .peer
            .map_or_else(String::new, |peer| place::text(reading.snapshot, peer));
        for (name, value) in errors_over(port, thresholds) {
            let place = place::text(reading.snapshot, *at);
            let mut cells = vec![place, name.to_owned(), value.to_string()];
            if is_narrow && !peer.is_empty() {
                table.row(cells).note(format!("other end: {peer}"));
            } else {
                cells.push(peer.clone());
                table.row(cells);
            }
        }
    }
    table
}

/// Rates per second; on a terminal they replace the last table.
pub(super) fn rates(
    out: &mut impl Write,
    reading: &Reading<'_>,
    rates: &Rates<'_>,
    errors: bool,
) -> io::Result<()> {
    if io::stdout().is_terminal() {
        // To the first line and column, and everything below is cleared.
        write!(out, "\u{1b}[H\u{1b}[J")?;
    }
    print_fitting(out, |is_narrow| {
        rates_table(reading, rates, errors, is_narrow)
    })?;
    out.flush()
}

fn rates_table(reading: &Reading<'_>, rates: &Rates<'_>, errors: bool, is_narrow: bool) -> Table {
    let mut table = Table::new(match is_narrow {
        true => [
            "port", "x MB/s", "r MB/s", "x pk/s", "r pk/s", "wait/s", "err/s",
        ],
        false => [
            "port",
            "xmit MB/s",
            "rcv MB/s",
            "xmit pkts/s",
            "rcv pkts/s",
            "xmit wait/s",
            "errors/s",
        ],
    });
    for (at, port) in &reading.ports {
        let values = rates.per_second(*at, reading.snapshot, port);
        let get = |name: &str| {
            values
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| *value)
        };
        let number = |value: f64| match is_narrow && value >= 10_000.0 {
            true => scaled(value as u64),
            false => format!("{value:.1}"),
        };
        let text = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
        let megabytes = |name| text(get(name).map(|words| words * 4.0 / 1e6));
        let sum: f64 = values
            .iter()
            .filter(|(name, _)| CounterReadings::counts_errors(name))
            .map(|(_, value)| value)
            .sum();
        if errors && sum == 0.0 {
            continue;
        }
        table.row([
            place::text(reading.snapshot, *at),
            megabytes("port_xmit_data"),
            megabytes("port_rcv_data"),
            text(get("port_xmit_pkts")),
            text(get("port_rcv_pkts")),
            text(get("port_xmit_wait")),
            text((!values.is_empty()).then_some(sum)),
        ]);
    }
    table
}
