//! Sets the crates beside their peers, in the same run on the same machine.
//!
//! A row is a case of a subject: our figure, the peer's, and the ratio of the two, above 1 where we
//! are ahead. Repetitions of both alternate, so that a machine that slows down slows both.
#![forbid(unsafe_code)]

mod bringup;
mod cores;
mod crc;
mod diag;
mod dissect;
mod heal;
mod mad;
mod mad_peer;
mod measure;
mod memory;
mod opensm;
mod outage;
mod packet;
mod quality;
mod routing;
mod row;
mod sa;
mod setup;
mod sim;
mod whatif;

use std::{collections::BTreeSet, process::ExitCode};

use clap::{Parser, ValueEnum};

use row::Row;

/// Measure the ib crates beside their peers.
#[derive(Parser)]
#[command(name = "compare", version)]
struct Args {
    /// What to measure; everything where none is named.
    #[arg(value_enum)]
    subjects: Vec<Subject>,
    /// Build the peers that no package has, OpenSM with clocks, instead of measuring. Needs Debian's sources or
    /// root for `apt-get`, and takes minutes.
    #[arg(long)]
    setup: bool,
    /// Print one JSON array instead of a table.
    #[arg(long)]
    json: bool,
}

/// The subjects of measurements.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// ICRC and VCRC.
    Crc,
    /// Management datagrams.
    Mad,
    /// Whole packets: parse, build, print.
    Packet,
    /// Routing engines, time and quality.
    Routing,
    /// The simulator: SMPs a second.
    Sim,
    /// Bringing a subnet up, as whole processes.
    Bringup,
    /// The subnet administrator, as whole processes.
    Sa,
    /// The diagnostics, as whole processes.
    Diag,
    /// Each cable failed in turn.
    Whatif,
    /// New tables after a cable or a switch failed.
    Heal,
}

impl Subject {
    /// The word on the command line and in JSON.
    fn name(self) -> &'static str {
        match self {
            Self::Crc => "crc",
            Self::Mad => "mad",
            Self::Packet => "packet",
            Self::Routing => "routing",
            Self::Sim => "sim",
            Self::Bringup => "bringup",
            Self::Sa => "sa",
            Self::Diag => "diag",
            Self::Whatif => "whatif",
            Self::Heal => "heal",
        }
    }

    /// Measures every case of the subject.
    fn rows(self) -> Vec<Row> {
        match self {
            Self::Crc => crc::rows(),
            Self::Mad => mad::rows(),
            Self::Packet => packet::rows(),
            Self::Routing => routing::rows(),
            Self::Sim => sim::rows(),
            Self::Bringup => bringup::rows(),
            Self::Sa => sa::rows(),
            Self::Diag => diag::rows(),
            Self::Whatif => whatif::rows(),
            Self::Heal => heal::rows(),
        }
    }

    /// The peers that some cases of the subject need, but for those that are part of the build.
    fn peers(self) -> &'static [&'static str] {
        match self {
            Self::Crc | Self::Whatif => &[],
            Self::Mad => &["cc"],
            Self::Packet => &["tshark"],
            Self::Routing => &["ibsim"],
            Self::Sim => &["ibsim", "ibnetdiscover", "opensm"],
            Self::Bringup => &["ibsim", "opensm"],
            Self::Sa | Self::Heal => &["opensm", "cc"],
            Self::Diag => &["ibnetdiscover", "iblinkinfo", "ibqueryerrors"],
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.setup {
        return match setup::build() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let subjects = match args.subjects.as_slice() {
        [] => Subject::value_variants(),
        named => named,
    };
    // Said now, and not after all others were measured.
    for peer in missing_peers(subjects) {
        eprintln!("missing: {peer}");
    }
    let rows: Vec<Row> = subjects
        .iter()
        .flat_map(|subject| {
            eprintln!("measuring {}", subject.name());
            subject.rows()
        })
        .collect();
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&rows).unwrap_or_default()
        );
    } else {
        row::print(&rows);
    }
    ExitCode::SUCCESS
}

/// The peers of these subjects that are not here: their cases will have no ratio.
fn missing_peers(subjects: &[Subject]) -> BTreeSet<&'static str> {
    let peers = subjects.iter().flat_map(|subject| subject.peers());
    let mut missing: BTreeSet<&str> = peers
        .copied()
        .filter(|peer| !measure::is_installed(peer))
        .collect();
    if subjects.contains(&Subject::Routing) && setup::opensm().is_err() {
        missing.insert("OpenSM with clocks around its engines: compare --setup builds it");
    }
    missing
}
