//! Prints the traffic of each port of a simulated fabric; `infiniband::open("mlx5_0")` asks a real one.

use std::{error::Error, ops::ControlFlow};

use infiniband::{
    LocalPort,
    mad::{Call, MadAddress, MgmtClass, PortCountersExtended},
    routing::generate::FabricSpec,
    sim::{Sim, SimOptions},
    sm::{Event, SmConfig, SubnetManager},
    transport::{Clock, drive},
    wire::Sl,
};

#[rustfmt::skip]
fn main() -> Result<(), Box<dyn Error>> {
    let fabric = "ring:switches=3,hosts=1".parse::<FabricSpec>()?.build()?;
    let host = fabric.first_host().ok_or("no host has a cable")?;
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let mut transport = sim.attach(host)?;
    let mut manager = SubnetManager::new(SmConfig::default(), sim.now());
    drive(&mut manager, &mut transport, &sim, |_, event| match event {
        Event::SubnetUp(_) => ControlFlow::Break(()), _ => ControlFlow::Continue(()) })?;
    let mut port = LocalPort::new(transport, sim);
    let mut wanted = PortCountersExtended::default();
    wanted.set_port_select(1);
    for destination in manager.lids().destinations().iter() {
        let address = MadAddress::gsi(destination.range.base(), Sl::ZERO);
        let counters = port.call_with(Call::get(MgmtClass::PERF, 0), address, &wanted)?;
        println!("LID {}: {} packets out", destination.range.base(), counters.port_xmit_pkts());
    }
    Ok(())
}
