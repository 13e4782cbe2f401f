//! The loop on a simulated fabric.

use ib_sim::{Sim, SimOptions};
use ib_testkit::fabrics::fabric;

#[test]
fn a_ring_comes_up() {
    let fabric = fabric("gen-ring-5");
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let mut port = sim.attach(fabric.first_host().unwrap()).unwrap();
    let active = no_std_loop::bring_up(&mut port, &sim).unwrap();
    assert!(active.is_some_and(|ports| ports >= 20), "{active:?}");
}
