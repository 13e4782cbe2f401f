//! The quality of routes, to be read beside their time.

use std::fmt;

use ib_routing::VerifyReport;
use serde::Serialize;

/// Quality of a side's tables.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Quality {
    /// CA pairs over the busiest directed link between switches.
    pub(crate) load_max: u64,
    pub(crate) mean_hops: f64,
    pub(crate) unreachable: u64,
    /// Lanes of the paths between CAs; of a peer that names service levels, these.
    pub(crate) vls: u8,
    /// `None` where the peer does not say which service levels it uses.
    pub(crate) deadlock_free: Option<bool>,
}

impl Quality {
    /// The quality of tables that use `vls` lanes, from a report.
    pub(crate) fn of(report: &VerifyReport, vls: u8, lanes_known: bool) -> Self {
        Self {
            load_max: report.link_load.max,
            mean_hops: report.mean_hops,
            unreachable: report.unreachable,
            vls,
            deadlock_free: lanes_known.then_some(report.deadlock_free),
        }
    }
}

/// Quality of both sides.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Qualities {
    pub(crate) ours: Quality,
    pub(crate) peer: Option<Quality>,
}

impl fmt::Display for Qualities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let print = |f: &mut fmt::Formatter<'_>, quality: &Quality| {
            let verdict = match quality.deadlock_free {
                Some(true) => "no deadlock",
                Some(false) => "deadlock",
                None => "deadlock unknown",
            };
            let Quality {
                load_max,
                mean_hops,
                unreachable,
                vls,
                ..
            } = quality;
            write!(
                f,
                "load {load_max}, hops {mean_hops:.2}, unreachable {unreachable}, VLs {vls}, {verdict}"
            )
        };
        print(f, &self.ours)?;
        if let Some(peer) = &self.peer {
            write!(f, "; peer: ")?;
            print(f, peer)?;
        }
        Ok(())
    }
}
