//! The smallest subnet manager: brings a simulated fabric up and prints who got which LID.

use std::{error::Error, fs, ops::ControlFlow};

use ib_routing::{PortRef, format::ibnetdiscover};
use ib_sim::{Sim, SimOptions};
use ib_sm::{Event, SmConfig, SubnetManager};
use ib_transport::{Clock, drive};

fn main() -> Result<(), Box<dyn Error>> {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../ib-routing/testdata/fabrics/seed-dualstar.net"
    );
    let file = std::env::args().nth(1).unwrap_or_else(|| file.to_owned());
    let fabric = ibnetdiscover::read(&fs::read_to_string(file)?)?.fabric;

    // The manager sits on the first CA port with a cable.
    let port = fabric
        .nodes()
        .iter_enumerated()
        .filter(|(_, node)| !node.type_.is_switch())
        .find_map(|(index, node)| {
            let (port, _) = node.ports().find(|(_, port)| port.peer.is_some())?;
            Some(PortRef { node: index, port })
        })
        .ok_or("no CA has a cable")?;

    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let clock = sim.clock();
    let mut transport = sim.attach(port)?;
    let mut sm = SubnetManager::new(SmConfig::default(), clock.now());
    let summary = drive(&mut sm, &mut transport, &clock, |_, event| match event {
        Event::SubnetUp(summary) => ControlFlow::Break(summary),
        _ => ControlFlow::Continue(()),
    })?
    .ok_or("the subnet never came up")?;

    for destination in sm.lids().destinations().iter() {
        let node = sm.fabric().node(destination.end.node);
        println!(
            "{:5}  {}  {}",
            destination.range.base(),
            destination.guid,
            node.description
        );
    }
    println!(
        "{} ports active after {} datagrams and {:?} of virtual time",
        summary.ports.active,
        summary.mads.sent,
        summary.phases.total()
    );
    Ok(())
}
