//! Runs the subnet manager on a simulated fabric until the subnet is up, then asks a port for its state.

use std::{error::Error, ops::ControlFlow};

use infiniband::{
    LocalPort,
    routing::generate::FabricSpec,
    sim::{Sim, SimOptions},
    sm::{Event, SmConfig, SubnetManager},
    smp::{PortAddress, PortInfo},
    transport::{Clock, drive},
};

fn main() -> Result<(), Box<dyn Error>> {
    let fabric = "ring:switches=5,hosts=1".parse::<FabricSpec>()?.build()?;
    let host = fabric.first_host().ok_or("no host has a cable")?;
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let mut transport = sim.attach(host)?;
    let mut manager = SubnetManager::new(SmConfig::default(), sim.now());
    let up = drive(&mut manager, &mut transport, &sim, |_, event| match event {
        Event::SubnetUp(summary) => ControlFlow::Break(summary.fabric.lids),
        _ => ControlFlow::Continue(()),
    })?;
    println!("{} LIDs", up.ok_or("the subnet never came up")?);
    let switch: PortAddress = "0,1".parse()?;
    let info: PortInfo = LocalPort::new(transport, sim).get(&switch, 1)?;
    println!("port 1 of the next switch is {}", info.port_state());
    Ok(())
}
