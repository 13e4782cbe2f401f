//! Walks a simulated fabric by directed routes, as ibnetdiscover does, and prints its nodes.

use std::{error::Error, ops::ControlFlow};

use infiniband::{
    routing::generate::FabricSpec,
    sim::{Sim, SimOptions},
    subnet::{Discovery, DiscoveryConfig, DiscoveryEvent},
    transport::drive,
};

fn main() -> Result<(), Box<dyn Error>> {
    let fabric = "fat-tree:radix=4,levels=2".parse::<FabricSpec>()?.build()?;
    let host = fabric.first_host().ok_or("no host has a cable")?;
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let mut transport = sim.attach(host)?;
    let mut discovery = Discovery::new(DiscoveryConfig::default());
    drive(
        &mut discovery,
        &mut transport,
        &sim,
        |_, event| match event {
            DiscoveryEvent::Done => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        },
    )?;
    let found = discovery.finish();
    for index in found.breadth_first() {
        let node = found.fabric.node(index);
        let cables = node.ports().filter(|(_, port)| port.peer.is_some());
        println!("{} {}: {} cables", node.guid, node.type_, cables.count());
    }
    Ok(())
}
