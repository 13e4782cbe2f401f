//! The update from tables in use to new ones: the order of the writes, and the LIDs to drain first.

use std::{
    fmt::Write as _,
    io::{self, Write},
    path::PathBuf,
};

use ib_routing::{
    Fabric, LidMap, Routes, VlMap,
    format::{
        lfts::{self, Tables},
        sl2vl, sls,
    },
    repair::{RoutesInUse, repair},
    update::{
        self,
        transition::{DrainReason, Safety, Transition, plan},
    },
};
use serde::Serialize;

use crate::{
    error::CliError,
    files,
    output::{report::CycleLink, stderr, table::Table},
    route_args::RouteArgs,
};

/// The tables in use, and what to do with them.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Tables in use")]
pub struct FromArgs {
    /// Forwarding tables in use. Print an order of writes from them to the new tables in which no packet loops and
    /// nothing deadlocks, and the LIDs to drain before the writes. The LIDs in use are kept
    #[arg(long, value_name = "FILE", conflicts_with = "clusters")]
    from: Option<PathBuf>,
    /// Service levels in use, which belong to the tables of --from
    #[arg(long, value_name = "FILE", requires = "from")]
    from_sls: Option<PathBuf>,
    /// SLtoVL tables in use, which belong to the tables of --from
    #[arg(long, value_name = "FILE", requires = "from")]
    from_sl2vl: Option<PathBuf>,
    /// Keep every route in use that still holds, and compute only the others
    #[arg(long, requires = "from")]
    pub repair: bool,
    /// With --repair: move up to N more entries from busy links to idle links
    #[arg(long, value_name = "N", default_value_t = 0, requires = "repair")]
    rebalance: usize,
    /// Write the order: a line `STAGE SWITCH BLOCK` for each block of 64 LIDs, and one `drain LID` for
    /// each LID to drain
    #[arg(long, value_name = "FILE", requires = "from")]
    order: Option<PathBuf>,
}

/// The update from old tables to new ones.
#[derive(Debug, Serialize)]
pub struct UpdateReport {
    entries: u64,
    blocks: u64,
    switches: u64,
    stages: usize,
    new_sls: u64,
    drain: Vec<DrainReport>,
    safety: &'static str,
    cycle: Option<Vec<CycleLink>>,
}

/// A LID to drain, and why.
#[derive(Debug, Serialize)]
struct DrainReport {
    lid: u16,
    reason: &'static str,
    cycle: Option<Vec<CycleLink>>,
}

impl FromArgs {
    /// The tables in use, if they were given.
    pub fn read(&self, fabric: &Fabric) -> Result<Option<Tables>, CliError> {
        let Some(file) = &self.from else {
            return Ok(None);
        };
        let mut tables = files::read(file, |text| lfts::read(text, fabric))?;
        files::warn(file.display(), &tables.warnings);
        if let Some(file) = &self.from_sls {
            files::warned(file, |text| {
                let warnings = sls::read(text, &tables.lids, &mut tables.routes)?;
                Ok(((), warnings))
            })?;
        }
        if let Some(file) = &self.from_sl2vl {
            let lanes = files::warned(file, |text| sl2vl::read(text, fabric))?;
            let levels = tables.routes.sls().clone();
            tables.routes.set_lanes(levels, lanes, VLS);
        }
        Ok(Some(tables))
    }

    /// The tables in use where they hold, and new entries elsewhere; says loudly if all are new.
    pub fn repaired(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        old: &Tables,
        args: &RouteArgs,
    ) -> Result<Routes, CliError> {
        let options = args.options(fabric)?;
        let mut routes = old.routes.clone();
        if let Some(engine) = args.engine.first() {
            routes.set_engine(engine);
        }
        let old = RoutesInUse {
            fabric,
            lids: &old.lids,
            routes: &routes,
        };
        let repaired =
            repair(old, fabric, lids, &options, self.rebalance).map_err(CliError::input)?;
        if let Some(reason) = &repaired.recomputed {
            stderr::warn(format_args!("all routes computed anew: {reason}"));
        }
        Ok(repaired.routes)
    }

