//! `ib ping`: whether a node responds, and how fast.

use std::{
    io::{self, Write as _},
    thread,
    time::{Duration, Instant},
};

use ib_diag::Contents;
use ib_mad::{Mad, MadAddress, Method, MgmtClass, Oui, VendorRange2Mad};
use ib_smp::{NodeInfo, SmpDirected};
use ib_wire::Sl;
use serde_json::json;

use crate::{
    commands::trace::target,
    error::{CliError, Verdict},
    output::{json, place},
    source::{SourceArgs, find},
};

/// Ping a node, by the vendor class that ibping serves or by its management agent.
///
/// Status 1 if a ping was not answered.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PingArgs {
    /// The node
    #[arg(value_name = "NODE")]
    target: String,
    /// Number of pings
    #[arg(long, value_name = "N", default_value_t = 4)]
    count: u32,
    /// Time between two pings, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 200)]
    interval: u64,
    /// Ask the subnet management agent, which every device has, for NodeInfo
    #[arg(long)]
    smi: bool,
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib ping node17                             where `ibping -S` runs
  ib ping 'leaf 3' --smi --count 10";

pub fn run(args: PingArgs, as_json: bool) -> Result<Verdict, CliError> {
    let source = args.source.open()?;
    let live = source.live("ib ping")?;
    let snapshot = source.snapshot(Contents::empty())?;
    let (at, mad) = match args.smi {
        true => {
            let at = find(&snapshot, &args.target)?.port_of(&snapshot);
            let path = snapshot
                .node(at.node)
                .map(|node| node.path)
                .unwrap_or_default();
            (at, node_info(&path, args.source.m_key))
        }
        false => {
            let (at, lid) = target(&snapshot, &args.target)?;
            (at, vendor_ping(MadAddress::gsi(lid, Sl::ZERO)))
        }
    };
    let mut times = Vec::new();
    let mut host = String::new();
    for round in 0..args.count {
        if round > 0 {
            thread::sleep(Duration::from_millis(args.interval));
        }
        let began = Instant::now();
        if let Some(Ok(answer)) = live.send(vec![mad])?.pop() {
            times.push(began.elapsed().as_secs_f64() * 1e6);
            if let (false, Ok((answer, _))) = (args.smi, VendorRange2Mad::parse(&answer.bytes, 0)) {
                host = answer.text().to_string();
            }
        }
    }
    let answered = times.len();
    let least = times.iter().copied().reduce(f64::min);
    let most = times.iter().copied().reduce(f64::max);
    let mean = (answered > 0).then(|| times.iter().sum::<f64>() / answered as f64);
    let mut out = io::stdout().lock();
    let name = place::text(&snapshot, at);
    if as_json {
        json::print(
            &mut out,
            &json!({
                "port": place::port(&snapshot, at),
                "host": host,
                "sent": args.count,
                "answered": answered,
                "microseconds": { "min": least, "mean": mean, "max": most },
            }),
        )?;
    } else {
        let host = match host.is_empty() {
            true => String::new(),
            false => format!(" {host}"),
        };
        writeln!(out, "{name}{host}: {answered} of {} answered", args.count)?;
        if answered == 0 && !args.smi {
            writeln!(
                out,
                "only a host that runs a ping server (ibping -S) answers: try ib ping --smi"
            )?;
        }
        if let (Some(least), Some(mean), Some(most)) = (least, mean, most) {
            writeln!(
                out,
                "microseconds: min {least:.1}, mean {mean:.1}, max {most:.1}"
            )?;
        }
    }
    Ok(Verdict::of(answered == args.count as usize))
}

fn node_info(path: &ib_smp::DrPath, m_key: ib_wire::MKey) -> Mad {
    use ib_mad::Attribute as _;
    let mut smp = SmpDirected::new(Method::GET, NodeInfo::ID, 0, path);
    smp.set_m_key(m_key);
    Mad {
        address: MadAddress::DIRECTED,
        bytes: *smp.as_bytes(),
    }
}

/// The request that ibping sends.
fn vendor_ping(address: MadAddress) -> Mad {
    let mut mad = Mad::new(address);
    if let Ok((ping, _)) = VendorRange2Mad::parse_mut(&mut mad.bytes, 0) {
        ping.set_base_version(1)
            .set_mgmt_class(MgmtClass::VENDOR2_32)
            .set_class_version(1)
            .set_method(Method::GET)
            .set_oui(Oui::OPENIB);
    }
    mad
}
