//! Subnets for tests: the fabrics of ib-routing in the simulator, with a manager or without one.

use std::{ops::ControlFlow, path::Path, time::Duration};

use ib_mad::Instant;
use ib_routing::{Fabric, PortRef, format::ibnetdiscover};
use ib_sim::{SharedSim, Sim, SimOptions};
use ib_sm::{Event, SmConfig, SubnetManager};
use ib_transport::{Clock as _, drive};

use crate::{
    collect::{Collector, CollectorConfig, CollectorEvent},
    snapshot::Snapshot,
};

/// A fabric by the name of its file.
pub(crate) fn fabric(name: &str) -> Fabric {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ib-routing/testdata/fabrics");
    let text = std::fs::read_to_string(folder.join(name).with_extension("net")).unwrap();
    ibnetdiscover::read(&text).unwrap().fabric
}

/// The first port of a CA that has a cable.
pub(crate) fn first_host(fabric: &Fabric) -> PortRef {
    let mut nodes = fabric
        .nodes()
        .iter_enumerated()
        .filter(|(_, node)| !node.type_.is_switch());
    let found = nodes.find_map(|(node, of)| {
        let (port, _) = of.ports().find(|(_, port)| port.peer.is_some())?;
        Some(PortRef { node, port })
    });
    found.expect("a CA with a link")
}

/// The fabric in the simulator, after a manager has brought it up and gone.
pub(crate) fn simulated(fabric: &Fabric, bring_up: bool) -> SharedSim {
    let sim = Sim::new(fabric, SimOptions::default()).share();
    if bring_up {
        let clock = sim.clock();
        let config = SmConfig {
            sweep_interval: None,
            ..SmConfig::default()
        };
        let mut manager = SubnetManager::new(config, clock.now());
        let mut transport = sim.attach(first_host(fabric)).unwrap();
        let up = drive(
            &mut manager,
            &mut transport,
            &clock,
            |_, event| match event {
                Event::SubnetUp(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            },
        );
        assert_eq!(up.unwrap(), Some(()));
    }
    sim
}

/// What a collector reads at the first host, and the virtual time that it takes.
pub(crate) fn collect(
    sim: &SharedSim,
    at: PortRef,
    config: CollectorConfig,
) -> (Snapshot, Duration) {
    let clock = sim.clock();
    let mut transport = sim.attach(at).unwrap();
    let mut collector = Collector::new(config);
    let began: Instant = clock.now();
    let done = drive(
        &mut collector,
        &mut transport,
        &clock,
        |_, event| match event {
            CollectorEvent::Done => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        },
    );
    assert_eq!(done.unwrap(), Some(()));
    let took = clock.now().since(began);
    (collector.finish(), took)
}

/// A snapshot of a fabric that a manager has brought up.
pub(crate) fn brought_up(name: &str) -> Snapshot {
    let fabric = fabric(name);
    let sim = simulated(&fabric, true);
    collect(&sim, first_host(&fabric), CollectorConfig::default()).0
}
