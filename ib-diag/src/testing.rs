//! Subnets for tests: the fabrics of ib-routing in the simulator, with a manager or without one.

use std::{ops::ControlFlow, time::Duration};

use ib_mad::Instant;
use ib_routing::{Fabric, PortRef};
use ib_sim::{SharedSim, Sim, SimOptions};
pub(crate) use ib_testkit::fabrics::fabric;
use ib_testkit::lab::Lab;
use ib_transport::{Clock as _, drive};

use crate::{
    collect::{Collector, CollectorConfig, CollectorEvent},
    snapshot::Snapshot,
};

/// The first port of a CA that has a cable.
pub(crate) fn first_host(fabric: &Fabric) -> PortRef {
    fabric.first_host().expect("a CA with a link")
}

/// The fabric in the simulator, after a manager has brought it up and gone.
pub(crate) fn simulated(fabric: &Fabric, bring_up: bool) -> SharedSim {
    if bring_up {
        Lab::of(fabric.clone()).up().sim
    } else {
        Sim::new(fabric, SimOptions::default()).share()
    }
}

/// A snapshot that a collector at the first host reads, and the virtual time that it takes.
pub(crate) fn collect(
    sim: &SharedSim,
    at: PortRef,
    config: CollectorConfig,
) -> (Snapshot, Duration) {
    run(sim, at, Collector::new(config))
}

/// The snapshot that a collector at a port reads, and the virtual time that it takes.
pub(crate) fn run(sim: &SharedSim, at: PortRef, mut collector: Collector) -> (Snapshot, Duration) {
    let mut transport = sim.attach(at).unwrap();
    let began: Instant = sim.now();
    let done = drive(
        &mut collector,
        &mut transport,
        sim,
        |_, event| match event {
            CollectorEvent::Done => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        },
    );
    assert_eq!(done.unwrap(), Some(()));
    let took = sim.now().since(began);
    (collector.finish(), took)
}

/// A snapshot of a fabric that a manager has brought up.
pub(crate) fn brought_up(name: &str) -> Snapshot {
    let fabric = fabric(name);
    let sim = simulated(&fabric, true);
    collect(&sim, first_host(&fabric), CollectorConfig::default()).0
}
