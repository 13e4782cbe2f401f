//! A routing engine from outside the crate: up to one switch and down again, as in a star.

use infiniband::routing::{
    Fabric, Guarantees, LidMap, LidOptions, RouteError, RouteOptions, Routes, RoutingEngine,
    SharedEngine, engine::UPDN, generate::FabricSpec, verify,
};

/// Up*/Down* from the switch with the lowest GUID.
#[derive(Debug)]
struct Star;

impl RoutingEngine for Star {
    fn name(&self) -> &'static str {
        "star"
    }

    fn guarantees(&self, options: &RouteOptions) -> Guarantees {
        UPDN.guarantees(options)
    }

    #[rustfmt::skip]
    fn route(&self, fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Result<Routes, RouteError> {
        let mut options = options.clone();
        options.roots = fabric.nodes_by_guid().map(|node| fabric.node(node)).filter(|node| node.type_.is_switch())
            .map(|switch| switch.guid).take(1).collect();
        let mut routes = UPDN.route(fabric, lids, &options)?;
        routes.set_engine(self.name());
        Ok(routes)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fabric = "torus:4x4,hosts=2".parse::<FabricSpec>()?.build()?;
    let lids = LidMap::assign(&fabric, &LidOptions::default())?;
    let routes = SharedEngine::new(Star).route(&fabric, &lids, &RouteOptions::default())?;
    let verdict = verify(&fabric, &lids, &routes).verdict(Default::default());
    println!("{}: {verdict:?}", routes.engine());
    Ok(())
}
