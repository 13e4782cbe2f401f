//! `ib perf --watch`: the growth of counters, again and again.

use std::{
    collections::BTreeSet,
    io, thread,
    time::{Duration, Instant},
};

use ib_diag::{CounterScope, Snapshot};
use ib_routing::PortRef;

use super::{
    PerfArgs, Reading, chosen, read,
    table::{self, Rates},
    verdict,
};
use crate::{
    error::{CliError, Verdict},
    output::json,
    source::Source,
};

/// The time after which the subnet is walked again although nothing shows a change: a link that comes up at a port that
/// had none shows in no counter.
const WALK_INTERVAL: Duration = Duration::from_secs(60);

/// Reads again and again.
pub(super) fn watch(
    args: &PerfArgs,
    source: &Source,
    interval: Duration,
    as_json: bool,
) -> Result<Verdict, CliError> {
    let mut watched = Watched::new(args, source)?;
    let mut rounds = args.count.unwrap_or(u64::MAX);
    while rounds > 0 {
        rounds -= 1;
        thread::sleep(interval.saturating_sub(watched.read_at.elapsed()));
        let before = watched.read_again(args, source)?;
        let seconds = watched.read_at.duration_since(before.0).as_secs_f64();
        let rates = Rates::new(&before.1, seconds);
        let reading = Reading::new(&watched.snapshot, args, Some(&rates), None)?;
        let mut out = io::stdout().lock();
        if as_json {
            json::print(&mut out, &reading.document_of_rates(&rates))?;
        } else {
            table::rates(&mut out, &reading, &rates, args.errors)?;
        }
    }
    Ok(verdict(&watched.snapshot))
}

/// The latest reading, and when the topology that it is based on was read.
struct Watched {
    snapshot: Snapshot,
    /// The ports that are named; `None` if none is.
    ports: Option<BTreeSet<PortRef>>,
    read_at: Instant,
    walked_at: Instant,
}

impl Watched {
    /// Walks the subnet and reads the counters.
    fn new(args: &PerfArgs, source: &Source) -> Result<Self, CliError> {
        let now = Instant::now();
        let snapshot = read(args, source, CounterScope::All)?;
        Ok(Self {
            ports: chosen(&snapshot, args)?,
            snapshot,
            read_at: now,
            walked_at: now,
        })
    }

    /// Reads the counters alone, or walks the subnet again if it may have changed. Returns the reading before.
    fn read_again(
        &mut self,
        args: &PerfArgs,
        source: &Source,
    ) -> Result<(Instant, Snapshot), CliError> {
        let mut now = None;
        if self.walked_at.elapsed() < WALK_INTERVAL {
            let read_at = Instant::now();
            let before = self.snapshot.clone();
            let live = source.live("--watch")?;
            let later = live.counters(before, self.ports.clone(), CounterScope::All)?;
            if !self.snapshot.is_outdated_by(&later) {
                now = Some(Self {
                    snapshot: later,
                    ports: self.ports.take(),
                    read_at,
                    walked_at: self.walked_at,
                });
            }
        }
        let now = match now {
            Some(now) => now,
            None => Self::new(args, source)?,
        };
        let before = std::mem::replace(self, now);
        Ok((before.read_at, before.snapshot))
    }
}
