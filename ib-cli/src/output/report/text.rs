//! The report for a person: a block of lines with a name each, then the verdict.

use std::io::{self, Write};

use super::{NodeCounts, Report, RoutesReport};
use crate::output::count;
use crate::output::table::Table;

/// Width of the names that the lines of the block begin with.
const NAME: usize = 9;

/// Writes one line of the block.
fn line(out: &mut impl Write, name: &str, text: &str) -> io::Result<()> {
    writeln!(out, "{name:<NAME$} {text}")
}

impl Report {
    /// Prints everything but the verdict.
    pub fn print_text(&self, out: &mut impl Write) -> io::Result<()> {
        let fabric = &self.fabric;
        let mut parts = NodeCounts {
            switches: fabric.switches,
            cas: fabric.cas,
            routers: fabric.routers,
        }
        .names();
        parts.push(count(fabric.links, "link", "links"));
        parts.push(count(fabric.lids, "LID", "LIDs"));
        line(out, "fabric", &parts.join(", "))?;
        if self.mads.sent > 0 {
            let ports = &self.ports;
            let mut text = format!("{} active", ports.active);
            if ports.not_active > 0 {
                text += &format!(", {} not active", ports.not_active);
            }
            line(out, "ports", &text)?;
            let mads = &self.mads;
            let mut text = format!("{} sent, {} received", mads.sent, mads.received);
            for (number, what) in [
                (mads.retried, "repeated"),
                (mads.timed_out, "without a response"),
            ] {
                if number > 0 {
                    text += &format!(", {number} {what}");
                }
            }
            line(out, "MADs", &text)?;
        }
        let has_routes = self.engine.is_some() || self.routes.pairs > 0 || self.up.is_none();
        if has_routes {
            let unnamed = match self.up {
                Some(_) => "of several engines",
                None => "of a file",
            };
            self.routes.print(out, self.engine.unwrap_or(unnamed))?;
        } else {
            line(out, "routes", "none")?;
        }
        let total = format!("{:.3} ms", self.seconds.total * 1e3);
        line(out, "time", &total)?;
        line(out, "phases", &self.phases())?;
        self.routes.print_cycle(out)
    }

    /// Prints what is wrong, and in the last line the verdict: `good`, or `bad` where an error was found.
    pub fn print_verdict(&self, out: &mut impl Write, good: &str, bad: &str) -> io::Result<()> {
        writeln!(out)?;
        if self.errors.is_empty() {
            writeln!(out, "{good}")?;
            return out.flush();
        }
        for error in &self.errors {
            line(out, "problem", error)?;
        }
        writeln!(out, "\n{bad}")?;
        out.flush()
    }

    /// The phases that took time, in milliseconds: short enough for a line of a terminal.
    fn phases(&self) -> String {
        let seconds = &self.seconds;
        let phases = [
            ("discover", seconds.discover),
            ("LIDs", seconds.lids),
            ("route", seconds.route),
            ("verify", seconds.verify),
            ("program", seconds.program),
        ];
        let phases = phases.iter().filter(|(_, time)| *time > 0.0);
        let phases: Vec<String> = phases
            .map(|(name, time)| format!("{name} {:.2}", time * 1e3))
            .collect();
        phases.join("  ") + " ms"
    }
}

impl NodeCounts {
    /// The types that there are nodes of: `5 switches`, `7 CAs`.
    pub fn names(self) -> Vec<String> {
        let mut names = Vec::new();
        for (number, one, many, always) in [
            (self.switches, "switch", "switches", true),
            (self.cas, "CA", "CAs", true),
            (self.routers, "router", "routers", false),
        ] {
            if number > 0 || always {
                names.push(count(number, one, many));
            }
        }
        names
    }
}

impl RoutesReport {
    fn print(&self, out: &mut impl Write, engine: &str) -> io::Result<()> {
        let deadlock = match self.deadlock_free {
            true => "no deadlock",
            false => "can deadlock",
        };
        let vls = count(self.vls, "VL", "VLs");
        line(out, "routes", &format!("{engine}, {vls}, {deadlock}"))?;
        let mut text = format!("{} of CA ports", self.pairs);
        match self.unreachable {
            0 => text += ", all reached",
            number => text += &format!(", {number} unreachable (switches included)"),
        }
        if self.loops > 0 {
            text += &format!(", {}", count(self.loops, "loop", "loops"));
        }
        line(out, "pairs", &text)?;
        let hops = format!(
            "at most {}, {:.4} on average",
            self.max_hops, self.mean_hops
        );
        line(out, "hops", &hops)?;
        let load = &self.link_load;
        let load = format!(
            "at most {} routes a link between switches, mean {:.1}, deviation {:.1}",
            load.max, load.mean, load.stdev
        );
        line(out, "load", &load)
    }

    fn print_cycle(&self, out: &mut impl Write) -> io::Result<()> {
        let Some(cycle) = &self.cycle else {
            return Ok(());
        };
        writeln!(
            out,
            "\nLinks on which packets can wait for each other in a cycle:"
        )?;
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
        table.print(out)
    }
}
