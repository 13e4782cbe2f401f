//! The report of `up`, `sm --once`, `route` and `check`: one JSON document, or a block of lines and a verdict.

mod text;

use std::{
    io::{self, Write},
    time::Duration,
};

use ib_routing::{ChannelIdx, Fabric, LidMap, NodeType, VerifyReport, verify::Defect};
use ib_sm::{FabricCounts, MadCounts, PortCounts};
use ib_wire::{Guid, PortNum, Vl};
use serde::Serialize;

use super::{count, json};
use crate::{commands::up::ChangeReport, error::Verdict};

/// Verdict of routes that hold.
pub const GOOD_ROUTES: &str = "routes hold";
/// Verdict of routes that do not.
pub const BAD_ROUTES: &str = "routes do NOT hold";

/// Everything that a report says. Parts that a command has no figures for are zero.
#[derive(Debug, Serialize)]
pub struct Report {
    pub fabric: FabricCounts,
    /// Engine of the routes; `None` if they were read from a file, or if there are none.
    pub engine: Option<&'static str>,
    pub seconds: Seconds,
    pub mads: MadCounts,
    pub ports: PortCounts,
    pub routes: RoutesReport,
    /// Nodes of the simulated fabric that the manager did not reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<NodeCounts>,
    /// The cost of each change of the fabric; `None` without `--then`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<ChangeReport>>,
    /// Whether a manager brought the subnet up without an error; `None` if no manager ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    up: Option<bool>,
    /// Everything that is not as it should be, a sentence each; empty where all checks hold.
    errors: Vec<String>,
}

/// Numbers of nodes by type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NodeCounts {
    pub switches: usize,
    pub cas: usize,
    pub routers: usize,
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

/// The verifier's report on the routes.
#[derive(Debug, Serialize)]
pub struct RoutesReport {
    /// Ordered pairs of LIDs of different CA ports.
    pub pairs: u64,
    /// Pairs of a source port and a destination LID, switches' own included, without a route.
    pub unreachable: u64,
    /// Pairs of a switch and a LID whose route never ends.
    pub loops: u64,
    /// Whether traffic between CAs cannot deadlock.
    pub deadlock_free: bool,
    pub cycle: Option<Vec<CycleLink>>,
    /// Virtual lanes that traffic between CAs uses.
    pub vls: u8,
    /// Most links between switches on the route of a pair.
    pub max_hops: u32,
    pub mean_hops: f64,
    pub link_load: LinkLoad,
    /// Defects that forbid to install the routes without a permission.
    #[serde(skip)]
    defects: Vec<Defect>,
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
        engine: Option<&'static str>,
        seconds: Seconds,
        verified: &VerifyReport,
    ) -> Self {
        let mut report = Self {
            fabric: FabricCounts::new(fabric, lids),
            engine,
            seconds,
            mads: MadCounts::default(),
            ports: PortCounts::default(),
            routes: RoutesReport::new(fabric, verified),
            missing: None,
            changes: None,
            up: None,
            errors: Vec::new(),
        };
        report.errors = report.routes.errors();
        report
    }

    /// The report of a manager. `verified` is `None` if no engine computed routes.
    pub fn of_manager(
        summary: &ib_sm::Summary,
        fabric: &Fabric,
        seconds: Seconds,
        verified: Option<&VerifyReport>,
    ) -> Self {
        let nothing = VerifyReport::default();
        let routes = RoutesReport::new(fabric, verified.unwrap_or(&nothing));
        let mut report = Self {
            fabric: summary.fabric,
            engine: summary.engine,
            seconds,
            mads: summary.mads,
            ports: summary.ports,
            routes,
            missing: None,
            changes: None,
            up: Some(true),
            errors: Vec::new(),
        };
        match verified {
            Some(_) => report.judge_routes(),
            None => report.fail("there are no routes"),
        }
        report.judge_service();
        report
    }

    /// The report of several managers that share a fabric: `verified` is of the tables of all of them.
    pub fn of_managers<'a>(
        fabric: &Fabric,
        lids: &LidMap,
        managers: impl Iterator<Item = &'a ib_sm::SubnetManager>,
        seconds: Seconds,
        verified: &VerifyReport,
    ) -> Self {
        let mut report = Self::offline(fabric, lids, None, seconds, verified);
        report.errors.clear();
        report.up = Some(true);
        for (place, manager) in managers.enumerate() {
            let summary = manager.summary();
            let mads = summary.mads;
            report.engine = match place {
                0 => summary.engine,
                _ => report
                    .engine
                    .filter(|&engine| Some(engine) == summary.engine),
            };
            report.ports.active += summary.ports.active;
            report.ports.not_active += summary.ports.not_active;
            report.mads.sent += mads.sent;
            report.mads.received += mads.received;
            report.mads.retried += mads.retried;
            report.mads.timed_out += mads.timed_out;
        }
        report.judge_routes();
        report.judge_service();
        report
    }

    /// Adds what is wrong with the routes.
    fn judge_routes(&mut self) {
        for error in self.routes.errors() {
            self.fail(error);
        }
    }

    /// Adds requests without a response, and ports that are not active.
    fn judge_service(&mut self) {
        let silent = self.mads.timed_out;
        if silent > 0 {
            self.fail(count(silent, "request got", "requests got") + " no response");
        }
        let down = self.ports.not_active;
        if down > 0 {
            self.fail(count(down, "port is", "ports are") + " not active");
        }
    }

    /// Adds a sentence that says what is not as it should be.
    pub fn fail(&mut self, error: impl Into<String>) {
        self.errors.push(error.into());
        if let Some(up) = &mut self.up {
            *up = false;
        }
    }

    /// Returns true if everything that the report says is as it should be.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.errors.is_empty())
    }

    /// Prints the report as one JSON document.
    pub fn print_json(&self, out: &mut impl Write) -> io::Result<()> {
        json::print(out, self)
    }
}

impl RoutesReport {
    /// The verifier's report, in the names of the fabric.
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
            defects: verified.defects().collect(),
        }
    }

    fn errors(&self) -> Vec<String> {
        let mut errors = Vec::new();
        if self.unreachable > 0 {
            errors.push(count(self.unreachable, "pair has", "pairs have") + " no route");
        }
        errors.extend(self.defects.iter().filter_map(|defect| match defect {
            // Those that no cables join are counted above too.
            Defect::Unreachable(_) => None,
            Defect::Loops(pairs) => Some(count(*pairs, "route loops", "routes loop")),
            other => Some(other.to_string()),
        }));
        errors
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

impl NodeCounts {
    /// Counts one more node.
    pub fn add(&mut self, type_: NodeType) {
        let count = match type_ {
            NodeType::SWITCH => &mut self.switches,
            NodeType::ROUTER => &mut self.routers,
            _ => &mut self.cas,
        };
        *count += 1;
    }
}

/// Seconds as a number.
pub fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}
