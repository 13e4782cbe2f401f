//! `ib snapshot`: everything of a subnet in one file.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    time::Instant,
};

use ib_diag::Contents;
use ib_mad::SmKey;
use serde_json::json;

use crate::{
    commands::query::sm_key,
    error::{CliError, Verdict},
    files,
    output::{count, json},
    source::{SourceArgs, elapsed},
};

/// Write nodes, cables, attributes, tables and counters of a subnet to one file.
///
/// The file also has the multicast groups, if a subnet manager runs. Only reads and clears no counters, so it may run
/// beside any subnet manager. Every command that reads a subnet reads the file instead with --from. Status 1 if a
/// device does not respond.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SnapshotArgs {
    /// File to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// SM_Key, decimal or 0x: with the right one subnet administration shows the members of multicast groups
    #[arg(long, value_name = "KEY", default_value = "0", value_parser = sm_key)]
    sm_key: SmKey,
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib snapshot monday.ibsnap
  ib health --from monday.ibsnap
  ib diff monday.ibsnap tuesday.ibsnap";

pub fn run(args: SnapshotArgs, as_json: bool) -> Result<Verdict, CliError> {
    let began = Instant::now();
    let source = args.source.open()?;
    let mut snapshot = source.snapshot(Contents::all())?;
    if source.is_live() {
        source.add_groups(&mut snapshot, args.sm_key)?;
    }
    let bytes = snapshot.to_bytes();
    files::write_bytes(&args.file, &bytes)?;
    let switches = snapshot
        .nodes
        .iter()
        .filter(|node| node.is_switch())
        .count();
    let unread = snapshot
        .ports()
        .filter(|(_, _, port)| port.counters.unread.is_some())
        .count();
    let (nodes, links, silent) = (
        snapshot.nodes.len(),
        snapshot.cables().count(),
        snapshot.silent.len(),
    );
    let mut out = io::stdout().lock();
    if as_json {
        json::print(
            &mut out,
            &json!({
                "file": args.file.display().to_string(),
                "bytes": bytes.len(),
                "taken_at": snapshot.taken_at,
                "switches": switches,
                "cas_and_routers": nodes - switches,
                "links": links,
                "silent": silent,
                "ports_without_counters": unread,
                "seconds": elapsed(began),
            }),
        )?;
    } else {
        writeln!(
            out,
            "{}: {}, {}, {}, {}, {}; {} bytes",
            args.file.display(),
            count(switches, "switch", "switches"),
            count(nodes - switches, "CA or router", "CAs and routers"),
            count(links, "link", "links"),
            count(silent, "silent device", "silent devices"),
            count(unread, "port without counters", "ports without counters"),
            bytes.len()
        )?;
    }
    Ok(Verdict::of(silent == 0))
}
