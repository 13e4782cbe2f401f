//! Memory of a simulated fabric: `sim_memory [SPEC]`, by default 46,080 hosts on a three-level tree of radix 64.

use std::error::Error;
use std::{env, fs};

use ib_routing::generate::FabricSpec;
use ib_sim::{Sim, SimOptions};

/// Memory of the process, in bytes.
fn resident() -> Result<usize, Box<dyn Error>> {
    let pages = fs::read_to_string("/proc/self/statm")?;
    let pages = pages.split(' ').nth(1).ok_or("no second number")?;
    Ok(pages.parse::<usize>()? * 4096)
}

fn main() -> Result<(), Box<dyn Error>> {
    let default = "fat-tree:radix=64,levels=3,pods=45".to_owned();
    let spec: FabricSpec = env::args().nth(1).unwrap_or(default).parse()?;
    let fabric = spec.build()?;
    let before = resident()?;
    let sim = Sim::new(&fabric, SimOptions::default());
    let taken = resident()?.saturating_sub(before);
    let nodes = sim.nodes().len();
    let switches = sim.nodes().iter().filter(|node| node.is_switch()).count();
    let ports: usize = sim
        .nodes()
        .indices()
        .map(|node| sim.ports_of(node).count())
        .sum();
    println!(
        "{spec}: {nodes} nodes ({switches} switches), {ports} ports: {} MB, {} bytes a node, {} bytes a port",
        taken / 1_000_000,
        taken / nodes.max(1),
        taken / ports.max(1)
    );
    Ok(())
}
