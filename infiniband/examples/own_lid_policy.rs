//! A subnet brought up with a rule for LIDs that is not of this family.

use std::{error::Error, ops::ControlFlow, sync::Arc};

use infiniband::{
    routing::{Fabric, LidMap, LidOptions, LidPolicy, PortRef, RouteError, generate::FabricSpec},
    sim::{Sim, SimOptions},
    sm::{Event, SmConfig, SubnetManager},
    transport::{Clock as _, drive},
    wire::{Lid, Lmc, PortNum, addr::LidRange},
};

/// The LID of a port is 1,000 and the number of its node.
#[derive(Debug)]
struct ByNumber;

#[rustfmt::skip]
impl LidPolicy for ByNumber {
    fn assign(&self, fabric: &Fabric, _: &LidOptions) -> Result<LidMap, RouteError> {
        LidMap::try_of_ranges(fabric, fabric.nodes().iter_enumerated().filter_map(|(node, entry)| {
            let port = PortNum(u8::from(!entry.type_.is_switch()));
            let lid = Lid(1000 + u16::try_from(node.0).ok()?);
            Some((PortRef { node, port }, LidRange::try_new(lid, Lmc::ZERO).ok()?))
        }))
    }
}

#[rustfmt::skip]
fn main() -> Result<(), Box<dyn Error>> {
    let fabric = "torus:4x4,hosts=1".parse::<FabricSpec>()?.build()?;
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let mut transport = sim.attach(fabric.first_host().ok_or("no host")?)?;
    let mut sm = SubnetManager::new(SmConfig::default(), sim.now()).with_lid_policy(Arc::new(ByNumber));
    drive(&mut sm, &mut transport, &sim, |_, event| match event {
        Event::SubnetUp(_) => ControlFlow::Break(()), _ => ControlFlow::Continue(()) })?;
    println!("highest LID {}", sm.lids().max_lid());
    Ok(())
}