    /// Plans the update to `new`, and writes the plan if asked to.
    pub fn plan(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        old: &Tables,
        new: &Routes,
    ) -> Result<UpdateReport, CliError> {
        // Blocks of the new tables may reach further than those in use.
        let mut before = Routes::new(old.routes.engine(), fabric, lids);
        for switch in fabric.switches().indices() {
            let blocks =
                (0..).map_while(|number| Some((number, old.routes.lft_block(switch, number)?)));
            for (number, block) in blocks {
                before.set_lft_block(switch, number, block);
            }
        }
        let levels = old.routes.sls().clone();
        if before.row_len() == old.routes.row_len() {
            before.set_lanes(levels, old.routes.vl_map().clone(), old.routes.vls());
        } else {
            let map = VlMap::identity(VLS);
            before.set_lanes(new.sls().clone(), map, new.vls());
        }
        let plan = plan(fabric, lids, &before, new);
        if let Some(file) = &self.order {
            files::write(file, &order(fabric, &plan))?;
        }
        let difference = update::difference(fabric, lids, &before, new);
        Ok(UpdateReport::new(fabric, &plan, difference))
    }
}

/// Virtual lanes for data that an SLtoVL table can name.
const VLS: u8 = 15;

/// The order as text.
fn order(fabric: &Fabric, plan: &Transition) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    for lid in plan.drain.keys() {
        let _ = writeln!(text, "drain {lid}");
    }
    for (stage, steps) in plan.stages.iter().enumerate() {
        for step in steps {
            let switch = fabric.switch_guid(step.switch);
            let _ = writeln!(text, "{stage} {switch} {}", step.block);
        }
    }
    text
}

impl UpdateReport {
    fn new(fabric: &Fabric, plan: &Transition, difference: update::RoutesDifference) -> Self {
        let links = |cycle: &Vec<_>| -> Vec<CycleLink> {
            let links = cycle.iter();
            links
                .map(|&(channel, vl)| CycleLink::new(fabric, channel, vl))
                .collect()
        };
        let drain = plan.drain.iter().map(|(lid, hazard)| {
            let (reason, cycle) = match hazard {
                DrainReason::Loop => ("loop", None),
                DrainReason::Deadlock(cycle) => ("deadlock", Some(links(cycle))),
            };
            DrainReport {
                lid: lid.0,
                reason,
                cycle,
            }
        });
        let (safety, cycle) = match &plan.safety {
            Safety::AnyOrder(_) => ("any order", None),
            Safety::Stages => ("stages", None),
            Safety::OldDeadlock(cycle) => ("old routes deadlock", Some(links(cycle))),
            Safety::NewDeadlock(cycle) => ("new routes deadlock", Some(links(cycle))),
        };
        Self {
            entries: difference.entries,
            blocks: difference.blocks,
            switches: difference.switches,
            stages: plan.stages.len(),
            new_sls: plan.new_sls,
            drain: drain.collect(),
            safety,
            cycle,
        }
    }

    /// Prints it for reading.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let mut table = Table::new([
            "update", "entries", "blocks", "switches", "stages", "new SLs", "drained", "safe by",
        ]);
        table
            .row([
                String::new(),
                self.entries.to_string(),
                self.blocks.to_string(),
                self.switches.to_string(),
                self.stages.to_string(),
                self.new_sls.to_string(),
                self.drain.len().to_string(),
                self.safety.to_owned(),
            ])
            .print(out)?;
        writeln!(out)?;
        if self.drain.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(["drain LID", "as packets would", "through"]);
        for drain in &self.drain {
            let links = drain.cycle.iter().flatten();
            let links: Vec<String> = links
                .map(|link| format!("{}[{}] VL {}", link.from, link.from_port, link.vl))
                .collect();
            table.row([
                drain.lid.to_string(),
                drain.reason.to_owned(),
                links.join(", "),
            ]);
        }
        table.print(out)?;
        writeln!(out)
    }
}
