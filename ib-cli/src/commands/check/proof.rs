//! The proof that traffic between CAs cannot deadlock: an order of the channels that no packet goes back in.

use std::{
    fmt::Write as _,
    io::{self, Write},
    path::Path,
};

use ib_routing::{Fabric, LidMap, Routes, VerifyReport, verify::certificate};
use serde::Serialize;

use crate::{error::CliError, files};

/// The part of the report that `ib check --certificate` adds.
#[derive(Debug, Serialize)]
pub struct Proof {
    /// Channels and lanes in the order; `null` where there is a cycle.
    channels: Option<usize>,
    /// The error that the checker found; it shares no code with the search for the order.
    flaw: Option<String>,
}

impl Proof {
    /// Writes the order to a file, a line `SWITCH PORT VL` each, and has it checked.
    pub fn new(
        fabric: &Fabric,
        lids: &LidMap,
        routes: &Routes,
        verified: &VerifyReport,
        file: &Path,
    ) -> Result<Self, CliError> {
        let Some(order) = &verified.order else {
            return Ok(Self {
                channels: None,
                flaw: None,
            });
        };
        let mut text =
            String::from("# switch port VL: no packet between CAs goes back in this order\n");
        for vertex in order {
            let channel = fabric.channel(vertex.channel);
            let switch = fabric.switch_guid(channel.from);
            // Writing to a string does not fail.
            let _ = writeln!(text, "{switch} {} {}", channel.port, vertex.lane);
        }
        files::write(file, &text)?;
        let checked = certificate::check(fabric, lids, routes, order);
        Ok(Self {
            channels: Some(order.len()),
            flaw: checked.err().map(|flaw| flaw.to_string()),
        })
    }

    /// The defect of the proof; `None` if it holds, or if a cycle already says that there is none.
    pub fn error(&self) -> Option<String> {
        let flaw = self.flaw.as_ref()?;
        Some(format!("the certificate is refused: {flaw}"))
    }

    /// Prints one line.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        match (self.channels, &self.flaw) {
            (Some(channels), None) => {
                writeln!(out, "\ncertificate: {channels} channels in order, checked")
            }
            (Some(_), Some(flaw)) => writeln!(out, "\ncertificate: refused, {flaw}"),
            (None, _) => writeln!(out, "\ncertificate: none, as there is a cycle"),
        }
    }
}
