//! `ib discover`: walks the fabric and prints it as ibnetdiscover does.

use std::{
    io::{self, Write as _},
    ops::ControlFlow,
};

use ib_mad::MgmtClass;
use ib_routing::format::ibnetdiscover;
use ib_sm::{Discovery, DiscoveryConfig, DiscoveryEvent};
use ib_transport::{MonotonicClock, drive};

use crate::{
    device::DeviceArgs,
    error::{CliError, Verdict},
};

/// Walk the fabric by directed routes and print it in ibnetdiscover's format.
///
/// Only reads: it may run beside any subnet manager. Status 1 if a node did not answer.
#[derive(Debug, clap::Args)]
pub struct DiscoverArgs {
    #[command(flatten)]
    device: DeviceArgs,
    /// Ask no node that is further away than this many hops [default: as far as routes reach]
    #[arg(long, value_name = "N")]
    max_hops: Option<u8>,
}

pub fn run(args: DiscoverArgs) -> Result<Verdict, CliError> {
    let clock = MonotonicClock::start();
    let classes = [(MgmtClass::SUBN_DIRECTED, 1, &[][..])];
    let mut port = args.device.open(&classes, false, clock)?;
    let config = DiscoveryConfig {
        max_hops: args.max_hops,
        ..DiscoveryConfig::default()
    };
    let mut discovery = Discovery::new(config);
    drive(&mut discovery, &mut port, &clock, |_, event| match event {
        DiscoveryEvent::Done => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .map_err(CliError::input)?;
    let found = discovery.finish();
    let text = ibnetdiscover::write_nodes(&found.fabric, found.from, found.listed());
    io::stdout().lock().write_all(text.as_bytes())?;
    for silent in &found.silent {
        let path = &silent.path;
        match silent.node_guid {
            Some(guid) => eprintln!("warning: no answer from {guid} ({path:?})"),
            None => eprintln!("warning: no answer from the node at {path:?}"),
        }
    }
    Ok(Verdict::of(found.silent.is_empty()))
}
