//! The report of `up`, `sm --once`, `route` and `check`: one JSON document, or tables and a verdict.

use std::{
    io::{self, Write},
    time::Duration,
};

use ib_routing::{ChannelIdx, Fabric, LidMap, NodeType, RoutingEngine, VerifyReport};
use ib_sm::{FabricCounts, MadCounts, PortCounts};
use ib_wire::{Guid, PortNum, Vl};
use serde::{Serialize, Serializer};

use super::{json, table::Table};
use crate::error::Verdict;

/// Everything that a report says. Parts that a command has nothing to say about are zero.
#[derive(Debug, Serialize)]
pub struct Report {
    #[serde(serialize_with = "fabric_counts")]
    pub fabric: FabricCounts,
    #[serde(serialize_with = "engine")]
    pub engine: Option<RoutingEngine>,
    pub seconds: Seconds,
    #[serde(serialize_with = "mad_counts")]
    pub mads: MadCounts,
    #[serde(serialize_with = "port_counts")]
    pub ports: PortCounts,
    pub routes: RoutesReport,
}

/// Wall time of each phase, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Seconds {
    pub discover: f64,
    pub lids: f64,
    pub route: f64,
    pub verify: f64,
    pub program: f64,
    pub total: f64,
}

/// What the verifier says of the routes.
#[derive(Debug, Serialize)]
pub struct RoutesReport {
    pub pairs: u64,
    pub unreachable: u64,
    pub loops: u64,
    pub deadlock_free: bool,
    pub cycle: Option<Vec<CycleLink>>,
    pub vls: u8,
    pub max_hops: u32,
    pub mean_hops: f64,
    pub link_load: LinkLoad,
}

/// One link of a cycle of the channel dependency graph.
#[derive(Debug, Serialize)]
pub struct CycleLink {
    pub from: Guid,
    pub from_port: u8,
    pub to: Guid,
    pub to_port: u8,
    pub vl: u8,
}

/// Distribution of the routes over directed switch-to-switch links.
#[derive(Debug, Serialize)]
pub struct LinkLoad {
    pub max: u64,
    pub mean: f64,
    pub stdev: f64,
}

impl Report {
    /// The report of routes that were computed or read, but not installed anywhere.
    pub fn offline(
        fabric: &Fabric,
        lids: &LidMap,
        engine: Option<RoutingEngine>,
        seconds: Seconds,
        verified: &VerifyReport,
    ) -> Self {
        Self {
            fabric: counts(fabric, lids),
            engine,
            seconds,
            mads: MadCounts::default(),
            ports: PortCounts::default(),
            routes: RoutesReport::new(fabric, verified),
        }
    }

    /// Whether everything that the report says is as it should be.
    pub fn verdict(&self) -> Verdict {
        let routes = &self.routes;
        let holds = routes.unreachable == 0
            && routes.loops == 0
            && routes.deadlock_free
            && self.ports.not_active == 0
            && self.mads.timed_out == 0;
        Verdict::of(holds)
    }

    /// Prints the report, for programs or for reading.
    pub fn print(&self, out: &mut impl Write, as_json: bool) -> io::Result<()> {
        if as_json {
            return json::print(out, self);
        }
        self.print_tables(out)?;
        out.flush()
    }

    fn print_tables(&self, out: &mut impl Write) -> io::Result<()> {
        let counts = &self.fabric;
        let mut table = Table::new(["switches", "CAs", "routers", "links", "LIDs"]);
        table
            .row([
                counts.switches.to_string(),
                counts.cas.to_string(),
                counts.routers.to_string(),
                counts.links.to_string(),
                counts.lids.to_string(),
            ])
            .print(out)?;
        writeln!(out)?;
        self.print_work(out)?;
        self.routes.print(out, self.engine)
    }

    /// MADs and ports, of a subnet that was brought up; and how long it took.
    fn print_work(&self, out: &mut impl Write) -> io::Result<()> {
        if self.mads.sent > 0 {
            let mut table = Table::new([
                "MADs sent",
                "received",
                "retried",
                "timed out",
                "ports active",
                "not active",
            ]);
            table
                .row([
                    self.mads.sent.to_string(),
                    self.mads.received.to_string(),
                    self.mads.retried.to_string(),
                    self.mads.timed_out.to_string(),
                    self.ports.active.to_string(),
                    self.ports.not_active.to_string(),
                ])
                .print(out)?;
            writeln!(out)?;
        }
        let seconds = &self.seconds;
        let mut table = Table::new([
            "seconds", "discover", "LIDs", "route", "verify", "program", "total",
        ]);
        let cell = |value: f64| format!("{value:.6}");
        table
            .row([
                String::new(),
                cell(seconds.discover),
                cell(seconds.lids),
                cell(seconds.route),
                cell(seconds.verify),
                cell(seconds.program),
                cell(seconds.total),
            ])
            .print(out)?;
        writeln!(out)
    }
}

