//! A subnet brought up with a routing engine and a rule for LIDs that are not of this family.

use std::{ops::ControlFlow, sync::Arc};

use ib_routing::{
    Fabric, Guarantees, LidMap, LidOptions, LidPolicy, PortRef, RouteError, RouteOptions, Routes,
    RoutingEngine, SharedEngine, engine::UPDN, generate::FabricSpec,
};
use ib_sim::{Sim, SimOptions};
use ib_sm::{Event, SmConfig, SubnetManager};
use ib_transport::{Clock as _, drive};
use ib_wire::{Lid, Lmc, PortNum, addr::LidRange};

/// Up*/Down* under another name.
#[derive(Debug)]
struct Star;

#[rustfmt::skip]
impl RoutingEngine for Star {
    fn name(&self) -> &'static str { "star" }
    fn guarantees(&self, options: &RouteOptions) -> Guarantees { UPDN.guarantees(options) }
    fn route(&self, fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Result<Routes, RouteError> {
        UPDN.route(fabric, lids, options).map(|mut routes| { routes.set_engine(self.name()); routes })
    }
}

/// The LID of a port is 1,000 and the number of its node.
#[derive(Debug)]
struct ByNumber;

impl LidPolicy for ByNumber {
    #[rustfmt::skip]
    fn assign(&self, fabric: &Fabric, _: &LidOptions) -> Result<LidMap, RouteError> {
        let ranges = fabric.nodes().iter_enumerated().filter_map(|(node, entry)| {
            let port = PortNum(u8::from(!entry.type_.is_switch()));
            let lid = Lid(1000 + u16::try_from(node.0).ok()?);
            Some((PortRef { node, port }, LidRange::try_new(lid, Lmc::ZERO).ok()?))
        });
        LidMap::try_of_ranges(fabric, ranges)
    }
}

#[rustfmt::skip]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fabric = "torus:4x4,hosts=1".parse::<FabricSpec>()?.build()?;
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let mut nodes = fabric.nodes().iter_enumerated();
    let (node, _) = nodes.find(|(_, node)| !node.type_.is_switch()).ok_or("no host")?;
    let mut transport = sim.attach(PortRef { node, port: PortNum(1) })?;
    let config = SmConfig { routing_engines: vec![SharedEngine::new(Star)], ..SmConfig::default() };
    let mut sm = SubnetManager::new(config, sim.clock().now()).with_lid_policy(Arc::new(ByNumber));
    let up = drive(&mut sm, &mut transport, &sim.clock(), |_, event| match event {
        Event::SubnetUp(summary) => ControlFlow::Break(summary.engine),
        _ => ControlFlow::Continue(()),
    })?;
    println!("{:?}, highest LID {}", up.ok_or("never up")?, sm.lids().max_lid());
    Ok(())
}
