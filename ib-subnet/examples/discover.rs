//! Prints the topology of a subnet that a simulator serves: `discover SOCKET [NODE]`.

use std::{env, error::Error, ops::ControlFlow};

use ib_routing::format::ibnetdiscover;
use ib_subnet::{Discovery, DiscoveryConfig, DiscoveryEvent};
use ib_transport::{
    MonotonicClock, drive,
    ibsim::{IbsimOptions, IbsimPort},
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let options = IbsimOptions {
        server: arguments.next().unwrap_or_else(|| "sim".to_owned()),
        node: arguments.next().unwrap_or_default(),
        announce_sm: false,
    };
    let clock = MonotonicClock::start();
    let mut port = IbsimPort::attach(&options)?;
    let mut discovery = Discovery::new(DiscoveryConfig::default());
    drive(&mut discovery, &mut port, &clock, |_, event| match event {
        DiscoveryEvent::Done => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })?;
    let found = discovery.finish();
    let text = ibnetdiscover::write_nodes(&found.fabric, found.from, found.listed());
    print!("{text}");
    Ok(())
}
