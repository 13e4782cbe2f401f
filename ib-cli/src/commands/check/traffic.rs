//! Traffic patterns on the links: the load that they give under the routes, and the links that the paths of one pair share.

use std::io::{self, Write};

use ib_routing::{
    Fabric, LidMap, Routes,
    verify::balance::{Contention, Pattern, contention, lmc_overlap, worst_shift},
};
use serde::Serialize;

use crate::output::table::Table;

/// Random permutations that are tried.
const PERMUTATIONS: u64 = 10;

/// The part of the report that `ib check --traffic` adds.
#[derive(Debug, Serialize)]
pub struct Traffic {
    /// The worst of all shifts, and by how many ports it shifts.
    shift: Shift,
    all_to_all: Meeting,
    /// The worst of some random permutations.
    random: Meeting,
    /// Pairs by what all of their paths share; empty where each port has one LID.
    lmc_overlap: Overlap,
}

/// Packets of a pattern that meet on the busiest link, and on a used link on average.
#[derive(Debug, Serialize)]
struct Meeting {
    max: u32,
    mean: f64,
}

#[derive(Debug, Serialize)]
struct Shift {
    by: usize,
    #[serde(flatten)]
    meeting: Meeting,
}

/// Numbers of pairs, by the number of things in common.
#[derive(Debug, Serialize)]
struct Overlap {
    common_links: Vec<u64>,
    common_switches: Vec<u64>,
}

impl Traffic {
    /// Sends every pattern.
    pub fn new(fabric: &Fabric, lids: &LidMap, routes: &Routes) -> Self {
        let (shift, by) = worst_shift(fabric, lids, routes);
        let send = |pattern| contention(fabric, lids, routes, pattern);
        let random = (1..=PERMUTATIONS).map(|seed| send(Pattern::Random(seed)));
        let worst = random.max_by_key(|found| found.max).unwrap_or_default();
        let overlap = lmc_overlap(fabric, lids, routes);
        Self {
            shift: Shift {
                by,
                meeting: shift.into(),
            },
            all_to_all: send(Pattern::AllToAll).into(),
            random: worst.into(),
            lmc_overlap: Overlap {
                common_links: overlap.common_links,
                common_switches: overlap.common_switches,
            },
        }
    }

    /// Prints a line a pattern, and a line a number of common links and switches.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out)?;
        let mut table = Table::new(["traffic", "packets on a link, max", "mean"]);
        let rows = [
            (format!("shift by {}", self.shift.by), &self.shift.meeting),
            ("all to all".to_owned(), &self.all_to_all),
            (format!("worst of {PERMUTATIONS} random"), &self.random),
        ];
        for (name, meeting) in rows {
            let (max, mean) = (meeting.max.to_string(), format!("{:.1}", meeting.mean));
            table.row([name, max, mean]);
        }
        table.print(out)?;
        let Overlap {
            common_links: links,
            common_switches: switches,
        } = &self.lmc_overlap;
        if links.is_empty() && switches.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        let mut table = Table::new(["in common", "pairs by links", "by switches"]);
        let pairs = |by: &[u64], number: usize| by.get(number).copied().unwrap_or(0).to_string();
        for number in 0..links.len().max(switches.len()) {
            table.row([
                number.to_string(),
                pairs(links, number),
                pairs(switches, number),
            ]);
        }
        table.print(out)
    }
}

impl From<Contention> for Meeting {
    fn from(found: Contention) -> Self {
        Self {
            max: found.max,
            mean: found.mean,
        }
    }
}
