//! Nodes by their names: `--to NODE`, and `from=NODE` and `to=NODE` of a PathRecord.
//!
//! A name has a meaning only in the subnet that is there, so a walk through it comes first.

use std::ops::ControlFlow;

use ib_diag::{Collector, CollectorConfig, CollectorEvent, Contents, Snapshot};
use ib_mad::MgmtClass;
use ib_smp::PortAddress;
use ib_transport::{MonotonicClock, drive};
use ib_wire::PortNum;

use super::{QueryArgs, What};
use crate::{commands::trace::target, error::CliError, output::progress::Progress, source::find};

/// The fields of a PathRecord that names stand for.
const ENDS: [(&str, &str); 2] = [("from=", "slid"), ("to=", "dlid")];

/// The arguments with addresses in the place of names. Arguments without names stay as they are, and nothing is read.
pub(super) fn resolve(mut args: QueryArgs) -> Result<QueryArgs, CliError> {
    let is_end = |word: &String| ENDS.iter().any(|(name, _)| word.starts_with(name));
    let has_ends = args.what == What::Sa && args.rest.iter().skip(1).any(is_end);
    if args.to.is_none() && !has_ends {
        return Ok(args);
    }
    let names = args.names.read()?;
    let mut snapshot = walk(&args)?;
    snapshot.rename(&names);
    if let Some(text) = args.to.take() {
        set_named_port(&mut args, &snapshot, &text)?;
        match args.what {
            What::Sa => {
                return Err(CliError::input(
                    "--to: the administrator is asked, expected FIELD=VALUE, as to=NODE of a PathRecord",
                ));
            }
            What::Perf => args.lid = Some(target(&snapshot, &text)?.1),
            _ => {
                let named = find(&snapshot, &text)?;
                args.direct = snapshot.node(named.node).map(|node| node.path);
            }
        }
    }
    if has_ends {
        for word in args.rest.iter_mut().skip(1) {
            for (name, field) in ENDS {
                if let Some(node) = word.strip_prefix(name) {
                    let (_, lid) = target(&snapshot, node)?;
                    *word = format!("{field}={}", lid.0);
                    break;
                }
            }
        }
    }
    Ok(args)
}

/// Makes the port after the name of a node, if there is one, the modifier of a query for an attribute of a port.
pub(super) fn set_named_port(
    args: &mut QueryArgs,
    snapshot: &Snapshot,
    text: &str,
) -> Result<(), CliError> {
    match named_port(snapshot, text)? {
        Some(port) => set_port(args, text, port),
        None => Ok(()),
    }
}

/// The port after the name of a node; `None` if the text ends with the name, or is a LID, GUID, GID or directed route.
fn named_port(snapshot: &Snapshot, text: &str) -> Result<Option<PortNum>, CliError> {
    let port = find(snapshot, text)?.port;
    let ending = text.rsplit_once(':').map(|(_, port)| port.parse().ok());
    // A GID that ends as a port number does is an address. It has a port of its own, which is not asked for.
    let is_address = text.parse::<PortAddress>().is_ok();
    Ok(port.filter(|port| !is_address && ending == Some(Some(*port))))
}

/// Makes a port the modifier of a query for an attribute of a port.
fn set_port(args: &mut QueryArgs, text: &str, port: PortNum) -> Result<(), CliError> {
    let is_of_port = matches!(
        args.what,
        What::PortInfo | What::MlnxExtPortInfo | What::Perf
    );
    if !is_of_port || !args.rest.is_empty() {
        return Err(CliError::input(format_args!(
            "--to {text:?} names a port, expected a node: the attribute is not that of a port, or its modifier is given"
        )));
    }
    args.rest.push(port.to_string());
    Ok(())
}

/// The nodes of the subnet.
fn walk(args: &QueryArgs) -> Result<Snapshot, CliError> {
    let clock = MonotonicClock::start();
    let mut config = CollectorConfig {
        contents: Contents::empty(),
        m_key: args.m_key,
        ..CollectorConfig::default()
    };
    args.timeout.apply(&mut config.window);
    let classes = [(MgmtClass::SUBN_DIRECTED, 1, &[][..])];
    let timeout = config.window.timeout;
    let mut port = args.device.open(&classes, false, timeout)?;
    let mut collector = Collector::new(config);
    let progress = Progress::new("nodes found", 0);
    let mut nodes = 0;
    drive(&mut collector, &mut port, &clock, |_, event| match event {
        CollectorEvent::Done => ControlFlow::Break(()),
        CollectorEvent::NodeFound { .. } => {
            nodes += 1;
            progress.set_of(nodes, nodes);
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Continue(()),
    })
    .map_err(CliError::input)?;
    Ok(collector.finish())
}