impl RoutesReport {
    /// What the verifier found, in the words of the fabric.
    pub fn new(fabric: &Fabric, verified: &VerifyReport) -> Self {
        let cycle = verified.cycle.as_ref();
        Self {
            pairs: verified.pairs,
            unreachable: verified.unreachable,
            loops: verified.loops,
            deadlock_free: verified.deadlock_free,
            cycle: cycle.map(|cycle| {
                cycle
                    .iter()
                    .map(|&(channel, vl)| CycleLink::new(fabric, channel, vl))
                    .collect()
            }),
            vls: verified.vls,
            max_hops: verified.max_hops,
            mean_hops: verified.mean_hops,
            link_load: LinkLoad {
                max: verified.link_load.max,
                mean: verified.link_load.mean,
                stdev: verified.link_load.stdev,
            },
        }
    }

    fn print(&self, out: &mut impl Write, engine: Option<RoutingEngine>) -> io::Result<()> {
        let mut table = Table::new([
            "engine",
            "pairs",
            "unreachable",
            "loops",
            "hops max",
            "mean",
            "load max",
            "mean",
            "stdev",
            "VLs",
            "deadlock",
        ]);
        table
            .row([
                engine.map_or_else(|| "-".to_owned(), |engine| engine.to_string()),
                self.pairs.to_string(),
                self.unreachable.to_string(),
                self.loops.to_string(),
                self.max_hops.to_string(),
                format!("{:.4}", self.mean_hops),
                self.link_load.max.to_string(),
                format!("{:.1}", self.link_load.mean),
                format!("{:.1}", self.link_load.stdev),
                self.vls.to_string(),
                if self.deadlock_free { "none" } else { "cycle" }.to_owned(),
            ])
            .print(out)?;
        if let Some(cycle) = &self.cycle {
            writeln!(out, "\nLinks that can wait for each other in a circle:")?;
            let mut table = Table::new(["from", "port", "to", "port", "VL"]);
            for link in cycle {
                table.row([
                    link.from.to_string(),
                    link.from_port.to_string(),
                    link.to.to_string(),
                    link.to_port.to_string(),
                    link.vl.to_string(),
                ]);
            }
            table.print(out)?;
        }
        Ok(())
    }
}

impl CycleLink {
    /// The link that a channel is.
    pub fn new(fabric: &Fabric, channel: ChannelIdx, vl: Vl) -> Self {
        let channel = fabric.channel(channel);
        let PortNum(from_port) = channel.port;
        let PortNum(to_port) = channel.to_port;
        Self {
            from: fabric.switch_guid(channel.from),
            from_port,
            to: fabric.switch_guid(channel.to),
            to_port,
            vl: vl.bits(),
        }
    }
}

/// Numbers of things in a fabric.
pub fn counts(fabric: &Fabric, lids: &LidMap) -> FabricCounts {
    FabricCounts {
        switches: fabric.num_switches(),
        cas: fabric.count(NodeType::Ca),
        routers: fabric.count(NodeType::Router),
        links: fabric.num_links(),
        lids: lids.num_lids(),
    }
}

/// Seconds as a number.
pub fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

fn fabric_counts<S: Serializer>(counts: &FabricCounts, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Counts {
        switches: usize,
        cas: usize,
        routers: usize,
        links: usize,
        lids: usize,
    }
    let &FabricCounts {
        switches,
        cas,
        routers,
        links,
        lids,
    } = counts;
    Counts {
        switches,
        cas,
        routers,
        links,
        lids,
    }
    .serialize(serializer)
}

fn mad_counts<S: Serializer>(counts: &MadCounts, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Counts {
        sent: u64,
        received: u64,
        retried: u64,
        timed_out: u64,
    }
    let &MadCounts {
        sent,
        received,
        retried,
        timed_out,
    } = counts;
    Counts {
        sent,
        received,
        retried,
        timed_out,
    }
    .serialize(serializer)
}

fn port_counts<S: Serializer>(counts: &PortCounts, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Counts {
        active: usize,
        not_active: usize,
    }
    let &PortCounts { active, not_active } = counts;
    Counts { active, not_active }.serialize(serializer)
}

fn engine<S: Serializer>(engine: &Option<RoutingEngine>, serializer: S) -> Result<S::Ok, S::Error> {
    match engine {
        Some(engine) => serializer.collect_str(engine),
        None => serializer.serialize_none(),
    }
}
